// The one selection that drives every pane.

/**
 * @typedef {object} Selection
 * @property {number} launch index into the report's launches
 * @property {string} isa `ptx` or `sass`
 * @property {number} block linear index of a traced block
 * @property {number} warp warp in the block
 * @property {number} step index into the block's trace
 * @property {[number, number] | null} range rounds, from one marker to the other
 * @property {{source: string, line: number} | null} line a fixed source line
 */

/**
 * @callback StoreListener
 * @param {Selection} selection
 * @param {Set<string>} changed names of the fields that changed
 * @returns {void}
 */

/** @param {any} a @param {any} b */
function storeSame(a, b) {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/** Holds the selection; listeners hear of real changes only, once for each call of `set`. */
export class Store {
  /** @param {Selection} initial */
  constructor(initial) {
    /** @type {Selection} */
    this.value = Object.freeze({ ...initial });
    /** @type {StoreListener[]} */
    this.listeners = [];
  }

  /** @returns {Selection} */
  get() {
    return this.value;
  }

  /** @param {Partial<Selection>} patch */
  set(patch) {
    const changed = new Set();
    for (const [name, value] of Object.entries(patch)) {
      if (!storeSame(/** @type {any} */ (this.value)[name], value)) changed.add(name);
    }
    if (!changed.size) return;
    this.value = Object.freeze({ ...this.value, ...patch });
    for (const listener of [...this.listeners]) listener(this.value, changed);
  }

  /**
   * @param {StoreListener} listener
   * @returns {() => void} ends the subscription
   */
  subscribe(listener) {
    this.listeners.push(listener);
    return () => {
      this.listeners = this.listeners.filter((other) => other !== listener);
    };
  }
}
