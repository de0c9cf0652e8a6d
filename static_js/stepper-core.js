// What the stepper says about a step, without a screen.

import { traceJoins, traceLoop, tracePopcount, traceSplits } from './trace-core.js';

/**
 * @typedef {import('./data.js').WgCode} StepperCode
 * @typedef {import('./data.js').WgTrace} StepperTrace
 * @typedef {import('./trace-core.js').TraceIndex} StepperIndex
 */

/** Bits of a type name, 32 if it says nothing. @param {string} type */
export function stepperBits(type) {
  const bare = type.replace(/^\./, '');
  if (bare === 'pred') return 1;
  if (/x2$/.test(bare)) return 32;
  const match = /(\d+)$/.exec(bare);
  return match ? Number(match[1]) : 32;
}

/**
 * How to read a register's bits: its own type if that says more than a width, else the type in the opcode of the
 * instruction that reads or writes it, else what the values look like.
 * @param {string} registerType
 * @param {string} opcode
 * @param {boolean} written
 * @param {ArrayLike<number>} words
 * @param {number} mask lanes that count
 * @param {boolean} [address] the register is part of an address
 * @returns {string}
 */
export function stepperType(registerType, opcode, written, words, mask, address = false) {
  const bare = registerType.replace(/^\./, '');
  if (!/^b\d+$/.test(bare)) return bare;
  if (address && !written) return bare === 'b32' ? 'u32' : bare;
  const types = opcode.split('.').filter((part) => /^(f16x2|bf16x2|bf16|[fsu](8|16|32|64))$/.test(part));
  const width = stepperBits(bare);
  const typed = written ? types[0] : types[types.length - 1];
  if (typed && /^(ld|st|mov|selp|shfl|cvt|setp|set|add|sub|mul|mad|fma|min|max|neg|abs|div|rem|ex2|lg2|sin|cos|sqrt|rsqrt|rcp|atom|red|tanh|shl|shr|and|or|xor|not)/.test(opcode)) {
    if (stepperBits(typed) === width) return typed;
    if (opcode.includes('.wide.') && stepperBits(typed) * 2 === width) return typed[0] + String(width);
  }
  return width === 32 ? stepperGuess(words, mask) : bare;
}

/**
 * `f32` where every live word looks like a float of ordinary size, `s32` where every one is a small integer, else
 * `b32`; `f16x2` where both halves of several different words look like halves. A guess for the eye only: the hexadecimal form is one key away.
 * @param {ArrayLike<number>} words
 * @param {number} mask
 */
export function stepperGuess(words, mask) {
  let floats = 0;
  let small = 0;
  let count = 0;
  let halves = 0;
  let both = 0;
  for (let lane = 0; lane < words.length; lane++) {
    if (lane < 32 && !((mask >>> lane) & 1)) continue;
    const word = words[lane] >>> 0;
    if (word === 0) continue;
    count++;
    if (stepperHalf(word & 0xffff) && stepperHalf(word >>> 16)) halves++;
    if (word & 0xffff && word >>> 16) both++;
    const exponent = (word >>> 23) & 255;
    if (exponent >= 97 && exponent <= 167) floats++;
    const signed = word | 0;
    if (signed > -(2 ** 24) && signed < 2 ** 24) small++;
  }
  if (!count) return 's32';
  if (small === count) return 's32';
  // The low half of a float is noise: that it looks like a half too in twelve words is no accident.
  if (count >= 12 && halves * 20 >= count * 19 && both * 2 >= count) return 'f16x2';
  return floats === count ? 'f32' : 'b32';
}

/** Zero, or of a size between 2^-10 and 2^6 as a half. @param {number} bits */
function stepperHalf(bits) {
  const exponent = (bits >>> 10) & 31;
  return (bits & 0x7fff) === 0 || (exponent >= 5 && exponent <= 20);
}

/** Does a register stand between the brackets of an instruction's address? @param {string} text @param {string} name */
export function stepperIsAddress(text, name) {
  return [...text.matchAll(/\[([^\]]*)\]/g)].some(([, inside]) => inside.split(/[^%\w$]+/).includes(name));
}

/** @typedef {'loop' | 'line' | 'diverge' | 'join' | 'fixed'} StepperJump */

/**
 * The test that a jump looks for among the steps of a warp.
 * @param {StepperJump} jump
 * @param {StepperTrace} trace
 * @param {StepperIndex} index
 * @param {StepperCode} code
 * @param {number} step where the jump starts
 * @param {{source: string, line: number} | null} fixed
 * @returns {((step: number) => boolean) | null} null where there is nothing to look for
 */
export function stepperTest(jump, trace, index, code, step, fixed) {
  const { source, source_line: sourceLine, line } = code.instructions;
  const pc = trace.pc[step];
  if (jump === 'loop') {
    const loop = traceLoop(code, pc);
    const headers = loop ? [code.blocks[loop.header].start] : code.loops.map((one) => code.blocks[one.header].start);
    return headers.length ? (at) => headers.includes(trace.pc[at]) : null;
  }
  if (jump === 'line') {
    const key = `${source[pc]}:${sourceLine[pc]}`;
    if (code.instructions.source_line.every((one) => one === null)) return (at) => line[trace.pc[at]] !== line[pc];
    return (at) => sourceLine[trace.pc[at]] !== null && `${source[trace.pc[at]]}:${sourceLine[trace.pc[at]]}` !== key;
  }
  if (jump === 'diverge') return (at) => traceSplits(trace, index, code, at);
  if (jump === 'join') return (at) => traceJoins(trace, index, at);
  if (!fixed) return null;
  const own = String(code.source) === fixed.source;
  return (at) => {
    const p = trace.pc[at];
    if (own) return line[p] === fixed.line;
    if (String(source[p]) === fixed.source && sourceLine[p] === fixed.line) return true;
    return (code.instructions.inlined[p] ?? []).some(([from, at_]) => String(from) === fixed.source && at_ === fixed.line);
  };
}

/**
 * Lanes as ranges: 0–3, 8, 16–31.
 * @param {number} mask
 */
export function stepperLanes(mask) {
  const parts = [];
  for (let lane = 0; lane < 32; lane++) {
    if (!((mask >>> lane) & 1)) continue;
    let last = lane;
    while (last < 31 && (mask >>> (last + 1)) & 1) last++;
    parts.push(last === lane ? String(lane) : `${lane}–${last}`);
    lane = last;
  }
  return parts.join(', ') || 'none';
}

/** "1 lane", "31 lanes". @param {number} mask */
export function stepperCount(mask) {
  const count = tracePopcount(mask);
  return `${count} ${count === 1 ? 'lane' : 'lanes'}`;
}

/** Where lanes stand, in words. @param {number} mask @param {string} place */
export function stepperStand(mask, place) {
  return tracePopcount(mask) === 1 ? `lane ${stepperLanes(mask)} stands at ${place}` : `lanes ${stepperLanes(mask)} stand at ${place}`;
}

/** One letter and a word for each reason. @type {Record<import('./trace-core.js').LaneState, {letter: string, word: string}>} */
export const STEPPER_LANE_WORDS = {
  on: { letter: '●', word: 'on' },
  guard: { letter: 'g', word: 'off by the guard predicate' },
  diverged: { letter: 'd', word: 'diverged: went another way' },
  exited: { letter: 'x', word: 'exited' },
  absent: { letter: '–', word: 'not launched' },
  waiting: { letter: 'w', word: 'never runs again in this trace' },
};
