// Paints rows of the waveform. The form of a state's bar (height, stripes) tells it apart without colour.

import { WAVE_BARRIER, WAVE_DIVERGED, WAVE_FINISHED, WAVE_HAS_DIVERGED, WAVE_IDLE, WAVE_ISSUE, WAVE_LETTERS, WAVE_MEMORY, WAVE_STATE_BITS, waveSample } from './waveform-core.js';

/** @typedef {{css: string, rgba: number}} PaintColour */

/** @typedef {object} PaintPalette
 * @property {PaintColour[]} states by state number
 * @property {PaintColour} back
 * @property {PaintColour} line
 * @property {string} text
 * @property {string} muted
 * @property {string} accent
 * @property {string} select
 * @property {string} onState text on a state's colour
 */

/** #rgb or #rrggbb to the little-endian number that an ImageData holds. @param {string} hex */
export function paintRgba(hex) {
  const long = /^#[0-9a-f]{3}$/i.test(hex) ? hex.replace(/[0-9a-f]/gi, '$&$&') : hex;
  const value = Number.parseInt(long.slice(1, 7), 16) || 0;
  return (0xff000000 | ((value & 255) << 16) | (value & 0xff00) | (value >>> 16)) >>> 0;
}

/** The page's tokens as a palette. @param {Element} node @returns {PaintPalette} */
export function paintPalette(node) {
  const style = getComputedStyle(node);
  const get = (/** @type {string} */ name) => style.getPropertyValue(name).trim() || '#888888';
  const colour = (/** @type {string} */ name) => ({ css: get(name), rgba: paintRgba(get(name)) });
  const states = ['--panel', '--state-issue', '--state-memory', '--state-barrier', '--state-diverged', '--state-finished', '--state-waiting'];
  return { states: states.map(colour), back: colour('--panel'), line: colour('--border'), text: get('--fg'), muted: get('--muted'),
    accent: get('--accent'), select: get('--select-edge'), onState: get('--panel') };
}

/**
 * Which of a row's pixels a state fills, 0 to 1 from the top, and its stripes.
 * @type {Record<number, {top: number, bottom: number, stripe: 'none' | 'diagonal' | 'notch'}>}
 */
const PAINT_SHAPES = {
  [WAVE_ISSUE]: { top: 0.14, bottom: 0.86, stripe: 'none' },
  [WAVE_MEMORY]: { top: 0.14, bottom: 0.86, stripe: 'notch' },
  [WAVE_BARRIER]: { top: 0.44, bottom: 0.6, stripe: 'none' },
  [WAVE_DIVERGED]: { top: 0.3, bottom: 0.86, stripe: 'diagonal' },
  [WAVE_FINISHED]: { top: 0.8, bottom: 0.86, stripe: 'none' },
  [WAVE_IDLE]: { top: 0.62, bottom: 0.7, stripe: 'none' },
};

/**
 * Colour of a pixel of a cell's bar: table[cell * 4 + (x & 3)] for each y of a row. A cell that holds some
 * divergence beside its dominant state is underlined in its colour: a rare split must not vanish.
 * @param {PaintPalette} palette
 * @param {number} height pixels of a row
 * @returns {Uint32Array[]}
 */
export function paintTables(palette, height) {
  const back = palette.back.rgba;
  return Array.from({ length: height }, (_, y) => {
    const table = new Uint32Array(32 * 4).fill(back);
    const at = (y + 0.5) / height;
    const under = at > 0.88;
    for (const [name, shape] of Object.entries(PAINT_SHAPES)) {
      const state = Number(name);
      if (at < shape.top || at > shape.bottom) continue;
      for (let x = 0; x < 4; x++) {
        const gap = (shape.stripe === 'diagonal' && ((x + y) & 3) === 0) || (shape.stripe === 'notch' && at > 0.58 && at < 0.7);
        for (let bits = 0; bits < 32; bits += 8) table[(state | bits) * 4 + x] = gap ? back : palette.states[state].rgba;
      }
    }
    for (let cell = 0; under && cell < 32; cell++) {
      if ((cell & WAVE_HAS_DIVERGED) && (cell & WAVE_STATE_BITS) !== WAVE_DIVERGED) table.fill(palette.states[WAVE_DIVERGED].rgba, cell * 4, cell * 4 + 4);
    }
    return table;
  });
}

/**
 * Paints one row's states into pixels, each pixel column the dominant state of its rounds.
 * @param {Uint32Array} pixels of the whole image
 * @param {number} stride pixels of a line
 * @param {number} left
 * @param {number} top
 * @param {Uint8Array} states one a column
 * @param {Uint32Array[]} tables one a line of the row
 */
export function paintRow(pixels, stride, left, top, states, tables) {
  const width = states.length;
  for (let y = 0; y < tables.length; y++) {
    const table = tables[y];
    let at = (top + y) * stride + left;
    for (let x = 0; x < width; x++, at++) pixels[at] = table[(states[x] << 2) | (x & 3)];
  }
}

/**
 * Cuts between rounds, for zooms where a round is several pixels wide.
 * @param {Uint32Array} pixels
 * @param {number} stride
 * @param {number} left
 * @param {number} top
 * @param {number} height
 * @param {number[]} columns
 * @param {number} colour
 */
export function paintCuts(pixels, stride, left, top, height, columns, colour) {
  for (let y = top; y < top + height; y++) {
    for (const x of columns) pixels[y * stride + left + x] = colour;
  }
}

/**
 * The minimap: all rows squeezed into `height` lines.
 * @param {ImageData} image
 * @param {Array<{pyramid: import('./waveform-core.js').WaveLevels, row: number}>} rows
 * @param {number} rounds
 * @param {PaintPalette} palette
 */
export function paintMinimap(image, rows, rounds, palette) {
  const pixels = new Uint32Array(image.data.buffer);
  const { width, height } = image;
  pixels.fill(palette.back.rgba);
  const states = new Uint8Array(width);
  const lines = Math.min(rows.length, height);
  for (let i = 0; i < lines; i++) {
    const { pyramid, row } = rows[Math.floor((i * rows.length) / lines)];
    waveSample(pyramid, row, 0, rounds / width, states);
    const [top, bottom] = [Math.floor((i * height) / lines), Math.floor(((i + 1) * height) / lines)];
    for (let y = top; y < Math.max(top + 1, bottom - (bottom - top > 3 ? 1 : 0)); y++) {
      const at = y * width;
      for (let x = 0; x < width; x++) if (states[x] & WAVE_STATE_BITS) pixels[at + x] = palette.states[states[x] & WAVE_STATE_BITS].rgba;
    }
  }
}

/**
 * Letters or opcodes on the events of a row.
 * @param {CanvasRenderingContext2D} context
 * @param {import('./waveform-core.js').WaveTrace} trace
 * @param {import('./waveform-core.js').WaveIndex} index
 * @param {string[]} opcodes
 * @param {Uint8Array} states by step
 * @param {number} warp
 * @param {{from: number, perPixel: number, left: number, top: number, height: number, width: number}} place in CSS pixels
 * @param {PaintPalette} palette
 */
export function paintLabels(context, trace, index, opcodes, states, warp, place, palette) {
  const cell = 1 / place.perPixel;
  const end = place.from + place.width * place.perPixel;
  const wide = cell >= 46;
  const letters = Math.floor((cell - 6) / 6.1);
  let low = index.start[warp];
  let high = index.start[warp + 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (trace.round[index.steps[middle]] < Math.floor(place.from)) low = middle + 1;
    else high = middle;
  }
  for (let i = low; i < index.start[warp + 1]; i++) {
    const step = index.steps[i];
    const round = trace.round[step];
    if (round > end) return;
    const x = place.left + (round - place.from) * cell;
    const text = wide ? opcodes[trace.pc[step]].slice(0, letters) : WAVE_LETTERS[states[step]];
    if (x + 2 < place.left || !text) continue;
    if (states[step] !== WAVE_ISSUE) {
      // Stripes would run through the letters.
      context.fillStyle = palette.states[states[step]].css;
      context.fillRect(x + (wide ? 2 : cell / 2 - 5), place.top + 3, wide ? Math.min(cell - 4, text.length * 6.7 + 4) : 10, place.height - 6);
    }
    context.fillStyle = palette.onState;
    context.fillText(text, x + (wide ? 4 : cell / 2 - 3), place.top + place.height * 0.5 + 4);
  }
}
