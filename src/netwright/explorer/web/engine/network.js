// A network from the JSON of `netwright export --to json`, on a word.

import { ONE, ratio, rounding } from "./rational.js";
import { Vector, addVectors, blockPlaces, readVector } from "./vectors.js";
import { Transformer } from "./transformer.js";
import { ResidualFree } from "./heads.js";
import { RNN } from "./rnn.js";
import { NeuralGPU } from "./neural_gpu.js";

export const VERSION = "netwright JSON 1";

// What a network reads for a word: vectors, in order.
export function embed({ kind, written, machine }, word) {
  const by = (rows) => new Map(rows.map(([symbol, vector]) => [symbol, readVector(vector)]));
  const look = (table, symbols) => symbols.map((symbol) => {
    if (!table.has(symbol)) throw new Error(`the input has ${JSON.stringify(symbol)}, which this network does not read`);
    return table.get(symbol);
  });
  if (kind === "universal-transformer") { // the symbols, every rule, and, of 16 coordinates, one token more
    const rules = [...written.rules.map((row) => row[2]), ...(written.accepted ? [written.accepted] : [])];
    return [...look(by(written.symbols), word), ...rules.map(readVector)];
  }
  if (kind === "universal-text") { // the rules, then the symbols' numbers from the last to the first
    const numbers = new Map(written.prompt.symbols);
    const input = [...word].reverse().map((symbol) => `${numbers.get(symbol) ? numbers.get(symbol).toString(2) : ""}T`);
    return look(by(written.embedding), [...`${written.rules}${input.join("")}!`]);
  }
  const table = by(written.embedding);
  if (written.neurons) { // with stacks: a blank follows the word
    const end = written.network.U.kernels && blockPlaces(written.layouts[written.network.layout]).get("e"); // the end marker
    return [...look(table, [...word, machine.blank]), ...(end ? [new Vector(end, [ONE])] : [])];
  }
  if (written.network.decoder?.[0].heads) { // a prompt from the last symbol to the first: token p follows p − 1
    const [place] = blockPlaces(written.layouts[written.network.layout]).get("R");
    return look(table, [...word].reverse()).map((token, p) => addVectors(token, new Vector([place], [ratio(1, p + 1)])));
  }
  if (written.network.masked) { // between ^ and $, the last rows
    const [begin, end] = [...table.keys()].slice(-2);
    return look(table, [begin, ...word, end]);
  }
  return look(table, word);
}

// The network of `data` on a word; with `data.bits`, every operation of it is rounded.
export function openNetwork(data, word) {
  if (data.version !== VERSION) throw new Error(`this page reads ${VERSION}; got ${data.version}`);
  const { written: { network }, bits = 0 } = data;
  const found = rounding(bits, () => {
    const X = embed(data, word);
    if (network.decoder?.[0].heads) return new ResidualFree(data, X);
    return network.decoder ? new Transformer(data, X) : network.U.kernels ? new NeuralGPU(data, X) : new RNN(data, X);
  });
  if (bits === 0) return found;
  for (const [owner, name] of [[found.run, "step"], [found, "next"], [found, "explain"]]) {
    const exact = owner[name];
    if (exact) owner[name] = (...given) => rounding(bits, () => exact.apply(owner, given));
  }
  return found;
}
