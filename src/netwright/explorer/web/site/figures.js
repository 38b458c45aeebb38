// The pictures of the walk, from what the network's vectors say.

import { element, svg } from "../format.js";

const ARROWS = { L: "←", R: "→", S: "·" };
export const SIDES = { L: "left", R: "right", S: "nowhere" };

// A letter in words: a reader of the walk has not seen a sign for an empty cell.
export const letterOf = (letter, blank) => (letter === blank ? "empty" : letter);

// The coordinates of a vector that are not 0, by block: the label and the exact number of each.
export function blocks(run, moment, vector) {
  const names = run.layout.flatMap(([block, labels]) => labels.map((label) => [block, label]));
  const found = {};
  for (const [place, number] of moment.vectors[vector].entries) {
    const [block, label] = names[place];
    (found[block] ??= []).push([label, number]);
  }
  return found;
}

// What a token says: its state, the symbol that it reads, the move that led to it.
export function said(run, moment) {
  const { q1, s1, x1 } = blocks(run, moment, "decoder.1.input");
  return { state: q1?.[0][0], symbol: s1?.[0][0], move: { 1: "R", "-1": "L" }[x1?.[0][1]] };
}

// A slider over times with buttons; `draw` is called with each, and at once. `from` is where they
// are counted from.
export function stepper(place, { first, last, at, name, draw, keep, from = 0 }) {
  const shown = element("output", {}), slider = element("input", { type: "range", min: first, max: last, "aria-label": name });
  const picture = element("div", { class: "picture" });
  let t = Math.max(first, Math.min(last, at)), timer = null;
  const stop = () => { clearInterval(timer); timer = null; play.textContent = "Play"; };
  const go = (to) => {
    t = Math.max(first, Math.min(last, to));
    slider.value = t;
    shown.textContent = `${name} ${t - from}`;
    slider.setAttribute("aria-valuetext", shown.textContent);
    back.disabled = t === first;
    on.disabled = t === last;
    if (t === last) stop();
    keep(t);
    draw(picture, t);
    const wide = picture.querySelector(".space-time")?.parentElement; // on a phone it scrolls
    if (wide) wide.scrollLeft = (wide.scrollWidth * t) / last - wide.clientWidth * 0.75;
  };
  const back = element("button", { onclick: () => { stop(); go(t - 1); } }, "Back"), on = element("button", { onclick: () => { stop(); go(t + 1); } }, "Step");
  const play = element("button", { onclick: () => {
    if (timer) return stop();
    play.textContent = "Pause";
    if (t === last) go(first);
    timer = setInterval(() => go(t + 1), 900);
    return undefined;
  } }, "Play");
  slider.addEventListener("input", () => { stop(); go(Number(slider.value)); });
  place.replaceChildren(picture, element("div", { class: "row stepper" }, back, on, play, slider, shown));
  go(t);
  return stop;
}

// The table of rules, the one that is applied lit.
export function ruleTable(rules, blank, now) {
  const head = ["state", "reads", "writes", "moves", "new state"].map((name) => element("th", { scope: "col" }, name));
  const rows = rules.map(([state, read, next, write, move]) => element("tr", now && now.state === state && now.symbol === read ? { class: "now" } : {},
    ...[state, letterOf(read, blank), letterOf(write, blank), `${ARROWS[move]} ${SIDES[move]}`, next].map((cell) => element("td", {}, cell))));
  return element("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": "The rules" },
    element("table", { class: "rules" }, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)));
}

// A token as a card.
export function card(number, { state, symbol: read, move }, blank, kind = "") {
  return element("li", { class: `token ${kind}` }, element("small", {}, `token ${number}`), element("b", {}, state ?? "no state"),
    element("span", {}, read === undefined ? "no letter" : `reads ${letterOf(read, blank)}`), element("span", {}, move ? `came ${ARROWS[move]}` : number === 1 ? "began" : "no move"));
}

// Time to the right, places downwards: what is in each cell at each token, and the head's path; `look`
// is [place, token]: an arrow from place `look[0]` at time t + 1 back to the token.
export function spaceTime(run, moments, t, look) {
  const size = 26, left = 52, top = 24, lowest = -1, highest = run.input.length, last = run.last;
  const x = (time) => left + (time - 0.5) * size, y = (cell) => top + (cell - lowest + 0.5) * size;
  const width = left + (last + 0.5) * size, height = top + (highest - lowest + 1) * size + 22;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "space-time", role: "img", "aria-label": `The tape at tokens 1 to ${t}${look ? `, and an arrow from token ${t} back to token ${look[1]}` : ""}` });
  const text = (at, words, kind, anchor = "middle") => {
    const made = svg("text", { x: at[0], y: at[1], "text-anchor": anchor, class: kind });
    made.textContent = words;
    picture.append(made);
  };
  text([4, top - 9], "place", "axis", "start");
  text([x(1), height - 5], "token 1", "axis");
  text([x(last), height - 5], `${last}`, "axis");
  if (t > 3 && t < last - 1) text([x(t), height - 5], `${t}`, "axis");
  for (let cell = lowest; cell <= highest; cell++) for (const [at, anchor] of [[left - 10, "end"], [x(t) + size / 2 + 18, "start"]]) text([at, y(cell) + 5], `${cell + 1}`, "axis", anchor); // at t, too, for a phone
  for (let time = 1; time <= t; time++) {
    const { tape, head } = moments[time];
    for (let cell = lowest; cell <= highest; cell++) {
      const letter = tape.cells[cell - tape.first], is = cell === head ? " head" : "";
      picture.append(svg("rect", { x: x(time) - size / 2, y: y(cell) - size / 2, width: size, height: size, class: `cell-${letter === run.machine.blank ? "blank" : "full"}${is}` }));
      if (letter !== run.machine.blank) text([x(time), y(cell) + 5], letter, `letter${is}`);
    }
  }
  if (look) {
    const [cell, token] = look;
    picture.append(svg("path", { d: `M${x(t) + size / 2 + 10} ${y(cell) + 10}H${x(token) + 5}`, class: "look" }),
      svg("circle", { cx: x(token), cy: y(cell), r: 11, class: "look" }));
  }
  return element("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": "The tape over time" }, picture);
}

// The numbers of a token, one square each; those that are not 0 are lit and named.
export function numbers(run, moment, vector) {
  const names = run.layout.flatMap(([block, labels]) => labels.map((label) => [block, label])), found = new Map(moment.vectors[vector].entries);
  return element("ol", { class: "numbers", "aria-label": `The ${names.length} numbers of this token; ${found.size} are not 0` },
    ...names.map(([block, label], place) => element("li", { class: found.has(place) ? "lit" : "", title: { q1: `state ${label}`, s1: `reads ${letterOf(label, run.machine.blank)}`, x1: "move" }[block] ?? "" }, (found.get(place) ?? "0").replace("-", "−"))));
}
