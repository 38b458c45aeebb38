// The values of the proof of Theorem 3.4, from the machine's run alone, as proof_values.py has them.
//
// `data.proof` has, for each vector, the name of the value in each block, and the claims.

import { ratio } from "./rational.js";
import { Positions, Vector, addVectors } from "./vectors.js";

const OFFSET = { L: -1, R: 1, S: 0 };

export class ProofValues {
  constructor(data, word, timeline) {
    Object.assign(this, { data, word, timeline });
    this.pos = new Positions(data.written.network.pos, data.written.layouts);
    let next = 0;
    this.names = []; // of all coordinates
    this.places = new Map(data.blocks.flatMap(([block, labels]) => labels.map((label) => {
      this.names.push(label ? `${block}[${label}]` : block);
      return [`${block}\n${label}`, next++];
    })));
  }

  // After a halt there is no state, the head stays, and each token was the last one there.
  cell(i) {
    return (this.timeline.at(i) ?? this.timeline.at(this.timeline.end)).head + 1;
  }

  lastVisit(i) {
    const now = this.timeline.at(i);
    return (now && this.timeline.cell(i, now.head).visit) ?? i - 1;
  }

  value(name, i) {
    const { timeline, word } = this, [letter, ...rest] = name.split(" ");
    const move = (time) => OFFSET[timeline.action(time)?.move] ?? 0, write = (time) => timeline.action(time)?.write ?? null;
    switch (letter) {
      case "q": return timeline.at(i + rest.length)?.state ?? null;
      case "s": return timeline.at(i)?.symbol ?? timeline.machine.blank;
      case "v": return rest.length ? write(this.lastVisit(i + 1)) : write(i);
      case "m": return ratio(rest.length ? (i ? move(i - 1) : 0) : move(i));
      case "alpha": return word[Math.min(i + 1, word.length) - 1] ?? null;
      case "beta": return ratio(Math.min(i + 1, word.length));
      case "c": return ratio(this.cell(rest[0] === "next" ? i + 1 : i), i + 1);
      default: return ratio(this.lastVisit(i + 1)); // ell next
    }
  }

  vector(name, i) {
    const places = [], numbers = [];
    for (const [block, value] of Object.entries(this.data.proof.vectors[name])) {
      const found = this.value(value, i);
      if (found === null || found.n === 0) continue;
      places.push(this.places.get(typeof found === "string" ? `${block}\n${found}` : `${block}\n`));
      numbers.push(typeof found === "string" ? ratio(1) : found);
    }
    const own = new Vector(places, numbers);
    return name === "y" ? own : addVectors(own, this.pos.at(i + 1));
  }

  // The claims of token t, each with whether it holds; if not, what was found and what is proved.
  claims(t, vectors, attention) {
    const i = t - 1, shown = (vector) => `[${vector.entries().map(([place, text]) => `${this.names[place]}=${text}`).join(", ")}]`;
    return this.data.proof.claims.map(([statement, name, proved]) => {
      const layer = Math.max(...Object.keys(attention).map((each) => Number(each.split(".")[1])));
      const pair = proved === "ell"
        ? [attention[`decoder.${layer}.self`].winners.map((token) => token - 1), [this.lastVisit(i + 1)]].map((each) => `[${each.join(", ")}]`)
        : [vectors.get(proved === "y" ? "y" : `decoder.${name[1]}.${name[0]}`), this.vector(proved, proved === "y" ? i + 1 : i)].map(shown);
      const [found, wanted] = pair, holds = found === wanted;
      return { statement, name, holds, ...(holds ? {} : { found, wanted }) };
    });
  }
}
