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
    document.addEventListener("pointerdown", ({ target }) => { if (!$("choices").contains(target)) $("choices").open = false; });
    $("kind").addEventListener("change", () => { this.offerOptions(); this.submit(); });
  }

  offer(known) {
    this.known = known;
    $("machines").replaceChildren(...known.machines.map((m) => element("option", { value: m.name }, m.about)));
    $("kind").replaceChildren(...known.kinds.map((k) => element("option", { value: k.name, title: k.statement }, k.name)));
    if (this.run) this.show(this.run);
  }

  offerOptions(values = {}) {
    const kind = this.known?.kinds.find((each) => each.name === $("kind").value);
    $("options").replaceChildren(...(kind?.options ?? []).map((option) => {
      const about = { name: option.name, title: option.help, onchange: () => this.submit() };
      const value = values[option.name] ?? option.default;
      const field = option.choices.length ? element("select", about, ...option.choices.map((choice) => element("option", { value: choice }, choice)))
        : option.flag ? element("input", { ...about, type: "checkbox" })
          : element("input", { ...about, size: 5, spellcheck: "false", placeholder: option.default ?? "auto" });
      if (option.flag) field.checked = value;
      else field.value = value ?? "";
      return element("label", {}, `${option.name} `, field);
    }));
    $("choices").hidden = !$("options").children.length;
    const other = (kind?.options ?? []).filter(({ name, default: usual }) => values[name] !== undefined && String(values[name]) !== String(usual));
    $("choices").querySelector("summary").textContent = ["options", ...other.map(({ name }) => `${name} ${values[name]}`)].join(" · ");
  }

  // The options as the form has them; an empty field means the default.
  options() {
    return Object.fromEntries([...$("options").querySelectorAll("[name]")].map((field) => [
      field.name, field.type === "checkbox" ? String(field.checked) : field.value.trim() || undefined]));
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
    const changes = { ...store.forgotten(), machine, kind: $("kind").value, ...this.options() };
    const text = $("input").value, long = this.run?.machine.symbols.some((s) => s.length > 1);
    if ($("input").dataset.given) Object.assign(changes, long && machine === store.get("machine") ? { word: JSON.stringify(text ? text.split(",") : []) } : { input: text });
    const same = this.run && machine === store.get("machine") && text === word(this.run);
    if (!same) changes.t = 1;
    store.set(changes, { replace: false });
  }
}

export function showDemos(demos) {
  if (!demos) return openDialog(element("p", {}, "This file has one run. netwright explore has all machines."));
  const open = (query) => {
    closeDialog();
    store.set({ ...store.forgotten(), ...query, t: Number(query.t) }, { replace: false });
  };
  return openDialog(element("h2", {}, "Demos"), element("ul", { class: "demos" }, ...demos.map((demo) =>
    element("li", {}, element("button", { onclick: () => open(demo.query) }, demo.title), element("p", {}, demo.question,
      element("small", {}, ` ${demo.query.machine}, t = ${number(Number(demo.query.t))}`))))));
}
