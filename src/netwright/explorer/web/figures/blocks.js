// Any network, from its record: its blocks by name with their meanings, and what it attends to.

import { clip, element, number, overTime, symbol } from "../format.js";
import { blocks, coordinates, inBits } from "../stream.js";

const MOST = 4; // numbers of a block that are shown

export function drawBlocks(run, moment) {
  const names = coordinates(run), shown = Object.entries(moment.vectors).filter(([name]) => !/\.[qkv]$/.test(name));
  const rows = shown.map(([name, vector]) => element("div", { class: "says" }, element("span", { class: "quiet" }, name),
    ...[...(vector.names ? new Map() : blocks(vector, names))].map(([block, entries]) => {
      const [, labels, meaning] = run.layout.find(([each]) => each === block);
      const ones = labels.length > 1 && entries.every(([, value]) => value === "1");
      const text = entries.slice(0, MOST).map(([label, value]) => (ones ? clip(symbol(label, run.machine.blank)) : `${labels.length > 1 ? `${clip(label)} ` : ""}${overTime(value, moment.t)}`));
      return element("span", { class: "fact", title: meaning }, element("small", {}, block), " ", element("b", {}, inBits(entries) ?? text.join(", ") + (entries.length > MOST ? `, … ${entries.length}` : "")));
    })));
  const attended = Object.entries(moment.attended ?? {}).filter(([, { winners }]) => winners).map(([name, { winner, winners }]) =>
    element("span", { class: "fact" }, element("small", {}, name), " ", element("b", {}, winner === null ? `${number(winners)} alike` : `→ ${number(winner)}`)));
  if (attended.length) rows.push(element("div", { class: "says" }, element("span", { class: "quiet" }, "attends to"), ...attended));
  return element("div", {}, ...rows);
}
