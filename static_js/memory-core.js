// Sectors, banks and the content of memory at a step. Pure: no screen.

/**
 * @typedef {import('./data.js').WgAccesses} MemoryAccesses
 * @typedef {{sector: number, lanes: number[]}} MemorySector
 * @typedef {{wavefront: number, bank: number, word: number, lanes: number[]}} MemoryBankCell
 */

export const MEMORY_SPACES = ['global', 'shared', 'local', 'const'];
export const MEMORY_KINDS = ['load', 'store', 'atomic'];
const MEMORY_UNKEPT = 0xffffffff;

/**
 * Distinct 32-byte sectors that a request touches, with the lanes that touch each.
 * @param {number} mask
 * @param {number[]} addresses 32 entries
 * @param {number} size bytes a lane
 * @returns {MemorySector[]}
 */
export function memorySectors(mask, addresses, size) {
  /** @type {Map<number, number[]>} */
  const sectors = new Map();
  for (let lane = 0; lane < 32; lane++) {
    if (!((mask >>> lane) & 1)) continue;
    const first = Math.floor(addresses[lane] / 32);
    const last = Math.floor((addresses[lane] + size - 1) / 32);
    for (let sector = first; sector <= last; sector++) {
      const lanes = sectors.get(sector);
      if (lanes) lanes.push(lane);
      else sectors.set(sector, [lane]);
    }
  }
  return [...sectors].map(([sector, lanes]) => ({ sector, lanes })).sort((a, b) => a.sector - b.sector);
}

/** @param {number} size @returns {number} lanes in a phase: 32, halves of 16, quarters of 8 */
export function memoryPhaseLanes(size) {
  return size <= 4 ? 32 : size === 8 ? 16 : 8;
}

/**
 * Which word each bank serves in which wavefront. Lanes on one word share it; several words of one bank follow
 * one another; wide accesses go in halves or quarters of the warp.
 * @param {number} mask
 * @param {number[]} addresses
 * @param {number} size
 * @returns {{cells: MemoryBankCell[], wavefronts: number, phases: number}}
 */
export function memoryBanks(mask, addresses, size) {
  const step = memoryPhaseLanes(size);
  /** @type {MemoryBankCell[]} */
  const cells = [];
  let wavefronts = 0;
  let phases = 0;
  for (let from = 0; from < 32; from += step) {
    /** @type {Map<number, number[]>} */
    const words = new Map();
    for (let lane = from; lane < from + step; lane++) {
      if (!((mask >>> lane) & 1)) continue;
      const last = Math.floor((addresses[lane] + size - 1) / 4);
      for (let word = Math.floor(addresses[lane] / 4); word <= last; word++) {
        const lanes = words.get(word);
        if (lanes) lanes.push(lane);
        else words.set(word, [lane]);
      }
    }
    if (!words.size) continue;
    phases++;
    const depth = new Uint32Array(32);
    for (const [word, lanes] of [...words].sort((a, b) => a[0] - b[0])) {
      const bank = word % 32;
      cells.push({ wavefront: wavefronts + depth[bank]++, bank, word, lanes });
    }
    wavefronts += Math.max(...depth);
  }
  return { cells, wavefronts, phases };
}

/**
 * Rows of `accesses` that belong to a step: [from, to).
 * @param {MemoryAccesses} accesses
 * @param {number} step
 * @returns {[number, number]}
 */
export function memoryRows(accesses, step) {
  const bound = (/** @type {number} */ value) => {
    let low = 0;
    let high = accesses.step.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (accesses.step[middle] < value) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return [bound(step), bound(step + 1)];
}

/**
 * One access with its lane addresses spread over 32 entries.
 * @param {MemoryAccesses} accesses
 * @param {number} row
 */
export function memoryAccess(accesses, row) {
  const mask = accesses.mask[row] >>> 0;
  const addresses = new Array(32).fill(0);
  let at = accesses.offset[row];
  for (let lane = 0; lane < 32; lane++) if ((mask >>> lane) & 1) addresses[lane] = accesses.addresses[at++];
  return {
    kind: MEMORY_KINDS[accesses.kind[row]] ?? 'load',
    space: MEMORY_SPACES[accesses.space[row]] ?? 'global',
    size: accesses.size[row],
    mask,
    addresses,
  };
}

/** A page of memory: what is known of 1024 bytes. */
const MEMORY_PAGE = 1024;

/**
 * @typedef {object} MemoryPage
 * @property {Uint8Array} bytes
 * @property {Uint8Array} state 0 never written, 1 written, 2 written with a value that was not kept
 * @property {Int32Array} step of the last write to each 4-byte word, -1 for none
 */

/**
 * The content of shared or global memory as stores leave it, moved forward or back to a step. Going back starts
 * from the nearest of the snapshots that were taken on the way.
 */
export class MemoryReplay {
  /**
   * @param {MemoryAccesses} accesses
   * @param {number} space 0 global, 1 shared
   * @param {number} [interval] stores between snapshots
   */
  constructor(accesses, space, interval = 4096) {
    this.accesses = accesses;
    this.interval = interval;
    const rows = [];
    for (let i = 0; i < accesses.step.length; i++) {
      if (accesses.space[i] === space && accesses.kind[i] !== 0) rows.push(i);
    }
    /** Rows of stores and atomics in this space. */
    this.rows = Uint32Array.from(rows);
    /** Stores applied so far. */
    this.applied = 0;
    /** @type {Map<number, MemoryPage>} */
    this.pages = new Map();
    /** @type {Array<{applied: number, pages: Map<number, MemoryPage>}>} */
    this.snapshots = [{ applied: 0, pages: new Map() }];
  }

  /** Applies every store up to and including those of a step. @param {number} step */
  seek(step) {
    let low = 0;
    let high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.accesses.step[this.rows[middle]] <= step) low = middle + 1;
      else high = middle;
    }
    if (low < this.applied) {
      let from = this.snapshots[0];
      for (const snapshot of this.snapshots) if (snapshot.applied <= low) from = snapshot;
      this.applied = from.applied;
      this.pages = memoryCopy(from.pages);
    }
    while (this.applied < low) {
      this.apply(this.rows[this.applied++]);
      const last = this.snapshots[this.snapshots.length - 1];
      if (this.applied - last.applied >= this.interval && this.pages.size * this.snapshots.length < 4096) {
        this.snapshots.push({ applied: this.applied, pages: memoryCopy(this.pages) });
      }
    }
  }

  /** @param {number} row */
  apply(row) {
    const { mask, offset, size, addresses, data, data_offset: dataOffset, step } = this.accesses;
    const words = Math.ceil(size[row] / 4);
    const kept = dataOffset[row] !== MEMORY_UNKEPT;
    let at = offset[row];
    let from = dataOffset[row];
    for (let lane = 0; lane < 32; lane++) {
      if (!((mask[row] >>> lane) & 1)) continue;
      const address = addresses[at++];
      for (let byte = 0; byte < size[row]; byte++) {
        const page = this.page(address + byte, true);
        if (!page) continue;
        const within = (address + byte) % MEMORY_PAGE;
        page.bytes[within] = kept ? data[from + (byte >> 2)] >>> (8 * (byte & 3)) : 0;
        page.state[within] = kept ? 1 : 2;
        page.step[within >> 2] = step[row];
      }
      from += words;
    }
  }

  /**
   * @param {number} address
   * @param {boolean} [make]
   * @returns {MemoryPage | null}
   */
  page(address, make = false) {
    const key = Math.floor(address / MEMORY_PAGE);
    let page = this.pages.get(key);
    if (!page && make) {
      page = { bytes: new Uint8Array(MEMORY_PAGE), state: new Uint8Array(MEMORY_PAGE), step: new Int32Array(MEMORY_PAGE / 4).fill(-1) };
      this.pages.set(key, page);
    }
    return page ?? null;
  }

  /**
   * A 4-byte word. `state`: 0 untouched by stores, 1 known, 2 a value that was not kept, 3 known in part.
   * @param {number} address a multiple of 4
   * @returns {{value: number, state: number, step: number}}
   */
  word(address) {
    const page = this.page(address);
    if (!page) return { value: 0, state: 0, step: -1 };
    const at = address % MEMORY_PAGE;
    let value = 0;
    let state = page.state[at];
    for (let byte = 0; byte < 4; byte++) {
      value |= page.bytes[at + byte] << (8 * byte);
      if (page.state[at + byte] !== state) state = state === 2 || page.state[at + byte] === 2 ? 2 : 3;
    }
    return { value: value >>> 0, state, step: page.step[at >> 2] };
  }
}

/** @param {Map<number, MemoryPage>} pages @returns {Map<number, MemoryPage>} */
function memoryCopy(pages) {
  return new Map([...pages].map(([key, page]) =>
    [key, { bytes: page.bytes.slice(), state: page.state.slice(), step: page.step.slice() }]));
}

/**
 * The buffer that holds an address, or null.
 * @param {(import('./data.js').WgBuffer | null)[]} buffers
 * @param {number} address
 */
export function memoryBuffer(buffers, address) {
  for (const buffer of buffers) {
    if (buffer && address >= Number(buffer.base) && address < Number(buffer.base) + Math.max(1, buffer.size)) return buffer;
  }
  return null;
}

/** Bytes of an element of a numpy type. @param {string} dtype */
export function memoryItemSize(dtype) {
  const bits = /(\d+)$/.exec(dtype);
  return bits ? Math.max(1, Number(bits[1]) / 8) : 4;
}
