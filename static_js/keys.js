// Every shortcut, as data. A shortcut presses the button that carries its action; `?` shows the whole map.

import { domReplace, el } from './dom.js';

/**
 * @typedef {{key: string, action: string, label: string, group: string}} KeyEntry
 * @type {KeyEntry[]}
 */
export const KEYS = [
  { key: 'j', action: 'next', label: 'Next step', group: 'Stepper' },
  { key: 'k', action: 'previous', label: 'Previous step', group: 'Stepper' },
  { key: 'g', action: 'first', label: 'First step of the warp', group: 'Stepper' },
  { key: 'G', action: 'last', label: 'Last step of the warp', group: 'Stepper' },
  { key: 'p', action: 'play', label: 'Play or pause', group: 'Stepper' },
  { key: 'o', action: 'order', label: 'Follow this warp, or the whole block', group: 'Stepper' },
  { key: 'w', action: 'warp-next', label: 'Next warp', group: 'Stepper' },
  { key: 'W', action: 'warp-previous', label: 'Previous warp', group: 'Stepper' },
  { key: 'l', action: 'loop-next', label: 'Next loop iteration', group: 'Stepper' },
  { key: 'L', action: 'loop-previous', label: 'Previous loop iteration', group: 'Stepper' },
  { key: 's', action: 'line-next', label: 'Next source line', group: 'Stepper' },
  { key: 'S', action: 'line-previous', label: 'Previous source line', group: 'Stepper' },
  { key: 'a', action: 'fixed-next', label: 'Next step on the fixed line', group: 'Stepper' },
  { key: 'A', action: 'fixed-previous', label: 'Previous step on the fixed line', group: 'Stepper' },
  { key: 'd', action: 'diverge-next', label: 'Next divergence', group: 'Stepper' },
  { key: 'D', action: 'diverge-previous', label: 'Previous divergence', group: 'Stepper' },
  { key: 'r', action: 'join-next', label: 'Next reconvergence', group: 'Stepper' },
  { key: 'R', action: 'join-previous', label: 'Previous reconvergence', group: 'Stepper' },
  { key: 'b', action: 'barrier-next', label: 'Next barrier', group: 'Stepper' },
  { key: 'B', action: 'barrier-previous', label: 'Previous barrier', group: 'Stepper' },
  { key: 'e', action: 'release-next', label: 'Next barrier release', group: 'Stepper' },
  { key: 'E', action: 'release-previous', label: 'Previous barrier release', group: 'Stepper' },
  { key: 'v', action: 'format', label: 'Values as automatic, hexadecimal, decimal, float', group: 'Stepper' },
  { key: '+', action: 'zoom-in', label: 'Zoom in', group: 'Schedule' },
  { key: '-', action: 'zoom-out', label: 'Zoom out', group: 'Schedule' },
  { key: '0', action: 'zoom-fit', label: 'Show all', group: 'Schedule' },
  { key: '[', action: 'pan-left', label: 'Pan to earlier rounds', group: 'Schedule' },
  { key: ']', action: 'pan-right', label: 'Pan to later rounds', group: 'Schedule' },
  { key: ',', action: 'edge-previous', label: 'Previous change of the warp’s state', group: 'Schedule' },
  { key: '.', action: 'edge-next', label: 'Next change of the warp’s state', group: 'Schedule' },
  { key: 'm', action: 'marker-a', label: 'Put marker A at the step', group: 'Schedule' },
  { key: 'M', action: 'marker-b', label: 'Put marker B at the step', group: 'Schedule' },
  { key: 'x', action: 'pin', label: 'Pin the warp’s row, or let it go', group: 'Schedule' },
  { key: '/', action: 'search', label: 'Search opcodes or a line', group: 'Schedule' },
  { key: 'f', action: 'match-next', label: 'Next match', group: 'Schedule' },
  { key: 'F', action: 'match-previous', label: 'Previous match', group: 'Schedule' },
  { key: 'h', action: 'heat', label: 'Heat by executions, sectors, divergence', group: 'Code' },
  { key: 'u', action: 'unfix', label: 'Let the fixed line go', group: 'Code' },
  { key: 'n', action: 'launch-next', label: 'Next launch', group: 'Page' },
  { key: 'i', action: 'isa', label: 'PTX or SASS', group: 'Page' },
  { key: 'c', action: 'copy-link', label: 'Copy a link to this view', group: 'Page' },
  { key: 't', action: 'theme', label: 'Light or dark', group: 'Page' },
  { key: '?', action: 'keys', label: 'This list', group: 'Page' },
];

/**
 * The action of a key press, or null: none while typing, with a command key, or in an open dialog.
 * @param {{key: string, ctrlKey?: boolean, metaKey?: boolean, altKey?: boolean, target?: any}} event
 */
export function keysAction(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const target = event.target;
  const tag = target?.tagName ?? '';
  if (tag === 'SELECT' || tag === 'TEXTAREA' || target?.isContentEditable) return null;
  if (tag === 'INPUT' && !/^(button|checkbox|radio|range|submit|reset)$/.test(target.type ?? 'text')) return null;
  return KEYS.find((entry) => entry.key === event.key)?.action ?? null;
}

/** Shortcuts are on unless the reader turned them off (WCAG 2.1.4); kept for the page only. */
const keysState = { on: true };

/** @param {ParentNode} root writes each button's shortcut on it */
export function keysLabel(root) {
  for (const button of root.querySelectorAll('[data-action]')) {
    const entry = KEYS.find((one) => one.action === button.getAttribute('data-action'));
    if (!entry) continue;
    button.setAttribute('data-key', entry.key);
    button.setAttribute('aria-keyshortcuts', /^[A-Z]$/.test(entry.key) ? `Shift+${entry.key}` : entry.key);
    const title = button.getAttribute('title') ?? '';
    if (!title.endsWith(`(${entry.key})`)) {
      button.setAttribute('title', `${title || entry.label} (${entry.key})`);
    }
  }
}

/** The dialog with all shortcuts. */
function keysDialog() {
  const dialog = /** @type {HTMLDialogElement} */ (el('dialog', { id: 'wg-keys', class: 'keys', 'aria-labelledby': 'wg-keys-title' }));
  const groups = [...new Set(KEYS.map((entry) => entry.group))];
  const toggle = /** @type {HTMLInputElement} */ (el('input', { type: 'checkbox', id: 'wg-keys-on', checked: true }));
  toggle.addEventListener('change', () => {
    keysState.on = toggle.checked;
  });
  domReplace(
    dialog,
    el('h2', { id: 'wg-keys-title' }, 'Keyboard'),
    el('div', { class: 'keys-groups' }, ...groups.map((group) =>
      el('section', {}, el('h3', {}, group), el('dl', {},
        ...KEYS.filter((entry) => entry.group === group).map((entry) =>
          el('div', {}, el('dt', {}, el('kbd', {}, entry.key)), el('dd', {}, entry.label))))))),
    el('p', { class: 'keys-more' }, 'In a code pane the arrow keys, Page Up, Page Down, Home and End move the caret and Enter fixes ' +
      'the line. In the waveform the arrow keys choose step and warp; the wheel zooms while it has ' +
      'the focus or Ctrl is held, Shift and the wheel pan, a click on a row’s name pins it, Shift and a click put marker B.'),
    el('p', {}, el('label', {}, toggle, ' Single-key shortcuts')),
    el('form', { method: 'dialog' }, el('button', { class: 'wg-button' }, 'Close')),
  );
  document.body.append(dialog);
  return dialog;
}

/**
 * @param {{perform: (action: string) => void, on: (action: string, run: () => void) => void}} app
 */
export function keysInstall(app) {
  /** @type {HTMLDialogElement | null} */
  let dialog = null;
  app.on('keys', () => {
    dialog ??= keysDialog();
    if (dialog.open) dialog.close();
    else dialog.showModal();
  });
  document.addEventListener('keydown', (event) => {
    const action = keysAction(event);
    if (!action || event.defaultPrevented || !keysState.on) return;
    if (dialog?.open && action !== 'keys') return;
    const buttons = /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll(`[data-action="${action}"]`));
    if (!buttons.length) return;
    event.preventDefault();
    if (![...buttons].every((button) => button.disabled)) app.perform(action);
  });
}
