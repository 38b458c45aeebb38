// A moment of a network for the page, as explorer/moments.py makes it from Python's.

import { ONE, absolute, approximate, compare, minus, over, parse, plus, ratio, sign, times } from "./rational.js";
import { blockPlaces } from "./vectors.js";
import { openNetwork } from "./network.js";
import { code } from "./prompt.js";
import { ProofValues } from "./proof.js";
import { Timeline } from "./timeline.js";

const LONGEST = 80, MOST_VECTORS = 12, MOST_DIGITS = 30;
// How the machine's state and symbol are read off the vectors, by the reader that the kind names.
const READERS = { shown: "shownRule", coded: "codedRule", stacks: "stackRule" };

function text(x) {
  const found = x === null ? null : `${x}`;
  return found === null || found.length <= LONGEST ? found : `≈ ${fiveDigits(x)}`;
}

// A number with five digits, as Python's :.5g has it.
function fiveDigits(x) {
  const sign = x.n < 0 ? "-" : "", top = BigInt(x.n < 0 ? -x.n : x.n), bottom = BigInt(x.d);
  let exponent = `${top}`.length - `${bottom}`.length, digits;
  for (;;) { // of x·10^(4 − exponent), rounded: five, or four if the exponent was one too large
    const [by, under] = exponent <= 4 ? [10n ** BigInt(4 - exponent), 1n] : [1n, 10n ** BigInt(exponent - 4)];
    digits = `${(2n * top * by + bottom * under) / (2n * bottom * under)}`;
    if (digits.length === 5) break;
    exponent += digits.length - 5;
  }
  const short = digits.replace(/0+$/, ""), point = (text, at) => (text.length > at ? `${text.slice(0, at)}.${text.slice(at)}` : text.padEnd(at, "0"));
  if (exponent < -4 || exponent > 4) return `${sign}${point(short, 1)}e${exponent < 0 ? "-" : "+"}${`${Math.abs(exponent)}`.padStart(2, "0")}`;
  return exponent < 0 ? `${sign}0.${"0".repeat(-1 - exponent)}${short}` : `${sign}${point(short, exponent + 1)}`;
}

export class Moments {
  // `data` is network JSON, `machine` the normal form that is simulated; `proved` is the network of
  // which the values are those of the proof, if `data` was changed.
  constructor(data, word, machine, last, proved = data) {
    this.network = openNetwork(data, word);
    this.view = data.view;
    this.word = word;
    this.machine = machine;
    this.places = blockPlaces(data.written.layouts[data.written.network.layout]);
    this.labels = new Map(data.blocks.map(([block, labels]) => [block, labels]));
    if (data.proof.claims) this.proof = new ProofValues(proved, word, new Timeline(machine, word, -1, last));
    this.read = READERS[data.reader];
    this.asked = this.view.figures.filter((figure) => "attention" in figure).map((figure) => figure.attention);
    this.base = parse(data.options.base ?? `${machine.symbols.length + 1}`);
    this.blocks = data.blocks.flatMap(([block, labels]) => labels.map(() => block)); // of every coordinate
    // As Python's watch: 5 on + r is 5 + code₂ of a running state.
    const { prompt } = data.written, states = prompt ? [null, ...prompt.states.map(([name]) => name)] : machine.states; // it reads in state 0
    this.states = new Map(states.map((name, n) => [`${plus(ratio(5), times(ratio(2), code(n)))}`, name]));
    const symbols = [machine.blank, ...machine.symbols.filter((symbol) => symbol !== machine.blank)];
    this.symbols = new Map(symbols.map((name, n) => [`${code(n)}`, name]));
    this.actions = new Map(machine.rules.map(([state, symbol, next, write, move]) => [`${state}\n${symbol}`, { write, move, next }]));
  }

  // What is shown at time t; null if `stopped` said so.
  async at(t, progress, stopped) {
    const before = await this.network.run.seek(t - 1, progress, stopped);
    if (before === null) return null;
    return this.shown(t, this.network.explain(before, t));
  }

  // What is shown of the vectors and the attention at time t.
  shown(t, { vectors, attention }) {
    const drawn = attention[this.view.drawn];
    return {
      t,
      vectors: this.vectors(vectors),
      rule: this.ruleOf(vectors, t),
      ...(drawn ? { attention: this.attention(drawn, vectors) } : {}),
      ...(this.asked.length ? { attended: this.attended(attention) } : {}),
      ...(this.view.gates.length ? { gates: this.gates(vectors) } : {}),
      lemmas: this.proof?.claims(t, vectors, attention) ?? [],
    };
  }

  // The rule that the vectors of a moment show; null if they show no configuration.
  ruleOf(vectors, t) {
    if (!this.read) return null;
    if (this.read === "shownRule") {
      const found = this.shownRule(vectors.get("decoder.1.input"), vectors.get("decoder.1.z"));
      return found && this.machine.states.includes(found.state) ? found : null; // others read a prompt
    }
    const [state, symbol] = this[this.read](vectors, t) ?? [];
    if (symbol === undefined || !this.machine.states.includes(state)) return null;
    const action = this.machine.accepting.includes(state) ? undefined : this.actions.get(`${state}\n${symbol}`);
    return { state, symbol, ...(action ?? { write: null, move: null, next: null }) };
  }

  // The vectors in order, each as its changes since the one before; in full if no parts are named.
  vectors(all) {
    const { parts, vectors: shown } = this.view;
    const every = [...all.keys()].filter((name) => !shown.length || shown.includes(name.split(".")[0]));
    const names = parts.length ? parts.map((part) => part.vector) : every.slice(0, MOST_VECTORS);
    let before = new Map();
    return names.map((name) => {
      const { places, numbers } = all.get(name);
      const now = new Map(places.map((place, at) => [place, text(numbers[at])]));
      const seen = parts.length ? new Set([...now.keys(), ...before.keys()]) : new Set(now.keys());
      const changed = [...seen].filter((place) => !parts.length || now.get(place) !== before.get(place)).sort((a, b) => a - b);
      before = now;
      const isStack = (place) => this.view.stacks.includes(this.blocks[place].split(" ").at(-1));
      const digits = this.view.stacks.length ? { digits: Object.fromEntries(changed.filter(isStack).map((place) => [place, this.digits(all.get(name).get(place))])) } : {};
      return { name, entries: changed.map((place) => [place, now.get(place) ?? "0"]), ...digits };
    });
  }

  // The first digits of a stack, as StackLook.digits in Python.
  digits(x) {
    const found = [];
    while (sign(x) > 0 && compare(x, ONE) < 0 && found.length < MOST_DIGITS) {
      x = times(x, this.base);
      const digit = Number(BigInt(x.n) / BigInt(x.d));
      found.push(digit);
      x = minus(x, ratio(digit));
    }
    return found;
  }

  // The winner, and the number of winners, of each attention that a figure shows.
  attended(attention) {
    const names = this.asked.includes("") ? Object.keys(attention) : this.asked.filter((name) => name in attention);
    return Object.fromEntries(names.map((name) => { const { winners } = attention[name]; return [name, { winner: winners.length === 1 ? winners[0] : null, winners: winners.length }]; }));
  }

  // The blocks in which a gate is 1 throughout, and its other numbers by name.
  gates(vectors) {
    return Object.fromEntries([...vectors].filter(([name]) => this.view.gates.includes(name.split(".")[0])).map(([name, vector]) => {
      const ones = [...this.places].filter(([, places]) => places.every((place) => `${vector.get(place)}` === "1")).map(([block]) => block);
      const rest = vector.places.map((place, at) => [place, text(vector.numbers[at])]).filter(([place]) => !ones.includes(this.blocks[place])).sort(([a], [b]) => a - b);
      return [name, { ones, rest: rest.map(([place, number]) => [this.label(place), number]) }];
    }));
  }

  label(place) {
    const block = this.blocks[place], label = this.labels.get(block)[place - this.places.get(block)[0]];
    return label ? `${block}[${label}]` : block;
  }

  // The state and the symbol whose codes are in y_{t−1}.
  codedRule(vectors) {
    const y = vectors.get("decoder.1.input"), number = (block) => y.get(this.places.get(block)[0]);
    if (!this.places.has("r")) { // 16 coordinates have the sum of both: code₂ + code₁
      this.pairs ??= new Map([...this.symbols.values()].flatMap((symbol, n) => [...this.states.values()].map((state, q) => [`${plus(times(ratio(2), code(q)), code(n))}`, [state, symbol]])));
      return this.pairs.get(`${number("x")}`);
    }
    return [this.states.get(`${plus(number("r"), times(ratio(5), number("on")))}`), this.symbols.get(`${number("s")}`)];
  }

  // The state of neurons S, and the symbol whose digit is the number of neurons P that are 1. In a
  // Neural GPU they are in block E of the last token's cell when it was read, then in D of the last.
  stackRule(vectors, t) {
    const cells = [...vectors.keys()].filter((name) => name.startsWith("cell.")).length, tokens = this.word.length + 1;
    const [g, block] = cells && this.places.has("S") ? [vectors.get("cell"), ""] : cells ? (t === tokens ? [vectors.get(`cell.${tokens}`), "E "] : t > tokens ? [vectors.get("cell"), "D "] : []) : [vectors.get("g"), ""];
    if (!g) return null;
    const ones = (name) => (this.places.get(block + name) ?? []).map((place, n) => [n, `${g.get(place)}`]).filter(([, text]) => text !== "0");
    const states = ones("S"), digit = ones("P");
    if (states.length !== 1 || [...states, ...digit].some(([, text]) => text !== "1")) return null;
    return [this.labels.get(`${block}S`)[states[0][0]], [...this.symbols.values()][digit.length]];
  }

  // State and symbol of y_{t−1}, and the rule that layer 1 put into z¹.
  shownRule(y, z) {
    const label = (vector, ...blocks) => {
      const block = blocks.find((each) => this.places.has(each)), places = this.places.get(block);
      const found = vector.places.filter((place) => places.includes(place));
      return found.length === 1 && `${vector.get(found[0])}` === "1" ? this.labels.get(block)[places.indexOf(found[0])] : null;
    };
    const state = label(y, "q1"), symbol = label(y, "s1");
    if (state === null || symbol === null) return null;
    const number = (block) => `${z.get(this.places.get(block)[0])}`;
    const moves = this.places.has("mR") ? ["L", "R", "S"].filter((move) => this.places.has(`m${move}`) && number(`m${move}`) === "1")
      : [{ 1: "R", "-1": "L" }[number(this.places.has("m") ? "m" : "x2")]].filter(Boolean);
    return { state, symbol, write: label(z, "w", "s2"), move: moves.length === 1 ? moves[0] : null, next: label(z, "q2") };
  }

  attention({ winners, score, second, margin }, vectors) {
    const found = { winner: winners.length === 1 ? winners[0] : null, winners: winners.length, score: text(score), second, margin: text(margin) };
    if (!margin || margin.n === 0) return found;
    // The summands of ⟨q, k⟩ cancel; the margin is this many bits below the largest of them.
    const q = vectors.get(`${this.view.drawn}.q`), k = vectors.get(`${this.view.drawn}.k`);
    const sizes = q.places.map((place, at) => approximate(over(absolute(times(q.numbers[at], k.get(place))), margin)));
    const largest = Math.max(0, ...sizes);
    return { ...found, second_score: text(minus(score, margin)), bits: largest ? Math.max(1, Math.ceil(Math.log2(largest))) : 1 };
  }
}
