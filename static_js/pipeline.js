// The pipeline section: sliders, the live waveform, one tile's way, source lines, curves.

import { domAnnounce, domReplace, domVisible, el, svgEl } from './dom.js';
import { PIPE_EVENT, PipeError, pipeKnobs, pipeRun, pipeValue } from './pipeline-core.js';
import { PIPE_LEFT, PIPE_ROW, pipeColours, pipeDraw, pipeHeight } from './pipeline-draw.js';
import { pipeLeast, pipeSummary, pipeSweep } from './pipeline-results.js';
import { pipeBlockAt, pipeFollow, pipeFragment, pipeFromFragment, pipeLetter, pipeRows, pipeWords } from './pipeline-view.js';

/** @typedef {import('./app.js').App} PipeApp */

const PIPE_STAGES = Array.from({ length: 16 }, (_, i) => i + 1);

class PipeSection {
  /** @param {HTMLElement} root @param {PipeApp} app @param {any} data */
  constructor(root, app, data) {
    this.root = root;
    this.app = app;
    /** @type {import('./pipeline-core.js').PipeProgram[]} */
    this.programs = data.programs;
    this.chosen = 0;
    /** @type {Record<string, number>} */
    this.knobs = { ...data.knobs };
    this.from = 0;
    this.to = 1;
    /** @type {{row: number, block: number} | null} */
    this.selected = null;
    /** @type {(number | null)[]} */
    this.markers = [null, null];
    /** @type {{source: string, line: number} | null} */
    this.place = null;
    /** @type {import('./pipeline-view.js').PipeRow[]} */
    this.rows = [];
    /** @type {import('./pipeline-core.js').PipeRun | null} */
    this.run = null;
    this.later = 0;
    this.updates = 0;
    this.canvas = /** @type {HTMLCanvasElement} */ (el('canvas', { class: 'pl-canvas', tabindex: '0', role: 'img' }));
    this.detail = el('div', { class: 'pl-detail', 'aria-live': 'polite' });
    this.follow = el('ol', { class: 'pl-follow' });
    this.knobBox = el('div', { class: 'pl-knobs' });
    this.words = /** @type {HTMLElement | null} */ (root.querySelector('.pl-words'));
    this.curve = el('div', { class: 'pl-curves' });
    this.sources = /** @type {HTMLElement | null} */ (root.querySelector('.pl-source'));
  }

  get program() {
    return this.programs[this.chosen];
  }

  build() {
    const live = this.root.querySelector('.pl-live');
    if (!live) return;
    const choice = el('select', { 'aria-label': 'Schedule', onchange: (/** @type {Event} */ event) => this.choose(Number(/** @type {HTMLSelectElement} */ (event.target).value)) },
      ...this.programs.map((program, i) => el('option', { value: i }, program.title)));
    this.choice = /** @type {HTMLSelectElement} */ (choice);
    const button = (/** @type {string} */ label, /** @type {() => void} */ run) => el('button', { type: 'button', class: 'wg-button', onclick: run }, label);
    live.append(
      el('div', { class: 'tools' }, this.programs.length > 1 ? el('label', {}, 'Schedule', choice) : null,
        button('Zoom in', () => this.zoom(0.5)), button('Zoom out', () => this.zoom(2)), button('Whole schedule', () => this.whole()),
        button('Marker A', () => this.mark(0)), button('Marker B', () => this.mark(1)), button('Default knobs', () => this.reset())),
      el('details', { open: true }, el('summary', {}, 'Knobs'), this.knobBox),
      this.canvas, this.detail, this.follow, this.curve);
    const fixed = /** @type {HTMLElement | null} */ (this.root.querySelector('.pl-static > .scroll'));
    if (fixed) fixed.hidden = true;
    this.listen();
    this.readFragment();
    this.sliders();
    this.update(true);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
    new MutationObserver(() => this.draw()).observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    addEventListener('hashchange', () => {
      if (this.readFragment()) {
        this.sliders();
        this.update(true);
      }
    });
  }

  listen() {
    this.canvas.addEventListener('click', (event) => this.click(event));
    this.canvas.addEventListener('mousemove', (event) => {
      const at = this.hit(event);
      const block = at ? this.rows[at.row].blocks[at.block] : null;
      this.canvas.title = block ? domVisible(this.describe(this.rows[/** @type {{row: number}} */ (at).row], block)) : '';
    });
    this.canvas.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      if (event.ctrlKey) this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event));
      else this.pan((event.deltaY || event.deltaX) > 0 ? 0.1 : -0.1);
    }, { passive: false });
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    this.root.addEventListener('click', (event) => {
      const link = event.target instanceof Element ? event.target.closest('.pl-line-link') : null;
      if (!link) return;
      event.preventDefault();
      this.showLine(link.getAttribute('data-source') ?? '', Number(link.getAttribute('data-line')));
    });
  }

  /** Takes program and knobs from the address; true where it had them. */
  readFragment() {
    const text = /[#&]p=([^&]*)/.exec(location.hash)?.[1];
    if (text === undefined) return false;
    let decoded = '';
    try {
      decoded = decodeURIComponent(text);
    } catch {
      decoded = '';
    }
    const { chosen, knobs, notes } = pipeFromFragment(this.programs, decoded);
    this.chosen = chosen;
    this.knobs = knobs;
    if (this.choice) this.choice.value = String(chosen);
    if (notes.length) this.app.note(`${notes.join('; ')}. Shown instead: the default.`);
    return true;
  }

  /** @param {number} number */
  choose(number) {
    this.chosen = number;
    this.selected = null;
    this.sliders();
    this.update(true);
  }

  reset() {
    this.knobs = {};
    this.sliders();
    this.update(true);
  }

  sliders() {
    domReplace(this.knobBox, ...this.program.knobs.map((knob) => {
      const value = this.knobs[knob.name] ?? knob.value;
      const output = el('output', {}, value);
      // The range stays useful: time knobs rarely exceed some dozens.
      const most = Math.min(knob.max, Math.max(value, knob.unit === 'time' ? Math.max(40, knob.value * 4) : knob.max));
      const input = el('input', {
        type: 'range', min: knob.min, max: most, step: 1, value, title: knob.about, 'aria-label': `${knob.label}: ${knob.about}`,
        oninput: (/** @type {Event} */ event) => {
          this.knobs[knob.name] = Number(/** @type {HTMLInputElement} */ (event.target).value);
          output.textContent = String(this.knobs[knob.name]);
          this.update(false);
        },
      });
      return el('label', { class: 'pl-knob', 'data-knob': knob.name }, el('span', { title: knob.about }, knob.label), input, output);
    }));
  }

  known() {
    const names = new Set(this.program.knobs.map((knob) => knob.name));
    return Object.fromEntries(Object.entries(this.knobs).filter(([name]) => names.has(name)));
  }

  /** Simulates and draws; what takes longer follows when the hand rests. @param {boolean} whole */
  update(whole) {
    const knobs = this.known();
    const start = performance.now();
    let simulated = start;
    try {
      this.run = pipeRun(this.program, knobs);
      simulated = performance.now();
    } catch (error) {
      if (!(error instanceof PipeError)) throw error;
      if (this.words) this.words.textContent = `${error.message}.`;
      return;
    }
    const before = this.to - this.from;
    this.rows = pipeRows(this.run, this.program);
    if (whole || before < 2 || this.from >= this.run.total) [this.from, this.to] = [0, Math.max(1, this.run.total)];
    else if (this.from === 0) this.to = Math.max(1, this.run.total);
    const summary = pipeSummary(this.run, this.program);
    const more = this.memory();
    if (this.words) this.words.textContent = domVisible(pipeWords(summary, more));
    this.selected = null;
    this.draw();
    this.tell();
    this.app.knobs = pipeFragment(this.programs, this.chosen, knobs);
    this.app.writeFragment();
    if (++this.updates % 200 === 0) performance.clearMeasures('wg-pipeline');
    const detail = { events: this.run.events.length / PIPE_EVENT, simulated: simulated - start };
    performance.measure('wg-pipeline', { start, end: performance.now(), detail });
    clearTimeout(this.later);
    this.later = /** @type {any} */ (setTimeout(() => this.sweep(summary, more), 180));
  }

  memory() {
    const { memory } = this.program;
    if (!memory) return {};
    const values = pipeKnobs(this.program, this.known());
    return { stageBytes: pipeValue(memory.stage, values), mostStages: pipeValue(memory.most, values) };
  }

  /** @param {ReturnType<typeof pipeSummary>} summary @param {any} more */
  sweep(summary, more) {
    const swept = pipeSweep(this.program, this.known(), 'S', PIPE_STAGES);
    if (this.words) this.words.textContent = domVisible(pipeWords(summary, { ...more, swept: pipeLeast(swept) }));
    const series = [{ name: 'total', values: swept }];
    const figures = [this.figure('Total against stages', series)];
    const [pingpong, cooperative] = ['sm90-pingpong', 'sm90-cooperative'].map((id) => this.programs.find((one) => one.id === id));
    if (pingpong && cooperative) {
      const mine = (/** @type {import('./pipeline-core.js').PipeProgram} */ program) =>
        Object.fromEntries(Object.entries(this.knobs).filter(([name]) => program.knobs.some((knob) => knob.name === name)));
      const tiles = this.knobs.O ?? 4;
      figures.push(this.figure('Pingpong against cooperative at equal work (a cooperative tile is twice as large)', [
        { name: 'pingpong', values: pipeSweep(pingpong, mine(pingpong), 'S', PIPE_STAGES) },
        { name: 'cooperative', values: pipeSweep(cooperative, { ...mine(cooperative), O: Math.max(1, Math.ceil(tiles / 2)), W: 2 }, 'S', PIPE_STAGES) },
      ]));
    }
    domReplace(this.curve, ...figures);
    const fixed = /** @type {HTMLElement | null} */ (this.root.querySelector('.pl-curves:not(.pl-live .pl-curves)'));
    if (fixed) fixed.hidden = true;
  }

  /** @param {string} caption @param {Array<{name: string, values: Array<[number, number | null]>}>} series */
  figure(caption, series) {
    const [width, height] = [460, 190];
    const points = series.flatMap((one) => one.values.filter(([, y]) => y !== null));
    const top = Math.max(1, ...points.map(([, y]) => Number(y)));
    const x = (/** @type {number} */ v) => 44 + ((v - 1) / 15) * (width - 150);
    const y = (/** @type {number} */ v) => 12 + (1 - v / top) * (height - 44);
    const node = svgEl('svg', { class: 'fig pl-curve', viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': caption });
    series.forEach((one, number) => {
      const known = /** @type {Array<[number, number]>} */ (one.values.filter(([, value]) => value !== null));
      if (!known.length) return;
      const path = known.map(([a, b], i) => `${i ? 'L' : 'M'}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join('');
      node.append(svgEl('path', { class: `pl-line s${number + 1}`, d: path, 'stroke-dasharray': number ? '5 3' : null }));
      for (const [a, b] of known) node.append(svgEl('circle', { class: `s${number + 1}`, cx: x(a), cy: y(b), r: 2.5 }, svgEl('title', {}, `${a}: ${b}`)));
      const [a, b] = known[known.length - 1];
      node.append(svgEl('text', { class: 't', x: x(a) + 5, y: y(b) + (number ? -6 : 4) }, `${one.name} ${b}`));
    });
    for (const stages of [1, 4, 8, 12, 16]) node.append(svgEl('text', { class: 't', x: x(stages), y: height - 8, 'text-anchor': 'middle' }, stages));
    return el('figure', { class: 'chart' }, el('figcaption', {}, caption), node);
  }

  draw() {
    const width = this.canvas.clientWidth || 900;
    const height = pipeHeight(this.rows);
    const ratio = Math.min(3, devicePixelRatio || 1);
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.height = `${height}px`;
    }
    const context = this.canvas.getContext('2d');
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const block = this.selected ? this.rows[this.selected.row]?.blocks[this.selected.block] : null;
    const { place } = this;
    pipeDraw(context, {
      width, rows: this.rows, from: this.from, to: this.to, selected: this.selected, markers: this.markers,
      followed: block && block.step >= 0 ? { tile: block.tile, step: block.step } : null,
      lit: (one) => place !== null && one.line === place.line && one.source === place.source,
    }, pipeColours(this.canvas));
    this.canvas.setAttribute('aria-label', `Schedule: ${this.rows.length} rows over ${this.run?.total ?? 0} units of time. Arrow keys walk its blocks.`);
  }

  /** @param {MouseEvent} event */
  timeAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - PIPE_LEFT) / Math.max(1, box.width - PIPE_LEFT);
    return this.from + share * (this.to - this.from);
  }

  /** @param {MouseEvent} event */
  hit(event) {
    const box = this.canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top) / PIPE_ROW);
    if (!this.rows[row]) return null;
    const block = pipeBlockAt(this.rows[row], this.timeAt(event));
    return block < 0 ? null : { row, block };
  }

  /** @param {MouseEvent} event */
  click(event) {
    if (event.shiftKey || event.altKey) {
      this.markers[event.shiftKey ? 0 : 1] = Math.max(0, Math.round(this.timeAt(event)));
      this.draw();
      this.tell();
      return;
    }
    this.select(this.hit(event));
  }

  /** @param {{row: number, block: number} | null} at */
  select(at) {
    this.selected = at;
    const block = at ? this.rows[at.row].blocks[at.block] : null;
    if (block && (block.end <= this.from || block.start >= this.to)) {
      const half = (this.to - this.from) / 2;
      this.from = Math.max(0, block.start - half);
      this.to = this.from + 2 * half;
    }
    if (block?.line) this.showLine(block.source, block.line, false);
    this.draw();
    this.tell();
  }

  /** @param {import('./pipeline-view.js').PipeRow} row @param {import('./pipeline-view.js').PipeBlock} block */
  describe(row, block) {
    const tile = pipeLetter(block.tile, block.step);
    const by = block.by >= 0 && this.run ? `, ended by ${this.run.flat.laneNames[this.run.flat.laneOf[block.by]]}` : '';
    const line = block.line ? `, ${block.source}:${block.line}` : '';
    return `${row.name}: ${block.text}${tile ? ` ${tile}` : ''}, ${block.start} to ${block.end} (${block.end - block.start})${by}${line}`;
  }

  tell() {
    const block = this.selected ? this.rows[this.selected.row]?.blocks[this.selected.block] : null;
    const [a, b] = this.markers;
    const between = a !== null && b !== null ? ` B − A = ${b - a}.` : '';
    const marks = [a !== null ? `A at ${a}.` : '', b !== null ? `B at ${b}.` : ''].filter(Boolean).join(' ') + between;
    const said = block && this.selected ? this.describe(this.rows[this.selected.row], block) : 'Click a block to follow its tile; Shift+click sets marker A, Alt+click marker B.';
    domReplace(this.detail, el('div', {}, said), marks ? el('div', {}, marks) : null);
    const steps = block && this.run ? pipeFollow(this.run, this.program, block.tile, block.step) : [];
    domReplace(this.follow, ...steps.slice(0, 40).map((step) =>
      el('li', {}, `${step.time} ${step.who}: ${step.what} `, step.line
        ? el('a', { href: '#pl-source', class: 'pl-line-link', 'data-source': step.source, 'data-line': step.line }, `line ${step.line}`) : null)));
  }

  /** @param {number} number */
  mark(number) {
    const block = this.selected ? this.rows[this.selected.row]?.blocks[this.selected.block] : null;
    this.markers[number] = block ? block.start : Math.round((this.from + this.to) / 2);
    this.draw();
    this.tell();
    domAnnounce(`Marker ${'AB'[number]} at ${this.markers[number]}`);
  }

  /** @param {number} factor @param {number} [around] */
  zoom(factor, around = (this.from + this.to) / 2) {
    const total = Math.max(1, this.run?.total ?? 1);
    const span = Math.max(8, Math.min(total, (this.to - this.from) * factor));
    const share = (around - this.from) / Math.max(1e-9, this.to - this.from);
    this.from = Math.max(0, Math.min(total - span, around - share * span));
    this.to = this.from + span;
    this.draw();
  }

  /** @param {number} share */
  pan(share) {
    const span = this.to - this.from;
    this.from = Math.max(0, Math.min(Math.max(0, (this.run?.total ?? 1) - span), this.from + share * span));
    this.to = this.from + span;
    this.draw();
  }

  whole() {
    [this.from, this.to] = [0, Math.max(1, this.run?.total ?? 1)];
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const at = this.selected ?? { row: 0, block: -1 };
    let { row, block } = at;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'ArrowRight') block++;
    else if (event.key === 'ArrowLeft') block--;
    else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const time = this.selected ? this.rows[row].blocks[block].start : this.from;
      row += event.key === 'ArrowDown' ? 1 : -1;
      if (!this.rows[row]) return;
      block = Math.max(0, this.rows[row].blocks.findIndex((one) => one.end > time));
    } else if (event.key === '+') this.zoom(0.5);
    else if (event.key === '-') this.zoom(2);
    else if (event.key === 'Escape') this.select(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
    if (this.rows[row]?.blocks[block]) this.select({ row, block });
  }

  /** @param {string} source @param {number} line @param {boolean} [scroll] */
  showLine(source, line, scroll = true) {
    this.place = { source, line };
    const found = this.app.report.sources.find((one) => one.name === source);
    const lines = found ? this.app.lines(found.id) : [];
    if (this.sources && lines.length) {
      const from = Math.max(0, line - 120);
      const rows = lines.slice(from, line + 120).map((text, i) => {
        const number = from + i + 1;
        return el('p', { class: number === line ? 'on fixed' : '', onclick: () => this.showLine(source, number, false) }, el('b', {}, number), el('code', {}, text));
      });
      const box = el('div', { class: 'lines', tabindex: '0', role: 'region', 'aria-label': `Source of ${source}` }, ...rows);
      domReplace(this.sources, el('h3', {}, `${source}, line ${line}`), box);
      box.scrollTop = Math.max(0, (line - from - 8) * 18);
      if (scroll) this.sources.scrollIntoView({ block: 'nearest' });
    } else if (this.sources) domReplace(this.sources, el('p', {}, `${source}:${line} (its text is not in this report)`));
    this.draw();
  }
}

/** @param {HTMLElement} root @param {PipeApp} app */
export function initPipeline(root, app) {
  const section = /** @type {any} */ (app.report).sections?.find((/** @type {any} */ one) => one.id === 'pipeline');
  if (section?.data?.programs?.length) new PipeSection(root, app, section.data).build();
}
