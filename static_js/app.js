// What the sections share: the report, the selection, decoded traces, actions, notes.

import { dataAccesses, dataBarriers, dataMeasured, dataTrace, dataValues } from './data.js';
import { domVisible } from './dom.js';
import { fragmentFormat, fragmentSelect, fragmentShape } from './fragment.js';
import { Store } from './store.js';
import { traceIndex, traceNearest } from './trace-core.js';
import { waveKinds } from './waveform-core.js';

/**
 * @typedef {import('./data.js').WgReport} AppReport
 * @typedef {import('./store.js').Selection} AppSelection
 * @typedef {object} LoadedTrace
 * @property {import('./data.js').WgRawTrace} raw
 * @property {import('./data.js').WgTrace} trace
 * @property {import('./trace-core.js').TraceIndex} index
 * @property {Uint8Array} kinds
 * @property {import('./data.js').WgBarriers | null} barriers
 */

/** @param {AppReport} report @returns {AppSelection} */
export function appInitial(report) {
  const launch = report.launches[0];
  const run = launch?.runs[launch.primary] ?? launch?.runs[0];
  const trace = run?.traces[0];
  return { launch: 0, isa: run?.isa ?? 'ptx', block: trace?.index ?? 0, warp: 0, step: 0, range: null, line: null };
}

export class App {
  /** @param {AppReport} report */
  constructor(report) {
    this.report = report;
    this.shape = fragmentShape(report);
    this.store = new Store(appInitial(report));
    /** @type {Map<string, () => void>} */
    this.actions = new Map();
    /** @type {Map<object, Promise<LoadedTrace>>} */
    this.loaded = new Map();
    /** @type {Map<string, string[]>} */
    this.split = new Map();
    this.writing = 0;
    /** The pipeline's knobs as they stand in the address. */
    this.knobs = '';
    /** @type {Map<object, import('./data.js').WgRun>} */
    this.measuredRuns = new Map();
    /** The launch that was asked for last: an earlier one may still be unpacked. */
    this.wanted = 0;
  }

  /** @param {string} action @param {() => void} run */
  on(action, run) {
    this.actions.set(action, run);
  }

  /** @param {string} action */
  perform(action) {
    this.actions.get(action)?.();
  }

  launch() {
    return this.report.launches[this.store.get().launch];
  }

  run() {
    const { isa } = this.store.get();
    const launch = this.launch();
    return launch?.runs.find((run) => run.isa === isa) ?? launch?.runs[launch.primary] ?? launch?.runs[0] ?? null;
  }

  /**
   * Everything of the launch that has code: its runs, then what a profiler measured, in the form of a run.
   * @returns {import('./data.js').WgRun[]}
   */
  codeRuns() {
    const launch = this.launch();
    const measured = launch?.measured?.code;
    const code = measured ? this.report.profile?.codes[measured.code] : null;
    if (!launch || !measured || !code) return launch?.runs ?? [];
    let made = this.measuredRuns.get(measured);
    if (!made) {
      made = { isa: measured.isa, complete: true, code, profile: measured.profile, lines: measured.lines,
        memory: [], branches: [], findings: [], buffers: [], traces: [] };
      this.measuredRuns.set(measured, made);
    }
    return [...launch.runs, made];
  }

  rawTrace() {
    const traces = this.run()?.traces ?? [];
    return traces.find((trace) => trace.index === this.store.get().block) ?? traces[0] ?? null;
  }

  /**
   * A trace decoded and sorted by warp; made once.
   * @param {import('./data.js').WgRawTrace} raw
   * @param {import('./data.js').WgRun} run
   * @returns {Promise<LoadedTrace>}
   */
  load(raw, run) {
    let found = this.loaded.get(raw);
    if (!found) {
      found = (async () => {
        const [trace, barriers] = await Promise.all([dataTrace(raw), dataBarriers(raw)]);
        return { raw, trace, index: traceIndex(trace), kinds: waveKinds(run.code.instructions.kind), barriers };
      })();
      this.loaded.set(raw, found);
    }
    return found;
  }

  /** The selected block's trace, or null where the run has none. */
  async current() {
    const [run, raw] = [this.run(), this.rawTrace()];
    return run && raw ? this.load(raw, run) : null;
  }

  /** @param {import('./data.js').WgRawTrace} raw */
  values(raw) {
    return dataValues(raw);
  }

  /** @param {import('./data.js').WgRawTrace} raw */
  accesses(raw) {
    return dataAccesses(raw);
  }

  /** @param {string | number | null | undefined} id */
  source(id) {
    return this.report.sources.find((source) => String(source.id) === String(id)) ?? null;
  }

  /** The lines of a source, none where its text is not in the report. @param {string | number | null} id */
  lines(id) {
    const text = id === null ? null : this.source(id)?.text;
    if (!text) return [];
    let lines = this.split.get(String(id));
    if (!lines) this.split.set(String(id), (lines = text.split(/\r?\n/)));
    return lines;
  }

  /** A visible line of the page; an empty text takes it away. @param {string} text */
  note(text) {
    const note = document.getElementById('wg-note');
    if (!note) return;
    note.textContent = domVisible(text);
    note.hidden = !text;
  }

  /** Takes the selection from the address; says what could not be followed. */
  async readFragment() {
    if (location.hash && !/^#(?:.*&)?v=/.test(location.hash) && document.getElementById(location.hash.slice(1))) return;
    const { selection, notes } = fragmentSelect(location.hash, this.shape, this.store.get());
    this.note(notes.length ? `${notes.join('; ')}. Shown instead: the default.` : '');
    if (!(await this.measure(selection.launch))) return;
    this.store.set(selection);
    // A link may name a step alone: its warp is the one that issued it.
    void this.settle(/[#&]s=/.test(location.hash) && !/[#&]w=/.test(location.hash));
  }

  /** Keeps the address in step with the selection, without a new entry in the history. */
  writeFragment() {
    clearTimeout(this.writing);
    this.writing = /** @type {any} */ (setTimeout(() => history.replaceState(null, '', `#${this.fragment()}`), 120));
  }

  fragment() {
    const knobs = this.knobs ? `&p=${encodeURIComponent(this.knobs)}` : '';
    return (this.report.launches.length ? fragmentFormat(this.store.get(), this.launch()?.kernel.bare ?? '') : 'v=1') + knobs;
  }

  /**
   * Unpacks what was measured of a launch; false where another was asked for meanwhile.
   * @param {number} launch
   */
  async measure(launch) {
    this.wanted = launch;
    await dataMeasured(this.report.launches[launch]);
    return this.wanted === launch;
  }

  /**
   * Chooses another launch or instruction set, with the first of its traces.
   * @param {number} launch
   * @param {string} isa
   */
  choose(launch, isa) {
    if (this.report.launches[launch]?.measured?.packed) {
      void this.measure(launch).then((still) => still && this.choose(launch, isa));
      return;
    }
    this.wanted = launch;
    const runs = this.report.launches[launch]?.runs ?? [];
    const run = runs.find((one) => one.isa === isa) ?? runs[this.report.launches[launch]?.primary] ?? runs[0];
    if (!run) {
      // A launch that was only measured has neither blocks nor steps.
      if (this.report.launches[launch]) this.store.set({ launch, block: 0, warp: 0, step: 0, range: null });
      return;
    }
    const { block, warp } = this.store.get();
    const trace = run.traces.find((one) => one.index === block) ?? run.traces[0];
    const kept = trace && warp < trace.warps ? warp : 0;
    this.store.set({ launch, isa: run.isa, block: trace?.index ?? 0, warp: kept, step: 0, range: null });
    void this.settle();
  }

  /** Makes the selected step one of the selected warp, or the warp that of the step. @param {boolean} [byStep] */
  async settle(byStep = false) {
    const found = await this.current();
    if (!found) return;
    const { step, warp } = this.store.get();
    if (step < found.trace.steps && found.trace.warp[step] === warp) return;
    if (byStep && step < found.trace.steps) {
      this.store.set({ warp: found.trace.warp[step] });
      return;
    }
    const near = traceNearest(found.index, warp, step);
    if (near >= 0) this.store.set({ step: near });
  }
}
