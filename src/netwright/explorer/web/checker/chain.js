// Affine maps with σ between them, for many vectors at once: a coordinate is a form c + Σ c_x x whose
// unknowns x lie between bounds. σ of a form is 0, 1 or the form where the bounds decide that, else a
// new unknown in [0, 1]. A coordinate that is read and not given is an unknown without bounds.

import { ZERO, ONE, Rational } from "./rational.js";

// A form is a Map from the unknown's name to its factor; the constant has the name "".
export const NONE = new Map();
export const unknown = (name, factor = ONE) => new Map([[name, factor]]);
export const known = (x) => {
  const value = typeof x === "number" ? Rational.of(x) : x;
  return value.sign ? new Map([["", value]]) : NONE;
};
export const UNIT = [ZERO, ONE];

const sameForm = (a, b) => a.size === b.size && [...a].every(([name, x]) => b.get(name)?.equals(x));

// Whether two vectors of forms (coordinate → form) are the same; a form 0 is as none.
export function sameForms(a, b) {
  const wanted = [...b].filter(([, form]) => form.size), found = [...a].filter(([, form]) => form.size);
  return found.length === wanted.length && wanted.every(([k, form]) => sameForm(a.get(k) ?? NONE, form));
}

function addTo(form, other, factor) {
  for (const [name, x] of other) {
    const sum = (form.get(name) ?? ZERO).plus(x.times(factor));
    if (sum.sign) form.set(name, sum);
    else form.delete(name);
  }
}

// Least and greatest value; null where there is none.
function limits(form, bounds) {
  let least = ZERO, most = ZERO;
  for (const [name, factor] of form) {
    const [low, high] = name ? bounds.get(name) : [ONE, ONE];
    const [first, last] = factor.sign > 0 ? [low, high] : [high, low];
    least = least && first && least.plus(factor.times(first));
    most = most && last && most.plus(factor.times(last));
  }
  return [least, most];
}

export function isUnit(form, bounds) {
  const [least, most] = limits(form, bounds);
  return least !== null && least.sign >= 0 && most !== null && most.compare(ONE) <= 0;
}

function clipped(form, bounds, name) {
  const [least, most] = limits(form, bounds);
  if (most !== null && most.sign <= 0) return NONE;
  if (least !== null && least.compare(ONE) >= 0) return known(ONE);
  if (least !== null && most !== null && least.sign >= 0 && most.compare(ONE) <= 0) return form;
  bounds.set(name, UNIT);
  return unknown(name);
}

export class Chain {
  constructor(maps, activation) {
    this.maps = maps;
    this.activation = activation;
  }

  get isZero() {
    const last = this.maps.at(-1);
    return last.rows.size === 0 && last.isUnbiased;
  }

  // One linear map with these weights [row, column, number] and no others.
  isExactly(weights) {
    const [first] = this.maps;
    return this.maps.length === 1 && first.isUnbiased && [...first.weights()].length === weights.length
      && weights.every(([j, k, w]) => first.rows.get(j)?.get(k)?.equals(w));
  }

  // The inputs on which some outputs depend.
  sources(outputs) {
    let found = outputs;
    for (const matrix of [...this.maps].reverse()) {
      const before = found;
      found = new Set([...matrix.weights()].filter(([, k]) => before.has(k)).map(([j]) => j));
    }
    return found;
  }

  // The outputs that are not always 0.
  get reached() {
    const last = this.maps.at(-1), biased = [...last.bias].filter(([, b]) => b.sign).map(([k]) => k);
    return new Set([...biased, ...[...last.weights()].map(([, k]) => k)]);
  }

  // For each map, its input and its image when the network's input is 0.
  get rest() {
    if (this.atRest) return this.atRest;
    this.atRest = [];
    let input = new Map();
    for (const matrix of this.maps) {
      const image = new Map([...matrix.bias].map(([k, b]) => [k, new Map(known(b))]));
      for (const [j, form] of input) addRow(image, matrix, j, form);
      this.atRest.push({ input, image });
      input = new Map([...image].map(([k, form]) => [k, clipped(form, NONE, "")]));
    }
    return this.atRest;
  }

  // The image of forms, without zeros; `bounds` gets the unknowns that σ introduces. Only the units
  // that read something else than at rest are evaluated.
  image(x, bounds) {
    let changed = new Map([...x].filter(([j, form]) => form.size && this.maps[0].rows.has(j)));
    for (const j of this.maps[0].rows.keys()) {
      if (!x.has(j)) {
        bounds.set(`not given ${j}`, [null, null]);
        changed.set(j, unknown(`not given ${j}`));
      }
    }
    let image;
    this.maps.forEach((matrix, n) => {
      const rest = this.rest[n];
      if (n) {
        const units = [...image].map(([k, form]) => [k, clipped(form, bounds, `σ ${n} ${k}`)]);
        changed = new Map(units.filter(([k, form]) => !sameForm(form, rest.input.get(k) ?? NONE)));
      }
      image = new Map();
      for (const [j, form] of changed) {
        const more = new Map(form);
        addTo(more, rest.input.get(j) ?? NONE, Rational.of(-1));
        addRow(image, matrix, j, more, rest.image);
      }
    });
    const whole = new Map([...this.rest.at(-1).image, ...image]);
    return new Map([...whole].filter(([, form]) => form.size));
  }
}

// Add a row's share to an image; coordinates that are not in it begin as in `begin`.
function addRow(image, matrix, j, form, begin = NONE) {
  for (const [k, weight] of matrix.rows.get(j) ?? []) {
    if (!image.has(k)) image.set(k, new Map(begin.get(k) ?? NONE));
    addTo(image.get(k), form, weight);
  }
}

const texts = (form) => [...form].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, x]) => `${x} ${name}`.trim());
export const showForm = (form) => texts(form).join(" + ") || "0";
