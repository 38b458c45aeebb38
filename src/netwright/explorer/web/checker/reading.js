// What certificates of all kinds have: vectors in named blocks, matrices, Turing machines.

import { Rational, ZERO } from "./rational.js";
import { Refusal } from "./json.js";

export const sameList = (a, b) => a.length === b.length && a.every((each, n) => each === b[n]);
export const isSubset = (a, b) => [...a].every((each) => b.has(each));
export const sameSet = (a, b) => a.size === b.size && isSubset(a, b);
export const pair = (a, b) => `${a.length} ${a}${b}`; // two texts as one key; no two pairs have the same

// A Map of pairs [key, value]; a key may occur once.
export function unique(pairs, what) {
  const found = new Map();
  for (const [key, value] of pairs) {
    if (found.has(key)) throw new Refusal(`${what}: ${key} occurs twice`);
    found.set(key, value);
  }
  return found;
}

// What must be there: an item of a list, a value of a Map.
export function needed(container, key) {
  const found = container instanceof Map ? container.get(key) : container[key];
  if (found === undefined) throw new Refusal(`its parts do not fit each other: there is no ${key}`);
  return found;
}

// Coordinate → number; a number that is written as 0 is kept.
export function readVector(written, size) {
  const found = unique(written.map(([k, x]) => [k, Rational.parse(x)]), "a vector");
  for (const k of found.keys()) if (k >= size) throw new Refusal(`a coordinate outside a vector of ${size}`);
  return found;
}

export const sameVector = (a, b) => a.size === b.size && [...a].every(([k, x]) => b.get(k)?.equals(x));

export class Blocks {
  constructor(written) {
    this.places = new Map();
    this.names = [];
    for (const block of written) {
      const [name, labels] = typeof block === "string" ? [block, [""]] : block;
      if (this.places.has(name)) throw new Refusal(`block '${name}' occurs twice`);
      this.places.set(name, unique(labels.map((label, n) => [label, this.names.length + n]), `block '${name}'`));
      this.names.push(...labels.map((label) => (label ? `${name}[${label}]` : name)));
    }
  }

  one(block, label = "") {
    return needed(needed(this.places, block), label);
  }

  of(...blocks) {
    return new Set(blocks.flatMap((block) => [...needed(this.places, block).values()]));
  }

  show(vector) {
    return [...vector].map(([k, x]) => `${this.names[k]}=${x}`).join(", ") || "0";
  }
}

// x ↦ xA + b. `rows` has the weights that are not 0, `bias` all that is written.
export class Matrix {
  constructor(rows, bias = new Map()) {
    this.rows = rows;
    this.bias = bias;
  }

  static read(written, inputs, outputs) {
    const rows = new Map(), seen = new Set();
    for (const [j, k, text] of written.get("weights")) {
      if (j >= inputs || k >= outputs) throw new Refusal(`a weight at ${j}, ${k} in a matrix of ${inputs} by ${outputs}`);
      const place = j * outputs + k, weight = Rational.parse(text);
      if (seen.has(place)) throw new Refusal(`a weight at ${j}, ${k} occurs twice`);
      seen.add(place);
      if (!weight.sign) continue;
      if (!rows.has(j)) rows.set(j, new Map());
      rows.get(j).set(k, weight);
    }
    return new Matrix(rows, readVector(written.get("bias"), outputs));
  }

  *weights() {
    for (const [j, row] of this.rows) for (const [k, w] of row) yield [j, k, w];
  }

  get isUnbiased() {
    return [...this.bias.values()].every((b) => !b.sign);
  }

  // xA of a vector; zeros are left out.
  image(x) {
    const found = new Map();
    for (const [j, value] of x) {
      for (const [k, w] of this.rows.get(j) ?? []) {
        const sum = (found.get(k) ?? ZERO).plus(value.times(w));
        if (sum.sign) found.set(k, sum);
        else found.delete(k);
      }
    }
    return found;
  }
}

// A composition of maps from a layout to itself.
export function readMaps(written, sizes, layout) {
  const fits = written.length && written[0].get("input") === layout && written.at(-1).get("output") === layout
    && written.every((each, n) => n === 0 || written[n - 1].get("output") === each.get("input"));
  if (!fits) throw new Refusal("maps do not fit each other, or the vectors they are for");
  return written.map((each) => Matrix.read(each, needed(sizes, each.get("input")), needed(sizes, each.get("output"))));
}

export class Machine {
  constructor(written) {
    this.states = written.get("states");
    this.symbols = written.get("symbols");
    this.blank = written.get("blank");
    this.start = written.get("start");
    this.accepting = new Set(written.get("accepting"));
    this.delta = unique(written.get("delta").map(([q, s, ...rule]) => [pair(q, s), rule]), "rules");
    this.rules = written.get("delta");
    const states = new Set(this.states), symbols = new Set(this.symbols);
    const known = states.size === this.states.length && symbols.size === this.symbols.length
      && states.has(this.start) && isSubset(this.accepting, states) && symbols.has(this.blank)
      && this.rules.every(([q, s, p, w]) => states.has(q) && states.has(p) && symbols.has(s) && symbols.has(w));
    if (!known) throw new Refusal("the machine has unknown states or symbols, or some twice");
  }

  // [state, written symbol, move]; undefined where it halts.
  rule(state, symbol) {
    return this.accepting.has(state) ? undefined : this.delta.get(pair(state, symbol));
  }

  // The accepting states; where none are declared, those in which it always halts.
  get final() {
    if (this.accepting.size) return this.accepting;
    const left = new Set(this.rules.map(([q]) => q));
    return new Set(this.states.filter((q) => !left.has(q)));
  }
}

export const readMachine = (part, written) => new Machine(part === "given" ? written.get("given") : part);
