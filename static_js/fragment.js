// The selection as a page fragment: #v=1&n=<launch>&k=<kernel>&i=<isa>&b=<block>&w=<warp>&s=<step>&c=<from-to>&l=<source:line>

/**
 * @typedef {import('./store.js').Selection} FragmentSelection
 * @typedef {object} FragmentShape what the report has, to judge values against
 * @property {Array<{kernel: string, bare: string, runs: Array<{isa: string, traces: Array<{index: number, warps: number, steps: number, rounds: number}>}>}>} launches
 * @property {Array<{id: string, lines: number}>} sources
 */

/** @param {string} text */
function fragmentDecode(text) {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

/**
 * Splits a fragment. Keys it does not know are ignored; the first of several wins.
 * @param {string} hash with or without `#`
 * @returns {Map<string, string | null>} null where the text could not be decoded
 */
export function fragmentParse(hash) {
  /** @type {Map<string, string | null>} */
  const found = new Map();
  for (const part of hash.replace(/^#/, '').slice(0, 4096).split('&')) {
    const at = part.indexOf('=');
    if (at < 1) continue;
    const key = part.slice(0, at);
    if ('vnkibwscl'.includes(key) && key.length === 1 && !found.has(key)) found.set(key, fragmentDecode(part.slice(at + 1)));
  }
  return found;
}

/**
 * @param {string | null | undefined} text
 * @param {number} limit exclusive
 */
function fragmentIndex(text, limit) {
  if (text === null || text === undefined || !/^\d{1,15}$/.test(text)) return null;
  const value = Number(text);
  return value < limit ? value : null;
}

/**
 * The selection that a fragment asks for. What does not exist falls back, and a note says so.
 * @param {string} hash
 * @param {FragmentShape} shape
 * @param {FragmentSelection} fallback
 * @returns {{selection: FragmentSelection, notes: string[]}}
 */
export function fragmentSelect(hash, shape, fallback) {
  const found = fragmentParse(hash);
  /** @type {string[]} */
  const notes = [];
  const selection = { ...fallback };
  if (!found.size) return { selection, notes };
  /** @param {string} key @param {string} what */
  const bad = (key, what) => notes.push(`${what} “${(found.get(key) ?? '').slice(0, 40)}” is not in this report`);
  if (found.has('v') && found.get('v') !== '1') {
    notes.push(`the link was made by another version (${(found.get('v') ?? '').slice(0, 20)})`);
    return { selection, notes };
  }
  if (found.has('n')) {
    const launch = fragmentIndex(found.get('n'), shape.launches.length);
    if (launch === null) bad('n', 'launch');
    else selection.launch = launch;
  }
  if (found.has('k')) {
    const name = found.get('k');
    /** @param {{kernel: string, bare: string}} launch */
    const named = (launch) => launch.kernel === name || launch.bare === name;
    const current = shape.launches[selection.launch];
    if (!current || !named(current)) {
      const other = shape.launches.findIndex(named);
      if (other < 0) bad('k', 'kernel');
      else selection.launch = other;
    }
  }
  const runs = shape.launches[selection.launch]?.runs ?? [];
  if (selection.launch !== fallback.launch && !runs.some((run) => run.isa === selection.isa) && runs.length) {
    selection.isa = runs[0].isa;
  }
  if (found.has('i')) {
    if (runs.some((run) => run.isa === found.get('i'))) selection.isa = /** @type {string} */ (found.get('i'));
    else bad('i', 'instruction set');
  }
  fragmentTrace(found, runs.find((run) => run.isa === selection.isa)?.traces ?? [], selection, bad);
  fragmentLine(found, shape.sources, selection, bad);
  return { selection, notes };
}

/**
 * @param {Map<string, string | null>} found
 * @param {Array<{index: number, warps: number, steps: number, rounds: number}>} traces
 * @param {FragmentSelection} selection
 * @param {(key: string, what: string) => void} bad
 */
function fragmentTrace(found, traces, selection, bad) {
  if (found.has('b')) {
    const block = fragmentIndex(found.get('b'), 2 ** 48);
    if (block === null || !traces.some((trace) => trace.index === block)) bad('b', 'traced block');
    else selection.block = block;
  }
  let trace = traces.find((one) => one.index === selection.block);
  if (!trace && traces.length) {
    trace = traces[0];
    selection.block = trace.index;
  }
  const warps = trace?.warps ?? 0;
  const steps = trace?.steps ?? 0;
  if (selection.warp >= warps) selection.warp = 0;
  if (selection.step >= steps) selection.step = 0;
  if (found.has('w')) {
    const warp = fragmentIndex(found.get('w'), warps);
    if (warp === null) bad('w', 'warp');
    else selection.warp = warp;
  }
  if (found.has('s')) {
    const step = fragmentIndex(found.get('s'), steps);
    if (step === null) bad('s', 'step');
    else selection.step = step;
  }
  if (found.has('c')) {
    const match = /^(\d{1,12})-(\d{1,12})$/.exec(found.get('c') ?? '');
    const rounds = trace?.rounds ?? 0;
    if (!match || Number(match[1]) > Number(match[2]) || Number(match[2]) > rounds) bad('c', 'range');
    else selection.range = [Number(match[1]), Number(match[2])];
  }
}

/**
 * @param {Map<string, string | null>} found
 * @param {Array<{id: string, lines: number}>} sources
 * @param {FragmentSelection} selection
 * @param {(key: string, what: string) => void} bad
 */
function fragmentLine(found, sources, selection, bad) {
  if (!found.has('l')) return;
  const match = /^(?:(.{1,200}):)?(\d{1,9})$/s.exec(found.get('l') ?? '');
  const source = match ? sources.find((one) => (match[1] === undefined ? true : one.id === match[1])) : undefined;
  const line = match ? Number(match[2]) : 0;
  if (!source || line < 1 || line > source.lines) bad('l', 'line');
  else selection.line = { source: source.id, line };
}

/**
 * The fragment of a selection, without `#`.
 * @param {FragmentSelection} selection
 * @param {string} kernel
 */
export function fragmentFormat(selection, kernel) {
  const parts = [
    'v=1',
    `n=${selection.launch}`,
    kernel ? `k=${encodeURIComponent(kernel)}` : '',
    `i=${encodeURIComponent(selection.isa)}`,
    `b=${selection.block}`,
    `w=${selection.warp}`,
    `s=${selection.step}`,
    selection.range ? `c=${selection.range[0]}-${selection.range[1]}` : '',
    selection.line ? `l=${encodeURIComponent(selection.line.source)}:${selection.line.line}` : '',
  ];
  return parts.filter(Boolean).join('&');
}

/**
 * @param {import('./data.js').WgReport} report
 * @returns {FragmentShape}
 */
export function fragmentShape(report) {
  return {
    launches: report.launches.map((launch) => ({
      kernel: launch.kernel.name,
      bare: launch.kernel.bare,
      runs: launch.runs.map((run) => ({ isa: run.isa, traces: run.traces })),
    })),
    sources: report.sources.map((source) => ({
      id: String(source.id),
      lines: source.text === null ? 2 ** 30 : source.text.split('\n').length,
    })),
  };
}
