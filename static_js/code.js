// Code panes side by side: every line shows what other languages made of it.

import { codeControlWords, codeHas, codeHeat, codeHeatColumns, codeHeatEvidence, codeHeatLevel, codeHelp, codeKey, codeLinked, codeLinks, codeLoopAt, codeMeasured, codeSetters } from './code-core.js';
import { domButton, domCount, domReplace, domShort, el } from './dom.js';

/**
 * @typedef {object} CodePane
 * @property {HTMLElement} node
 * @property {HTMLElement} body
 * @property {string} source
 * @property {string} kind `source`, `ptx` or `sass`
 * @property {number} first line of the first row
 * @property {HTMLElement[]} rows
 * @property {HTMLElement} ruler
 * @property {number} caret row, -1 before it is used
 * @property {Set<number>} tipped rows that have their tooltips
 */

class CodeView {
  /** @param {HTMLElement} root @param {import('./app.js').App} app */
  constructor(root, app) {
    this.root = root;
    this.app = app;
    /** @type {import('./code-core.js').HeatColumn} */
    this.column = 'executions';
    this.panes = [...root.querySelectorAll('.pane')].map((node) => this.pane(/** @type {HTMLElement} */ (node)));
    this.links = codeLinks(app.codeRuns());
    this.detail = el('p', { class: 'code-detail', role: 'status' });
    /** @type {Map<string, string[]>} which keys carry a mark, by class */
    this.marked = new Map();
    /** @type {Map<string, number>} hot lines, for the rulers */
    this.heat = new Map();
    this.shownSource = this.panes.find((pane) => pane.kind === 'source')?.source ?? '';
  }

  /** @param {HTMLElement} node @returns {CodePane} */
  pane(node) {
    const body = /** @type {HTMLElement} */ (node.querySelector('.lines'));
    const rows = /** @type {HTMLElement[]} */ ([...body.children]);
    // Hot lines change with the heat column only, marks with every step.
    const ruler = el('div', { class: 'code-ruler', 'aria-hidden': 'true' }, el('div', { class: 'ruler-heat' }), el('div', { class: 'ruler-marks' }));
    node.append(ruler);
    const id = `p${node.dataset.source}-${node.dataset.first}`;
    body.setAttribute('role', 'listbox');
    body.setAttribute('aria-multiselectable', 'true');
    rows.forEach((row, i) => {
      row.className = 'l';
      row.id = `${id}-${i}`;
      row.setAttribute('role', 'option');
      row.setAttribute('aria-selected', 'false');
    });
    /** @type {CodePane} */
    const pane = { node, body, source: node.dataset.source ?? '', kind: node.dataset.pane ?? 'source',
      first: Number(node.dataset.first ?? 1), rows, ruler, caret: -1, tipped: new Set() };
    body.addEventListener('mouseover', (event) => {
      const row = this.rowOf(pane, event.target);
      this.preview(row < 0 ? null : codeKey(pane.source, pane.first + row));
      if (row >= 0) this.tips(pane, row);
    });
    body.addEventListener('mouseleave', () => this.preview(null));
    body.addEventListener('blur', () => this.preview(null));
    body.addEventListener('click', (event) => {
      const row = this.rowOf(pane, event.target);
      if (row < 0 || String(getSelection() ?? '')) return;
      this.move(pane, row);
      this.fix(pane, row);
    });
    body.addEventListener('keydown', (event) => this.key(pane, event));
    ruler.addEventListener('click', (event) => {
      const share = (event.clientY - ruler.getBoundingClientRect().top) / ruler.clientHeight;
      body.scrollTop = share * body.scrollHeight - body.clientHeight / 2;
    });
    return pane;
  }

  /** @param {CodePane} pane @param {EventTarget | null} target */
  rowOf(pane, target) {
    const row = target instanceof Element ? target.closest('.l') : null;
    return row ? pane.rows.indexOf(/** @type {HTMLElement} */ (row)) : -1;
  }

  /** The instruction of a row of an instruction pane, or null. @param {string} key */
  instruction(key) {
    const found = (this.links.at.get(key) ?? []).find(([r, pc]) => this.links.isa[r][pc] === key);
    return found ? { run: this.app.codeRuns()[found[0]], pc: found[1] } : null;
  }

  /** Tooltips of a row, made when they are first wanted. @param {CodePane} pane @param {number} row */
  tips(pane, row) {
    if (pane.kind === 'source' || pane.tipped.has(row)) return;
    pane.tipped.add(row);
    const found = this.instruction(codeKey(pane.source, pane.first + row));
    if (!found) return;
    const { code } = found.run;
    const help = codeHelp(code, found.pc);
    if (help) pane.rows[row].querySelector('code')?.setAttribute('title', help);
    const words = codeControlWords(code.instructions.control?.[found.pc]);
    if (words.length) pane.rows[row].querySelector('.ctl')?.setAttribute('title', words.join('; '));
  }

  /** @param {CodePane} pane @param {KeyboardEvent} event */
  key(pane, event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(pane.body.clientHeight / (pane.rows[0]?.offsetHeight || 20)) - 1);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -pane.rows.length, End: pane.rows.length }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      const from = pane.caret < 0 ? (by > 0 ? -1 : 0) : pane.caret;
      this.move(pane, Math.max(0, Math.min(pane.rows.length - 1, from + by)));
      this.preview(codeKey(pane.source, pane.first + pane.caret));
    } else if ((event.key === 'Enter' || event.key === ' ') && pane.caret >= 0) {
      event.preventDefault();
      this.fix(pane, pane.caret);
    } else if (event.key === 'Escape') {
      this.app.store.set({ line: null });
    }
  }

  /** @param {CodePane} pane @param {number} row */
  move(pane, row) {
    pane.rows[pane.caret]?.classList.remove('caret');
    pane.caret = row;
    pane.rows[row].classList.add('caret');
    pane.body.setAttribute('aria-activedescendant', pane.rows[row].id);
    this.reveal(pane, row, false);
  }

  /** @param {CodePane} pane @param {number} row */
  fix(pane, row) {
    const line = { source: pane.source, line: pane.first + row };
    const now = this.app.store.get().line;
    this.app.store.set({ line: now && now.source === line.source && now.line === line.line ? null : line });
  }

  /** Scrolls the pane, never the page. @param {CodePane} pane @param {number} row @param {boolean} centre */
  reveal(pane, row, centre) {
    const [top, height] = [pane.rows[row].offsetTop, pane.rows[row].offsetHeight];
    const { scrollTop, clientHeight } = pane.body;
    if (top >= scrollTop && top + height <= scrollTop + clientHeight) return;
    if (centre) pane.body.scrollTop = top - clientHeight / 3;
    else pane.body.scrollTop = top < scrollTop ? top : top + height - clientHeight + 2;
  }

  /** Rows of the shown panes that stand for a key. @param {string} key @returns {Array<[CodePane, number]>} */
  rowsOf(key) {
    const at = key.lastIndexOf(':');
    const [source, line] = [key.slice(0, at), Number(key.slice(at + 1))];
    return this.panes.flatMap((pane) => {
      const row = line - pane.first;
      return !pane.node.hidden && pane.source === source && row >= 0 && row < pane.rows.length
        ? [/** @type {[CodePane, number]} */ ([pane, row])] : [];
    });
  }

  /** Moves a class from the lines that had it to those of `keys`. @param {string} name @param {string[]} keys */
  mark(name, keys) {
    for (const key of this.marked.get(name) ?? []) {
      for (const [pane, row] of this.rowsOf(key)) pane.rows[row].classList.remove(name);
    }
    this.marked.set(name, keys);
    for (const key of keys) for (const [pane, row] of this.rowsOf(key)) pane.rows[row].classList.add(name);
  }

  /** @param {string | null} key */
  preview(key) {
    this.mark('pv', key ? [key, ...codeLinked(this.links, key)] : []);
  }

  /** Shows what is fixed, in every pane. */
  showFixed() {
    const { line } = this.app.store.get();
    const before = this.marked.get('on') ?? [];
    for (const key of before) for (const [pane, row] of this.rowsOf(key)) pane.rows[row].setAttribute('aria-selected', 'false');
    const key = line ? codeKey(line.source, line.line) : null;
    if (line) this.showSource(line.source);
    const linked = key ? [...codeLinked(this.links, key)] : [];
    this.mark('on', key ? [key, ...linked] : []);
    this.mark('fixed', key ? [key] : []);
    /** @type {Map<CodePane, number>} */
    const first = new Map();
    for (const one of key ? [key, ...linked] : []) {
      for (const [pane, row] of this.rowsOf(one)) {
        pane.rows[row].setAttribute('aria-selected', 'true');
        first.set(pane, Math.min(first.get(pane) ?? row, row));
      }
    }
    for (const [pane, row] of first) this.reveal(pane, row, true);
    this.describe(key);
    this.rulers();
  }

  /** @param {string | null} key */
  describe(key) {
    this.mark('setter', []);
    if (!key) {
      domReplace(this.detail, 'Choose a line: what it became, and where it came from, lights up in the other panes.');
      return;
    }
    const at = key.lastIndexOf(':');
    const source = this.app.source(key.slice(0, at));
    const found = this.links.at.get(key) ?? [];
    const runs = this.app.codeRuns();
    const counts = runs.flatMap((run, r) => {
      const mine = found.filter(([other]) => other === r);
      if (!mine.length) return [];
      const executed = mine.reduce((sum, [, pc]) => sum + (run.profile.warp_executed?.[pc] ?? 0), 0);
      return [`${mine.length} ${run.isa.toUpperCase()} instruction${mine.length === 1 ? '' : 's'}, issued ${domCount(executed)} times`];
    });
    const chain = found.length === 1 ? runs[found[0][0]].code.instructions.inlined[found[0][1]] : null;
    const frames = (chain ?? []).map(([from, line]) => `${this.app.source(from)?.name ?? '?'}:${line}`);
    domReplace(this.detail, el('strong', {}, `${source?.name ?? ''}:${key.slice(at + 1)}`), ' ',
      counts.join('; ') || 'no instruction of this kernel', frames.length ? `; inlined: ${frames.join(' ← ')}` : '',
      codeMeasured(this.app.codeRuns(), found), ...this.machine(key));
  }

  /** What is known of a fixed machine instruction: its opcode, and its control field in words. @param {string} key */
  machine(key) {
    const found = this.instruction(key);
    if (!found) return [];
    const { code } = found.run;
    const help = codeHelp(code, found.pc);
    const words = codeControlWords(code.instructions.control?.[found.pc]).filter((text) => !text.startsWith('waits'));
    const waits = this.waits(key);
    if (waits) words.push(waits);
    return [help && el('span', { class: 'detail-line' }, help), words.length > 0 && el('span', { class: 'detail-line' }, `Control: ${words.join('; ')}`)];
  }

  /** What a fixed instruction waits for; marks what set it. @param {string} key */
  waits(key) {
    const runs = this.app.codeRuns();
    const own = (this.links.at.get(key) ?? []).filter(([r, pc]) => this.links.isa[r][pc] === key);
    if (own.length !== 1) return '';
    const [r, pc] = own[0];
    const { control, opcode } = runs[r].code.instructions;
    const setters = codeSetters(control ?? [], pc, codeLoopAt(runs[r].code, pc));
    this.mark('setter', setters.filter((one) => one.pc >= 0).map((one) => this.links.isa[r][one.pc]));
    return setters.map(({ barrier, pc: from, what, cycles }) => {
      if (from < 0) return `waits for barrier ${barrier}, set by nothing before it`;
      const far = cycles < 0 ? `${from - pc} further down, in the turn of the loop before`
        : `${pc - from} instruction${pc - from === 1 ? '' : 's'} above, ${cycles} cycle${cycles === 1 ? '' : 's'} of stalls between`;
      return `waits for barrier ${barrier}: ${opcode[from]}, ${far}, ${what === 'write' ? 'until its result is written' : 'until its operands are read'}`;
    }).join('; ');
  }

  /** Where the chosen step stands. @param {number | null} pc */
  showStep(pc) {
    const run = this.app.run();
    if (pc === null || !run) {
      this.mark('at', []);
      this.mark('also', []);
      return;
    }
    const { line, source, source_line: sourceLine } = run.code.instructions;
    const keys = [codeKey(run.code.source, line[pc])];
    const [user, userLine] = [source[pc], sourceLine[pc]];
    if (user !== null && userLine) keys.push(codeKey(user, userLine));
    this.mark('at', keys);
    const also = this.otherCode(run, pc);
    this.mark('also', also);
    for (const key of [...keys, ...also.slice(0, 1)]) for (const [pane, row] of this.rowsOf(key)) this.reveal(pane, row, true);
    this.rulers();
  }

  /** Lines of the other instruction set that belong to an instruction. @param {import('./data.js').WgRun} run @param {number} pc */
  otherCode(run, pc) {
    const r = this.app.codeRuns().indexOf(run);
    if (r < 0) return [];
    const own = this.links.isa[r][pc];
    if (this.links.exact[r]) return this.links.ptx[r][pc];
    return (this.links.at.get(own) ?? []).filter(([other, otherPc]) => this.links.ptx[other][otherPc].includes(own))
      .map(([other, otherPc]) => this.links.isa[other][otherPc]);
  }

  /** Numbers and colours of the heat column. */
  showHeat() {
    const runs = this.app.codeRuns();
    // Source lines show the chosen run; what only the profiler counted comes from the measured one.
    const chosen = this.app.run();
    const current = chosen && codeHas(chosen, this.column) ? chosen : (runs.find((run) => codeHas(run, this.column)) ?? chosen);
    this.heat = new Map();
    for (const pane of this.panes) {
      if (pane.node.hidden) continue;
      const run = pane.kind === 'source' ? current : runs.find((one) => String(one.code.source) === pane.source);
      if (!run) continue;
      const { values, max } = codeHeat(run, this.column);
      pane.rows.forEach((row, i) => {
        const cell = row.children[1];
        if (!cell) return;
        const key = codeKey(pane.source, pane.first + i);
        const value = values.get(key);
        const level = value === undefined ? 0 : codeHeatLevel(value, max, this.column);
        cell.className = level ? `h h${level}` : 'h';
        cell.textContent = value === undefined ? '' : this.column === 'divergence' ? `${Math.round(value)}%` : domShort(value);
        if (value === undefined) cell.removeAttribute('title');
        else cell.setAttribute('title', this.column === 'divergence' ? `${value.toFixed(1)} % of lanes off` : `${domCount(value)} ${this.column}`);
        if (level >= 5) this.heat.set(key, level);
      });
    }
    this.ticks('.ruler-heat', [...this.heat].map(([key, level]) => [key, `h${level}`]));
    this.rulers();
  }

  /** Overview of each pane: fixed and current lines, over the hot ones. */
  rulers() {
    this.ticks('.ruler-marks', ['on', 'at'].flatMap((name) => (this.marked.get(name) ?? []).map((key) => [key, name])));
  }

  /** @param {string} layer @param {string[][]} marks key and class of each tick */
  ticks(layer, marks) {
    /** @type {Map<CodePane, HTMLElement[]>} */
    const ticks = new Map(this.panes.map((pane) => [pane, []]));
    for (const [key, name] of marks) {
      for (const [pane, row] of this.rowsOf(key)) {
        const tick = el('i', { class: `tick ${name}` });
        tick.style.top = `${(100 * (row + 0.5)) / pane.rows.length}%`;
        ticks.get(pane)?.push(tick);
      }
    }
    for (const [pane, found] of ticks) {
      if (!pane.node.hidden) domReplace(/** @type {Element} */ (pane.ruler.querySelector(layer)), ...found.slice(0, 400));
    }
  }

  /** Shows one of several source files. @param {string} source */
  showSource(source) {
    const files = this.panes.filter((pane) => pane.kind === 'source');
    if (!files.some((pane) => pane.source === source)) return;
    this.shownSource = source;
    for (const pane of files) pane.node.hidden = pane.source !== source;
    const select = /** @type {HTMLSelectElement | null} */ (this.root.querySelector('.code-file'));
    if (select) select.value = source;
  }

  /** Panes of the selected launch only. */
  showLaunch() {
    const { launch } = this.app.store.get();
    const isas = this.app.codeRuns();
    this.links = codeLinks(isas);
    for (const pane of this.panes) {
      if (pane.kind === 'source') continue;
      pane.node.hidden = !(pane.node.dataset.launches ?? '').split(' ').includes(String(launch));
    }
    this.showSource(this.shownSource);
    this.showHeat();
    this.showFixed();
  }

  /** A button for each kind of pane, to make room for the others. */
  switches() {
    const kinds = [...new Set(this.panes.map((pane) => pane.kind))];
    if (kinds.length < 2) return null;
    /** @type {Record<string, string>} */
    const names = { source: 'Source', ptx: 'PTX', sass: 'SASS' };
    return el('span', { class: 'filter-group', role: 'group', 'aria-label': 'Panes' }, ...kinds.map((kind) => {
      const button = el('button', { type: 'button', class: 'wg-button chip', 'aria-pressed': 'true', onclick: () => {
        const off = button.getAttribute('aria-pressed') === 'true';
        button.setAttribute('aria-pressed', String(!off));
        for (const pane of this.panes) if (pane.kind === kind) pane.node.toggleAttribute('data-off', off);
      } }, names[kind] ?? kind);
      return button;
    }));
  }

  tools() {
    const columns = codeHeatColumns(this.app.report);
    const select = /** @type {HTMLSelectElement} */ (el('select', { id: 'wg-heat' },
      ...columns.map((column) => el('option', { value: column.id }, column.label))));
    // The page says what the numbers are as it is written, for warp instructions; other columns say it anew.
    const what = this.root.querySelector('.heat-what');
    const said = [...(what?.childNodes ?? [])];
    /** @param {import('./code-core.js').HeatColumn} column */
    const choose = (column) => {
      this.column = column;
      select.value = column;
      this.showHeat();
      for (const head of this.root.querySelectorAll('.heat-name')) head.textContent = columns.find((one) => one.id === column)?.label ?? '';
      const one = columns.find((each) => each.id === column);
      if (!what || !one) return;
      if (column === 'executions') what.replaceChildren(...said);
      else domReplace(what, el('strong', {}, one.label), `, ${one.help}`,
        ...codeHeatEvidence(this.app.report, column).map((evidence) => el('span', { class: `badge ev-${evidence}` }, evidence)).flatMap((badge) => [' ', badge]));
    };
    select.addEventListener('change', () => choose(/** @type {any} */ (select.value)));
    this.app.on('heat', () => choose(columns[(columns.findIndex((one) => one.id === this.column) + 1) % columns.length].id));
    this.app.on('unfix', () => this.app.store.set({ line: null }));
    const files = this.panes.filter((pane) => pane.kind === 'source');
    const file = files.length > 1
      ? el('label', {}, 'File ', el('select', { class: 'code-file', onchange: (/** @type {Event} */ event) => {
        this.showSource(/** @type {HTMLSelectElement} */ (event.target).value);
        this.showHeat();
        this.showFixed();
      } }, ...files.map((pane) => el('option', { value: pane.source }, this.app.source(pane.source)?.name ?? pane.source))))
      : null;
    return el('div', { class: 'tools' }, file, this.switches(), el('label', {}, 'Heat ', select), domButton('heat', 'Next heat column'),
      domButton('unfix', 'Unfix line'));
  }
}

/**
 * @param {HTMLElement} root
 * @param {import('./app.js').App} app
 */
export function initCode(root, app) {
  const panes = root.querySelector('.panes');
  if (!panes) return;
  const view = new CodeView(root, app);
  panes.before(view.tools(), view.detail);
  view.showLaunch();
  const follow = async () => {
    const found = await app.current();
    const { step } = app.store.get();
    view.showStep(found && step < found.trace.steps ? found.trace.pc[step] : null);
  };
  app.store.subscribe((_, changed) => {
    if (changed.has('launch') || changed.has('isa')) view.showLaunch();
    else if (changed.has('line')) view.showFixed();
    if (['launch', 'isa', 'block', 'step'].some((name) => changed.has(name))) void follow();
  });
  void follow();
}
