// The encoder-decoder RNN, Equations 2 and 3, as in definitions/rnn.py.
//
// Time t is h_t for the n vectors of the input, and g_{t−n} from t = n on.

import { LinearMap, NOTHING, activation, addVectors, flipsOf, pointwise, readVector } from "./vectors.js";
import { Run } from "./run.js";

export class RNN {
  constructor({ written, flips }, X) {
    const data = written.network, matrix = (name) => data[name] && new LinearMap(data[name]);
    if (data.O !== "identity") throw new Error(`the output ${data.O} is not one that the page computes`);
    const [W, V, U, R] = ["W", "V", "U", "R"].map(matrix);
    const [b1, b2] = ["b1", "b2"].map((name) => readVector(data[name] ?? []));
    const f1 = activation(data.f1), f2 = activation(data.f2);
    this.X = X;
    const changes = flipsOf(flips);
    // The seed is 0, and y_t = g_t.
    this.run = new Run(NOTHING, (h, t) => {
      const next = t <= X.length ? pointwise(f1, addVectors(W.apply(X[t - 1]), V.apply(h), b1))
        : pointwise(f2, addVectors(U.apply(h), R && t > X.length + 1 ? R.apply(h) : NOTHING, b2));
      const flip = changes?.get(t);
      if (!flip) return next;
      const found = t <= X.length ? flip("h", next) : next;
      return t >= X.length ? flip("g", found) : found; // h_n is g_0
    });
  }

  explain(before, t) {
    const found = this.run.step(before, t), n = this.X.length, vectors = new Map();
    if (t <= n) vectors.set("h", found);
    if (t >= n) vectors.set("g", found);
    return { vectors, attention: {} };
  }
}
