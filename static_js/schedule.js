// The waveform: a row a warp, blocks grouped, drawn on a canvas the size of the viewport.

import { domAnnounce, domButton, domCount, domReplace, el } from './dom.js';
import { paintCuts, paintLabels, paintMinimap, paintPalette, paintRow, paintTables } from './waveform-paint.js';
import { ScheduleTable } from './schedule-table.js';
import { WAVE_NAMES, waveBuild, waveClamp, waveEdge, waveReveal, waveSample, waveStepAt, waveTicks, waveTies, waveZoom } from './waveform-core.js';

/**
 * @typedef {import('./app.js').LoadedTrace} WaveLoaded
 * @typedef {{loaded: WaveLoaded, pyramid: import('./waveform-core.js').WaveLevels, states: Uint8Array, ties: import('./waveform-core.js').WaveTie[]}} WaveBlock
 * @typedef {{block: number, warp: number, pinned: boolean}} WaveRowRef `block` indexes the drawn blocks; warp -1 is a block's heading
 */

const WAVE_ROW = 18;
const WAVE_LABEL = 64;
const WAVE_RULER = 22;
const WAVE_MAP = 44;
const WAVE_MAX_HEIGHT = 460;

class Waveform {
  /** @param {HTMLElement} host @param {import('./app.js').App} app */
  constructor(host, app) {
    this.host = host;
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
    this.frame = 0;
    this.height = WAVE_RULER;
    this.ratio = 1;
    this.mapDirty = true;
    /** @type {ImageData | undefined} */
    this.image = undefined;
    /** @type {ImageData | undefined} */
    this.mapImage = undefined;
    /** @type {{palette: any, height: number, lines: Uint32Array[]} | undefined} */
    this.tables = undefined;
    this.fitted = true;
    /** @type {Uint8Array | null} instructions that the search found */
    this.matches = null;
    /** Milliseconds of each draw, for the benchmark. @type {number[]} */
    this.times = [];
    this.canvas = /** @type {HTMLCanvasElement} */ (el('canvas', { class: 'wave-canvas', 'aria-hidden': 'true' }));
    this.map = /** @type {HTMLCanvasElement} */ (el('canvas', { class: 'wave-map', 'aria-hidden': 'true' }));
    this.area = el('div', { class: 'wave-area', tabindex: 0, role: 'application', 'aria-roledescription': 'waveform',
      'aria-label': 'Waveform: arrow keys choose step and warp, plus and minus zoom; the table below holds the same',
      'aria-describedby': 'wave-now' }, this.canvas);
    this.now = el('p', { class: 'wave-now', id: 'wave-now' });
    this.search = /** @type {HTMLInputElement} */ (el('input', { type: 'search', id: 'wg-search', class: 'wave-search', placeholder: 'opcode or :line', 'aria-label': 'Search opcodes, or :line' }));
    this.found = el('span', { class: 'muted', role: 'status' });
    this.table = new ScheduleTable();
    this.build();
  }

  build() {
    const tools = el('div', { class: 'tools' },
      domButton('zoom-in', 'Zoom in', '+'), domButton('zoom-out', 'Zoom out', '−'), domButton('zoom-fit', 'Show all', 'fit'),
      domButton('pan-left', 'Pan to earlier rounds', '←'), domButton('pan-right', 'Pan to later rounds', '→'),
      domButton('edge-previous', 'Previous change of the warp’s state', '|←'), domButton('edge-next', 'Next change of the warp’s state', '→|'),
      domButton('marker-a', 'Put marker A at the step', 'A'), domButton('marker-b', 'Put marker B at the step', 'B'), domButton('pin', 'Pin the warp’s row, or let it go', 'pin'),
      el('span', { class: 'tool-gap' }), this.search, domButton('search', 'Search opcodes or a line', 'Search'),
      domButton('match-previous', 'Previous match', '‹'), domButton('match-next', 'Next match', '›'), this.found);
    const legend = el('ul', { class: 'wave-legend' }, ...[1, 2, 4, 3, 6, 5].map((state) =>
      el('li', {}, el('i', { class: `key key-${state}`, 'aria-hidden': 'true' }), WAVE_NAMES[state])));
    domReplace(this.host, tools, legend, this.area, this.map, this.now, this.table.node);
    this.palette = paintPalette(this.host);
    new ResizeObserver(() => this.resize()).observe(this.area);
    document.addEventListener('wg-theme', () => {
      this.palette = paintPalette(this.host);
      this.mapDirty = true;
      this.draw();
    });
    this.pointer();
    this.actions();
  }

  actions() {
    const { app } = this;
    const centre = () => {
      const at = this.selectedRound();
      const x = at === null ? -1 : (at - this.view.from) / this.view.perPixel;
      return x >= 0 && x <= this.view.width ? x : this.view.width / 2;
    };
    app.on('zoom-in', () => this.zoom(2, centre()));
    app.on('zoom-out', () => this.zoom(0.5, centre()));
    app.on('zoom-fit', () => this.fit());
    app.on('pan-left', () => this.pan(-0.25));
    app.on('pan-right', () => this.pan(0.25));
    app.on('edge-next', () => this.edge(1));
    app.on('edge-previous', () => this.edge(-1));
    app.on('marker-a', () => this.marker(0));
    app.on('marker-b', () => this.marker(1));
    app.on('pin', () => this.pin(app.store.get().block, app.store.get().warp));
    app.on('search', () => {
      if (document.activeElement === this.search || !this.search.value) this.search.focus();
      this.searchFor(this.search.value);
    });
    app.on('match-next', () => this.match(1));
    app.on('match-previous', () => this.match(-1));
    this.search.addEventListener('input', () => this.searchFor(this.search.value));
    this.search.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') this.match(event.shiftKey ? -1 : 1);
      if (event.key === 'Escape') this.area.focus();
    });
    this.area.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const action = { ArrowRight: 'next', ArrowLeft: 'previous', ArrowDown: 'warp-next', ArrowUp: 'warp-previous', Home: 'first', End: 'last' }[event.key];
      if (!action) return;
      event.preventDefault();
      app.perform(action);
    });
  }

  pointer() {
    /** @type {{x: number, from: number, moved: boolean} | null} */
    let drag = null;
    this.area.addEventListener('wheel', (event) => {
      const { x } = this.at(event);
      if (event.ctrlKey || event.metaKey || event.altKey || document.activeElement === this.area) {
        event.preventDefault();
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.panPixels(event.deltaX || event.deltaY);
        else this.zoom(2 ** (-event.deltaY / 240), x);
      } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        this.panPixels(event.deltaX);
      }
    }, { passive: false });
    this.area.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      drag = { x: event.clientX, from: this.view.from, moved: false };
      this.area.setPointerCapture(event.pointerId);
    });
    this.area.addEventListener('pointermove', (event) => {
      if (!drag) return;
      if (Math.abs(event.clientX - drag.x) > 3) drag.moved = true;
      if (!drag.moved) return;
      this.fitted = false;
      this.view = waveClamp({ ...this.view, from: drag.from - (event.clientX - drag.x) * this.view.perPixel });
      this.draw();
    });
    this.area.addEventListener('pointerup', (event) => {
      if (drag && !drag.moved) this.click(event);
      drag = null;
    });
    const seek = (/** @type {PointerEvent} */ event) => {
      const box = this.map.getBoundingClientRect();
      const round = ((event.clientX - box.left) / box.width) * this.view.rounds;
      this.fitted = false;
      this.view = waveClamp({ ...this.view, from: round - (this.view.perPixel * this.view.width) / 2 });
      this.draw();
    };
    this.map.addEventListener('pointerdown', (event) => {
      this.map.setPointerCapture(event.pointerId);
      seek(event);
    });
    this.map.addEventListener('pointermove', (event) => {
      if (event.buttons & 1) seek(event);
    });
  }

  /** @param {{clientX: number, clientY: number}} event x from the first round's pixel, y from the first row */
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left - WAVE_LABEL, y: event.clientY - box.top };
  }

  /** @param {PointerEvent} event */
  click(event) {
    const { x, y } = this.at(event);
    const row = this.rows[this.rowAt(y)];
    if (!row || row.warp < 0) return;
    const { loaded } = this.blocks[row.block];
    if (x < 0) {
      this.pin(loaded.trace.index, row.warp);
      return;
    }
    const round = this.view.from + x * this.view.perPixel;
    const step = this.nearest(loaded, row.warp, round);
    if (event.shiftKey) {
      this.setRange(Math.round(round), 1);
      return;
    }
    if (step >= 0) this.app.store.set({ block: loaded.trace.index, warp: row.warp, step });
  }

  /** @param {WaveLoaded} loaded @param {number} warp @param {number} round */
  nearest(loaded, warp, round) {
    const { trace, index } = loaded;
    const after = waveStepAt(trace, index, warp, Math.floor(round));
    const last = index.start[warp + 1] > index.start[warp] ? index.steps[index.start[warp + 1] - 1] : -1;
    const before = after < 0 ? last : index.position[after] ? index.steps[index.start[warp] + index.position[after] - 1] : -1;
    if (after < 0 || before < 0) return Math.max(after, before);
    return trace.round[after] - round <= round - trace.round[before] ? after : before;
  }

  /** Pinned rows keep their place; the others scroll beneath them. */
  pinnedCount() {
    return this.rows.filter((row) => row.pinned).length;
  }

  /** @param {number} y */
  rowAt(y) {
    const pinned = this.pinnedCount();
    const i = Math.floor((y - WAVE_RULER) / WAVE_ROW);
    if (y < WAVE_RULER) return -1;
    return i < pinned ? i : i + this.scroll;
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

  resize() {
    const width = Math.max(120, this.area.clientWidth);
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
    this.draw();
  }

  fit() {
    this.fitted = true;
    this.view = { ...this.view, from: 0, perPixel: this.view.rounds / this.view.width };
    this.draw();
  }

  /** @param {number} factor @param {number} x */
  zoom(factor, x) {
    this.fitted = false;
    this.view = waveZoom(this.view, factor, x);
    this.draw();
  }

  /** @param {number} share of the window */
  pan(share) {
    this.panPixels(share * this.view.width);
  }

  /** @param {number} pixels */
  panPixels(pixels) {
    this.fitted = false;
    this.view = waveClamp({ ...this.view, from: this.view.from + pixels * this.view.perPixel });
    this.draw();
  }

  selected() {
    const { block, warp, step } = this.app.store.get();
    const b = this.blocks.findIndex((one) => one.loaded.trace.index === block);
    return b < 0 || step >= this.blocks[b].loaded.trace.steps ? null : { b, warp, step, round: this.blocks[b].loaded.trace.round[step] };
  }

  selectedRound() {
    return this.selected()?.round ?? null;
  }

  /** @param {1 | -1} direction */
  edge(direction) {
    const now = this.selected();
    if (!now) return;
    const { loaded, pyramid } = this.blocks[now.b];
    const round = waveEdge(pyramid, now.warp, now.round, direction);
    if (round < 0) {
      domAnnounce('The warp’s state does not change any more.');
      return;
    }
    let step = waveStepAt(loaded.trace, loaded.index, now.warp, round);
    if (direction < 0 && step === now.step) step = this.nearest(loaded, now.warp, round - 1);
    if (step >= 0) this.app.store.set({ step });
  }

  /** @param {0 | 1} which */
  marker(which) {
    const round = this.selectedRound();
    if (round !== null) this.setRange(round, which);
  }

  /** @param {number} round @param {0 | 1} which */
  setRange(round, which) {
    const range = this.app.store.get().range ?? [round, round];
    /** @type {[number, number]} */
    const next = which === 0 ? [round, Math.max(round, range[1])] : [Math.min(range[0], round), round];
    this.app.store.set({ range: next });
    domAnnounce(`Markers at rounds ${next[0]} and ${next[1]}, ${next[1] - next[0]} apart.`);
  }

  /** @param {number} block @param {number} warp */
  pin(block, warp) {
    const key = `${block}:${warp}`;
    const added = !this.pins.delete(key);
    if (added) this.pins.add(key);
    domAnnounce(`Warp ${warp} is ${added ? 'pinned' : 'no longer pinned'}.`);
    this.layout();
    this.draw();
  }

  /** @param {string} text an opcode or `:line` */
  searchFor(text) {
    const run = this.app.run();
    const wanted = text.trim().toLowerCase();
    if (!run || !wanted) {
      this.matches = null;
      domReplace(this.found, '');
      this.draw();
      return;
    }
    const line = /^:?(\d+)$/.exec(wanted);
    const { text: code, source_line: sourceLine } = run.code.instructions;
    this.matches = Uint8Array.from(code, (one, pc) => Number(line ? sourceLine[pc] === Number(line[1]) : one.toLowerCase().includes(wanted)));
    let count = 0;
    for (const { loaded } of this.blocks) for (const pc of loaded.trace.pc) count += this.matches[pc];
    domReplace(this.found, `${domCount(count)} steps`);
    this.draw();
  }

  /** @param {1 | -1} direction */
  match(direction) {
    const now = this.selected();
    if (!now || !this.matches) {
      this.search.focus();
      return;
    }
    const { trace } = this.blocks[now.b].loaded;
    for (let step = now.step + direction; step >= 0 && step < trace.steps; step += direction) {
      if (this.matches[trace.pc[step]]) {
        this.app.store.set({ step, warp: trace.warp[step] });
        return;
      }
    }
    domAnnounce('No further match.');
  }

  /** Decodes and builds the blocks of the selected run. */
  async load() {
    const run = this.app.run();
    if (!run?.traces.length) {
      this.blocks = [];
      domReplace(this.now, 'No block of this launch was traced with this instruction set (--blocks chooses blocks).');
      this.layout();
      this.resize();
      return;
    }
    const pause = () => new Promise((/** @type {(value: void) => void} */ resolve) => setTimeout(resolve, 0));
    const blocks = [];
    for (const raw of run.traces) {
      const loaded = await this.app.load(raw, run);
      const { pyramid, states } = await waveBuild(loaded.trace, loaded.index, loaded.kinds, pause);
      blocks.push({ loaded, pyramid, states, ties: loaded.barriers ? waveTies(loaded.barriers) : [] });
      if (this.app.run() !== run) return;
    }
    this.blocks = blocks;
    this.view = { ...this.view, rounds: Math.max(1, ...blocks.map((block) => block.loaded.trace.rounds)) };
    this.fitted = true;
    this.scroll = 0;
    this.mapDirty = true;
    this.layout();
    this.searchFor(this.search.value);
    this.resize();
    this.reveal();
    this.host.dataset.ready = 'true';
  }

  /** Brings the selected step into view; says what it is. */
  reveal() {
    const now = this.selected();
    const run = this.app.run();
    if (!now || !run) return;
    if (!this.fitted) this.view = waveReveal(this.view, now.round);
    const pinned = this.pinnedCount();
    const row = this.rows.findIndex((one) => one.block === now.b && one.warp === now.warp);
    const room = this.visibleRows() - pinned;
    if (row >= pinned) {
      const at = row - pinned;
      if (at < this.scroll) this.scroll = at;
      else if (at >= this.scroll + room) this.scroll = at - room + 1;
    }
    const { trace } = this.blocks[now.b].loaded;
    const range = this.app.store.get().range;
    domReplace(this.now, `Round ${domCount(now.round)}, warp ${now.warp}: `, el('code', {}, run.code.instructions.text[trace.pc[now.step]]),
      range ? ` · markers A ${domCount(range[0])}, B ${domCount(range[1])}: ${domCount(range[1] - range[0])} rounds apart` : '');
    this.draw();
  }

  draw() {
    if (!this.frame) this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const start = performance.now();
      this.paint();
      this.times.push(performance.now() - start);
      if (this.times.length > 2000) this.times.shift();
      this.table.later(() => this.windowed());
    });
  }

  /** What the table shows: the visible window. */
  windowed() {
    const { from, perPixel, width } = this.view;
    const run = this.app.run();
    return run ? { blocks: this.blocks, from: Math.floor(from), to: Math.ceil(from + perPixel * width), code: run.code } : null;
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
      context.fillText(domCount(tick), x(tick) + 3, 12);
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
          { from: view.from, perPixel: view.perPixel, left: WAVE_LABEL, top: y, height: WAVE_ROW, width }, palette.onState);
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
    context.lineWidth = 1;
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
        context.globalAlpha = 0.8;
        context.strokeRect(at, top + 2, 0.01, bottom - top - 4);
        if (1 / view.perPixel > 6) for (const y of mine) context.fillRect(at - 2, y + WAVE_ROW / 2 - 2, 4, 4);
        context.globalAlpha = 1;
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

/**
 * @param {HTMLElement} root
 * @param {import('./app.js').App} app
 */
export function initSchedule(root, app) {
  const host = /** @type {HTMLElement | null} */ (root.querySelector('.wave-live'));
  if (!host) return;
  root.querySelector('.wave-static')?.classList.add('js-replaced');
  const waveform = new Waveform(host, app);
  app.waveform = waveform;
  app.store.subscribe((_, changed) => {
    if (changed.has('launch') || changed.has('isa')) void waveform.load();
    else waveform.reveal();
  });
  void waveform.load();
}
