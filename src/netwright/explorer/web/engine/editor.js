// The editor: a machine as text, with its faults at their lines, and as a table.

import * as store from "../store.js";
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

// Open the editor; `text` and `input` are what it begins with.
export function showEditor(text, input) {
  const rules = element("textarea", { rows: 9, cols: 44, spellcheck: "false", "aria-label": "The rules" });
  const word = element("input", { size: 24, spellcheck: "false", "aria-label": "The input" });
  const faults = element("ul", { class: "faults" }), shown = element("div", { class: "preview" });
  const go = element("button", {}, "Run it on the network");
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
    const unknown = machine && [...word.value].find((symbol) => !machine.symbols.includes(symbol));
    if (unknown) faults.append(element("li", {}, `the input has ${unknown}; the symbols are ${machine.symbols.join(" ")}`));
    go.disabled = faults.childElementCount > 0;
  };
  rules.addEventListener("input", read);
  word.addEventListener("input", read);
  go.addEventListener("click", () => {
    closeDialog();
    store.set({ machine: rules.value, input: word.value, t: 1, part: undefined }, { replace: false });
  });
  read();
  openDialog(element("h2", {}, "Your machine on the universal network"),
    element("p", {}, "The weights stay as they are: the machine is the prompt. Type bbchallenge text, or a rule a line: state, symbol, new symbol, l or r (* stays), new state. _ is the blank, ; begins a comment. The address of this page keeps the machine; nothing is sent anywhere."),
    element("div", { class: "editor" }, rules, shown), element("div", { role: "alert" }, faults),
    element("p", {}, element("label", {}, "input ", word), " ", go));
  select(1);
}
