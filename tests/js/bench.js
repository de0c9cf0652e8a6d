// How long the page's pure parts take for a trace of a million steps: `node tests/js/bench.js [steps]`.

import { dataColumn } from '../../static_js/data.js';
import { traceIndex } from '../../static_js/trace-core.js';
import { waveBuild, waveKinds, waveSample, waveZoom } from '../../static_js/waveform-core.js';
import { paintRow, paintTables } from '../../static_js/waveform-paint.js';
import { busyTrace, packColumn } from './sample.js';

const steps = Number(process.argv[2] ?? 1_000_000);

/** @template T @param {string} name @param {() => T | Promise<T>} run @returns {Promise<T>} */
async function timed(name, run) {
  const start = performance.now();
  const value = await run();
  console.log(`${name.padEnd(44)} ${(performance.now() - start).toFixed(1).padStart(8)} ms`);
  return value;
}

const { trace, kinds } = busyTrace(steps);
const packed = await Promise.all(['round', 'warp', 'pc', 'mask', 'group'].map((name) => packColumn(/** @type {any} */ (trace)[name], name === 'round')));
console.log(`${trace.steps} steps, ${(packed.reduce((sum, one) => sum + one.d.length, 0) / 1e6).toFixed(2)} MB packed`);
await timed('decode five columns', () => Promise.all(packed.map((one) => dataColumn(one))));
const index = await timed('sort by warp', () => traceIndex(trace));
const { pyramid } = await timed('states and pyramid', () => waveBuild(trace, index, waveKinds(kinds)));

// A frame as the page draws it, without the browser's own part.
const [width, rows, height] = [1300, Math.min(24, trace.warps), 18];
const pixels = new Uint32Array(width * rows * height);
const colour = { css: '#000', rgba: 0xff000000 };
const tables = paintTables({ states: Array.from({ length: 7 }, () => colour), back: colour, line: colour, text: '', muted: '', accent: '', select: '', onState: '' }, height);
const states = new Uint8Array(width);
let view = { from: 0, perPixel: trace.rounds / width, width, rounds: trace.rounds };
const times = [];
for (let frame = 0; frame < 200; frame++) {
  view = waveZoom(view, frame % 40 < 20 ? 1.3 : 1 / 1.3, (frame * 37) % width);
  const start = performance.now();
  for (let row = 0; row < rows; row++) {
    waveSample(pyramid, row, view.from, view.perPixel, states);
    paintRow(pixels, width, 0, row * height, states, tables);
  }
  times.push(performance.now() - start);
}
times.sort((a, b) => a - b);
console.log(`draw of ${rows} rows: median ${times[100].toFixed(2)} ms, 95th percentile ${times[190].toFixed(2)} ms`);
