// Traces for the unit tests and the benchmark.

/** @typedef {import('../../static_js/data.js').WgTrace} SampleTrace */
/** @typedef {import('../../static_js/data.js').WgCode} SampleCode */

/** @param {number} state a seed @returns {() => number} numbers in [0, 1) */
export function randomFrom(state) {
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * A trace from rows [round, warp, pc, group, mask?].
 * @param {number[][]} rows
 * @param {number} warps
 * @param {number} [threads]
 * @param {boolean} [truncated]
 * @returns {SampleTrace}
 */
export function traceOf(rows, warps, threads = 32 * warps, truncated = false) {
  const column = (/** @type {number} */ at) => Uint32Array.from(rows, (row) => row[at] ?? row[3]);
  const round = column(0);
  return { block: [0, 0, 0], index: 0, warps, threads, steps: rows.length, rounds: rows.length ? round[rows.length - 1] + 1 : 0, truncated,
    round, warp: column(1), pc: column(2), group: column(3), mask: column(4) };
}

/**
 * Code from kinds, with basic blocks and loops.
 * @param {string[]} kinds
 * @param {Partial<SampleCode> & {block?: (number | null)[], source_line?: (number | null)[]}} [more]
 * @returns {SampleCode}
 */
export function codeOf(kinds, more = {}) {
  const n = kinds.length;
  const fill = (/** @type {any} */ value) => Array.from({ length: n }, () => value);
  return {
    source: 1,
    instructions: { line: kinds.map((_, i) => i + 1), opcode: kinds.slice(), text: kinds.slice(), kind: kinds, source: fill(0),
      source_line: more.source_line ?? kinds.map((_, i) => 10 + i), inlined: fill(null), block: more.block ?? fill(0), live: fill(1),
      reads: kinds.map(() => []), writes: kinds.map(() => []), control: fill(null) },
    blocks: more.blocks ?? [{ start: 0, end: n, successors: [], ipdom: null, loop: null }],
    loops: more.loops ?? [], registers: more.registers ?? { names: [], types: [] },
  };
}

/**
 * A warp that splits at pc 1: lanes 0–15 run 2, the others 3, all meet at 4 and leave at 5.
 *
 *     0 load   1 branch   2 alu | 3 alu   4 barrier   5 exit
 */
export function diamond() {
  const all = 0xffffffff;
  const [low, high] = [0x0000ffff, 0xffff0000];
  const trace = traceOf([
    [0, 0, 0, all], [0, 1, 0, all], [1, 0, 1, all], [1, 1, 1, all], [2, 0, 2, low], [2, 1, 4, all],
    [3, 0, 3, high, 0x00ff0000], [4, 0, 4, all], [5, 0, 5, all], [5, 1, 5, all],
  ], 2);
  const code = codeOf(['load', 'branch', 'alu', 'alu', 'barrier', 'exit'], {
    block: [0, 0, 1, 2, 3, 3],
    blocks: [
      { start: 0, end: 2, successors: [1, 2], ipdom: 3, loop: null }, { start: 2, end: 3, successors: [3], ipdom: 3, loop: null },
      { start: 3, end: 4, successors: [3], ipdom: 3, loop: null }, { start: 4, end: 6, successors: [], ipdom: null, loop: null },
    ],
  });
  return { trace, code };
}

/**
 * A long trace: all warps loop, some lanes leave for a while.
 * @param {number} steps
 * @param {number} [warps]
 */
export function busyTrace(steps, warps = 32) {
  const random = randomFrom(7);
  const rounds = Math.floor(steps / warps);
  const count = rounds * warps;
  const kinds = ['load', 'alu', 'alu', 'store', 'fpu', 'fpu', 'branch', 'barrier', 'alu', 'exit'];
  const make = () => new Uint32Array(count);
  const [round, warp, pc, group] = [make(), make(), make(), make()];
  let part = 0;
  for (let i = 0; i < count; i++) {
    round[i] = Math.floor(i / warps);
    warp[i] = i % warps;
    pc[i] = round[i] === rounds - 1 ? 9 : round[i] % 9;
    if (pc[i] === 0) part = random() < 0.2 ? 0x0000ffff : 0xffffffff;
    group[i] = pc[i] < 6 ? part : 0xffffffff;
  }
  /** @type {SampleTrace} */
  const trace = { block: [0, 0, 0], index: 0, warps, threads: 32 * warps, steps: count, rounds, truncated: false, round, warp, pc, group, mask: group };
  return { trace, kinds };
}

/**
 * The generator's packing, again: byte planes, gzip, base64.
 * @param {ArrayLike<number>} values below 2^32
 * @param {boolean} [delta]
 * @param {'u8' | 'u16' | 'u32'} [type]
 */
export async function packColumn(values, delta = false, type = 'u32') {
  const width = { u8: 1, u16: 2, u32: 4 }[type];
  const n = values.length;
  const planes = new Uint8Array(width * n);
  let before = 0;
  for (let i = 0; i < n; i++) {
    const value = delta ? (values[i] - before) >>> 0 : values[i];
    before = values[i];
    for (let byte = 0; byte < width; byte++) planes[byte * n + i] = value >>> (8 * byte);
  }
  const stream = new Blob([planes]).stream().pipeThrough(new CompressionStream('gzip'));
  const packed = Buffer.from(await new Response(stream).arrayBuffer()).toString('base64');
  return { $: type, n, d: packed, ...(delta ? { x: 'delta' } : {}) };
}
