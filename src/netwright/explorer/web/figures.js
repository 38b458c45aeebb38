// The pictures of a moment that its kind's view names: each is drawn by a module of figures/.

import { element } from "./format.js";
import { drawBlocks } from "./figures/blocks.js";
import { drawCards } from "./figures/cards.js";
import { drawCells } from "./figures/cells.js";
import { drawDecoded } from "./figures/decoded.js";
import { drawLinks } from "./figures/links.js";
import { drawNeurons } from "./figures/neurons.js";
import { drawStacks } from "./figures/stacks.js";

const DRAW = { blocks: drawBlocks, cards: drawCards, cells: drawCells, decoded: drawDecoded, links: drawLinks, neurons: drawNeurons, stacks: drawStacks };

export function drawFigures(place, run, moment) {
  const { figures } = run.view;
  place.hidden = !figures.length;
  place.classList.toggle("waits", !moment.vectors); // they keep their room until the vectors are there
  if (!moment.vectors) return;
  place.replaceChildren(...figures.map((figure) => element("div", { class: `figure ${figure.draw}` },
    element("h2", {}, figure.title ?? "What the vectors say"), DRAW[figure.draw](run, moment, figure, place.clientWidth - 22))));
}
