// Neurons that are 0 or 1, by name: those that are 1 are lit.

import { clip, element, number } from "../format.js";
import { blocks, coordinates } from "../stream.js";

const MOST = 12; // of a block whose neurons at 0 are shown too

export function drawNeurons(run, moment, figure) {
  const vector = Object.values(moment.vectors).at(-1), found = blocks(vector, coordinates(run));
  return element("div", {}, ...figure.blocks.map(([block, about]) => {
    const [, labels, meaning] = run.layout.find(([name]) => name === block), on = new Map(found.get(block) ?? []);
    const shown = labels.length <= MOST ? labels : labels.filter((label) => on.has(label));
    return element("div", { class: "says", title: meaning }, element("span", { class: "quiet" }, `${block}, ${about}: ${number(on.size)} of ${number(labels.length)}`),
      ...shown.map((label) => element("span", { class: on.has(label) ? "fact on" : "fact off" }, element("b", {}, clip(label, 20)), on.has(label) && on.get(label) !== "1" ? element("code", {}, on.get(label)) : null)));
  }));
}
