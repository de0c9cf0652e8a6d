// What the pipeline's waveform shows, without a screen: rows of blocks, one tile's way, the verdict in words.

import {
  PIPE_ARRIVE, PIPE_ASYNC, PIPE_BUSY, PIPE_EVENT, PIPE_FLIP, PIPE_MMA, PIPE_OP, PIPE_STWAIT, PIPE_SYNC, PIPE_TCARRIVE, PIPE_WAIT,
  PIPE_WGWAIT,
} from './pipeline-core.js';
import { pipeStages } from './pipeline-results.js';

/**
 * @typedef {import('./pipeline-core.js').PipeProgram} PipeViewProgram
 * @typedef {import('./pipeline-core.js').PipeRun} PipeViewRun
 * @typedef {object} PipeBlock
 * @property {number} start
 * @property {number} end
 * @property {string} kind issue, epilogue, wait, mma, filling, full, consuming, held …
 * @property {string} text what it is, in words
 * @property {number} tile
 * @property {number} step
 * @property {string} source
 * @property {number | null} line
 * @property {number} by operation that ended a wait, -1 none
 * @typedef {{name: string, kind: 'lane' | 'engine' | 'stage', blocks: PipeBlock[]}} PipeRow
 */

/** `A3`: output tile A, k-tile 3. @param {number} tile @param {number} step */
export function pipeLetter(tile, step) {
  return (tile >= 0 ? String.fromCharCode(65 + (tile % 26)) : '') + (step >= 0 ? step : '');
}

/**
 * A row a lane, the tensor core, a row a stage.
 * @param {PipeViewRun} run
 * @param {PipeViewProgram} program
 * @returns {PipeRow[]}
 */
export function pipeRows(run, program) {
  const { flat, events } = run;
  /** @type {PipeRow[]} */
  const lanes = flat.laneNames.map((name) => ({ name, kind: 'lane', blocks: [] }));
  /** @type {Map<number, PipeRow>} */
  const cores = new Map();
  flat.engines.forEach(([name, kind], number) => {
    if (kind !== 'tc') return;
    const at = name.indexOf('@');
    cores.set(number, { name: `tensor core${at < 0 ? '' : name.slice(at)}`, kind: 'engine', blocks: [] });
  });
  for (let e = 0; e < events.length; e += PIPE_EVENT) {
    const [kind, who, start, end, operation, by] = [events[e], events[e + 1], events[e + 2], events[e + 3], events[e + 4], events[e + 5]];
    if (operation < 0 || end <= start) continue;
    const o = operation * PIPE_OP;
    const site = flat.sites[flat.ops[o + 5]];
    const block = { start, end, tile: flat.ops[o + 6], step: flat.ops[o + 7], source: site.source, line: site.line, by };
    if (kind === PIPE_BUSY) lanes[who].blocks.push({ ...block, kind: site.kind, text: site.label || site.kind });
    else if (kind === PIPE_WAIT || kind === PIPE_WGWAIT || kind === PIPE_STWAIT || kind === PIPE_SYNC) {
      lanes[who].blocks.push({ ...block, kind: 'wait', text: `WAIT: ${site.cause}` });
    } else if (kind === PIPE_MMA) cores.get(who)?.blocks.push({ ...block, kind: 'mma', text: site.label });
  }
  for (const stuck of run.stuck) {
    if (run.total <= stuck.since) continue;
    const site = flat.sites[flat.ops[stuck.operation * PIPE_OP + 5]];
    const [tile, step] = [flat.ops[stuck.operation * PIPE_OP + 6], flat.ops[stuck.operation * PIPE_OP + 7]];
    lanes[stuck.lane].blocks.push({
      start: stuck.since, end: run.total, kind: 'wait', text: `STUCK: ${site.cause}`, tile, step, source: site.source, line: site.line, by: -1,
    });
  }
  /** @type {PipeRow[]} */
  const stages = pipeStages(run).map((row) => ({
    name: `${row.pipe.replace(/^pipeline_/, '')}[${row.stage}]`,
    kind: 'stage',
    blocks: row.spans.map((span) => ({
      ...span, kind: span.state, text: PIPE_STATE_WORDS[span.state], source: '', line: null, by: -1,
    })),
  }));
  return [...lanes, ...cores.values(), ...stages];
}

/** @type {Record<string, string>} */
const PIPE_STATE_WORDS = {
  filling: 'FILLING', full: 'FULL, nobody reads it yet', consuming: 'consuming', held: 'retired but held: its MMAs are done, its release is not',
};

/** Index of the block at a time in a row, -1 none. @param {PipeRow} row @param {number} time */
export function pipeBlockAt(row, time) {
  let [low, high] = [0, row.blocks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.blocks[middle].start <= time) low = middle + 1;
    else high = middle;
  }
  return low && row.blocks[low - 1].end >= time ? low - 1 : -1;
}

/**
 * One tile's way through a pipe: acquire, copy, full, MMA, release, in order of time.
 * @param {PipeViewRun} run
 * @param {PipeViewProgram} program
 * @param {number} tile
 * @param {number} step
 * @returns {Array<{what: string, who: string, time: number, source: string, line: number | null}>}
 */
export function pipeFollow(run, program, tile, step) {
  const { flat, events } = run;
  if (tile < 0 || step < 0) return [];
  /** @type {Array<{what: string, who: string, time: number, source: string, line: number | null}>} */
  const found = [];
  const side = new Map(flat.pipes.flatMap((pipe) => [[`${pipe}.full`, 'full'], [`${pipe}.empty`, 'empty']]));
  /** @type {Set<number>} */
  const filled = new Set();
  for (let e = 0; e < events.length; e += PIPE_EVENT) {
    const [kind, who, start, end, operation] = [events[e], events[e + 1], events[e + 2], events[e + 3], events[e + 4]];
    if (operation < 0) continue;
    const o = operation * PIPE_OP;
    if (flat.ops[o + 6] !== tile || flat.ops[o + 7] !== step) continue;
    const site = flat.sites[flat.ops[o + 5]];
    const lane = flat.laneNames[flat.laneOf[operation]];
    const place = { source: site.source, line: site.line };
    const bar = kind === PIPE_WAIT || kind === PIPE_ARRIVE || kind === PIPE_TCARRIVE ? flat.bars[flat.ops[o + 1]]?.[0] : '';
    const which = side.get(bar ?? '') ?? '';
    if (kind === PIPE_WAIT && which === 'empty') found.push({ what: `acquired ${bar}`, who: lane, time: end, ...place });
    else if (kind === PIPE_ASYNC) {
      found.push({ what: `${site.label} issued`, who: lane, time: start, ...place });
      found.push({ what: `${site.label} landed`, who: flat.engines[who][0], time: end, ...place });
    } else if (kind === PIPE_WAIT && which === 'full') found.push({ what: `found full ${bar}`, who: lane, time: end, ...place });
    else if (kind === PIPE_MMA) {
      found.push({ what: `${site.label} starts`, who: lane, time: start, ...place });
      found.push({ what: `${site.label} retires`, who: 'tensor core', time: end, ...place });
    } else if ((kind === PIPE_ARRIVE || kind === PIPE_TCARRIVE) && which === 'empty') found.push({ what: `released ${bar}`, who: lane, time: start, ...place });
    else if (kind === PIPE_FLIP) filled.add(start);
  }
  return found.sort((a, b) => a.time - b.time);
}

/** @param {number} value */
function pipeFigure(value) {
  return value.toFixed(1).replace(/\.0$/, '');
}

/** @param {number | null} value */
function pipePercent(value) {
  return value === null ? 'unknown' : `${(100 * value).toFixed(0)} %`;
}

const PIPE_WORK = new Set(['issue', 'epilogue', 'softmax', 'promote', 'copy', 'scheduler']);

/**
 * The same words as report/pipeline_words.py.
 * @param {import('./pipeline-results.js').PipeSummary} summary
 * @param {{swept?: number | null, stageBytes?: number | null, mostStages?: number | null}} more
 */
export function pipeWords(summary, more) {
  if (!summary.complete) return `This schedule does not end: ${summary.problems.join('; ')}.`;
  const parts = [];
  const bound = summary.bounds.find((one) => one.name === summary.bound);
  if (summary.period !== null && bound) {
    parts.push(`In the steady state a step takes ${pipeFigure(summary.period)}; the bound is ${bound.name} (${pipeFigure(bound.value)}).`);
  }
  parts.push(
    `Total ${summary.total}, fill ${summary.fill ?? 'unknown'}, drain ${summary.drain ?? 'unknown'}; the tensor core is busy ` +
      `${pipePercent(summary.use)} of it, ${pipePercent(summary.useBetween)} between its first and last work.`,
  );
  const waits = summary.lanes
    .flatMap((lane) => lane.causes.filter(([cause]) => !PIPE_WORK.has(cause)).map(([cause, time]) => ({ time, lane: lane.lane, cause })))
    .sort((a, b) => b.time - a.time || (a.lane < b.lane ? -1 : a.lane > b.lane ? 1 : a.cause < b.cause ? -1 : 1));
  if (waits.length) parts.push(`Bubbles: ${waits.slice(0, 3).map((w) => `${w.lane} ${w.time} for ${w.cause}`).join(', ')}.`);
  if (summary.leastStages !== null) {
    const also = more.swept === null || more.swept === undefined ? ' by formula' : ` by formula, ${more.swept} by sweep`;
    parts.push(`Least stages that hide the latency: ${summary.leastStages}${also}.`);
  }
  if (more.stageBytes !== null && more.stageBytes !== undefined) {
    parts.push(`A stage takes ${more.stageBytes.toLocaleString('en-US')} B: at most ${more.mostStages} fit.`);
  }
  return parts.join(' ');
}

/**
 * Knobs in a fragment: `1;S:4,K:8`, the program's number first, only what differs from its defaults.
 * @param {PipeViewProgram[]} programs
 * @param {number} chosen
 * @param {Record<string, number>} knobs
 */
export function pipeFragment(programs, chosen, knobs) {
  const changed = programs[chosen].knobs.filter((knob) => (knobs[knob.name] ?? knob.value) !== knob.value);
  return [String(chosen), ...changed.map((knob) => `${knob.name}:${knobs[knob.name]}`)].join(',');
}

/**
 * Reads such a text; what is no knob of the program, or no number, is left out and told.
 * @param {PipeViewProgram[]} programs
 * @param {string} text
 */
export function pipeFromFragment(programs, text) {
  const [first, ...rest] = text.slice(0, 600).split(',');
  const chosen = /^\d{1,2}$/.test(first) && Number(first) < programs.length ? Number(first) : 0;
  /** @type {Record<string, number>} */
  const knobs = {};
  /** @type {string[]} */
  const notes = [];
  for (const part of rest) {
    const match = /^([A-Za-z]\w{0,15}):(-?\d{1,9})$/.exec(part);
    const knob = match && programs[chosen].knobs.find((one) => one.name === match[1]);
    if (match && knob) knobs[knob.name] = Math.max(knob.min, Math.min(knob.max, Number(match[2])));
    else notes.push(`“${part.slice(0, 30)}” is no knob of this pipeline`);
  }
  return { chosen, knobs, notes };
}
