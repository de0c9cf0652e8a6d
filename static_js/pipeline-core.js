// The event simulator of warp-specialised pipelines: the same as generator/warpglass/pipeline, operation for
// operation and event for event; a test holds both to equal lists over random knobs. Knows no screen.

/**
 * @typedef {any} PipeExpr a number, a name, or [operator, operand, …]
 * @typedef {Record<string, any>} PipeNode
 * @typedef {object} PipeProgram
 * @property {string} id
 * @property {string} title
 * @property {string} schedule
 * @property {Array<{name: string, value: number, min: number, max: number, label: string, unit: string, group: string, about: string}>} knobs
 * @property {Array<[string, PipeExpr]>} let
 * @property {Array<{name: string, class: string, stages: PipeExpr, full: PipeExpr, empty: PipeExpr, title: string}>} pipes
 * @property {Array<{name: string, size?: PipeExpr, count: PipeExpr}>} bars
 * @property {Array<{name: string, size?: PipeExpr}>} named
 * @property {Array<{name: string, kind: string, latency?: PipeExpr}>} engines
 * @property {PipeExpr} [ctas] everything is there once a CTA; the copies of CTA 1 are called name@1
 * @property {Array<{name: string, role: string, cta: number, when?: PipeExpr, body: PipeNode[]}>} lanes
 * @property {Array<{name: string, value: PipeExpr}>} [bounds]
 * @property {PipeExpr} [least_stages]
 * @property {{stage: PipeExpr, most: PipeExpr}} [memory]
 * @property {{tiles: PipeExpr, steps: PipeExpr, tile_scale: PipeExpr}} [work]
 *
 * @typedef {object} PipeSite
 * @property {number} lane
 * @property {string} op
 * @property {string} label
 * @property {string} kind
 * @property {string} cause
 * @property {string} source
 * @property {number | null} line
 *
 * @typedef {object} PipeFlat
 * @property {Record<string, number>} knobs
 * @property {number[][]} lanes eight numbers an operation: code, a, b, c, d, site, tile, step
 * @property {number[]} offsets number of each lane's first operation
 * @property {number[]} ops all operations, one lane after the other
 * @property {number[]} laneOf lane of each operation
 * @property {string[]} laneNames
 * @property {Array<[string, number, number]>} bars name, index, count
 * @property {Map<string, number>} base
 * @property {Map<string, number>} size
 * @property {string[]} named
 * @property {Array<[string, string, number]>} engines name, kind, latency
 * @property {PipeSite[]} sites
 * @property {string[]} pipes names of the pipelines, those of every CTA
 *
 * @typedef {object} PipeRun
 * @property {PipeFlat} flat
 * @property {number[]} events six numbers an event: kind, who, start, end, operation, by
 * @property {number} total
 * @property {Array<{lane: number, operation: number, since: number}>} stuck
 * @property {{kind: string, operation: number, barrier: number, time: number} | null} fault
 */

export const PIPE_OPS = ['busy', 'wait', 'arrive', 'async', 'mma', 'wgwait', 'tcarrive', 'sync', 'barrive', 'store', 'stwait'];
export const PIPE_BUSY = 0;
export const PIPE_WAIT = 1;
export const PIPE_ARRIVE = 2;
export const PIPE_ASYNC = 3;
export const PIPE_MMA = 4;
export const PIPE_WGWAIT = 5;
export const PIPE_TCARRIVE = 6;
export const PIPE_SYNC = 7;
export const PIPE_BARRIVE = 8;
export const PIPE_STORE = 9;
export const PIPE_STWAIT = 10;
export const PIPE_FLIP = 11;
export const PIPE_END = 12;
export const PIPE_OP = 8; // numbers an operation
export const PIPE_EVENT = 6; // numbers an event

const PIPE_MAX_OPERATIONS = 400_000;
const PIPE_MAX_STEPS = 4_000_000;
const PIPE_MAX_CTAS = 16;
const PIPE_LARGEST = 2 ** 40;
const PIPE_CODES = new Map(PIPE_OPS.map((name, code) => [name, code]));

/** A schedule that cannot be made of a program and its knobs. */
export class PipeError extends Error {}

/** @type {Record<string, (...values: number[]) => number>} */
const PIPE_OPERATORS = {
  '+': (...v) => v.reduce((a, b) => a + b, 0),
  '-': (a, b) => (b === undefined ? -a : a - b),
  '*': (a, b) => a * b,
  '//': (a, b) => pipeDivide(a, b),
  cdiv: (a, b) => -pipeDivide(-a, b),
  '%': (a, b) => a - b * pipeDivide(a, b),
  min: (...v) => Math.min(...v),
  max: (...v) => Math.max(...v),
  '==': (a, b) => +(a === b),
  '!=': (a, b) => +(a !== b),
  '<': (a, b) => +(a < b),
  '<=': (a, b) => +(a <= b),
  '>': (a, b) => +(a > b),
  '>=': (a, b) => +(a >= b),
  and: (...v) => +v.every(Boolean),
  or: (...v) => +v.some(Boolean),
  not: (a) => +!a,
  '^': (a, b) => a ^ b,
};

/** @param {number} a @param {number} b */
function pipeDivide(a, b) {
  if (b === 0) throw new PipeError('a pipeline divides by zero');
  return Math.floor(a / b);
}

/**
 * @param {PipeExpr} expr
 * @param {Record<string, number>} names
 * @param {Map<string, number[]> | null} [states]
 * @returns {number}
 */
export function pipeValue(expr, names, states = null) {
  if (typeof expr === 'number') return expr;
  if (typeof expr === 'string') {
    const value = names[expr];
    if (value === undefined) throw new PipeError(`a pipeline names “${expr.slice(0, 40)}”, which is no knob of it`);
    return value;
  }
  if (!Array.isArray(expr) || !expr.length) throw new PipeError('an expression of a pipeline is malformed');
  const operator = expr[0];
  if (operator === 'idx' || operator === 'ph') {
    const state = states?.get(expr[1]);
    if (!state) throw new PipeError('a pipeline uses a state before it is made');
    const passed = state[0] + state[3];
    return operator === 'idx' ? passed % state[2] : (state[1] + Math.floor(passed / state[2])) & 1;
  }
  if (operator === 'if') return pipeValue(pipeValue(expr[1], names, states) ? expr[2] : expr[3], names, states);
  const apply = Object.hasOwn(PIPE_OPERATORS, operator) ? PIPE_OPERATORS[operator] : null;
  if (!apply) throw new PipeError('a pipeline uses an unknown operator');
  const value =
    expr.length === 3
      ? apply(pipeValue(expr[1], names, states), pipeValue(expr[2], names, states))
      : apply(...expr.slice(1).map((/** @type {PipeExpr} */ operand) => pipeValue(operand, names, states)));
  if (!(Math.abs(value) <= PIPE_LARGEST)) throw new PipeError('a value in a pipeline is out of range');
  return value + 0; // -0 is 0
}

/**
 * Every knob with its value, clamped to its range, then the derived names.
 * @param {PipeProgram} program
 * @param {Record<string, number>} given
 */
export function pipeKnobs(program, given) {
  /** @type {Record<string, number>} */
  const values = {};
  for (const knob of program.knobs) {
    const value = Object.hasOwn(given, knob.name) ? given[knob.name] : knob.value;
    values[knob.name] = Math.max(knob.min, Math.min(knob.max, Math.trunc(value)));
  }
  for (const [name, expr] of program.let) values[name] = pipeValue(expr, values);
  return values;
}

/** The name of a CTA's own copy: `ml@1.full`. @param {string} name @param {number} cta */
function pipeCopy(name, cta) {
  if (!cta) return name;
  const dot = name.indexOf('.');
  return dot < 0 ? `${name}@${cta}` : `${name.slice(0, dot)}@${cta}${name.slice(dot)}`;
}

class PipeTables {
  /** @param {PipeProgram} program @param {Record<string, number>} values */
  constructor(program, values) {
    /** @type {Array<[string, number, number]>} */
    this.bars = [];
    /** @type {Map<string, number>} */
    this.base = new Map();
    /** @type {Map<string, number>} */
    this.size = new Map();
    this.steps = 0;
    this.made = 0;
    this.ctas = pipeValue(program.ctas ?? 1, values);
    if (!(this.ctas >= 1 && this.ctas <= PIPE_MAX_CTAS)) throw new PipeError(`a cluster of ${this.ctas} CTAs is not simulated`);
    const ctas = Array.from({ length: this.ctas }, (_, cta) => cta);
    this.pipes = ctas.flatMap((cta) => program.pipes.map((pipe) => pipeCopy(pipe.name, cta)));
    for (const cta of ctas) {
      for (const pipe of program.pipes) {
        this.add(pipeCopy(`${pipe.name}.full`, cta), pipeValue(pipe.stages, values), pipeValue(pipe.full, values));
        this.add(pipeCopy(`${pipe.name}.empty`, cta), pipeValue(pipe.stages, values), pipeValue(pipe.empty, values));
      }
      for (const bar of program.bars) this.add(pipeCopy(bar.name, cta), pipeValue(bar.size ?? 1, values), pipeValue(bar.count, values));
    }
    /** @type {Array<[string, string, number]>} */
    this.engines = ctas.flatMap((cta) => program.engines.map((engine) => /** @type {[string, string, number]} */ (
      [pipeCopy(engine.name, cta), engine.kind, pipeValue(engine.latency ?? 0, values)])));
    this.engineNumber = new Map(this.engines.map(([name], number) => [name, number]));
    /** @type {string[]} */
    this.named = [];
    /** @type {Map<string, [number, number]>} */
    this.namedBase = new Map();
    for (const cta of ctas) {
      for (const entry of program.named) {
        const [size, name] = [pipeValue(entry.size ?? 1, values), pipeCopy(entry.name, cta)];
        this.namedBase.set(name, [this.named.length, size]);
        for (let i = 0; i < Math.min(size, 64); i++) this.named.push(size === 1 ? name : `${name}[${i}]`);
      }
    }
    /** @type {PipeSite[]} */
    this.sites = [];
    /** @type {Map<PipeNode, number>} */
    this.siteNumber = new Map();
    program.lanes.forEach((lane, number) => this.findSites(number, lane.body));
  }

  /** @param {string} name @param {number} size @param {number} count */
  add(name, size, count) {
    if (size < 0 || count < 0 || this.bars.length + size > 4096) throw new PipeError(`the barriers of ${name} are too many or none`);
    this.base.set(name, this.bars.length);
    this.size.set(name, size);
    for (let i = 0; i < size; i++) this.bars.push([name, i, count]);
  }

  /** @param {number} lane @param {PipeNode[]} nodes */
  findSites(lane, nodes) {
    for (const node of nodes) {
      for (const key of ['body', 'then', 'else']) if (node[key]) this.findSites(lane, node[key]);
      if (!PIPE_CODES.has(node.op)) continue;
      this.siteNumber.set(node, this.sites.length);
      const { op, label = '', kind = '', cause = '', src = '', line = null } = node;
      this.sites.push({ lane, op, label, kind, cause, source: src, line });
    }
  }

  step() {
    if (++this.steps > PIPE_MAX_STEPS) throw new PipeError('the pipeline is too long to be unrolled');
  }

  /** @param {string} name @param {number} index */
  bar(name, index) {
    const base = this.base.get(name);
    if (base === undefined || index < 0 || index >= (this.size.get(name) ?? 0)) throw new PipeError(`a pipeline has no barrier ${name}[${index}]`);
    return base + index;
  }

  /** @param {string} name */
  engine(name) {
    const number = this.engineNumber.get(name);
    if (number === undefined) throw new PipeError(`a pipeline has no engine “${name}”`);
    return number;
  }

  /** @param {string} name @param {number} index */
  name(name, index) {
    const [base, size] = this.namedBase.get(name) ?? [0, 0];
    if (index < 0 || index >= size) throw new PipeError(`a pipeline has no named barrier ${name}[${index}]`);
    return base + index;
  }
}

class PipeLane {
  /** @param {PipeTables} tables @param {Record<string, number>} values @param {number} cta */
  constructor(tables, values, cta) {
    this.tables = tables;
    this.cta = cta;
    /** @type {Record<string, number>} */
    this.names = { ...values, cta };
    /** @type {Map<string, number[]>} */
    this.states = new Map();
    /** @type {number[]} */
    this.code = [];
  }

  /** @param {PipeExpr} expr */
  value(expr) {
    return pipeValue(expr, this.names, this.states);
  }

  /** @param {PipeNode[]} nodes @param {number} [depth] */
  run(nodes, depth = 0) {
    if (depth > 30) throw new PipeError('the loops of a pipeline are nested too deeply');
    for (const node of nodes) {
      this.tables.step();
      switch (node.op) {
        case 'loop':
          this.loop(node, depth);
          break;
        case 'if':
          this.run((this.value(node.cond) ? node.then : node.else) ?? [], depth + 1);
          break;
        case 'state':
          this.state(node);
          break;
        case 'advance':
          this.known(node.state)[3] += this.value(node.n ?? 1);
          break;
        case 'set':
          this.names[node.var] = this.value(node.value);
          break;
        default:
          this.operation(node);
      }
    }
  }

  /** @param {PipeNode} node @param {number} depth */
  loop(node, depth) {
    const count = this.value(node.n);
    const start = this.value(node.from ?? 0);
    const step = node.step ?? 1;
    const before = this.names[node.var];
    for (let turn = 0; turn < count; turn++) {
      this.tables.step();
      this.names[node.var] = start + turn * step;
      this.run(node.body, depth + 1);
    }
    if (before === undefined) delete this.names[node.var];
    else this.names[node.var] = before;
  }

  /** @param {string} name */
  known(name) {
    const state = this.states.get(name);
    if (!state) throw new PipeError('a pipeline uses a state before it is made');
    return state;
  }

  /** @param {PipeNode} node */
  state(node) {
    if (node.copy !== undefined) {
      this.states.set(node.name, [...this.known(node.copy)]);
      return;
    }
    const stages = this.value(node.stages);
    if (stages < 1) throw new PipeError('a pipeline has no stages');
    this.states.set(node.name, [this.value(node.index ?? 0), this.value(node.phase ?? 0), stages, 0]);
  }

  /** @param {PipeNode} node @param {string} name */
  bar(node, name) {
    let index = node.at === undefined ? 0 : this.value(['idx', node.at]);
    if (node.index !== undefined) index = this.value(node.index);
    return this.tables.bar(pipeCopy(name, node.of === undefined ? this.cta : this.value(node.of)), index);
  }

  /** @param {string} name */
  engine(name) {
    return this.tables.engine(pipeCopy(name, this.cta));
  }

  /** @param {PipeNode} node */
  operation(node) {
    const code = PIPE_CODES.get(node.op);
    if (code === undefined) throw new PipeError('a pipeline has an unknown operation');
    let [a, b, c, d] = [0, 0, 0, 0];
    if (code === PIPE_BUSY) a = Math.max(0, this.value(node.d));
    else if (code === PIPE_WAIT) {
      a = this.bar(node, node.bar);
      b = ((node.parity === undefined ? this.value(['ph', node.at]) : this.value(node.parity)) ^ (node.flip ?? 0)) & 1;
    } else if (code === PIPE_ARRIVE) [a, b, c] = [this.bar(node, node.bar), this.value(node.n ?? 1), this.value(node.tx ?? 0)];
    else if (code === PIPE_ASYNC) {
      [a, b] = [this.engine(node.engine), Math.max(0, this.value(node.d))];
      c = node.bar === undefined ? -1 : this.bar(node, node.bar);
      d = this.value(node.tx ?? 1);
    } else if (code === PIPE_MMA) {
      [a, b] = [this.engine(node.engine ?? 'tc'), Math.max(0, this.value(node.d))];
      c = node.reads === undefined ? -1 : this.bar(node, node.reads);
    } else if (code === PIPE_WGWAIT || code === PIPE_STWAIT) a = Math.max(0, this.value(node.n));
    else if (code === PIPE_TCARRIVE) {
      [a, b, c] = [this.bar(node, node.bar), this.value(node.n ?? 1), this.engine(node.engine ?? 'tc')];
    } else if (code === PIPE_SYNC || code === PIPE_BARRIVE) {
      [a, b] = [this.tables.name(pipeCopy(node.named, this.cta), this.value(node.index ?? 0)), this.value(node.count)];
    } else if (code === PIPE_STORE) [a, b] = [this.engine(node.engine ?? 'st'), Math.max(0, this.value(node.d))];
    const tile = node.tile === undefined ? (this.names.o ?? -1) : this.value(node.tile);
    const step = node.step === undefined ? (this.names.t ?? -1) : this.value(node.step);
    if (++this.tables.made > PIPE_MAX_OPERATIONS) throw new PipeError(`the pipeline has more than ${PIPE_MAX_OPERATIONS} operations`);
    this.code.push(code, a, b, c, d, /** @type {number} */ (this.tables.siteNumber.get(node)), tile, step);
  }
}

/**
 * Unrolls a program for its knobs (the others at their defaults).
 * @param {PipeProgram} program
 * @param {Record<string, number>} [given]
 * @returns {PipeFlat}
 */
export function pipeExpand(program, given = {}) {
  const knobs = pipeKnobs(program, given);
  const tables = new PipeTables(program, knobs);
  /** @type {number[][]} */
  const lanes = [];
  /** @type {string[]} */
  const laneNames = [];
  for (let cta = 0; cta < tables.ctas; cta++) {
    for (const entry of program.lanes) {
      if (!pipeValue(entry.when ?? 1, knobs)) continue;
      const lane = new PipeLane(tables, knobs, cta);
      lane.run(entry.body);
      lanes.push(lane.code);
      laneNames.push(pipeCopy(entry.name, cta));
    }
  }
  /** @type {number[]} */
  const offsets = [];
  /** @type {number[]} */
  const ops = [];
  /** @type {number[]} */
  const laneOf = [];
  lanes.forEach((code, lane) => {
    offsets.push(laneOf.length);
    for (let i = 0; i < code.length; i++) ops.push(code[i]);
    for (let i = 0; i < code.length / PIPE_OP; i++) laneOf.push(lane);
  });
  const { bars, base, size, named, engines, sites, pipes } = tables;
  return { knobs, lanes, offsets, ops, laneOf, laneNames, bars, base, size, named, engines, sites, pipes };
}

/** A heap of (time, order, what, a, b, c), as rows of one array of numbers. */
class PipeQueue {
  constructor() {
    /** @type {number[][]} */
    this.rows = [];
    this.pushed = 0;
  }

  /** @param {number} time @param {number} what @param {number} a @param {number} [b] @param {number} [c] */
  push(time, what, a, b = 0, c = 0) {
    const { rows } = this;
    const row = [time, ++this.pushed, what, a, b, c];
    let at = rows.length;
    rows.push(row);
    while (at > 0) {
      const up = (at - 1) >> 1;
      if (rows[up][0] < time || (rows[up][0] === time && rows[up][1] < row[1])) break;
      rows[at] = rows[up];
      at = up;
    }
    rows[at] = row;
  }

  pop() {
    const { rows } = this;
    const first = rows[0];
    const row = /** @type {number[]} */ (rows.pop());
    const count = rows.length;
    if (!count) return first;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      if (down >= count) break;
      const right = down + 1;
      if (right < count && (rows[right][0] < rows[down][0] || (rows[right][0] === rows[down][0] && rows[right][1] < rows[down][1]))) down = right;
      if (row[0] < rows[down][0] || (row[0] === rows[down][0] && row[1] < rows[down][1])) break;
      rows[at] = rows[down];
      at = down;
    }
    rows[at] = row;
    return first;
  }
}

class PipeSimulator {
  /** @param {PipeFlat} flat */
  constructor(flat) {
    this.flat = flat;
    this.now = 0;
    this.queue = new PipeQueue();
    /** @type {number[]} */
    this.events = [];
    /** @type {Array<{count: number, pending: number, tx: number, parity: number, waiters: number[][]}>} */
    this.bars = flat.bars.map(([, , count]) => ({ count, pending: count, tx: 0, parity: 0, waiters: [] }));
    /** @type {Array<{arrived: number, waiters: number[][]}>} */
    this.named = flat.named.map(() => ({ arrived: 0, waiters: [] }));
    this.free = flat.engines.map(() => 0);
    this.last = flat.engines.map(() => -1);
    this.at = flat.lanes.map(() => 0);
    /** @type {number[][][]} */
    this.groups = flat.lanes.map(() => []);
    /** @type {number[][][]} */
    this.stores = flat.lanes.map(() => []);
    /** @type {PipeRun['fault']} */
    this.fault = null;
  }

  /** @param {number} number @param {number} by */
  check(number, by) {
    const bar = this.bars[number];
    if (bar.pending || bar.tx) return;
    bar.parity ^= 1;
    bar.pending = bar.count;
    this.events.push(PIPE_FLIP, number, this.now, this.now, by, -1);
    const waiting = bar.waiters;
    bar.waiters = [];
    for (const waiter of waiting) {
      const [lane, parity, since, operation] = waiter;
      if (bar.parity === parity) {
        bar.waiters.push(waiter);
        continue;
      }
      this.events.push(PIPE_WAIT, lane, since, this.now, operation, by);
      this.queue.push(this.now, 0, lane);
    }
  }

  /** @param {number} number @param {number} arrivals @param {number} tx @param {number} by */
  arrive(number, arrivals, tx, by) {
    const bar = this.bars[number];
    if (bar.pending < arrivals) {
      this.fault = { kind: 'over-arrival', operation: by, barrier: number, time: this.now };
      return;
    }
    bar.pending -= arrivals;
    bar.tx += tx;
    this.check(number, by);
  }

  /** An operation on an in-order engine. @param {number} kind @param {number} engine @param {number} duration @param {number} latency @param {number} number */
  occupy(kind, engine, duration, latency, number) {
    const start = Math.max(this.now, this.free[engine]);
    const behind = start > this.now ? this.last[engine] : -1;
    this.free[engine] = start + duration;
    this.last[engine] = number;
    this.events.push(kind, engine, start, start + duration + latency, number, behind);
    return start + duration + latency;
  }

  /** Waits for all but some outstanding groups; false where the lane goes on. @param {number[][][]} all @param {number} kind @param {number} lane @param {number} left @param {number} number */
  drain(all, kind, lane, left, number) {
    const kept = all[lane];
    const [until, by] = kept.length > left ? kept[kept.length - 1 - left] : [0, -1];
    all[lane] = left ? kept.slice(Math.max(0, kept.length - left)) : [];
    const blocked = until > this.now;
    this.events.push(kind, lane, this.now, Math.max(this.now, until), number, blocked ? by : -1);
    if (blocked) this.queue.push(until, 0, lane);
    return blocked;
  }

  /** @param {number} lane */
  step(lane) {
    const code = this.flat.lanes[lane];
    const base = this.flat.offsets[lane];
    while (!this.fault) {
      const position = this.at[lane];
      const o = position * PIPE_OP;
      if (o === code.length) {
        this.events.push(PIPE_END, lane, this.now, this.now, -1, -1);
        return;
      }
      this.at[lane] = position + 1;
      const number = base + position;
      const [kind, a, b, c] = [code[o], code[o + 1], code[o + 2], code[o + 3]];
      if (kind === PIPE_BUSY) {
        this.events.push(PIPE_BUSY, lane, this.now, this.now + a, number, -1);
        if (!a) continue;
        this.queue.push(this.now + a, 0, lane);
        return;
      } else if (kind === PIPE_WAIT) {
        const bar = this.bars[a];
        if (bar.parity === b) {
          bar.waiters.push([lane, b, this.now, number]);
          return;
        }
        this.events.push(PIPE_WAIT, lane, this.now, this.now, number, -1);
      } else if (kind === PIPE_ARRIVE) {
        this.events.push(PIPE_ARRIVE, lane, this.now, this.now, number, -1);
        this.arrive(a, b, c, number);
      } else if (kind === PIPE_ASYNC) {
        const end = this.occupy(PIPE_ASYNC, a, b, this.flat.engines[a][2], number);
        if (c >= 0) this.queue.push(end, 1, c, code[o + 4], number);
      } else if (kind === PIPE_MMA) this.groups[lane].push([this.occupy(PIPE_MMA, a, b, 0, number), number]);
      else if (kind === PIPE_STORE) this.stores[lane].push([this.occupy(PIPE_STORE, a, b, 0, number), number]);
      else if (kind === PIPE_WGWAIT || kind === PIPE_STWAIT) {
        if (this.drain(kind === PIPE_WGWAIT ? this.groups : this.stores, kind, lane, a, number)) return;
      } else if (kind === PIPE_TCARRIVE) {
        const group = this.groups[lane];
        this.queue.push(group.length ? Math.max(this.now, group[group.length - 1][0]) : this.now, 2, a, b, number);
      } else if (!this.meet(lane, kind, a, b, number)) return;
    }
  }

  /** @param {number} lane @param {number} kind @param {number} name @param {number} needed @param {number} number */
  meet(lane, kind, name, needed, number) {
    const entry = this.named[name];
    entry.arrived++;
    if (kind === PIPE_SYNC) entry.waiters.push([lane, this.now, number]);
    else this.events.push(PIPE_BARRIVE, lane, this.now, this.now, number, -1);
    if (entry.arrived > needed) {
      this.fault = { kind: 'named over-arrival', operation: number, barrier: name, time: this.now };
      return false;
    }
    if (entry.arrived < needed) return kind !== PIPE_SYNC;
    this.named[name] = { arrived: 0, waiters: [] };
    for (const [other, since, operation] of entry.waiters) {
      this.events.push(PIPE_SYNC, other, since, this.now, operation, other === lane ? -1 : number);
      if (other !== lane) this.queue.push(this.now, 0, other);
    }
    return true;
  }

  run() {
    for (let lane = 0; lane < this.flat.lanes.length; lane++) this.queue.push(0, 0, lane);
    while (this.queue.rows.length && !this.fault) {
      const [time, , what, a, b, c] = this.queue.pop();
      this.now = time;
      if (what === 0) this.step(a);
      else if (what === 1) {
        this.bars[a].tx -= b;
        this.check(a, c);
      } else {
        this.events.push(PIPE_TCARRIVE, -1, this.now, this.now, c, -1);
        this.arrive(a, b, 0, c);
      }
    }
  }

  stuck() {
    /** @type {Map<number, {lane: number, operation: number, since: number}>} */
    const found = new Map();
    for (const bar of this.bars) for (const [lane, , since, operation] of bar.waiters) found.set(lane, { lane, operation, since });
    for (const entry of this.named) for (const [lane, since, operation] of entry.waiters) found.set(lane, { lane, operation, since });
    return [...found.values()].sort((x, y) => x.lane - y.lane);
  }
}

/**
 * Runs to the end, to a deadlock, or to an arrival that its barrier does not count.
 * @param {PipeFlat} flat
 * @returns {PipeRun}
 */
export function pipeSimulate(flat) {
  const simulator = new PipeSimulator(flat);
  simulator.run();
  const { events, fault } = simulator;
  let total = 0;
  for (let e = 3; e < events.length; e += PIPE_EVENT) if (events[e] > total) total = events[e];
  return { flat, events, total, fault, stuck: fault ? [] : simulator.stuck() };
}

/** @param {PipeProgram} program @param {Record<string, number>} [knobs] */
export function pipeRun(program, knobs = {}) {
  return pipeSimulate(pipeExpand(program, knobs));
}
