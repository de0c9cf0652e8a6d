import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeControlWords, codeHeat, codeHeatLevel, codeHeatValue, codeHelp, codeLinked, codeLinks, codeLiveTop, codeSetters } from '../../static_js/code-core.js';
import { dataBytes, dataColumn, dataTrace, dataUnplane, dataValues } from '../../static_js/data.js';
import { domShort } from '../../static_js/dom.js';
import { findingsPass } from '../../static_js/findings.js';
import { fragmentFormat, fragmentParse, fragmentSelect } from '../../static_js/fragment.js';
import { KEYS, keysAction } from '../../static_js/keys.js';
import { memoryOrder } from '../../static_js/memory.js';
import { Store } from '../../static_js/store.js';
import { codeOf, packColumn, randomFrom } from './sample.js';

/** @type {import('../../static_js/store.js').Selection} */
const START = { launch: 0, isa: 'ptx', block: 0, warp: 0, step: 0, range: null, line: null };
const SHAPE = {
  launches: [
    { kernel: '_Z1av', bare: 'a', runs: [{ isa: 'ptx', traces: [{ index: 0, warps: 4, steps: 100, rounds: 50 }, { index: 7, warps: 2, steps: 10, rounds: 9 }] }] },
    { kernel: '_Z1bv', bare: 'b', runs: [{ isa: 'sass', traces: [{ index: 0, warps: 1, steps: 5, rounds: 5 }] }, { isa: 'ptx', traces: [] }] },
  ],
  sources: [{ id: '0', lines: 20 }, { id: 'two', lines: 5 }],
};

test('columns survive packing in every type, with and without differences', async () => {
  const random = randomFrom(3);
  for (const [type, top] of /** @type {Array<['u8' | 'u16' | 'u32', number]>} */ ([['u8', 2 ** 8], ['u16', 2 ** 16], ['u32', 2 ** 32]])) {
    const values = Array.from({ length: 300 }, () => Math.floor(random() * top));
    assert.deepEqual([...(await dataColumn(await packColumn(values, false, type)))], values);
  }
  const falling = [5, 3, 4294967295, 0, 1];
  assert.deepEqual([...(await dataColumn(await packColumn(falling, true)))], falling);
});

test('64-bit columns are exact to 2^53, as values and as differences', () => {
  const values = [0x7f0000000010, 3, 2 ** 53 - 1];
  const planes = new Uint8Array(8 * values.length);
  values.forEach((value, i) => {
    for (let byte = 0; byte < 8; byte++) planes[byte * values.length + i] = Number((BigInt(value) >> BigInt(8 * byte)) & 255n);
  });
  assert.deepEqual([...dataUnplane('u64', 3, planes, false)], values);
  const differences = values.map((value, i) => BigInt.asUintN(64, BigInt(value) - BigInt(i ? values[i - 1] : 0)));
  differences.forEach((value, i) => {
    for (let byte = 0; byte < 8; byte++) planes[byte * 3 + i] = Number((value >> BigInt(8 * byte)) & 255n);
  });
  assert.deepEqual([...dataUnplane('u64', 3, planes, true)], values);
});

test('a column that is too short or of an unknown type is refused', () => {
  assert.throws(() => dataUnplane('u32', 2, new Uint8Array(7), false), /has 7 bytes/);
  assert.throws(() => dataUnplane('f32', 1, new Uint8Array(4), false), /unknown type/);
  assert.deepEqual([...dataBytes('AAEC')], [0, 1, 2]);
});

test('plain columns and text of big numbers are read too; a trace is decoded once', async () => {
  assert.deepEqual([...(await dataColumn(['9007199254740991', 1].map(Number)))], [9007199254740991, 1]);
  const columns = { round: [0, 1], warp: [0, 0], pc: [0, 1], mask: [1, 1], group: [1, 1] };
  /** @type {any} */
  const raw = { block: [0, 0, 0], index: 0, warps: 1, threads: 32, steps: 2, rounds: 2, truncated: false, columns, values: null };
  assert.equal(await dataTrace(raw), await dataTrace(raw));
  assert.equal((await dataTrace(raw)).steps, 2);
  assert.equal(await dataValues(raw), null);
});

test('a selection survives the fragment', () => {
  /** @type {import('../../static_js/store.js').Selection} */
  const selection = { launch: 0, isa: 'ptx', block: 7, warp: 1, step: 9, range: [2, 8], line: { source: 'two', line: 5 } };
  const text = fragmentFormat(selection, 'a');
  assert.deepEqual(fragmentSelect(`#${text}`, SHAPE, START), { selection, notes: [] });
});

test('each bad value falls back and is named; unknown keys and empty fragments are silent', () => {
  const cases = { 'v=1&n=9': 'launch', 'v=1&k=zzz': 'kernel', 'v=1&i=sass': 'instruction set', 'v=1&b=3': 'traced block', 'v=1&w=4': 'warp',
    'v=1&s=100': 'step', 'v=1&c=8-2': 'range', 'v=1&c=0-51': 'range', 'v=1&l=0:21': 'line', 'v=1&l=': 'line', 'v=1&s=-1': 'step', 'v=1&s=1e3': 'step', 'v=1&w=%E0%A4%A': 'warp' };
  for (const [hash, what] of Object.entries(cases)) {
    const { selection, notes } = fragmentSelect(hash, SHAPE, START);
    assert.equal(notes.length, 1, hash);
    assert.match(notes[0], new RegExp(what), hash);
    assert.deepEqual(selection, START, hash);
  }
  for (const silent of ['', '#', '#sec-code', '#zz=1&q', '#=&&==']) assert.deepEqual(fragmentSelect(silent, SHAPE, START), { selection: START, notes: [] });
  assert.match(fragmentSelect('v=2&s=5', SHAPE, START).notes[0], /another version/);
});

test('a kernel chooses its launch, and that launch an instruction set it has', () => {
  assert.deepEqual(fragmentSelect('v=1&k=b', SHAPE, START).selection, { ...START, launch: 1, isa: 'ptx' });
  const sassOnly = { ...SHAPE, launches: [SHAPE.launches[0], { ...SHAPE.launches[1], runs: SHAPE.launches[1].runs.slice(0, 1) }] };
  assert.equal(fragmentSelect('v=1&k=_Z1bv', sassOnly, START).selection.isa, 'sass');
  const far = fragmentSelect('v=1&n=1&i=sass', SHAPE, { ...START, warp: 3, step: 80 }).selection;
  assert.deepEqual([far.warp, far.step], [0, 0]);
});

test('garbage fragments never throw', () => {
  const random = randomFrom(11);
  const letters = 'vnkibwscl=&#%-:019zé\u2028+';
  for (let i = 0; i < 3000; i++) {
    const hash = Array.from({ length: Math.floor(random() * 40) }, () => letters[Math.floor(random() * letters.length)]).join('');
    const { selection } = fragmentSelect(hash, SHAPE, START);
    assert.ok(selection.step >= 0 && selection.warp >= 0 && SHAPE.launches[selection.launch], hash);
    fragmentParse(hash);
  }
});

test('the store speaks once for each real change', () => {
  const store = new Store(START);
  /** @type {string[]} */
  const heard = [];
  const stop = store.subscribe((selection, changed) => heard.push(`${selection.step}:${[...changed].sort().join(',')}`));
  store.set({ step: 3, warp: 1 });
  store.set({ step: 3, line: null });
  store.set({ line: { source: '0', line: 2 } });
  store.set({ line: { source: '0', line: 2 } });
  stop();
  store.set({ step: 9 });
  assert.deepEqual(heard, ['3:step,warp', '3:line']);
  assert.equal(store.get().step, 9);
});

test('keys are unique, and none fires while typing or with a command key', () => {
  assert.equal(new Set(KEYS.map((entry) => entry.key)).size, KEYS.length);
  assert.equal(new Set(KEYS.map((entry) => entry.action)).size, KEYS.length);
  assert.equal(keysAction({ key: 'j' }), 'next');
  assert.equal(keysAction({ key: 'j', ctrlKey: true }), null);
  assert.equal(keysAction({ key: 'j', target: { tagName: 'INPUT', type: 'search' } }), null);
  assert.equal(keysAction({ key: 'j', target: { tagName: 'INPUT', type: 'range' } }), 'next');
  assert.equal(keysAction({ key: 'j', target: { tagName: 'SELECT' } }), null);
  assert.equal(keysAction({ key: 'é' }), null);
});

/** Two instruction sets of one kernel: line 11 of the source became pcs 1 and 2 of PTX, pc 0 of SASS. @returns {any[]} */
function twoRuns() {
  const ptx = codeOf(['load', 'alu', 'alu'], { source_line: [10, 11, 11] });
  ptx.instructions.inlined[2] = [[0, 3], [0, 11]];
  const sass = { ...codeOf(['alu', 'exit'], { source_line: [11, null] }), source: 2 };
  const profile = { warp_executed: [1, 8, 2], thread_executed: [32, 128, 64], sectors: [4, 0, 0], wavefronts: [0, 0, 0] };
  return [{ isa: 'ptx', code: ptx, profile, lines: [{ source: 0, line: 11, warp_executed: 10, thread_executed: 192, sectors: 0 }] }, { isa: 'sass', code: sass, profile: {}, lines: [] }];
}

test('lines link many to many, through inlining and across instruction sets', () => {
  const links = codeLinks(twoRuns());
  assert.deepEqual([...codeLinked(links, '0:11')].sort(), ['0:3', '1:2', '1:3', '2:1']);
  assert.deepEqual([...codeLinked(links, '1:2')].sort(), ['0:11', '2:1']);
  assert.deepEqual([...codeLinked(links, '0:3')].sort(), ['0:11', '1:3']);
  assert.deepEqual([...codeLinked(links, '2:2')], []);
  assert.deepEqual([...codeLinked(links, '0:99')], []);
});

test('an image that names its PTX lines links them exactly, many to many', () => {
  const [ptx, sass] = twoRuns();
  // Line 10 of the source became pc 0 of PTX, line 11 pcs 1 and 2; the machine instruction was made of pcs 0 and 2.
  sass.code.instructions.ptx_lines = [[ptx.code.instructions.line[0], ptx.code.instructions.line[2]], null];
  sass.code.ptx_source = ptx.code.source;
  const links = codeLinks([ptx, sass]);
  const [a, b, c] = links.isa[0];
  assert.deepEqual([...codeLinked(links, '2:1')].sort(), ['0:11', a, c].sort());
  assert.deepEqual([...codeLinked(links, a)].sort(), ['0:10', '2:1']);
  assert.deepEqual([...codeLinked(links, b)].sort(), ['0:11']);
  assert.deepEqual([...codeLinked(links, c)].sort(), ['0:11', '0:3', '2:1']);
  assert.deepEqual([...codeLinked(links, '0:11')].sort(), ['0:3', '2:1', b, c].sort());
});

test('control fields and opcodes in words', () => {
  const words = codeControlWords({ stall: 4, yield_bit: true, write_barrier: 2, read_barrier: null, wait_mask: 5, reuse: 2 });
  assert.equal(words.length, 5);
  assert.match(words.join('; '), /at least 4 cycles later; yield bit 1 .*; barrier 2 is set until the result .*; waits for barrier 0, 2; operand slot 1 stays/);
  assert.deepEqual(codeControlWords(null), []);
  const code = { ...codeOf(['fpu', 'alu']), opcodes: { FFMA: { help: 'multiplies and adds', pipe: null } } };
  code.instructions.opcode = ['FFMA', 'IADD3'];
  assert.equal(codeHelp(code, 0), 'FFMA: multiplies and adds · pipe not published · fpu');
  assert.equal(codeHelp(code, 1), '');
});

test('heat follows the column and knows nothing where nothing was counted', () => {
  const [run] = twoRuns();
  const executions = codeHeat(run, 'executions');
  assert.equal(executions.values.get('1:2'), 8);
  assert.equal(executions.values.get('0:11'), 10);
  assert.equal(executions.max, 10);
  assert.equal(codeHeat(run, 'sectors').values.get('1:2'), undefined);
  assert.equal(codeHeat(run, 'divergence').values.get('1:2'), 50);
  assert.equal(codeHeatValue(() => null, 'executions'), null);
  assert.equal(codeHeatLevel(0, 10, 'executions'), 0);
  assert.equal(codeHeatLevel(10, 10, 'executions'), 6);
  assert.equal(codeHeatLevel(1, 1e9, 'executions'), 1);
  assert.equal(codeHeatLevel(50, 100, 'divergence'), 3);
  run.code.instructions.live = [1, 4, 4];
  assert.deepEqual(codeLiveTop(run), { most: 4, pcs: [1, 2] });
  run.code.instructions.live = [null, null, null];
  assert.equal(codeLiveTop(run), null);
});

test('a wait leads to what set its barrier, the nearest one', () => {
  const set = (/** @type {number | null} */ write, /** @type {number | null} */ read, wait = 0) => ({ write_barrier: write, read_barrier: read, wait_mask: wait });
  const control = [set(0, null), { ...set(1, 2), stall: 4 }, { ...set(0, null), stall: 3 }, null, set(null, null, 0b101101)];
  assert.deepEqual(codeSetters(control, 4), [{ barrier: 0, pc: 2, what: 'write', cycles: 3 }, { barrier: 2, pc: 1, what: 'read', cycles: 7 },
    { barrier: 3, pc: -1, what: 'read', cycles: 0 }, { barrier: 5, pc: -1, what: 'read', cycles: 0 }]);
  assert.deepEqual(codeSetters(control, 0), []);
  assert.deepEqual(codeSetters([null], 0), []);
  const turning = [set(null, null, 1), null, set(null, 0), null];
  assert.deepEqual(codeSetters(turning, 0, { start: 0, end: 4 }), [{ barrier: 0, pc: 2, what: 'read', cycles: -1 }]);
  assert.deepEqual(codeSetters(turning, 0, { start: 0, end: 2 }), [{ barrier: 0, pc: -1, what: 'read', cycles: -1 }]);
});

test('tables sort by number with unknown last, and filters pass what they should', () => {
  assert.deepEqual(memoryOrder(['10', '', '9', '2'], true), [0, 2, 3, 1]);
  assert.deepEqual(memoryOrder(['10', '', '9', '2'], false), [3, 2, 0, 1]);
  assert.deepEqual(memoryOrder(['k.cu:10', 'k.cu:9'], false), [1, 0]);
  const rows = [{ severity: 'info', category: 'memory' }, { severity: 'critical', category: 'memory' }];
  assert.deepEqual(findingsPass(rows, '', 'memory'), [true, true]);
  assert.deepEqual(findingsPass(rows, 'critical', 'memory'), [false, true]);
});

test('short numbers never exceed five characters', () => {
  const shown = { 0: '0', 7: '7', 999: '999', 1000: '1.00k', 12345: '12.3k', 999499: '999k', 999600: '1.00M', 1e9: '1.00G' };
  for (const [value, text] of Object.entries(shown)) assert.equal(domShort(Number(value)), text);
});
