// The cells of a Neural GPU, a decoded line each; the channels and gates of one of them on demand.

import { clip, element, number, overTime, symbol } from "../format.js";
import { blocks, coordinates } from "../stream.js";
import { symbols } from "./decoded.js";

let open = null; // the cell whose channels are shown

const label = ([block, name]) => (name === "" ? block : `${block}[${name}]`);

// Blocks have a letter in front where an encoder brings the input: E, C and D.
function line(run, vector, names) {
  const found = blocks(vector, names), ones = (block) => (found.get(block) ?? []).map(([name]) => name), signs = symbols(run);
  const lettered = run.layout.some(([block]) => block === "E S"), comes = found.has("a"), here = found.has(lettered ? "b" : "f") && !comes, own = lettered ? (here ? "E " : "D ") : "";
  const status = found.has("e") ? "end marker" : comes ? "to come" : lettered ? (here ? "here" : "passed") : here ? "comes" : "all there";
  if (comes) {
    const place = ones("E e")[0];
    return { status, state: place ? `reads ${symbol(signs[Number(place)], run.machine.blank)}` : "reads the end", left: "", head: "", right: "" };
  }
  const digits = new Map(), states = ones(`${own}S`), stack = (block) => (block.startsWith(own) ? block.slice(own.length) : "");
  for (const [place] of vector.entries) if (vector.digits[place] && stack(names[place][0])) digits.set(stack(names[place][0]), vector.digits[place]);
  const tape = (block) => (digits.get(block) ?? []).map((digit) => symbol(signs[digit] ?? "?", run.machine.blank));
  const side = (letter) => (digits.has(`${letter}pop`) ? tape(`${letter}pop`).slice(1) : tape(`${letter}push`).concat(tape(`${letter}stay`)));
  const state = states.join(" + ") || (!lettered && here ? "not yet" : "halted");
  return { status, state, left: side("L").reverse().join(""), head: states.length ? symbol(signs[ones(`${own}P`).length] ?? "?", run.machine.blank) : "", right: side("R").join("") };
}

export function drawCells(run, moment, figure) {
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
  const head = ["cell", figure.phase, "state", "left", "head", "right"].map((text) => element("th", { scope: "col" }, text));
  show(open);
  const all = run.reads.symbols.length + 1;
  return element("div", {}, element("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": "The cells, decoded" }, element("table", { class: "lines" }, element("thead", {}, element("tr", {}, ...head)), body)),
    element("p", { class: "quiet" }, `${figure.says} The last one is the network's answer. Left and right are its stacks. Press a cell for its channels and gates.`),
    cells.length < all ? element("p", { class: "quiet" }, `${number(cells.length)} of ${number(all)} cells.`) : null, detail);
}

const clipLeft = (text) => ([...text].length > 20 ? `…${[...text].slice(-19).join("")}` : text);

function channels(run, moment, name, names) {
  const nonzero = moment.vectors[name].entries.map(([place, value]) => element("code", { title: run.layout.find(([block]) => block === names[place][0])[2] }, `${label(names[place])} = ${overTime(value, moment.t)}`));
  const gates = ["u", "r"].map((gate) => [gate, moment.gates?.[name.replace("cell", gate)]]).filter(([, found]) => found).map(([gate, { ones, rest }]) =>
    element("p", {}, element("b", {}, gate === "u" ? "update gate u" : "reset gate r"), ` is 1 in ${groups(run, ones) || "no block"}${rest.length ? `; ${rest.map(([at, x]) => `${at} = ${x}`).join(", ")}` : ""}${ones.length === run.layout.length ? "" : "; 0 elsewhere"}.`));
  return [element("p", {}, element("b", {}, `Channels of ${name.replace(".", " ")} that are not 0: `), ...nonzero.flatMap((each) => [each, " "])), ...gates];
}

// Blocks by their letter, if all of it are there.
function groups(run, ones) {
  const all = run.layout.map(([block]) => block), letters = ["E", "C", "D"].filter((letter) => all.includes(`${letter} S`) && all.filter((block) => block.startsWith(`${letter} `)).every((block) => ones.includes(block)));
  if (ones.length === all.length) return "every block";
  return [...letters.map((letter) => `all of ${letter}`), ...ones.filter((block) => !letters.includes(block.split(" ")[0]))].join(", ");
}
