import assert from 'node:assert/strict';
import { test } from 'node:test';
import { traceIndex } from '../../static_js/trace-core.js';
import {
  WAVE_BARRIER, WAVE_DIVERGED, WAVE_FINISHED, WAVE_HAS_DIVERGED, WAVE_IDLE, WAVE_ISSUE, WAVE_MEMORY, WAVE_NONE, WAVE_STATE_BITS,
  waveBuild, waveClamp, waveCounts, waveEdge, waveFillRow, waveKinds, waveLevels, waveReveal, waveSample, waveStepAt, waveTicks, waveTies, waveZoom,
} from '../../static_js/waveform-core.js';
import { paintRgba, paintRow, paintTables } from '../../static_js/waveform-paint.js';
import { busyTrace, codeOf, diamond, randomFrom, traceOf } from './sample.js';

/** @param {import('../../static_js/data.js').WgTrace} trace @param {string[]} kinds */
async function built(trace, kinds) {
  const index = traceIndex(trace);
  return { index, ...(await waveBuild(trace, index, waveKinds(kinds))) };
}

test('states of a split warp and of one that waits at a barrier', async () => {
  const { trace, code } = diamond();
  const { pyramid, states } = await built(trace, code.instructions.kind);
  const row = (/** @type {number} */ warp) => [...pyramid.levels[0].subarray(warp * 6, warp * 6 + 6)];
  assert.deepEqual(row(0), [WAVE_MEMORY, WAVE_ISSUE, WAVE_DIVERGED, WAVE_DIVERGED, WAVE_ISSUE, WAVE_ISSUE]);
  assert.deepEqual(row(1), [WAVE_MEMORY, WAVE_ISSUE, WAVE_ISSUE, WAVE_BARRIER, WAVE_BARRIER, WAVE_ISSUE]);
  assert.equal(states[6], WAVE_DIVERGED);
});

test('lanes that left are no divergence; ends are finished, cut, or still waiting', async () => {
  const kinds = codeOf(['alu', 'exit', 'barrier']).instructions.kind;
  const early = await built(traceOf([[0, 0, 1, 0xffffffff, 0xff], [1, 0, 0, 0xffffff00], [2, 0, 1, 0xffffff00], [5, 1, 1, 0xffffffff]], 2), kinds);
  assert.deepEqual([...early.pyramid.levels[0].subarray(0, 6)], [WAVE_ISSUE, WAVE_ISSUE, WAVE_ISSUE, WAVE_FINISHED, WAVE_FINISHED, WAVE_FINISHED]);
  assert.deepEqual([...early.pyramid.levels[0].subarray(6, 12)], [WAVE_IDLE, WAVE_IDLE, WAVE_IDLE, WAVE_IDLE, WAVE_IDLE, WAVE_ISSUE]);
  const rows = [[0, 0, 0, 0xffffffff], [0, 1, 0, 0xffffffff], [3, 1, 0, 0xffffffff]];
  assert.equal((await built(traceOf(rows, 2, 64, true), kinds)).pyramid.levels[0][2], WAVE_NONE);
  const stuck = await built(traceOf([[0, 0, 2, 0xffffffff], [3, 1, 1, 0xffffffff]], 2), kinds);
  assert.deepEqual([...stuck.pyramid.levels[0].subarray(0, 4)], [WAVE_ISSUE, WAVE_BARRIER, WAVE_BARRIER, WAVE_BARRIER]);
});

test('coarser levels are dominant by true counts and keep a sign of rare divergence', () => {
  const random = randomFrom(9);
  for (const rounds of [1, 2, 3, 7, 64, 100]) {
    const pyramid = waveLevels(2, rounds);
    for (let i = 0; i < rounds * 2; i++) pyramid.levels[0][i] = 1 + Math.floor(random() * 6);
    waveFillRow(pyramid, 0);
    waveFillRow(pyramid, 1);
    for (let level = 1; level < pyramid.levels.length; level++) {
      for (let row = 0; row < 2; row++) {
        for (let cell = 0; cell < pyramid.cells[level]; cell++) {
          const mine = [...pyramid.levels[0].subarray(row * rounds, (row + 1) * rounds)].slice(cell * 2 ** level, (cell + 1) * 2 ** level);
          const got = pyramid.levels[level][row * pyramid.cells[level] + cell];
          const count = (/** @type {number} */ state) => mine.filter((one) => one === state).length;
          assert.equal(count(got & WAVE_STATE_BITS), Math.max(...[1, 2, 3, 4, 5, 6].map(count)));
          assert.equal(Boolean(got & WAVE_HAS_DIVERGED), mine.includes(WAVE_DIVERGED));
        }
      }
    }
  }
});

test('a trace too long for one cell a round starts coarser', () => {
  const pyramid = waveLevels(64, 2_000_000);
  assert.ok(pyramid.shift > 0);
  assert.ok(pyramid.levels[0].length <= 1 << 25);
  assert.equal(pyramid.cells.at(-1), 1);
});

test('samples skip no round and stop at the end', async () => {
  const { trace, kinds } = busyTrace(3200, 4);
  const { pyramid } = await built(trace, kinds);
  const out = new Uint8Array(100);
  waveSample(pyramid, 0, 0, pyramid.rounds / 50, out);
  assert.ok(out.subarray(0, 49).every((cell) => cell !== WAVE_NONE));
  assert.ok(out.subarray(51).every((cell) => cell === WAVE_NONE));
  const fine = new Uint8Array(40);
  waveSample(pyramid, 1, 2, 0.1, fine);
  assert.deepEqual([...new Set(fine.subarray(0, 10))], [pyramid.levels[0][pyramid.cells[0] + 2]]);
  const counts = waveCounts(pyramid, 0, 0, pyramid.rounds);
  assert.equal(counts.reduce((sum, one) => sum + one, 0), pyramid.rounds);
  assert.equal(waveCounts(pyramid, 0, 10, 12).reduce((sum, one) => sum + one, 0), 2);
});

test('edges, steps at a round', async () => {
  const { trace, code } = diamond();
  const { pyramid, index } = await built(trace, code.instructions.kind);
  assert.equal(waveEdge(pyramid, 1, 0, 1), 1);
  assert.equal(waveEdge(pyramid, 1, 2, 1), 3);
  assert.equal(waveEdge(pyramid, 1, 5, 1), -1);
  assert.equal(waveEdge(pyramid, 1, 5, -1), 3);
  assert.equal(waveEdge(pyramid, 1, 3, -1), 1);
  assert.equal(waveEdge(pyramid, 1, 0, -1), -1);
  assert.equal(waveStepAt(trace, index, 1, 3), 9);
  assert.equal(waveStepAt(trace, index, 1, 6), -1);
});

test('the view stays inside its rounds; zoom keeps the round under the pointer; ticks are round', () => {
  const all = { from: 0, perPixel: 10, width: 100, rounds: 1000 };
  assert.deepEqual(waveClamp({ ...all, from: -50 }), all);
  assert.deepEqual(waveClamp({ ...all, perPixel: 99 }), all);
  const near = waveZoom(all, 4, 25);
  assert.ok(Math.abs(near.from + 25 * near.perPixel - 250) < 1e-9);
  assert.equal(near.perPixel, 2.5);
  assert.equal(waveZoom(near, 1e9, 0).perPixel, 1 / 160);
  assert.deepEqual(waveZoom(near, 1e-9, 0), all);
  const moved = waveReveal(near, 900);
  assert.ok(moved.from <= 900 && moved.from + 250 >= 901);
  assert.equal(waveReveal(near, near.from + 3), near);
  assert.deepEqual(waveTicks(all, 20), [0, 200, 400, 600, 800, 1000]);
  const random = randomFrom(1);
  for (let i = 0; i < 500; i++) {
    const view = waveClamp({ from: random() * 3000 - 1000, perPixel: random() * 40, width: 1 + Math.floor(random() * 2000), rounds: 1 + Math.floor(random() * 5000) });
    assert.ok(view.from >= 0 && view.from + view.perPixel * view.width <= view.rounds + 1e-6);
  }
});

test('barriers tie those who arrived since the last release', () => {
  const rows = [[0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 2], [2, 0, 1, 0], [3, 0, 0, 0], [4, 1, 0, 1], [4, 1, 0, 2], [4, 0, 0, 2]];
  const column = (/** @type {number} */ at) => Uint32Array.from(rows, (row) => row[at]);
  const ties = waveTies({ step: column(0), round: column(0), warp: column(1), barrier: column(2), kind: column(3) });
  assert.deepEqual(ties.map((tie) => [tie.barrier, tie.round, tie.arrivals.map((one) => one.warp)]), [[0, 1, [0, 1]], [0, 4, [0, 1]]]);
});

test('each state is drawn in a form of its own', () => {
  assert.equal(paintRgba('#102030'), 0xff302010);
  assert.equal(paintRgba('#abc'), 0xffccbbaa);
  const ink = { css: '#fff', rgba: 0xffffffff };
  const back = { css: '#000', rgba: 0xff000000 };
  const tables = paintTables({ states: [back, ink, ink, ink, ink, ink, ink], back, line: ink, text: '', muted: '', accent: '', select: '', onState: '' }, 18);
  const forms = [WAVE_ISSUE, WAVE_MEMORY, WAVE_BARRIER, WAVE_DIVERGED, WAVE_FINISHED, WAVE_IDLE].map((state) => {
    const pixels = new Uint32Array(8 * 18);
    paintRow(pixels, 8, 0, 0, new Uint8Array(8).fill(state), tables);
    return pixels.join();
  });
  assert.equal(new Set(forms).size, forms.length, 'one colour, six forms');
  const marked = new Uint32Array(8 * 18);
  paintRow(marked, 8, 0, 0, new Uint8Array(8).fill(WAVE_ISSUE | WAVE_HAS_DIVERGED), tables);
  assert.ok(!forms.includes(marked.join()), 'hidden divergence is underlined');
});

test('traces without steps or warps draw nothing and do not fail', async () => {
  const { pyramid } = await built(traceOf([], 0), []);
  assert.equal(pyramid.levels.length, 1);
  const { pyramid: empty } = await built(traceOf([], 2), ['exit']);
  const out = new Uint8Array(4);
  waveSample(empty, 1, 0, 1, out);
  assert.deepEqual([...out], [0, 0, 0, 0]);
});
