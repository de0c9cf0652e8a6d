// Values of profiled launches: units for people, differences, the table of all metrics.

import { el } from './dom.js';

/**
 * Values of a launch by metric.
 * @param {import('./data.js').WgReport} report
 * @param {number} launch
 * @returns {Map<number, any>}
 */
export function profileValues(report, launch) {
  const measured = report.launches[launch]?.measured;
  const ids = measured && report.profile ? report.profile.sets[measured.set] : [];
  return new Map(ids.map((id, i) => [id, measured?.values[i]]));
}

/**
 * The launch that stands for `launch` in another report: the same kernel, as often before it.
 * @param {import('./data.js').WgReport} report
 * @param {number} launch
 * @param {number} file
 */
export function profilePartner(report, launch, file) {
  const name = report.launches[launch]?.kernel.name;
  const own = report.launches[launch]?.measured?.file;
  /** @param {number} where */
  const same = (where) => report.launches.flatMap((one, i) => (one.measured?.file === where && one.kernel.name === name ? [i] : []));
  const mine = same(own ?? -1);
  const theirs = same(file);
  return theirs[Math.min(mine.indexOf(launch), theirs.length - 1)] ?? null;
}

/**
 * How a value differs: text and direction, null where it cannot be said.
 * @param {any} value
 * @param {any} base
 */
export function profileDelta(value, base) {
  if (typeof value !== 'number' || typeof base !== 'number') return null;
  if (value === base) return { text: '±0', way: '' };
  const way = value > base ? 'up' : 'down';
  if (base === 0) return { text: 'from 0', way };
  const share = (100 * (value - base)) / Math.abs(base);
  const text = Math.abs(share) >= 1000 ? `×${(value / base).toPrecision(3)}` : `${share > 0 ? '+' : '−'}${Math.abs(share).toPrecision(3)} %`;
  return { text, way };
}

/** Units for people, largest first. @type {Record<string, Array<[number, string]>>} */
const PROFILE_STEPS = {
  ns: [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']],
  byte: [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']],
  'byte/block': [[2 ** 10, 'KiB/block'], [1, 'B/block']],
  'byte/s': [[1e12, 'TB/s'], [1e9, 'GB/s'], [1e6, 'MB/s'], [1, 'B/s']],
  hz: [[1e9, 'GHz'], [1e6, 'MHz'], [1e3, 'kHz'], [1, 'Hz']],
  '1/s': [[1e12, 'T/s'], [1e9, 'G/s'], [1e6, 'M/s'], [1, '/s']],
};

/**
 * A value as the server writes it: text and unit.
 * @param {any} value
 * @param {string} unit
 * @returns {[string, string]}
 */
export function profileScaled(value, unit) {
  if (value === null || value === undefined) return ['n/a', ''];
  if (typeof value !== 'number') return [String(value).slice(0, 400), ''];
  /** @param {number} x */
  const shown = (x) => Math.abs(x) >= 1e18 ? x.toPrecision(4) : x.toLocaleString('en-US', Number.isInteger(x) || Math.abs(x) >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 4 });
  for (const [size, name] of PROFILE_STEPS[unit] ?? []) if (Math.abs(value) >= size || size === 1) return [shown(value / size), name];
  return [shown(value), unit];
}

/**
 * Fills the metrics table of a launch from the data: one table for each would double the page.
 * @param {import('./app.js').App} app
 * @param {number} launch
 */
export function profileMetrics(app, launch) {
  const part = document.querySelector(`#sec-metrics .per-launch[data-launch="${launch}"]`);
  const { profile } = app.report;
  const form = /** @type {HTMLTemplateElement | null} */ (document.querySelector('#wg-metric-table'));
  if (part?.hasAttribute('data-fill') && form) {
    part.removeAttribute('data-fill');
    part.append(form.content.cloneNode(true));
    part.querySelector('[role="region"]')?.setAttribute('aria-label', `Metrics of launch ${launch + 1}`);
  }
  const body = part?.querySelector('tbody[data-fill]');
  if (!body || !profile) return;
  body.removeAttribute('data-fill');
  const { name, unit, about } = profile.metrics;
  const marks = new Map((app.report.launches[launch].measured?.marks ?? []).map(([at, mark]) => [at, mark]));
  const set = profile.sets[app.report.launches[launch].measured?.set ?? 0];
  const values = app.report.launches[launch].measured?.values ?? [];
  const rows = set.map((id, at) => ({ id, at })).filter(({ id }) => !/^(?:breakdown:|group:|device__attribute_)/.test(name[id]));
  rows.sort((a, b) => (name[a.id] < name[b.id] ? -1 : 1));
  body.append(...rows.map(({ id, at }) => {
    const [text, shownUnit] = marks.has(at) ? [marks.get(at), ''] : profileScaled(values[at], unit[id]);
    return el('tr', {}, el('th', { scope: 'row', class: 'mono' }, name[id]),
      el('td', { class: 'r mono nowrap', 'data-m': id }, text, shownUnit ? el('span', { class: 'unit' }, ` ${shownUnit}`) : null),
      el('td', { class: 'about' }, about[id] ?? ''));
  }));
}

/**
 * Calls once when an element comes near the view, at once where that cannot be told.
 * @param {Element} element
 * @param {() => void} act
 */
export function profileWhenSeen(element, act) {
  if (!('IntersectionObserver' in window)) return void act();
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    act();
  }, { rootMargin: '800px' });
  observer.observe(element);
}

/** @param {HTMLElement} root */
export function initMetrics(root) {
  const search = /** @type {HTMLInputElement | null} */ (root.querySelector('#wg-metric-search'));
  const found = root.querySelector('#wg-metric-found');
  if (!search) return;
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const part = root.querySelector('.per-launch:not([hidden])');
    const rows = /** @type {HTMLTableRowElement[]} */ ([...(part?.querySelectorAll('tbody tr') ?? [])]);
    let shown = 0;
    for (const row of rows) {
      const text = (row.textContent ?? '').toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) shown++;
    }
    if (found) found.textContent = words.length ? `${shown} of ${rows.length}` : '';
  };
  search.addEventListener('input', filter);
  document.addEventListener('wg-profile-shown', filter);
}
