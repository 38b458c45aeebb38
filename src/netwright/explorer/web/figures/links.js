// The tape as linked visits: a pointer to the last visit of the cell to the right, one to the left; the token
// of a visit has the same two pointers, and so they reach every cell.

import { element, number, svg } from "../format.js";
import { blocks, coordinates } from "../stream.js";
import { pointed } from "./decoded.js";
import { tapeRow } from "./row.js";

// The links to one side as [from cell, to cell, token, kind]: the network's own pointer is `own`, that of the
// token looked up is `found`, and the rest are the last visits of the machine's run.
function chain(run, moment, figure, side) {
  const step = side === "R" ? 1 : -1, names = coordinates(run), { vectors, head, tape } = moment;
  const number = (vector, block) => pointed(blocks(vectors[vector], names).get(block)?.[0][1] ?? "");
  const own = number(figure.vector, side), isFound = moment.next === head + step;
  const visit = (cell) => tape.visits[cell - tape.first] ?? null;
  const links = [[head, head + step, own, "own"]];
  if (own === null || own === 1 && visit(head + step) !== 1) return links;
  for (let cell = head + 2 * step; visit(cell) !== null; cell += step) {
    const second = links.length === 1 && isFound ? number(figure.found, side + side) : null;
    links.push([cell - step, cell, second ?? visit(cell), second === null ? "seen" : "found"]);
  }
  return links;
}

export function drawLinks(run, moment, figure, width) {
  if (moment.t < run.lead || !moment.tape) return element("p", { class: "quiet" }, "The machine has not started.");
  const { picture, x, text, draw, first, last } = tapeRow(run, moment, width, 122);
  draw(52);
  const ago = moment.t >= 10000; // large numbers of tokens have no room below a cell
  const said = [], visit = (cell) => moment.tape.visits[cell - moment.tape.first];
  for (const side of ["L", "R"]) {
    for (const [from, to, token, kind] of chain(run, moment, figure, side)) {
      if (to < first || to > last) break;
      const [a, b] = [x(from), x(to)], isNull = kind === "own" && token === 1 && visit(to) !== 1, isWrong = kind !== "seen" && !isNull && token !== visit(to) && !(visit(to) === null && token < run.lead); // a prompt lays the input down
      picture.append(svg("path", { d: `M${a} 50 Q${(a + b) / 2} ${kind === "own" ? 6 : 24} ${b} 50`, class: `link ${side} ${kind}${isNull ? " null" : ""}${isWrong ? " bad" : ""}` }, svg("title", {}, `${side}: cell ${number(to)} → ${token === null ? "none" : number(token)}`)));
      const words = isNull ? "NULL" : token === null ? "none" : number(ago ? token - moment.t : token);
      text(b, 94, words, isWrong ? "small bad" : `small ${kind}`);
      if (kind === "own") {
        text((a + b) / 2, 16, side, `small own ${side}`);
        said.push(`${side} points to ${isNull ? "NULL: that cell is fresh" : token === null ? "no token" : `token ${number(token)}`}`);
      }
    }
  }
  text(x(moment.head), 94, ago ? "t" : `t = ${number(moment.t)}`, "small");
  text(x(first) - 16, 114, `below each cell: its last visit${ago ? ", in tokens before t" : ""}.`, "small dim", "start");
  picture.setAttribute("aria-label", `The tape with its links: ${said.join("; ")}.`);
  return element("div", {}, picture, element("p", { class: "quiet" }, "A pointer names the last token on the next cell to the right (R) or to the left (L). Thick: the two of this token. Dashed: the next one, which the token that is looked up has."));
}

// The same links as arcs on the space-time diagram, [time, cell, time, cell, side, kind].
export function arcs(run, moment) {
  const figure = run.view.figures.find((each) => each.arcs);
  if (!figure || !moment.vectors || moment.t < run.lead || !moment.tape) return [];
  return ["L", "R"].flatMap((side) => {
    let t = moment.t;
    const isNull = ([, to, token, kind]) => kind === "own" && token === 1 && moment.tape.visits[to - moment.tape.first] !== 1;
    return chain(run, moment, figure, side).filter((each) => each[2] !== null && !isNull(each)).map(([from, to, token, kind]) => {
      const found = [t, from, token, to, side, kind];
      t = token;
      return found;
    });
  });
}
