// Any machine as the prompt of the universal network: its normal form, and a token for each symbol
// and rule, as machine/normal_form.py and kind/universal_transformer/construction.py make them.
//
// A machine has states, symbols, blank, start, rules [state, symbol, next, write, move], accepting.

import { plus, ratio, times } from "./rational.js";
import { blockPlaces } from "./vectors.js";

const NO_RULE = ratio(5); // kap of a symbol of the input

const fresh = (wanted, taken) => {
  while (taken.has(wanted)) wanted += "'";
  taken.add(wanted);
  return wanted;
};

// A stay becomes a step to the right into a new state, and one back.
function removeStays(machine) {
  const names = new Set(machine.states), back = new Map(), rules = [];
  for (const [state, symbol, next, write, move] of machine.rules) {
    if (machine.accepting.includes(state)) continue;
    if (move === "S" && !back.has(next)) back.set(next, fresh(`${next}'`, names));
    rules.push(move === "S" ? [state, symbol, back.get(next), write, "R"] : [state, symbol, next, write, move]);
  }
  for (const [target, state] of back)
    for (const symbol of machine.symbols) rules.push([state, symbol, target, symbol, "L"]);
  return { ...machine, states: [...machine.states, ...back.values()], rules, pauses: [...back.values()] };
}

// The machine that starts left of its input, walks over it and back, and only then works.
export function normalize(given, blanks = false) {
  const moving = removeStays(given), taken = new Set(moving.states);
  const [init, read, rewind] = ["q_init", "q_read", "q_rewind"].map((name) => fresh(name, new Set(taken)));
  const leaving = new Set(given.rules.map(([state]) => state).filter((state) => !given.accepting.includes(state)));
  const accepting = given.accepting.length ? given.accepting : given.states.filter((state) => !leaving.has(state));
  let { symbols, blank } = moving;
  let rules = moving.rules.filter(([state]) => !accepting.includes(state));
  if (blanks) {
    const sharp = fresh("#", new Set(symbols));
    rules = [...rules, ...rules.filter(([, symbol]) => symbol === blank).map(([state, , ...rest]) => [state, sharp, ...rest])];
    symbols = [...symbols, sharp];
    blank = sharp;
  }
  rules = [...rules, [init, blank, read, blank, "R"], [read, blank, rewind, blank, "L"], [rewind, blank, moving.start, blank, "R"]];
  for (const symbol of symbols)
    if (symbol !== blank) rules.push([read, symbol, read, symbol, "R"], [rewind, symbol, rewind, symbol, "L"]);
  return {
    states: [init, read, rewind, ...moving.states], symbols, blank, start: init, rules, accepting: [...accepting].sort(),
    counts: (state) => given.states.includes(state), // steps of the given machine are counted
  };
}

// code₁(x) = Σ b_j 4^(−j) for x = Σ b_j 2^(j−1).
export function code(number) {
  const bits = [...number.toString(2)].reverse();
  const top = bits.reduce((total, bit) => 4n * total + BigInt(bit), 0n);
  return ratio(top, 4n ** BigInt(bits.length));
}

// The network JSON of the universal network (of any machine) with another machine as its prompt.
export function withMachine(universal, given, blanks = false) {
  const machine = normalize(given, blanks), { written, options } = universal;
  const places = blockPlaces(written.layouts[written.network.layout]);
  const two = ratio(2), states = new Map(machine.states.map((name, n) => [name, n]));
  const symbols = new Map([machine.blank, ...machine.symbols.filter((s) => s !== machine.blank)].map((name, n) => [name, n]));
  const token = (kap, parts) => {
    const own = options.attention === "dot-product" ? { r: times(kap, kap) } : { one_: ratio(1) };
    return Object.entries({ on: kap, ...own, ...parts }).filter(([, x]) => x.n !== 0)
      .map(([block, x]) => [places.get(block)[0], `${x}`]).sort(([a], [b]) => a - b);
  };
  const actions = new Map(machine.rules.map(([state, symbol, ...rest]) => [`${state}\n${symbol}`, rest]));
  const rule = (state, symbol) => {
    const kap = plus(times(two, code(states.get(state))), code(symbols.get(symbol)));
    if (machine.accepting.includes(state)) return token(kap, { r2: ratio(1), w2: code(symbols.get(symbol)), m2: ratio(1) });
    const action = actions.get(`${state}\n${symbol}`);
    if (!action) return token(kap, { m2: ratio(1) });
    const [next, write, move] = action;
    return token(kap, { r2: times(two, code(states.get(next))), w2: code(symbols.get(write)), m2: ratio(move === "R" ? 1 : -1), on2: ratio(1) });
  };
  return {
    ...universal,
    machine: given,
    options: { ...options, blanks },
    normal: machine,
    written: {
      ...written,
      symbols: [...symbols.keys()].slice(1).map((name) => [name, token(NO_RULE, { al: code(symbols.get(name)) })]),
      rules: [...states.keys()].flatMap((state) => [...symbols.keys()].map((symbol) => [state, symbol, rule(state, symbol)])),
    },
  };
}
