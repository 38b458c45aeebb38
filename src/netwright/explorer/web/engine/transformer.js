// The Transformer, Equations 6 to 13, as in definitions/transformer.py: one token at a time.

import { ratio } from "./rational.js";
import { Keys, Values, attended } from "./attention.js";
import { FeedForward, NOTHING, Positions, addVectors, readVector, scaled } from "./vectors.js";
import { Run } from "./run.js";

class Layer {
  constructor(data, name, score) {
    for (const letter of "QKVO") this[letter] = new FeedForward(data[letter]);
    this.name = name;
    this.keys = new Keys(this.K.columns, score);
    this.values = new Values(this.V.columns);
    // Keys that are all the same tie for every query: the mean of the values is a running sum.
    this.isMean = this.K.isConstant;
  }
}

export class Transformer {
  constructor({ written }, X) {
    const data = written.network;
    if (data.rho !== "hardmax" || !["score_phi", "dot_product"].includes(data.score))
      throw new Error(`attention by ${data.score} and ${data.rho} is not one that the page computes`);
    const layers = (side) => data[side].map((layer, n) => new Layer(layer, `${side}.${n + 1}`, data.score));
    this.encoder = layers("encoder");
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
      for (const x of X) {
        layer.keys.push(layer.K.apply(x));
        layer.values.push(layer.V.apply(x));
      }
      X = X.map((x) => {
        const a = this.around(`${layer.name}.self`, attend(layer.keys, layer.values, layer.Q.apply(x)), x);
        return this.around(`${layer.name}.O`, layer.O.apply(a), a);
      });
    }
    return X;
  }

  // Token t from y_{t−1}: Equations 9 to 12. `seen` is called with every vector by name.
  next({ y, sums }, t, seen = null) {
    let z = this.positioned(y, t);
    sums = sums.slice();
    for (let n = 0; n < this.decoder.length; n++) {
      const layer = this.decoder[n], { name, keys, values } = layer;
      const k = layer.K.apply(z), v = layer.V.isZero ? NOTHING : layer.V.apply(z);
      let image = NOTHING, q = null;
      if (!layer.isMean && keys.length < t) {
        keys.push(k);
        values.push(v);
      }
      if (layer.V.isZero) ; // there is nothing to attend to
      else if (layer.isMean) {
        sums[n] = addVectors(sums[n], v);
        image = scaled(sums[n], ratio(1, t));
      } else image = attend(keys, values, (q = layer.Q.apply(z)), t);
      const p = this.around(`${name}.self`, image, z);
      const a = this.around(`${name}.external`, attend(this.keys, this.values, p), p);
      const after = this.around(`${name}.O`, layer.O.apply(a), a);
      if (seen) {
        q ??= layer.Q.apply(z);
        for (const [part, vector] of Object.entries({ input: z, "self.q": q, "self.k": k, "self.v": v, p, "external.q": p, a, z: after }))
          seen(`${name}.${part}`, vector);
      }
      z = after;
    }
    y = this.F.apply(z);
    seen?.("y", y);
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
}

// Att(q, K, V) over the first `length` keys; 0 over none.
function attend(keys, values, q, length = keys.length) {
  return length ? values.mean(keys.winners(q, length), length) : NOTHING;
}

// The attention to t keys that are the same.
function allAlike(k, q, t, keys) {
  const one = new Keys(keys.places, keys.isPhi ? "score_phi" : "dot_product");
  one.push(k);
  const found = attended(one, q, 1);
  return { ...found, winners: Array.from({ length: t }, (_, j) => j + 1), margin: t < 2 ? null : ratio(0) };
}
