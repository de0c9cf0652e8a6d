// A profiled launch beside a baseline: the difference in every table that shows a measured number.
//
// A cell names what it holds: data-m is a metric of the launch; data-k a name that the same thing has in every launch
// (a line, an opcode, a rule), with the number in data-v; data-agg a metric of all launches of a kernel.

import { dataMeasured } from './data.js';
import { el } from './dom.js';
import { lazyLook, lazyUnpack } from './lazy.js';
import { profileDelta, profileMetrics, profilePartner, profileValues, profileWhenSeen } from './profile.js';

/** Pages of more launches fill the table of metrics when it is seen (sections/metrics.py). */
const COMPARE_FEW = 24;

/** Sections with cells that say what they hold. */
const COMPARE_PARTS = ['profile', 'metrics', 'verdict', 'occupancy', 'roofline', 'loops', 'bottleneck', 'launches', 'comparison'];

/**
 * The launch that `launch` is compared with: null where the baseline has no such kernel, undefined without a baseline.
 * @param {import('./data.js').WgReport} report
 * @param {number} launch
 * @param {string} choice `launch:3`, `file:1` or nothing
 * @returns {number | null | undefined}
 */
export function compareBase(report, launch, choice) {
  const [kind, number] = choice.split(':');
  if (!kind) return undefined;
  return kind === 'launch' ? Number(number) : profilePartner(report, launch, Number(number));
}

/**
 * A number by its name in a launch's code, where the launch's own tables are too short to list it.
 * @param {import('./data.js').WgReport} report
 * @param {number} launch
 * @param {string} key `line:<source>:<line>` or `spot:<column>:<offset>:<opcode>`
 * @returns {number | null}
 */
export function compareCode(report, launch, key) {
  const code = report.launches[launch]?.measured?.code;
  const rows = code && report.profile?.codes[code.code]?.instructions;
  if (!code || !rows) return null;
  const parts = key.split(':');
  if (parts[0] === 'spot') {
    const pc = /** @type {any} */ (rows).offset.indexOf(Number(parts[2]));
    return pc < 0 || rows.opcode[pc] !== parts[3] || !code.profile[parts[1]] ? null : code.profile[parts[1]][pc] ?? 0;
  }
  if (parts[0] !== 'line' || !code.profile.samples) return null;
  const [name, line] = [parts.slice(1, -1).join(':'), Number(parts[parts.length - 1])];
  if (name === 'sass') {
    const pc = rows.line.indexOf(line);
    return pc < 0 ? null : code.profile.samples[pc] ?? 0;
  }
  const source = report.sources.find((one) => one.name === name);
  const same = source ? code.lines.filter((one) => String(one.source) === String(source.id)) : [];
  return same.length ? same.find((one) => one.line === line)?.samples ?? 0 : null;
}

/**
 * One number of several launches: totals as the mean of a launch, so that unlike counts compare.
 * @param {number[]} values
 * @param {string} how sum, mean, max or min
 * @param {string} part value, low, high or spread
 * @returns {number | null}
 */
export function compareRoll(values, how, part) {
  if (!values.length) return null;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (part === 'low' || (part === 'value' && how === 'min')) return low;
  if (part === 'high' || (part === 'value' && how === 'max')) return high;
  if (part === 'spread') return values.length > 1 && low + high !== 0 ? (high - low) / Math.abs((low + high) / 2) : null;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** @param {ParentNode} root */
function compareClear(root) {
  for (const old of root.querySelectorAll('.delta')) old.remove();
}

/** @param {Element} cell @param {any} value @param {any} base @param {string} [title] */
function compareWrite(cell, value, base, title) {
  const delta = profileDelta(value, base);
  if (delta) cell.append(el('span', { class: `delta ${delta.way}`, title: title ?? `baseline: ${base}` }, delta.text));
}

/**
 * Every cell of a launch's part of a section.
 * @param {HTMLElement} root
 * @param {import('./app.js').App} app
 * @param {number} launch
 * @param {number} base
 */
async function compareLaunch(root, app, launch, base) {
  const part = root.querySelector(`.per-launch[data-launch="${launch}"]`);
  if (!part) return;
  const { report } = app;
  const [mine, theirs] = [profileValues(report, launch), profileValues(report, base)];
  for (const cell of /** @type {NodeListOf<HTMLElement>} */ (part.querySelectorAll('[data-m]'))) {
    const metric = Number(cell.dataset.m);
    if (metric >= 0) compareWrite(cell, mine.get(metric), theirs.get(metric));
  }
  const keyed = /** @type {HTMLElement[]} */ ([...part.querySelectorAll('[data-k]')]);
  if (!keyed.length) return;
  const other = await lazyLook(root, base);
  /** @type {Map<string, number>} */
  const known = new Map();
  for (const cell of /** @type {NodeListOf<HTMLElement>} */ (other?.querySelectorAll('[data-k]') ?? [])) {
    known.set(cell.dataset.k ?? '', Number(cell.dataset.v));
  }
  for (const cell of keyed) {
    const key = cell.dataset.k ?? '';
    compareWrite(cell, Number(cell.dataset.v), known.get(key) ?? compareCode(report, base, key));
  }
}

/**
 * The list of launches: each against its own baseline.
 * @param {HTMLElement} root
 * @param {import('./app.js').App} app
 * @param {string} choice
 */
function compareList(root, app, choice) {
  for (const row of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll('[data-launch-row]'))) {
    const launch = Number(row.dataset.launchRow);
    const base = compareBase(app.report, launch, choice);
    if (base === null || base === undefined || base === launch) continue;
    const [mine, theirs] = [profileValues(app.report, launch), profileValues(app.report, base)];
    for (const cell of /** @type {NodeListOf<HTMLElement>} */ (row.querySelectorAll('td[data-m]'))) {
      const metric = Number(cell.dataset.m);
      if (metric >= 0) compareWrite(cell, mine.get(metric), theirs.get(metric));
    }
  }
}

/**
 * Repeated launches: against all launches of the same kernel in another report, or against one launch.
 * @param {HTMLElement} root
 * @param {import('./app.js').App} app
 * @param {string} choice
 */
function compareRepeated(root, app, choice) {
  const { launches } = app.report;
  const [kind, number] = choice.split(':');
  for (const group of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll('[data-launches]'))) {
    const own = (group.dataset.launches ?? '').split(' ').map(Number);
    const name = launches[own[0]]?.kernel.name;
    const bases = kind === 'launch' ? [Number(number)] : launches.flatMap((one, i) => (
      one.measured?.file === Number(number) && one.kernel.name === name && launches[own[0]].measured?.file !== Number(number) ? [i] : []));
    if (!bases.length) continue;
    const sides = [own, bases].map((ids) => ids.map((id) => profileValues(app.report, id)));
    for (const cell of /** @type {NodeListOf<HTMLElement>} */ (group.querySelectorAll('[data-agg]'))) {
      const { agg = '', part = '' } = cell.dataset;
      const [mine, theirs] = sides.map((maps) => compareRoll(
        maps.map((map) => map.get(Number(cell.dataset.of))).filter((value) => typeof value === 'number'), agg, part));
      const many = bases.length > 1 ? `${bases.length} launches` : `launch ${bases[0] + 1}`;
      compareWrite(cell, mine, theirs, `${agg === 'sum' && part === 'value' ? 'a launch on average; ' : ''}baseline, ${many}: ${theirs}`);
    }
  }
}

/**
 * What the choice means for the shown launch.
 * @param {number | null | undefined} base
 * @param {number} launch
 */
function compareNote(base, launch) {
  if (base === undefined) return '';
  if (base === null) return 'no such kernel in the baseline';
  return base === launch ? 'this launch is the baseline itself' : `differences to launch ${base + 1}`;
}

/** @param {HTMLSelectElement} select @param {import('./app.js').App} app */
function compareChoices(select, app) {
  const { launches, profile } = app.report;
  if (!profile) return;
  if (profile.files.length > 1) {
    select.append(el('optgroup', { label: 'Whole reports, launch by launch' },
      ...profile.files.map((file, i) => el('option', { value: `file:${i}` }, file.name))));
  }
  select.append(el('optgroup', { label: 'Launches' }, ...launches.flatMap((launch, i) => (launch.measured
    ? [el('option', { value: `launch:${i}` }, `${i + 1}. ${launch.label || launch.kernel.bare} (${profile.files[launch.measured.file]?.name ?? ''})`)] : []))));
}

/** @param {HTMLElement} root @param {import('./app.js').App} app */
export function initProfile(root, app) {
  const select = /** @type {HTMLSelectElement | null} */ (root.querySelector('#wg-baseline'));
  const note = root.querySelector('#wg-baseline-note');
  /** @param {string} id */
  const section = (id) => document.getElementById(`sec-${id}`);
  if (select) compareChoices(select, app);
  let metricsSeen = app.report.launches.length <= COMPARE_FEW;
  let turn = 0;
  const show = async () => {
    const { launch } = app.store.get();
    const choice = select?.value ?? '';
    const mine = ++turn;
    await lazyUnpack(root, launch);
    if (metricsSeen) profileMetrics(app, launch);
    const base = compareBase(app.report, launch, choice);
    // One comparison needs two launches; the list and the repeated launches need all.
    if (choice) await Promise.all(app.report.launches.map(dataMeasured));
    const parts = COMPARE_PARTS.map(section);
    if (mine !== turn) return;
    for (const part of parts) if (part) compareClear(part);
    const [list, repeated] = ['launches', 'comparison'].map(section);
    if (choice && list) compareList(list, app, choice);
    if (choice && repeated) compareRepeated(repeated, app, choice);
    if (base !== null && base !== undefined && base !== launch) {
      await Promise.all(parts.map(async (part) => {
        if (!part || part === list || part === repeated) return;
        await lazyUnpack(part, launch);
        if (mine === turn) await compareLaunch(part, app, launch, base);
      }));
    }
    if (note && mine === turn) note.textContent = compareNote(base, launch);
    document.dispatchEvent(new CustomEvent('wg-profile-shown'));
  };
  const metrics = section('metrics');
  if (metrics && !metricsSeen) {
    profileWhenSeen(metrics, () => {
      metricsSeen = true;
      void show();
    });
  }
  select?.addEventListener('change', () => void show());
  app.store.subscribe((_, changed) => {
    if (changed.has('launch')) void show();
  });
  void show();
}
