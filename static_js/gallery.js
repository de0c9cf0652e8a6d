// The index of a gallery: finds cards by their words. Without it the page is a plain list.

import { initTheme } from './theme.js';

/**
 * Indexes of the cards whose text holds every word of the query.
 * @param {string[]} texts lower case
 * @param {string} query
 */
export function galleryMatch(texts, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return texts.map((text) => words.every((word) => text.includes(word)));
}

function galleryStart() {
  const input = /** @type {HTMLInputElement | null} */ (document.getElementById('wg-search'));
  const status = document.getElementById('wg-found');
  const cards = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('[data-search]')]);
  const texts = cards.map((card) => card.dataset.search ?? '');
  const show = () => {
    const found = galleryMatch(texts, input?.value ?? '');
    cards.forEach((card, i) => {
      card.hidden = !found[i];
    });
    const count = found.filter(Boolean).length;
    if (status) status.textContent = count === cards.length ? `${count} reports` : `${count} of ${cards.length} reports`;
  };
  input?.addEventListener('input', show);
  show();
  for (const button of document.querySelectorAll('[data-action="theme"]')) {
    initTheme(/** @type {any} */ ({
      /** @param {string} _ @param {() => void} run */
      on: (_, run) => button.addEventListener('click', run),
    }));
  }
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || document.activeElement === input) return;
    event.preventDefault();
    input?.focus();
  });
}

galleryStart();
