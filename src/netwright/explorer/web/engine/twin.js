// A network beside its twin, which has flipped signs, parts left out, or rounded arithmetic: where
// the two first differ. The vectors of the whole network are those of the proof, by `verify`.

import { equal } from "./rational.js";
import { openNetwork } from "./network.js";
import { Moments } from "./moments.js";
import { Timeline } from "./timeline.js";
import { SLICE } from "./run.js";

export const FLIPS = /^(decoder\.(\d+)\.(input|p|a|z)|y|h|g|cell(\.\d+)?)$/; // vectors whose numbers may be flipped
const CLAIMED = /^(decoder\.\d+\.[paz]|y|[hg]|cell(\.\d+)?)$/; // vectors that are compared

const negated = (text) => (text === "0" ? text : text.startsWith("-") ? text.slice(1) : `-${text}`);

// A copy of a tree of plain data with another node at a path.
function updated(node, [first, ...rest], change) {
  if (first === undefined) return change(node);
  const copy = Array.isArray(node) ? node.slice() : { ...node };
  copy[first] = updated(node[first], rest, change);
  return copy;
}

// The names of a layout's coordinates.
export const coordinates = (layout) => layout.flatMap((block) =>
  typeof block === "string" ? [block] : block[1].map((label) => (label === "" ? block[0] : `${block[0]}[${label}]`)));

// Every number of the network: { name of its matrix, row, column, text, path of the text }.
export function weightsOf({ written, maps }) {
  const names = written.layouts.map(coordinates), found = [];
  const add = (name, row, column, text, path) => found.push({ name, row, column, text, path });
  for (const [name, path] of maps) {
    const map = path.reduce((node, key) => node[key], written.network), place = ["network", ...path];
    map.weights.forEach(([row, column, text], n) => add(name, names[map.input][row], names[map.output][column], text, [...place, "weights", n, 2]));
    map.bias.forEach(([column, text], n) => add(name, "bias", names[map.output][column], text, [...place, "bias", n, 1]));
  }
  const own = names[written.network.layout] ?? [];
  (written.embedding ?? []).forEach(([symbol, vector], m) => vector.forEach(([place, text], n) =>
    add("embedding", symbol, own[place], text, ["embedding", m, 1, n, 1])));
  (written.seed ?? []).forEach(([place, text], n) => add("seed", "bias", own[place], text, ["seed", n, 1]));
  return found;
}

// A convolution whose image is the same everywhere: a gate that is left out.
function constant({ kernels, f }, bias) {
  const none = { weights: [], bias: [] };
  return { kernels: kernels.map((row) => row.map(() => none)), bias: [bias.filter(([, text]) => text !== "0")], f };
}

// Whether a run has a number at a time, in a vector, at a coordinate.
function isNumber({ written: { network } }, own, [t, vector, coordinate]) {
  const [, , layer] = FLIPS.exec(vector) ?? [];
  const kinds = network.decoder ? /^(decoder|y)/ : network.U.kernels ? /^cell/ : /^[hg]$/;
  return Number.isSafeInteger(t) && t > 0 && own.includes(coordinate) && FLIPS.test(vector) && kinds.test(vector) && !(layer > network.decoder?.length || layer === "0");
}

// Network JSON with changes: `breaks` has ["weight", matrix, row, column] and ["number", t, vector,
// coordinate], whose signs are flipped, and ["part", name], which is left out; `bits` rounds.
export function changed(data, { breaks = [], bits = 0 }) {
  const own = coordinates(data.written.layouts[data.written.network.layout]);
  const known = breaks.some(([what]) => what === "weight") ? weightsOf(data) : [];
  const flips = [], without = [];
  let { written } = data;
  for (const [what, ...which] of breaks) {
    if (what === "weight") {
      const found = known.filter(({ name, row, column }) => [name, row, column].every((each, n) => each === which[n]));
      if (!found.length) throw new Error(`this network has no weight ${which[0]} at ${which[1]}, ${which[2]}`);
      for (const { path } of found) written = updated(written, path, negated);
    } else if (what === "part" && data.parts.includes(which[0])) without.push(which[0]);
    else if (what === "number" && isNumber(data, own, which)) flips.push([which[0], which[1], own.indexOf(which[2])]);
    else throw new Error(`this network cannot be changed by ${JSON.stringify([what, ...which])}`);
  }
  for (const [gate, letter, value] of [["gate:update", "U", "0"], ["gate:reset", "R", "1"]])
    if (without.includes(gate)) written = updated(written, ["network", letter], (bank) => constant(bank, own.map((_, place) => [place, value])));
  if (without.includes("positions")) written = updated(written, ["network", "pos"], () => null);
  if (without.length && written.network.decoder) written = updated(written, ["network", "without"], (before = []) => [...before, ...without]);
  return { ...data, written, flips, bits };
}

// The tokens that won, from 1 on; "all" if they are all of several.
const wonBy = (winners, length) => (winners === null || (winners.length === length && length > 1) ? "all" : winners.map((j) => j + 1));

// The state after time t, the vectors and who won the attentions.
function watched({ network }, before, t) {
  if (!network.decoder) return { state: network.run.step(before, t), ...network.explain(before, t), winners: new Map() };
  const vectors = new Map(), winners = new Map();
  const state = network.next(before, t, (name, vector) => vectors.set(name, vector), (name, won, length) => winners.set(name, wonBy(won, length)));
  return { state, vectors, winners };
}

const numbersOf = (vector) => new Map(vector.places.map((place, at) => [place, vector.numbers[at]]));

// The places where two vectors differ.
function places(x, y) {
  const [left, right] = [numbersOf(x), numbersOf(y)];
  const isSame = (place) => left.has(place) && right.has(place) && equal(left.get(place), right.get(place));
  return [...new Set([...left.keys(), ...right.keys()])].filter((place) => !isSame(place)).sort((a, b) => a - b);
}

// The statements about vectors at a time; while a prompt is read there are others.
const statementsAt = (data, { keys }, t) => (keys && t <= keys.length && Object.keys(data.reading).length ? data.reading : data.statements);

// The statement about a vector: its own, or that of the next one that has any.
function statementOf(data, name, order, statements) {
  const next = order.slice(order.indexOf(name)).find((each) => each in statements);
  return statements[next] ?? data.lemmas[0];
}

// The first vector of a moment in which the two differ, as text; null if there is none.
function difference(data, right, wrong, statements) {
  const order = [...right.keys()].filter((name) => CLAIMED.test(name));
  for (const name of order) {
    const [place] = places(right.get(name), wrong.get(name));
    if (place === undefined) continue;
    const own = coordinates(data.written.layouts[data.written.network.layout]);
    const [expected, found] = [right, wrong].map((vectors) => `${vectors.get(name).get(place)}`);
    return { vector: name, coordinate: own[place], expected, found, statement: statementOf(data, name, order, statements) };
  }
  return null;
}

export class Twin {
  // `right` is the whole network's moments, which all of its twins share.
  constructor(changes, right, start, data, word, machine, last) {
    this.changes = changes;
    this.data = data;
    Object.assign(this, { start, word, machine, last });
    this.right = right;
    this.wrong = new Moments(changed(data, changes), word, machine, last, data);
    this.found = { number: null, attention: null, rule: null, compared: 0 };
  }

  // The twin's moment at t, with the statements that hold of it.
  async at(t, progress, stopped) {
    const both = [];
    for (const each of [this.right, this.wrong]) {
      const before = await each.network.run.seek(t - 1, progress, stopped);
      if (before === null) return null;
      both.push(each.network.explain(before, t));
    }
    const [right, wrong] = both.map(({ vectors }) => vectors), shown = this.wrong.shown(t, both[1]);
    if (shown.attention?.winner) shown.attention.cell = this.cellOf(shown.attention.winner);
    if (shown.lemmas.length) return shown;
    const statements = statementsAt(this.data, this.right.network, t);
    const lemmas = [...right.keys()].filter((name) => name in statements).map((name) => {
      const one = difference(this.data, new Map([[name, right.get(name)]]), new Map([[name, wrong.get(name)]]), statements);
      const [, layer, part] = name.match(/^decoder\.(\d+)\.(.)$/) ?? [, "", name];
      return { statement: statements[name], name: `${part}${layer}`, holds: one === null,
        ...(one ? { found: `${one.coordinate} = ${one.found}`, wanted: `${one.coordinate} = ${one.expected}` } : {}) };
    });
    return { ...shown, lemmas };
  }

  // The cell of a token; null before the machine starts.
  cellOf(token) {
    this.timeline ??= new Timeline(this.machine, this.word, this.start.head, this.last);
    return this.timeline.at(token - this.start.lead)?.head ?? null;
  }

  // Where the two first differ in a number, in what an attention selects, and in the rule that is
  // read off, up to time `most`; of a rounded twin every number differs, so the first is not waited for.
  async compare(most, progress, stopped) {
    const { found } = this;
    this.states ??= [this.right, this.wrong].map(({ network }) => network.run.snapshots[0]);
    let deadline = performance.now() + SLICE;
    while (found.compared < most && !(found.number && found.attention && found.rule)) {
      const t = found.compared + 1;
      const [one, other] = [this.right, this.wrong].map((each, n) => watched(each, this.states[n], t));
      this.states = [one.state, other.state];
      found.compared = t;
      const differs = difference(this.data, one.vectors, other.vectors, statementsAt(this.data, this.right.network, t));
      if (differs && !found.number) found.number = { t, ...differs };
      if (!found.attention) found.attention = this.attention(t, one.winners, other.winners);
      if (!found.rule) {
        const [rule, said] = [[this.right, one], [this.wrong, other]].map(([each, { vectors }]) => each.ruleOf(vectors, t));
        if (JSON.stringify(rule) !== JSON.stringify(said)) found.rule = { t, rule, said };
      }
      if (performance.now() < deadline) continue;
      progress(t / most);
      await new Promise((wake) => setTimeout(wake));
      if (stopped()) return null;
      deadline = performance.now() + SLICE;
    }
    return found;
  }

  attention(t, right, wrong) {
    for (const [name, expected] of right) {
      const found = wrong.get(name);
      if (`${expected}` !== `${found}`) return { t, name, expected, found };
    }
    return null;
  }
}

// What breaks first? The sign of every weight is flipped in turn: { name, row, column, text } and,
// where it differs within the first `count` tokens, the first difference and its time.
export async function strip(count, data, word, machine, last, progress, stopped) {
  const right = { network: openNetwork(data, word) }, seen = [], weights = weightsOf(data), found = [];
  let state = right.network.run.snapshots[0], deadline = performance.now() + SLICE;
  for (let t = 1; t <= count; t++) {
    const now = watched(right, state, t);
    state = now.state;
    seen.push(now.vectors);
  }
  for (const { path, ...weight } of weights) {
    const twin = { network: openNetwork({ ...data, written: updated(data.written, path, negated) }, word) };
    let own = twin.network.run.snapshots[0], first = null;
    for (let t = 1; t <= count && !first; t++) {
      const now = watched(twin, own, t), differs = difference(data, seen[t - 1], now.vectors, statementsAt(data, right.network, t));
      own = now.state;
      if (differs) first = { t, ...differs };
    }
    found.push({ ...weight, first });
    if (performance.now() < deadline) continue;
    progress(found.length / weights.length);
    await new Promise((wake) => setTimeout(wake));
    if (stopped()) return null;
    deadline = performance.now() + SLICE;
  }
  return found;
}
