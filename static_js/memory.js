// The memory table sorts and filters; every sample of a chosen access is drawn lane by lane.

import { domReplace, el, svgEl } from './dom.js';
import { memoryBanks, memorySectors } from './memory-core.js';
import { tracePopcount } from './trace-core.js';

const ACCESS_LANE = 20;
const ACCESS_LEFT = 58;
const ACCESS_SECTORS = 32;
const ACCESS_WAVES = 32;

/**
 * Order of rows by a column: numbers by value with unknown last, else text.
 * @param {string[]} values
 * @param {boolean} descending
 * @returns {number[]} row indexes
 */
export function memoryOrder(values, descending) {
  const numeric = values.every((value) => value === '' || Number.isFinite(Number(value)));
  const order = values.map((_, i) => i);
  order.sort((a, b) => {
    if (values[a] === '' || values[b] === '') return Number(values[a] === '') - Number(values[b] === '') || a - b;
    const by = numeric ? Number(values[a]) - Number(values[b]) : values[a].localeCompare(values[b], 'en', { numeric: true });
    return (descending ? -by : by) || a - b;
  });
  return order;
}

/** @param {number} lane @param {boolean} on */
function accessLane(lane, on) {
  const x = ACCESS_LEFT + lane * ACCESS_LANE;
  return [
    svgEl('rect', { class: on ? 'lane' : 'lane off', x: x + 1, y: 2, width: ACCESS_LANE - 2, height: 18, rx: 2, 'data-lane': lane }),
    svgEl('text', { class: on ? 'lane-t' : 'lane-t off', x: x + ACCESS_LANE / 2, y: 15, 'text-anchor': 'middle' }, lane),
  ];
}

/** Pixels of the whole picture. */
const ACCESS_WIDTH = ACCESS_LEFT + 32 * ACCESS_LANE + 4;

/** @param {import('./data.js').WgSample} sample */
function accessSectors(sample) {
  const addresses = sample.addresses.map(Number);
  const found = memorySectors(sample.mask, addresses, sample.size);
  const shown = found.slice(0, ACCESS_SECTORS);
  const room = (32 * ACCESS_LANE) / Math.max(1, shown.length);
  const svg = svgEl('svg', { class: 'fig fig-access', viewBox: `0 0 ${ACCESS_WIDTH} 150`, role: 'img',
    'aria-label': `${tracePopcount(sample.mask)} lanes touch ${found.length} sectors of 32 bytes` });
  svg.append(svgEl('text', { class: 't', x: 0, y: 15 }, 'lane'), svgEl('text', { class: 't', x: 0, y: 125 }, 'sector'));
  shown.forEach(({ sector, lanes }, n) => {
    const x = ACCESS_LEFT + n * room + room / 2;
    for (const lane of lanes) {
      svg.append(svgEl('line', { class: 'link', x1: ACCESS_LEFT + lane * ACCESS_LANE + ACCESS_LANE / 2, y1: 20, x2: x, y2: 110 }));
    }
    svg.append(svgEl('rect', { class: 'sector', x: ACCESS_LEFT + n * room + 1, y: 110, width: Math.max(room - 2, 1), height: 20, rx: 2 },
      svgEl('title', {}, `lanes ${lanes.join(', ')}`)));
    if (room >= 36 || n === 0) {
      svg.append(svgEl('text', { class: 't', x, y: 145, 'text-anchor': 'middle' }, `+0x${(sector * 32 - Number(sample.base ?? 0)).toString(16)}`));
    }
  });
  for (let lane = 0; lane < 32; lane++) svg.append(...accessLane(lane, ((sample.mask >>> lane) & 1) === 1));
  if (found.length > shown.length) {
    svg.append(svgEl('text', { class: 't', x: ACCESS_WIDTH - 4, y: 145, 'text-anchor': 'end' }, `and ${found.length - shown.length} more`));
  }
  return svg;
}

/** @param {import('./data.js').WgSample} sample */
function accessBanks(sample) {
  const { cells, wavefronts } = memoryBanks(sample.mask, sample.addresses.map(Number), sample.size);
  const rows = Math.min(wavefronts, ACCESS_WAVES);
  const svg = svgEl('svg', { class: 'fig fig-access', viewBox: `0 0 ${ACCESS_WIDTH} ${22 + rows * 18 + 16}`, role: 'img',
    'aria-label': `${tracePopcount(sample.mask)} lanes, ${wavefronts} wavefronts by bank` });
  svg.append(svgEl('text', { class: 't', x: 0, y: 14 }, 'bank'));
  for (let bank = 0; bank < 32; bank++) {
    svg.append(svgEl('text', { class: 't', x: ACCESS_LEFT + bank * ACCESS_LANE + ACCESS_LANE / 2, y: 14, 'text-anchor': 'middle' }, bank));
  }
  for (let wave = 0; wave < rows; wave++) {
    const y = 20 + wave * 18;
    svg.append(svgEl('text', { class: 't', x: 0, y: y + 13 }, `wave ${wave + 1}`),
      svgEl('rect', { class: 'bank-row', x: ACCESS_LEFT, y: y + 1, width: 32 * ACCESS_LANE, height: 16 }));
  }
  for (const { wavefront, bank, word, lanes } of cells) {
    if (wavefront >= rows) continue;
    const [x, y] = [ACCESS_LEFT + bank * ACCESS_LANE, 20 + wavefront * 18];
    svg.append(
      svgEl('rect', { class: lanes.length > 1 ? 'bank shared-word' : 'bank', x: x + 1, y: y + 1, width: ACCESS_LANE - 2, height: 16, rx: 2 },
        svgEl('title', {}, `word at 0x${(word * 4).toString(16)}, lanes ${lanes.join(', ')}`)),
      svgEl('text', { class: 'lane-t', x: x + ACCESS_LANE / 2, y: y + 13, 'text-anchor': 'middle' }, lanes.length > 1 ? `${lanes.length}×` : lanes[0]));
  }
  const note = 'a number is the lane served; n× is one word read by n lanes';
  svg.append(svgEl('text', { class: 't', x: ACCESS_LEFT, y: 22 + rows * 18 + 13 }, wavefronts > rows ? `and ${wavefronts - rows} more wavefronts; ${note}` : note));
  return svg;
}

/**
 * The picture of a sample, or null for spaces that have none.
 * @param {import('./data.js').WgSample} sample
 */
export function memoryPicture(sample) {
  if (!sample.mask) return null;
  if (sample.space === 'shared') return accessBanks(sample);
  return sample.space === 'global' || sample.space === 'generic' ? accessSectors(sample) : null;
}

/**
 * Samples that differ; where the first request is also the worst, one says both.
 * @param {import('./data.js').WgSample[]} samples
 */
export function memoryDistinct(samples) {
  /** @type {Map<string, import('./data.js').WgSample>} */
  const found = new Map();
  for (const sample of samples) {
    const key = JSON.stringify([sample.block, sample.warp, sample.mask, sample.addresses]);
    const same = found.get(key);
    found.set(key, same ? { ...same, label: `${same.label} and ${sample.label}` } : sample);
  }
  return [...found.values()];
}

/** @param {number | null} count @param {string} noun */
function memoryCount(count, noun) {
  return `${count ?? 'unknown'} ${noun}${count === 1 ? '' : 's'}`;
}

/** @param {number | null | undefined} top @param {number | null | undefined} bottom */
function memoryRatio(top, bottom) {
  return top === null || top === undefined || !bottom ? null : top / bottom;
}

/**
 * What a column sorts by, as text; empty where it is unknown.
 * @param {import('./data.js').WgMemory} access
 * @param {string} column
 * @param {HTMLTableCellElement} cell
 */
export function memoryValue(access, column, cell) {
  const shared = access.space === 'shared';
  const [cost, best] = shared ? [access.wavefronts, access.wavefronts_ideal] : [access.sectors, access.sectors_ideal];
  /** @type {Record<string, any>} */
  const values = { space: access.space, width: access.width, requests: access.requests, lanes: access.lanes, cost,
    each: memoryRatio(cost, access.requests), factor: memoryRatio(cost, best), conflicts: shared ? access.conflicts : null,
    broadcasts: access.broadcasts };
  const value = column in values ? values[column] : cell.textContent?.trim();
  return value === null || value === undefined ? '' : String(value);
}

/**
 * Sorting by a click on a column's head.
 * @param {HTMLTableElement} table
 * @param {import('./data.js').WgMemory[]} accesses
 */
function memorySort(table, accesses) {
  const body = table.tBodies[0];
  const heads = /** @type {HTMLElement[]} */ ([...table.querySelectorAll('th[data-sort]')]);
  heads.forEach((head, column) => {
    const button = el('button', { type: 'button', class: 'sort' }, head.textContent);
    domReplace(head, button);
    button.addEventListener('click', () => {
      const descending = head.getAttribute('aria-sort') !== 'descending';
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
      const rows = [...body.rows];
      const values = rows.map((row) => memoryValue(accesses[Number(row.dataset.row)], head.dataset.sort ?? '', row.cells[column]));
      body.append(...memoryOrder(values, descending).map((i) => rows[i]));
    });
  });
}

/**
 * Filters by space.
 * @param {HTMLTableElement} table
 * @param {import('./data.js').WgMemory[]} accesses
 */
function memoryFilter(table, accesses) {
  const rows = [...table.tBodies[0].rows];
  const spaces = new Map(rows.map((row) => [row, accesses[Number(row.dataset.row)].space]));
  const values = [...new Set(spaces.values())].sort();
  if (values.length < 2) return null;
  /** @type {HTMLElement[]} */
  const buttons = ['', ...values].map((space) => el('button', { type: 'button', class: 'wg-button chip', 'aria-pressed': String(!space), onclick: () => {
    for (const row of rows) row.classList.toggle('filtered-out', Boolean(space) && spaces.get(row) !== space);
    for (const other of buttons) other.setAttribute('aria-pressed', String(other.textContent === (space || 'all')));
  } }, space || 'all'));
  return el('div', { class: 'filters' }, el('div', { class: 'filter-group', role: 'group', 'aria-label': 'Memory space' },
    el('span', { class: 'filter-label', 'aria-hidden': 'true' }, 'Space'), ...buttons));
}

/**
 * @param {HTMLElement} part the server's content of one launch
 * @param {import('./app.js').App} app
 */
function memoryPart(part, app) {
  const table = /** @type {HTMLTableElement | null} */ (part.querySelector('table.memory'));
  const live = /** @type {HTMLElement | null} */ (part.querySelector('.access-live'));
  if (!table || !live) return;
  const launch = app.report.launches[Number(table.dataset.launchTable)];
  const run = launch?.runs[launch.primary] ?? launch?.runs[0];
  if (!run) return;
  const accesses = run.memory.filter((row) => row.requests);
  memorySort(table, accesses);
  const filter = memoryFilter(table, accesses);
  if (filter) table.parentElement?.before(filter);
  const rows = [...table.tBodies[0].rows];
  /** @param {HTMLTableRowElement} chosen */
  const show = (chosen) => {
    for (const row of rows) row.classList.toggle('chosen', row === chosen);
    for (const row of rows) row.querySelector('button.show')?.setAttribute('aria-pressed', String(row === chosen));
    const access = accesses[Number(chosen.dataset.row)];
    domReplace(live, ...memoryDistinct(access.samples).map((sample) => {
      const picture = memoryPicture(sample);
      const cost = sample.space === 'shared' ? `${memoryCount(sample.wavefronts, 'wavefront')}, ${sample.wavefronts_ideal} at best`
        : `${memoryCount(sample.sectors, 'sector')}, ${sample.sectors_ideal} at best`;
      return el('figure', { class: 'access' }, el('figcaption', {}, el('strong', {}, `${sample.label} request`), ` of `,
        el('code', {}, run.code.instructions.text[access.pc] ?? ''), `: block (${sample.block.join(', ')}), warp ${sample.warp}, ${cost}`,
        sample.buffer ? `, buffer ${sample.buffer}` : ''), picture ? el('div', { class: 'access-scroll', role: 'group', tabindex: 0, 'aria-label': `Picture of the ${sample.label} request` }, picture)
          : el('p', { class: 'quiet' }, `There is no picture for ${sample.space} memory.`));
    }), access.samples.length ? null : el('p', { class: 'quiet' }, 'No request of this instruction was kept.'));
  };
  for (const row of rows) {
    const cell = row.cells[1];
    const code = cell.querySelector('code');
    if (!code) continue;
    const button = el('button', { type: 'button', class: 'show', title: 'Show which lane touches what', 'aria-pressed': 'false', onclick: () => show(row) });
    button.append(code);
    domReplace(cell, button);
  }
  part.querySelector('.access-static')?.classList.add('js-replaced');
  const worst = rows.reduce((best, row) => (memoryExcess(accesses, row) > memoryExcess(accesses, best) ? row : best), rows[0]);
  if (worst) show(worst);
}

/** Cost beyond the best, for the row that is shown first. @param {import('./data.js').WgMemory[]} accesses @param {HTMLTableRowElement} row */
function memoryExcess(accesses, row) {
  const access = accesses[Number(row.dataset.row)];
  if (!access) return 0;
  return access.space === 'shared' ? (access.wavefronts ?? 0) - (access.wavefronts_ideal ?? 0) : (access.sectors ?? 0) - (access.sectors_ideal ?? 0);
}

/**
 * @param {HTMLElement} root
 * @param {import('./app.js').App} app
 */
export function initMemory(root, app) {
  for (const part of root.querySelectorAll('.per-launch')) memoryPart(/** @type {HTMLElement} */ (part), app);
}
