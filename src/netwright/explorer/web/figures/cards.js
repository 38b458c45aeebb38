// The prompt as cards, a rule each; the one that the network attends to is lit.

import { clip, element, number, symbol } from "../format.js";
import { blocks, coordinates } from "../stream.js";
import { DECODE, symbols } from "./decoded.js";

const MOST = 80;

// Cards are [what is read, what is done, the token that has it]. A prompt of rules has all pairs of states and
// symbols after the input; its other symbols are the input's.
function ofRules(run) {
  const actions = new Map(run.machine.rules.map(([q, s, next, write, move]) => [`${q}\n${s}`, [next, write, move]]));
  let token = run.input.length;
  return run.machine.states.flatMap((q) => symbols(run).map((s) => {
    const action = run.machine.accepting.includes(q) ? ["accepted"] : actions.get(`${q}\n${s}`) ?? ["no rule"];
    return [[q, s], action, (token += 1)];
  }));
}

// A prompt that is a word: a rule ends with < or >, which is its move, or with Y or N, accepted or not. Its
// state, symbol, next state and symbol to write are numbers in base 2, before A, B, C and the end.
function ofText(run) {
  const name = (digits) => (digits ? parseInt(digits, 2) : 0), names = symbols(run);
  const state = (digits) => (digits ? run.machine.states[name(digits) - 1] : "(start)");
  const text = [...run.reads.symbols].join(""), cards = [];
  for (const { 0: all, 1: q, 2: s, 3: next, 4: write, 5: end, index } of text.matchAll(/([01]*)A([01]*)B(?:([01]*)C([01]*))?([<>YN])/g)) {
    const action = { Y: ["accepted"], N: ["no rule"] }[end] ?? [state(next), names[name(write)], end === ">" ? "R" : "L"];
    cards.push([[state(q), names[name(s)]], action, index + all.length, all]);
  }
  return cards;
}

// The card of the token that is attended to. Which one that is takes a look at all tokens where keys are not
// alone of the prompt: then it is the card of state and symbol, if what was found there is its rule.
function chosen(run, moment, figure, cards) {
  if (figure.attention) return cards.findIndex(([, , token]) => token === moment.attended?.[figure.attention]?.winner);
  const { rule } = moment, found = blocks(moment.vectors[figure.vector], coordinates(run));
  const next = DECODE.state(found.get(figure.next) ?? [], run, figure), write = DECODE.symbol(found.get(figure.write) ?? [], run);
  return cards.findIndex(([[q, s], does]) => q === rule?.state && s === rule.symbol && (does.length < 3 || does[0] === next && symbol(does[1], run.machine.blank) === write));
}

const CARDS = { rules: ofRules, text: ofText };
let known = {}; // the cards of the last run

export function drawCards(run, moment, figure) {
  if (known.run !== run) known = { run, cards: CARDS[figure.codes](run) };
  const { winner } = moment.attended?.[figure.attention] ?? {}, { cards } = known, { blank } = run.machine;
  const at = chosen(run, moment, figure, cards), first = Math.max(0, Math.min(cards.length - MOST, at - MOST / 2));
  const show = (names) => names.map((name) => clip(symbol(name, blank), 12)).join(" ");
  const reads = moment.step === null, isRead = (token, code) => reads && code && moment.t <= token && moment.t > token - code.length;
  const shown = cards.slice(first, first + MOST).map(([read, done, token, code], n) => element("li", {
    class: first + n === at ? "card lit" : isRead(token, code) ? "card read" : "card", title: `token ${number(token)} of the prompt: ${read.join(", ")} → ${done.join(", ")}${code ? `, written ${code}` : ""}`,
  }, show(read), element("br"), `→ ${show(done)}`, ...(code ? [element("br"), element("small", {}, code)] : [])));
  const said = reads ? "The network reads its prompt, one symbol a token." : at >= 0 ? "" : !winner ? "It follows no rule." : `It attends to token ${number(winner)}${run.reads.input && winner <= run.input.length ? `, symbol ${number(winner)} of the input` : ""}.`;
  const more = cards.length > MOST ? `Rules ${number(first + 1)} to ${number(first + shown.length)} of ${number(cards.length)}. ` : "";
  return element("div", {}, element("ul", { class: "prompt" }, ...shown), element("p", { class: "quiet" }, more + said));
}
