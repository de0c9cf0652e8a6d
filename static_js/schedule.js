// The waveform: a row a warp, blocks grouped, drawn on a canvas the size of the viewport.

import { domAnnounce, domButton, domCount, domReplace, el } from './dom.js';
import { WAVE_LABEL, WAVE_ROW, WAVE_RULER, WavePicture } from './schedule-draw.js';
import { ScheduleTable } from './schedule-table.js';
import { WAVE_NAMES, waveBuild, waveClamp, waveEdge, waveReveal, waveStepAt, waveTies, waveZoom } from './waveform-core.js';
import { paintPalette } from './waveform-paint.js';

/**
 * @typedef {import('./app.js').LoadedTrace} WaveLoaded
 * @typedef {import('./schedule-draw.js').WaveRowRef} WaveRowRef
 */

class Waveform extends WavePicture {
  /** @param {HTMLElement} host @param {import('./app.js').App} app */
  constructor(host, app) {
    super(app);
    this.host = host;
    this.frame = 0;
    this.draws = 0;
    this.area = el('div', { class: 'wave-area', tabindex: 0, role: 'application', 'aria-roledescription': 'waveform',
      'aria-label': 'Waveform: arrow keys choose step and warp, plus and minus zoom; the table below holds the same',
      'aria-describedby': 'wave-now' }, this.canvas);
    this.scroller = el('div', { class: 'wave-scroll', tabindex: 0, role: 'group', 'aria-label': 'Rows of the waveform', hidden: true }, el('div'));
    this.now = el('p', { class: 'wave-now', id: 'wave-now' });
    this.search = /** @type {HTMLInputElement} */ (el('input', { type: 'search', id: 'wg-search', class: 'wave-search', placeholder: 'opcode or :line', 'aria-label': 'Search opcodes, or :line' }));
    this.found = el('span', { class: 'muted', role: 'status' });
    this.table = new ScheduleTable();
    this.build();
  }

  build() {
    const tools = el('div', { class: 'tools' },
      domButton('zoom-in', 'Zoom in', '+'), domButton('zoom-out', 'Zoom out', '−'), domButton('zoom-fit', 'Fit: show all', 'fit'),
      domButton('pan-left', 'Pan to earlier rounds', '←'), domButton('pan-right', 'Pan to later rounds', '→'),
      domButton('edge-previous', 'Previous change of the warp’s state', '|←'), domButton('edge-next', 'Next change of the warp’s state', '→|'),
      domButton('marker-a', 'Mark A at the step', 'mark A'), domButton('marker-b', 'Mark B at the step', 'mark B'), domButton('pin', 'Pin warp, or let it go', 'pin warp'),
      el('span', { class: 'tool-gap' }), this.search, domButton('search', 'Search opcodes or a line', 'Search'),
      domButton('match-previous', 'Previous match', '‹'), domButton('match-next', 'Next match', '›'), this.found);
    const legend = el('ul', { class: 'wave-legend' }, ...[1, 2, 4, 3, 6, 5].map((state) =>
      el('li', {}, el('i', { class: `wkey wkey-${state}`, 'aria-hidden': 'true' }), WAVE_NAMES[state])),
      el('li', {}, el('i', { class: 'wkey wkey-tie', 'aria-hidden': 'true' }), 'barrier: all arrived'));
    domReplace(this.host, tools, legend, el('div', { class: 'wave-frame' }, this.area, this.scroller), this.map, this.now, this.table.node);
    this.palette = paintPalette(this.host);
    new ResizeObserver(() => this.resize()).observe(this.area);
    document.addEventListener('wg-theme', () => {
      this.palette = paintPalette(this.host);
      this.mapDirty = true;
      this.draw();
    });
    this.scroller.addEventListener('scroll', () => {
      const row = Math.round(this.scroller.scrollTop / WAVE_ROW);
      if (row === this.scroll) return;
      this.scroll = row;
      this.draw();
    });
    this.pointer();
    this.actions();
  }

  /** A native scrollbar for the rows, where there are more than fit. */
  syncScroller() {
    const hidden = this.rows.length - this.visibleRows();
    this.scroller.hidden = hidden <= 0;
    if (hidden <= 0) return;
    this.scroller.style.height = `${this.height}px`;
    const inner = /** @type {HTMLElement} */ (this.scroller.firstElementChild);
    inner.style.height = `${this.height + hidden * WAVE_ROW}px`;
    this.scroller.scrollTop = this.scroll * WAVE_ROW;
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

  /** @param {number} y */
  rowAt(y) {
    const pinned = this.pinnedCount();
    const i = Math.floor((y - WAVE_RULER) / WAVE_ROW);
    if (y < WAVE_RULER) return -1;
    return i < pinned ? i : i + this.scroll;
  }

  resize() {
    this.fitTo(this.area.clientWidth);
    this.syncScroller();
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
    performance.mark('wg-ready');
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
      this.syncScroller();
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
      // The benchmark reads these; the browser's own tools show them too.
      if (++this.draws % 1000 === 0) performance.clearMeasures('wg-draw');
      performance.measure('wg-draw', { start, end: performance.now() });
      this.table.later(() => this.windowed());
    });
  }

  /** What the table shows: the visible window. */
  windowed() {
    const { from, perPixel, width } = this.view;
    const run = this.app.run();
    return run ? { blocks: this.blocks, from: Math.floor(from), to: Math.ceil(from + perPixel * width), code: run.code } : null;
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
  app.store.subscribe((_, changed) => {
    if (changed.has('launch') || changed.has('isa')) void waveform.load();
    else waveform.reveal();
  });
  void waveform.load();
}
