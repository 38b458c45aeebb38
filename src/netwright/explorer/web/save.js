// A part of the page as a picture: what is drawn is read off the page itself, so every view has one.

import { element, svg } from "./format.js";
import { openDialog } from "./help.js";

const NS = "http://www.w3.org/2000/svg";
const PARTS = [["now", "The tape and the sentence"], ["picture", "The space-time diagram"], ["figures", "What the vectors say"], ["stream", "The numbers"], ["rule", "The rule and the states"]];
const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "font-weight", "text-anchor"];
const isClear = (colour) => /^(transparent|rgba\(.*, 0\))$/.test(colour);
const ruler = new OffscreenCanvas(1, 1).getContext("2d");

// Everything in these elements as one SVG.
function svgOf(elements) {
  const boxes = elements.map((each) => each.getBoundingClientRect());
  const [left, top] = [Math.min(...boxes.map((box) => box.left)), Math.min(...boxes.map((box) => box.top))];
  const [width, height] = [Math.max(...boxes.map((box) => box.right)) - left, Math.max(...boxes.map((box) => box.bottom)) - top];
  const page = getComputedStyle(document.documentElement).backgroundColor;
  const picture = svg("svg", { xmlns: NS, width, height, viewBox: `0 0 ${width} ${height}` }, svg("title", {}, document.title), svg("rect", { width, height, fill: page }));
  for (const each of elements) draw(each, picture, { left, top });
  return new XMLSerializer().serializeToString(picture);
}

function draw(node, picture, origin) {
  const style = getComputedStyle(node), box = node.getBoundingClientRect();
  if (style.display === "none" || style.visibility === "hidden") return;
  const at = { x: box.left - origin.left, y: box.top - origin.top, width: box.width, height: box.height };
  if (node.localName === "canvas") return picture.append(svg("image", { ...at, href: node.toDataURL() }));
  if (node.localName === "svg") return picture.append(styled(node, at));
  frame(style, at, picture);
  const edge = style.overflowX === "visible" ? Infinity : box.right;
  for (const child of node.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) write(child, style, picture, origin, edge);
    else if (child.nodeType === Node.ELEMENT_NODE) draw(child, picture, origin);
  }
  return undefined;
}

// Background, border and outline of a box.
function frame(style, { x, y, width, height }, picture) {
  if (!width || !height) return;
  const rx = Math.min(parseFloat(style.borderTopLeftRadius) || 0, height / 2);
  if (!isClear(style.backgroundColor)) picture.append(svg("rect", { x, y, width, height, rx, fill: style.backgroundColor }));
  const sides = { Top: [0, 0, 1, 0], Right: [1, 0, 1, 1], Bottom: [0, 1, 1, 1], Left: [0, 0, 0, 1] };
  const drawn = Object.entries(sides).map(([side, ends]) => [ends, parseFloat(style[`border${side}Width`]), style[`border${side}Color`], style[`border${side}Style`]]).filter(([, wide, colour]) => wide && !isClear(colour));
  const line = (wide, colour, kind) => ({ fill: "none", stroke: colour, "stroke-width": kind === "double" ? wide / 3 : wide, ...(kind === "dashed" ? { "stroke-dasharray": `${2 * wide} ${wide}` } : kind === "dotted" ? { "stroke-dasharray": wide } : {}) });
  if (drawn.length === 4) picture.append(svg("rect", { x: x + 0.5, y: y + 0.5, width: Math.max(0, width - 1), height: Math.max(0, height - 1), rx, ...line(...drawn[0].slice(1)) }));
  else for (const [[a, b, c, d], ...how] of drawn) picture.append(svg("line", { x1: x + a * width, y1: y + b * height, x2: x + c * width, y2: y + d * height, ...line(...how) }));
  const wide = parseFloat(style.outlineWidth);
  if (style.outlineStyle === "solid" && wide) picture.append(svg("rect", { x: x + wide / 2, y: y + wide / 2, width: Math.max(0, width - wide), height: Math.max(0, height - wide), rx, ...line(wide, style.outlineColor) }));
}

// A text, a line of it after the other; what does not fit ends with an ellipsis.
function write(node, style, picture, origin, edge) {
  const range = document.createRange(), lines = [];
  for (let n = 0; n < node.length; n++) {
    range.setStart(node, n);
    range.setEnd(node, n + 1);
    const box = range.getClientRects()[0], last = lines.at(-1);
    if (!box || !box.width) continue;
    if (last && Math.abs(last.box.top - box.top) < 2) last.text += box.right > edge + 1 ? "" : node.data[n];
    else lines.push({ text: node.data[n], box });
    if (box.right > edge + 1) lines.at(-1).cut = true;
  }
  ruler.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const rise = ruler.measureText("x").fontBoundingBoxAscent;
  for (const { text, box, cut } of lines) {
    picture.append(svg("text", {
      x: box.left - origin.left, y: box.top - origin.top + rise, fill: style.color, "font-family": style.fontFamily, "font-size": style.fontSize, "font-weight": style.fontWeight,
      "xml:space": "preserve", ...(style.textDecorationLine === "none" && node.parentNode.localName !== "s" ? {} : { "text-decoration": "line-through" }),
    }, cut ? `${text.slice(0, -1)}…` : text));
  }
}

// A drawing of the page, with the styles that it has there.
function styled(node, at) {
  const copy = node.cloneNode(true), from = [node, ...node.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((each, n) => {
    const style = getComputedStyle(from[n]);
    for (const name of KEPT) each.setAttribute(name, style.getPropertyValue(name));
    each.removeAttribute("class");
  });
  for (const [name, value] of Object.entries(at)) copy.setAttribute(name, value);
  copy.setAttribute("overflow", "visible");
  return copy;
}

async function png(text) {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = new OffscreenCanvas(2 * image.width, 2 * image.height);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob();
}

export function showSave(run, t) {
  const shown = PARTS.filter(([id]) => !document.getElementById(id).hidden);
  const save = async (ids, kind) => {
    const text = svgOf(ids.map((id) => document.getElementById(id)));
    const blob = kind === "png" ? await png(text) : new Blob([text], { type: "image/svg+xml" });
    const link = element("a", { href: URL.createObjectURL(blob), download: `${run.name || "machine"}-${run.kind}-${t}-${ids.length > 1 ? "page" : ids[0]}.${kind}` });
    link.click();
    URL.revokeObjectURL(link.href);
  };
  const row = (ids, name) => element("li", {}, `${name} `, ...["svg", "png"].flatMap((kind) => [element("button", { onclick: () => save(ids, kind), "aria-label": `${name} as ${kind.toUpperCase()}` }, kind.toUpperCase()), " "]));
  openDialog(element("h2", {}, "Save a picture"), element("ul", { class: "demos saves" }, row(shown.map(([id]) => id), "All of them"), ...shown.map(([id, name]) => row([id], name))),
    element("p", { class: "quiet" }, "As it is shown here. netwright draw makes pictures from the command line."));
}
