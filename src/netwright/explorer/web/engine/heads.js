// A decoder without residual connections, as in definitions/residual_free.py: one token at a time.

import { Keys, Values, attended } from "./attention.js";
import { FeedForward, NOTHING, Positions, addVectors, flipsOf, readVector } from "./vectors.js";
import { Run } from "./run.js";
import { allAlike, attend } from "./transformer.js";

class Head {
  constructor(data, name, score) {
    for (const letter of "QKV") this[letter] = new FeedForward(data[letter]);
    this.name = name;
    this.names = Object.fromEntries([..."qkv"].map((part) => [part, `${name}.${part}`]));
    this.keys = new Keys(this.K.columns, score);
    this.values = new Values(this.V.columns);
  }
}

export class ResidualFree {
  // `X` is the prompt: the tokens after the first one, which is the seed.
  constructor({ written, flips }, X) {
    const data = written.network, without = data.without ?? [];
    this.flips = flipsOf(flips);
    this.decoder = data.decoder.map(({ heads, O }, n) => ({
      name: `decoder.${n + 1}`, O: new FeedForward(O),
      heads: heads.map((head, h) => new Head(head, `decoder.${n + 1}.head.${h + 1}`, data.score)),
    }));
    this.heads = this.decoder.flatMap(({ heads }) => heads);
    for (const head of this.heads) head.isOut = head.V.isZero || without.includes(`attention:${head.name}`);
    this.F = new FeedForward(data.F);
    this.pos = data.pos && new Positions(data.pos, written.layouts);
    this.X = X;
    this.run = new Run(readVector(written.seed), (y, t) => this.next(y, t));
  }

  // Token t from y_{t−1}, as Transformer.next.
  next(y, t, seen = null, attending = null) {
    const flips = this.flips?.get(t), told = seen || flips ? (name, vector) => {
      const found = flips ? flips(name, vector) : vector;
      seen?.(name, found);
      return found;
    } : (_, vector) => vector;
    const given = t >= 2 && t <= this.X.length + 1 ? this.X[t - 2] : y;
    let z = this.pos ? addVectors(given, this.pos.at(t)) : given;
    for (const { name, heads, O } of this.decoder) {
      z = told(`${name}.input`, z);
      const images = heads.map((head) => {
        const [q, k, v] = [..."QKV"].map((letter) => (letter === "V" && head.isOut ? NOTHING : head[letter].apply(z)));
        [q, k, v].forEach((vector, n) => told(head.names["qkv"[n]], vector));
        if (head.keys.length < t) {
          head.keys.push(k);
          head.values.push(v);
        }
        return head.isOut ? NOTHING : attend(head.keys, head.values, q, t, head.name, attending);
      });
      z = told(`${name}.z`, O.apply(told(`${name}.a`, addVectors(...images))));
    }
    return told("y", this.F.apply(z));
  }

  // Token t by y_{t−1}: all vectors by name, and what each head attends to.
  explain(before, t) {
    const vectors = new Map();
    this.next(before, t, (name, vector) => vectors.set(name, vector));
    const attention = this.heads.map(({ name, K, keys }) => {
      const [q, k] = [..."qk"].map((part) => vectors.get(`${name}.${part}`));
      return [name, K.isConstant ? allAlike(k, q, t, keys) : attended(keys, q, t)];
    });
    return { vectors, attention: Object.fromEntries(attention) };
  }

  // The exact scores of the first t tokens by a head's query at time t, in order.
  scores(before, t, name) {
    const vectors = new Map(), { keys } = this.heads.find((head) => head.name === name);
    this.next(before, t, (part, vector) => vectors.set(part, vector));
    const meeting = keys.meeting(vectors.get(`${name}.q`));
    return Array.from({ length: t }, (_, j) => keys.scored(meeting, j));
  }
}
