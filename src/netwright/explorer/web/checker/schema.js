// What a certificate of each kind consists of. Names are texts that are not empty, numbers are
// integers or rationals in lowest terms as text; no key is missing, unknown or repeated.

import { Rational } from "./rational.js";
import { Refusal } from "./json.js";

export const KIND = "netwright certificate 3";
const LARGEST_INDEX = 2 ** 31;

// A misfit: every list and object around it puts its place in front of the message.
class Misfit extends Error {}

const shown = (value) => {
  const text = value instanceof Map ? `an object with ${[...value.keys()].join(", ")}`
    : Array.isArray(value) ? `a list of ${value.length}` : typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}…`;
};

function misfit(expected, value) {
  const found = new Misfit(`expected ${expected}, got ${shown(value)}`);
  found.place = "";
  throw found;
}

function inside(place, shape, value) {
  try {
    shape(value);
  } catch (error) {
    if (error instanceof Misfit) error.place = place + error.place;
    throw error;
  }
}

export function require(shape, value, where) {
  try {
    shape(value);
  } catch (error) {
    if (!(error instanceof Misfit)) throw error;
    throw new Refusal(`${where}${error.place}: ${error.message}`);
  }
}

const LONE = /[\ud800-\udfff]/u; // with u, the two halves of a pair are one character
export const text = (value) => {
  if (typeof value !== "string" || !value || LONE.test(value)) misfit("text that is not empty and has no lone surrogates", value);
};
const index = (value) => {
  if (typeof value !== "number" || value < 0 || value >= LARGEST_INDEX) misfit(`an integer from 0 to ${LARGEST_INDEX - 1}`, value);
};
const power = (value) => {
  if (typeof value !== "number" || value < -64 || value > 64) misfit("an integer from -64 to 64", value);
};
const flag = (value) => {
  if (typeof value !== "boolean") misfit("true or false", value);
};
const rational = (value) => {
  if (typeof value !== "string" || !Rational.parse(value)) misfit('a rational in lowest terms, such as "-1/2" or "3"', value);
};
const oneOf = (...words) => (value) => {
  if (!words.includes(value)) misfit(`one of ${words.join(", ")}`, value);
};
const optional = (shape) => (value) => value === null || shape(value);

export const list = (shape) => (value) => {
  if (!Array.isArray(value)) misfit("a list", value);
  value.forEach((each, n) => inside(`[${n}]`, shape, each));
};
const row = (...shapes) => (value) => {
  if (!Array.isArray(value) || value.length !== shapes.length) misfit(`a list of ${shapes.length}`, value);
  shapes.forEach((shape, n) => inside(`[${n}]`, shape, value[n]));
};
const named = (value) => {
  if (!(value instanceof Map)) misfit("an object", value);
  for (const key of value.keys()) inside(`.${key}`, text, key);
};
const record = (shapes) => {
  const keys = Object.keys(shapes);
  return (value) => {
    const fits = value instanceof Map && value.size === keys.length && keys.every((key) => value.has(key));
    if (!fits) misfit(`an object with ${keys.join(", ")}`, value);
    for (const key of keys) inside(`.${key}`, shapes[key], value.get(key));
  };
};

const MACHINE = record({
  states: list(text), symbols: list(text), blank: text, start: text, accepting: list(text),
  delta: list(row(text, text, text, text, oneOf("L", "R", "S"))),
});
const VECTOR = list(row(index, rational));
const EMBEDDING = list(row(text, VECTOR));
const LABELLED = row(text, list(text));
const BLOCK = (value) => (typeof value === "string" ? text : LABELLED)(value);
const LAYOUTS = list(list(BLOCK));
const MAP = record({ input: index, output: index, weights: list(row(index, index, rational)), bias: VECTOR });
const PRODUCTS = record({ input: index, output: index, terms: list(list(MAP)) });
const MATRIX = (value) => (value instanceof Map && value.has("terms") ? PRODUCTS : MAP)(value);
const GIVEN = oneOf("given");
const MACHINE_OR_GIVEN = (value) => (typeof value === "string" ? GIVEN : MACHINE)(value);
const NETWORK = record({ maps: list(MAP), activation: text });
const LAYERS = list(record({ Q: NETWORK, K: NETWORK, V: NETWORK, O: NETWORK }));
const DECODER = {
  layouts: LAYOUTS,
  network: record({
    layout: index, encoder: LAYERS, K: NETWORK, V: NETWORK, decoder: LAYERS, F: NETWORK, score: text, rho: text,
    pos: record({ layout: index, powers: list(row(text, power)) }),
  }),
  seed: VECTOR,
};
const NORMAL = {
  given: MACHINE,
  normal: record({ given: GIVEN, machine: MACHINE_OR_GIVEN, q_init: text, q_read: text, q_rewind: text, pauses: list(text) }),
};
const ENDS = { embedding: EMBEDDING, final_states: list(text) };
const ATTENTION = oneOf("absolute", "dot-product");
const STACKS = {
  given: MACHINE,
  layouts: LAYOUTS,
  neurons: record({
    machine: GIVEN, base: rational, digits: list(row(text, index)),
    tops: list(row(text, row(text, oneOf("L", "R", "S"), index))),
  }),
  ...ENDS,
};
const BANK = record({ kernels: list(list(MATRIX)), bias: optional(list(VECTOR)), f: text });

// A universal network alone, or with a machine as its prompt.
const alone = (network, whole) => (value) => (value instanceof Map && value.has("given") ? whole : network)(value);

export const SHAPES = {
  transformer: record({ ...DECODER, ...NORMAL, ...ENDS, score: text }),
  "pointer-transformer": record({ ...DECODER, ...NORMAL, ...ENDS, attention: ATTENTION }),
  "universal-transformer": alone(record(DECODER), record({
    ...DECODER, ...NORMAL, attention: ATTENTION, symbols: EMBEDDING, rules: list(row(text, text, VECTOR)),
  })),
  "universal-text": alone(record({ ...DECODER, embedding: EMBEDDING }), record({
    ...DECODER,
    given: MACHINE,
    prompt: record({
      given: GIVEN, long: flag, machine: MACHINE_OR_GIVEN, pauses: list(text),
      states: list(row(text, index)), symbols: list(row(text, index)),
    }),
    embedding: EMBEDDING,
    rules: text,
  })),
  rnn: record({
    ...STACKS,
    network: record({
      layout: index, W: MATRIX, V: MATRIX, U: MATRIX, R: optional(MATRIX),
      b1: optional(VECTOR), b2: optional(VECTOR), O: text, f1: text, f2: text,
    }),
  }),
  "neural-gpu": record({ ...STACKS, network: record({ layout: index, U: BANK, R: BANK, F: BANK, width: index, circular: flag }) }),
};
export const CERTIFICATE = record({
  kind: text, on: text, holds: flag,
  obligations: list(record({ obligation: text, cases: index, failure: optional(text) })),
  network: named,
});
