// The stepper: one warp's replay, instruction by instruction.

import { domAnnounce, domButton, domCount, domMask, domReplace, el } from './dom.js';
import { STEPPER_LANE_WORDS, stepperCount, stepperLanes, stepperStand, stepperTest } from './stepper-core.js';
import { stepperPair, StepperMemory } from './stepper-memory.js';
import { stepperTable } from './stepper-table.js';
import { traceBarrier, traceFind, traceIteration, traceLaneStates, traceNearest, traceNeighbour, tracePopcount, traceStack, traceWarps } from './trace-core.js';
import { valuesIndex } from './values-core.js';

/** @type {import('./values-core.js').ValueFormat[]} */
const STEPPER_FORMATS = ['auto', 'hex', 'decimal', 'float'];
const STEPPER_SPEEDS = [['1200', 'slow'], ['450', 'normal'], ['120', 'fast']];

class StepperView {
  /** @param {HTMLElement} host @param {import('./app.js').App} app */
  constructor(host, app) {
    this.host = host;
    this.app = app;
    /** @type {import('./values-core.js').ValueFormat} */
    this.format = 'auto';
    this.anyWarp = false;
    this.timer = 0;
    // Asking for the width at each step would lay the whole page out each time.
    this.wide = false;
    /** @type {import('./app.js').LoadedTrace | null} */
    this.loaded = null;
    /** @type {import('./data.js').WgValues | null} */
    this.values = null;
    /** @type {import('./values-core.js').ValuesIndexed | null} */
    this.indexed = null;
    this.memory = new StepperMemory(app);
    this.head = el('div', { class: 'step-head' });
    this.lanes = el('div', { class: 'step-lanes' });
    this.table = el('div', { class: 'scroll lane-scroll', role: 'region', tabindex: 0, 'aria-label': 'Values of the 32 lanes' });
    this.stack = el('div', { class: 'step-stack' });
    this.warps = el('div', { class: 'step-warps', role: 'group', 'aria-label': 'Where every warp of the block stands' });
    this.slider = /** @type {HTMLInputElement} */ (el('input', { type: 'range', min: 0, max: 0, value: 0, class: 'step-slider', 'aria-label': 'Step of the warp' }));
    this.blockSelect = /** @type {HTMLSelectElement} */ (el('select', { id: 'wg-block', 'aria-label': 'Block' }));
    this.warpSelect = /** @type {HTMLSelectElement} */ (el('select', { id: 'wg-warp', 'aria-label': 'Warp' }));
    this.speed = /** @type {HTMLSelectElement} */ (el('select', { id: 'wg-speed', 'aria-label': 'Speed' },
      ...STEPPER_SPEEDS.map(([value, label]) => el('option', { value, selected: label === 'normal' }, label))));
    this.playButton = domButton('play', 'Play', '▶ Play', { class: 'wg-button step-play' });
    this.orderButton = domButton('order', 'follows this warp', undefined, { title: 'Follow this warp, or the whole block in issue order' });
    this.formatButton = domButton('format', 'values: auto', undefined, { title: 'Values as automatic, hexadecimal, decimal, float' });
    this.build();
  }

  build() {
    const controls = el('div', { class: 'tools step-tools' },
      this.blockSelect, domButton('warp-previous', 'Previous warp', '‹'), this.warpSelect, domButton('warp-next', 'Next warp', '›'),
      el('span', { class: 'tool-gap' }),
      domButton('first', 'First step', '|◀'), domButton('previous', 'Previous step', '◀ Previous'), this.playButton,
      domButton('next', 'Next step', 'Next ▶', { class: 'wg-button primary' }), domButton('last', 'Last step', '▶|'), this.speed, this.orderButton);
    const jumps = el('div', { class: 'tools step-jumps', role: 'group', 'aria-label': 'Jump to' },
      stepperPair('line', 'source line', 'line'), stepperPair('loop', 'loop iteration', 'loop'),
      stepperPair('diverge', 'divergence', 'divergence'), stepperPair('join', 'reconvergence', 'reconvergence'),
      stepperPair('barrier', 'barrier', 'barrier'), stepperPair('release', 'barrier release', 'release'),
      stepperPair('fixed', 'step on the fixed line', 'fixed line'),
      el('span', { class: 'tool-gap' }), this.formatButton);
    domReplace(this.host, controls, this.slider, jumps, this.head, el('div', { class: 'step-grid' },
      el('div', { class: 'step-main' }, this.lanes, this.table),
      el('div', { class: 'step-side' }, this.stack, this.warps)), this.memory.node);
    new ResizeObserver(() => {
      const wide = this.table.clientWidth > 820;
      if (wide === this.wide) return;
      this.wide = wide;
      this.show();
    }).observe(this.table);
    this.blockSelect.addEventListener('change', () => this.pickBlock(Number(this.blockSelect.value)));
    this.warpSelect.addEventListener('change', () => this.pickWarp(Number(this.warpSelect.value)));
    this.slider.addEventListener('input', () => {
      const found = this.loaded;
      if (!found) return;
      this.pause();
      const at = found.index.start[this.warp()] + Number(this.slider.value);
      if (at < found.index.start[this.warp() + 1]) this.app.store.set({ step: found.index.steps[at] });
    });
    this.actions();
  }

  actions() {
    const { app } = this;
    app.on('next', () => this.move(1));
    app.on('previous', () => this.move(-1));
    app.on('first', () => this.edge(false));
    app.on('last', () => this.edge(true));
    app.on('play', () => (this.timer ? this.pause() : this.play()));
    app.on('order', () => {
      this.anyWarp = !this.anyWarp;
      domReplace(this.orderButton, this.anyWarp ? 'follows the block' : 'follows this warp');
    });
    app.on('warp-next', () => this.pickWarp(this.warp() + 1));
    app.on('warp-previous', () => this.pickWarp(this.warp() - 1));
    app.on('format', () => {
      this.format = STEPPER_FORMATS[(STEPPER_FORMATS.indexOf(this.format) + 1) % STEPPER_FORMATS.length];
      domReplace(this.formatButton, `values: ${this.format}`);
      this.show();
    });
    for (const jump of /** @type {import('./stepper-core.js').StepperJump[]} */ (['loop', 'line', 'diverge', 'join', 'fixed'])) {
      app.on(`${jump}-next`, () => this.jump(jump, 1));
      app.on(`${jump}-previous`, () => this.jump(jump, -1));
    }
    for (const [name, release] of /** @type {Array<[string, boolean]>} */ ([['barrier', false], ['release', true]])) {
      app.on(`${name}-next`, () => this.barrier(1, release));
      app.on(`${name}-previous`, () => this.barrier(-1, release));
    }
  }

  warp() {
    return this.app.store.get().warp;
  }

  /** The selected step if the trace has it, else -1. */
  step() {
    const { step } = this.app.store.get();
    return this.loaded && step < this.loaded.trace.steps ? step : -1;
  }

  /** @param {number} step @param {string} missing what to say if there is none */
  go(step, missing) {
    if (step < 0 || !this.loaded) {
      domAnnounce(missing, true);
      return false;
    }
    this.app.store.set({ step, warp: this.loaded.trace.warp[step] });
    return true;
  }

  /** @param {1 | -1} direction */
  move(direction) {
    const step = this.step();
    if (step < 0 || !this.loaded) return false;
    return this.go(traceNeighbour(this.loaded.trace, this.loaded.index, step, direction, this.anyWarp),
      direction > 0 ? 'This was the last step.' : 'This was the first step.');
  }

  /** @param {boolean} last */
  edge(last) {
    if (!this.loaded) return;
    const { start, steps } = this.loaded.index;
    const [from, to] = [start[this.warp()], start[this.warp() + 1]];
    this.go(from === to ? -1 : steps[last ? to - 1 : from], 'This warp has no step.');
  }

  /** @param {import('./stepper-core.js').StepperJump} jump @param {1 | -1} direction */
  jump(jump, direction) {
    const [step, run] = [this.step(), this.app.run()];
    if (step < 0 || !this.loaded || !run) return;
    const { trace, index } = this.loaded;
    const test = stepperTest(jump, trace, index, run.code, step, this.app.store.get().line);
    if (!test) {
      domAnnounce(jump === 'fixed' ? 'No line is fixed: choose one in the code.' : 'There is no loop.', true);
      return;
    }
    const words = { loop: 'loop iteration', line: 'other source line', diverge: 'divergence', join: 'reconvergence', fixed: 'step on the fixed line' };
    this.go(traceFind(trace, index, step, direction, test), `No ${direction > 0 ? 'later' : 'earlier'} ${words[jump]} of this warp.`);
  }

  /** @param {1 | -1} direction @param {boolean} release */
  barrier(direction, release) {
    const step = this.step();
    if (step < 0 || !this.loaded) return;
    const found = traceBarrier(this.loaded.barriers, this.warp(), step, direction, release);
    const moved = this.go(found, `No ${direction > 0 ? 'later' : 'earlier'} barrier${release ? ' release' : ''}.`);
    // A release is a step of whoever came last: say why another warp is shown now.
    if (moved && release) domAnnounce(`Warp ${this.warp()} arrives last at step ${found}: the barrier is released.`, true);
  }

  /** @param {number} warp */
  pickWarp(warp) {
    const found = this.loaded;
    if (!found) return;
    const wrapped = (warp + found.trace.warps) % found.trace.warps;
    const near = traceNearest(found.index, wrapped, this.step());
    this.app.store.set(near < 0 ? { warp: wrapped } : { warp: wrapped, step: near });
  }

  /** @param {number} block */
  pickBlock(block) {
    this.pause();
    this.app.store.set({ block, warp: 0, step: 0 });
    void this.app.settle();
  }

  play() {
    // Nothing glides, but a page that changes by itself should change slowly for those who asked for rest.
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const pace = Math.max(Number(this.speed.value), still ? 1200 : 0);
    domReplace(this.playButton, '❚❚ Pause');
    this.playButton.setAttribute('aria-label', 'Pause');
    this.timer = /** @type {any} */ (setInterval(() => {
      if (!this.move(1)) this.pause();
    }, pace));
  }

  pause() {
    clearInterval(this.timer);
    this.timer = 0;
    domReplace(this.playButton, '▶ Play');
    this.playButton.setAttribute('aria-label', 'Play');
  }

  /** Takes the selected trace and what was kept with it. */
  async load() {
    const raw = this.app.rawTrace();
    const loaded = await this.app.current();
    if (!loaded || !raw) {
      this.loaded = null;
      domReplace(this.head, el('p', { class: 'quiet' }, 'No block of this launch was traced with this instruction set (--blocks chooses blocks).'));
      return;
    }
    const [values, accesses] = await Promise.all([this.app.values(raw), this.app.accesses(raw)]);
    if (this.app.rawTrace() !== raw) return;
    if (this.loaded !== loaded) {
      this.loaded = loaded;
      this.values = values;
      this.indexed = values ? valuesIndex(loaded.trace, values) : null;
      this.memory.use(loaded, accesses);
      const traces = this.app.run()?.traces ?? [];
      domReplace(this.blockSelect, ...traces.map((one) =>
        el('option', { value: one.index, selected: one.index === raw.index }, `block (${one.block.join(', ')})`)));
      domReplace(this.warpSelect, ...Array.from({ length: loaded.trace.warps }, (_, w) => el('option', { value: w }, `warp ${w}`)));
    }
    this.show();
  }

  show() {
    const [found, run, step] = [this.loaded, this.app.run(), this.step()];
    if (!found || !run || step < 0) return;
    const { trace, index } = found;
    const { code } = run;
    const warp = trace.warp[step];
    this.blockSelect.value = String(trace.index);
    this.warpSelect.value = String(warp);
    this.slider.max = String(index.start[warp + 1] - index.start[warp] - 1);
    this.slider.value = String(index.position[step]);
    this.slider.setAttribute('aria-valuetext', `step ${index.position[step] + 1} of ${index.start[warp + 1] - index.start[warp]} of warp ${warp}`);
    this.showHead(trace, index, code, step);
    const states = traceLaneStates(trace, index, code, step);
    this.showLanes(states, trace, step);
    stepperTable(this, run, found, step, states);
    this.showStack(trace, index, code, step);
    this.showWarps(trace, index, code, step);
    this.memory.show(step, this.format);
    if (!this.timer) domAnnounce(`Step ${step}, warp ${warp}: ${code.instructions.text[trace.pc[step]]}`);
  }

  /** @param {number} pc */
  place(pc) {
    const run = this.app.run();
    const line = run?.code.instructions.source_line[pc];
    if (!run || line === null || line === undefined) return `${run?.isa.toUpperCase() ?? ''} line ${run?.code.instructions.line[pc] ?? '?'}`;
    return `${this.app.source(run.code.instructions.source[pc])?.name ?? ''}:${line}`;
  }

  /**
   * @param {import('./data.js').WgTrace} trace
   * @param {import('./trace-core.js').TraceIndex} index
   * @param {import('./data.js').WgCode} code
   * @param {number} step
   */
  showHead(trace, index, code, step) {
    const pc = trace.pc[step];
    const { source, source_line: sourceLine } = code.instructions;
    const loop = traceIteration(trace, index, code, step);
    domReplace(this.head,
      el('p', { class: 'step-facts' },
        el('span', {}, 'step ', el('b', {}, domCount(step)), ` of ${domCount(trace.steps)}`),
        el('span', {}, 'round ', el('b', {}, domCount(trace.round[step]))),
        el('span', {}, 'lanes on ', el('b', {}, `${tracePopcount(trace.mask[step])} of 32`)),
        el('span', {}, 'mask ', el('code', {}, domMask(trace.mask[step]))),
        loop ? el('span', {}, 'loop iteration ', el('b', {}, domCount(loop.iteration))) : null,
        step === trace.steps - 1 ? this.ending(trace) : null),
      el('div', { class: 'step-context' },
        this.context(this.place(pc), this.app.lines(source[pc]), (sourceLine[pc] ?? 0) - 1, 'step-line'),
        this.context(`${this.app.run()?.isa.toUpperCase()} line ${code.instructions.line[pc]}`, code.instructions.text, pc, 'step-instruction')));
  }

  /** Why the trace ends before its block did, if it does. @param {import('./data.js').WgTrace} trace */
  ending(trace) {
    if (trace.truncated) return el('span', { class: 'partial' }, 'the trace budget ended here');
    const stopped = this.app.run()?.stopped;
    return stopped ? el('span', { class: 'partial' }, `the run stopped: ${stopped.message}`) : null;
  }

  /** A few lines around the current one. @param {string} name @param {string[]} lines @param {number} at @param {string} mark */
  context(name, lines, at, mark) {
    if (at < 0 || at >= lines.length) return null;
    const from = Math.max(0, Math.min(at - 2, lines.length - 5));
    const shown = lines.slice(from, from + 5);
    const indent = Math.min(...shown.filter((line) => line.trim()).map((line) => line.length - line.trimStart().length), 99);
    return el('div', { class: 'context' }, el('p', { class: 'muted small' }, name),
      el('div', { class: 'context-lines' }, ...shown.map((line, i) =>
        el('code', { class: from + i === at ? `now ${mark}` : null }, line.slice(indent).replaceAll('\t', '  ') || ' '))));
  }

  /** @param {import('./trace-core.js').LaneState[]} states @param {import('./data.js').WgTrace} trace @param {number} step */
  showLanes(states, trace, step) {
    /** @type {Map<string, number>} */
    const why = new Map();
    states.forEach((state, lane) => why.set(state, ((why.get(state) ?? 0) | (1 << lane)) >>> 0));
    const said = [...why].filter(([state]) => state !== 'on').map(([state, mask]) =>
      `${STEPPER_LANE_WORDS[/** @type {import('./trace-core.js').LaneState} */ (state)].word}: ${stepperLanes(mask)}`);
    domReplace(this.lanes,
      el('div', { class: 'mask', role: 'img', 'aria-label': `${tracePopcount(trace.mask[step])} lanes on: ${stepperLanes(trace.mask[step])}` },
        ...states.map((state, lane) => el('span', { class: `lane-cell lane-${state}`, title: `lane ${lane}: ${STEPPER_LANE_WORDS[state].word}` },
          el('span', { class: 'lane-number' }, lane), el('span', { class: 'lane-mark' }, STEPPER_LANE_WORDS[state].letter)))),
      el('p', { class: 'lane-why' }, said.length ? `Off: ${said.join('; ')}.` : 'All lanes are on.'));
  }

  /**
   * @param {import('./data.js').WgTrace} trace
   * @param {import('./trace-core.js').TraceIndex} index
   * @param {import('./data.js').WgCode} code
   * @param {number} step
   */
  showStack(trace, index, code, step) {
    const stack = traceStack(trace, index, code, step);
    const where = (/** @type {number} */ pc) => (pc < 0 ? 'never again in this trace' : this.place(pc));
    domReplace(this.stack, el('h3', {}, 'Divergence stack'),
      stack.length === 1 && !stack[0].others.length ? el('p', { class: 'muted' }, 'The warp is whole.') : el('ol', { class: 'stack' },
        ...stack.map((level, i) => el('li', { class: i === stack.length - 1 ? 'top' : null },
          el('code', {}, domMask(level.mask)), ` ${stepperCount(level.mask)}`,
          level.split >= 0 ? el('span', { class: 'muted' }, ` split at ${where(level.split)}, together again at ${level.join < 0 ? 'no common line' : where(level.join)}`) : null,
          ...level.others.map((other) => el('span', { class: 'other' }, stepperStand(other.mask, where(other.pc))))))));
  }

  /**
   * @param {import('./data.js').WgTrace} trace
   * @param {import('./trace-core.js').TraceIndex} index
   * @param {import('./data.js').WgCode} code
   * @param {number} step
   */
  showWarps(trace, index, code, step) {
    const words = { ready: 'ready', barrier: 'at barrier', finished: 'finished', unstarted: 'not started', unknown: 'not recorded' };
    const marks = { ready: '▸', barrier: '‖', finished: '■', unstarted: '○', unknown: '?' };
    domReplace(this.warps, el('h3', {}, 'Warps of the block'), el('div', { class: 'warp-chips' }, ...traceWarps(trace, index, code, step).map((stand) =>
      el('button', { type: 'button', class: `warp-chip stand-${stand.state}`, 'aria-pressed': stand.warp === trace.warp[step], onclick: () => this.pickWarp(stand.warp) },
        el('b', {}, `w${stand.warp}`), ' ', el('span', { 'aria-hidden': 'true' }, marks[stand.state]), ` ${words[stand.state]}`,
        stand.pc >= 0 && stand.state !== 'finished' ? el('span', { class: 'muted' }, ` ${this.place(stand.pc)}`) : null))));
  }
}

/**
 * @param {HTMLElement} root
 * @param {import('./app.js').App} app
 */
export function initStepper(root, app) {
  const host = /** @type {HTMLElement | null} */ (root.querySelector('.stepper-live'));
  if (!host) return;
  // Hidden on screen only: print shows the static table.
  root.querySelector('.stepper-static')?.classList.add('js-replaced');
  const view = new StepperView(host, app);
  app.store.subscribe((_, changed) => {
    if (changed.has('launch') || changed.has('isa') || changed.has('block')) {
      view.pause();
      void view.load();
    } else if (changed.has('step') || changed.has('warp')) view.show();
  });
  void view.load();
}
