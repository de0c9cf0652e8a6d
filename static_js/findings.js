// Filters the table of findings by severity and category.

import { domReplace, el } from './dom.js';

/**
 * Rows that pass, by index.
 * @param {Array<{severity: string, category: string}>} rows
 * @param {string} severity '' for all
 * @param {string} category '' for all
 */
export function findingsPass(rows, severity, category) {
  return rows.map((row) => (!severity || row.severity === severity) && (!category || row.category === category));
}

/**
 * @param {HTMLElement} root
 * @param {import('./app.js').App} app
 */
export function initFindings(root, app) {
  const rows = /** @type {HTMLElement[]} */ ([...root.querySelectorAll('[data-severity][data-category]')]);
  if (rows.length < 2) return;
  const shown = () => facts.filter((_, i) => !rows[i].closest('.per-launch[hidden]'));
  const facts = rows.map((row) => ({ severity: row.dataset.severity ?? '', category: row.dataset.category ?? '' }));
  const state = { severity: '', category: '' };
  const status = el('p', { class: 'filter-count', role: 'status' });
  /** @type {Array<() => void>} */
  const refresh = [];
  const show = () => {
    const passed = findingsPass(facts, state.severity, state.category);
    rows.forEach((row, i) => row.classList.toggle('filtered-out', !passed[i]));
    const visible = rows.filter((row, i) => passed[i] && !row.closest('.per-launch[hidden]')).length;
    const total = rows.filter((row) => !row.closest('.per-launch[hidden]')).length;
    const noun = total === 1 ? 'finding' : 'findings';
    status.textContent = visible === total ? `${total} ${noun}` : `${visible} of ${total} ${noun}`;
    for (const run of refresh) run();
  };
  /** @param {'severity' | 'category'} name @param {string} label */
  const group = (name, label) => {
    const values = [...new Set(facts.map((fact) => fact[name]))];
    if (name === 'severity') values.sort((a, b) => findingsRank(a) - findingsRank(b));
    else values.sort();
    return el('div', { class: 'filter-group', role: 'group', 'aria-label': label },
      el('span', { class: 'filter-label', 'aria-hidden': 'true' }, label),
      ...['', ...values].map((value) => {
        const button = el('button', { type: 'button', class: 'wg-button chip', onclick: () => {
          state[name] = value;
          show();
        } }, value || 'all');
        refresh.push(() => {
          button.setAttribute('aria-pressed', String(state[name] === value));
          // What this launch has none of is no choice, unless it is the one made.
          button.hidden = Boolean(value) && state[name] !== value && !shown().some((fact) => fact[name] === value);
        });
        return button;
      }));
  };
  const bar = el('div', { class: 'filters' }, group('severity', 'Severity'), group('category', 'Category'), status);
  const heading = root.querySelector('h2');
  if (heading) heading.after(bar);
  else domReplace(root, bar, ...root.childNodes);
  app.store.subscribe((_, changed) => {
    if (changed.has('launch')) show();
  });
  show();
}

/** @param {string} severity */
function findingsRank(severity) {
  const at = ['critical', 'warning', 'info'].indexOf(severity);
  return at < 0 ? 3 : at;
}
