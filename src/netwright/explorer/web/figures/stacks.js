// The stacks of an RNN: their digits under the cells that they hold, and each number in nested intervals.

import { about, element, svg } from "../format.js";
import { coordinates } from "../stream.js";
import { symbols } from "./decoded.js";
import { tapeRow } from "./row.js";

const LEVELS = 4, WIDE = 300, HIGH = 30;

const base = (run) => run.options.base ?? String(run.machine.symbols.length + 1);

// The stacks that are not 0: [block, offset, direction, exact text, digits].
function full(run, moment, figure) {
  const vector = Object.values(moment.vectors).at(-1), names = coordinates(run);
  const of = (block) => vector.entries.find(([place]) => names[place][0] === block);
  return figure.stacks.flatMap((stack) => { const entry = of(stack[0]); return entry ? [[...stack, entry[1], vector.digits[entry[0]]]] : []; });
}

export function drawStacks(run, moment, figure, width) {
  const stacks = full(run, moment, figure), reads = moment.t < run.lead;
  const { picture, x, text, draw, first } = tapeRow(run, moment, width, 74), names = symbols(run);
  draw(2);
  const at = reads ? 0 : moment.head; // while the input is read, the stack grows from cell 0
  for (const [, offset, step, , digits] of stacks) {
    digits.forEach((digit, n) => {
      const cell = at + offset + n * step, place = x(cell);
      if (place === null) return;
      const right = moment.tape.cells[cell - moment.tape.first] === names[digit];
      text(place, 46, String(digit), `mono ${right ? step > 0 ? "R" : "L" : "bad"}`);
    });
  }
  text(x(first) - 16, 66, `digits: ${names.slice(0, 8).map((s, n) => `${n} = ${s === run.machine.blank ? "␣" : s}`).join(", ")}${names.length > 8 ? ", …" : ""}`, "small dim", "start");
  picture.setAttribute("aria-label", `The tape with the digits of the stacks: ${stacks.map(([block, , , , digits]) => `${block} ${digits.join(" ")}`).join("; ") || "all are 0"}`);
  const nested = [["left", -1], ["right", 1]].map(([side, step]) => {
    const stack = stacks.find((each) => each[2] === step);
    if (!stack) return element("figure", {}, element("figcaption", {}, `The ${side} stack is 0: only blanks are there.`));
    const [block, , , exact, digits] = stack;
    return element("figure", {}, intervals(stack, names, base(run)), element("figcaption", {}, `The ${side} stack, `,
      element("b", {}, block), " = ", element("span", { class: "number", title: exact }, about(exact)), ` = 0.${digits.slice(0, 14).join(names.length > 10 ? " " : "")}${digits.length > 14 ? "…" : ""} in base ${base(run)}`));
  });
  return element("div", {}, picture, element("div", { class: "nested" }, ...nested));
}

// A row for each digit: an interval for every symbol, with gaps, and the chosen one widened into the next row.
// Stacks are at most τ = (k − 1)/(B − 1), which is the whole width.
function intervals([block, , step, , digits], names, base) {
  const shown = digits.slice(0, LEVELS), [top, bottom = "1"] = base.split("/"), size = top / bottom;
  const each = (WIDE * (size - 1)) / (names.length - 1) / size, wide = WIDE / size; // from one interval to the next; its width
  const height = shown.length * HIGH - 6, picture = svg("svg", { viewBox: `0 0 ${WIDE + 4} ${height}`, width: WIDE + 4, height, role: "img", "aria-label": `${block} in nested intervals: ${shown.join(", then ")}` });
  shown.forEach((chosen, level) => {
    const y = 2 + level * HIGH;
    names.forEach((_, digit) => {
      const left = 2 + each * digit, lit = digit === chosen;
      picture.append(svg("rect", { x: left, y, width: wide, height: 18, class: lit ? `box lit ${step > 0 ? "R" : "L"}` : "box" }));
      if (wide > 10) picture.append(svg("text", { x: left + wide / 2, y: y + 13, "text-anchor": "middle", class: lit ? "small lit" : "small dim" }, String(digit)));
      if (lit && level < shown.length - 1) picture.append(svg("path", { d: `M${left} ${y + 18}L2 ${y + HIGH}M${left + wide} ${y + 18}L${2 + WIDE} ${y + HIGH}`, class: "zoom" }));
    });
  });
  return picture;
}
