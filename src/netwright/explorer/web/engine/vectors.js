// Sparse vectors, affine maps and feed-forward networks, from the JSON that Python writes.

import { MINUS_ONE, ONE, ZERO, Rational, bitsKept, negative, over, parse, plus, relu, rounded, sigma, times } from "./rational.js";

// A vector by its coordinates that are not 0, in any order.
export class Vector {
  constructor(places, numbers) {
    this.places = places;
    this.numbers = numbers;
  }

  get(place) {
    const at = this.places.indexOf(place);
    return at < 0 ? ZERO : this.numbers[at];
  }

  // [place, text] by place, as Python has it.
  entries() {
    const found = this.places.map((place, at) => [place, `${this.numbers[at]}`]);
    return found.sort(([a], [b]) => a - b);
  }
}

export const NOTHING = new Vector([], []);

export const readVector = (rows) => new Vector(rows.map(([place]) => place), rows.map(([, text]) => parse(text)));

// An accumulator: adds up coordinates, then gives the vector and is empty again.
class Sum {
  constructor() {
    this.numbers = [];
    this.touched = [];
  }

  add(place, number) {
    const before = this.numbers[place];
    if (before === undefined || before === null) {
      this.numbers[place] = number;
      this.touched.push(place);
    } else this.numbers[place] = plus(before, number);
  }

  take(f) {
    const places = [], found = [];
    for (const place of this.touched) {
      const number = f === undefined ? this.numbers[place] : f(this.numbers[place]);
      this.numbers[place] = null;
      if (number.n !== 0) {
        places.push(place);
        found.push(number);
      }
    }
    this.touched = [];
    return new Vector(places, found);
  }
}

const sum = new Sum();

export function addVectors(...vectors) {
  for (const { places, numbers } of vectors)
    for (let at = 0; at < places.length; at++) sum.add(places[at], numbers[at]);
  return sum.take();
}

export function scaled(vector, factor) {
  return new Vector(vector.places, vector.numbers.map((number) => times(number, factor)));
}

export function divided(vector, by) {
  return new Vector(vector.places, vector.numbers.map((number) => over(number, by)));
}

export function hadamard(x, y) {
  for (let at = 0; at < x.places.length; at++) {
    const other = y.places.indexOf(x.places[at]);
    if (other >= 0) sum.add(x.places[at], times(x.numbers[at], y.numbers[other]));
  }
  return sum.take();
}

export function pointwise(f, vector) {
  vector.places.forEach((place, at) => sum.add(place, vector.numbers[at]));
  return sum.take(f);
}

const ACTIVATIONS = { sigma, relu };

export function activation(name) {
  if (!(name in ACTIVATIONS)) throw new Error(`the activation ${name} is not one that the page computes`);
  return ACTIVATIONS[name]; // both are 0 at 0, so that zeros need not be kept
}

// x ↦ x A + b.
export class Affine {
  constructor({ weights, bias }) {
    this.rows = [];
    for (const [row, column, text] of weights) {
      (this.rows[row] ??= { columns: [], weights: [] }).columns.push(column);
      const weight = parse(text);
      this.rows[row].weights.push(weight.d !== 1 ? weight : weight.n === 1 ? ONE : weight.n === -1 ? MINUS_ONE : weight);
    }
    this.bias = readVector(bias);
    this.columns = [...new Set([...weights.map(([, column]) => column), ...this.bias.places])].sort((a, b) => a - b);
    this.isConstant = weights.length === 0;
  }

  // Column by column in the order of the rows, then the bias: if sums are rounded it matters.
  apply(x, f) {
    if (bitsKept()) x = inOrder(x);
    for (let at = 0; at < x.places.length; at++) {
      const row = this.rows[x.places[at]];
      if (row === undefined) continue;
      const number = x.numbers[at], { columns, weights } = row;
      for (let n = 0; n < columns.length; n++) {
        const weight = weights[n];
        sum.add(columns[n], weight === ONE ? number : weight === MINUS_ONE ? negative(number) : times(number, weight));
      }
    }
    const { places, numbers } = this.bias;
    for (let at = 0; at < places.length; at++) sum.add(places[at], numbers[at]);
    return sum.take(f);
  }
}

function inOrder({ places, numbers }) {
  const order = places.map((_, at) => at).sort((a, b) => places[a] - places[b]);
  return new Vector(order.map((at) => places[at]), order.map((at) => numbers[at]));
}

// A_n(f(… f(A_1(x)))).
export class FeedForward {
  constructor({ maps, activation: name }) {
    this.maps = maps.map((map) => new Affine(map));
    this.f = activation(name);
    const last = this.maps.at(-1);
    this.columns = last.columns;
    this.isConstant = last.isConstant;
    this.isZero = !last.columns.length;
  }

  apply(x) {
    const last = this.maps.length - 1;
    for (let n = 0; n < last; n++) x = this.maps[n].apply(x, this.f);
    return this.maps[last].apply(x);
  }
}

// A matrix as a sum of products of sparser ones.
export class LinearMap {
  constructor(data) {
    this.terms = (data.terms ?? [[data]]).map((term) => term.map((map) => new Affine(map)));
  }

  apply(x) {
    return addVectors(...this.terms.map((term) => term.reduce((image, map) => map.apply(image), x)));
  }
}

// pos(i): powers of i in some coordinates.
export class Positions {
  constructor({ layout, powers }, layouts) {
    const places = blockPlaces(layouts[layout]);
    this.powers = powers.map(([block, power]) => [places.get(block)[0], power]);
  }

  at(i) {
    const powers = this.powers.map(([, power]) => {
      let size = 1;
      for (let n = 0; n < Math.abs(power); n++) size *= i;
      if (size > Number.MAX_SAFE_INTEGER) size = BigInt(i) ** BigInt(Math.abs(power));
      const one = typeof size === "number" ? 1 : 1n;
      return rounded(power < 0 ? new Rational(one, size) : new Rational(size, one));
    });
    return new Vector(this.powers.map(([place]) => place), powers);
  }
}

// The places of each block of a layout; a block is its name, or its name and its labels.
export function blockPlaces(layout) {
  let next = 0;
  return new Map(layout.map((block) => {
    const [name, labels] = typeof block === "string" ? [block, [""]] : block;
    return [name, labels.map(() => next++)];
  }));
}

// Numbers of a run whose signs are flipped, [t, name of the vector, place], as functions by time.
export function flipsOf(numbers = []) {
  if (!numbers.length) return null;
  const found = new Map();
  for (const [t, name, place] of numbers) {
    const before = found.get(t) ?? ((_, vector) => vector);
    found.set(t, (asked, vector) => {
      const { places, numbers } = before(asked, vector);
      return new Vector(places, asked === name ? numbers.map((x, at) => (places[at] === place ? negative(x) : x)) : numbers);
    });
  }
  return found;
}
