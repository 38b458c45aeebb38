// The obligations of an RNN. A configuration is a vector that is affine in the two stacks, which are
// numbers X and Y in [0, τ]; so are the pre-activations, whose bounds hold for every content.

import { ONE, Rational, ZERO } from "./rational.js";
import { Refusal } from "./json.js";
import { Blocks, Machine, needed, readMaps, readVector, sameList, sameSet, unique } from "./reading.js";

// c + x X + y Y as [c, x, y].
const affine = (c = ZERO, x = ZERO, y = ZERO) => [c, x, y];
const ALWAYS_0 = affine(), ALWAYS_1 = affine(ONE), X = affine(ZERO, ONE), Y = affine(ZERO, ZERO, ONE);
const same = (a, b) => a.every((each, n) => each.equals(b[n]));
const PLAIN = { R: null, b1: null, b2: null, O: "identity", f1: "sigma", f2: "sigma" }; // what Theorem 2.3 fixes
const STACKS = { R: ["Rpop", "Lpush"], L: ["Rpush", "Lpop"], S: ["Rstay", "Lstay"] }; // right, left, by the last move

function extreme([c, x, y], ends, sign) { // the greatest value for sign 1, the least for −1
  const best = (factor, [low, high]) => factor.times(factor.sign === sign ? high : low);
  return c.plus(best(x, ends[0])).plus(best(y, ends[1]));
}

// A sum of products of matrices without biases.
export class Products {
  constructor(terms) {
    this.terms = terms;
  }

  static read(written, sizes, layout) {
    const terms = (written.get("terms") ?? [[written]]).map((term) => readMaps(term, sizes, layout));
    if (written.get("input") !== layout || written.get("output") !== layout) throw new Refusal("a matrix does not fit the vectors it is for");
    if (terms.some((term) => term.some((matrix) => matrix.bias.size))) throw new Refusal("a matrix has a bias");
    return new Products(terms);
  }

  image(x) {
    const total = new Map();
    for (const term of this.terms) {
      for (const [k, value] of term.reduce((found, matrix) => matrix.image(found), x)) {
        const sum = (total.get(k) ?? ZERO).plus(value);
        if (sum.sign) total.set(k, sum);
        else total.delete(k);
      }
    }
    return total;
  }
}

export function readEmbedding(written, size) {
  const found = unique(written.get("embedding"), "the embedding");
  return new Map([...found].map(([symbol, vector]) => [symbol, readVector(vector, size)]));
}

export function readRNN(written) {
  const network = written.get("network"), layouts = written.get("layouts").map((blocks) => new Blocks(blocks));
  const sizes = layouts.map((each) => each.names.length), layout = network.get("layout"), at = needed(layouts, layout);
  const matrices = Object.fromEntries([..."WVU"].map((letter) => [letter, Products.read(network.get(letter), sizes, layout)]));
  const isPlain = Object.entries(PLAIN).every(([name, value]) => network.get(name) === value);
  return new RNN(written, at, matrices, readEmbedding(written, at.names.length), isPlain);
}

export class RNN {
  constructor(written, at, matrices, embedding, isPlain) {
    Object.assign(this, { at, matrices, embedding, isPlain, machine: new Machine(written.get("given")) });
    const neurons = written.get("neurons");
    this.base = Rational.parse(neurons.get("base"));
    this.digits = unique(neurons.get("digits"), "digits");
    const tops = neurons.get("tops").map(([label, [q, move, a]]) => [`${move} ${a} ${q}`, label]);
    this.tops = unique(tops, "neurons P");
    this.final = new Set(written.get("final_states"));
    this.k = this.machine.symbols.length;
    this.hasBase = this.base.compare(Rational.of(this.k)) > 0;
    if (!this.hasBase) return;
    this.inverse = this.base.inverse;
    this.whole = [ZERO, Rational.of(this.k - 1).times(this.base.minus(ONE).inverse)]; // [0, τ]
    this.stacks = [this.whole, this.whole];
  }

  *obligations() {
    yield ["neurons: one for each part of a configuration", this.hasNeurons()];
    if (!this.hasBase) return;
    yield ["encoder: the first token", this.readsFirst()];
    yield ["encoder: every other token", this.readsNext()];
    yield ["start: the decoder takes over what the encoder leaves", this.starts()];
    yield ["step: every state, symbol and last move, all stacks", this.steps()];
    yield ["end: a halted machine stays halted", this.ends()];
  }

  top(q, move, a) {
    return needed(this.tops, `${move} ${a} ${q}`);
  }

  *hasNeurons() {
    const { machine, at, digits, k } = this, symbols = new Set(machine.symbols);
    yield sameSet(new Set(this.embedding.keys()), symbols) || "the embedding has the wrong symbols";
    yield this.isPlain || "there are biases, an R, a different O or a different activation";
    yield this.hasBase || `base ${this.base} is not above ${k}`;
    const values = [...digits.values()].sort((a, b) => a - b);
    yield sameList(values, machine.symbols.map((_, n) => n)) || "digits are not 0 to k − 1";
    yield sameSet(new Set(digits.keys()), symbols) || "the digits are of the wrong symbols";
    yield digits.get(machine.blank) === 0 || "the blank's digit is not 0";
    yield sameList([...needed(at.places, "S").keys()], machine.states) || "S has the wrong states";
    yield sameSet(this.final, machine.final) || "the final set is wrong";
    const labels = [...this.tops.values()].sort(), there = [...needed(at.places, "P").keys()].sort();
    yield sameList(labels, there) || "P has the wrong neurons";
    for (const [q, move] of this.pairs) {
      for (let a = 1; a < k; a += 1) yield this.tops.has(`${move} ${a} ${q}`) || `no neuron P for ${q}, ${move}, ${a}`;
    }
  }

  // States with a move that may have led to them.
  get pairs() {
    const { machine } = this;
    const led = machine.rules.filter(([q]) => !machine.accepting.has(q)).map(([, , p, , move]) => [p, move]);
    return [...new Map([[machine.start, "R"], ...led].map(([q, move]) => [move + q, [q, move]])).values()];
  }

  // u, S and P of a configuration.
  inState(q, move, digit) {
    const found = new Map([[this.at.one("u"), ALWAYS_1], [this.at.one("S", q), ALWAYS_1]]);
    for (let a = 1; a <= digit; a += 1) found.set(this.at.one("P", this.top(q, move, a)), ALWAYS_1);
    return found;
  }

  withStacks(found, move, right, left) {
    const [R, L] = STACKS[move].map((block) => this.at.one(block));
    return found.set(R, right).set(L, left);
  }

  // A stack with a digit on it.
  pushed(digit, stack) {
    const [, x, y] = stack.map((each) => each.times(this.inverse));
    return affine(Rational.of(digit).times(this.inverse), x, y);
  }

  configuration(q, move, digit) {
    const right = move === "R" ? this.pushed(digit, X) : X, left = move === "L" ? this.pushed(digit, Y) : Y;
    return this.withStacks(this.inState(q, move, digit), move, right, left);
  }

  through(letter, vector) {
    const images = [0, 1, 2].map((part) => {
      const numbers = [...vector].map(([k, value]) => [k, value[part]]).filter(([, x]) => x.sign);
      return this.matrices[letter].image(new Map(numbers));
    });
    const places = new Set(images.flatMap((image) => [...image.keys()]));
    return new Map([...places].map((k) => [k, images.map((image) => image.get(k) ?? ZERO)]));
  }

  // σ of `found` is `wanted` for all X and Y between `ends`: 0, 1, or a part of a stack as it is.
  *compare(found, wanted, ends, where) {
    for (const k of new Set([...found.keys(), ...wanted.keys()])) {
      const have = found.get(k) ?? ALWAYS_0, want = wanted.get(k) ?? ALWAYS_0, name = `${this.at.names[k]} after ${where}`;
      if (same(want, ALWAYS_0)) yield extreme(have, ends, 1).sign <= 0 || `${name} is not always 0`;
      else if (same(want, ALWAYS_1)) yield extreme(have, ends, -1).compare(ONE) >= 0 || `${name} is not always 1`;
      else {
        yield same(have, want) || `${name} is not what it must be`;
        yield (extreme(want, ends, -1).sign >= 0 && extreme(want, ends, 1).compare(ONE) <= 0) || `${name} leaves [0, 1]`;
      }
    }
  }

  // What the encoder has read: X is the scale B^(−i), Y the digits before the last.
  read(first, last) {
    const found = this.inState(this.machine.start, "R", first).set(this.at.one("sc"), X).set(this.at.one("Rpop"), Y);
    return last ? found.set(this.at.one("e", `${last}`), X) : found;
  }

  token(symbol) {
    return new Map([...needed(this.embedding, symbol)].map(([k, x]) => [k, affine(x)]));
  }

  *readsFirst() {
    for (const symbol of this.machine.symbols) {
      const found = this.through("W", this.token(symbol)), digit = needed(this.digits, symbol);
      const numbers = [...this.read(digit, digit)].map(([k, [c, x]]) => [k, affine(c.plus(x.times(this.inverse)))]);
      const wanted = new Map(numbers.filter(([, [c]]) => c.sign));
      yield* this.compare(found, wanted, this.stacks, `first token ${symbol}`);
    }
  }

  *readsNext() {
    const digits = this.machine.symbols.map((_, n) => n), place = this.at.one("Rpop");
    const before = digits.map((first) => digits.map((last) => this.through("V", this.read(first, last))));
    for (const symbol of this.machine.symbols) {
      const added = this.through("W", this.token(symbol));
      for (const first of digits) {
        for (const last of digits) {
          const found = new Map(before[first][last]), where = `token ${symbol}, first digit ${first}, last ${last}`;
          for (const [k, more] of added) found.set(k, (found.get(k) ?? ALWAYS_0).map((x, n) => x.plus(more[n])));
          const read = [...this.read(first, needed(this.digits, symbol))];
          const wanted = new Map(read.map(([k, [c, x, y]]) => [k, affine(c, x.times(this.inverse), y)]));
          // The last digit joins the others: the sum is at most τ < 1, so σ leaves it.
          const sum = affine(ZERO, Rational.of(last), ONE);
          yield same(found.get(place) ?? ALWAYS_0, sum) || `Rpop after ${where}`;
          found.delete(place);
          wanted.delete(place);
          yield* this.compare(found, wanted, [[ZERO, this.inverse], this.whole], where);
        }
      }
    }
  }

  *starts() {
    const rest = this.matrices.U.image(new Map([[this.at.one("sc"), ONE]]));
    yield rest.size === 0 || `the scale reaches ${this.at.show(rest)}`;
  }

  *steps() {
    for (const [q, last] of this.pairs) {
      for (const s of this.machine.symbols) {
        const found = this.through("U", this.configuration(q, last, needed(this.digits, s)));
        const where = `(${q}, ${s}) that came by ${last}`, rule = this.machine.rule(q, s);
        if (!rule) yield* this.compare(found, this.halted(q), this.stacks, where);
        else yield* this.step(found, rule, where);
      }
    }
  }

  *step(found, [target, write, move], where) {
    const digit = needed(this.digits, write);
    const right = move === "L" ? this.pushed(digit, X) : X, left = move === "R" ? this.pushed(digit, Y) : Y;
    const after = this.withStacks(this.inState(target, move, move === "S" ? digit : 0), move, right, left);
    const tops = new Map();
    for (let a = 1; a < this.k; a += 1) tops.set(this.at.one("P", this.top(target, move, a)), a);
    const others = move === "S" ? found : new Map([...found].filter(([k]) => !tops.has(k)));
    yield* this.compare(others, after, this.stacks, where);
    if (move === "S") return;
    // The neurons P of the new symbol depend on the top of the stack that is popped.
    const shown = new Map([...tops.keys()].map((k) => [k, found.get(k) ?? ALWAYS_0]));
    for (let t = 0; t < this.k; t += 1) {
      const low = Rational.of(t), part = [low, low.plus(this.whole[1])].map((x) => x.times(this.inverse));
      const wanted = new Map([...tops].filter(([, a]) => t >= a).map(([k]) => [k, ALWAYS_1]));
      yield* this.compare(shown, wanted, move === "R" ? [part, this.whole] : [this.whole, part], `${where}, top ${t}`);
    }
  }

  // u alone; a start state that is final stays, as y_0 is never looked at.
  halted(q) {
    const found = new Map([[this.at.one("u"), ALWAYS_1]]);
    return q === this.machine.start && this.final.has(q) ? found.set(this.at.one("S", q), ALWAYS_1) : found;
  }

  *ends() {
    for (const q of [null, this.machine.start]) {
      yield* this.compare(this.through("U", this.halted(q)), this.halted(q), this.stacks, "the end");
    }
  }
}
