// The obligations of the universal Transformer on prompts of rules: the network's, once for all
// machines, with codes and pointers as unknowns; and those of one machine's prompt.

import { ONE, Rational, ZERO } from "./rational.js";
import { isSubset, needed, pair, readVector, sameList, sameSet, sameVector, unique } from "./reading.js";
import { NONE, UNIT, isUnit, known, sameForms, unknown } from "./chain.js";
import { Decoder } from "./decoder.js";
import { NORMAL_FORM, normalForm, readNormal } from "./machines.js";
import { lookUp } from "./pointer_transformer.js";

export const MOVES = [["R", 1], ["L", -1]]; // a move, which is the name of the pointer it follows
const SHOWN = ["r", "s", "on", "R", "L"], RULE = ["r2", "w2", "m2", "on2", "al"];
const BLOCKS = [...SHOWN, ...RULE, "r3", "m3", "on3", "sel", "e_", "one_", "v", "RR", "LL"];
const POSITIONS = { score_phi: ["n", "e"], dot_product: ["e", "e2"] };
const MINUS = ONE.negative, TWO = Rational.of(2), HALF = Rational.of(1, 2);
const NO_RULE = Rational.of(5); // in place of a pair's code; no sum of codes comes near it

// What both universal networks have.
export class Universal extends Decoder {
  *hasUniversalShape(layers, blocks) {
    yield this.normaliser === "hardmax" || "attention is not hard";
    yield* this.hasShape(0, layers);
    yield sameList(this.blocks, blocks) || "the blocks or the score are wrong";
    for (const [block, labels] of this.at.places) yield sameList([...labels.keys()], [""]) || `block ${block} is not one coordinate`;
  }

  *ends(positions) {
    yield this.hasPositions(positions) || "the positions are in the wrong place";
    const seed = new Map(["on", "R", "L"].map((block) => [this.at.one(block), ONE]));
    yield sameVector(this.seed, seed) || `the seed is ${this.at.show(this.seed)}`;
  }

  // The next pointers, by the lemma of linked visits.
  linked(move) {
    return move > 0 ? { R: unknown("RR"), L: unknown("e") } : { R: unknown("e"), L: unknown("LL") };
  }

  // Layer `layer` finds the token that is pointed to; what it wrote is in block `written`.
  *looksUp(layer, one, written) {
    const { Q, K } = lookUp(this.score, one), found = [[written, "v", ONE], ["R", "RR", ONE], ["L", "LL", ONE]];
    for (const [letter, weights] of [["Q", Q], ["K", K], ["V", found]]) {
      yield this.net(`decoder.${layer}.${letter}`).isExactly(this.between(...weights)) || `${letter} of layer ${layer}`;
    }
    yield this.net(`decoder.${layer}.O`).isZero || `O of layer ${layer} is not 0`;
  }
}

export class UniversalRules extends Universal {
  constructor(written) {
    super(written);
    this.written = written;
  }

  *obligations() {
    const positions = Object.hasOwn(POSITIONS, this.score) ? POSITIONS[this.score] : [];
    const shape = this.hasUniversalShape(2, [...BLOCKS, ...positions]);
    if (yield ["network: no encoder layer, two decoder layers, σ", shape]) return;
    yield ["network: positions and seed", this.ends(positions)];
    yield ["network: it finds rules, then the input's symbols", this.finds()];
    yield ["network: O1 while the machine runs", this.runs()];
    yield ["network: layer 2 looks up what is pointed to", this.looksUp(2, "one_", "w2")];
    yield ["network: F gives state, symbol and pointers", this.next()];
    yield ["network: nothing comes back after the halt", this.halted()];
    if (this.written.has("given")) yield* new RulesPrompt(this.written, this).obligations();
  }

  // In layer 1, where e_ and one_ are 0, a token is met with kap on − r − s, or 2 kap (r+s) − kap² on;
  // in layer 2, where r, s and on are 0, with j e_ − one_, or 2 ε_j e_ − ε_j² one_.
  *finds() {
    const keys = this.score === "dot_product"
      ? [["on", "r", TWO], ["on", "s", TWO], ["r", "on", MINUS], ["e", "e_", TWO], ["e2", "one_", MINUS]]
      : [["on", "on", ONE], ["one_", "r", MINUS], ["one_", "s", MINUS], ["n", "e_", ONE], ["one_", "one_", MINUS]];
    yield this.net("encoder.K").isExactly(this.between(...keys)) || "K of the encoder";
    yield this.net("encoder.V").isExactly(this.between(...RULE.map((block) => [block, block, ONE]))) || "V of the encoder";
    yield this.net("decoder.1.V").isZero || "V of layer 1 is not 0";
  }

  // A token in layer 1.
  token(bounds, parts) {
    const names = ["r", "s", "R", "L", "r2", "w2", "on2", "e"];
    const rest = this.unknowns(bounds, Object.fromEntries(names.map((name) => [name, UNIT])));
    return new Map([...rest, ...this.forms(parts)]);
  }

  // What O1 adds in any case: it takes r, s and on away, copies e and gives 1.
  get cleared() {
    return { r: unknown("r", MINUS), s: unknown("s", MINUS), one_: known(1), e_: unknown("e") };
  }

  *runs() {
    const { at } = this, net = this.net("decoder.1.O");
    yield isSubset(net.reached, at.of("r", "s", "on", "r3", "m3", "on3", "sel", "e_", "one_")) || "O1 writes to other blocks";
    const allowed = at.of("r", "s", "on", "R", "L", "r2", "m2", "on2", "e");
    yield isSubset(net.sources(net.reached), allowed) || "O1 reads other blocks";
    for (const [pointer, move] of MOVES) {
      const bounds = new Map(), found = net.image(this.token(bounds, { on: known(1), m2: known(move) }), bounds);
      const rule = { r3: unknown("r2"), on3: unknown("on2"), m3: known(move), sel: unknown(pointer) };
      yield sameForms(found, this.forms({ ...this.cleared, on: known(-1), ...rule })) || `moving ${pointer}: ${this.show(found)}`;
    }
  }

  *next() {
    const { at } = this, F = this.net("F");
    yield isSubset(F.reached, at.of(...SHOWN)) || "F writes to other blocks";
    yield isSubset(F.sources(F.reached), at.of("r3", "m3", "on3", "al", "v", "RR", "LL", "e")) || "F reads other blocks";
    for (const [pointer, move] of MOVES) {
      const bounds = new Map(), codes = [ZERO, HALF];
      const x = this.unknowns(bounds, { r3: UNIT, on3: UNIT, RR: UNIT, LL: UNIT, e: UNIT, al: codes, v: codes });
      const found = F.image(new Map([...x, ...this.forms({ m3: known(move) })]), bounds);
      const state = { r: unknown("r3"), on: unknown("on3"), s: new Map([["al", ONE], ["v", ONE]]) };
      yield sameForms(found, this.forms({ ...state, ...this.linked(move) })) || `moving ${pointer}: ${this.show(found)}`;
    }
  }

  // on = 0: whatever of the prompt is found, and whatever of the past is looked up.
  *halted() {
    const { at } = this, bounds = new Map([["m2", [MINUS, ONE]]]);
    const found = this.net("decoder.1.O").image(this.token(bounds, { on: NONE, m2: unknown("m2") }), bounds);
    found.delete(at.one("sel"));
    yield sameForms(found, this.forms(this.cleared)) || `O1 gives ${this.show(found)}`;
    const later = new Map(), any = [ZERO, null];
    const x = this.unknowns(later, { RR: UNIT, LL: UNIT, e: UNIT, al: any, v: any });
    const after = this.net("F").image(new Map([...x, ...this.forms({ r3: NONE, m3: NONE, on3: NONE })]), later);
    const symbol = after.get(at.one("s")) ?? NONE;
    after.delete(at.one("s"));
    yield (isUnit(symbol, later) && after.size === 0) || `F gives ${this.show(after)}`;
  }
}

// The binary digits of a number, the lowest first, as base-4 digits after the point.
function code(number) {
  let top = 0n, bottom = 1n;
  for (let rest = number; rest > 0; rest >>= 1) {
    top = top * 4n + BigInt(rest & 1);
    bottom *= 4n;
  }
  return Rational.of(top, bottom);
}

class RulesPrompt {
  constructor(written, { at, score }) {
    Object.assign(this, readNormal(written), { at, score });
    const { states, symbols, blank } = this.normal, size = at.names.length;
    this.letters = [blank, ...symbols.filter((symbol) => symbol !== blank)];
    const vectors = unique(written.get("symbols"), "the symbols");
    this.symbols = new Map([...vectors].map(([symbol, vector]) => [symbol, readVector(vector, size)]));
    const rules = unique(written.get("rules").map(([q, a, vector]) => [pair(q, a), { q, a, vector }]), "the rules");
    this.rules = new Map([...rules].map(([key, { q, a, vector }]) => [key, { q, a, vector: readVector(vector, size) }]));
    this.stateCodes = new Map(states.map((state, n) => [state, code(n).times(TWO)]));
    this.symbolCodes = new Map(this.letters.map((symbol, n) => [symbol, code(n)]));
  }

  *obligations() {
    yield [`prompt: ${NORMAL_FORM}`, normalForm(this, this.given.final)];
    yield ["prompt: it accepts in the given machine's final states", this.accepts()];
    yield ["prompt: every pair of a state and a symbol has a rule", this.isComplete()];
    yield ["prompt: the codes of pairs differ", this.codesDiffer()];
    yield ["prompt: the input's symbols", this.hasSymbols()];
    yield ["prompt: every rule is the machine's", this.hasRules()];
  }

  *accepts() {
    yield sameSet(this.normal.accepting, this.given.final) || "it accepts in the wrong states";
  }

  *isComplete() {
    yield this.normal.states[0] === this.names[0] || "q_init does not have the number 0";
    for (const q of this.normal.states) for (const a of this.letters) yield this.rules.has(pair(q, a)) || `no rule for (${q}, ${a})`;
    yield this.rules.size === this.normal.states.length * this.letters.length || "rules for other pairs";
  }

  *codesDiffer() {
    const seen = new Set(), on = this.at.one("on");
    for (const { q, a, vector } of this.rules.values()) {
      const kap = vector.get(on) ?? ZERO;
      yield !seen.has(`${kap}`) || `(${q}, ${a}) has the same code as another`;
      yield (kap.sign >= 0 && kap.compare(ONE) < 0) || `(${q}, ${a}) has the code ${kap}`;
      seen.add(`${kap}`);
    }
  }

  // Whether a vector is the token with these numbers in its blocks.
  isToken(vector, kap, parts) {
    const own = this.score === "dot_product" ? { r: kap.times(kap) } : { one_: ONE };
    const numbers = Object.entries({ on: kap, ...own, ...parts }).filter(([, x]) => x.sign);
    return sameVector(vector, new Map(numbers.map(([block, x]) => [this.at.one(block), x])));
  }

  *hasSymbols() {
    yield sameList([...this.symbols.keys()], this.letters.slice(1)) || "the wrong symbols";
    for (const [symbol, vector] of this.symbols) {
      yield this.isToken(vector, NO_RULE, { al: this.symbolCodes.get(symbol) }) || `${symbol} is ${this.at.show(vector)}`;
    }
  }

  *hasRules() {
    const directions = new Map([["R", ONE], ["L", MINUS]]);
    for (const { q, a, vector } of this.rules.values()) {
      const read = needed(this.symbolCodes, a), kap = needed(this.stateCodes, q).plus(read), rule = this.normal.rule(q, a);
      let parts = { m2: ONE };
      if (this.normal.accepting.has(q)) parts = { r2: ONE, w2: read, m2: ONE };
      else if (rule) {
        const [target, write, move] = rule;
        parts = { r2: this.stateCodes.get(target), w2: this.symbolCodes.get(write), m2: needed(directions, move), on2: ONE };
      }
      yield this.isToken(vector, kap, parts) || `(${q}, ${a}): ${this.at.show(vector)}`;
    }
  }
}
