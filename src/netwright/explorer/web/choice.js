// Which machine, which input, which network; demos.

import * as store from "./store.js";
import { element, number } from "./format.js";
import { openDialog, closeDialog } from "./help.js";

const $ = (id) => document.getElementById(id);
const word = (run) => run.input.join(run.machine.symbols.some((s) => s.length > 1) ? "," : "");

export class Choice {
  constructor() {
    $("choose").addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    $("machine").addEventListener("change", () => { $("input").value = ""; $("input").dataset.given = ""; });
    $("input").addEventListener("input", () => { $("input").dataset.given = "yes"; });
    $("kind").addEventListener("change", () => { this.offerOptions(); this.submit(); });
  }

  offer(known) {
    this.known = known;
    if (!known) return;
    $("machines").replaceChildren(...known.machines.map((m) => element("option", { value: m.name }, m.about)));
    $("kind").replaceChildren(...known.kinds.map((k) => element("option", { value: k.name }, k.name)));
  }

  offerOptions(values = {}) {
    const kind = this.known?.kinds.find((each) => each.name === $("kind").value);
    $("options").replaceChildren(...(kind?.options ?? []).map((option) => {
      const select = element("select", { name: option.name, title: option.help, onchange: () => this.submit() },
        ...option.choices.map((choice) => element("option", { value: choice }, choice)));
      if (values[option.name]) select.value = values[option.name];
      return element("label", {}, `${option.name} `, select);
    }));
  }

  show(run) {
    const machine = store.get("machine");
    $("machine").value = machine === "given" || machine?.startsWith("posted:") ? run.name || machine : machine;
    $("input").value = word(run);
    $("input").dataset.given = "yes";
    $("kind").value = run.kind;
    this.offerOptions(run.options);
    this.run = run;
    this.name = $("machine").value; // as the field shows it: without line ends
  }

  async submit() {
    const typed = $("machine").value.trim(), machine = this.run && typed === this.name.trim() ? store.get("machine") : typed;
    const changes = { machine, kind: $("kind").value, input: undefined, word: undefined, score: undefined };
    if (changes.kind !== store.get("kind")) changes.base = changes.blanks = undefined;
    const text = $("input").value, long = this.run?.machine.symbols.some((s) => s.length > 1);
    if ($("input").dataset.given) Object.assign(changes, long && machine === store.get("machine") ? { word: JSON.stringify(text ? text.split(",") : []) } : { input: text });
    for (const select of $("options").querySelectorAll("select")) changes[select.name] = select.value;
    const same = this.run && machine === store.get("machine") && text === word(this.run);
    if (!same) changes.t = 1;
    store.set(changes, { replace: false });
  }
}

// The user's own machine: its text in any of the formats, which the server keeps until it ends.
function ownMachine(source) {
  const text = element("textarea", { rows: 5, spellcheck: "false", "aria-label": "The text of a machine" });
  const problem = element("p", { role: "alert" });
  const show = async () => {
    try {
      const machine = await source.post(text.value);
      closeDialog();
      store.set({ ...CLEAN, machine, t: 1 }, { replace: false });
    } catch (error) {
      problem.textContent = error.message;
    }
  };
  return element("div", {}, element("h2", {}, "Your own machine"),
    element("p", {}, "Paste the text of a machine file, in any format that netwright reads. The address that you get works until this server ends; for one that lasts, type bbchallenge text as the machine."),
    text, element("p", {}, element("button", { onclick: show }, "Show it")), problem);
}

const CLEAN = { input: undefined, word: undefined, kind: undefined, score: undefined, base: undefined, part: undefined };

export function showDemos(demos, source) {
  if (!demos) return openDialog(element("p", {}, "This file has one run. netwright explore has all machines."));
  const open = (query) => {
    closeDialog();
    store.set({ ...CLEAN, ...query, t: Number(query.t) }, { replace: false });
  };
  return openDialog(element("h2", {}, "Demos"), element("ul", { class: "demos" }, ...demos.map((demo) =>
    element("li", {}, element("button", { onclick: () => open(demo.query) }, demo.title), element("p", {}, demo.question,
      element("small", {}, ` ${demo.query.machine}, t = ${number(Number(demo.query.t))}`))))), ownMachine(source));
}
