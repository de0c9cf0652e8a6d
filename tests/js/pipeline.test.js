import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PipeError, pipeExpand, pipeKnobs, pipeRun, pipeValue } from '../../static_js/pipeline-core.js';
import { pipeTick } from '../../static_js/pipeline-draw.js';
import { pipeCritical, pipeLeast, pipeStages, pipeSummary, pipeSweep } from '../../static_js/pipeline-results.js';
import { pipeBlockAt, pipeFollow, pipeFragment, pipeFromFragment, pipeLetter, pipeRows, pipeWords } from '../../static_js/pipeline-view.js';

/** One producer, one consumer with a release lag of 0: small enough to be worked out by hand. */
function ring() {
  const knob = (/** @type {string} */ name, /** @type {number} */ value) => ({ name, value, min: 1, max: 64, label: name, unit: '', group: 'shape', about: name });
  return /** @type {import('../../static_js/pipeline-core.js').PipeProgram} */ ({
    id: 'ring', title: 'ring', schedule: 'ring', knobs: [knob('S', 2), knob('K', 4), knob('M', 5)], let: [],
    pipes: [{ name: 'ml', class: 'PipelineTmaAsync', stages: 'S', full: 1, empty: 1, title: 'mainloop' }],
    bars: [], named: [], engines: [{ name: 'tma', kind: 'tma', latency: 3 }, { name: 'tc', kind: 'tc' }],
    lanes: [
      { name: 'Producer', role: 'load', cta: 0, body: [
        { op: 'state', name: 'w', stages: 'S', phase: 1 },
        { op: 'loop', var: 'o', n: 1, body: [{ op: 'loop', var: 't', n: 'K', body: [
          { op: 'wait', bar: 'ml.empty', at: 'w', cause: 'pipe empty', line: 7, src: 'a.hpp' },
          { op: 'arrive', bar: 'ml.full', at: 'w', tx: 1 },
          { op: 'async', engine: 'tma', d: 2, bar: 'ml.full', at: 'w', label: 'TMA A' },
          { op: 'advance', state: 'w' },
        ] }] },
      ] },
      { name: 'Consumer', role: 'mma', cta: 0, body: [
        { op: 'state', name: 'r', stages: 'S' },
        { op: 'loop', var: 'o', n: 1, body: [{ op: 'loop', var: 't', n: 'K', body: [
          { op: 'wait', bar: 'ml.full', at: 'r', cause: 'pipe full' },
          { op: 'mma', d: 'M', reads: 'ml.full', at: 'r', label: 'MMA', kind: 'mma' },
          { op: 'wgwait', n: 0, cause: 'MMA retire' },
          { op: 'arrive', bar: 'ml.empty', at: 'r' },
          { op: 'advance', state: 'r' },
        ] }] },
      ] },
    ],
  });
}

test('a ring of two stages, by hand', () => {
  const run = pipeRun(ring());
  // Copies land at 5 and 7; the MMAs keep the tensor core busy from 5 on: four of 5.
  assert.equal(run.total, 25);
  const summary = pipeSummary(run, ring());
  assert.deepEqual([summary.fill, summary.drain, summary.busy, summary.period], [5, 0, 20, 5]);
  assert.deepEqual(pipeStages(run)[0].spans.map((s) => [s.state, s.start, s.end, s.step]), [
    ['filling', 0, 5, 0], ['consuming', 5, 10, 0], ['filling', 10, 15, 2], ['consuming', 15, 20, 2],
  ]);
  const path = pipeCritical(run);
  assert.equal(path[0].start, 0);
  assert.equal(path.at(-1)?.end, 25);
});

test('knobs are clamped and a program that names none is refused', () => {
  assert.equal(pipeKnobs(ring(), { S: 999 }).S, 64);
  assert.throws(() => pipeValue('X', {}), PipeError);
  assert.throws(() => pipeValue(['//', 1, 0], {}), PipeError);
  assert.throws(() => pipeExpand({ ...ring(), lanes: [{ name: 'A', role: '', cta: 0, body: [{ op: 'loop', var: 't', n: 1e9, body: [] }] }] }), PipeError);
});

test('a sweep finds the stages that suffice', () => {
  const swept = pipeSweep(ring(), { M: 2 }, 'S', [1, 2, 3, 4]);
  assert.ok(swept[0][1] !== null && swept[1][1] !== null && /** @type {number} */ (swept[0][1]) > /** @type {number} */ (swept[1][1]));
  assert.equal(pipeLeast([[1, null], [2, 200], [3, 101], [4, 100]]), 3);
});

test('one tile is followed from acquire to release', () => {
  const program = ring();
  const steps = pipeFollow(pipeRun(program), program, 0, 2);
  assert.deepEqual(steps.map((s) => [s.time, s.what]), [
    [10, 'acquired ml.empty'], [10, 'TMA A issued'], [15, 'TMA A landed'], [15, 'found full ml.full'], [15, 'MMA starts'], [20, 'MMA retires'],
    [20, 'released ml.empty'],
  ]);
  assert.equal(steps[0].line, 7);
  assert.ok(steps.every((s, i) => !i || steps[i - 1].time <= s.time));
});

test('rows: a lane a role, the tensor core, a stage a row; a wait says its cause', () => {
  const program = ring();
  const rows = pipeRows(pipeRun(program), program);
  assert.deepEqual(rows.map((row) => row.name), ['Producer', 'Consumer', 'tensor core', 'ml[0]', 'ml[1]']);
  assert.equal(rows[1].blocks[0].text, 'WAIT: pipe full');
  assert.equal(pipeBlockAt(rows[2], 6), 0);
  assert.equal(pipeBlockAt(rows[2], 2), -1);
  assert.equal(pipeLetter(1, 3), 'B3');
});

test('a deadlock is said, not drawn as an end', () => {
  const program = ring();
  program.lanes[1].body = [];
  const run = pipeRun(program);
  const summary = pipeSummary(run, program);
  assert.equal(summary.complete, false);
  assert.match(pipeWords(summary, {}), /does not end: Producer waits for ml\.empty\[0\].*nobody arrives there any more/);
});

test('knobs in the address come back; nonsense is told', () => {
  const programs = [ring(), { ...ring(), id: 'other' }];
  assert.equal(pipeFragment(programs, 1, { S: 3, K: 4 }), '1,S:3');
  assert.deepEqual(pipeFromFragment(programs, '1,S:3'), { chosen: 1, knobs: { S: 3 }, notes: [] });
  const bad = pipeFromFragment(programs, '9,S:999,Q:1,__proto__:2,<b>');
  assert.equal(bad.chosen, 0);
  assert.deepEqual(bad.knobs, { S: 64 });
  assert.equal(bad.notes.length, 3);
});

test('ticks are whole numbers and far enough apart', () => {
  for (const [span, room] of [[100, 1000], [5000, 800], [1, 900], [123456, 300]]) {
    const tick = pipeTick(span, room);
    assert.ok(Number.isInteger(tick) && tick >= 1 && (tick / span) * room >= (tick > 1 ? 55 : 0));
  }
});
