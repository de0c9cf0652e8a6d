// What a simulated schedule means: the same as pipeline/results.py and pipeline/stages.py.

import {
  PIPE_ARRIVE, PIPE_ASYNC, PIPE_BARRIVE, PIPE_BUSY, PIPE_END, PIPE_EVENT, PIPE_FLIP, PIPE_MMA, PIPE_OP, PIPE_STORE, PIPE_STWAIT,
  PIPE_SYNC, PIPE_TCARRIVE, PIPE_WAIT, PIPE_WGWAIT, pipeRun, pipeValue,
} from './pipeline-core.js';

/**
 * @typedef {import('./pipeline-core.js').PipeProgram} PipeResultProgram
 * @typedef {import('./pipeline-core.js').PipeRun} PipeResultRun
 * @typedef {{state: string, start: number, end: number, tile: number, step: number}} PipeSpan
 * @typedef {{pipe: string, stage: number, spans: PipeSpan[]}} PipeStageRow
 * @typedef {{who: string, what: string, start: number, end: number, operation: number, source: string, line: number | null}} PipeSegment
 * @typedef {ReturnType<typeof pipeSummary>} PipeSummary
 */

/** First index in ascending numbers whose value is greater. @param {number[]} values @param {number} value */
function pipeAfter(values, value) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** @param {Map<number, number[][]>} map @param {number} key @param {number[]} value */
function pipeAdd(map, key, value) {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

/**
 * A row for each stage of each pipe; between its spans a stage is empty.
 * @param {PipeResultRun} run
 * @returns {PipeStageRow[]}
 */
export function pipeStages(run) {
  const { flat, events } = run;
  /** @type {Map<number, number[][]>} */
  const flips = new Map();
  /** @type {Map<number, number[][]>} */
  const passes = new Map();
  /** @type {Map<number, number[][]>} */
  const reads = new Map();
  for (let e = 0; e < events.length; e += PIPE_EVENT) {
    const kind = events[e];
    if (kind === PIPE_FLIP) pipeAdd(flips, events[e + 1], [events[e + 2]]);
    else if (kind === PIPE_WAIT) {
      const o = events[e + 4] * PIPE_OP;
      if (flat.sites[flat.ops[o + 5]].cause !== 'tail') pipeAdd(passes, flat.ops[o + 1], [events[e + 3], flat.ops[o + 6], flat.ops[o + 7]]);
    } else if (kind === PIPE_MMA) {
      const full = flat.ops[events[e + 4] * PIPE_OP + 3];
      if (full >= 0) pipeAdd(reads, full, [events[e + 2], events[e + 3]]);
    }
  }
  /** @type {PipeStageRow[]} */
  const rows = [];
  for (const pipe of flat.pipes) {
    const full = flat.base.get(`${pipe}.full`) ?? 0;
    const empty = flat.base.get(`${pipe}.empty`) ?? 0;
    for (let stage = 0; stage < (flat.size.get(`${pipe}.full`) ?? 0); stage++) {
      const times = (/** @type {number} */ bar) => (flips.get(bar) ?? []).map(([time]) => time);
      const spans = pipeSpans(
        passes.get(empty + stage) ?? [], times(full + stage), passes.get(full + stage) ?? [], reads.get(full + stage) ?? [],
        times(empty + stage), run.total,
      );
      rows.push({ pipe, stage, spans });
    }
  }
  return rows;
}

/**
 * The n-th fill belongs to the n-th acquire and the n-th release; a wait or an MMA to the last fill before it.
 * @param {number[][]} acquired
 * @param {number[]} filled
 * @param {number[][]} taken
 * @param {number[][]} read
 * @param {number[]} released
 * @param {number} total
 */
function pipeSpans(acquired, filled, taken, read, released, total) {
  /** @type {Map<number, number>} */
  const first = new Map();
  for (const [time] of taken) {
    const visit = pipeAfter(filled, time) - 1;
    if (!first.has(visit)) first.set(visit, time);
  }
  /** @type {Map<number, number>} */
  const retired = new Map();
  for (const [start, end] of read) {
    const visit = pipeAfter(filled, start) - 1;
    retired.set(visit, Math.max(retired.get(visit) ?? 0, end));
  }
  /** @type {PipeSpan[]} */
  const spans = [];
  acquired.forEach(([time, tile, step], visit) => {
    const full = filled[visit] ?? total;
    const free = released[visit] ?? total;
    const takenAt = Math.min(first.get(visit) ?? free, free);
    const done = Math.min(Math.max(retired.get(visit) ?? free, takenAt), free);
    for (const [state, start, end] of /** @type {Array<[string, number, number]>} */ ([
      ['filling', time, full], ['full', full, takenAt], ['consuming', takenAt, done], ['held', done, free],
    ])) {
      if (end > start) spans.push({ state, start, end, tile, step });
    }
  });
  return spans;
}

/**
 * The figures of one schedule; null is unknown.
 * @param {PipeResultRun} run
 * @param {PipeResultProgram} program
 */
export function pipeSummary(run, program) {
  const { flat, events } = run;
  let [first, last, busy, count] = [Infinity, -Infinity, 0, 0];
  for (let e = 0; e < events.length; e += PIPE_EVENT) {
    if (events[e] !== PIPE_MMA) continue;
    first = Math.min(first, events[e + 2]);
    last = Math.max(last, events[e + 3]);
    busy += events[e + 3] - events[e + 2];
    count++;
  }
  const cores = Math.max(1, flat.engines.filter(([, kind]) => kind === 'tc').length);
  const bounds = (program.bounds ?? []).map((bound) => ({ name: bound.name, value: pipeValue(bound.value, flat.knobs) }));
  const top = bounds.reduce((/** @type {{name: string, value: number} | null} */ a, b) => (a && a.value >= b.value ? a : b), null);
  return {
    total: run.total,
    complete: !run.stuck.length && !run.fault,
    problems: pipeProblems(run),
    fill: count ? first : null,
    drain: count ? run.total - last : null,
    busy,
    use: count && run.total ? busy / (cores * run.total) : null,
    useBetween: count && last > first ? busy / (cores * (last - first)) : null,
    period: pipePeriod(run),
    bounds,
    bound: top ? top.name : null,
    leastStages: program.least_stages === undefined ? null : pipeValue(program.least_stages, flat.knobs),
    lanes: pipeLaneTimes(run),
  };
}

/** Mean time between the MMAs of successive k-tiles, second half of the middle output tile. @param {PipeResultRun} run */
function pipePeriod(run) {
  const { flat, events } = run;
  /** @type {Map<number, Map<number, number>>} */
  const starts = new Map();
  for (let e = 0; e < events.length; e += PIPE_EVENT) {
    if (events[e] !== PIPE_MMA) continue;
    const o = events[e + 4] * PIPE_OP;
    const [tile, step] = [flat.ops[o + 6], flat.ops[o + 7]];
    if (step < 0) continue;
    let steps = starts.get(tile);
    if (!steps) starts.set(tile, (steps = new Map()));
    steps.set(step, Math.min(steps.get(step) ?? Infinity, events[e + 2]));
  }
  if (!starts.size) return null;
  const tiles = [...starts.keys()].sort((a, b) => a - b);
  const steps = /** @type {Map<number, number>} */ (starts.get(tiles[tiles.length >> 1]));
  const ordered = [...steps.keys()].sort((a, b) => a - b).map((step) => /** @type {number} */ (steps.get(step)));
  const half = (ordered.length - 1) >> 1;
  const turns = ordered.length - 1 - half;
  return turns < 1 ? null : (ordered[ordered.length - 1] - ordered[half]) / turns;
}

/** @param {PipeResultRun} run */
function pipeLaneTimes(run) {
  const { flat, events } = run;
  /** @type {Array<Map<string, number>>} */
  const times = flat.lanes.map(() => new Map());
  const ends = flat.lanes.map(() => 0);
  for (let e = 0; e < events.length; e += PIPE_EVENT) {
    const [kind, who, start, end, operation] = [events[e], events[e + 1], events[e + 2], events[e + 3], events[e + 4]];
    if (kind !== PIPE_BUSY && kind !== PIPE_WAIT && kind !== PIPE_WGWAIT && kind !== PIPE_STWAIT && kind !== PIPE_SYNC) continue;
    const site = flat.sites[flat.ops[operation * PIPE_OP + 5]];
    const name = kind === PIPE_BUSY ? site.kind : site.cause;
    ends[who] = Math.max(ends[who], end);
    if (end > start) times[who].set(name, (times[who].get(name) ?? 0) + end - start);
  }
  for (const stuck of run.stuck) {
    const { cause } = flat.sites[flat.ops[stuck.operation * PIPE_OP + 5]];
    times[stuck.lane].set(cause, (times[stuck.lane].get(cause) ?? 0) + run.total - stuck.since);
  }
  return flat.laneNames.map((lane, i) => ({
    lane,
    causes: [...times[i]].sort((a, b) => (a[0] < b[0] ? -1 : 1)),
    end: ends[i],
  }));
}

/** @param {PipeResultRun} run @param {number} number */
export function pipeBarName(run, number) {
  const [name, index] = run.flat.bars[number];
  return (run.flat.size.get(name) ?? 1) > 1 ? `${name}[${index}]` : name;
}

/** @param {PipeResultRun} run @param {number} operation */
function pipeLine(run, operation) {
  const { line } = run.flat.sites[run.flat.ops[operation * PIPE_OP + 5]];
  return line ? `, line ${line}` : '';
}

/** Sentences: who is stuck at what, or which arrival was too many. @param {PipeResultRun} run */
function pipeProblems(run) {
  const { flat, fault } = run;
  if (fault) {
    const lane = flat.laneNames[flat.laneOf[fault.operation]];
    const named = fault.kind.startsWith('named');
    const name = named ? flat.named[fault.barrier] : pipeBarName(run, fault.barrier);
    const count = named ? '' : `, which counts ${flat.bars[fault.barrier][2]} arrivals a phase`;
    return [`${lane} arrives once too often at ${name}${count} (time ${fault.time}${pipeLine(run, fault.operation)})`];
  }
  return run.stuck.map((stuck) => {
    const o = stuck.operation * PIPE_OP;
    const [code, barrier] = [flat.ops[o], flat.ops[o + 1]];
    const what = code === PIPE_SYNC ? flat.named[barrier] : pipeBarName(run, barrier);
    const givers = run.stuck.filter((other) => pipeGives(run, other, code, barrier)).map((other) => flat.laneNames[other.lane]);
    let tail = `${givers.join(' and ')} would arrive there, but waits itself`;
    if (!givers.length) tail = 'nobody arrives there any more';
    else if (givers.length === 1 && givers[0] === flat.laneNames[stuck.lane]) tail = 'only it would arrive there, later';
    return `${flat.laneNames[stuck.lane]} waits for ${what} since ${stuck.since}${pipeLine(run, stuck.operation)}: ${tail}`;
  });
}

/** @param {PipeResultRun} run @param {{lane: number, operation: number}} stuck @param {number} waiting @param {number} barrier */
function pipeGives(run, stuck, waiting, barrier) {
  const code = run.flat.lanes[stuck.lane];
  for (let o = (stuck.operation - run.flat.offsets[stuck.lane] + 1) * PIPE_OP; o < code.length; o += PIPE_OP) {
    const kind = code[o];
    if (waiting === PIPE_WAIT) {
      if ((kind === PIPE_ARRIVE || kind === PIPE_TCARRIVE) && code[o + 1] === barrier) return true;
      if (kind === PIPE_ASYNC && code[o + 3] === barrier) return true;
    } else if ((kind === PIPE_SYNC || kind === PIPE_BARRIVE) && code[o + 1] === barrier) return true;
  }
  return false;
}

/** From the end back to the start: always what the next piece had to wait for. @param {PipeResultRun} run @returns {PipeSegment[]} */
export function pipeCritical(run) {
  const { flat, events } = run;
  if (run.stuck.length || run.fault) return [];
  const place = new Int32Array(flat.laneOf.length).fill(-1);
  let operation = -1;
  for (let e = 0; e < events.length; e += PIPE_EVENT) {
    if (events[e] === PIPE_FLIP || events[e] === PIPE_END || events[e + 4] < 0) continue;
    place[events[e + 4]] = e;
    if (events[e + 3] === run.total && events[e + 4] > operation) operation = events[e + 4];
  }
  /** @type {PipeSegment[]} */
  const path = [];
  let until = run.total;
  while (operation >= 0) {
    const e = place[operation];
    const [kind, who, start, end, by] = [events[e], events[e + 1], events[e + 2], events[e + 3], events[e + 5]];
    const lane = flat.laneOf[operation];
    const site = flat.sites[flat.ops[operation * PIPE_OP + 5]];
    const engine = kind === PIPE_ASYNC || kind === PIPE_MMA || kind === PIPE_STORE;
    const waited = (kind === PIPE_WAIT || kind === PIPE_WGWAIT || kind === PIPE_STWAIT || kind === PIPE_SYNC) && by >= 0;
    if (!waited && Math.min(end, until) > start) {
      const name = engine ? flat.engines[who][0] : flat.laneNames[lane];
      path.push({ who: name, what: site.label || site.cause || site.op, start, end: Math.min(end, until), operation, source: site.source, line: site.line });
      until = start;
    }
    if ((waited && end > start) || (engine && by >= 0)) operation = by;
    else operation = operation > flat.offsets[lane] ? operation - 1 : -1;
  }
  return path.reverse();
}

/**
 * (value, total) for each value of a knob; null where the schedule does not end.
 * @param {PipeResultProgram} program
 * @param {Record<string, number>} knobs
 * @param {string} name
 * @param {number[]} values
 * @returns {Array<[number, number | null]>}
 */
export function pipeSweep(program, knobs, name, values) {
  return values.map((value) => {
    try {
      const run = pipeRun(program, { ...knobs, [name]: value });
      return [value, run.stuck.length || run.fault ? null : run.total];
    } catch {
      return [value, null];
    }
  });
}

/** The fewest stages within 1 % of the best total. @param {Array<[number, number | null]>} swept */
export function pipeLeast(swept) {
  const totals = swept.map(([, total]) => total).filter((total) => total !== null);
  const best = Math.min(.../** @type {number[]} */ (totals));
  return swept.find(([, total]) => total !== null && total * 100 <= best * 101)?.[0] ?? null;
}
