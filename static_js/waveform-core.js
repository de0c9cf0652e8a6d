// The waveform without a screen: what state a warp is in at each round, a pyramid of dominant states, the view.

/**
 * @typedef {import('./data.js').WgTrace} WaveTrace
 * @typedef {import('./data.js').WgBarriers} WaveBarriers
 * @typedef {import('./trace-core.js').TraceIndex} WaveIndex
 */

export const WAVE_NONE = 0;
export const WAVE_ISSUE = 1;
export const WAVE_MEMORY = 2;
export const WAVE_BARRIER = 3;
export const WAVE_DIVERGED = 4;
export const WAVE_FINISHED = 5;
export const WAVE_IDLE = 6;
const WAVE_STATES = 7;
export const WAVE_NAMES = ['not recorded', 'issue', 'memory', 'barrier wait', 'diverged', 'finished', 'waits'];
/** One letter a state: colour is never the only difference. */
export const WAVE_LETTERS = ['', 'i', 'M', 'B', 'D', '', 'w'];

/** Where two states fill a cell equally often the rarer kind of news wins: a split warp must not vanish. */
const WAVE_RANK = [0, 3, 4, 5, 6, 1, 2];

/** Bits above the dominant state in the coarser levels: the cell also holds some of these. */
export const WAVE_HAS_DIVERGED = 8;
export const WAVE_HAS_BARRIER = 16;
export const WAVE_STATE_BITS = 7;

/** Cells of the finest level are at most this many (bytes): longer runs start from a coarser level. */
const WAVE_MAX_CELLS = 1 << 25;

const WAVE_MEMORY_KINDS = new Set(['load', 'store', 'atomic', 'async']);

/**
 * @typedef {object} WaveLevels
 * @property {number} rows
 * @property {number} rounds
 * @property {number} shift of the finest level: a cell holds 2^shift rounds
 * @property {Uint8Array[]} levels level i holds rows × cells(i) states, row by row; from level 1 on with the bits above
 * @property {number[]} cells cells of a row in each level
 */

/**
 * For each instruction 1 for a memory operation, 2 for a barrier, 3 for an exit, else 0.
 * @param {string[]} kinds
 */
export function waveKinds(kinds) {
  return Uint8Array.from(kinds, (kind) => (WAVE_MEMORY_KINDS.has(kind) ? 1 : kind === 'barrier' ? 2 : kind === 'exit' ? 3 : 0));
}

/**
 * The state of each step: diverged (some lanes that are alive are not in the group), memory, or issue.
 * @param {WaveTrace} trace
 * @param {WaveIndex} index
 * @param {Uint8Array} kinds
 */
export function waveStepStates(trace, index, kinds) {
  const { warp, pc, group } = trace;
  const n = trace.steps;
  const states = new Uint8Array(n);
  const alive = index.launched.slice();
  for (let i = 0; i < n; i++) {
    const w = warp[i];
    const kind = kinds[pc[i]];
    states[i] = (group[i] ^ alive[w]) !== 0 ? WAVE_DIVERGED : kind === 1 ? WAVE_MEMORY : WAVE_ISSUE;
    if (kind === 3) {
      // Only lanes that never run again have left: `ret` of a device function is an exit by kind alone.
      for (let lane = 0; lane < 32; lane++) {
        if ((group[i] >>> lane) & 1 && index.lastOfLane[w * 32 + lane] === i) alive[w] &= ~(1 << lane);
      }
    }
  }
  return states;
}

/**
 * The finest level of one row: the state of a warp in each cell of 2^shift rounds (the dominant one).
 * @param {WaveTrace} trace
 * @param {WaveIndex} index
 * @param {Uint8Array} kinds
 * @param {Uint8Array} states
 * @param {number} warp
 * @param {Uint8Array} out
 * @param {number} shift
 */
export function waveRow(trace, index, kinds, states, warp, out, shift) {
  const full = shift === 0 ? out : new Uint8Array(trace.rounds);
  const [from, to] = [index.start[warp], index.start[warp + 1]];
  let before = -1;
  let wait = WAVE_IDLE;
  for (let i = from; i < to; i++) {
    const step = index.steps[i];
    const round = trace.round[step];
    for (let gap = before + 1; gap < round; gap++) full[gap] = wait;
    full[round] = states[step];
    before = round;
    wait = kinds[trace.pc[step]] === 2 ? WAVE_BARRIER : WAVE_IDLE;
  }
  const last = to > from ? index.steps[to - 1] : -1;
  const ended = last < 0 || kinds[trace.pc[last]] === 3;
  full.fill(trace.truncated && !ended ? WAVE_NONE : ended ? WAVE_FINISHED : wait, before + 1);
  if (shift !== 0) waveShrink(full, trace.rounds, out, 1 << shift);
}

/**
 * @param {Uint8Array} full
 * @param {number} rounds
 * @param {Uint8Array} out
 * @param {number} width
 */
function waveShrink(full, rounds, out, width) {
  const counts = new Uint32Array(WAVE_STATES);
  for (let cell = 0; cell < out.length; cell++) {
    counts.fill(0);
    const end = Math.min(rounds, (cell + 1) * width);
    for (let round = cell * width; round < end; round++) counts[full[round]]++;
    out[cell] = waveDominant(counts, 0);
  }
}

/** @param {Uint32Array} counts @param {number} at */
function waveDominant(counts, at) {
  let best = 0;
  for (let state = 1; state < WAVE_STATES; state++) {
    const more = counts[at + state] - counts[at + best];
    if (more > 0 || (more === 0 && counts[at + state] > 0 && WAVE_RANK[state] > WAVE_RANK[best])) best = state;
  }
  return best;
}

/** The dominant state with the bits of what else is there. @param {Uint32Array} counts @param {number} at */
function waveCell(counts, at) {
  return waveDominant(counts, at) | (counts[at + WAVE_DIVERGED] ? WAVE_HAS_DIVERGED : 0) | (counts[at + WAVE_BARRIER] ? WAVE_HAS_BARRIER : 0);
}

/**
 * Empty levels for a trace: each level's cells are twice as wide as those below.
 * @param {number} rows
 * @param {number} rounds
 * @returns {WaveLevels}
 */
export function waveLevels(rows, rounds) {
  let shift = 0;
  while (rows * Math.ceil(rounds / 2 ** shift) > WAVE_MAX_CELLS) shift++;
  const levels = [];
  const cells = [];
  for (let count = Math.max(1, Math.ceil(rounds / 2 ** shift)); ; count = Math.ceil(count / 2)) {
    cells.push(count);
    levels.push(new Uint8Array(rows * count));
    if (count === 1) break;
  }
  return { rows, rounds, shift, levels, cells };
}

/**
 * Fills the coarser levels of one row from its finest: by true counts, not by the winners below.
 * @param {WaveLevels} pyramid
 * @param {number} row
 */
export function waveFillRow(pyramid, row) {
  const { levels, cells } = pyramid;
  if (levels.length === 1) return;
  const base = levels[0].subarray(row * cells[0], (row + 1) * cells[0]);
  let counts = new Uint32Array(cells[1] * WAVE_STATES);
  for (let i = 0; i < base.length; i++) counts[(i >> 1) * WAVE_STATES + base[i]]++;
  for (let level = 1; ; level++) {
    const out = levels[level];
    const from = row * cells[level];
    for (let cell = 0; cell < cells[level]; cell++) out[from + cell] = waveCell(counts, cell * WAVE_STATES);
    if (level + 1 === levels.length) return;
    // Halve in place: a cell is read at 2c and 2c+1 before c is needed again.
    const next = cells[level + 1];
    for (let cell = 0; cell < next; cell++) {
      const [to, left, right] = [cell * WAVE_STATES, 2 * cell * WAVE_STATES, (2 * cell + 1) * WAVE_STATES];
      const both = 2 * cell + 1 < cells[level];
      for (let state = 0; state < WAVE_STATES; state++) {
        counts[to + state] = counts[left + state] + (both ? counts[right + state] : 0);
      }
    }
  }
}

/**
 * Builds the pyramid of a trace, giving way after every few milliseconds of work.
 * @param {WaveTrace} trace
 * @param {WaveIndex} index
 * @param {Uint8Array} kinds
 * @param {() => Promise<void>} [pause]
 * @returns {Promise<{pyramid: WaveLevels, states: Uint8Array}>}
 */
export async function waveBuild(trace, index, kinds, pause) {
  const states = waveStepStates(trace, index, kinds);
  const pyramid = waveLevels(trace.warps, trace.rounds);
  let since = Date.now();
  for (let warp = 0; warp < trace.warps; warp++) {
    const count = pyramid.cells[0];
    waveRow(trace, index, kinds, states, warp, pyramid.levels[0].subarray(warp * count, (warp + 1) * count), pyramid.shift);
    waveFillRow(pyramid, warp);
    if (pause && Date.now() - since > 12) {
      await pause();
      since = Date.now();
    }
  }
  return { pyramid, states };
}

/**
 * The state of a row at each of `width` pixels.
 * @param {WaveLevels} pyramid
 * @param {number} row
 * @param {number} from first round, may be fractional
 * @param {number} perPixel rounds a pixel
 * @param {Uint8Array} out one entry a pixel
 */
export function waveSample(pyramid, row, from, perPixel, out) {
  // The cell is at least a pixel wide, so that no round between two samples is skipped.
  const level = Math.max(0, Math.min(pyramid.levels.length - 1, Math.ceil(Math.log2(Math.max(perPixel, 1e-9))) - pyramid.shift));
  const cells = pyramid.cells[level];
  const states = pyramid.levels[level];
  const scale = 2 ** -(level + pyramid.shift);
  const base = row * cells;
  const step = perPixel * scale;
  let at = from * scale;
  for (let x = 0; x < out.length; x++, at += step) {
    out[x] = at < 0 || at >= cells || at / scale >= pyramid.rounds ? WAVE_NONE : states[base + Math.floor(at)];
  }
}

/**
 * How many rounds of a window a row spends in each state (exact where the finest level is one round).
 * @param {WaveLevels} pyramid
 * @param {number} row
 * @param {number} from
 * @param {number} to exclusive
 */
export function waveCounts(pyramid, row, from, to) {
  const counts = new Array(WAVE_STATES).fill(0);
  const width = 2 ** pyramid.shift;
  const cells = pyramid.cells[0];
  const base = row * cells;
  const first = Math.max(0, Math.floor(from / width));
  const last = Math.min(cells, Math.ceil(to / width));
  for (let cell = first; cell < last; cell++) {
    const span = Math.min(to, (cell + 1) * width, pyramid.rounds) - Math.max(from, cell * width);
    counts[pyramid.levels[0][base + cell]] += Math.max(0, span);
  }
  return counts;
}

/**
 * The next round, in a direction, at which a row changes its state; -1 for none.
 * @param {WaveLevels} pyramid
 * @param {number} row
 * @param {number} round
 * @param {1 | -1} direction
 */
export function waveEdge(pyramid, row, round, direction) {
  const cells = pyramid.cells[0];
  const states = pyramid.levels[0].subarray(row * cells, (row + 1) * cells);
  const width = 2 ** pyramid.shift;
  let cell = Math.max(0, Math.min(cells - 1, Math.floor(round / width)));
  if (direction > 0) {
    for (cell++; cell < cells; cell++) if (states[cell] !== states[cell - 1]) return cell * width;
    return -1;
  }
  for (; cell > 0; cell--) {
    if (states[cell] !== states[cell - 1] && cell * width < round) return cell * width;
  }
  return -1;
}

/** @typedef {{from: number, perPixel: number, width: number, rounds: number}} WaveView `from` in rounds, `width` in pixels */

/** Widest zoom: a round fills this many pixels. */
export const WAVE_MAX_PIXELS = 160;

/**
 * A view kept inside its rounds; never wider than all of them.
 * @param {WaveView} view
 * @returns {WaveView}
 */
export function waveClamp(view) {
  const rounds = Math.max(1, view.rounds);
  const width = Math.max(1, view.width);
  const perPixel = Math.min(Math.max(view.perPixel, 1 / WAVE_MAX_PIXELS), rounds / width);
  const shown = perPixel * width;
  return { rounds, width, perPixel, from: Math.max(0, Math.min(view.from, rounds - shown)) };
}

/**
 * Zooms by a factor about a pixel: the round under it stays there.
 * @param {WaveView} view
 * @param {number} factor above 1 shows less
 * @param {number} x
 */
export function waveZoom(view, factor, x) {
  const round = view.from + x * view.perPixel;
  const perPixel = waveClamp({ ...view, perPixel: view.perPixel / factor }).perPixel;
  return waveClamp({ ...view, perPixel, from: round - x * perPixel });
}

/**
 * A view that shows a round, moved no further than it must be.
 * @param {WaveView} view
 * @param {number} round
 */
export function waveReveal(view, round) {
  const shown = view.perPixel * view.width;
  const margin = Math.min(shown / 4, 3);
  if (round >= view.from && round + 1 <= view.from + shown) return view;
  const from = round < view.from ? round - margin : round + 1 - shown + margin;
  return waveClamp({ ...view, from });
}

/**
 * Barriers of a block as ties: who arrived when, and at which round they were let go.
 * @typedef {{barrier: number, round: number, step: number, arrivals: Array<{warp: number, round: number}>}} WaveTie
 * @param {WaveBarriers} barriers
 * @returns {WaveTie[]}
 */
export function waveTies(barriers) {
  /** @type {WaveTie[]} */
  const ties = [];
  /** @type {Map<number, Map<number, number>>} */
  const waiting = new Map();
  /** @type {Map<number, WaveTie>} */
  const latest = new Map();
  for (let i = 0; i < barriers.step.length; i++) {
    const [id, warp, round] = [barriers.barrier[i], barriers.warp[i], barriers.round[i]];
    if (barriers.kind[i] !== 2) {
      const arrived = waiting.get(id) ?? new Map();
      arrived.set(warp, round);
      waiting.set(id, arrived);
      continue;
    }
    const last = latest.get(id);
    if (last && last.round === round && !waiting.get(id)?.size) continue;
    const arrivals = [...(waiting.get(id) ?? new Map())].map(([w, r]) => ({ warp: w, round: r }));
    waiting.delete(id);
    const tie = { barrier: id, round, step: barriers.step[i], arrivals: arrivals.length ? arrivals : [{ warp, round }] };
    ties.push(tie);
    latest.set(id, tie);
  }
  return ties;
}

/**
 * The first step of a warp at or after a round, within its steps; -1 for none.
 * @param {WaveTrace} trace
 * @param {WaveIndex} index
 * @param {number} warp
 * @param {number} round
 */
export function waveStepAt(trace, index, warp, round) {
  let low = index.start[warp];
  let high = index.start[warp + 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (trace.round[index.steps[middle]] < round) low = middle + 1;
    else high = middle;
  }
  return low < index.start[warp + 1] ? index.steps[low] : -1;
}

/**
 * Ticks for a ruler: a round number of rounds apart, at least `gap` pixels from each other.
 * @param {WaveView} view
 * @param {number} gap
 */
export function waveTicks(view, gap) {
  const least = gap * view.perPixel;
  let step = 1;
  for (let unit = 1; ; unit *= 10) {
    const found = [1, 2, 5].find((factor) => factor * unit >= least);
    if (found) {
      step = found * unit;
      break;
    }
  }
  const ticks = [];
  const end = view.from + view.width * view.perPixel;
  for (let at = Math.ceil(view.from / step) * step; at <= end && at <= view.rounds; at += step) ticks.push(at);
  return ticks;
}
