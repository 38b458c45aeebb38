// The Transformer, Equations 6 to 13, as in definitions/transformer.py: one token at a time.

import { ratio } from "./rational.js";
import { Keys, Values, attended } from "./attention.js";
import { FeedForward, NOTHING, Positions, addVectors, divided, flipsOf, readVector } from "./vectors.js";
import { Run } from "./run.js";

const PARTS = { input: "input", self: "self", q: "self.q", k: "self.k", v: "self.v", p: "p", external: "external", asked: "external.q", a: "a", z: "z" };

class Layer {
  constructor(data, name, score) {
    for (const letter of "QKVO") this[letter] = new FeedForward(data[letter]);
    this.name = name;
    this.names = Object.fromEntries(Object.entries(PARTS).map(([part, own]) => [part, `${name}.${own}`]));
    this.keys = new Keys(this.K.columns, score);
    this.values = new Values(this.V.columns);
    // Keys that are all the same tie for every query: the mean of the values is a running sum.
    this.isMean = this.K.isConstant;
  }
}

export class Transformer {
  constructor({ written, flips }, X) {
    const data = written.network;
    if (data.rho !== "hardmax" || !["score_phi", "dot_product"].includes(data.score))
      throw new Error(`attention by ${data.score} and ${data.rho} is not one that the page computes`);
    this.flips = flipsOf(flips);
    const layers = (side) => data[side].map((layer, n) => new Layer(layer, `${side}.${n + 1}`, data.score));
    this.encoder = layers("encoder");
    this.isMasked = data.masked; // input token i attends to the tokens up to i alone
    this.decoder = layers("decoder");
    this.F = new FeedForward(data.F);
    this.pos = data.pos && new Positions(data.pos, written.layouts);
    this.without = new Set(data.without ?? []);
    const K = new FeedForward(data.K), V = new FeedForward(data.V);
    this.keys = new Keys(K.columns, data.score);
    this.values = new Values(V.columns);
    for (const x of this.encode(X)) {
      this.keys.push(K.apply(x));
      this.values.push(V.apply(x));
    }
    const sums = this.decoder.map(() => NOTHING);
    this.run = new Run({ y: readVector(written.seed), sums }, (state, t) => this.next(state, t));
  }

  positioned(x, place) {
    return this.pos ? addVectors(x, this.pos.at(place)) : x;
  }

  // image + x, without what is left out.
  around(name, image, x) {
    if (this.without.size) {
      if (this.without.has(`attention:${name}`)) image = NOTHING;
      if (this.without.has(`residual:${name}`)) return image;
    }
    return image.places.length ? addVectors(image, x) : x;
  }

  // Equations 6 and 7.
  encode(X) {
    X = X.map((x, i) => this.positioned(x, i + 1));
    for (const layer of this.encoder) {
      const show = (x) => {
        layer.keys.push(layer.K.apply(x));
        layer.values.push(layer.V.apply(x));
      };
      if (!this.isMasked) X.forEach(show);
      X = X.map((x) => {
        if (this.isMasked) show(x);
        const a = this.around(`${layer.name}.self`, attend(layer.keys, layer.values, layer.Q.apply(x)), x);
        return this.around(`${layer.name}.O`, layer.O.apply(a), a);
      });
    }
    return X;
  }

  // Token t from y_{t−1}: Equations 9 to 12. `seen` is called with every vector by name, and
  // `attending` with the winners of every attention that has any values, null for all of so many.
  next({ y, sums }, t, seen = null, attending = null) {
    const flips = this.flips?.get(t), told = seen || flips ? (name, vector) => {
      const found = flips ? flips(name, vector) : vector;
      seen?.(name, found);
      return found;
    } : (_, vector) => vector;
    let z = this.positioned(y, t);
    sums = sums.slice();
    for (let n = 0; n < this.decoder.length; n++) {
      const layer = this.decoder[n], { name, names, keys, values } = layer;
      z = told(names.input, z);
      const q = (layer.isMean || layer.V.isZero) && !seen ? null : told(names.q, layer.Q.apply(z));
      const k = told(names.k, layer.K.apply(z)), v = layer.V.isZero ? NOTHING : told(names.v, layer.V.apply(z));
      let image = NOTHING;
      if (!layer.isMean && keys.length < t) {
        keys.push(k);
        values.push(v);
      }
      if (layer.V.isZero) seen?.(names.v, v); // there is nothing to attend to
      else if (layer.isMean) {
        sums[n] = addVectors(sums[n], v);
        image = divided(sums[n], ratio(t));
        attending?.(names.self, null, t);
      } else image = attend(keys, values, q, t, names.self, attending);
      const p = told(names.p, this.around(names.self, image, z));
      seen?.(names.asked, p);
      const a = told(names.a, this.around(names.external, attend(this.keys, this.values, p, this.keys.length, names.external, attending), p));
      z = told(names.z, this.around(`${name}.O`, layer.O.apply(a), a));
    }
    y = told("y", this.F.apply(z));
    return { y, sums };
  }

  // Token t by its state before: all vectors by name, and what each layer attends to.
  explain(before, t) {
    const vectors = new Map(), attention = {};
    this.next(before, t, (name, vector) => vectors.set(name, vector));
    for (const { name, keys, isMean } of this.decoder) {
      const q = vectors.get(`${name}.self.q`);
      attention[`${name}.self`] = isMean ? allAlike(vectors.get(`${name}.self.k`), q, t, keys) : attended(keys, q, t);
      attention[`${name}.external`] = attended(this.keys, vectors.get(`${name}.p`), this.keys.length);
    }
    return { vectors, attention };
  }

  // The exact scores of the first t tokens by a layer's query at time t, in order.
  scores(before, t, name) {
    const vectors = new Map(), { keys } = this.decoder.find((layer) => layer.names.self === name);
    this.next(before, t, (part, vector) => vectors.set(part, vector));
    const q = vectors.get(`${name}.q`), meeting = keys.meeting(q);
    return Array.from({ length: t }, (_, j) => keys.scored(meeting, j));
  }
}

// Att(q, K, V) over the first `length` keys; 0 over none.
export function attend(keys, values, q, length = keys.length, name = "", attending = null) {
  if (!length) return NOTHING;
  const winners = keys.winners(q, length);
  attending?.(name, winners, length);
  return values.mean(winners, length);
}

// The attention to t keys that are the same.
export function allAlike(k, q, t, keys) {
  const one = new Keys(keys.places, keys.isPhi ? "score_phi" : "dot_product");
  one.push(k);
  const found = attended(one, q, 1);
  return { ...found, winners: Array.from({ length: t }, (_, j) => j + 1), margin: t < 2 ? null : ratio(0) };
}
