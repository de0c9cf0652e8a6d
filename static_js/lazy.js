// HTML of launches that are not shown first stands packed in the page, beneath a short form for readers without scripts.

import { dataBytes, dataInflate } from './data.js';

/**
 * Unpacks what the server made for a launch. The HTML is the generator's own, escaped when it was made.
 * @param {HTMLElement} root
 * @param {number} launch
 */
export async function lazyUnpack(root, launch) {
  const part = root.querySelector(`.per-launch[data-lazy][data-launch="${launch}"]`);
  const packed = part?.querySelector('.lazy-html');
  if (!part || !packed) return;
  part.removeAttribute('data-lazy');
  const html = new TextDecoder().decode(await dataInflate(dataBytes((packed.textContent ?? '').trim())));
  const made = new DOMParser().parseFromString(html, 'text/html');
  part.replaceChildren(...[...made.body.childNodes].map((node) => document.adoptNode(node)));
}
