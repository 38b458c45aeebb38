// A Transformer as it is written: layout, networks, positions, seed; and what all Transformers oblige.

import { ONE } from "./rational.js";
import { Refusal } from "./json.js";
import { Blocks, needed, readMaps, readVector, sameList, sameSet, sameVector, unique } from "./reading.js";
import { Chain, showForm, unknown } from "./chain.js";
import { NORMAL_FORM, normalForm, readNormal } from "./machines.js";

const LETTERS = ["Q", "K", "V", "O"];
const POWERS = { one: 0, n: 1, e: -1, e2: -2 }; // of the position, by block

export class Decoder {
  constructor(written) {
    const network = written.get("network"), layout = network.get("layout");
    this.layouts = written.get("layouts").map((blocks) => new Blocks(blocks));
    const sizes = this.layouts.map((each) => each.names.length);
    this.at = needed(this.layouts, layout);
    this.size = this.at.names.length;
    const chain = (net) => new Chain(readMaps(net.get("maps"), sizes, layout), net.get("activation"));
    this.nets = new Map([["K", "encoder.K"], ["V", "encoder.V"], ["F", "F"]].map(([key, name]) => [name, chain(network.get(key))]));
    this.layers = ["encoder", "decoder"].map((side) => {
      const layers = network.get(side);
      layers.forEach((layer, n) => LETTERS.forEach((letter) => this.nets.set(`${side}.${n + 1}.${letter}`, chain(layer.get(letter)))));
      return layers.length;
    });
    if (network.get("pos").get("layout") !== layout) throw new Refusal("the positions do not have the network's layout");
    this.positions = network.get("pos").get("powers");
    this.score = network.get("score");
    this.normaliser = network.get("rho");
    this.seed = readVector(written.get("seed"), this.size);
  }

  net(name) {
    return needed(this.nets, name);
  }

  vectors(written, what) {
    return new Map([...unique(written, what)].map(([name, vector]) => [name, readVector(vector, this.size)]));
  }

  get blocks() {
    return [...this.at.places.keys()];
  }

  *hasShape(encoder, decoder) {
    yield (this.layers[0] === encoder && this.layers[1] === decoder) || "the number of layers is wrong";
    const count = 3 + LETTERS.length * (encoder + decoder);
    yield this.nets.size === count || "the wrong networks";
    if (this.needsHidden) yield this.net("F").maps.length >= 2 || "F has no hidden layer";
    for (const [name, net] of this.nets) yield net.activation === "sigma" || `${name} has an activation other than σ`;
  }

  // Positions are exactly these blocks, each with its power.
  hasPositions(blocks, powers = blocks.map((block) => POWERS[block])) {
    return this.positions.length === blocks.length
      && this.positions.every(([block, power], n) => block === blocks[n] && power === powers[n]);
  }

  // Weights [row, column, number] from blocks of one coordinate.
  between(...weights) {
    return weights.map(([from, to, w]) => [this.at.one(from), this.at.one(to), w]);
  }

  // Coordinate → form, by block.
  forms(parts) {
    return new Map(Object.entries(parts).map(([block, form]) => [this.at.one(block), form]));
  }

  // Unknowns in [low, high], named as their blocks.
  unknowns(bounds, limits) {
    for (const [name, limit] of Object.entries(limits)) bounds.set(name, limit);
    return this.forms(Object.fromEntries(Object.keys(limits).map((name) => [name, unknown(name)])));
  }

  show(forms) {
    return [...forms].map(([k, form]) => `${this.at.names[k]} = ${showForm(form)}`).join(", ") || "nothing else";
  }
}

// A Transformer of one machine in normal form.
export class NormalDecoder extends Decoder {
  constructor(written) {
    super(written);
    Object.assign(this, readNormal(written));
    this.embedding = this.vectors(written.get("embedding"), "the embedding");
    this.final = new Set(written.get("final_states"));
  }

  normalForm(stays) {
    return [NORMAL_FORM, normalForm(this, this.final, stays)];
  }

  *hasEnds(seed, block) {
    yield sameVector(this.seed, seed) || `the seed is ${this.at.show(this.seed)}`;
    const letters = this.normal.symbols.filter((symbol) => symbol !== this.normal.blank);
    yield sameList([...this.embedding.keys()], letters) || "the embedding has the wrong symbols";
    for (const [symbol, vector] of this.embedding) {
      yield sameVector(vector, new Map([[this.at.one(block, symbol), ONE]])) || `f(${symbol}) is ${this.at.show(vector)}`;
    }
    yield sameSet(this.final, this.given.final) || "the final set is wrong";
  }
}
