// Break it: a twin of the network, with flipped signs, parts left out or rounded arithmetic, runs in
// the page's own engine beside the whole network; or another kind does, on the server.

import * as store from "../store.js";
import { about, element, number, signed, symbol } from "../format.js";
import { openDialog } from "../help.js";
import { drawLemmas } from "../lemmas.js";
import { tableOf } from "../stream.js";
import { unfold } from "../source.js";
import { FLIPS } from "./twin.js";

const $ = (id) => document.getElementById(id);
const LEAST = 4, EXACT = 54; // the slider's first place, and its last: no rounding
const AT_FIRST = 2000, STRIP = 300; // tokens that are compared
const MOST_SCORES = 200;

// A change as the address has it: its sort, and what it is about.
const isChange = (found) => Array.isArray(found) && (found[0] === "part" && found.length === 2 || ["weight", "number"].includes(found[0]) && found.length === 4)
  && found.every((each, n) => typeof each === (found[0] === "number" && n === 1 ? "number" : "string"));

const read = () => {
  try {
    const found = JSON.parse(store.get("break") ?? "[]");
    return Array.isArray(found) ? found.filter(isChange) : [];
  } catch {
    return [];
  }
};
const bits = () => {
  const found = Math.floor(Number(store.get("bits") || EXACT));
  return found < EXACT ? Math.max(LEAST, found) : 0;
};
const changes = () => ({ breaks: read(), bits: bits() });
const isWhole = () => !read().length && !bits();

// A change in words.
const said = ([what, ...which]) => what === "part" ? `without ${which[0]}`
  : what === "weight" ? `${which[0]}: ${which[1]} → ${which[2]}` : `token ${number(which[0])}, ${which[1]}: ${which[2]}`;

function bar(percent) {
  const found = element("i");
  found.style.width = `${percent}%`;
  return found;
}

export class Break {
  constructor(go, trouble) {
    Object.assign(this, { go, trouble });
    $("matrix").addEventListener("change", () => this.offerWeights());
    $("left-out").addEventListener("change", ({ target }) => {
      if (target.value) this.toggle(["part", target.value]);
      target.value = "";
    });
    $("bits").addEventListener("change", ({ target }) => store.set({ bits: target.value < EXACT ? target.value : undefined }));
    $("bits").addEventListener("input", () => this.showBits());
    $("mend").addEventListener("click", () => store.set({ break: undefined, bits: undefined }));
    $("what-first").addEventListener("click", () => this.drawStrip());
    $("strip").addEventListener("click", (event) => { if (this.under(event)) this.flip(this.under(event)); });
    $("strip").addEventListener("mousemove", (event) => {
      const found = this.under(event), first = found?.first;
      $("strip").title = found ? `${found.name}: ${found.row} → ${found.column}: ${first ? `shows at t = ${first.t}, ${first.statement}` : `does not show up to t = ${this.compared}`}` : "";
    });
    $("beside").addEventListener("change", ({ target }) => store.set({ beside: target.value || undefined }));
    $("table").addEventListener("click", ({ target }) => {
      const numbers = JSON.parse(target.closest("[data-flip]")?.dataset.flip ?? "[]").filter(([name]) => FLIPS.test(name));
      if (numbers.length && this.lab && this.moment) this.toggle(...numbers.map(([name, coordinate]) => ["number", this.moment.t, name, coordinate]));
    });
    $("table").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target.matches("[data-flip]")) event.target.click();
    });
  }

  // Another run: its network is fetched when something is to be broken, or shown beside it.
  show(run, source, known) {
    Object.assign(this, { run, source, opened: null, lab: null, weights: null, strip: null, moment: null, compared: 0 });
    $("breaking").hidden = !source.lab || run.changes.length > 0 || run.in_floats;
    for (const id of ["weights", "twin", "difference", "other", "strip-said", "running"]) $(id).replaceChildren();
    $("strip").hidden = true;
    this.buttons = [];
    this.showChanges();
    $("matrix").replaceChildren(element("option", { value: "" }, "none"));
    this.offerKinds(known);
    if (!$("breaking").hidden && ($("breaking").open || !isWhole())) this.open();
  }

  // What may be shown beside it; the server's list may come later than the run.
  offerKinds(known) {
    const others = (known?.kinds ?? []).filter(({ name }) => name !== this.run.kind);
    $("beside").replaceChildren(element("option", { value: "" }, "nothing"), ...others.map(({ name }) => element("option", { value: name }, name)));
    $("beside").parentElement.hidden = !this.source.beside;
    $("beside").value = store.get("beside") ?? "";
  }

  // Fetch the network, once for a run.
  open() {
    this.opened ??= this.fetch(this.run).catch((error) => {
      this.opened = null;
      this.trouble(error);
    });
    return this.opened;
  }

  async fetch(run) {
    const found = await this.source.lab();
    if (run !== this.run) return;
    if (!found) return void (this.opened = null); // it was stopped
    Object.assign(this, found); // lab, data, weights, last
    const names = [...new Set(this.weights.map(({ name }) => name))];
    $("matrix").replaceChildren(element("option", { value: "" }, "choose"), ...names.map((name) => element("option", { value: name }, name)));
    $("left-out").replaceChildren(element("option", { value: "" }, "nothing"), ...this.data.parts.map((part) => element("option", { value: part }, part)));
    $("left-out").parentElement.hidden = !this.data.parts.length;
    this.changed();
  }

  toggle(...wanted) {
    const texts = wanted.map((each) => JSON.stringify(each)), before = read();
    const kept = before.filter((each) => !texts.includes(JSON.stringify(each)));
    const now = kept.length < before.length ? kept : [...before, ...wanted];
    store.set({ break: now.length ? JSON.stringify(now) : undefined }, { replace: false });
  }

  flip({ name, row, column }) { this.toggle(["weight", name, row, column]); }

  showBits() {
    const value = Number($("bits").value);
    const words = value < EXACT ? `${value} bits` : "exact";
    $("bits-said").textContent = words;
    $("bits").setAttribute("aria-valuetext", words);
  }

  showChanges() {
    $("bits").value = bits() || EXACT;
    this.showBits();
    $("mend").hidden = isWhole();
    $("broken").replaceChildren(...read().map((each) => element("li", {},
      element("button", { class: "fails", title: "Undo this", onclick: () => this.toggle(each) }, `✗ ${said(each)}`))));
  }

  // What is broken has changed: say what, and where it first shows.
  changed() {
    this.showChanges();
    if (!isWhole()) $("breaking").open = true;
    if (!$("breaking").hidden && !this.lab && !isWhole()) return this.open();
    this.markWeights();
    this.paint();
    $("running").textContent = "";
    if (isWhole()) {
      $("difference").replaceChildren();
      $("twin").replaceChildren();
      this.source?.redraw?.(null);
    } else if (this.lab) {
      this.compare(Math.min(this.last, AT_FIRST));
      if (this.moment) this.draw(this.moment);
    }
  }

  // The weights of a matrix as buttons.
  offerWeights() {
    const chosen = $("matrix").value, own = chosen && this.weights ? this.weights.filter(({ name }) => name === chosen) : [];
    const meaning = this.data?.meanings?.[chosen];
    this.buttons = own.map((weight) => [weight, element("button", { onclick: () => this.flip(weight) }, `${weight.row} → ${weight.column}: ${signed(weight.text)}`)]);
    $("weights").replaceChildren(...(own.length ? [element("p", { class: "quiet" }, `${typeof meaning === "string" ? `${meaning}: ` : ""}click a weight, and its sign flips.`)] : []),
      element("ul", { class: "weights" }, ...this.buttons.map(([, button]) => element("li", {}, button))));
    this.markWeights();
  }

  // Which of them are flipped; the button that was pressed keeps the focus.
  markWeights() {
    const broken = new Set(read().map((each) => JSON.stringify(each)));
    for (const [{ name, row, column }, button] of this.buttons ?? []) {
      const isBroken = broken.has(JSON.stringify(["weight", name, row, column]));
      button.className = isBroken ? "fails" : "";
      button.setAttribute("aria-pressed", isBroken);
    }
  }

  // Compare up to a time, and say where the twin first differs.
  async compare(most) {
    const { lab, run } = this, asked = JSON.stringify(changes());
    const isWanted = () => run === this.run && asked === JSON.stringify(changes());
    const tell = (done) => { if (isWanted()) $("running").textContent = `The twin runs: ${Math.floor(100 * done)} %`; };
    try {
      const found = await lab.ask("compare", [changes(), most], tell);
      if (!isWanted()) return;
      $("running").textContent = "";
      if (found) this.tell(found, most);
      else $("difference").replaceChildren("Stopped. ", element("button", { class: "to", onclick: () => this.compare(most) }, "Go on"));
    } catch (error) {
      if (isWanted()) $("difference").replaceChildren(element("b", {}, error.message));
    }
  }

  tell({ number: first, attention, rule, compared }, most) {
    const to = (t) => element("button", { class: "to", onclick: () => this.go(t), "aria-label": `Go to token ${number(t)}` }, `token ${number(t)}`);
    const tokens = (found) => (found === "all" ? "all tokens alike" : found.length === 1 ? `token ${number(found[0])}` : `${number(found.length)} tokens alike`);
    const where = (found) => (found ? `in ${found.state} reading ${symbol(found.symbol, this.run.machine.blank)}` : "no configuration");
    const words = [];
    if (first) words.push("First difference at ", to(first.t), ": ", element("code", {}, `${first.vector} ${first.coordinate}`), " is ",
      element("code", {}, signed(first.found)), ", expected ", element("code", {}, signed(first.expected)), ". ", element("b", {}, `${first.statement} fails. `));
    if (attention) words.push(element("b", {}, "Wrong attention"), " at ", to(attention.t), `, ${attention.name}: it selects ${tokens(attention.found)}, right is ${tokens(attention.expected)}. `);
    if (rule) {
      const isRule = where(rule.said) === where(rule.rule); // the same state and symbol, and another rule for them
      const does = (found) => (found.next === null ? "no next state" : `write ${symbol(found.write, this.run.machine.blank)}, move ${found.move ?? "nowhere"}, go to ${found.next}`);
      words.push(element("b", {}, isRule ? "Wrong rule" : "Wrong machine"), " first at ", to(rule.t), ": ",
        isRule ? `${does(rule.said)}, instead of ${does(rule.rule)}. ` : `${where(rule.said)}, instead of ${where(rule.rule)}. `);
    }
    // Only Transformers attend to tokens, and have their rule read off here.
    const both = this.data.view.drawn ? [!attention && "attention", !rule && "rule"] : [];
    const missing = [!first && "number", ...both].filter(Boolean);
    if (missing.length) words.push(`No ${missing.join(", no ")} differs up to token ${number(compared)}. `);
    const further = Math.min(this.last, 10 * Math.max(most, compared));
    if (missing.length && compared < this.last && compared >= most)
      words.push(element("button", { class: "to", onclick: () => this.compare(further) }, `Look up to token ${number(further)}`));
    $("difference").replaceChildren(...words);
  }

  // The twin, or another kind, at the time of a moment of the whole network.
  async draw(moment) {
    this.moment = moment;
    const { lab, run, source } = this, asked = JSON.stringify(changes());
    if (store.get("beside") && source.beside) this.drawOther(moment);
    else $("other").replaceChildren();
    if (isWhole() || !lab) return;
    const isWanted = () => run === this.run && moment === this.moment && asked === JSON.stringify(changes());
    if (moment.t > this.last) return $("twin").replaceChildren(element("p", { class: "quiet" }, `The page's own engine runs up to token ${number(this.last)}.`));
    try {
      const found = await lab.ask("momentOfTwin", [changes(), moment.t], () => {});
      if (!found || !isWanted()) return;
      const twin = unfold(found, { view: this.data.view }), lemmas = element("ul", { class: "chips" });
      drawLemmas(lemmas, run, twin, source);
      $("twin").replaceChildren(element("div", { class: "row" }, element("h3", {}, `The twin at token ${number(moment.t)}`), lemmas),
        element("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": "The numbers of the twin" }, tableOf(run, twin, moment)));
      source.redraw?.(twin);
    } catch (error) {
      if (isWanted()) $("twin").replaceChildren(element("p", {}, error.message));
    }
  }

  // Another kind at the same step of the machine.
  async drawOther(moment) {
    const kind = store.get("beside"), { run, source } = this;
    const found = await source.beside(kind, moment).catch((error) => ({ trouble: error.message }));
    if (!found || run !== this.run || moment !== this.moment || kind !== store.get("beside")) return;
    if (found.trouble) return $("other").replaceChildren(element("p", {}, found.trouble));
    const { run: other, moment: there } = found, blank = run.machine.blank;
    const rule = (each) => each && `${each.state} reading ${symbol(each.symbol, blank)}`;
    const isSame = rule(there.rule) === rule(moment.rule) && there.head === moment.head;
    // A stay takes two tokens of a Transformer, and the second is between two steps.
    const isBetween = (own, each) => each.rule && own.machine.given[own.machine.states.indexOf(each.rule.state)] === false;
    const quiet = moment.step === null || moment.step < 0 ? "Before the machine starts."
      : there.step !== moment.step ? `${kind} is shown up to step ${number(there.step ?? 0)} only.`
        : isBetween(run, moment) || isBetween(other, there) ? "Between two steps of the machine." : null;
    const words = quiet ?? (isSame ? `The same after ${number(moment.step)} steps: in ${rule(there.rule)}, head on cell ${number(there.head)}.`
        : `Different after ${number(moment.step)} steps: in ${rule(there.rule)} on cell ${number(there.head)}, not in ${rule(moment.rule)} on cell ${number(moment.head)}.`);
    $("other").replaceChildren(element("h3", {}, `${kind} at t = ${number(there.t)}`), element("p", { class: quiet ? "quiet" : isSame ? "holds" : "fails" }, words),
      element("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": `The numbers of ${kind}` }, tableOf(other, there)));
  }

  // All scores of the attention that is drawn, the best first: hard attention takes the first alone.
  async showScores(t) {
    await this.open();
    const { lab, run } = this;
    if (!lab) return;
    if (t > this.last) return void openDialog(element("p", {}, `The page's own engine runs up to token ${number(this.last)}.`));
    const found = await lab.ask("scores", [t, MOST_SCORES], () => {});
    if (!found || run !== this.run) return;
    const size = (text) => Math.abs(Number(text.split("/")[0]) / Number(text.split("/")[1] ?? 1)), sizes = found.map(([, text]) => size(text)).filter(Boolean);
    const [least, most] = [Math.min(...sizes), Math.max(...sizes)].map(Math.log), width = (text) => (size(text) ? (most > least ? 4 + (96 * (Math.log(size(text)) - least)) / (most - least) : 50) : 0);
    openDialog(element("h2", {}, `All scores ${run.view.score} of ${this.data.view.drawn} at token ${number(t)}`),
      element("p", {}, `Hard attention selects the greatest score, and nothing else; the bars show how far each is from 0, on a logarithmic scale.${found.length < t ? ` The best ${number(found.length)} of ${number(t)}.` : ""}`),
      element("div", { class: "scrolls tall", tabindex: 0, role: "region", "aria-label": "The scores" }, element("table", { class: "all-scores" },
        ...found.map(([token, text], n) => element("tr", { class: text === found[0][1] ? "now" : "" }, element("th", { scope: "row" }, `token ${number(token)}`),
          element("td", { title: text }, about(text)), element("td", {}, bar(width(text))))))));
  }

  // What breaks first? A stripe for each weight, the darker the sooner it shows.
  async drawStrip() {
    await this.open();
    const { lab, run } = this;
    if (!lab) return;
    $("what-first").disabled = true;
    const tell = (done) => { if (run === this.run) $("strip-said").textContent = `${Math.floor(100 * done)} %`; };
    this.compared = Math.min(this.last, STRIP);
    try {
      const found = await lab.ask("strip", [this.compared], tell);
      if (found && run === this.run) this.strip = found;
      this.paint();
    } finally {
      $("what-first").disabled = false;
    }
  }

  paint() {
    const canvas = $("strip"), { strip } = this;
    canvas.hidden = !strip;
    $("strip-said").textContent = "";
    if (!strip || !canvas.clientWidth) return;
    const ratio = devicePixelRatio || 1, context = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = canvas.clientHeight * ratio;
    const [bad, line] = ["--bad", "--line"].map((name) => style.getPropertyValue(name));
    const width = canvas.width / strip.length, broken = new Set(read().map((each) => JSON.stringify(each)));
    strip.forEach(({ name, row, column, first }, n) => {
      context.globalAlpha = first ? 1 - 0.75 * (Math.log(first.t) / Math.log(this.compared + 1)) : 1;
      context.fillStyle = first ? bad : line;
      const top = broken.has(JSON.stringify(["weight", name, row, column])) ? 0 : canvas.height / 4;
      context.fillRect(n * width, top, Math.max(1, width), canvas.height - top);
    });
    const shows = strip.filter(({ first }) => first), soonest = shows.reduce((a, b) => (a && a.first.t <= b.first.t ? a : b), null);
    const words = `${number(shows.length)} of ${number(strip.length)} flipped signs show within ${number(this.compared)} tokens${soonest ? `, the first at token ${number(soonest.first.t)}` : ""}; grey ones do not. A stripe is a weight, in the order of the menu; click one to flip it.`;
    $("strip-said").textContent = words;
    canvas.setAttribute("aria-label", words);
  }

  under({ offsetX }) {
    return this.strip?.[Math.floor((offsetX / $("strip").clientWidth) * this.strip.length)];
  }
}
