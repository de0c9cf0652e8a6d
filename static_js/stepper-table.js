// Registers read and written, and addresses, lane by lane.

import { domReplace, el } from './dom.js';
import { STEPPER_LANE_WORDS, stepperIsAddress, stepperType } from './stepper-core.js';
import { valuesAt, valuesPattern, valuesText } from './values-core.js';

/**
 * @typedef {object} StepperShown
 * @property {import('./data.js').WgValues | null} values
 * @property {import('./values-core.js').ValuesIndexed | null} indexed
 * @property {import('./stepper-memory.js').StepperMemory} memory
 * @property {import('./values-core.js').ValueFormat} format
 * @property {HTMLElement} table
 * @property {boolean} wide room for the two halves of the warp side by side
 */

/**
 * Draws the registers and addresses of a step, a row a lane.
 * @param {StepperShown} view
 * @param {import('./data.js').WgRun} run
 * @param {import('./app.js').LoadedTrace} found
 * @param {number} step
 * @param {import('./trace-core.js').LaneState[]} states
 */
export function stepperTable(view, run, found, step, states) {
  const { trace, index } = found;
  const { code } = run;
  const pc = trace.pc[step];
  const mask = trace.mask[step] >>> 0;
  /** @param {number} register @param {boolean} written */
  const column = (register, written) => {
    const [name, type] = [code.registers.names[register], code.registers.types[register]];
    const value = valuesAt(trace, index, code, view.values, view.indexed, step, name, type, written);
    const live = written ? mask : trace.group[step] >>> 0;
    const shown = stepperType(type, code.instructions.opcode[pc], written, value.low, live, stepperIsAddress(code.instructions.text[pc], name));
    return { name, written, value, shown, live };
  };
  const columns = [
    ...code.instructions.reads[pc].map((register) => column(register, false)),
    ...code.instructions.writes[pc].map((register) => column(register, true)),
  ];
  const accesses = view.memory.at(step);
  // Without registers or addresses the table still says what each lane does.
  const bare = !columns.length && !accesses.length;
  const text = (/** @type {typeof columns[0]} */ one, /** @type {number} */ lane) =>
    valuesText(one.shown, one.value.low[lane], one.value.high ? one.value.high[lane] : null, view.format);
  const head = el('tr', {}, el('th', { scope: 'col' }, 'lane'), ...columns.map((one) => el('th', { scope: 'col', class: one.written ? 'written' : 'read' },
    el('span', { class: 'reg-role' }, one.written ? 'writes' : 'reads'), ' ', el('code', {}, one.name), ' ', el('span', { class: 'reg-type' }, one.shown),
    el('span', { class: 'reg-pattern' }, stepperPattern(one, text)))),
  ...accesses.map((access) => el('th', { scope: 'col' }, el('span', { class: 'reg-role' }, access.kind), ' ', `${access.space} address`,
    el('span', { class: 'reg-pattern' }, access.size === 1 ? '1 byte a lane' : `${access.size} bytes a lane`))),
  bare ? el('th', { scope: 'col' }, 'state') : null);
  const rows = states.map((state, lane) => el('tr', { class: state === 'on' ? '' : 'off' },
    el('th', { scope: 'row' }, lane, el('span', { class: 'lane-mark' }, ` ${STEPPER_LANE_WORDS[state].letter}`)),
    ...columns.map((one) => {
      if (one.value.state === 'unrecorded') return el('td', { class: 'na' }, lane ? '' : 'not recorded');
      if (!((one.value.known >>> lane) & 1)) return el('td', { class: 'na' }, text(one, lane));
      const old = one.written && !((mask >>> lane) & 1);
      return el('td', { class: old ? 'na' : null }, text(one, lane));
    }),
    ...accesses.map((access) => el('td', {}, (access.mask >>> lane) & 1 ? view.memory.place(access.space, access.addresses[lane]) : '')),
    bare ? el('td', {}, STEPPER_LANE_WORDS[state].word) : null));
  const missing = columns.some((one) => one.value.state === 'unrecorded');
  const caption = missing ? 'Values are not recorded for this step: a larger --value-budget keeps more of them.'
    : columns.length ? 'Registers before (read) and after (written) this step, lane by lane; registers never written read as 0.' : 'This instruction names no register.';
  // Few columns: the halves of the warp side by side, so that all lanes are in sight.
  const each = columns.length + accesses.length <= 3 && view.wide ? 16 : 32;
  domReplace(view.table, el('p', { class: 'lane-caption' }, caption), el('div', { class: 'lane-halves' },
    ...Array.from({ length: 32 / each }, (_, half) => el('table', { class: 'lane-table', 'aria-label': `Lanes ${half * each} to ${half * each + each - 1}` },
      el('thead', {}, half ? head.cloneNode(true) : head), el('tbody', {}, ...rows.slice(half * each, half * each + each))))));
}

/** What the lanes have in common, in words. @param {any} one @param {(one: any, lane: number) => string} text */
function stepperPattern(one, text) {
  if (one.value.state === 'unrecorded') return 'not recorded';
  if (one.value.state === 'initial') return 'never written: 0';
  const found = valuesPattern({ ...one.value, type: one.shown }, (one.live & one.value.known) >>> 0);
  if (found.kind === 'same') return `${text(one, found.lane)} in every lane`;
  return found.kind === 'affine' ? `${text(one, found.lane)} + ${found.stride} · lane` : 'differs by lane';
}
