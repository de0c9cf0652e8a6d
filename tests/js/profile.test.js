// Comparing profiled launches, and values as people read them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeHas, codeHeatColumns, codeHeatValue, codeMeasured } from '../../static_js/code-core.js';
import { dataMeasured } from '../../static_js/data.js';
import { profileDelta, profilePartner, profileScaled, profileValues } from '../../static_js/profile.js';
import { compareBase, compareCode, compareRoll } from '../../static_js/profile-compare.js';
import { gzipSync } from 'node:zlib';

/** @param {string} name @param {number} file @param {any[]} values */
const launch = (name, file, values) => ({ kernel: { name }, measured: { file, set: 0, values, marks: [], code: null }, runs: [] });
const report = /** @type {any} */ ({
  launches: [launch('a', 0, [1, 2]), launch('b', 0, [3, null]), launch('a', 0, [5, 6]), launch('a', 1, [7, 8]), { kernel: { name: 'a' }, runs: [] }],
  profile: { files: [{ name: 'x' }, { name: 'y' }], sets: [[4, 9]], metrics: { name: [], unit: [], about: [] }, codes: [] },
});

test('values of a launch stand by metric; a launch that was not profiled has none', () => {
  assert.deepEqual([...profileValues(report, 1)], [[4, 3], [9, null]]);
  assert.equal(profileValues(report, 4).size, 0);
});

test('a launch finds its like in another report, the last where there are fewer', () => {
  assert.equal(profilePartner(report, 0, 1), 3);
  assert.equal(profilePartner(report, 2, 1), 3);
  assert.equal(profilePartner(report, 1, 1), null);
  assert.equal(profilePartner(report, 3, 0), 0);
});

test('differences say how much and which way, and nothing where a side is n/a', () => {
  assert.deepEqual(profileDelta(110, 100), { text: '+10.0 %', way: 'up' });
  assert.deepEqual(profileDelta(50, 100), { text: '−50.0 %', way: 'down' });
  assert.deepEqual(profileDelta(5, 5), { text: '±0', way: '' });
  assert.deepEqual(profileDelta(5, 0), { text: 'from 0', way: 'up' });
  assert.equal(profileDelta(5000, 1)?.text, '×5.00e+3');
  assert.equal(profileDelta(null, 1), null);
  assert.equal(profileDelta(1, 'text'), null);
});

test('units scale as the server scales them', () => {
  assert.deepEqual(profileScaled(15200, 'ns'), ['15.2', 'µs']);
  assert.deepEqual(profileScaled(2048, 'byte'), ['2', 'KiB']);
  assert.deepEqual(profileScaled(1234567, 'inst'), ['1,234,567', 'inst']);
  assert.deepEqual(profileScaled(0, 'ns'), ['0', 'ns']);
  assert.deepEqual(profileScaled(null, '%'), ['n/a', '']);
  assert.deepEqual(profileScaled('CachePreferNone', ''), ['CachePreferNone', '']);
});

test('a profile adds heat columns, stall reasons last', () => {
  const profile = { samples: [4, 0], stall_wait: [3, 0], sectors_excess: [null, 2], warp_executed: [9, 9] };
  const measured = /** @type {any} */ ({ launches: [{ kernel: { name: 'a' }, runs: [], measured: { code: { profile } } }] });
  assert.deepEqual(codeHeatColumns(measured).map((column) => column.id),
    ['executions', 'sectors', 'wavefronts', 'divergence', 'samples', 'sectors_excess', 'stall_wait']);
  const run = /** @type {any} */ ({ profile });
  assert.ok(codeHas(run, 'executions') && codeHas(run, 'samples') && !codeHas(run, 'divergence'));
  assert.equal(codeHeatValue((name) => /** @type {any} */ (profile)[name]?.[0], 'samples'), 4);
  assert.equal(codeMeasured([run], [[0, 0], [0, 1]]), '; measured: 4 samples (wait 3), 2 of them excess');
  assert.equal(codeMeasured([/** @type {any} */ ({ profile: {} })], [[0, 0]]), '');
});

test('a baseline is a launch, or the like of a launch in a report', () => {
  assert.equal(compareBase(report, 0, ''), undefined);
  assert.equal(compareBase(report, 0, 'launch:2'), 2);
  assert.equal(compareBase(report, 0, 'file:1'), 3);
  assert.equal(compareBase(report, 1, 'file:1'), null);
});

test('a line or instruction is found where the tables do not list it; without code nothing is', () => {
  const code = { code: 0, isa: 'sass', profile: { samples: [5, null], warp_executed: [7, 8] }, lines: [{ source: 4, line: 12, samples: 5 }] };
  const made = /** @type {any} */ ({
    sources: [{ id: 4, name: 'a:b.cu' }],
    launches: [{ measured: { code } }, { measured: { code: null } }, {}],
    profile: { codes: [{ instructions: { line: [3, 4], opcode: ['LDG', 'EXIT'], offset: [0, 16] } }] },
  });
  assert.equal(compareCode(made, 0, 'line:a:b.cu:12'), 5);
  assert.equal(compareCode(made, 0, 'line:a:b.cu:13'), 0);
  assert.equal(compareCode(made, 0, 'line:other.cu:12'), null);
  assert.equal(compareCode(made, 0, 'line:sass:4'), 0);
  assert.equal(compareCode(made, 0, 'spot:warp_executed:0x0010:EXIT'), 8);
  assert.equal(compareCode(made, 0, 'spot:warp_executed:0x0010:LDG'), null);
  assert.equal(compareCode(made, 0, 'spot:sectors:0x0000:LDG'), null);
  assert.equal(compareCode(made, 0, 'rule:x'), null);
  assert.equal(compareCode(made, 1, 'line:sass:3'), null);
  assert.equal(compareCode(made, 2, 'line:sass:3'), null);
});

test('launches roll up by their metric; totals as the mean of a launch', () => {
  assert.equal(compareRoll([2, 4], 'sum', 'value'), 3);
  assert.equal(compareRoll([2, 4], 'max', 'value'), 4);
  assert.equal(compareRoll([2, 4], 'min', 'value'), 2);
  assert.deepEqual([compareRoll([2, 4], 'mean', 'low'), compareRoll([2, 4], 'mean', 'high')], [2, 4]);
  assert.equal(compareRoll([2, 4], 'sum', 'spread'), 2 / 3);
  assert.equal(compareRoll([2], 'sum', 'spread'), null);
  assert.equal(compareRoll([], 'sum', 'value'), null);
});

test('what later launches measured is unpacked once', async () => {
  const part = gzipSync(JSON.stringify({ values: [1], marks: [], code: null })).toString('base64');
  const one = /** @type {any} */ ({ measured: { file: 0, set: 0, columns: ['samples'], packed: part } });
  const both = [dataMeasured(one), dataMeasured(one)];
  await Promise.all(both);
  assert.deepEqual(one.measured.values, [1]);
  assert.equal('packed' in one.measured, false);
  await dataMeasured(one);
  await dataMeasured(undefined);
  const columns = codeHeatColumns(/** @type {any} */ ({ launches: [one] })).map((column) => column.id);
  assert.ok(columns.includes('samples'));
});
