// The table of counters: search by words, by group, with or without zeros.

import { lazyUnpack } from './lazy.js';

/**
 * Whether a row passes.
 * @param {string} text the row's text in lower case
 * @param {string[]} words
 */
export function countersPass(text, words) {
  return words.every((word) => text.includes(word));
}

/**
 * @param {HTMLElement} root
 * @param {import('./app.js').App} app
 */
export function initCounters(root, app) {
  const search = /** @type {HTMLInputElement | null} */ (root.querySelector('#wg-counter-search'));
  const zeros = /** @type {HTMLInputElement | null} */ (root.querySelector('#wg-counter-zeros'));
  const found = root.querySelector('#wg-counter-found');
  const chips = /** @type {HTMLElement[]} */ ([...root.querySelectorAll('[data-counter-group]')]);
  if (!search || !zeros) return;
  let group = '';
  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let [shown, total] = [0, 0];
    const part = root.querySelector('.per-launch:not([hidden])');
    for (const body of /** @type {HTMLTableSectionElement[]} */ ([...(part?.querySelectorAll('tbody[data-group]') ?? [])])) {
      const listed = body.dataset.group === 'opcodes';
      const wanted = !group || listed || body.dataset.group === group;
      let visible = 0;
      for (const row of body.rows) {
        if (row.classList.contains('group-row')) continue;
        row.hidden = !countersPass((row.textContent ?? '').toLowerCase(), words) || (!zeros.checked && row.classList.contains('zero'));
        if (!row.hidden) visible++;
        if (!listed) total++;
      }
      body.hidden = !wanted || !visible;
      if (wanted && !listed) shown += visible;
    }
    if (found) found.textContent = shown === total ? `${total} counters` : `${shown} of ${total} counters`;
    for (const chip of chips) chip.setAttribute('aria-pressed', String((chip.dataset.counterGroup ?? '') === group));
  };
  for (const chip of chips) {
    chip.addEventListener('click', () => {
      group = chip.dataset.counterGroup ?? '';
      show();
    });
  }
  search.addEventListener('input', show);
  zeros.addEventListener('change', show);
  app.store.subscribe((_, changed) => {
    if (changed.has('launch')) void follow();
  });
  const follow = async () => {
    await lazyUnpack(root, app.store.get().launch);
    show();
  };
  void follow();
}
