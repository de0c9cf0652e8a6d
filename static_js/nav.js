// The section list, and the choice of launch and instruction set.

import { domAnnounce, domReplace, el } from './dom.js';
import { lazyUnpack } from './lazy.js';

/** Fades the end of the section list where more of it can be scrolled to. @param {HTMLElement} list */
function navMore(list) {
  const mark = () => list.toggleAttribute('data-more', list.scrollWidth - list.clientWidth - list.scrollLeft > 4);
  list.addEventListener('scroll', mark, { passive: true });
  new ResizeObserver(mark).observe(list);
}

/** Marks the section that is being read in the section list. */
function navFollow() {
  const list = /** @type {HTMLElement | null} */ (document.querySelector('.toc'));
  if (list) navMore(list);
  const links = new Map([...document.querySelectorAll('a[data-toc]')].map((link) => [link.getAttribute('data-toc'), link]));
  if (!('IntersectionObserver' in window)) return;
  /** @type {Set<string>} */
  const seen = new Set();
  const order = [...links.keys()];
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const id = entry.target.getAttribute('data-section') ?? '';
      if (entry.isIntersecting) seen.add(id);
      else seen.delete(id);
    }
    const current = order.find((id) => id !== null && seen.has(id));
    for (const [id, link] of links) {
      if (id === current) {
        link.setAttribute('aria-current', 'true');
        // The list follows sideways; the page itself must not move.
        if (list) navReveal(list, /** @type {HTMLElement} */ (link));
      } else link.removeAttribute('aria-current');
    }
  }, { rootMargin: '-80px 0px -55% 0px' });
  for (const section of document.querySelectorAll('[data-section]')) observer.observe(section);
}

/** @param {HTMLElement} list @param {HTMLElement} link */
function navReveal(list, link) {
  const [box, at] = [list.getBoundingClientRect(), link.getBoundingClientRect()];
  if (at.left < box.left) list.scrollLeft -= box.left - at.left + 24;
  else if (at.right > box.right - 40) list.scrollLeft += at.right - box.right + 48;
}

/**
 * Shows what the server made for the selected launch and hides the rest.
 * @param {number} launch
 */
function navShow(launch) {
  for (const part of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('.per-launch[data-launch]'))) {
    part.hidden = Number(part.dataset.launch) !== launch;
  }
  for (const row of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-launch-row]'))) {
    if (Number(row.dataset.launchRow) === launch) row.setAttribute('aria-current', 'true');
    else row.removeAttribute('aria-current');
  }
}

/**
 * @param {import('./app.js').App} app
 * @param {HTMLElement | null} bar where the choices go
 */
export function initNav(app, bar) {
  navFollow();
  const { launches } = app.report;
  const launchSelect = /** @type {HTMLSelectElement} */ (el('select', { id: 'wg-launch', 'aria-label': 'Launch' },
    ...launches.map((launch, i) => el('option', { value: i }, navName(launch, i)))));
  const isaSelect = /** @type {HTMLSelectElement} */ (el('select', { id: 'wg-isa', 'aria-label': 'Instruction set' }));
  launchSelect.addEventListener('change', () => app.choose(Number(launchSelect.value), app.store.get().isa));
  isaSelect.addEventListener('change', () => app.choose(app.store.get().launch, isaSelect.value));
  /** @param {string} action @param {string} label @param {string} face */
  const button = (action, label, face) =>
    el('button', { type: 'button', class: 'tool', 'data-action': action, 'aria-label': label, title: label }, el('span', { 'aria-hidden': 'true' }, face));
  const launchNext = /** @type {HTMLButtonElement} */ (button('launch-next', 'Next launch', '⏭'));
  const isaNext = /** @type {HTMLButtonElement} */ (button('isa', 'Other instruction set', '⇄'));
  const link = button('copy-link', 'Copy a link to this view', '🔗︎');
  domReplace(launchNext, el('span', { 'aria-hidden': 'true' }, '»'));
  domReplace(link, el('span', { 'aria-hidden': 'true' }, '#'));
  if (bar) bar.prepend(el('span', { class: 'choices' }, launchSelect, launchNext, isaSelect, isaNext), link);
  app.on('launch-next', () => app.choose((app.store.get().launch + 1) % launches.length, app.store.get().isa));
  app.on('isa', () => {
    const runs = app.launch()?.runs ?? [];
    const at = runs.findIndex((run) => run.isa === app.store.get().isa);
    if (runs.length > 1) app.choose(app.store.get().launch, runs[(at + 1) % runs.length].isa);
  });
  app.on('copy-link', () => {
    history.replaceState(null, '', `#${app.fragment()}`);
    void navCopy(location.href);
  });
  const show = () => {
    const { launch, isa } = app.store.get();
    navShow(launch);
    // Sections that do more with their packed parts unpack them too; whoever is first does the work.
    for (const id of NAV_PACKED) {
      const root = document.getElementById(`sec-${id}`);
      if (root) void lazyUnpack(root, launch);
    }
    launchSelect.value = String(launch);
    const runs = app.launch()?.runs ?? [];
    navExecuted(runs.length > 0);
    domReplace(isaSelect, ...runs.map((run) => el('option', { value: run.isa, selected: run.isa === isa }, run.isa.toUpperCase())));
    isaSelect.hidden = isaNext.hidden = runs.length < 2;
    launchSelect.hidden = launchNext.hidden = launches.length < 2;
    launchNext.disabled = launches.length < 2;
    isaNext.disabled = runs.length < 2;
  };
  show();
  app.store.subscribe((_, changed) => {
    if (changed.has('launch') || changed.has('isa')) show();
  });
}

/** Sections whose parts stand packed on pages of many launches. */
const NAV_PACKED = ['verdict', 'advice', 'occupancy', 'roofline', 'bottleneck', 'loops', 'provenance'];

/** Sections that replay an execution: a launch that was only measured has nothing for them. */
const NAV_REPLAY = ['findings', 'stepper', 'schedule', 'memory', 'mix'];

/** @param {boolean} executed */
function navExecuted(executed) {
  for (const id of NAV_REPLAY) {
    const section = document.getElementById(`sec-${id}`);
    const link = document.querySelector(`a[data-toc="${id}"]`)?.parentElement;
    if (section) section.hidden = !executed;
    if (link) link.hidden = !executed;
  }
}

/** @param {import('./data.js').WgLaunch} launch @param {number} i */
function navName(launch, i) {
  const { grid, block } = launch.launch;
  const shape = grid?.[0] && block?.[0] ? ` ${grid.join('×')} · ${block.join('×')}` : '';
  return `${i + 1}. ${launch.label || launch.kernel.bare || launch.kernel.demangled}${shape} ${launch.arch}`;
}

/** @param {string} text */
async function navCopy(text) {
  try {
    await navigator.clipboard.writeText(text);
    domAnnounce('The link was copied.', true);
  } catch {
    domAnnounce('The link stands in the address bar: this browser does not let the page copy it.', true);
  }
}
