// The rule that is applied, and the machine's states as a graph, or the rules around it.

import { clip, element, svg, symbol } from "./format.js";

const MOST_STATES = 12;

export function drawRule(run, moment) {
  const section = document.getElementById("rule"), rule = moment.rule, machine = run.machine;
  const show = (s) => clip(symbol(s, machine.blank), 16), name = (q) => clip(q, 16);
  section.querySelector("h2").textContent = !rule ? "δ"
    : rule.next === null ? `δ(${name(rule.state)}, ${show(rule.symbol)}) has no rule`
      : `δ(${name(rule.state)}, ${show(rule.symbol)}) = (${name(rule.next)}, ${show(rule.write)}, ${rule.move})`;
  const place = document.getElementById("graph");
  place.replaceChildren(machine.states.length <= MOST_STATES ? graph(machine, rule) : rules(machine, rule, show));
}

function graph(machine, rule) {
  const [width, height] = [336, 250], radius = 88, count = machine.states.length;
  const at = new Map(machine.states.map((name, n) => {
    const angle = (2 * Math.PI * n) / count - Math.PI / 2;
    return [name, [width / 2 + radius * Math.cos(angle), height / 2 + radius * Math.sin(angle), angle]];
  }));
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `The ${count} states of the machine${rule ? `, now ${rule.state}${rule.next ? `, next ${rule.next}` : ""}` : ""}` });
  picture.append(svg("defs", {}, ...["arrow", "arrow-now"].map((id) => svg("marker", { id, viewBox: "0 0 6 6", refX: 5, refY: 3, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0 0 6 3 0 6z", class: id })))));
  const seen = new Map();
  for (const [from, , to] of machine.rules) seen.set(`${from}\n${to}`, [from, to]);
  const now = rule?.next ? `${rule.state}\n${rule.next}` : "";
  for (const [key, [from, to]] of [...seen].sort(([a], [b]) => (a === now) - (b === now))) {
    const [x0, y0, angle] = at.get(from), [x1, y1] = at.get(to), current = key === now ? " now" : "";
    let d;
    if (from === to) {
      const [ux, uy] = [Math.cos(angle), Math.sin(angle)];
      const [bx, by] = [x0 - ux * 26, y0 - uy * 26];
      d = `M${x0 - ux * 7 - uy * 5} ${y0 - uy * 7 + ux * 5} Q${bx - uy * 16} ${by + ux * 16} ${bx} ${by} Q${bx + uy * 16} ${by - ux * 16} ${x0 - ux * 9 + uy * 5} ${y0 - uy * 9 - ux * 5}`;
    } else {
      const [dx, dy] = [x1 - x0, y1 - y0], length = Math.hypot(dx, dy), bend = 0.12 * length;
      const [cx, cy] = [(x0 + x1) / 2 - (dy / length) * bend, (y0 + y1) / 2 + (dx / length) * bend];
      const [tx, ty] = [x1 - cx, y1 - cy], far = Math.hypot(tx, ty);
      d = `M${x0} ${y0} Q${cx} ${cy} ${x1 - (tx / far) * 12} ${y1 - (ty / far) * 12}`;
    }
    picture.append(svg("path", { d, class: `edge${current}`, "marker-end": `url(#${current ? "arrow-now" : "arrow"})` }));
  }
  for (const name of machine.states) {
    const [x, y, angle] = at.get(name), accepting = machine.accepting.includes(name);
    picture.append(svg("circle", { cx: x, cy: y, r: 8.5, class: `state${rule?.state === name ? " now" : ""}${accepting ? " accepting" : ""}` }));
    const anchor = Math.abs(Math.cos(angle)) < 0.3 ? "middle" : Math.cos(angle) > 0 ? "start" : "end";
    const label = svg("text", { x: x + 13 * Math.cos(angle), y: y + 15 * Math.sin(angle) + 4, "text-anchor": anchor, class: rule?.state === name ? "now" : "" });
    label.textContent = clip(name, 10);
    label.append(svg("title", {}, name));
    picture.append(label);
  }
  return picture;
}

function rules(machine, rule, show) {
  const place = machine.rules.findIndex(([q, s]) => q === rule?.state && s === rule?.symbol);
  const first = Math.max(0, Math.min(machine.rules.length - 15, place - 7));
  const body = machine.rules.slice(first, first + 15).map(([q, s, next, write, move], n) =>
    element("tr", first + n === place ? { class: "now" } : {}, ...[q, show(s), show(write), move, next].map((cell) => element("td", { title: cell }, cell))));
  const head = ["state", "read", "write", "move", "next"].map((name) => element("th", { scope: "col" }, name));
  const more = machine.rules.length > 15 ? `${machine.states.length} states; rules ${first + 1} to ${Math.min(machine.rules.length, first + 15)} of ${machine.rules.length}` : "";
  return element("div", {}, element("table", { class: "rules" }, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body)), element("p", { class: "quiet" }, more));
}
