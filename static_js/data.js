// The report's JSON and its packed columns (docs/json-schema.md).

/**
 * @typedef {number | string} WgId
 * @typedef {{$: string, n: number, d: string, x?: string}} WgPacked
 * @typedef {Uint8Array | Uint16Array | Uint32Array | Float64Array} WgColumn
 * @typedef {WgPacked | number[] | WgColumn} WgRawColumn
 * @typedef {{line: number[], opcode: string[], text: string[], kind: string[], source: (WgId|null)[],
 *   source_line: (number|null)[], inlined: (Array<[WgId, number]>|null)[], block: (number|null)[],
 *   live: (number|null)[], reads: number[][], writes: number[][], control: any[], ptx_lines?: (number[]|null)[]}} WgInstructions
 * @typedef {{start: number, end: number, successors: number[], ipdom: number|null, loop: number|null}} WgBasicBlock
 * @typedef {{header: number, blocks: number[], depth: number, trips: number|null}} WgLoop
 * @typedef {{source: WgId, instructions: WgInstructions, blocks: WgBasicBlock[], loops: WgLoop[],
 *   registers: {names: string[], types: string[]}, ptx_source?: WgId|null,
 *   opcodes?: Record<string, {help: string|null, pipe: string|null}>}} WgCode
 * @typedef {{label: string, block: number[], warp: number, space: string, size: number, mask: number,
 *   addresses: (number|string)[], buffer: string|null, base: number|string|null, sectors: number|null, sectors_ideal: number|null,
 *   wavefronts: number|null, wavefronts_ideal: number|null}} WgSample
 * @typedef {{pc: number, source: WgId|null, line: number|null, operation: string, space: string, width: number,
 *   requests: number, sectors: number|null, sectors_ideal: number|null, wavefronts: number|null,
 *   wavefronts_ideal: number|null, conflicts: number|null, lanes: number|null, broadcasts: number|null,
 *   bytes: number|null, atomic_addresses: number|null, samples: WgSample[]}} WgMemory
 * @typedef {{names: string[], types: string[], step: WgRawColumn, register: WgRawColumn, offset: WgRawColumn,
 *   words: WgRawColumn, warps: WgRawColumn, complete: boolean}} WgRawValues
 * @typedef {{step: WgRawColumn, kind: WgRawColumn, space: WgRawColumn, size: WgRawColumn, mask: WgRawColumn,
 *   offset: WgRawColumn, addresses: WgRawColumn, data_offset: WgRawColumn, data: WgRawColumn,
 *   complete: boolean}} WgRawAccesses
 * @typedef {{step: WgRawColumn, round: WgRawColumn, warp: WgRawColumn, barrier: WgRawColumn, kind: WgRawColumn}} WgRawBarriers
 * @typedef {{block: number[], index: number, warps: number, threads: number, steps: number, rounds: number,
 *   truncated: boolean, columns: Record<string, WgRawColumn>, values: WgRawValues|null,
 *   accesses: WgRawAccesses|null, barriers: WgRawBarriers|null}} WgRawTrace
 * @typedef {{name: string, base: number|string, size: number, dtype: string, given: boolean, touched: number[]|null}} WgBuffer
 * @typedef {{isa: string, complete: boolean, stopped?: {kind: string, message: string}|null, code: WgCode, profile: Record<string, (number|null)[]>,
 *   lines: Array<Record<string, any>>, memory: WgMemory[], branches: Array<Record<string, any>>,
 *   findings: Array<Record<string, any>>, buffers: (WgBuffer|null)[], traces: WgRawTrace[]}} WgRun
 * @typedef {{id: WgId, label: string, kernel: {name: string, demangled: string, bare: string}, arch: string,
 *   launch: Record<string, any>, runs: WgRun[], primary: number, measured?: WgMeasured|null}} WgLaunch
 * @typedef {{file: number, index: number, set: number, packed?: string, columns?: string[], values: any[], marks: Array<[number, string]>, code: {isa: string, code: number,
 *   profile: Record<string, (number|null)[]>, lines: Array<Record<string, any>>}|null}} WgMeasured
 * @typedef {{files: Array<{name: string}>, metrics: {name: string[], unit: string[], about: (string|null)[]},
 *   sets: number[][], codes: WgCode[]}} WgProfile
 * @typedef {{id: WgId, name: string, language: string, text: string|null, own: boolean}} WgSource
 * @typedef {{schema: string, title: string, sources: WgSource[], launches: WgLaunch[], profile?: WgProfile}} WgReport
 */

/**
 * @typedef {object} WgTrace One traced block, decoded. Columns have one entry a step.
 * @property {number[]} block
 * @property {number} index
 * @property {number} warps
 * @property {number} threads
 * @property {number} steps
 * @property {number} rounds
 * @property {boolean} truncated
 * @property {WgColumn} round
 * @property {WgColumn} warp
 * @property {WgColumn} pc
 * @property {WgColumn} mask
 * @property {WgColumn} group
 */

/**
 * @typedef {{names: string[], types: string[], step: WgColumn, register: WgColumn, offset: WgColumn, words: WgColumn,
 *   warps: number[], complete: boolean}} WgValues
 * @typedef {{step: WgColumn, kind: WgColumn, space: WgColumn, size: WgColumn, mask: WgColumn, offset: WgColumn,
 *   addresses: WgColumn, data_offset: WgColumn, data: WgColumn, complete: boolean}} WgAccesses
 * @typedef {{step: WgColumn, round: WgColumn, warp: WgColumn, barrier: WgColumn, kind: WgColumn}} WgBarriers
 */

/**
 * Reads the report out of the page, where it is JSON or the gzip of JSON.
 * @param {Document} doc
 * @returns {Promise<WgReport | null>}
 */
export async function dataReport(doc) {
  const script = doc.getElementById('wg-data');
  if (!script || !script.textContent) return null;
  const found = JSON.parse(script.textContent);
  if (found.$ !== 'json') return found;
  const report = JSON.parse(await dataText(found.d));
  for (const [launch, part] of Object.entries(found.m ?? {})) report.launches[Number(launch)].measured.packed = part;
  return report;
}

/** Text that stands packed. @param {string} packed */
async function dataText(packed) {
  return new TextDecoder().decode(await dataInflate(dataBytes(packed)));
}

/**
 * Reads what was measured of a launch, where it still stands packed: values, marks, code.
 * @param {WgLaunch | undefined} launch
 */
export async function dataMeasured(launch) {
  const measured = launch?.measured;
  if (!measured?.packed) return;
  const found = JSON.parse(await dataText(measured.packed));
  // A second reader may have been faster: what it put there is in use.
  if (measured.packed) Object.assign(measured, found);
  delete measured.packed;
}

/**
 * Base64 to bytes.
 * @param {string} text
 */
export function dataBytes(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

/**
 * Bytes of a gzip stream, unpacked by the browser.
 * @param {Uint8Array} bytes
 */
export async function dataInflate(bytes) {
  const stream = new Blob([/** @type {BlobPart} */ (bytes)]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * Byte planes to values: all lowest bytes first, then the next plane.
 * @param {string} type u8, u16, u32 or u64
 * @param {number} count
 * @param {Uint8Array} planes
 * @param {boolean} delta differences modulo 2^32, to be summed
 * @returns {WgColumn}
 */
export function dataUnplane(type, count, planes, delta) {
  const width = { u8: 1, u16: 2, u32: 4, u64: 8 }[type];
  if (!width) throw new Error(`a column of the unknown type ${type}`);
  if (planes.length !== width * count) {
    throw new Error(`a column of ${count} ${type} values has ${planes.length} bytes`);
  }
  if (type === 'u64') return dataWide(count, planes, delta);
  const out = width === 1 ? new Uint8Array(count) : width === 2 ? new Uint16Array(count) : new Uint32Array(count);
  if (width === 1) {
    out.set(planes);
  } else if (width === 2) {
    for (let i = 0; i < count; i++) out[i] = planes[i] | (planes[count + i] << 8);
  } else {
    const [b, c, d] = [count, 2 * count, 3 * count];
    for (let i = 0; i < count; i++) {
      out[i] = planes[i] | (planes[b + i] << 8) | (planes[c + i] << 16) | (planes[d + i] << 24);
    }
  }
  if (delta) {
    let sum = 0;
    for (let i = 0; i < count; i++) {
      sum = (sum + out[i]) | 0;
      out[i] = sum;
    }
  }
  return out;
}

/**
 * @param {number} count
 * @param {Uint8Array} planes
 * @param {boolean} delta
 */
function dataWide(count, planes, delta) {
  const low = /** @type {Uint32Array} */ (dataUnplane('u32', count, planes.subarray(0, 4 * count), false));
  const high = /** @type {Uint32Array} */ (dataUnplane('u32', count, planes.subarray(4 * count), false));
  const out = new Float64Array(count);
  if (!delta) {
    for (let i = 0; i < count; i++) out[i] = high[i] * 4294967296 + low[i];
    return out;
  }
  // Sums run modulo 2^64 in two halves: a double could not hold a wrapped difference.
  let [lo, hi] = [0, 0];
  for (let i = 0; i < count; i++) {
    const sum = lo + low[i];
    lo = sum >>> 0;
    hi = (hi + high[i] + (sum > 4294967295 ? 1 : 0)) >>> 0;
    out[i] = hi * 4294967296 + lo;
  }
  return out;
}

/**
 * A column of the report as a typed array, whether it was packed or written as plain numbers.
 * @param {WgRawColumn} column
 * @returns {Promise<WgColumn>}
 */
export async function dataColumn(column) {
  if (ArrayBuffer.isView(column)) return /** @type {WgColumn} */ (column);
  if (Array.isArray(column)) return dataPlain(column);
  const packed = /** @type {WgPacked} */ (column);
  return dataUnplane(packed.$, packed.n, await dataInflate(dataBytes(packed.d)), packed.x === 'delta');
}

/** @param {(number|string)[]} values @returns {WgColumn} */
function dataPlain(values) {
  const numbers = values.map(Number);
  return numbers.some((v) => v > 4294967295) ? Float64Array.from(numbers) : Uint32Array.from(numbers);
}

/** Decoded parts, kept by the raw object so that each is inflated once. @type {WeakMap<object, Promise<any>>} */
const dataCache = new WeakMap();

/**
 * @template T
 * @param {object} key
 * @param {() => Promise<T>} make
 * @returns {Promise<T>}
 */
function dataOnce(key, make) {
  let found = dataCache.get(key);
  if (!found) dataCache.set(key, (found = make()));
  return found;
}

/**
 * @param {Record<string, any>} raw
 * @param {string[]} names
 * @returns {Promise<Record<string, WgColumn>>}
 */
async function dataColumns(raw, names) {
  const columns = await Promise.all(names.map((name) => dataColumn(raw[name])));
  return Object.fromEntries(names.map((name, i) => [name, columns[i]]));
}

/**
 * The five columns of a trace; values, accesses and barriers come by their own calls, when they are looked at.
 * @param {WgRawTrace} raw
 * @returns {Promise<WgTrace>}
 */
export function dataTrace(raw) {
  return dataOnce(raw, async () => {
    const columns = await dataColumns(raw.columns, ['round', 'warp', 'pc', 'mask', 'group']);
    const { block, index, warps, threads, truncated } = raw;
    const steps = columns.pc.length;
    const rounds = steps ? columns.round[steps - 1] + 1 : 0;
    return /** @type {WgTrace} */ ({ block, index, warps, threads, steps, rounds, truncated, ...columns });
  });
}

/** @param {WgRawTrace} raw @returns {Promise<WgValues | null>} */
export async function dataValues(raw) {
  const values = raw.values;
  if (!values) return null;
  return dataOnce(values, async () => {
    const columns = await dataColumns(values, ['step', 'register', 'offset', 'words']);
    const { names, types, complete } = values;
    const warps = [...(await dataColumn(values.warps))];
    return /** @type {WgValues} */ ({ names, types, warps, complete, ...columns });
  });
}

/** @param {WgRawTrace} raw @returns {Promise<WgAccesses | null>} */
export async function dataAccesses(raw) {
  const accesses = raw.accesses;
  if (!accesses) return null;
  return dataOnce(accesses, async () => {
    const names = ['step', 'kind', 'space', 'size', 'mask', 'offset', 'addresses', 'data_offset', 'data'];
    return /** @type {WgAccesses} */ ({ complete: accesses.complete, ...(await dataColumns(accesses, names)) });
  });
}

/** @param {WgRawTrace} raw @returns {Promise<WgBarriers | null>} */
export async function dataBarriers(raw) {
  const barriers = raw.barriers;
  if (!barriers) return null;
  return dataOnce(barriers, async () =>
    /** @type {WgBarriers} */ (await dataColumns(barriers, ['step', 'round', 'warp', 'barrier', 'kind'])));
}
