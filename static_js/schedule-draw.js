// The picture of the waveform: rows, barriers, markers, minimap, on canvases the size of the viewport.

import { domCount, el } from './dom.js';
import { waveClamp, waveSample, waveStepAt, waveTicks } from './waveform-core.js';
import { paintCuts, paintLabels, paintMinimap, paintRow, paintTables } from './waveform-paint.js';

/**
 * @typedef {import('./app.js').LoadedTrace} WaveLoaded
 * @typedef {{loaded: WaveLoaded, pyramid: import('./waveform-core.js').WaveLevels, states: Uint8Array, ties: import('./waveform-core.js').WaveTie[]}} WaveBlock
 * @typedef {{block: number, warp: number, pinned: boolean}} WaveRowRef `block` indexes the drawn blocks; warp -1 is a block's heading
 */

export const WAVE_ROW = 18;
export const WAVE_LABEL = 64;
export const WAVE_RULER = 22;
const WAVE_MAP = 44;
/** Room for the 32 warps of a full block and its heading. */
const WAVE_MAX_HEIGHT = 620;

export class WavePicture {
  /** @param {import('./app.js').App} app */
  constructor(app) {
    this.app = app;
    /** @type {WaveBlock[]} */
    this.blocks = [];
    /** @type {WaveRowRef[]} */
    this.rows = [];
    /** @type {Set<string>} */
    this.pins = new Set();
    /** @type {import('./waveform-core.js').WaveView} */
    this.view = { from: 0, perPixel: 1, width: 1, rounds: 1 };
    this.scroll = 0;
    this.height = WAVE_RULER;
    this.ratio = 1;
    this.mapDirty = true;
    this.fitted = true;
    /** @type {import('./waveform-paint.js').PaintPalette | null} */
    this.palette = null;
    /** @type {ImageData | undefined} */
    this.image = undefined;
    /** @type {ImageData | undefined} */
    this.mapImage = undefined;
    /** @type {{palette: any, height: number, lines: Uint32Array[]} | undefined} */
    this.tables = undefined;
    /** @type {Uint8Array | null} instructions that the search found */
    this.matches = null;
    this.canvas = /** @type {HTMLCanvasElement} */ (el('canvas', { class: 'wave-canvas', 'aria-hidden': 'true' }));
    this.map = /** @type {HTMLCanvasElement} */ (el('canvas', { class: 'wave-map', 'aria-hidden': 'true' }));
  }

  selected() {
    const { block, warp, step } = this.app.store.get();
    const b = this.blocks.findIndex((one) => one.loaded.trace.index === block);
    return b < 0 || step >= this.blocks[b].loaded.trace.steps ? null : { b, warp, step, round: this.blocks[b].loaded.trace.round[step] };
  }

  /** Pinned rows keep their place; the others scroll beneath them. */
  pinnedCount() {
    return this.rows.filter((row) => row.pinned).length;
  }

  layout() {
    /** @type {WaveRowRef[]} */
    const pinned = [];
    /** @type {WaveRowRef[]} */
    const rest = [];
    this.blocks.forEach((block, b) => {
      if (this.blocks.length > 1) rest.push({ block: b, warp: -1, pinned: false });
      for (let warp = 0; warp < block.loaded.trace.warps; warp++) {
        const isPinned = this.pins.has(`${block.loaded.trace.index}:${warp}`);
        (isPinned ? pinned : rest).push({ block: b, warp, pinned: isPinned });
      }
    });
    this.rows = [...pinned, ...rest];
  }

  visibleRows() {
    return Math.max(1, Math.floor((this.height - WAVE_RULER) / WAVE_ROW));
  }

  /** Fits canvases and view to a width in CSS pixels. @param {number} available */
  fitTo(available) {
    const width = Math.max(120, available);
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    this.height = Math.min(WAVE_MAX_HEIGHT, WAVE_RULER + Math.max(1, this.rows.length) * WAVE_ROW + 2);
    this.ratio = ratio;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(this.height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(this.height * ratio);
      this.canvas.style.height = `${this.height}px`;
      this.map.width = Math.round(width * ratio);
      this.map.height = Math.round(WAVE_MAP * ratio);
      this.map.style.height = `${WAVE_MAP}px`;
      this.image = undefined;
      this.mapDirty = true;
    }
    const drawn = Math.max(1, width - WAVE_LABEL);
    const shown = this.view.perPixel * this.view.width;
    this.view = this.fitted ? { from: 0, rounds: this.view.rounds, width: drawn, perPixel: this.view.rounds / drawn }
      : waveClamp({ ...this.view, width: drawn, perPixel: shown / drawn });
  }

  paint() {
    const context = this.canvas.getContext('2d', { alpha: false });
    const { palette } = this;
    const ratio = this.ratio;
    if (!context || !palette || !this.canvas.width) return;
    if (!this.image || this.image.width !== this.canvas.width || this.image.height !== this.canvas.height) {
      this.image = context.createImageData(this.canvas.width, this.canvas.height);
    }
    const pixels = new Uint32Array(this.image.data.buffer);
    pixels.fill(palette.back.rgba);
    const left = Math.round(WAVE_LABEL * ratio);
    const states = new Uint8Array(this.canvas.width - left);
    const rowHeight = Math.round(WAVE_ROW * ratio);
    if (this.tables?.palette !== palette || this.tables.height !== rowHeight) {
      this.tables = { palette, height: rowHeight, lines: paintTables(palette, rowHeight) };
    }
    const perDevice = this.view.perPixel / ratio;
    const cuts = this.cuts(perDevice, states.length);
    const shown = this.shownRows();
    for (const { row, y } of shown) {
      if (row.warp < 0) continue;
      const top = Math.round(y * ratio);
      if (top + rowHeight > this.canvas.height) continue;
      waveSample(this.blocks[row.block].pyramid, row.warp, this.view.from, perDevice, states);
      paintRow(pixels, this.canvas.width, left, top, states, this.tables.lines);
      if (cuts.length) paintCuts(pixels, this.canvas.width, left, top + 1, rowHeight - 2, cuts, palette.back.rgba);
    }
    context.putImageData(this.image, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = '11px ui-monospace, monospace';
    this.overlay(context, shown);
    this.minimap();
  }

  /** Device columns at which a round ends, where rounds are wide enough to be told apart. @param {number} perDevice @param {number} width */
  cuts(perDevice, width) {
    /** @type {number[]} */
    const columns = [];
    if (perDevice > 1 / 5) return columns;
    const end = this.view.from + width * perDevice;
    for (let round = Math.ceil(this.view.from); round <= end; round++) {
      const x = Math.round((round - this.view.from) / perDevice) - 1;
      if (x >= 0 && x < width) columns.push(x);
    }
    return columns;
  }

  shownRows() {
    const pinned = this.pinnedCount();
    const room = this.visibleRows();
    const from = Math.min(this.scroll, Math.max(0, this.rows.length - room));
    const order = [...this.rows.slice(0, pinned), ...this.rows.slice(pinned + from, from + room)];
    return order.slice(0, room).map((row, i) => ({ row, y: WAVE_RULER + i * WAVE_ROW }));
  }

  /** @param {CanvasRenderingContext2D} context @param {Array<{row: WaveRowRef, y: number}>} shown */
  overlay(context, shown) {
    const { palette, view } = this;
    const run = this.app.run();
    if (!palette || !run) return;
    const { width } = view;
    const x = (/** @type {number} */ round) => WAVE_LABEL + (round - view.from) / view.perPixel;
    const now = this.selected();
    context.fillStyle = palette.muted;
    for (const tick of waveTicks(view, 76)) {
      context.fillRect(x(tick), WAVE_RULER - 5, 1, 5);
      // A number that would be cut at the edge says something else: leave it out.
      const said = domCount(tick);
      if (x(tick) + 4 + said.length * 7 <= WAVE_LABEL + width) context.fillText(said, x(tick) + 3, 12);
    }
    for (const { row, y } of shown) {
      const chosen = now && row.block === now.b && row.warp === now.warp;
      context.fillStyle = chosen ? palette.accent : row.warp < 0 ? palette.text : palette.muted;
      const label = row.warp < 0 ? `block ${this.blocks[row.block].loaded.trace.block.join(',')}` : `${chosen ? '▸' : ' '}${row.pinned ? '◆' : ' '}w${row.warp}`;
      context.fillText(label, 6, y + 13);
      if (row.warp < 0) continue;
      if (1 / view.perPixel >= 13) {
        const { loaded, states } = this.blocks[row.block];
        paintLabels(context, loaded.trace, loaded.index, run.code.instructions.opcode, states, row.warp,
          { from: view.from, perPixel: view.perPixel, left: WAVE_LABEL, top: y, height: WAVE_ROW, width }, palette);
      }
      if (this.matches) this.overlayMatches(context, row, y);
    }
    this.overlayTies(context, shown, x);
    const bottom = WAVE_RULER + shown.length * WAVE_ROW;
    const range = this.app.store.get().range;
    if (range) {
      context.fillStyle = palette.select;
      range.forEach((round, i) => {
        if (x(round) < WAVE_LABEL || x(round) > WAVE_LABEL + width) return;
        context.fillRect(x(round), WAVE_RULER - 8, 1.5, bottom);
        context.fillText(i ? 'B' : 'A', x(round) + 3, WAVE_RULER - 1);
      });
    }
    if (now && x(now.round) >= WAVE_LABEL - 1) {
      const at = shown.find(({ row }) => row.block === now.b && row.warp === now.warp);
      context.strokeStyle = palette.text;
      context.lineWidth = 1;
      context.globalAlpha = 0.55;
      context.strokeRect(x(now.round + 0.5), WAVE_RULER - 4, 0.01, bottom);
      context.globalAlpha = 1;
      context.lineWidth = 2;
      if (at) context.strokeRect(x(now.round) - 1, at.y + 1, Math.max(4, 1 / view.perPixel), WAVE_ROW - 2);
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {WaveRowRef} row @param {number} y */
  overlayMatches(context, row, y) {
    const { loaded } = this.blocks[row.block];
    const { trace, index } = loaded;
    const { view, palette, matches } = this;
    if (!matches || !palette) return;
    context.fillStyle = palette.select;
    const end = view.from + view.perPixel * view.width;
    let drawn = -2;
    // One mark a pixel: jump to the first step of the next pixel after each.
    for (let step = waveStepAt(trace, index, row.warp, Math.floor(view.from)); step >= 0 && trace.round[step] < end;) {
      const x = Math.floor((trace.round[step] - view.from) / view.perPixel);
      if (matches[trace.pc[step]] && x > drawn) {
        drawn = x;
        context.fillRect(WAVE_LABEL + Math.max(0, x), y + WAVE_ROW - 3, Math.max(1.5, 1 / view.perPixel - 1), 2);
        if (view.perPixel > 1) {
          step = waveStepAt(trace, index, row.warp, Math.ceil(view.from + (x + 1) * view.perPixel));
          continue;
        }
      }
      const next = index.start[row.warp] + index.position[step] + 1;
      step = next < index.start[row.warp + 1] ? index.steps[next] : -1;
      if (view.perPixel > 64) break;
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {Array<{row: WaveRowRef, y: number}>} shown @param {(round: number) => number} x */
  overlayTies(context, shown, x) {
    const { palette, view } = this;
    if (!palette) return;
    context.strokeStyle = palette.states[3].css;
    context.fillStyle = palette.states[3].css;
    context.lineWidth = 1 / view.perPixel > 3 ? 2 : 1;
    const end = view.from + view.perPixel * view.width;
    this.blocks.forEach((block, b) => {
      const ys = new Map(shown.filter(({ row }) => row.block === b && row.warp >= 0).map(({ row, y }) => [row.warp, y]));
      let last = -Infinity;
      for (const tie of block.ties) {
        const at = x(tie.round);
        if (tie.round < view.from || tie.round > end || at - last < 4) continue;
        last = at;
        const mine = tie.arrivals.map(({ warp }) => ys.get(warp)).filter((y) => y !== undefined);
        if (!mine.length) continue;
        const [top, bottom] = [Math.min(...mine), Math.max(...mine) + WAVE_ROW];
        context.strokeRect(at, top, 0.01, bottom - top);
        if (1 / view.perPixel > 6) for (const y of mine) context.fillRect(at - 2, y + WAVE_ROW / 2 - 2, 4, 4);
      }
    });
  }

  minimap() {
    const context = this.map.getContext('2d');
    const { palette, view } = this;
    if (!context || !palette || !this.map.width) return;
    if (this.mapDirty || !this.mapImage) {
      this.mapImage = context.createImageData(this.map.width, this.map.height);
      const rows = this.blocks.flatMap((block) => Array.from({ length: block.loaded.trace.warps }, (_, row) => ({ pyramid: block.pyramid, row })));
      paintMinimap(this.mapImage, rows, view.rounds, palette);
      this.mapDirty = false;
    }
    context.putImageData(this.mapImage, 0, 0);
    const scale = this.map.width / view.rounds;
    context.strokeStyle = palette.accent;
    context.lineWidth = 2 * (this.ratio);
    context.strokeRect(view.from * scale + 1, 1, Math.max(3, view.perPixel * view.width * scale - 2), this.map.height - 2);
  }
}
