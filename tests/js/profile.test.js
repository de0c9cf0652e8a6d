// Comparing profiled launches, and values as people read them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeHas, codeHeatColumns, codeHeatValue, codeMeasured } from '../../static_js/code-core.js';
import { profileDelta, profilePartner, profileScaled, profileValues } from '../../static_js/profile.js';

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
