// The tape around the head, one sentence on what happens there, and the text of a language model.

import { clip, element, number, steps, symbol } from "./format.js";

const WIDEST = 110; // pixels of a cell, however long the names of symbols are

export function drawTape(place, run, moment) {
  place.replaceChildren();
  const tape = moment.tape;
  if (!tape) return;
  const blank = run.machine.blank, reading = moment.t < run.lead;
  // Large token numbers do not fit below a cell: show how many tokens ago instead.
  const below = tape.visits.map((v) => (v === null ? "" : number(moment.t < 10000 ? v : v - moment.t)));
  const around = below.slice(tape.cells.length / 4, (3 * tape.cells.length) / 4);
  const widest = Math.max(34, ...tape.cells.map((s) => 11 * s.length + 12), ...around.map((s) => 6.2 * s.length + 12));
  const cell = Math.min(WIDEST, widest);
  place.style.setProperty("--cell", `${cell}px`);
  const ago = moment.t >= 10000;
  place.dataset.below = !tape.visits.length ? "" : reading ? "read at" : run.view.drawn ? (ago ? `${run.view.moment}s ago` : `last ${run.view.moment} there`) : ago ? "moments ago" : "last visit";
  const side = Math.min((tape.cells.length - 1) / 2, Math.ceil(place.clientWidth / cell / 2));
  for (let c = moment.head - side; c <= moment.head + side; c++) {
    const n = c - tape.first, visited = tape.visits[n];
    const kind = c === moment.head ? "cell head" : c === moment.next ? "cell next" : "cell";
    const text = element("b", tape.cells[n] === blank ? { class: "blank" } : {}, symbol(tape.cells[n], blank));
    const when = visited === null ? ": never visited" : visited ? `: last visited at ${number(visited)}` : "";
    const title = `cell ${number(c)}${widest > WIDEST ? `, ${tape.cells[n]}` : ""}${when}`;
    place.append(element("span", { class: kind, title }, text, element("small", {}, below[n])));
  }
  place.setAttribute("aria-label", inWords(tape, moment, blank, side, reading));
}

// The cells as a sentence: runs of equal symbols, and where the head is.
function inWords(tape, moment, blank, side, reading) {
  const runs = [];
  for (let c = moment.head - side; c <= moment.head + side; c++) {
    const name = tape.cells[c - tape.first], word = name === blank ? "blank" : name || "nothing";
    const last = runs.at(-1);
    if (c === moment.head) runs.push({ head: true, word: `${reading ? "read now" : "head"} on ${word}`, count: 1 });
    else if (last && !last.head && last.word === word) last.count += 1;
    else runs.push({ word, count: 1 });
  }
  const cells = runs.map(({ word, count }) => (count > 1 ? `${count} times ${word}` : word)).join(", ");
  return `${reading ? "What is read" : "The tape"}, cells ${number(moment.head - side)} to ${number(moment.head + side)}: ${cells}; the head is at ${number(moment.head)}${moment.next === null ? "" : `, next at ${number(moment.next)}`}`;
}

const bold = (text) => element("b", text.length > 24 ? { title: text } : {}, clip(text));

export function say(place, run, moment) {
  const words = [], blank = run.machine.blank, rule = moment.rule;
  const show = (s) => bold(symbol(s, blank));
  if (moment.lost) words.push(`Here the vectors do not show a machine: ${moment.lost}.`);
  else if (moment.t < run.lead) {
    const { symbols } = run.reads, read = symbols[moment.t - 1];
    words.push(`The network reads ${run.view.reads}: `, ...(read === undefined ? ["it has come to its end"] : [`symbol ${number(moment.t)} of ${number(symbols.length)} is `, show(read)]), ".");
  } else if (!rule) words.push("Here the vectors do not show a configuration of the machine.");
  else {
    if (!run.machine.given[run.machine.states.indexOf(rule.state)]) words.push("Before the machine begins: in ");
    else words.push("In ");
    words.push(bold(rule.state), " reading ", show(rule.symbol), ": ");
    if (rule.next === null) words.push("no rule applies. ");
    else words.push("write ", show(rule.write), ", move ", bold(rule.move ?? "nowhere"), ", go to ", bold(rule.next), ". ");
    if (moment.attention && rule.next !== null) words.push(...lookBack(run, moment));
  }
  if (moment.t === run.last) {
    const ends = { halted: "halts", accepted: "accepts", rejected: "rejects" }[run.outcome];
    const who = run.changes.length ? "By this network the machine" : "The machine";
    words.push(run.ended && ends ? element("b", {}, ` ${who} ${ends}, after ${steps(run.steps)}.`) : " The run is shown only up to here.");
  }
  place.replaceChildren(...words);
}

function lookBack({ view }, moment) {
  const { winner, winners, cell } = moment.attention;
  const to = `Next is cell ${number(moment.next)}: `;
  if (!winners) return [to, element("em", {}, "never visited before"), "."];
  if (winners !== 1) return [to, `${number(winners)} ${view.moment}s have the best score.`];
  if (moment.attention.null) return [to, element("em", {}, "fresh, so the pointer is NULL, which is token 1"), "."];
  if (winner === moment.t) return [to, element("em", {}, `fresh, so ${view.moment} `, number(winner), " attends to itself"), "."];
  const right = cell === null || cell === moment.next ? "" : ` (on cell ${number(cell)}!)`;
  return [to, element("em", {}, `last visited by ${view.moment} ${number(winner)}`), `${right}, ${number(moment.t - winner)} back.`];
}

// The end of what a language model has written, the token that it writes now, and those that its heads look up.
export function drawText(place, moment) {
  const text = moment.text;
  place.hidden = !text;
  if (!text) return;
  const token = (each, name, more = {}) => element(name, { ...more, ...(each.length > 40 ? { title: each } : {}) }, clip(each, 40));
  const last = text.before.slice(innerWidth < 720 ? -10 : -30), from = text.all - last.length;
  const box = ([side, at, tokens]) => element("span", { class: "pointed", title: `looked up, ${side}: from token ${number(at)} of the text, counted from 0` }, element("small", {}, side), ...tokens.flatMap((each) => [" ", token(each, "code")]));
  const lit = new Map(text.pointed.map((each) => [each[1], each])), words = [];
  const far = [...lit.values()].filter(([, at]) => at < from).sort(([, a], [, b]) => a - b);
  if (from) words.push(far.length ? "… " : `… ${number(from)} tokens, then `, ...far.flatMap((each) => [box(each), " … "]));
  for (let n = 0; n < last.length; n++) {
    const found = lit.get(from + n);
    words.push(found ? box(found) : token(last[n], "code"), " ");
    if (found) n += found[2].length - 1;
  }
  place.replaceChildren("The text: ", ...words,
    ...(text.after.length ? ["and now ", ...text.after.map((each) => token(each, "mark"))] : ["and nothing more"]), ".");
}
