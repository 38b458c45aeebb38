// The tape around the head, and one sentence on what happens there.

import { element, number, steps, symbol } from "./format.js";

export function drawTape(place, run, moment) {
  place.replaceChildren();
  const tape = moment.tape;
  if (!tape) return;
  const blank = run.machine.blank;
  // Large token numbers do not fit below a cell: show how many tokens ago instead.
  const below = tape.visits.map((v) => (v === null ? "" : number(moment.t < 10000 ? v : v - moment.t)));
  const around = below.slice(tape.cells.length / 4, (3 * tape.cells.length) / 4);
  const cell = Math.max(34, ...tape.cells.map((s) => 11 * s.length + 12), ...around.map((s) => 6.2 * s.length + 12));
  place.style.setProperty("--cell", `${cell}px`);
  place.dataset.below = run.view.drawn ? (moment.t < 10000 ? "last token there" : "tokens ago") : "last visit";
  const side = Math.min((tape.cells.length - 1) / 2, Math.ceil(place.clientWidth / cell / 2));
  for (let c = moment.head - side; c <= moment.head + side; c++) {
    const n = c - tape.first, visited = tape.visits[n];
    const kind = c === moment.head ? "cell head" : c === moment.next ? "cell next" : "cell";
    const text = element("b", tape.cells[n] === blank ? { class: "blank" } : {}, symbol(tape.cells[n], blank));
    const title = `cell ${number(c)}: ${visited === null ? "never visited" : `last visited at ${number(visited)}`}`;
    place.append(element("span", { class: kind, title }, text, element("small", {}, below[n])));
  }
}

const bold = (text) => element("b", {}, text);

export function say(place, run, moment) {
  const words = [], blank = run.machine.blank, rule = moment.rule;
  const show = (s) => bold(symbol(s, blank));
  if (moment.lost) words.push(`Here the vectors do not show a machine: ${moment.lost}.`);
  else if (!rule) {
    words.push(moment.t < run.lead
      ? `The network reads symbol ${moment.t} of its input: ${symbol(run.input[moment.t - 1], blank)}.`
      : "Here the vectors do not show a configuration of the machine.");
  } else {
    if (!run.machine.given[run.machine.states.indexOf(rule.state)]) words.push("Before the machine begins: in ");
    else words.push("In ");
    words.push(bold(rule.state), " reading ", show(rule.symbol), ": ");
    if (rule.next === null) words.push("no rule applies. ");
    else words.push("write ", show(rule.write), ", move ", bold(rule.move ?? "nowhere"), ", go to ", bold(rule.next), ". ");
    if (moment.attention && rule.next !== null) words.push(...lookBack(moment));
  }
  if (moment.t === run.last) {
    const ends = { halted: "halts", accepted: "accepts", rejected: "rejects" }[run.outcome];
    const who = run.changes.length ? "By this network the machine" : "The machine";
    words.push(run.ended && ends ? bold(` ${who} ${ends}, after ${steps(run.steps)}.`) : " The run is shown only up to here.");
  }
  place.replaceChildren(...words);
}

function lookBack(moment) {
  const { winner, winners, cell } = moment.attention;
  const to = `Next is cell ${number(moment.next)}: `;
  if (!winners) return [to, element("em", {}, "never visited before"), "."];
  if (winners !== 1) return [to, `${number(winners)} tokens have the best score.`];
  if (moment.attention.null) return [to, element("em", {}, "fresh, so the pointer is NULL, which is token 1"), "."];
  if (winner === moment.t) return [to, element("em", {}, "fresh, so token ", number(winner), " attends to itself"), "."];
  const right = cell === null || cell === moment.next ? "" : ` (on cell ${number(cell)}!)`;
  return [to, element("em", {}, `last visited by token ${number(winner)}`), `${right}, ${number(moment.t - winner)} back.`];
}
