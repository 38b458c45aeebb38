// A row of the tape's cells as SVG, for pictures below which or in which something is drawn.

import { clip, svg, symbol } from "../format.js";

const CELL = 44;

// The row, as wide as there is room; `x` is the middle of a cell, null outside.
export function tapeRow(run, moment, width, height) {
  const most = Math.min(15, Math.max(5, Math.floor((width - 12) / CELL)));
  const side = (most - 1) >> 1, whole = (2 * side + 1) * CELL + 12;
  const picture = svg("svg", { viewBox: `0 0 ${whole} ${height}`, width: whole, height, role: "img" });
  const first = moment.head - side, last = moment.head + side;
  const x = (cell) => (cell < first || cell > last ? null : 6 + (cell - first + 0.5) * CELL);
  const text = (at, y, words, kind = "", anchor = "middle") => picture.append(svg("text", { x: at, y, class: kind, "text-anchor": anchor }, words));
  const draw = (y) => {
    for (let cell = first; cell <= last; cell++) {
      const name = moment.tape.cells[cell - moment.tape.first], head = cell === moment.head;
      picture.append(svg("rect", { x: x(cell) - CELL / 2, y, width: CELL, height: 26, class: head ? "box head" : "box" }));
      text(x(cell), y + 18, clip(symbol(name, run.machine.blank), 4), head ? "mono head" : name === run.machine.blank ? "mono dim" : "mono");
    }
  };
  return { picture, x, text, draw, first, last };
}
