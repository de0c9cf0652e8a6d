// The visible window of the waveform as a real table.

import { domCount, domReplace, el } from './dom.js';
import { WAVE_NAMES, waveCounts, waveStepAt } from './waveform-core.js';

/**
 * @typedef {{blocks: import('./schedule-draw.js').WaveBlock[], from: number, to: number, code: import('./data.js').WgCode}} TableWindow
 */

const TABLE_WARPS = 64;
const TABLE_STEPS = 300;
/** Order of the columns: what issues first, then what waits. */
const TABLE_STATES = [1, 2, 4, 3, 6, 5];

export class ScheduleTable {
  constructor() {
    this.timer = 0;
    this.region = el('div', { class: 'scroll tall', role: 'region', tabindex: 0, 'aria-label': 'The visible window as a table' });
    this.node = el('details', { class: 'wave-table', open: true }, el('summary', {}, 'The visible window as a table'), this.region);
  }

  /** Redraws once panning has come to rest. @param {() => TableWindow | null} window */
  later(window) {
    clearTimeout(this.timer);
    this.timer = /** @type {any} */ (setTimeout(() => {
      const shown = window();
      if (shown) this.show(shown);
    }, 160));
  }

  /** @param {TableWindow} shown */
  show(shown) {
    const many = shown.blocks.length > 1;
    const rows = shown.blocks.flatMap((block) => Array.from({ length: block.loaded.trace.warps }, (_, warp) => ({ block, warp })));
    const summary = el('table', { class: 'grid' },
      el('caption', {}, `Rounds ${domCount(shown.from)} to ${domCount(Math.max(shown.from, shown.to - 1))}: rounds of each warp by state`),
      el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Warp'), ...TABLE_STATES.map((state) => el('th', { scope: 'col', class: 'r' }, WAVE_NAMES[state])))),
      el('tbody', {}, ...rows.slice(0, TABLE_WARPS).map(({ block, warp }) => {
        const counts = waveCounts(block.pyramid, warp, shown.from, shown.to);
        return el('tr', {}, el('th', { scope: 'row' }, `${many ? `block ${block.loaded.trace.block.join(',')} ` : ''}warp ${warp}`),
          ...TABLE_STATES.map((state) => el('td', { class: 'r' }, domCount(counts[state]))));
      })));
    domReplace(this.region, summary, rows.length > TABLE_WARPS ? el('p', { class: 'quiet' }, `and ${rows.length - TABLE_WARPS} more warps`) : null, this.steps(shown, many));
  }

  /** Single steps, where few enough are visible. @param {TableWindow} shown @param {boolean} many */
  steps(shown, many) {
    /** @type {Array<{block: import('./schedule-draw.js').WaveBlock, step: number}>} */
    const steps = [];
    for (const block of shown.blocks) {
      const { trace, index } = block.loaded;
      for (let warp = 0; warp < trace.warps; warp++) {
        let step = waveStepAt(trace, index, warp, shown.from);
        while (step >= 0 && trace.round[step] < shown.to && steps.length <= TABLE_STEPS) {
          steps.push({ block, step });
          const next = index.start[warp] + index.position[step] + 1;
          step = next < index.start[warp + 1] ? index.steps[next] : -1;
        }
      }
    }
    if (steps.length > TABLE_STEPS) return el('p', { class: 'quiet' }, `Single steps are listed here once ${TABLE_STEPS} or fewer are visible: zoom in.`);
    steps.sort((a, b) => a.block.loaded.trace.round[a.step] - b.block.loaded.trace.round[b.step] || a.step - b.step);
    const { text, source_line: sourceLine } = shown.code.instructions;
    return el('table', { class: 'grid' }, el('caption', {}, 'Steps of the window'),
      el('thead', {}, el('tr', {}, ...['Round', 'Warp', 'State', 'Instruction', 'Line'].map((name) => el('th', { scope: 'col' }, name)))),
      el('tbody', {}, ...steps.map(({ block, step }) => {
        const { trace } = block.loaded;
        const pc = trace.pc[step];
        return el('tr', {}, el('td', {}, domCount(trace.round[step])), el('td', {}, `${many ? `${trace.block.join(',')}: ` : ''}${trace.warp[step]}`),
          el('td', {}, WAVE_NAMES[block.states[step]]), el('td', {}, el('code', {}, text[pc])), el('td', {}, sourceLine[pc] ?? ''));
      })));
  }
}
