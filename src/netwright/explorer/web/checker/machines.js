// Cases which show that a machine simulates the given one. A case is true, or says what is wrong.

import { Machine, pair, readMachine, sameList, sameSet } from "./reading.js";

export const NORMAL_FORM = "normal form: M simulates the given machine";

export function readNormal(written) {
  const normal = written.get("normal");
  return {
    given: new Machine(written.get("given")),
    normal: readMachine(normal.get("machine"), written),
    names: ["q_init", "q_read", "q_rewind"].map((name) => normal.get(name)),
    pauses: new Set(normal.get("pauses")),
  };
}

// M reads the input, goes back and is as the given machine G at its beginning; then it does G's steps.
export function* normalForm({ given, normal, names, pauses }, final, stays = false) {
  const [init, read, rewind] = names, sharp = normal.blank, own = [...names, ...pauses];
  const states = new Set([...given.states, ...own]);
  yield states.size === given.states.length + own.length || "states share names";
  yield sameSet(new Set(normal.states), states) || "its states are not its own and the given machine's";
  yield sameSet(new Set(normal.symbols), new Set([...given.symbols, sharp])) || "the wrong symbols";
  yield sharp === given.blank || !given.symbols.includes(sharp) || "# is a symbol of the input";
  yield normal.start === init || "it begins in the wrong state";
  yield sameSet(normal.accepting, given.final) || "it accepts in the wrong states";
  const does = (state, symbol, ...rule) => sameList(normal.delta.get(pair(state, symbol)) ?? [], rule);
  yield does(init, sharp, read, sharp, "R") || "q_init";
  yield does(read, sharp, rewind, sharp, "L") || "q_read on #";
  yield does(rewind, sharp, given.start, sharp, "R") || "q_rewind on #";
  for (const symbol of normal.symbols) {
    if (symbol === sharp) continue;
    yield does(read, symbol, read, symbol, "R") || `q_read on ${symbol}`;
    yield does(rewind, symbol, rewind, symbol, "L") || `q_rewind on ${symbol}`;
    yield !normal.delta.has(pair(init, symbol)) || `q_init on ${symbol}`;
  }
  yield* sameSteps(given, normal, pauses, final, (symbol) => (symbol === sharp ? given.blank : symbol), stays);
}

// In every state of G both do the same, up to γ; a stay may be a move right into a pause and back.
export function* sameSteps(given, other, pauses, final, gamma, stays = false) {
  const { delta } = other;
  for (const state of given.states) {
    for (const symbol of other.symbols) {
      const wanted = given.rule(state, gamma(symbol)), rule = delta.get(pair(state, symbol));
      const at = `δ(${state}, ${symbol})`;
      if (final.has(state)) {
        yield rule === undefined || `${at} leaves a final state`;
        yield wanted === undefined || `${at}: the given machine continues in a final state`;
      } else if (!wanted || !rule) {
        yield wanted === rule || `${at} is not the given machine's`;
      } else {
        const [target, write, move] = wanted;
        yield gamma(rule[1]) === write || `${at} writes ${rule[1]}`;
        if (move === "S" && !stays) {
          yield (pauses.has(rule[0]) && rule[2] === "R") || `${at} is not a stay`;
          for (const there of other.symbols) {
            const back = delta.get(pair(rule[0], there));
            const right = back && back[0] === target && back[2] === "L" && gamma(back[1]) === gamma(there);
            yield right || `δ(${rule[0]}, ${there}) does not go back`;
          }
        } else yield (rule[0] === target && rule[2] === move) || `${at} is ${rule.join(" ")}`;
      }
    }
  }
}
