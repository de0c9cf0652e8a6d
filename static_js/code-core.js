// Which lines of CUDA, PTX and SASS belong together, and how hot they are. Pure: no screen.

/**
 * @typedef {import('./data.js').WgRun} CodeRun
 * @typedef {object} CodeLinks
 * @property {string[][]} isa isa[r][pc]: the key of an instruction's own line in run r
 * @property {string[][][]} frames frames[r][pc]: source lines of an instruction, the user's own first
 * @property {string[][][]} ptx ptx[r][pc]: lines of PTX that a machine instruction was assembled from
 * @property {boolean[]} exact whether a run knows its PTX lines
 * @property {boolean[]} virtual whether a run is PTX
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
  /** @type {CodeLinks} */
  const links = { isa: [], frames: [], ptx: [], exact: [], virtual: runs.map((run) => run.isa === 'ptx'), at };
  runs.forEach((run, r) => {
    const { line, source, source_line: sourceLine, inlined, ptx_lines: ptxLines } = run.code.instructions;
    const ptxSource = run.code.ptx_source;
    const exact = Boolean(ptxLines) && ptxSource !== null && ptxSource !== undefined;
    links.exact.push(exact);
    links.isa.push(line.map((own) => codeKey(run.code.source, own)));
    links.ptx.push(line.map((_, pc) => (exact ? (ptxLines?.[pc] ?? []).map((one) => codeKey(ptxSource ?? '', one)) : [])));
    links.frames.push(line.map((_, pc) => {
      /** @type {string[]} */
      const found = [];
      const [user, userLine] = [source[pc], sourceLine[pc]];
      if (user !== null && user !== undefined && userLine) found.push(codeKey(user, userLine));
      for (const [from, fromLine] of inlined?.[pc] ?? []) found.push(codeKey(from, fromLine));
      return [...new Set(found)];
    }));
    line.forEach((_, pc) => {
      for (const key of new Set([links.isa[r][pc], ...links.frames[r][pc], ...links.ptx[r][pc]])) {
        const list = at.get(key);
        if (list) list.push([r, pc]);
        else at.set(key, [[r, pc]]);
      }
    });
  });
  return links;
}

/**
 * Every line that lights up with a line. A source line: all instructions made of it, and the other lines of
 * their inlining. A PTX line: the machine instructions assembled from it, and its source lines; and back.
 * Where an image does not say which PTX an instruction came from, the same source line has to do.
 * @param {CodeLinks} links
 * @param {string} key
 * @returns {Set<string>} without the key itself
 */
export function codeLinked(links, key) {
  const linked = new Set();
  const found = links.at.get(key) ?? [];
  const own = found.filter(([r, pc]) => links.isa[r][pc] === key);
  for (const [r, pc] of found) {
    // What a PTX line became may come from further source lines; those are that instruction's, not the line's.
    const madeOfIt = links.isa[r][pc] !== key && links.ptx[r][pc].includes(key);
    linked.add(links.isa[r][pc]);
    if (!madeOfIt || !own.length) for (const frame of links.frames[r][pc]) linked.add(frame);
  }
  for (const [r, pc] of own) {
    for (const ptx of links.ptx[r][pc]) linked.add(ptx);
    const user = links.frames[r][pc][0];
    if (user === undefined) continue;
    for (const [other, otherPc] of links.at.get(user) ?? []) {
      if (other !== r && !codeExact(links, r, other)) linked.add(links.isa[other][otherPc]);
    }
  }
  linked.delete(key);
  return linked;
}

/** Whether two runs are linked line by line. @param {CodeLinks} links @param {number} a @param {number} b */
function codeExact(links, a, b) {
  return links.virtual[a] !== links.virtual[b] && (links.virtual[a] ? links.exact[b] : links.exact[a]);
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
  { id: 'samples_not_issued', label: 'samples, not issued', help: 'samples of warps at the instruction while their scheduler issued nothing' },
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
    for (const name of launch.measured?.columns ?? Object.keys(launch.measured?.code?.profile ?? {})) found.add(name);
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
 * Where the numbers of a heat column come from; wavefronts of an execution are the bank rule's.
 * @param {import('./data.js').WgReport} report
 * @param {HeatColumn} column
 */
export function codeHeatEvidence(report, column) {
  const found = [];
  if (CODE_HEAT.some((one) => one.id === column) && report.launches.some((launch) => launch.runs.length)) {
    found.push(column === 'wavefronts' ? 'modelled' : 'executed');
  }
  if (!found.length || report.launches.some((launch) => launch.measured?.code)) found.push('measured');
  return found;
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
 * What set the barriers that an instruction waits for: for each, the nearest instruction before it in the listing,
 * or, where a loop brings it back, the last one behind it in that loop.
 * @param {any[]} control control fields, null where there are none
 * @param {number} pc
 * @param {{start: number, end: number} | null} [loop] instructions of the loop around `pc`
 * @returns {Array<{barrier: number, pc: number, what: 'write' | 'read', cycles: number}>} pc is -1 where nothing
 *   sets it; cycles are the stalls from there to the waiting instruction, -1 across a back edge
 */
export function codeSetters(control, pc, loop = null) {
  const mask = control[pc]?.wait_mask ?? 0;
  const found = [];
  for (let barrier = 0; barrier < 6; barrier++) {
    if (!((mask >>> barrier) & 1)) continue;
    /** @param {number} at */
    const sets = (at) => control[at]?.write_barrier === barrier || control[at]?.read_barrier === barrier;
    let at = pc - 1;
    while (at >= 0 && !sets(at)) at--;
    let cycles = 0;
    for (let one = Math.max(at, 0); at >= 0 && one < pc; one++) cycles += control[one]?.stall ?? 0;
    if (at < 0 && loop) {
      cycles = -1;
      for (let one = loop.end - 1; one >= pc && at < 0; one--) if (sets(one)) at = one;
    }
    /** @type {'write' | 'read'} */
    const what = at >= 0 && control[at].write_barrier === barrier ? 'write' : 'read';
    found.push({ barrier, pc: at, what, cycles });
  }
  return found;
}

/**
 * The innermost loop around an instruction, as the stretch of its blocks; null outside loops.
 * @param {import('./data.js').WgCode} code
 * @param {number} pc
 */
export function codeLoopAt(code, pc) {
  const block = code.instructions.block?.[pc];
  const loop = block === null || block === undefined ? null : code.blocks?.[block]?.loop;
  if (loop === null || loop === undefined || !code.loops?.[loop]) return null;
  const members = code.loops[loop].blocks.map((b) => code.blocks[b]);
  return { start: Math.min(...members.map((b) => b.start)), end: Math.max(...members.map((b) => b.end)) };
}

/**
 * A control field in plain language; empty without one.
 * @param {any} field
 * @returns {string[]}
 */
export function codeControlWords(field) {
  if (!field) return [];
  const words = [];
  const { stall, yield_bit: raw, write_barrier: write, read_barrier: read, wait_mask: mask, reuse } = field;
  if (stall !== null && stall !== undefined) words.push(`the warp's next instruction issues at least ${stall} cycle${stall === 1 ? '' : 's'} later`);
  if (raw !== null && raw !== undefined) words.push(`yield bit ${Number(raw)} (as encoded: tools disagree about its sense)`);
  if (write >= 0 && write < 6 && write !== null) words.push(`barrier ${write} is set until the result is written`);
  if (read >= 0 && read < 6 && read !== null) words.push(`barrier ${read} is set until the operands are read`);
  const waits = [0, 1, 2, 3, 4, 5].filter((barrier) => (mask >>> barrier) & 1);
  if (waits.length) words.push(`waits for barrier ${waits.join(', ')}`);
  const slots = [0, 1, 2, 3].filter((slot) => (reuse >>> slot) & 1);
  if (slots.length) words.push(`operand slot ${slots.join(', ')} stays in the operand cache`);
  return words;
}

/**
 * One sentence about an instruction's opcode, with its pipe and class; empty where nothing is known.
 * @param {import('./data.js').WgCode} code
 * @param {number} pc
 */
export function codeHelp(code, pc) {
  const opcode = code.instructions.opcode[pc];
  const known = code.opcodes?.[opcode];
  if (!known) return '';
  const pipe = known.pipe ? `${known.pipe} pipe` : 'pipe not published';
  return `${opcode}: ${known.help ?? 'not in the table of known opcodes'} · ${pipe} · ${code.instructions.kind[pc]}`;
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
