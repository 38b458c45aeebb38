// The obligations of the paper's Transformer: docs/certificates.md proves that they imply simulation.

import { ONE, Rational } from "./rational.js";
import { isSubset, needed, pair, sameList } from "./reading.js";
import { NONE, known, sameForms, showForm } from "./chain.js";
import { NormalDecoder } from "./decoder.js";

const BLOCKS = ["q1", "s1", "x1", "q2", "s2", "x2", "x3", "x4", "x5", "s3", "x6", "s4", "x7"];
const POSITIONS = { paper: ["x8", "x9", "x10", "x11"], recency: ["x8", "x9", "x10", "x11", "x12"] };
const POWERS = [0, 1, -1, -2, -3];
const MOVES = new Map([["L", -1], ["R", 1]]);
const MINUS = ONE.negative, HALF = Rational.of(1, 2), THIRD = Rational.of(1, 3);

export class Transformer extends NormalDecoder {
  needsHidden = true;

  constructor(written) {
    super(written);
    this.scoreName = written.get("score");
    this.hidden = this.layouts[written.get("network").get("F").get("maps")[0].get("output")];
    this.times = this.blocks.slice(BLOCKS.length);
  }

  *obligations() {
    if (yield ["shape: one encoder layer, three decoder layers, σ", this.shape()]) return;
    yield this.normalForm();
    yield ["embedding, positions, seed and final set", this.ends()];
    yield ["encoder: it leaves vectors as they are", this.encoder()];
    yield ["Lemma B.1: K and V of the encoder", this.input()];
    yield ["Lemma B.2: O1 depends on q1, s1, x1 alone", this.ruleColumns()];
    yield ["Lemma B.2: O1 is the transition function", this.ruleValues()];
    yield ["Lemma B.3: Q, K, V and O of layer 2", this.means()];
    yield [`Lemma B.4: Q, K, V and O of layer 3, score ${this.scoreName}`, this.lastVisit()];
    yield ["Lemma B.5: what F depends on, block by block", this.lastColumns()];
    yield ["Lemma B.5: F saturates in the positions", this.saturates()];
    yield ["Lemma B.5: F gives state, move and symbol", this.lastValues()];
  }

  *shape() {
    yield (this.score === "score_phi" && this.normaliser === "hardmax") || "attention is not −|⟨q, k⟩| and hardmax";
    yield* this.hasShape(1, 3);
    yield Object.hasOwn(POSITIONS, this.scoreName) || `no score ${this.scoreName}`;
    yield sameList(this.blocks, [...BLOCKS, ...POSITIONS[this.scoreName]]) || "the wrong blocks";
    for (const [block, labels] of this.at.places) {
      const wanted = { q: this.normal.states, s: this.normal.symbols }[block[0]] ?? [""];
      yield sameList([...labels.keys()], wanted) || `block ${block} has the wrong labels`;
    }
  }

  *ends() {
    yield this.hasPositions(this.times, POWERS) || "the positions are wrong, or in the wrong place";
    const seed = [this.at.one("q1", this.names[0]), this.at.one("s1", this.normal.blank)];
    yield* this.hasEnds(new Map(seed.map((k) => [k, ONE])), "s3");
  }

  *encoder() {
    yield this.net("encoder.1.V").isZero || "V of the encoder is not 0";
    yield this.net("encoder.1.O").isZero || "O of the encoder is not 0";
  }

  *input() {
    yield this.net("encoder.K").isExactly(this.between(["x9", "x8", ONE], ["x8", "x9", MINUS])) || "K is not (i, −1)";
    const values = [...this.at.of("s3")].map((k) => [k, k, ONE]);
    yield this.net("encoder.V").isExactly([...values, ...this.between(["x9", "x6", ONE])]) || "V is not ⟦s⟧ and i";
  }

  *ruleColumns() {
    const { at } = this, net = this.net("decoder.1.O");
    yield this.net("decoder.1.V").isZero || "V of layer 1 is not 0";
    const read = at.of("q1", "s1", "x1");
    for (const [j] of net.maps[0].weights()) yield read.has(j) || `O1 reads ${at.names[j]}`;
    for (const [blocks, allowed] of [[["q2", "s2", "x2"], ["q1", "s1"]], [["x1", "x3"], ["x1"]], [["q1"], ["q1"]], [["s1"], ["s1"]]]) {
      yield isSubset(net.sources(at.of(...blocks)), at.of(...allowed)) || `${blocks.join(" ")} depends on more`;
    }
    const written = at.of("q1", "s1", "x1", "q2", "s2", "x2", "x3");
    yield isSubset(net.reached, written) || "O1 writes to other blocks";
  }

  oneHot(block, label) { // null: no state, no symbol
    return label === null ? [] : [[this.at.one(block, label), known(1)]];
  }

  // The image of a vector that is 0 elsewhere.
  imageOf(name, parts) {
    const zeros = this.at.names.map((_, k) => [k, NONE]);
    return this.net(name).image(new Map([...zeros, ...parts]), new Map());
  }

  *ruleValues() {
    const { at } = this;
    for (const q of [null, ...this.normal.states]) {
      for (const s of [null, ...this.normal.symbols]) {
        const here = [...this.oneHot("q1", q), ...this.oneHot("s1", s)];
        const wanted = new Map(here.map(([k]) => [k, known(-1)]));
        const rule = q !== null && s !== null && this.normal.delta.get(pair(q, s));
        if (rule) {
          const [target, write, move] = rule;
          const next = [...this.oneHot("q2", target), ...this.oneHot("s2", write), [at.one("x2"), known(needed(MOVES, move))]];
          for (const [k, form] of next) wanted.set(k, form);
        }
        yield sameForms(this.imageOf("decoder.1.O", here), wanted) || `at q = ${q ?? "none"}, s = ${s ?? "none"}`;
      }
    }
    for (const m of [-1, 1]) {
      const found = this.imageOf("decoder.1.O", this.forms({ x1: known(m) }));
      yield sameForms(found, this.forms({ x1: known(-m), x3: known(m) })) || `at m = ${m}`;
    }
  }

  cancels(layer) { // it halves what the external attention has added twice
    const halved = [...this.at.of("s3", "x6")].map((k) => [k, k, HALF.negative]);
    return this.net(`decoder.${layer}.O`).isExactly(halved) || `O of layer ${layer} does not cancel the external attention`;
  }

  *means() {
    yield this.net("decoder.2.K").isZero || this.net("decoder.2.Q").isZero || "scores differ";
    yield this.net("decoder.2.V").isExactly(this.between(["x2", "x4", ONE], ["x3", "x5", ONE])) || "V of layer 2 is not m^(i), m^(i−1)";
    yield this.cancels(2);
  }

  *lastVisit() {
    const query = [["x4", "x9", ONE], ["x10", "x10", ONE], ["x11", "x11", THIRD]];
    const key = [["x10", "x9", ONE], ["x5", "x10", MINUS]];
    if (this.scoreName === "recency") {
      query.push(["x12", "x12", THIRD.negative]);
      key.push(["x8", "x11", ONE], ["x9", "x12", ONE], ["x8", "x12", MINUS]);
    } else key.push(["x11", "x11", ONE]);
    yield this.net("decoder.3.Q").isExactly(this.between(...query)) || "Q of layer 3";
    yield this.net("decoder.3.K").isExactly(this.between(...key)) || "K of layer 3";
    const copies = this.normal.symbols.map((s) => [this.at.one("s2", s), this.at.one("s4", s), ONE]);
    const value = [...copies, ...this.between(["x9", "x7", ONE], ["x8", "x7", MINUS])];
    yield this.net("decoder.3.V").isExactly(value) || "V of layer 3";
    yield this.cancels(3);
  }

  *lastColumns() {
    const { at } = this, F = this.net("F");
    yield isSubset(F.sources(at.of("q1")), at.of("q2")) || "q1 depends on more than q2";
    yield isSubset(F.sources(at.of("x1")), at.of("x2")) || "x1 depends on more than x2";
    yield isSubset(F.sources(at.of("s1")), at.of("s3", "s4", "x6", "x7", "x9")) || "s1 depends on other blocks";
    yield isSubset(F.reached, at.of("q1", "s1", "x1")) || "F writes to other blocks";
  }

  // Hidden units see positions through A = x9 − x6 ≥ 0 or D = x9 − x7 ≥ 1 alone, and σ of them is the
  // same for all A ≥ 1, or for all D ≥ 2, whatever s3 and s4 are.
  *saturates() {
    const [first] = this.net("F").maps, symbols = this.at.of("s3", "s4"), columns = new Map();
    for (const [j, k, w] of first.weights()) columns.set(k, (columns.get(k) ?? new Map()).set(j, w));
    const zero = Rational.of(0), [x6, x7, x9] = ["x6", "x7", "x9"].map((block) => this.at.one(block));
    for (const [k, column] of columns) {
      const [a, d] = [x6, x7].map((x) => (column.get(x) ?? zero).negative), name = this.hidden.names[k];
      yield (column.get(x9) ?? zero).equals(a.plus(d)) || `${name} is not a function of A and D`;
      if (!a.sign && !d.sign) continue;
      yield !(a.sign && d.sign) || `${name} depends on both A and D`;
      const rest = [...column].filter(([j]) => ![x6, x7, x9].includes(j));
      yield rest.every(([j]) => symbols.has(j)) || `${name} depends on other blocks too`;
      // Its value where it saturates first, at the least or greatest that s3 and s4 allow.
      const slope = a.sign ? a : d;
      let value = (first.bias.get(k) ?? zero).plus(a.sign ? a : d.plus(d));
      for (const [, w] of rest) if (w.sign !== slope.sign) value = value.plus(w);
      yield (slope.sign > 0 ? value.compare(ONE) >= 0 : value.sign <= 0) || `${name} does not saturate`;
    }
  }

  *lastValues() {
    const { at } = this, states = [null, ...this.normal.states], symbols = [null, ...this.normal.symbols];
    const within = (found, block) => new Map([...found].filter(([k]) => at.of(block).has(k)));
    for (const q of states) {
      const found = within(this.imageOf("F", this.oneHot("q2", q)), "q1");
      yield sameForms(found, new Map(this.oneHot("q1", q))) || `state ${q ?? "none"} becomes ${this.show(found)}`;
    }
    for (const m of [-1, 0, 1]) {
      const found = within(this.imageOf("F", this.forms({ x2: known(m) })), "x1");
      yield sameForms(found, this.forms({ x1: known(m) })) || `move ${m} becomes ${showForm(found.get(at.one("x1")) ?? NONE)}`;
    }
    for (const alpha of symbols) {
      for (const v of symbols) {
        for (const [a, d] of [[0, 1], [0, 2], [1, 1], [1, 2]]) {
          const times = this.forms({ x9: known(3), x6: known(3 - a), x7: known(3 - d) });
          const found = within(this.imageOf("F", [...times, ...this.oneHot("s3", alpha), ...this.oneHot("s4", v)]), "s1");
          const symbol = a === 0 ? alpha : d === 1 ? this.normal.blank : v;
          yield sameForms(found, new Map(this.oneHot("s1", symbol)))
            || `α = ${alpha ?? "none"}, v = ${v ?? "none"}, A = ${a}, D = ${d}: ${this.show(found)}`;
        }
      }
    }
  }
}
