// What a trace says about warps and lanes. Pure: no screen.

/**
 * @typedef {import('./data.js').WgTrace} CoreTrace
 * @typedef {import('./data.js').WgCode} CoreCode
 * @typedef {import('./data.js').WgBarriers} CoreBarriers
 * @typedef {object} TraceIndex
 * @property {Uint32Array} start first entry of a warp in `steps`; one more entry than warps
 * @property {Uint32Array} steps the steps of warp 0 in order, then of warp 1 …
 * @property {Uint32Array} position of a step within its warp
 * @property {Int32Array} lastOfLane last step in which a lane's group issued, [warp * 32 + lane], -1 for never
 * @property {Uint32Array} launched lanes of a warp that exist
 */

/**
 * @param {number} threads
 * @param {number} warp
 */
export function traceLaunched(threads, warp) {
  const lanes = Math.max(0, Math.min(32, threads - 32 * warp));
  return lanes === 32 ? 0xffffffff : (2 ** lanes - 1) >>> 0;
}

/** @param {number} mask */
export function tracePopcount(mask) {
  mask -= (mask >>> 1) & 0x55555555;
  mask = (mask & 0x33333333) + ((mask >>> 2) & 0x33333333);
  return (((mask + (mask >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
}

/** @param {number} mask @returns {number[]} */
export function traceLanes(mask) {
  const lanes = [];
  for (let lane = 0; lane < 32; lane++) if ((mask >>> lane) & 1) lanes.push(lane);
  return lanes;
}

/**
 * Sorts steps by warp (counting sort, order kept) and finds each lane's last step.
 * @param {CoreTrace} trace
 * @returns {TraceIndex}
 */
export function traceIndex(trace) {
  const { warp, group, warps, threads } = trace;
  const n = trace.steps;
  const start = new Uint32Array(warps + 1);
  for (let i = 0; i < n; i++) start[warp[i] + 1]++;
  for (let w = 0; w < warps; w++) start[w + 1] += start[w];
  const next = start.slice();
  const steps = new Uint32Array(n);
  const position = new Uint32Array(n);
  for (let i = 0; i < n; i++) {
    const w = warp[i];
    position[i] = next[w] - start[w];
    steps[next[w]++] = i;
  }
  const lastOfLane = new Int32Array(warps * 32).fill(-1);
  const launched = new Uint32Array(warps);
  const seen = new Uint32Array(warps);
  for (let w = 0; w < warps; w++) launched[w] = traceLaunched(threads, w);
  for (let i = n - 1; i >= 0; i--) {
    const w = warp[i];
    const fresh = group[i] & ~seen[w];
    if (fresh === 0) continue;
    seen[w] |= fresh;
    for (let lane = 0; lane < 32; lane++) if ((fresh >>> lane) & 1) lastOfLane[w * 32 + lane] = i;
  }
  return { start, steps, position, lastOfLane, launched };
}

/**
 * How many steps of a warp come at or before a step: the position after it.
 * @param {TraceIndex} index
 * @param {number} warp
 * @param {number} step
 */
export function traceUpTo(index, warp, step) {
  let low = index.start[warp];
  let high = index.start[warp + 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (index.steps[middle] <= step) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The step of a warp at or before `step` (its last one), else its first one; -1 where it has none.
 * @param {TraceIndex} index
 * @param {number} warp
 * @param {number} step
 */
export function traceNearest(index, warp, step) {
  const [from, to] = [index.start[warp], index.start[warp + 1]];
  if (from === to) return -1;
  return index.steps[Math.max(from, traceUpTo(index, warp, step) - 1)];
}

/**
 * The neighbour of a step in its warp, or in the block's issue order; -1 at the end.
 * @param {CoreTrace} trace
 * @param {TraceIndex} index
 * @param {number} step
 * @param {1 | -1} direction
 * @param {boolean} anyWarp
 */
export function traceNeighbour(trace, index, step, direction, anyWarp) {
  if (anyWarp) {
    const other = step + direction;
    return other >= 0 && other < trace.steps ? other : -1;
  }
  const warp = trace.warp[step];
  const at = index.start[warp] + index.position[step] + direction;
  return at >= index.start[warp] && at < index.start[warp + 1] ? index.steps[at] : -1;
}

/**
 * Lanes of a warp that left the kernel before a step.
 * @param {CoreTrace} trace
 * @param {TraceIndex} index
 * @param {CoreCode} code
 * @param {number} warp
 * @param {number} step
 */
export function traceExited(trace, index, code, warp, step) {
  let mask = 0;
  for (let lane = 0; lane < 32; lane++) {
    const last = index.lastOfLane[warp * 32 + lane];
    if (last >= 0 && last < step && code.instructions.kind[trace.pc[last]] === 'exit') mask |= 1 << lane;
  }
  return mask >>> 0;
}

/** @typedef {'on' | 'guard' | 'diverged' | 'exited' | 'absent' | 'waiting'} LaneState */

/**
 * Why each lane is on or off at a step of its warp.
 * @param {CoreTrace} trace
 * @param {TraceIndex} index
 * @param {CoreCode} code
 * @param {number} step
 * @returns {LaneState[]}
 */
export function traceLaneStates(trace, index, code, step) {
  const warp = trace.warp[step];
  const exited = traceExited(trace, index, code, warp, step);
  const launched = index.launched[warp];
  return Array.from({ length: 32 }, (_, lane) => {
    const bit = (/** @type {number} */ mask) => (mask >>> lane) & 1;
    if (!bit(launched)) return 'absent';
    if (bit(trace.mask[step])) return 'on';
    if (bit(trace.group[step])) return 'guard';
    if (bit(exited)) return 'exited';
    return !trace.truncated && index.lastOfLane[warp * 32 + lane] < step ? 'waiting' : 'diverged';
  });
}

/**
 * Where lanes that are not in the current group stand: groups of lanes with the step at which they go on.
 * @param {CoreTrace} trace
 * @param {TraceIndex} index
 * @param {number} step
 * @param {number} lanes mask of the lanes asked for
 * @returns {Array<{mask: number, pc: number, step: number}>} pc and step are -1 for lanes that never run again
 */
export function traceStanding(trace, index, step, lanes) {
  const warp = trace.warp[step];
  /** @type {Map<number, number>} */
  const groups = new Map();
  let left = lanes >>> 0;
  const end = index.start[warp + 1];
  let last = step;
  for (let lane = 0; lane < 32; lane++) {
    if ((lanes >>> lane) & 1) last = Math.max(last, index.lastOfLane[warp * 32 + lane]);
  }
  for (let i = index.start[warp] + index.position[step] + 1; left && i < end && index.steps[i] <= last; i++) {
    const found = (trace.group[index.steps[i]] & left) >>> 0;
    if (found) {
      groups.set(index.steps[i], found);
      left = (left & ~found) >>> 0;
    }
  }
  const out = [...groups].map(([at, mask]) => ({ mask, pc: trace.pc[at], step: at }));
  if (left) out.push({ mask: left, pc: -1, step: -1 });
  return out;
}

/**
 * The divergence stack: the widest set of lanes first; each further entry names the branch at which it split
 * off its parent, where it comes together again, and where the lanes that went the other way stand.
 * Derived from the groups in the trace: the parent of a group is the last group before it that contains it.
 * @param {CoreTrace} trace
 * @param {TraceIndex} index
 * @param {CoreCode} code
 * @param {number} step
 * @returns {Array<{mask: number, split: number, join: number, others: Array<{mask: number, pc: number, step: number}>}>}
 */
export function traceStack(trace, index, code, step) {
  const warp = trace.warp[step];
  const from = index.start[warp];
  const stack = [];
  let mask = trace.group[step] >>> 0;
  let at = from + index.position[step] - 1;
  for (;;) {
    while (at >= from) {
      const group = trace.group[index.steps[at]];
      if ((group & mask) >>> 0 === mask && group >>> 0 !== mask) break;
      at--;
    }
    if (at < from) break;
    const split = index.steps[at];
    const parent = trace.group[split] >>> 0;
    const gone = traceExited(trace, index, code, warp, step);
    // A parent that was only left by lanes that ended is no divergence.
    const others = (parent & ~mask & ~gone) >>> 0;
    if (others) {
      const branch = trace.pc[split];
      stack.push({ mask, split: branch, join: traceJoin(code, branch), others: traceStanding(trace, index, step, others) });
    }
    mask = parent;
    at--;
  }
  stack.push({ mask, split: -1, join: -1, others: [] });
  return stack.reverse();
}

/**
 * First instruction of the immediate post-dominator of the block that ends in a branch, or -1.
 * @param {CoreCode} code
 * @param {number} pc
 */
export function traceJoin(code, pc) {
  const block = code.blocks[code.instructions.block[pc] ?? -1];
  if (!block || block.ipdom === null || block.ipdom === undefined) return -1;
  return code.blocks[block.ipdom]?.start ?? -1;
}

/**
 * True where the group of a step splits: the warp's next step in which one of its lanes takes part has fewer of them.
 * @param {CoreTrace} trace
 * @param {TraceIndex} index
 * @param {CoreCode} code
 * @param {number} step
 */
export function traceSplits(trace, index, code, step) {
  if (code.instructions.kind[trace.pc[step]] !== 'branch') return false;
  const warp = trace.warp[step];
  const group = trace.group[step] >>> 0;
  for (let i = index.start[warp] + index.position[step] + 1; i < index.start[warp + 1]; i++) {
    const next = trace.group[index.steps[i]] >>> 0;
    if ((next & group) >>> 0) return (next & group) >>> 0 !== group;
  }
  return false;
}

/**
 * True where lanes come together: the step's group holds lanes that were not in the group in which each other
 * of its lanes took part last.
 * @param {CoreTrace} trace
 * @param {TraceIndex} index
 * @param {number} step
 */
export function traceJoins(trace, index, step) {
  const warp = trace.warp[step];
  const group = trace.group[step] >>> 0;
  for (let i = index.start[warp] + index.position[step] - 1; i >= index.start[warp]; i--) {
    const before = trace.group[index.steps[i]] >>> 0;
    if ((before & group) >>> 0) return (group & ~before) >>> 0 !== 0;
  }
  return false;
}

/**
 * The next or previous step of the same warp for which `test` holds; -1 for none.
 * @param {CoreTrace} trace
 * @param {TraceIndex} index
 * @param {number} step
 * @param {1 | -1} direction
 * @param {(step: number) => boolean} test
 */
export function traceFind(trace, index, step, direction, test) {
  const warp = trace.warp[step];
  const [from, to] = [index.start[warp], index.start[warp + 1]];
  for (let i = from + index.position[step] + direction; i >= from && i < to; i += direction) {
    if (test(index.steps[i])) return index.steps[i];
  }
  return -1;
}

/**
 * The innermost loop around an instruction, or null.
 * @param {CoreCode} code
 * @param {number} pc
 */
export function traceLoop(code, pc) {
  const block = code.instructions.block[pc];
  if (block === null) return null;
  let best = null;
  for (const loop of code.loops) {
    if (loop.blocks.includes(block) && (!best || loop.blocks.length < best.blocks.length)) best = loop;
  }
  return best;
}

/**
 * Which iteration of its innermost loop a step is in, counted from 1, or null outside loops.
 * @param {CoreTrace} trace
 * @param {TraceIndex} index
 * @param {CoreCode} code
 * @param {number} step
 * @returns {{iteration: number, header: number} | null}
 */
export function traceIteration(trace, index, code, step) {
  const loop = traceLoop(code, trace.pc[step]);
  if (!loop) return null;
  const header = code.blocks[loop.header].start;
  const inside = new Set(loop.blocks);
  const warp = trace.warp[step];
  const group = trace.group[step];
  let iteration = 0;
  for (let i = index.start[warp] + index.position[step]; i >= index.start[warp]; i--) {
    const at = index.steps[i];
    if ((trace.group[at] & group) >>> 0 === 0) continue;
    if (!inside.has(code.instructions.block[trace.pc[at]] ?? -1)) {
      // A callee's blocks lie outside the loop though the loop still runs: only a step at another depth ends it.
      if (trace.pc[at] < code.blocks[loop.header].start) break;
      continue;
    }
    if (trace.pc[at] === header) iteration++;
  }
  return { iteration: Math.max(1, iteration), header };
}

/**
 * Where a warp stands after a step of its block.
 * @typedef {object} WarpStand
 * @property {number} warp
 * @property {'ready' | 'barrier' | 'finished' | 'unstarted' | 'unknown'} state
 * @property {number} step the warp's last step so far, or -1
 * @property {number} next its next step, or -1
 * @property {number} pc what it issued last, or what it will issue first
 */

/**
 * @param {CoreTrace} trace
 * @param {TraceIndex} index
 * @param {CoreCode} code
 * @param {number} step
 * @returns {WarpStand[]}
 */
export function traceWarps(trace, index, code, step) {
  const round = trace.round[step];
  return Array.from({ length: trace.warps }, (_, warp) => {
    const after = traceUpTo(index, warp, step);
    const last = after > index.start[warp] ? index.steps[after - 1] : -1;
    const next = after < index.start[warp + 1] ? index.steps[after] : -1;
    const pc = last >= 0 ? trace.pc[last] : next >= 0 ? trace.pc[next] : -1;
    /** @type {WarpStand['state']} */
    let state = 'ready';
    const kind = last >= 0 ? code.instructions.kind[trace.pc[last]] : '';
    if (last < 0) state = 'unstarted';
    else if (next < 0) state = kind === 'exit' ? 'finished' : trace.truncated ? 'unknown' : kind === 'barrier' ? 'barrier' : 'finished';
    else if (kind === 'barrier' && trace.round[next] > round + 1) state = 'barrier';
    return { warp, state, step: last, next, pc };
  });
}

/**
 * Barrier events of a warp after or before a step. `release` asks for releases, else arrivals.
 * @param {CoreBarriers | null} barriers
 * @param {number} warp
 * @param {number} step
 * @param {1 | -1} direction
 * @param {boolean} release
 * @returns {number} the step of the event, or -1
 */
export function traceBarrier(barriers, warp, step, direction, release) {
  if (!barriers) return -1;
  const n = barriers.step.length;
  for (let i = direction > 0 ? 0 : n - 1; i >= 0 && i < n; i += direction) {
    if ((barriers.kind[i] === 2) !== release) continue;
    if (!release && barriers.warp[i] !== warp) continue;
    if ((barriers.step[i] - step) * direction > 0) return barriers.step[i];
  }
  return -1;
}
