// Shared memory by bank and the buffers touched, as they are at the chosen step.

import { domButton, domCount, domReplace, el } from './dom.js';
import { memoryAccess, memoryBuffer, memoryItemSize, memoryRows, MemoryReplay } from './memory-core.js';
import { stepperGuess } from './stepper-core.js';
import { valuesText } from './values-core.js';

/**
 * @typedef {import('./app.js').LoadedTrace} MemoryLoaded
 * @typedef {import('./data.js').WgAccesses} PanelAccesses
 * @typedef {import('./values-core.js').ValueFormat} PanelFormat
 */

const PANEL_ROWS = 12;

/** Type that a word was stored as, from its writer's opcode, else a guess. @param {string} opcode @param {number} value */
function panelType(opcode, value) {
  const typed = opcode.split('.').find((part) => /^[fsu](32)$/.test(part));
  return typed ?? stepperGuess([value], 1);
}

const PANEL_LETTERS = 5;

/** Short text of a 4-byte word for a narrow cell. @param {string} type @param {number} value @param {PanelFormat} format */
export function panelWord(type, value, format) {
  const text = valuesText(type, value, null, format === 'auto' && type === 'b32' ? 'hex' : format);
  if (text.includes(', ')) return text.split(', ').map(panelShort).join('\n');
  return text.startsWith('0x') ? text.slice(2) : panelShort(text);
}

/** A number with as many digits as a narrow cell has room for; the cell's title says all. @param {string} text */
function panelShort(text) {
  if (text.length <= PANEL_LETTERS) return text;
  const number = Number(text);
  if (!Number.isFinite(number)) return text;
  const forms = [3, 2, 1].map((digits) => String(Number(number.toPrecision(digits))));
  return [...forms, number.toExponential(1), number.toExponential(0)].find((form) => form.length <= PANEL_LETTERS) ?? number.toExponential(0);
}

export class StepperMemory {
  /** @param {import('./app.js').App} app */
  constructor(app) {
    this.app = app;
    /** @type {PanelAccesses | null} */
    this.accesses = null;
    /** @type {MemoryLoaded | null} */
    this.loaded = null;
    /** @type {MemoryReplay | null} */
    this.shared = null;
    /** @type {MemoryReplay | null} */
    this.global = null;
    /** Bytes of shared memory that the block touches. */
    this.extent = 0;
    this.row = 0;
    this.halves = false;
    /** @type {(() => void) | null} */
    this.again = null;
    this.node = el('div', { class: 'step-memory' });
  }

  /** @param {MemoryLoaded} loaded @param {PanelAccesses | null} accesses */
  use(loaded, accesses) {
    if (this.loaded === loaded) return;
    this.loaded = loaded;
    this.accesses = accesses;
    this.shared = accesses ? new MemoryReplay(accesses, 1) : null;
    this.global = accesses ? new MemoryReplay(accesses, 0) : null;
    this.extent = accesses ? panelExtent(accesses) : 0;
    this.row = 0;
  }

  /** Accesses of a step, with lane addresses. @param {number} step */
  at(step) {
    if (!this.accesses) return [];
    const [from, to] = memoryRows(this.accesses, step);
    return Array.from({ length: to - from }, (_, i) => memoryAccess(/** @type {PanelAccesses} */ (this.accesses), from + i));
  }

  /** @param {number} step @param {PanelFormat} format */
  show(step, format) {
    this.again = () => this.show(step, format);
    const loaded = this.loaded;
    if (!loaded || !this.accesses) {
      domReplace(this.node, el('p', { class: 'quiet' }, 'Memory accesses of this trace were not recorded.'));
      return;
    }
    const last = this.accesses.step.length ? this.accesses.step[this.accesses.step.length - 1] : -1;
    const cut = !this.accesses.complete && step > last
      ? el('p', { class: 'quiet' }, `Accesses after step ${last} were not recorded (--value-budget): what follows is memory as it was then.`)
      : null;
    const accesses = this.at(step);
    domReplace(this.node, cut, this.sharedPanel(step, format, accesses), this.bufferPanel(step, format, accesses));
  }

  /** @param {number} step @param {PanelFormat} format @param {ReturnType<typeof memoryAccess>[]} accesses */
  sharedPanel(step, format, accesses) {
    if (!this.extent || !this.shared) return null;
    this.shared.seek(step);
    const touched = panelTouched(accesses.filter((access) => access.space === 'shared'));
    const total = Math.ceil(this.extent / 128);
    if (touched.size) {
      const rows = [...touched.keys()].map((address) => Math.floor(address / 128));
      const [low, high] = [Math.min(...rows), Math.max(...rows)];
      if (low < this.row || high >= this.row + PANEL_ROWS) this.row = Math.max(0, Math.min(low, total - PANEL_ROWS));
    }
    const shown = Math.min(PANEL_ROWS, total - this.row);
    this.halves = this.looksHalf(this.row * 32, shown * 32);
    const head = el('tr', {}, el('th', { scope: 'col' }, 'offset'), ...Array.from({ length: 32 }, (_, bank) => el('th', { scope: 'col' }, bank)));
    const body = Array.from({ length: shown }, (_, i) => {
      const base = (this.row + i) * 128;
      return el('tr', {}, el('th', { scope: 'row' }, '0x' + base.toString(16)),
        ...Array.from({ length: 32 }, (_, bank) => this.cell(/** @type {MemoryReplay} */ (this.shared), base + bank * 4, touched, format, null)));
    });
    const more = total > PANEL_ROWS
      ? el('div', { class: 'tools' },
        el('button', { type: 'button', class: 'wg-button', disabled: this.row === 0, onclick: () => this.page(-PANEL_ROWS, total) }, 'Earlier rows'),
        el('button', { type: 'button', class: 'wg-button', disabled: this.row + PANEL_ROWS >= total, onclick: () => this.page(PANEL_ROWS, total) }, 'Later rows'),
        el('span', { class: 'muted' }, `rows ${this.row + 1}–${this.row + shown} of ${total}`))
      : null;
    return el('div', { class: 'bank-panel' }, el('h3', {}, 'Shared memory by bank'),
      el('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Shared memory by bank at this step' },
        el('table', { class: 'words' }, el('thead', {}, head), el('tbody', {}, ...body))),
      el('p', { class: 'muted small' }, 'r read, w written, a atomic at this step; · no store so far; ? a value that was not kept.'), more);
  }

  /**
   * Do the shown words of shared memory hold pairs of halves? Machine code stores them without a type, PTX as
   * 32-bit integers: only many words together tell.
   * @param {number} first @param {number} count words
   */
  looksHalf(first, count) {
    /** @type {number[]} */
    const words = [];
    for (let at = first; at < first + count && this.shared; at++) {
      const word = this.shared.word(at * 4);
      if (word.state !== 1) continue;
      if (/\.(f32|s32)\b/.test(this.opcode(word.step))) return false;
      words.push(word.value);
    }
    return stepperGuess(words, -1) === 'f16x2';
  }

  /** @param {number} by @param {number} total */
  page(by, total) {
    this.row = Math.max(0, Math.min(total - PANEL_ROWS, this.row + by));
    this.again?.();
  }

  /**
   * @param {MemoryReplay} replay
   * @param {number} address
   * @param {Map<number, {mark: string, lanes: number[]}>} touched
   * @param {PanelFormat} format
   * @param {string | null} type
   */
  cell(replay, address, touched, format, type) {
    const word = replay.word(address);
    const hit = touched.get(address);
    const opcode = word.step >= 0 && this.loaded ? this.opcode(word.step) : '';
    const shown = type ?? (replay === this.shared && this.halves ? 'f16x2' : panelType(opcode, word.value));
    const text = word.state === 0 ? '·' : word.state === 2 ? '?' : panelWord(shown, word.value, format);
    const value = word.state === 1 ? `${valuesText(shown, word.value, null, format)} = ` : '';
    const who = word.step >= 0 && this.loaded ? `; last written by warp ${this.loaded.trace.warp[word.step]} at step ${word.step}` : '';
    const lanes = hit ? `; lanes ${hit.lanes.join(', ')}` : '';
    return el('td', { class: hit ? `hit hit-${hit.mark}` : null, title: `${value}${valuesText('b32', word.value, null, 'hex')}${who}${lanes}` },
      text, hit ? el('sup', {}, hit.mark) : null);
  }

  /** @param {number} step */
  opcode(step) {
    const run = this.app.run();
    return run && this.loaded ? run.code.instructions.opcode[this.loaded.trace.pc[step]] ?? '' : '';
  }

  /** @param {number} step @param {PanelFormat} format @param {ReturnType<typeof memoryAccess>[]} accesses */
  bufferPanel(step, format, accesses) {
    const buffers = this.app.run()?.buffers ?? [];
    if (!this.global) return null;
    this.global.seek(step);
    const mine = accesses.filter((access) => access.space === 'global');
    const touched = panelTouched(mine);
    /** @type {Map<import('./data.js').WgBuffer, number[]>} */
    const byBuffer = new Map();
    for (const address of touched.keys()) {
      const buffer = memoryBuffer(buffers, address);
      if (buffer) byBuffer.set(buffer, [...(byBuffer.get(buffer) ?? []), address]);
    }
    if (!byBuffer.size) return null;
    return el('div', { class: 'buffer-panel' }, ...[...byBuffer].map(([buffer, addresses]) => {
      const [base, item] = [Number(buffer.base), memoryItemSize(buffer.dtype)];
      const rows = [...new Set(addresses.map((address) => Math.floor((address - base) / 64)))].sort((a, b) => a - b);
      const type = /^float32$/.test(buffer.dtype) ? 'f32' : /^int32$/.test(buffer.dtype) ? 's32' : /^uint32$/.test(buffer.dtype) ? 'u32' : null;
      const body = rows.slice(0, 8).map((row) => el('tr', {},
        el('th', { scope: 'row' }, `[${domCount(Math.floor((row * 64) / item))}]`),
        ...Array.from({ length: 16 }, (_, i) => this.cell(/** @type {MemoryReplay} */ (this.global), base + row * 64 + i * 4, touched, format, type))));
      return el('div', {}, el('h3', {}, `Buffer ${buffer.name}`, el('span', { class: 'muted' }, ` ${buffer.dtype}, as stores of this block left it`)),
        el('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': `Words of buffer ${buffer.name} around this access` },
          el('table', { class: 'words' }, el('tbody', {}, ...body))),
        rows.length > 8 ? el('p', { class: 'muted small' }, `and ${rows.length - 8} more rows of 64 bytes`) : null);
    }));
  }

  /** Where an address lies, for people. @param {string} space @param {number} address */
  place(space, address) {
    if (space !== 'global') return '0x' + address.toString(16);
    const buffer = memoryBuffer(this.app.run()?.buffers ?? [], address);
    if (!buffer) return '0x' + address.toString(16);
    const [offset, item] = [address - Number(buffer.base), memoryItemSize(buffer.dtype)];
    return offset % item === 0 ? `${buffer.name}[${offset / item}]` : `${buffer.name}+${offset} B`;
  }
}

/** @param {PanelAccesses} accesses */
function panelExtent(accesses) {
  let extent = 0;
  for (let row = 0; row < accesses.step.length; row++) {
    if (accesses.space[row] !== 1) continue;
    const end = row + 1 < accesses.step.length ? accesses.offset[row + 1] : accesses.addresses.length;
    for (let i = accesses.offset[row]; i < end; i++) extent = Math.max(extent, accesses.addresses[i] + accesses.size[row]);
  }
  return extent;
}

/** Words that accesses touch, with the lanes. @param {ReturnType<typeof memoryAccess>[]} accesses */
function panelTouched(accesses) {
  /** @type {Map<number, {mark: string, lanes: number[]}>} */
  const touched = new Map();
  for (const access of accesses) {
    const mark = access.kind === 'load' ? 'r' : access.kind === 'store' ? 'w' : 'a';
    for (let lane = 0; lane < 32; lane++) {
      if (!((access.mask >>> lane) & 1)) continue;
      const last = access.addresses[lane] + access.size - 1;
      for (let word = Math.floor(access.addresses[lane] / 4) * 4; word <= last; word += 4) {
        const hit = touched.get(word);
        if (!hit) touched.set(word, { mark, lanes: [lane] });
        else if (!hit.lanes.includes(lane)) hit.lanes.push(lane);
      }
    }
  }
  return touched;
}

/** Buttons of a pair of jumps. @param {string} action @param {string} label @param {string} face */
export function stepperPair(action, label, face) {
  return el('span', { class: 'pair', role: 'group', 'aria-label': face },
    domButton(`${action}-previous`, `Previous ${label}`, '‹'), el('span', { class: 'pair-name', 'aria-hidden': 'true' }, face),
    domButton(`${action}-next`, `Next ${label}`, '›'));
}
