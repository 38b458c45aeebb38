// Blocks in words: a state by its name, a pointer by its token, an address as a number.

import { element, number, overTime, symbol } from "../format.js";
import { blocks, coordinates } from "../stream.js";

const only = (entries) => entries[0]?.[1] ?? "0";

// The numbers x and y of the code 2·code₁(x) + code₁(y), code₁(x) = Σ b_j 4^(−j) for x = Σ b_j 2^(j−1): its
// digits in base 4 are 2b + b'. Null if it is no such sum.
function coded(text) {
  const found = /^(\d+)(?:\/(\d+))?$/.exec(text);
  if (!found) return null;
  let top = BigInt(found[1]), x = 0, y = 0, bit = 1;
  const bottom = BigInt(found[2] ?? 1);
  for (; top > 0n && bit < 2 ** 40; bit *= 2) {
    top *= 4n;
    const digit = Number(top / bottom);
    if (digit > 3) return null;
    x += (digit >> 1) * bit;
    y += (digit & 1) * bit;
    top %= bottom;
  }
  return top ? null : [x, y];
}

export const symbols = ({ machine }) => [machine.blank, ...machine.symbols.filter((s) => s !== machine.blank)];

// The token of a pointer 1/t, as the text of the number; null for other numbers.
export const pointed = (text) => (text === "1" ? 1 : Number(/^1\/(\d+)$/.exec(text)?.[1]) || null);

// Each takes the numbers of a block, [label, text]; null means that it says nothing.
export const DECODE = {
  label: (entries, run) => (entries.length === 1 && entries[0][1] === "1" ? symbol(entries[0][0], run.machine.blank) : null),
  state: (entries, run, { first = 0 }) => (only(entries) === "1" ? "accepted" : run.machine.states[(coded(only(entries))?.[0] ?? -1) - first] ?? null),
  symbol: (entries, run) => { const name = symbols(run)[coded(only(entries))?.[1] ?? -1]; return name === undefined ? null : symbol(name, run.machine.blank); },
  pointer: (entries) => { const t = pointed(only(entries)); return t === null ? null : t === 1 ? "token 1 (NULL)" : `token ${number(t)}`; },
  number: (entries) => { const [x, y] = coded(only(entries)) ?? [1, 0]; return x ? null : number(y); },
  flag: (entries) => ({ 1: "1", 0: "0" })[only(entries)] ?? null,
  move: (entries) => ({ 1: "R", "-1": "L", 0: "L" })[only(entries)] ?? null,
  bits: (entries) => number(entries.reduce((sum, [label, text]) => sum + (text === "1" ? 2 ** Number(label.slice(1)) : 0), 0)),
};

export function drawDecoded(run, moment, figure) {
  const names = coordinates(run), has = (block) => run.layout.find(([name]) => name === block);
  const shown = moment.step === null && figure.reading || figure.rows; // a prompt is read in its own way
  const rows = shown.filter(([, vector]) => moment.vectors[vector]).map(([says, vector, items]) => {
    const found = blocks(moment.vectors[vector], names);
    const facts = items.map(([what, some, how]) => {
      const block = some.find((each) => found.has(each)) ?? some.find(has), entries = found.get(block) ?? [];
      const said = has(block) && DECODE[how](entries, run, figure);
      if (!said) return null;
      const raw = how === "label" || how === "bits" ? "" : overTime(only(entries), moment.t);
      return element("span", { class: "fact", title: `${block} of ${vector}: ${has(block)[2]}` }, element("small", {}, what), " ", element("b", {}, said), raw && raw !== said ? element("code", {}, raw) : null);
    });
    return element("div", { class: "says" }, element("span", { class: "quiet" }, says), ...facts);
  });
  const pointed = moment.text?.pointed ?? []; // the visits that the heads of a language model find
  if (pointed.length) rows.push(element("div", { class: "says" }, element("span", { class: "quiet" }, "it looks up"),
    ...pointed.map(([side, at]) => element("span", { class: "fact", title: "a token of the text, counted from 0" }, element("small", {}, side), " ", element("b", {}, `token ${number(at)}`)))));
  return element("div", {}, ...rows);
}
