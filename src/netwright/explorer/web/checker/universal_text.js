// The obligations of the universal Transformer over eleven symbols: the network's, and a prompt's.

import { ONE, Rational, ZERO } from "./rational.js";
import { Machine, isSubset, needed, pair, readMachine, sameList, sameSet, sameVector } from "./reading.js";
import { NONE, UNIT, isUnit, known, sameForms, unknown } from "./chain.js";
import { sameSteps } from "./machines.js";
import { MOVES, Universal } from "./universal_rules.js";

// What each symbol of a prompt says.
const FEATURES = {
  0: { dg: 1 }, 1: { dg: 1, bt: 1 }, A: { tA: 1 }, B: { tB: 1 }, C: { tC: 1 },
  "<": { end: 1, ov: 1, mv: -1 }, ">": { end: 1, ov: 1, mv: 1 }, Y: { end: 1, ry: 1, mv: 1 }, N: { end: 1, mv: 1 },
  T: { tT: 1 }, "!": { run: 1 },
};
const SYMBOLS = [..."01ABC<>YNT!"];
const CODES = ["dg", "bt", "tA", "tB", "tC", "end", "ov", "ry", "mv", "tT", "run"];
const SHOWN = ["r", "s", "on", "R", "L", "acc", "kap", "rn"], CHOSEN = ["r3", "w3", "m3", "on3", "sel"];
const FOUND = ["rF", "wF", "mF", "oF"], READ1 = ["acc1", "kap1", "rn1"], POSITIONS = ["one", "n", "e"];
const BLOCKS = [...SHOWN, ...CODES, ...READ1, ...FOUND, ...CHOSEN, "v", "RR", "LL", ...POSITIONS];
const MINUS = ONE.negative, TWO = Rational.of(2), FOUR = Rational.of(4), QUARTER = Rational.of(1, 4);
const SIGNED = [MINUS, ONE];
// What is being read: a code₁ below 1/3, a sum of a code₂ and a code₁, a code₂ below 2/3.
const CODE = [ZERO, Rational.of(1, 3)], PAIR = UNIT, STATE = [ZERO, Rational.of(2, 3)];

export class UniversalText extends Universal {
  constructor(written) {
    super(written);
    this.written = written;
    this.alphabet = this.vectors(written.get("embedding"), "the alphabet");
  }

  *obligations() {
    const shape = this.hasUniversalShape(3, this.score === "score_phi" ? BLOCKS : []);
    if (yield ["network: no encoder layer, three decoder layers, σ", shape]) return;
    yield ["network: positions and seed", this.ends(POSITIONS)];
    yield ["network: eleven symbols, and what attends to them", this.hasSymbols()];
    yield ["network: O1 reads numbers, pairs and states", this.reads()];
    yield ["network: layer 2 finds the rule", this.findsRule()];
    yield ["network: O2 before, and from, the end of the prompt", this.chooses()];
    yield ["network: layer 3 looks up what is pointed to", this.looksUp(3, "one", "w3")];
    yield ["network: F gives state, symbol and pointers", this.next()];
    yield ["network: nothing comes back after the halt", this.halted()];
    if (this.written.has("given")) yield* new TextPrompt(this.written).obligations();
  }

  *hasSymbols() {
    yield sameList([...this.alphabet.keys()], SYMBOLS) || "the wrong alphabet";
    for (const symbol of SYMBOLS) {
      const wanted = Object.entries(FEATURES[symbol]).map(([name, x]) => [this.at.one(name), Rational.of(x)]);
      yield sameVector(this.alphabet.get(symbol), new Map(wanted)) || `what ${symbol} says`;
    }
    const keys = this.between(["n", "one", ONE], ["one", "n", MINUS]);
    yield this.net("encoder.K").isExactly(keys) || "K does not find token min(i+1, n)";
    yield this.net("encoder.V").isExactly(this.between(...CODES.map((name) => [name, name, ONE]))) || "V of the encoder";
    yield this.net("decoder.1.V").isZero || "V of layer 1 is not 0";
  }

  // A prompt's symbol, which each attention to the prompt so far has added.
  says(symbol, times) {
    return this.forms(Object.fromEntries(CODES.map((name) => [name, known(times * (FEATURES[symbol][name] ?? 0))])));
  }

  *reads() {
    const { at } = this, net = this.net("decoder.1.O");
    yield isSubset(net.reached, at.of(...READ1)) || "O1 writes to other blocks";
    yield isSubset(net.sources(net.reached), at.of("acc", "kap", "rn", ...CODES)) || "O1 reads other blocks";
    for (const symbol of SYMBOLS) {
      const bounds = new Map(), x = this.unknowns(bounds, { acc: CODE, kap: PAIR, rn: STATE });
      const digit = "01".includes(symbol), keeps = !"<>YNT".includes(symbol); // a rule's end forgets
      const acc1 = digit ? new Map([["acc", QUARTER], ...(symbol === "1" ? [["", QUARTER]] : [])]) : NONE;
      const kap1 = new Map(keeps ? [["kap", ONE]] : []), rn1 = new Map(keeps ? [["rn", ONE]] : []);
      if (symbol === "A") kap1.set("acc", TWO);
      if (symbol === "B") kap1.set("acc", ONE);
      if (symbol === "C") rn1.set("acc", TWO);
      const found = net.image(new Map([...x, ...this.says(symbol, 1)]), bounds);
      yield sameForms(found, this.forms({ acc1, kap1, rn1 })) || `at ${symbol}: ${this.show(found)}`;
    }
  }

  // The product is kap_j − (r + s) at a token that ends a rule, and 4 more at others.
  *findsRule() {
    const weights = {
      Q: [["r", "one", ONE], ["s", "one", ONE], ["one", "e", ONE]],
      K: [["one", "one", MINUS], ["kap", "e", ONE], ["one", "e", FOUR], ["end", "e", FOUR.negative]],
      V: [["rn", "rF", ONE], ["ry", "rF", ONE], ["acc", "wF", ONE], ["mv", "mF", ONE], ["ov", "oF", ONE]],
    };
    for (const letter of "QKV") {
      yield this.net(`decoder.2.${letter}`).isExactly(this.between(...weights[letter])) || `${letter} of layer 2`;
    }
  }

  // What O2 gives: after a rule was found with a move (null: any), at a symbol of the prompt.
  chosen(bounds, symbol, on, move) {
    const found = this.unknowns(bounds, { rF: UNIT, wF: CODE, oF: UNIT, R: UNIT, L: UNIT, acc: CODE });
    const moves = move === null ? this.unknowns(bounds, { mF: SIGNED }) : this.forms({ mF: known(move) });
    const x = new Map([...found, ...moves, ...this.says(symbol, 2), ...this.forms({ on: known(on) })]);
    return this.net("decoder.2.O").image(x, bounds);
  }

  *chooses() {
    const { at } = this, net = this.net("decoder.2.O");
    yield isSubset(net.reached, at.of(...CHOSEN)) || "O2 writes to other blocks";
    const allowed = at.of(...FOUND, "on", "R", "L", "acc", "run", "tT");
    yield isSubset(net.sources(net.reached), allowed) || "O2 reads other blocks";
    for (const [pointer, move] of MOVES) {
      const found = this.chosen(new Map(), "!", 1, move);
      const wanted = { r3: unknown("rF"), w3: unknown("wF"), m3: known(move), on3: unknown("oF"), sel: unknown(pointer) };
      yield sameForms(found, this.forms(wanted)) || `moving ${pointer}: ${this.show(found)}`;
    }
    for (const symbol of SYMBOLS) {
      if (symbol === "!") continue;
      const found = this.chosen(new Map(), symbol, 1, null);
      const written = symbol === "T" ? { w3: unknown("acc"), m3: known(-1), sel: unknown("L") } : {};
      yield sameForms(found, this.forms({ on3: known(1), ...written })) || `at ${symbol}: ${this.show(found)}`;
    }
  }

  *next() {
    const { at } = this, F = this.net("F");
    yield isSubset(F.reached, at.of(...SHOWN)) || "F writes to other blocks";
    const allowed = at.of("r3", "w3", "m3", "on3", "v", "RR", "LL", "e", "R", "L", "run", "tT", ...READ1);
    yield isSubset(F.sources(F.reached), allowed) || "F reads other blocks";
    const waiting = SYMBOLS.filter((symbol) => !"!T".includes(symbol)).map((symbol) => [symbol, 0]);
    for (const [symbol, move] of [["!", 1], ["!", -1], ["T", -1], ...waiting]) {
      const bounds = new Map(), runs = symbol === "!";
      const limits = { RR: UNIT, LL: UNIT, e: UNIT, R: UNIT, L: UNIT, v: UNIT, on3: UNIT, acc1: CODE, kap1: PAIR, rn1: STATE, w3: CODE };
      const x = this.unknowns(bounds, { ...limits, ...(runs ? { r3: UNIT } : {}) });
      const rest = this.forms({ m3: known(move), ...(runs ? {} : { r3: NONE }) });
      const found = F.image(new Map([...x, ...this.says(symbol, 3), ...rest]), bounds);
      const wanted = { acc: unknown("acc1"), kap: unknown("kap1"), rn: unknown("rn1"), on: unknown("on3") };
      if (runs) wanted.r = unknown("r3");
      Object.assign(wanted, move ? { s: unknown("v"), ...this.linked(move) } : { R: unknown("R"), L: unknown("L") });
      yield sameForms(found, this.forms(wanted)) || `at ${symbol}, move ${move}: ${this.show(found)}`;
    }
  }

  // on = 0 after the prompt: O2 gives nothing but sel, and F no more than s in [0, 1].
  *halted() {
    const { at } = this, found = this.chosen(new Map(), "!", 0, null);
    found.delete(at.one("sel"));
    yield found.size === 0 || `O2 gives ${this.show(found)}`;
    const bounds = new Map(), x = this.unknowns(bounds, { RR: UNIT, LL: UNIT, e: UNIT, R: UNIT, L: UNIT, v: UNIT });
    const zeros = this.forms(Object.fromEntries([...CHOSEN, ...READ1].map((name) => [name, NONE])));
    const after = this.net("F").image(new Map([...x, ...this.says("!", 3), ...zeros]), bounds);
    const symbol = after.get(at.one("s")) ?? NONE;
    after.delete(at.one("s"));
    yield (isUnit(symbol, bounds) && after.size === 0) || `F gives ${this.show(after)}`;
  }
}

const LINE = /([01]*)A([01]*)B(?:([YN])|([01]*)C([01]*)([<>]))/g;
const binary = (number) => (number ? number.toString(2) : "");

class TextPrompt {
  constructor(written) {
    const prompt = written.get("prompt");
    this.given = new Machine(written.get("given"));
    this.moving = readMachine(prompt.get("machine"), written);
    this.pauses = new Set(prompt.get("pauses"));
    this.isLong = prompt.get("long");
    [this.states, this.symbols] = ["states", "symbols"].map((key) => prompt.get(key).map(([name]) => name));
    [this.stateNumbers, this.symbolNumbers] = ["states", "symbols"].map((key) => prompt.get(key).map(([, n]) => n));
    this.text = written.get("rules");
    this.lines = [...this.text.matchAll(LINE)].map((found) => ({
      whole: found[0], at: found.index, numbers: [found[1], found[2], found[4] ?? "", found[5] ?? ""],
      state: parseInt(found[1] || "0", 2), symbol: parseInt(found[2] || "0", 2),
    }));
  }

  *obligations() {
    if (yield ["prompt: it is made of rules", this.isRules()]) return;
    yield ["prompt: M never stays, and simulates the given machine", this.simulates()];
    yield ["prompt: states and symbols are numbered", this.areNumbered()];
    yield ["prompt: every pair of a state and a symbol has one rule", this.isComplete()];
    yield ["prompt: every rule is the machine's", this.hasRules()];
  }

  *isRules() {
    yield this.lines.map((line) => line.whole).join("").length === this.text.length || "it is not exactly the rules of the machine";
    let end = 0;
    for (const line of this.lines) {
      yield line.at === end || `something before ${line.whole}`;
      end += line.whole.length;
      for (const number of line.numbers) yield !number.startsWith("0") || `${line.whole} has a leading zero`;
    }
  }

  *simulates() {
    const { given, moving, pauses } = this, { final } = given;
    const states = new Set([...given.states, ...pauses]);
    yield states.size === given.states.length + pauses.size || "states share names";
    yield sameSet(new Set(moving.states), states) || "the wrong states";
    yield (sameList(moving.symbols, given.symbols) && moving.blank === given.blank) || "the wrong symbols";
    yield moving.start === given.start || "the wrong start";
    yield sameSet(moving.accepting, given.accepting) || "the accepting states are wrong";
    // Rules that leave a final state never apply: the machine has halted there.
    const rules = moving.rules.filter(([q]) => !final.has(q));
    moving.delta = new Map(rules.map(([q, s, ...rule]) => [pair(q, s), rule]));
    yield* sameSteps(given, moving, pauses, final, (symbol) => symbol);
    for (const [q, s, , , move] of rules) yield move !== "S" || `δ(${q}, ${s}) stays`;
  }

  // The start is 1, the blank 0; the short form numbers no final states.
  *areNumbered() {
    const { moving, states } = this, { final } = this.given, named = new Set(states);
    yield named.size === states.length || "a state occurs twice";
    const shown = moving.states.filter((state) => this.isLong || !final.has(state) || state === moving.start);
    yield sameSet(named, new Set(shown)) || "the wrong states";
    yield states[0] === moving.start || "the start has the wrong number";
    const letters = [moving.blank, ...moving.symbols.filter((symbol) => symbol !== moving.blank)];
    yield sameList(this.symbols, letters) || "the wrong symbols";
    const counted = this.stateNumbers.every((n, k) => n === k + 1) && this.symbolNumbers.every((n, k) => n === k);
    yield counted || "the wrong numbers";
  }

  *isComplete() {
    const found = new Set(this.lines.map(({ state, symbol }) => `${state} ${symbol}`));
    for (let q = 0; q <= this.states.length; q += 1) {
      for (let a = 0; a < this.symbols.length; a += 1) yield found.has(`${q} ${a}`) || `no rule for (${q}, ${a})`;
    }
    yield this.lines.length === (this.states.length + 1) * this.symbols.length || "a pair occurs twice, or is unknown";
  }

  // Where a step ends that first goes to a state: a stay goes right into a pause and back.
  into(state) {
    const back = this.moving.delta.get(pair(state, this.moving.blank));
    return this.pauses.has(state) && back ? back[0] : state;
  }

  *hasRules() {
    const { final } = this.given, numberIn = (names, name) => needed([names.indexOf(name)].filter((n) => n >= 0), 0);
    for (const { whole, state: n, symbol: a } of this.lines) {
      const state = n === 0 ? null : needed(this.states, n - 1), symbol = needed(this.symbols, a);
      const rule = state !== null && this.moving.delta.get(pair(state, symbol));
      let wanted = "N";
      if (state === null) wanted = a === 0 ? "1C>" : "N"; // into the start, to the right
      else if (final.has(state)) wanted = "Y";
      else if (rule) {
        const [target, write, move] = rule;
        wanted = final.has(this.into(target)) && !this.isLong ? "Y"
          : `${binary(numberIn(this.states, target) + 1)}C${binary(numberIn(this.symbols, write))}${move === "R" ? ">" : "<"}`;
      }
      yield whole.slice(whole.indexOf("B") + 1) === wanted || `(${state ?? "the beginning"}, ${symbol}): ${whole}`;
    }
  }
}
