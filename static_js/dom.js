// Building DOM by textContent: kernel names and sources are hostile text.

/** @typedef {Node | string | number | null | undefined | false} DomChild */

// The same set as report/text.py: controls, bidi and invisible characters, lone surrogates.
const DOM_ODD = /[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\p{Surrogate}/gu;

/**
 * Text with every character that cannot be seen, or that reorders what is seen, written as `\\uXXXX`.
 * @param {string} text
 */
export function domVisible(text) {
  return text.replace(DOM_ODD, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * @param {Element} node
 * @param {Record<string, any>} attributes
 * @param {DomChild[]} children
 */
function domFill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : domVisible(String(child)));
  }
  return node;
}

/**
 * An HTML element with attributes (`onclick` takes a function) and children.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...DomChild} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  return /** @type {HTMLElement} */ (domFill(document.createElement(tag), attributes, children));
}

/**
 * The same for SVG.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...DomChild} children
 * @returns {SVGElement}
 */
export function svgEl(tag, attributes = {}, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  return /** @type {SVGElement} */ (domFill(node, attributes, children));
}

/**
 * A button that performs an action of the key map; keys.js adds its shortcut.
 * @param {string} action
 * @param {string} label what a screen reader says
 * @param {DomChild} [face] what is shown, if not the label
 * @param {Record<string, any>} [attributes]
 */
export function domButton(action, label, face, attributes = {}) {
  const named = face === undefined ? {} : { 'aria-label': label, title: label };
  return /** @type {HTMLButtonElement} */ (
    el('button', { type: 'button', class: 'wg-button', 'data-action': action, ...named, ...attributes }, face ?? label)
  );
}

/** @param {Element} node @param {...DomChild} children */
export function domReplace(node, ...children) {
  node.replaceChildren(...children.filter((c) => c !== null && c !== undefined && c !== false).map((c) =>
    c instanceof Node ? c : domVisible(String(c))));
}

let domSaying = 0;

/**
 * Says something to screen readers and, where `everybody` should know it, on the screen for a moment: a key
 * that finds nothing must not look dead.
 * @param {string} text
 * @param {boolean} [everybody]
 */
export function domAnnounce(text, everybody = false) {
  let live = document.getElementById('wg-live');
  if (!live) {
    live = el('div', { id: 'wg-live', role: 'status', 'aria-live': 'polite', class: 'wg-live' });
    document.body.append(live);
  }
  live.textContent = domVisible(text);
  live.classList.toggle('said', everybody);
  clearTimeout(domSaying);
  if (everybody) domSaying = /** @type {any} */ (setTimeout(() => live.classList.remove('said'), 3200));
}

const domNumbers = new Intl.NumberFormat('en-US');

/** @param {number} value */
export function domCount(value) {
  return domNumbers.format(value);
}

/**
 * 12345 → "12.3k": for narrow columns; the exact value stands in a title beside it.
 * @param {number} value
 */
export function domShort(value) {
  const units = ['', 'k', 'M', 'G', 'T'];
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  const digits = unit === 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return (unit === 0 && !Number.isInteger(value) ? value.toFixed(1) : value.toFixed(digits)) + units[unit];
}

/** @param {number} mask */
export function domMask(mask) {
  return '0x' + (mask >>> 0).toString(16).padStart(8, '0');
}
