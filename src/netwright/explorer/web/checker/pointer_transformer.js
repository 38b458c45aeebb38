// The obligations of a Transformer that follows pointers: docs/universal.md has the proof.

import { ONE, Rational, ZERO } from "./rational.js";
import { isSubset, pair, sameList } from "./reading.js";
import { NONE, UNIT, isUnit, known, sameForms, showForm, unknown } from "./chain.js";
import { NormalDecoder } from "./decoder.js";

const POSITIONS = { score_phi: ["one", "n", "e"], dot_product: ["one", "n", "e", "e2"] };
const MINUS = ONE.negative, TWO = Rational.of(2);

// Q and K of the look-up of sel = 1/(j+1): their product is sel (j+1) − 1, or 2 sel ε − ε² with
// ε = 1/(j+1), which is sel² − (sel − ε)². Block `one` is 1 in every token.
export const lookUp = (score, one) => (score === "dot_product"
  ? { Q: [["sel", "e", TWO], [one, "e2", MINUS]], K: [["e", "e", ONE], ["e2", "e2", ONE]] }
  : { Q: [["sel", "n", ONE], [one, one, MINUS]], K: [["n", "n", ONE], [one, one, ONE]] });

export class PointerTransformer extends NormalDecoder {
  constructor(written) {
    super(written);
    this.stays = this.at.places.has("mS");
    this.moves = this.stays ? ["mR", "mL", "mS"] : ["m"];
  }

  *obligations() {
    if (yield ["shape: no encoder layer, two decoder layers, σ", this.shape()]) return;
    yield this.normalForm(this.stays);
    yield ["embedding, positions, seed and final set", this.ends()];
    yield ["Lemma B.1: K and V of the encoder", this.input()];
    yield ["rule: what O1 reads and writes", this.ruleColumns()];
    yield ["rule: O1 is the transition function, and selects", this.ruleValues()];
    yield ["look-up: Q, K, V and O of layer 2", this.looksUp()];
    yield ["F: what it depends on, block by block", this.lastColumns()];
    yield ["F: the next state", this.nextState()];
    yield ["F: the next symbol", this.nextSymbol()];
    yield ["F: the next pointers (linked visits)", this.nextPointers()];
    yield ["after the halt: no state for ever", this.halted()];
  }

  *shape() {
    yield (Object.hasOwn(POSITIONS, this.score) && this.normaliser === "hardmax") || "the wrong attention";
    yield* this.hasShape(0, 2);
    const blocks = ["q1", "s1", "R", "L", "q2", "w", ...this.moves, "sel", "al", "be", "v", "RR", "LL", ...POSITIONS[this.score]];
    yield sameList(this.blocks, blocks) || "the wrong blocks";
    for (const [block, labels] of this.at.places) {
      const wanted = ["q1", "q2"].includes(block) ? this.normal.states
        : ["s1", "w", "al", "v"].includes(block) ? this.normal.symbols : [""];
      yield sameList([...labels.keys()], wanted) || `block ${block} has the wrong labels`;
    }
  }

  *ends() {
    const { at } = this;
    yield this.hasPositions(POSITIONS[this.score]) || "the positions are in the wrong place";
    const seed = [at.one("q1", this.names[0]), at.one("s1", this.normal.blank), at.one("R"), at.one("L")];
    yield* this.hasEnds(new Map(seed.map((k) => [k, ONE])), "s1");
  }

  *input() {
    const keys = this.score === "dot_product" ? [["e", "e", TWO], ["e2", "one", MINUS]] : [["n", "one", ONE], ["one", "n", MINUS]];
    yield this.net("encoder.K").isExactly(this.between(...keys)) || "K does not find token min(i+1, n)";
    const values = [...this.copies("s1", "al"), ...this.between(["n", "be", ONE])];
    yield this.net("encoder.V").isExactly(values) || "V is not ⟦a⟧ and j";
  }

  copies(from, to) {
    return this.normal.symbols.map((s) => [this.at.one(from, s), this.at.one(to, s), ONE]);
  }

  *ruleColumns() {
    const { at } = this, net = this.net("decoder.1.O"), rule = ["q2", "w", ...this.moves];
    yield this.net("decoder.1.V").isZero || "V of layer 1 is not 0";
    yield isSubset(net.reached, at.of(...rule, "sel")) || "O1 writes to other blocks";
    yield isSubset(net.sources(at.of(...rule)), at.of("q1", "s1")) || "the rule depends on more";
    yield isSubset(net.sources(at.of("sel")), at.of("q1", "s1", "R", "L")) || "sel depends on more";
  }

  // A block that is `value` at one label, and 0 at all others.
  oneHot(block, label, value = 1) {
    return [...this.at.places.get(block)].map(([each, k]) => [k, each === label ? known(value) : NONE]);
  }

  // A block of unknowns from 0 to `most`.
  anything(block, most, bounds) {
    return [...this.at.places.get(block).values()].map((k) => {
      bounds.set(`at ${k}`, [ZERO, most]);
      return [k, unknown(`at ${k}`)];
    });
  }

  pointers(bounds, ...names) {
    return this.unknowns(bounds, Object.fromEntries(names.map((name) => [name, UNIT])));
  }

  moved(move) { // null: no move
    if (!this.stays) return this.forms({ m: known({ R: 1, L: -1 }[move] ?? 0) });
    return this.forms(Object.fromEntries(this.moves.map((block) => [block, known(block === `m${move}` ? 1 : 0)])));
  }

  *ruleValues() {
    const { at } = this, net = this.net("decoder.1.O");
    for (const q of this.normal.states) {
      for (const s of this.normal.symbols) {
        const bounds = new Map(), rule = this.normal.delta.get(pair(q, s)), wanted = new Map();
        const x = new Map([...this.pointers(bounds, "R", "L"), ...this.oneHot("q1", q), ...this.oneHot("s1", s)]);
        if (rule) {
          const [target, write, move] = rule;
          wanted.set(at.one("q2", target), known(1)).set(at.one("w", write), known(1));
          for (const [k, form] of this.moved(move)) wanted.set(k, form);
          if (move !== "S") wanted.set(at.one("sel"), unknown(move));
        }
        yield sameForms(net.image(x, bounds), wanted) || `at q = ${q}, s = ${s}`;
      }
    }
    const bounds = new Map();
    const x = [...this.pointers(bounds, "R", "L"), ...this.oneHot("q1", null), ...this.anything("s1", ONE, bounds)];
    yield net.image(new Map(x), bounds).size === 0 || "at no state";
  }

  *looksUp() {
    const { Q, K } = lookUp(this.score, "one");
    yield this.net("decoder.2.Q").isExactly(this.between(...Q)) || "Q of layer 2";
    yield this.net("decoder.2.K").isExactly(this.between(...K)) || "K of layer 2";
    const found = [...this.copies("w", "v"), ...this.between(["R", "RR", ONE], ["L", "LL", ONE])];
    yield this.net("decoder.2.V").isExactly(found) || "V of layer 2";
    yield this.net("decoder.2.O").isZero || "O of layer 2 is not 0";
  }

  *lastColumns() {
    const { at } = this, F = this.net("F");
    yield isSubset(F.sources(at.of("q1")), at.of("q2")) || "q1 depends on more than q2";
    yield isSubset(F.sources(at.of("s1")), at.of("al", "be", "n", "v", "w", ...this.moves)) || "s1 depends on other blocks";
    const pointers = at.of("R", "L", "RR", "LL", "e", ...this.moves);
    yield isSubset(F.sources(at.of("R", "L")), pointers) || "R and L depend on other blocks";
    yield isSubset(F.reached, at.of("q1", "s1", "R", "L")) || "F writes to other blocks";
  }

  // What F gives in some blocks.
  after(parts, bounds, ...blocks) {
    const places = this.at.of(...blocks), found = this.net("F").image(new Map(parts), bounds);
    return new Map([...found].filter(([k]) => places.has(k)));
  }

  *nextState() {
    for (const q of [null, ...this.normal.states]) {
      const found = this.after(this.oneHot("q2", q), new Map(), "q1");
      yield sameForms(found, new Map(this.oneHot("q1", q))) || `state ${q ?? "none"}: ${this.show(found)}`;
    }
  }

  // be = 2β and n = A + β: A is 0 while the input is read, and 1 or more later; then al is anything.
  inputAt(isRead, bounds) {
    bounds.set("β", [ZERO, null]);
    const be = unknown("β", TWO), n = unknown("β");
    if (isRead) return [...this.forms({ be, n })];
    bounds.set("A", [ONE, null]);
    return [...this.forms({ be, n: new Map([...n, ["A", ONE]]) }), ...this.anything("al", TWO, bounds)];
  }

  *nextSymbol() {
    const gives = (parts, bounds, symbol, when) => {
      const found = this.after(parts, bounds, "s1");
      return sameForms(found, new Map(this.oneHot("s1", symbol))) || `${when}: ${this.show(found)}`;
    };
    const { symbols, blank } = this.normal;
    for (const symbol of symbols) {
      if (symbol === blank) continue; // while it is read, the look-up finds token 0, which wrote a blank
      const bounds = new Map(), read = [...this.inputAt(true, bounds), ...this.oneHot("al", symbol, 2)];
      const rest = [...this.oneHot("v", blank), ...this.anything("w", ONE, bounds), ...this.moved("R")];
      yield gives([...read, ...rest], bounds, symbol, `reading ${symbol}`);
    }
    for (const symbol of symbols) {
      for (const move of "RL") {
        const bounds = new Map(), found = [...this.oneHot("v", symbol), ...this.anything("w", ONE, bounds)];
        yield gives([...this.inputAt(false, bounds), ...found, ...this.moved(move)], bounds, symbol, `finding ${symbol}, ${move}`);
      }
    }
    for (const symbol of this.stays ? symbols : []) {
      const bounds = new Map(), here = [...this.anything("v", ONE, bounds), ...this.oneHot("w", symbol)];
      yield gives([...this.inputAt(false, bounds), ...here, ...this.moved("S")], bounds, symbol, `staying on ${symbol}`);
    }
  }

  *nextPointers() {
    for (const [move, R, L] of [["R", "RR", "e"], ["L", "e", "LL"], ["S", "R", "L"]]) {
      if (move === "S" && !this.stays) continue;
      const bounds = new Map(), x = [...this.pointers(bounds, "R", "L", "RR", "LL", "e"), ...this.moved(move)];
      const found = this.after(x, bounds, "R", "L");
      yield sameForms(found, this.forms({ R: unknown(R), L: unknown(L) })) || `${move}: ${this.show(found)}`;
    }
  }

  // Without a rule q2, w and the moves are 0: s1 stays in [0, 1], R and L are 0.
  *halted() {
    let bounds = new Map();
    const nothing = [...this.oneHot("w", null), ...this.moved(null)];
    const symbols = this.after([...this.inputAt(false, bounds), ...this.anything("v", ONE, bounds), ...nothing], bounds, "s1");
    for (const [k, form] of symbols) yield isUnit(form, bounds) || `${this.at.names[k]} is ${showForm(form)}`;
    bounds = new Map();
    const found = this.after([...this.pointers(bounds, "R", "L", "RR", "LL", "e"), ...this.moved(null)], bounds, "R", "L");
    yield found.size === 0 || this.show(found);
  }
}
