// The cells of a Neural GPU, a decoded line each; the channels and gates of one of them on demand.

import { clip, element, number, overTime, symbol } from "../format.js";
import { blocks, coordinates } from "../stream.js";
import { symbols } from "./decoded.js";

let open = null; // the cell whose channels are shown

const label = ([block, name]) => (name === "" ? block : `${block}[${name}]`);

function line(run, vector, names) {
  const found = blocks(vector, names), ones = (block) => (found.get(block) ?? []).map(([name]) => name);
  const comes = found.has("a"), here = !comes && found.has("b"), part = comes || here ? "E" : "D", signs = symbols(run);
  const status = found.has("e") ? "end marker" : comes ? "to come" : here ? "here" : "passed";
  if (comes) {
    const place = ones("E e")[0];
    return { status, state: place ? `reads ${symbol(signs[Number(place)], run.machine.blank)}` : "reads the end", left: "", head: "", right: "" };
  }
  const digits = new Map(), states = ones(`${part} S`);
  for (const [place] of vector.entries) if (vector.digits[place] && names[place][0].startsWith(`${part} `)) digits.set(names[place][0].slice(2), vector.digits[place]);
  const tape = (block) => (digits.get(block) ?? []).map((digit) => symbol(signs[digit] ?? "?", run.machine.blank));
  const side = (letter) => (digits.has(`${letter}pop`) ? tape(`${letter}pop`).slice(1) : tape(`${letter}push`).concat(tape(`${letter}stay`)));
  if (!states.length) return { status, state: "no state: it has halted", left: side("L").reverse().join(""), head: "", right: side("R").join("") };
  return { status, state: states.join(" + "), left: side("L").reverse().join(""), head: symbol(signs[ones(`${part} P`).length] ?? "?", run.machine.blank), right: side("R").join("") };
}

export function drawCells(run, moment) {
  const names = coordinates(run), cells = Object.entries(moment.vectors).filter(([name]) => name.startsWith("cell."));
  const detail = element("div", { class: "detail", role: "status" });
  const show = (name) => detail.replaceChildren(...(cells.some(([each]) => each === name) ? channels(run, moment, name, names) : []));
  const rows = cells.map(([name, vector]) => {
    const { status, state, left, head, right } = line(run, vector, names);
    const button = element("button", { "aria-pressed": open === name, onclick: () => {
      open = open === name ? null : name;
      for (const each of body.querySelectorAll("button")) each.setAttribute("aria-pressed", each === button && open !== null);
      show(open);
    } }, name.replace(".", " "));
    return element("tr", status === "here" ? { class: "now" } : {}, element("td", {}, button), element("td", {}, status), element("td", { title: state }, clip(state, 24)),
      element("td", { class: "left" }, clipLeft(left)), element("td", { class: "head" }, head), element("td", {}, clip(right, 20)));
  });
  const body = element("tbody", {}, ...rows);
  const head = ["cell", "encoder", "state", "left stack", "head", "right stack"].map((text) => element("th", { scope: "col" }, text));
  show(open);
  const all = run.reads.symbols.length + 1;
  return element("div", {}, element("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": "The cells, decoded" }, element("table", { class: "lines" }, element("thead", {}, element("tr", {}, ...head)), body)),
    element("p", { class: "quiet" }, "Cell i is the RNN that has read the first i symbols; the last one is the network's answer. Press a cell for its channels and gates."),
    cells.length < all ? element("p", { class: "quiet" }, `${number(cells.length)} of ${number(all)} cells.`) : null, detail);
}

const clipLeft = (text) => ([...text].length > 20 ? `…${[...text].slice(-19).join("")}` : text);

function channels(run, moment, name, names) {
  const nonzero = moment.vectors[name].entries.map(([place, value]) => element("code", { title: run.layout.find(([block]) => block === names[place][0])[2] }, `${label(names[place])} = ${overTime(value, moment.t)}`));
  const gates = ["u", "r"].map((gate) => [gate, moment.gates?.[name.replace("cell", gate)]]).filter(([, found]) => found).map(([gate, { ones, rest }]) =>
    element("p", {}, element("b", {}, gate === "u" ? "update gate u" : "reset gate r"), ` is 1 in ${groups(run, ones) || "no block"}${rest.length ? `; ${rest.map(([at, x]) => `${at} = ${x}`).join(", ")}` : ""}; 0 elsewhere.`));
  return [element("p", {}, element("b", {}, `Channels of ${name.replace(".", " ")} that are not 0: `), ...nonzero.flatMap((each) => [each, " "])), ...gates];
}

// Blocks by their letter, if all of it are there.
function groups(run, ones) {
  const all = run.layout.map(([block]) => block), letters = ["E", "C", "D"].filter((letter) => all.filter((block) => block.startsWith(`${letter} `)).every((block) => ones.includes(block)));
  return [...letters.map((letter) => `all of ${letter}`), ...ones.filter((block) => !letters.includes(block.split(" ")[0]))].join(", ");
}
