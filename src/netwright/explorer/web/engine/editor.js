// The editor: a machine as text, with its faults at their lines, and as a table.

import { element } from "../format.js";
import { closeDialog, openDialog } from "../help.js";
import { readMachine } from "./rules.js";

const EXAMPLE = "1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA";

function table(machine) {
  const rules = new Map(machine.rules.map(([state, symbol, next, write, move]) => [`${state}\n${symbol}`, `${write} ${move} ${next}`]));
  const head = element("tr", {}, element("td", {}), ...machine.symbols.map((symbol) => element("th", {}, symbol)));
  const rows = machine.states.map((state) => element("tr", {}, element("th", {}, state),
    ...machine.symbols.map((symbol) => element("td", {}, rules.get(`${state}\n${symbol}`) ?? "–"))));
  return element("table", { class: "written" }, head, ...rows);
}

// Open the editor; `text` and `input` are what it begins with, `about` says where it runs, and `run`
// takes both. What this page cannot read, `mayBeOther` leaves to whoever runs it.
export function showEditor(text, input, about, run, mayBeOther = false) {
  const rules = element("textarea", { rows: 9, cols: 44, spellcheck: "false", "aria-label": "The rules" });
  const word = element("input", { size: 24, spellcheck: "false", "aria-label": "The input" });
  const faults = element("ul", { class: "faults" }), shown = element("div", { class: "preview", tabindex: 0, role: "region", "aria-label": "The rules as a table" });
  const go = element("button", {}, "Run it");
  const problem = element("p", { role: "alert" });
  let isOwn = false; // the input was typed: else another machine has its own
  rules.value = text || EXAMPLE;
  word.value = input;
  const select = (line) => {
    const lines = rules.value.split("\n"), start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    rules.focus();
    rules.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
    rules.scrollTop = rules.scrollHeight * ((line - 1) / lines.length) - rules.clientHeight / 2;
  };
  const read = () => {
    faults.replaceChildren();
    shown.replaceChildren();
    let machine = null;
    try {
      machine = readMachine(rules.value);
      shown.replaceChildren(table(machine));
    } catch (error) {
      if (!error.list) throw error;
      faults.append(...error.list.slice(0, 12).map(([line, words]) =>
        element("li", {}, element("button", { onclick: () => select(line) }, `line ${line}`), ` ${words}`)));
    }
    if (!isOwn && rules.value !== text) word.value = machine?.default_input.join("") ?? "";
    const unknown = machine && [...word.value].find((symbol) => !machine.symbols.includes(symbol));
    if (unknown) faults.append(element("li", {}, `the input has ${unknown}; the symbols are ${machine.symbols.join(" ")}`));
    go.disabled = faults.childElementCount > 0 && !mayBeOther;
    problem.textContent = "";
  };
  rules.addEventListener("input", read);
  word.addEventListener("input", () => { isOwn = true; read(); });
  go.addEventListener("click", async () => {
    try {
      await run(rules.value, word.value);
      closeDialog();
    } catch (error) {
      problem.textContent = error.message;
    }
  });
  read();
  openDialog(element("h2", {}, "Your machine"),
    element("p", {}, about, " Type bbchallenge text, turingmachine.io's YAML, or a rule a line: state, symbol, new symbol, l or r (* stays), new state, where _ is the blank and ; begins a comment."),
    element("div", { class: "editor" }, rules, shown), element("div", { role: "alert" }, faults),
    element("p", {}, element("label", {}, "input ", word), " ", go), problem);
  select(1);
}
