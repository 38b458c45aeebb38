// The residual stream as a table with the parts of one moment; for other kinds, vectors by name.

import { decimal, element, number, overTime, signed, symbol } from "./format.js";
import * as store from "./store.js";

const MOST_ROWS = 24; // of a table that keeps its empty rows, so that none of them moves

export function drawStream(run, moment) {
  const section = document.getElementById("stream");
  const step = moment.step === null || moment.step === undefined || moment.step < 0
    ? "the machine has not started" : `step ${number(moment.step)} of the machine`;
  const what = run.view.columns.length ? `What each layer adds to ${run.view.moment} ${number(moment.t)}` : `The vectors at time ${number(moment.t)}`;
  section.querySelector("h2").textContent = `${what} · ${step}`;
  const names = coordinates(run);
  const table = document.getElementById("table");
  if (!moment.vectors) { // the machine's part of the moment is there first
    document.getElementById("inside").replaceChildren();
    return table.replaceChildren(element("p", { class: "quiet" }, "The network's own vectors are being computed; what is above is the machine's own run."));
  }
  inside(run, moment, names);
  table.replaceChildren(tableOf(run, moment));
}

// The table of a moment; numbers that are not those of `whole`, the same moment of another network,
// are marked. A cell has the numbers in it, [vector, coordinate], for those who flip their signs.
export function tableOf(run, moment, whole = null) {
  const names = coordinates(run);
  return (run.view.columns.length ? residual : vectors)(run, moment, names, whole);
}

export const coordinates = (run) => run.layout.flatMap(([block, labels]) => labels.map((label) => [block, label]));

// The numbers of a vector by block: [label, exact text].
export function blocks(vector, names) {
  const found = new Map();
  for (const [place, value] of vector?.entries ?? []) {
    const [block, label] = names[place];
    if (!found.has(block)) found.set(block, []);
    found.get(block).push([label, value]);
  }
  return found;
}

// A number in base 2 whose digits 0 are −1, as language models write addresses: b0, b1, … of a block.
export const inBits = (entries) => (entries.length > 1 && entries.every(([label, value], n) => label === `b${n}` && /^-?1$/.test(value))
  ? number(entries.reduce((sum, [, value], n) => sum + (value === "1" ? 2 ** n : 0), 0)) : null);

// The numbers of a block; `write` writes one of them.
const text = (entries, write, blank, named = false) => (named ? null : inBits(entries)) ?? entries.map(([label, value]) =>
  named ? `${label} = ${write(value)}` : label === "" ? write(value) : value === "1" ? symbol(label, blank) : `${write(value)}·${symbol(label, blank)}`).join(named ? ", " : " + ");
const writer = (run, t) => (value) => (run.in_floats ? decimal(value) : overTime(value, t));
const exact = (entries) => entries.map(([label, value]) => `${label && `${label}: `}${signed(value)}`).join(", ");

function residual(run, moment, names, whole) {
  const { groups, parts } = run.view, part = partNumber(run), write = writer(run, moment.t);
  const partOf = (column) => parts.findIndex((each) => each.vector === column.vector);
  const shows = (column) => part === null || partOf(column) <= part;
  let columns = run.view.columns;
  if (innerWidth < 720) { // the newest column and the one before it
    const last = part === null ? columns.length - 2 : columns.findLastIndex(shows);
    columns = columns.slice(Math.max(0, last - 1), Math.max(0, last - 1) + 2);
  }
  const made = columns.map((column) => blocks(moment.vectors[column.vector], names));
  const head = element("tr", {}, element("th", {}, "block"),
    ...columns.map((c) => element("th", { class: `layer-${c.layer}`, scope: "col" }, c.layer ? element("small", {}, `layer ${c.layer}`) : element("small", {}, c.vector === "y" ? "output" : "input"), c.title)));
  const table = element("table", { class: "stream" }, element("thead", {}, head));
  for (const group of groups) {
    const body = element("tbody");
    for (const block of group) {
      const meaning = run.layout.find(([name]) => name === block)[2];
      const row = element("tr", {}, element("th", { scope: "row", title: meaning }, element("b", {}, block), ` ${run.view.short[block] ?? short(meaning)}`));
      columns.forEach((column, n) => {
        const now = made[n].get(block) ?? [], before = n ? made[n - 1].get(block) ?? [] : [];
        const same = n > 0 && exact(now) === exact(before), last = column.vector === "y";
        const gone = n > 0 && !last && !now.length && before.length;
        const kind = !shows(column) ? "later" : gone ? `gone layer-${column.layer}` : same ? "same" : now.length && n ? `new layer-${column.layer}` : "";
        const own = moment.vectors[column.vector].entries.filter(([place]) => names[place][0] === block);
        const differs = whole && exact(now) !== exact(blocks(whole.vectors[column.vector], names).get(block) ?? []);
        const shownText = !shows(column) ? "" : differs && !now.length ? "0" : gone ? text(before, write, run.machine.blank) : text(now, write, run.machine.blank);
        row.append(element("td", { class: differs ? `${kind} differs` : kind, title: now.length ? exact(now) : undefined, ...flips(own.map(([place]) => [column.vector, label(names[place])])) }, gone && !differs ? element("s", {}, shownText) : shownText));
      });
      const says = row.textContent !== row.firstChild.textContent;
      if (says || run.layout.length <= MOST_ROWS && (run.input.length || !run.view.short[block]?.startsWith("input"))) body.append(row);
    }
    table.append(body);
  }
  if (columns.length === run.view.columns.length) return table;
  return element("div", {}, table, element("p", { class: "quiet" }, "Two of the columns; the buttons above show the others."));
}

const flips = (numbers) => (numbers.length ? { "data-flip": JSON.stringify(numbers), tabindex: 0 } : {});

const short = (meaning) => (meaning.length > 30 ? `${meaning.slice(0, 29)}…` : meaning);

function vectors(run, moment, names, whole) {
  const shown = Object.entries(moment.vectors), rows = new Map();
  for (const [name] of whole ? shown : []) for (const [place] of whole.vectors[name]?.entries ?? []) rows.set(label(names[place]), {});
  for (const [name, vector] of shown) {
    vector.entries.forEach(([place, value], n) => {
      const coordinate = vector.names ? vector.names[n] : label(names[place]);
      if (!rows.has(coordinate)) rows.set(coordinate, {});
      rows.get(coordinate)[name] = value;
    });
  }
  const other = (name) => whole?.vectors[name]?.entries.map(([place, value]) => [label(names[place]), value]) ?? [];
  const differs = (name, coordinate, value) => whole && new Map(other(name)).get(coordinate) !== value;
  const table = element("table", { class: "vectors" }, element("thead", {}, element("tr", {},
    element("th", {}, "not 0"), ...shown.map(([name]) => element("th", { scope: "col" }, name)), element("th", {}, "meaning"))));
  const body = element("tbody");
  for (const [coordinate, values] of rows) {
    const block = coordinate.split("[")[0], meaning = run.layout.find(([name]) => name === block)?.[2] ?? "";
    body.append(element("tr", {}, element("th", { scope: "row", title: meaning }, element("b", {}, coordinate)),
      ...shown.map(([name]) => element("td", { title: values[name], class: differs(name, coordinate, values[name]) ? "differs" : "", ...flips(values[name] ? [[name, coordinate]] : []) }, values[name] ? overTime(values[name], moment.t) : differs(name, coordinate) ? "0" : "")),
      element("td", { class: "meaning", title: meaning }, meaning)));
  }
  table.append(body);
  return table;
}

const label = ([block, name]) => (name === "" ? block : `${block}[${name}]`);

// The parts of one moment in turn, each with a formula and a sentence.

export function partNumber(run) {
  const part = store.get("part");
  return part === undefined || !run.view.parts.length ? null : Math.max(0, Math.min(run.view.parts.length - 1, Number(part) || 0));
}

function inside(run, moment, names) {
  const place = document.getElementById("inside"), parts = run.view.parts, at = partNumber(run);
  place.replaceChildren();
  if (!parts.length) return;
  const buttons = parts.map((part, n) => element("button", {
    class: `part layer-${part.layer}`, "aria-pressed": n === at, title: part.name,
    onclick: () => store.set({ part: n === at ? undefined : String(n) }),
  }, part.name.replace("decoder.", "").replace(".self", " self").replace(".external", " encoder").replace(".O", " O")));
  place.append(element("div", { class: "parts", role: "group", "aria-label": "Inside this token" }, ...buttons));
  if (at === null) return;
  const { changed } = moment.vectors[parts[at].vector], last = parts[at].vector === "y";
  const what = text(changed.map(([n, value]) => [label(names[n]), value]).filter(([, value]) => value !== "0"), writer(run, moment.t), run.machine.blank, true);
  const now = at === 0 || last ? "" : changed.length ? `Now ${[what, gone(changed, names)].filter(Boolean).join("; ")}.` : "Nothing changes.";
  place.append(element("p", {}, element("code", {}, parts[at].formula), ` ${parts[at].caption} ${now}`));
  if (at !== drawnPart) place.scrollIntoView({ block: "nearest" });
  drawnPart = at;
}

let drawnPart = null;

function gone(changed, names) {
  const found = changed.filter(([, value]) => value === "0").map(([n]) => label(names[n]));
  return found.length ? `${found.join(", ")} cancelled` : "";
}
