import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryAccess, memoryBanks, memoryBuffer, memoryItemSize, MemoryReplay, memoryRows, memorySectors } from '../../static_js/memory-core.js';
import { stepperGuess, stepperIsAddress, stepperLanes, stepperTest, stepperType } from '../../static_js/stepper-core.js';
import { panelWord } from '../../static_js/stepper-memory.js';
import {
  traceBarrier, traceExited, traceFind, traceIndex, traceIteration, traceJoin, traceJoins, traceLanes, traceLaneStates, traceLaunched, traceNearest,
  traceNeighbour, tracePopcount, traceSplits, traceStack, traceStanding, traceUpTo, traceWarps,
} from '../../static_js/trace-core.js';
import { valuesAt, valuesHalf, valuesIndex, valuesPattern, valuesText } from '../../static_js/values-core.js';
import { codeOf, diamond, randomFrom, traceOf } from './sample.js';

const ALL = 0xffffffff;

test('masks', () => {
  assert.equal(traceLaunched(40, 0), ALL);
  assert.equal(traceLaunched(40, 1), 0xff);
  assert.equal(traceLaunched(40, 2), 0);
  for (const mask of [0, 1, 0x80000000, 0xf0f0, ALL]) assert.equal(tracePopcount(mask), traceLanes(mask).length);
  assert.equal(stepperLanes(0x000001f5), '0, 2, 4–8');
  assert.equal(stepperLanes(ALL), '0–31');
  assert.equal(stepperLanes(0), 'none');
});

test('steps are found by warp, forwards and backwards', () => {
  const { trace } = diamond();
  const index = traceIndex(trace);
  assert.deepEqual([...index.steps], [0, 2, 4, 6, 7, 8, 1, 3, 5, 9]);
  assert.equal(traceUpTo(index, 1, 5) - index.start[1], 3);
  assert.equal(traceNearest(index, 1, 4), 3);
  assert.equal(traceNearest(index, 1, 0), 1);
  assert.equal(traceNeighbour(trace, index, 2, 1, false), 4);
  assert.equal(traceNeighbour(trace, index, 2, 1, true), 3);
  assert.equal(traceNeighbour(trace, index, 0, -1, false), -1);
  assert.equal(traceNeighbour(trace, index, 8, 1, false), -1);
  assert.equal(traceNearest(traceIndex(traceOf([], 2)), 0, 5), -1);
});

test('each lane says why it is off', () => {
  const { trace, code } = diamond();
  const index = traceIndex(trace);
  const states = traceLaneStates(trace, index, code, 6);
  assert.equal(states[0], 'diverged');
  assert.equal(states[16], 'on');
  assert.equal(states[31], 'guard');
  const partial = traceOf([[0, 0, 0, 0xff], [1, 0, 5, 0x0f], [2, 0, 5, 0xf0]], 1, 8);
  const one = traceIndex(partial);
  const last = traceLaneStates(partial, one, code, 2);
  assert.deepEqual([last[0], last[4], last[9]], ['exited', 'on', 'absent']);
  assert.equal(traceExited(partial, one, code, 0, 1), 0);
  const cut = traceOf([[0, 0, 0, ALL], [1, 0, 2, 0xff]], 1, 32, true);
  assert.equal(traceLaneStates(cut, traceIndex(cut), code, 1)[8], 'diverged');
  const stuck = traceOf([[0, 0, 0, ALL], [1, 0, 2, 0xff], [2, 0, 2, 0xf]], 1);
  assert.equal(traceLaneStates(stuck, traceIndex(stuck), code, 2)[30], 'waiting');
});

test('splits, joins and the stack come from the groups', () => {
  const { trace, code } = diamond();
  const index = traceIndex(trace);
  assert.deepEqual([0, 2, 3, 4].map((step) => traceSplits(trace, index, code, step)), [false, true, false, false]);
  assert.deepEqual([2, 4, 6, 7, 8].map((step) => traceJoins(trace, index, step)), [false, false, false, true, false]);
  assert.equal(traceJoin(code, 1), 4);
  const stack = traceStack(trace, index, code, 6);
  assert.equal(stack.length, 2);
  assert.deepEqual([stack[0].mask, stack[0].split], [ALL, -1]);
  assert.deepEqual([stack[1].mask, stack[1].split, stack[1].join], [0xffff0000, 1, 4]);
  assert.deepEqual(stack[1].others, [{ mask: 0xffff, pc: 4, step: 7 }]);
  assert.equal(traceStack(trace, index, code, 8).length, 1);
  assert.deepEqual(traceStanding(trace, index, 8, 1), [{ mask: 1, pc: -1, step: -1 }]);
});

test('nested divergence gives a deeper stack; lanes that ended are no divergence', () => {
  const code = codeOf(['branch', 'branch', 'alu', 'exit']);
  const trace = traceOf([[0, 0, 0, ALL], [1, 0, 1, 0xffff], [2, 0, 2, 0xff], [3, 0, 2, 0xff00], [4, 0, 2, 0xffff0000], [5, 0, 3, ALL]], 1);
  const index = traceIndex(trace);
  assert.deepEqual(traceStack(trace, index, code, 2).map((level) => level.mask), [ALL, 0xffff, 0xff]);
  const leaving = traceOf([[0, 0, 3, ALL, 0xff], [1, 0, 2, 0xffffff00], [2, 0, 3, 0xffffff00]], 1);
  assert.equal(traceStack(leaving, traceIndex(leaving), code, 1).length, 1);
});

test('loop iterations count from one and jumps find headers, lines and fixed lines', () => {
  const code = codeOf(['alu', 'alu', 'branch', 'exit'], {
    block: [0, 1, 1, 2], source_line: [5, 6, 6, 9],
    blocks: [{ start: 0, end: 1, successors: [1], ipdom: 1, loop: null }, { start: 1, end: 3, successors: [1, 2], ipdom: 2, loop: 0 }, { start: 3, end: 4, successors: [], ipdom: null, loop: null }],
    loops: [{ header: 1, blocks: [1], depth: 1, trips: 3 }],
  });
  const trace = traceOf([0, 1, 2, 1, 2, 1, 2, 3].map((pc, round) => [round, 0, pc, ALL]), 1);
  const index = traceIndex(trace);
  assert.deepEqual([1, 2, 3, 6].map((step) => traceIteration(trace, index, code, step)?.iteration), [1, 1, 2, 3]);
  assert.equal(traceIteration(trace, index, code, 7), null);
  const find = (/** @type {any} */ jump, /** @type {number} */ from, /** @type {1 | -1} */ direction, /** @type {any} */ fixed = null) => {
    const wanted = stepperTest(jump, trace, index, code, from, fixed);
    return wanted ? traceFind(trace, index, from, direction, wanted) : null;
  };
  assert.equal(find('loop', 1, 1), 3);
  assert.equal(find('loop', 5, -1), 3);
  assert.equal(find('loop', 5, 1), -1);
  assert.equal(find('line', 2, 1), 7);
  assert.equal(find('line', 2, -1), 0);
  assert.equal(find('fixed', 0, 1, { source: '0', line: 9 }), 7);
  assert.equal(find('fixed', 0, 1, { source: '1', line: 3 }), 2);
  assert.equal(find('fixed', 0, 1), null);
});

test('warps stand where the trace left them', () => {
  const { trace, code } = diamond();
  const index = traceIndex(trace);
  const at = (/** @type {number} */ step) => traceWarps(trace, index, code, step).map((stand) => stand.state);
  assert.deepEqual(at(0), ['ready', 'unstarted']);
  assert.deepEqual(at(6), ['ready', 'barrier']);
  assert.deepEqual(at(9), ['finished', 'finished']);
  const barriers = { step: Uint32Array.of(5, 7, 7), round: Uint32Array.of(2, 4, 4), warp: Uint16Array.of(1, 0, 0), barrier: Uint16Array.of(0, 0, 0), kind: Uint8Array.of(0, 0, 2) };
  assert.equal(traceBarrier(barriers, 0, 0, 1, false), 7);
  assert.equal(traceBarrier(barriers, 1, 0, 1, false), 5);
  assert.equal(traceBarrier(barriers, 1, 9, -1, true), 7);
  assert.equal(traceBarrier(barriers, 1, 7, 1, true), -1);
  assert.equal(traceBarrier(null, 0, 0, 1, true), -1);
});

/** Two writes of %r1 by warp 0, the second by half its lanes; %rd1 and %p1 once. */
function written() {
  const trace = traceOf([[0, 0, 0, ALL], [1, 0, 1, 0xffff], [2, 0, 2, ALL], [3, 0, 2, ALL]], 1);
  const lanes = Array.from({ length: 32 }, (_, lane) => lane);
  const words = [...lanes.map((lane) => lane * 4), ...lanes.map((lane) => (lane < 16 ? 100 + lane : 0)), ...lanes, ...lanes.map(() => 1), 0x0000000f];
  const values = { names: ['%r1', '%rd1', '%p1'], types: ['b32', 'u64', 'pred'], step: Uint32Array.of(0, 1, 2, 2), register: Uint32Array.of(0, 0, 1, 2),
    offset: Uint32Array.of(0, 32, 64, 128), words: Uint32Array.from(words), warps: [0], complete: true };
  const code = codeOf(['alu', 'alu', 'alu', 'alu'], { registers: { names: ['%r1', '%rd1', '%p1'], types: ['b32', 'u64', 'pred'] } });
  code.instructions.writes = [[0], [0], [1, 2], []];
  return { trace, values, code };
}

test('register values before and after a step, lanes that were off keeping theirs', () => {
  const { trace, values, code } = written();
  const [index, indexed] = [traceIndex(trace), valuesIndex(trace, values)];
  const at = (/** @type {number} */ step, /** @type {string} */ name, /** @type {string} */ type, /** @type {boolean} */ after) => valuesAt(trace, index, code, values, indexed, step, name, type, after);
  assert.equal(at(0, '%r1', 'b32', false).state, 'initial');
  assert.equal(at(1, '%r1', 'b32', false).low[3], 12);
  const after = at(1, '%r1', 'b32', true);
  assert.deepEqual([after.low[3], after.low[20], after.step, after.known], [103, 80, 1, ALL]);
  const wide = at(3, '%rd1', 'u64', false);
  assert.deepEqual([wide.low[5], wide.high?.[5]], [5, 1]);
  assert.deepEqual([...at(3, '%p1', 'pred', false).low].slice(2, 6), [1, 1, 0, 0]);
  assert.deepEqual(valuesPattern(at(1, '%r1', 'b32', false), ALL), { kind: 'affine', lane: 0, stride: 4 });
  assert.deepEqual(valuesPattern(wide, 1), { kind: 'same', lane: 0 });
  assert.deepEqual(valuesPattern(after, ALL), { kind: 'mixed' });
});

test('what was not kept is not recorded, what is known from before the cut stays known', () => {
  const { trace, values, code } = written();
  const index = traceIndex(trace);
  const cut = { ...values, step: values.step.slice(0, 1), register: values.register.slice(0, 1), complete: false };
  const indexed = valuesIndex(trace, cut);
  assert.equal(valuesAt(trace, index, code, cut, indexed, 1, '%r1', 'b32', true).state, 'unrecorded');
  assert.equal(valuesAt(trace, index, code, cut, indexed, 1, '%r1', 'b32', false).state, 'known');
  assert.equal(valuesAt(trace, index, code, cut, indexed, 3, '%p1', 'pred', false).state, 'unrecorded');
  assert.equal(valuesAt(trace, index, code, null, null, 1, '%r1', 'b32', false).state, 'unrecorded');
  assert.equal(valuesAt(trace, index, code, { ...values, warps: [1] }, indexed, 1, '%r1', 'b32', false).state, 'unrecorded');
});

test('values as text in every type and form', () => {
  const cases = /** @type {Array<[string, number, number | null, any, string]>} */ ([
    ['u32', ALL, null, 'auto', '4294967295'], ['s32', ALL, null, 'auto', '-1'], ['b32', 255, null, 'auto', '0x000000ff'], ['f32', 0x3fc00000, null, 'auto', '1.5'],
    ['f32', 0x3dcccccd, null, 'auto', '0.1'], ['f32', 0x7f800000, null, 'auto', '+Inf'], ['f32', 0xffc00000, null, 'auto', 'NaN'], ['f32', 0x80000000, null, 'auto', '-0'],
    ['f64', 0, 0x3ff80000, 'auto', '1.5'], ['u64', 1, 1, 'decimal', '4294967297'], ['s64', ALL, ALL, 'decimal', '-1'], ['u64', 16, 0x7f00, 'auto', '0x7f0000000010'], ['u64', 16, 0x7f00, 'hex', '0x00007f0000000010'], ['s64', 64, 0, 'auto', '64'],
    ['s64', 0xfffffffc, ALL, 'auto', '-4'],
    ['pred', 1, null, 'auto', 'true'], ['f16x2', 0x3c004000, null, 'auto', '2, 1'], ['f16', 0xc000, null, 'auto', '-2'], ['bf16', 0x3fc0, null, 'auto', '1.5'],
    ['s16', 0xffff, null, 'decimal', '-1'], ['u8', 0x1ff, null, 'decimal', '255'], ['u32', 0x3f800000, null, 'float', '1'],
  ]);
  for (const [type, low, high, format, text] of cases) assert.equal(valuesText(type, low, high, format), text, `${type} ${format}`);
  assert.equal(valuesHalf(1), 2 ** -24);
  assert.ok(Number.isNaN(valuesHalf(0x7c01)));
});

test('an untyped register is read as its instruction reads it, else as it looks', () => {
  assert.equal(stepperType('b32', 'add.rn.f32', true, [], ALL), 'f32');
  assert.equal(stepperType('b64', 'mul.wide.s32', true, [], ALL), 's64');
  assert.equal(stepperType('b32', 'st.shared.f32', false, [4], 1, true), 'u32');
  assert.ok(stepperIsAddress('st.shared.f32 [%r1+4], %f1', '%r1') && !stepperIsAddress('st.shared.f32 [%r12], %r1', '%r1'));
  assert.equal(stepperType('f32', 'mov.b32', true, [], ALL), 'f32');
  assert.equal(stepperType('b32', 'cvt.rn.f32.s32', false, [], ALL), 's32');
  const floats = new Uint32Array(new Float32Array(32).fill(1.25).buffer);
  assert.equal(stepperType('b32', 'ld.global.b32', true, floats, ALL), 'f32');
  assert.equal(stepperGuess([7, 4294967295], 3), 's32');
  assert.equal(stepperGuess([0xdeadbeef], 1), 'b32');
  assert.equal(stepperGuess([0xdeadbeef], 0), 's32');
});

test('pairs of halves are told from floats by many words together', () => {
  const pairs = Array.from({ length: 32 }, (_, lane) => (((0x3000 + 31 * lane) << 16) | (0x3400 + 17 * lane)) >>> 0);
  assert.equal(stepperGuess(pairs, ALL), 'f16x2');
  assert.notEqual(stepperGuess(pairs, 0xff), 'f16x2');
  const floats = new Uint32Array(Float32Array.from({ length: 32 }, (_, lane) => Math.sin(lane + 1) / 2).buffer);
  assert.equal(stepperGuess(floats, ALL), 'f32');
  const round = new Uint32Array(Float32Array.from({ length: 32 }, (_, lane) => lane + 1).buffer);
  assert.equal(stepperGuess(round, ALL), 'f32');
});

test('a word of shared memory fits its cell', () => {
  const float = (/** @type {number} */ value) => new Uint32Array(new Float32Array([value]).buffer)[0];
  assert.equal(panelWord('f32', float(0.6371), 'auto'), '0.637');
  assert.equal(panelWord('f32', float(0.033637), 'auto'), '0.034');
  assert.equal(panelWord('f32', float(-123456), 'auto'), '-1e+5');
  assert.equal(panelWord('b32', 0xdeadbeef, 'auto'), 'deadbeef');
  assert.equal(panelWord('f16x2', 0x38003400, 'auto'), '0.25\n0.5');
});

test('sectors and banks by the counter rules, not the naive ones', () => {
  const lanes = (/** @type {(lane: number) => number} */ f) => Array.from({ length: 32 }, (_, lane) => f(lane));
  assert.equal(memorySectors(ALL, lanes((l) => 4 * l), 4).length, 4);
  assert.equal(memorySectors(ALL, lanes((l) => 4 * l + 4), 4).length, 5);
  assert.equal(memorySectors(ALL, lanes(() => 64), 4).length, 1);
  assert.equal(memorySectors(1, lanes(() => 30), 4).length, 2);
  const count = (/** @type {(lane: number) => number} */ f, /** @type {number} */ size, mask = ALL) => memoryBanks(mask, lanes(f), size).wavefronts;
  assert.equal(count((l) => 4 * l, 4), 1);
  assert.equal(count((l) => 128 * l, 4), 32);
  assert.equal(count(() => 128, 4), 1, 'one word is broadcast');
  assert.equal(count((l) => 8 * l, 4), 2);
  assert.equal(count((l) => l, 1), 1, 'four lanes share a word');
  assert.equal(count((l) => 8 * l, 8), 2);
  assert.equal(count((l) => 16 * l, 16), 4);
  assert.equal(count((l) => 8 * l, 8, 0xffff), 1, 'a half without a live lane costs nothing');
  const { cells } = memoryBanks(3, lanes(() => 4), 4);
  assert.deepEqual(cells, [{ wavefront: 0, bank: 1, word: 1, lanes: [0, 1] }]);
});

/** Stores of two warps to shared memory, one without data, one of two bytes. */
function stores() {
  return {
    step: Uint32Array.of(2, 4, 4, 6), kind: Uint8Array.of(1, 1, 0, 1), space: Uint8Array.of(1, 1, 0, 1), size: Uint8Array.of(4, 2, 4, 8), mask: Uint32Array.of(3, 1, 1, 1),
    offset: Uint32Array.of(0, 2, 3, 4), addresses: Float64Array.of(0, 4, 2, 0x7f0000000000, 2048), data_offset: Uint32Array.of(0, 2, ALL, ALL), data: Uint32Array.of(0x11223344, 7, 0xaabb), complete: true,
  };
}

test('memory is replayed to any step, forwards and back', () => {
  const accesses = stores();
  const replay = new MemoryReplay(accesses, 1, 1);
  replay.seek(1);
  assert.deepEqual(replay.word(0), { value: 0, state: 0, step: -1 });
  replay.seek(6);
  assert.deepEqual(replay.word(0), { value: 0xaabb3344, state: 1, step: 4 });
  assert.equal(replay.word(2048).state, 2);
  replay.seek(3);
  assert.deepEqual(replay.word(0), { value: 0x11223344, state: 1, step: 2 });
  assert.equal(replay.word(2048).state, 0);
  replay.seek(6);
  assert.equal(replay.word(0).value, 0xaabb3344);
  assert.deepEqual(memoryRows(accesses, 4), [1, 3]);
  assert.deepEqual(memoryAccess(accesses, 0).addresses.slice(0, 3), [0, 4, 0]);
  assert.equal(memoryAccess(accesses, 2).space, 'global');
});

test('replay in any order equals replay from the start', () => {
  const random = randomFrom(5);
  const n = 400;
  const accesses = { step: Uint32Array.from({ length: n }, (_, i) => i), kind: new Uint8Array(n).fill(1), space: new Uint8Array(n).fill(1), size: new Uint8Array(n).fill(4),
    mask: new Uint32Array(n).fill(1), offset: Uint32Array.from({ length: n }, (_, i) => i), addresses: Float64Array.from({ length: n }, () => 4 * Math.floor(random() * 64)),
    data_offset: Uint32Array.from({ length: n }, (_, i) => i), data: Uint32Array.from({ length: n }, () => Math.floor(random() * 2 ** 32)), complete: true };
  const moving = new MemoryReplay(accesses, 1, 37);
  for (let i = 0; i < 60; i++) {
    const step = Math.floor(random() * n);
    moving.seek(step);
    const fresh = new MemoryReplay(accesses, 1);
    fresh.seek(step);
    for (let address = 0; address < 256; address += 4) assert.deepEqual(moving.word(address), fresh.word(address));
  }
});

test('buffers are found by base and size', () => {
  const buffers = [null, { name: 'a', base: 1024, size: 64, dtype: 'float32', given: true, touched: null }];
  assert.equal(memoryBuffer(buffers, 1087)?.name, 'a');
  assert.equal(memoryBuffer(buffers, 1088), null);
  assert.deepEqual(['float32', 'uint8', 'int64', 'bool'].map(memoryItemSize), [4, 1, 8, 4]);
});
