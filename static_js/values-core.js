// Register values at a step, from what was written before it. Pure: no screen.

/**
 * @typedef {import('./data.js').WgTrace} ValuesTrace
 * @typedef {import('./data.js').WgValues} Values
 * @typedef {import('./data.js').WgCode} ValuesCode
 * @typedef {import('./trace-core.js').TraceIndex} ValuesIndex
 * @typedef {object} RegisterValue
 * @property {string} name
 * @property {string} type PTX type without the dot, such as u32, f64, pred
 * @property {'known' | 'unrecorded' | 'initial'} state `initial`: nothing was written before
 * @property {number} known lanes that were written (the others hold their initial value)
 * @property {Uint32Array} low 32 low words; for predicates 0 or 1
 * @property {Uint32Array | null} high 32 high words of 64-bit registers
 * @property {number} step the last write at or before the step, or -1
 */

/**
 * Rows of `values` in order for each warp and register.
 * @typedef {object} ValuesIndexed
 * @property {Map<string, number>} byName index of a register's name
 * @property {Map<number, number[]>} rows rows by register * warps + warp, in step order
 * @property {number} last the last step for which values were kept
 */

/**
 * @param {ValuesTrace} trace
 * @param {Values} values
 * @returns {ValuesIndexed}
 */
export function valuesIndex(trace, values) {
  const byName = new Map(values.names.map((name, i) => [name, i]));
  /** @type {Map<number, number[]>} */
  const rows = new Map();
  const n = values.step.length;
  for (let i = 0; i < n; i++) {
    const key = values.register[i] * trace.warps + trace.warp[values.step[i]];
    const list = rows.get(key);
    if (list) list.push(i);
    else rows.set(key, [i]);
  }
  return { byName, rows, last: n ? values.step[n - 1] : -1 };
}

/** @param {string} type @returns {'pred' | 'wide' | 'word'} */
export function valuesShape(type) {
  const bare = type.replace(/^\./, '');
  if (bare === 'pred') return 'pred';
  return /64$/.test(bare) ? 'wide' : 'word';
}

/** @param {number[]} rows @param {Values} values @param {number} step */
function valuesBefore(rows, values, step) {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values.step[rows[middle]] <= step) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * A register's 32 lane values after a step (`after` true) or before it, for the step's warp.
 * @param {ValuesTrace} trace
 * @param {ValuesIndex} index
 * @param {ValuesCode} code
 * @param {Values | null} values
 * @param {ValuesIndexed | null} indexed
 * @param {number} step
 * @param {string} name
 * @param {string} type
 * @param {boolean} after
 * @returns {RegisterValue}
 */
export function valuesAt(trace, index, code, values, indexed, step, name, type, after) {
  const warp = trace.warp[step];
  const shape = valuesShape(type);
  /** @type {RegisterValue} */
  const out = { name, type: type.replace(/^\./, ''), state: 'unrecorded', known: 0, low: new Uint32Array(32),
    high: shape === 'wide' ? new Uint32Array(32) : null, step: -1 };
  if (!values || !indexed || !values.warps.includes(warp)) return out;
  const until = after ? step : step - 1;
  if (!values.complete && until > indexed.last && valuesWritten(trace, index, code, warp, indexed.last, until, name)) return out;
  const register = indexed.byName.get(name);
  const rows = register === undefined ? undefined : indexed.rows.get(register * trace.warps + warp);
  if (!rows) {
    out.state = 'initial';
    return out;
  }
  // A write leaves the lanes that were off alone: walk back until every lane has its value.
  let left = 0xffffffff;
  for (let i = valuesBefore(rows, values, until) - 1; i >= 0 && left; i--) {
    const row = rows[i];
    const at = values.step[row];
    const mask = (trace.mask[at] & left) >>> 0;
    const offset = values.offset[row];
    if (out.step < 0) out.step = at;
    for (let lane = 0; mask && lane < 32; lane++) {
      if (!((mask >>> lane) & 1)) continue;
      if (shape === 'pred') out.low[lane] = (values.words[offset] >>> lane) & 1;
      else out.low[lane] = values.words[offset + lane];
      if (out.high) out.high[lane] = values.words[offset + 32 + lane];
    }
    left = (left & ~mask) >>> 0;
  }
  out.known = ~left >>> 0;
  out.state = out.known ? 'known' : 'initial';
  return out;
}

/**
 * Does a warp write a register in steps after `from` up to `until`?
 * @param {ValuesTrace} trace
 * @param {ValuesIndex} index
 * @param {ValuesCode} code
 * @param {number} warp
 * @param {number} from
 * @param {number} until
 * @param {string} name
 */
function valuesWritten(trace, index, code, warp, from, until, name) {
  const register = code.registers.names.indexOf(name);
  for (let i = index.start[warp + 1] - 1; i >= index.start[warp]; i--) {
    const step = index.steps[i];
    if (step <= from) return false;
    if (step <= until && trace.mask[step] && code.instructions.writes[trace.pc[step]].includes(register)) return true;
  }
  return false;
}

const valuesWords = new DataView(new ArrayBuffer(8));

/** Shortest decimal that a 32-bit float needs. @param {number} value */
function valuesFloat(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  for (let digits = 1; digits <= 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(value);
}

/** @param {number} bits */
export function valuesHalf(bits) {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >>> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

/** @typedef {'auto' | 'hex' | 'decimal' | 'float'} ValueFormat */

/**
 * One lane's value as text.
 * @param {string} type
 * @param {number} low
 * @param {number | null} high
 * @param {ValueFormat} format
 */
export function valuesText(type, low, high, format) {
  if (type === 'pred') return low ? 'true' : 'false';
  const wide = high !== null;
  const chosen = format !== 'auto' ? format : /^(f|bf)/.test(type) ? 'float' : /^b|64$/.test(type) ? 'hex' : 'decimal';
  if (chosen === 'hex' && wide && format === 'auto') {
    // Addresses and offsets: short as they come; the padded form is the one that was asked for.
    const value = (high >>> 0) * 4294967296 + (low >>> 0);
    if (/^[su]/.test(type) && value < 2 ** 32) return String(value);
    if (type === 's64' && (high >>> 0) === 0xffffffff && low >>> 31) return String(low | 0);
    return '0x' + ((BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)).toString(16);
  }
  if (chosen === 'hex') {
    return '0x' + (wide ? (high >>> 0).toString(16).padStart(8, '0') : '') + (low >>> 0).toString(16).padStart(valuesHexDigits(type), '0');
  }
  valuesWords.setUint32(0, low >>> 0, true);
  valuesWords.setUint32(4, wide ? high >>> 0 : 0, true);
  if (chosen === 'float') {
    if (wide) {
      const value = valuesWords.getFloat64(0, true);
      return Number.isFinite(value) ? String(Object.is(value, -0) ? '-0' : value) : valuesFloat(value);
    }
    if (/^(f16x2|b16x2)$/.test(type)) return `${valuesShort(valuesHalf(low & 0xffff))}, ${valuesShort(valuesHalf(low >>> 16))}`;
    if (/^f?16$|^[bus]16$|^f16$/.test(type)) return valuesShort(valuesHalf(low & 0xffff));
    if (/^bf16$/.test(type)) {
      valuesWords.setUint32(0, (low & 0xffff) << 16, true);
      return valuesShort(valuesWords.getFloat32(0, true));
    }
    return valuesFloat(valuesWords.getFloat32(0, true));
  }
  const signed = /^s/.test(type);
  if (wide) return String(signed ? valuesWords.getBigInt64(0, true) : valuesWords.getBigUint64(0, true));
  if (/16$/.test(type)) return String(signed ? (low << 16) >> 16 : low & 0xffff);
  if (/8$/.test(type)) return String(signed ? (low << 24) >> 24 : low & 0xff);
  return String(signed ? low | 0 : low >>> 0);
}

/** @param {string} type */
function valuesHexDigits(type) {
  return /16$/.test(type) ? 4 : /8$/.test(type) ? 2 : 8;
}

/** @param {number} value */
function valuesShort(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(4))) : valuesFloat(value);
}

/**
 * What the lanes that count have in common: one value, a run with a constant difference, or neither.
 * @param {RegisterValue} value
 * @param {number} mask
 * @returns {{kind: 'same', lane: number} | {kind: 'affine', lane: number, stride: number} | {kind: 'mixed'}}
 */
export function valuesPattern(value, mask) {
  const lanes = [];
  for (let lane = 0; lane < 32; lane++) if ((mask >>> lane) & 1) lanes.push(lane);
  if (!lanes.length) return { kind: 'mixed' };
  const at = (/** @type {number} */ lane) => (value.high ? value.high[lane] * 4294967296 : 0) + value.low[lane];
  const first = lanes[0];
  if (lanes.every((lane) => at(lane) === at(first))) return { kind: 'same', lane: first };
  if (/^f|^bf|pred/.test(value.type) || lanes.length < 3) return { kind: 'mixed' };
  const stride = (at(lanes[1]) - at(first)) / (lanes[1] - first);
  if (Number.isInteger(stride) && lanes.every((lane) => at(lane) === at(first) + stride * (lane - first))) {
    return { kind: 'affine', lane: first, stride };
  }
  return { kind: 'mixed' };
}
