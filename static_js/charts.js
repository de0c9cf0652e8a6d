// Interactive figures: inflates the chart library when a figure is first seen, and draws in the page's colours.

/**
 * @typedef {{data: any[], layout: Record<string, any>}} ChartSpec
 * @typedef {{newPlot: (node: HTMLElement, data: any[], layout: any, config: any) => Promise<unknown>}} ChartLibrary
 */

/** Figures below so many pixels have their legend below. */
const CHARTS_NARROW = 520;

/** @type {Promise<ChartLibrary> | null} */
let chartsLibrary = null;

/** @param {string} text base64 @returns {Uint8Array<ArrayBuffer>} */
function chartsBytes(text) {
  const raw = atob(text.trim());
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

/**
 * The library that the page carries. It runs as a script from a blob: the page's policy trusts what this
 * module makes, and nothing else.
 * @returns {Promise<ChartLibrary>}
 */
function chartsLoad() {
  chartsLibrary ??= (async () => {
    const store = document.getElementById('wg-plotly');
    if (!store) throw new Error('this page carries no chart library');
    const packed = new Blob([chartsBytes(store.textContent ?? '')]);
    const code = await new Response(packed.stream().pipeThrough(new DecompressionStream('gzip'))).blob();
    const url = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));
    await new Promise((resolve, reject) => {
      const script = document.createElement('script');
      script.src = url;
      script.addEventListener('load', resolve);
      script.addEventListener('error', () => reject(new Error('the chart library did not start')));
      document.head.append(script);
    });
    URL.revokeObjectURL(url);
    return /** @type {any} */ (globalThis).Plotly;
  })();
  return chartsLibrary;
}

/**
 * The same value with colour names like `$series-1` replaced by what the page's style sheet says now.
 * @param {any} value
 * @param {(name: string) => string} color
 * @returns {any}
 */
export function chartsColored(value, color) {
  if (typeof value === 'string') return /^\$[a-z][a-z0-9-]*$/.test(value) ? color(value.slice(1)) : value;
  if (Array.isArray(value)) return value.map((item) => chartsColored(item, color));
  if (value && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, chartsColored(item, color)]));
  }
  return value;
}

/**
 * Layout that every figure of the page shares; the figure's own wins.
 * @param {Record<string, any>} layout
 */
export function chartsLayout(layout) {
  const axis = { gridcolor: '$border', zerolinecolor: '$border-strong', linecolor: '$border-strong', automargin: true, title: { font: { size: 12, color: '$muted' }, standoff: 8 } };
  return {
    margin: { l: 8, r: 16, t: 8, b: 36 },
    paper_bgcolor: 'rgba(0,0,0,0)',
    plot_bgcolor: 'rgba(0,0,0,0)',
    hoverlabel: { bgcolor: '$panel-2', bordercolor: '$border-strong', font: { color: '$fg' } },
    bargap: 0.34,
    ...layout,
    font: { family: 'system-ui, sans-serif', size: 12, color: '$fg', ...layout.font },
    xaxis: { ...axis, ...layout.xaxis, title: { ...axis.title, ...layout.xaxis?.title } },
    yaxis: { ...axis, ...layout.yaxis, title: { ...axis.title, ...layout.yaxis?.title } },
  };
}

/**
 * Layout for a figure so narrow that a legend beside it would leave no room for the lines: it goes below.
 * @param {Record<string, any>} layout
 * @param {number} traces lines and points that the legend names
 * @param {number} width pixels of the figure
 */
export function chartsNarrow(layout, traces, width) {
  if (!layout.showlegend || !(width > 0 && width < CHARTS_NARROW)) return layout;
  return {
    ...layout,
    height: (layout.height ?? 340) + 20 * traces,
    legend: { ...layout.legend, orientation: 'h', x: 0, xanchor: 'left', y: -0.25, yanchor: 'top' },
  };
}

/** @param {HTMLElement} figure */
async function chartsDraw(figure) {
  const spec = figure.querySelector('.chart-spec');
  const live = /** @type {HTMLElement | null} */ (figure.querySelector('.chart-live'));
  const fixed = /** @type {HTMLElement | null} */ (figure.querySelector('.chart-static'));
  if (!spec || !live || !fixed) return;
  try {
    const library = await chartsLoad();
    const style = getComputedStyle(document.documentElement);
    /** @param {string} name */
    const color = (name) => style.getPropertyValue(`--${name}`).trim() || style.color;
    /** @type {ChartSpec} */
    const { data, layout } = JSON.parse(spec.textContent ?? '');
    live.hidden = false;
    fixed.hidden = true;
    const fitted = chartsNarrow(layout, data.length, live.clientWidth);
    await library.newPlot(live, chartsColored(data, color), chartsColored(chartsLayout(fitted), color), {
      displayModeBar: false,
      responsive: true,
      scrollZoom: false,
    });
  } catch (error) {
    // The static figure says the same; keep it.
    live.hidden = true;
    fixed.hidden = false;
    console.info(`figure stays static: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Makes the page's figures interactive as they come into view, and redraws them when the theme changes. */
export function initCharts() {
  if (!document.getElementById('wg-plotly') || !('IntersectionObserver' in window)) return;
  /** @type {Set<HTMLElement>} */
  const drawn = new Set();
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      const figure = /** @type {HTMLElement} */ (entry.target);
      observer.unobserve(figure);
      drawn.add(figure);
      void chartsDraw(figure);
    }
  });
  /** @param {ParentNode} root */
  const watch = (root) => {
    for (const figure of root.querySelectorAll('figure[data-chart]')) observer.observe(figure);
  };
  watch(document);
  document.addEventListener('wg-unpacked', (event) => watch(/** @type {HTMLElement} */ (event.target)));
  document.addEventListener('wg-theme', () => {
    for (const figure of drawn) void chartsDraw(figure);
  });
}
