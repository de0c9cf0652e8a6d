// Which lines of CUDA, PTX and SASS belong together, and how hot they are. Pure: no screen.

/**
 * @typedef {import('./data.js').WgRun} CodeRun
 * @typedef {object} CodeLinks
 * @property {string[][]} isa isa[r][pc]: the key of an instruction's own line in run r
 * @property {string[][][]} keys keys[r][pc]: every line that an instruction belongs to, its own first, then the user's
 * @property {Map<string, Array<[number, number]>>} at [run, pc] pairs of a key
 */

/** @param {string | number} source @param {number} line */
export function codeKey(source, line) {
  return `${source}:${line}`;
}

/**
 * Links of all runs of one launch.
 * @param {CodeRun[]} runs
 * @returns {CodeLinks}
 */
export function codeLinks(runs) {
  /** @type {CodeLinks['at']} */
  const at = new Map();
  const keys = runs.map((run, r) => {
    const { line, source, source_line: sourceLine, inlined } = run.code.instructions;
    return line.map((own, pc) => {
      const found = [codeKey(run.code.source, own)];
      const [user, userLine] = [source[pc], sourceLine[pc]];
      if (user !== null && user !== undefined && userLine) found.push(codeKey(user, userLine));
      for (const [from, fromLine] of inlined[pc] ?? []) found.push(codeKey(from, fromLine));
      const unique = [...new Set(found)];
      for (const key of unique) {
        const list = at.get(key);
        if (list) list.push([r, pc]);
        else at.set(key, [[r, pc]]);
      }
      return unique;
    });
  });
  return { isa: keys.map((run) => run.map((found) => found[0])), keys, at };
}

/**
 * Every line that lights up with a line: those of its instructions, and, for an instruction, those that other
 * instruction sets made of the same source line.
 * @param {CodeLinks} links
 * @param {string} key
 * @returns {Set<string>} without the key itself
 */
export function codeLinked(links, key) {
  const linked = new Set();
  for (const [run, pc] of links.at.get(key) ?? []) {
    const mine = links.keys[run][pc];
    for (const other of mine) linked.add(other);
    if (mine[0] !== key || mine.length < 2) continue;
    for (const [otherRun, otherPc] of links.at.get(mine[1]) ?? []) {
      if (otherRun !== run) linked.add(links.isa[otherRun][otherPc]);
    }
  }
  linked.delete(key);
  return linked;
}

/** @typedef {string} HeatColumn `executions`, `divergence`, or the name of a counter */

/** @type {Array<{id: HeatColumn, label: string, help: string}>} */
export const CODE_HEAT = [
  { id: 'executions', label: 'executions', help: 'warp instructions issued' },
  { id: 'sectors', label: 'sectors', help: '32-byte sectors of global memory, summed over requests' },
  { id: 'wavefronts', label: 'wavefronts', help: 'shared-memory wavefronts by the bank rule' },
  { id: 'divergence', label: 'lanes off', help: 'share of the 32 lanes that were off, in percent' },
];

/** Columns that only a profiler fills. @type {Array<{id: HeatColumn, label: string, help: string}>} */
const CODE_HEAT_MEASURED = [
  { id: 'samples', label: 'samples', help: 'samples of warps at the instruction' },
  { id: 'sectors_excess', label: 'sectors, excess', help: '32-byte sectors beyond what the bytes need' },
  { id: 'wavefronts_excess', label: 'wavefronts, excess', help: 'shared-memory wavefronts beyond the ideal' },
];

/**
 * Whether a run can fill a heat column.
 * @param {CodeRun} run
 * @param {HeatColumn} column
 */
export function codeHas(run, column) {
  return Boolean(run.profile[column === 'executions' ? 'warp_executed' : column === 'divergence' ? 'thread_executed' : column]);
}

/**
 * The heat columns of a report: the executed ones, and what profiled launches add, stall reasons last.
 * @param {import('./data.js').WgReport} report
 */
export function codeHeatColumns(report) {
  /** @type {Set<string>} */
  const found = new Set();
  for (const launch of report.launches) {
    for (const name of Object.keys(launch.measured?.code?.profile ?? {})) found.add(name);
  }
  const stalls = [...found].filter((name) => name.startsWith('stall_')).sort();
  return [
    ...CODE_HEAT,
    ...CODE_HEAT_MEASURED.filter((column) => found.has(column.id)),
    ...stalls.map((id) => ({ id, label: id.slice(6).replaceAll('_', ' '), help: 'samples of warps stalled for it' })),
  ];
}

/**
 * What the profiler counted at some instructions, in words; empty where nothing was measured there.
 * @param {CodeRun[]} runs
 * @param {Array<[number, number]>} places [run, pc]
 */
export function codeMeasured(runs, places) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const [r, pc] of places) {
    if (!runs[r].profile.samples && !runs[r].profile.sectors_excess) continue;
    for (const [name, column] of Object.entries(runs[r].profile)) {
      const value = column[pc];
      if (value) sums.set(name, (sums.get(name) ?? 0) + value);
    }
  }
  if (!sums.size) return '';
  const stalls = [...sums].filter(([name]) => name.startsWith('stall_')).sort((a, b) => b[1] - a[1]).slice(0, 4);
  /** @param {string} name @param {string} label */
  const part = (name, label) => (sums.has(name) ? `${(sums.get(name) ?? 0).toLocaleString('en-US')} ${label}` : '');
  const parts = [
    part('samples', `samples${stalls.length ? ` (${stalls.map(([name, value]) => `${name.slice(6).replaceAll('_', ' ')} ${value.toLocaleString('en-US')}`).join(', ')})` : ''}`),
    part('sectors', 'sectors'), part('sectors_excess', 'of them excess'),
    part('wavefronts', 'shared wavefronts'), part('wavefronts_excess', 'of them excess'),
  ];
  return `; measured: ${parts.filter(Boolean).join(', ') || 'nothing'}`;
}

/**
 * A heat value of a row of counters, or null where it says nothing.
 * @param {(name: string) => number | null | undefined} counter
 * @param {HeatColumn} column
 * @returns {number | null}
 */
export function codeHeatValue(counter, column) {
  const executed = counter('warp_executed');
  if (column === 'executions') return executed ?? null;
  if (column === 'divergence') {
    if (executed === null || executed === undefined) return null;
    const lanes = counter('thread_executed');
    return executed && lanes !== null && lanes !== undefined ? 100 * (1 - lanes / (32 * executed)) : null;
  }
  const value = counter(column);
  return value === null || value === undefined || value === 0 ? null : value;
}

/**
 * Heat of every line of one run, by key, with the largest.
 * @param {CodeRun} run
 * @param {HeatColumn} column
 * @returns {{values: Map<string, number>, max: number}}
 */
export function codeHeat(run, column) {
  /** @type {Map<string, number>} */
  const values = new Map();
  const { line } = run.code.instructions;
  let max = 0;
  let maxLine = 0;
  line.forEach((own, pc) => {
    const value = codeHeatValue((name) => run.profile[name]?.[pc], column);
    if (value === null) return;
    const key = codeKey(run.code.source, own);
    // Several instructions may share a printed line (a pasted listing, a macro): the hottest speaks for it.
    values.set(key, Math.max(values.get(key) ?? 0, value));
    max = Math.max(max, value);
  });
  for (const row of run.lines) {
    const value = codeHeatValue((name) => row[name], column);
    if (value === null) continue;
    values.set(codeKey(row.source, row.line), value);
    maxLine = Math.max(maxLine, value);
  }
  return { values, max: column === 'divergence' ? 100 : Math.max(max, maxLine) };
}

/**
 * 0 (none) to 6 (hottest); counts by their logarithm, percent as it is.
 * @param {number} value
 * @param {number} max
 * @param {HeatColumn} column
 */
export function codeHeatLevel(value, max, column) {
  if (value <= 0 || max <= 0) return 0;
  const share = column === 'divergence' ? value / 100 : Math.log1p(value) / Math.log1p(max);
  return Math.max(1, Math.min(6, Math.ceil(share * 6 - 1e-9)));
}

/**
 * What set the barriers that an instruction waits for: for each, the nearest instruction before it in the listing.
 * @param {any[]} control control fields, null where there are none
 * @param {number} pc
 * @returns {Array<{barrier: number, pc: number, what: 'write' | 'read'}>} pc is -1 where nothing before sets it
 */
export function codeSetters(control, pc) {
  const mask = control[pc]?.wait_mask ?? 0;
  const found = [];
  for (let barrier = 0; barrier < 6; barrier++) {
    if (!((mask >>> barrier) & 1)) continue;
    let at = pc - 1;
    while (at >= 0 && control[at]?.write_barrier !== barrier && control[at]?.read_barrier !== barrier) at--;
    /** @type {'write' | 'read'} */
    const what = at >= 0 && control[at].write_barrier === barrier ? 'write' : 'read';
    found.push({ barrier, pc: at, what });
  }
  return found;
}

/**
 * Instructions of a run at which most registers are live.
 * @param {CodeRun} run
 * @returns {{most: number, pcs: number[]} | null}
 */
export function codeLiveTop(run) {
  const live = run.code.instructions.live;
  let most = -1;
  for (const count of live) if (count !== null && count > most) most = count;
  if (most < 0) return null;
  return { most, pcs: live.flatMap((count, pc) => (count === most ? [pc] : [])) };
}
