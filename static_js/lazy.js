// HTML of launches that are not shown first stands packed in the page, beneath a short form for readers without scripts.

import { dataBytes, dataInflate } from './data.js';

/** What is being unpacked, by its element. @type {WeakMap<Element, Promise<void>>} */
const LAZY_WORK = new WeakMap();

/**
 * What the server made for a launch, parsed but not shown. The HTML is the generator's own, escaped when it was made.
 * @param {Element} packed
 */
async function lazyParse(packed) {
  const html = new TextDecoder().decode(await dataInflate(dataBytes((packed.textContent ?? '').trim())));
  return new DOMParser().parseFromString(html, 'text/html');
}

/** @param {Element} part @param {Element} packed */
async function lazyShow(part, packed) {
  const made = await lazyParse(packed);
  part.removeAttribute('data-lazy');
  part.replaceChildren(...[...made.body.childNodes].map((node) => document.adoptNode(node)));
  part.dispatchEvent(new CustomEvent('wg-unpacked', { bubbles: true }));
}

/**
 * Unpacks what stands packed of a launch.
 * @param {ParentNode} root
 * @param {number} launch
 */
export async function lazyUnpack(root, launch) {
  for (const part of root.querySelectorAll(`.per-launch[data-lazy][data-launch="${launch}"]`)) {
    const packed = part.querySelector('.lazy-html');
    if (!packed) continue;
    const work = LAZY_WORK.get(part) ?? lazyShow(part, packed);
    LAZY_WORK.set(part, work);
    await work;
  }
}

/**
 * A launch's part of a section to read from, whether it is shown, hidden or still packed.
 * @param {ParentNode} root
 * @param {number} launch
 * @returns {Promise<ParentNode | null>}
 */
export async function lazyLook(root, launch) {
  const part = root.querySelector(`.per-launch[data-launch="${launch}"]`);
  const packed = part?.hasAttribute('data-lazy') ? part.querySelector('.lazy-html') : null;
  return packed ? lazyParse(packed) : part;
}
