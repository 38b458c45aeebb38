// The neighbourhood of t: the tape, the head's path, and an attention drawn on it.

import { element, about, clip, number, signed, symbol } from "./format.js";
import { cased, fit, ink, paint, scale } from "./diagram.js";
import { arcs } from "./figures/links.js";

const TOP = 22, BOTTOM = 14; // pixels above and below the tape
const SMALL = "11px ui-monospace, monospace";

export class Picture {
  constructor(section, go) {
    this.go = go;
    this.canvas = section.querySelector("canvas");
    this.title = section.querySelector("h2");
    this.scores = section.querySelector(".scores");
    this.legend = section.querySelector(".legend");
    this.canvas.addEventListener("click", (event) => {
      if (this.marks) go(this.target(event));
    });
    this.canvas.addEventListener("mousemove", (event) => {
      if (!this.marks) return;
      const t = this.target(event);
      this.canvas.title = `${this.run.view.columns.length ? this.run.view.moment : "time"} ${number(t)}; click to go there`;
    });
  }

  // The token under the pointer; snaps to the winner and the runner-up.
  target({ offsetX, offsetY }) {
    const x = offsetX - this.marks.left, y = offsetY - TOP;
    for (const [t, atX, atY] of this.marks.places) {
      if (Math.abs(x - atX) < 14 && Math.abs(y - atY) < 14) return t;
    }
    return this.marks.t(x);
  }

  show(run, source) {
    Object.assign(this, { run, source, diagram: null, asked: null, moment: null });
    const { symbols, blank } = run.machine, others = symbols.filter((s) => s !== blank);
    this.legend.replaceChildren(...(others.length > 12 ? [] : [blank, ...others].map((s, n) => {
      const shade = element("i");
      shade.style.setProperty("--shade", `${n ? Math.round((100 * (n + 1)) / (others.length + 1)) : 0}%`);
      return element("span", {}, shade, clip(symbol(s, blank), 12));
    })));
  }

  // A window around t and the token it attends to; the old one while both fit it well.
  window(t, back) {
    const { lead, last } = this.run;
    const need = Math.max(40, Math.ceil((t - back + 1) * 1.3));
    const old = this.asked;
    if (old && back >= old.from && t + 1 < old.to - (old.to - old.from) / 50 && old.to - old.from <= 4 * need) return old;
    const size = Math.min(Math.ceil(need * 1.5), last + 1 - lead);
    const from = Math.max(lead, Math.min(back - Math.floor((size - (t - back)) / 3), last + 1 - size));
    return { from, to: from + size };
  }

  // The size has changed: what was asked for has another number of columns.
  resize() {
    this.asked = null;
    if (this.moment) this.draw(this.moment);
  }

  async draw(moment) {
    if (moment.t !== this.moment?.t) this.other = null;
    this.moment = moment;
    this.title.textContent = this.words(moment);
    this.write(moment);
    if (!this.canvas.clientWidth) return; // not laid out yet: `resize` draws it
    const t = Math.max(moment.t, this.run.lead);
    const back = Math.max(this.run.lead, Math.min(t, moment.attention?.winner ?? t - 30));
    const wanted = this.window(t, back);
    if (wanted !== this.asked) {
      this.asked = wanted;
      const columns = Math.min(this.canvas.clientWidth, wanted.to - wanted.from);
      const found = await this.source.diagram({ ...wanted, columns, rows: 150, fit: 1 }, "picture").catch(() => null);
      if (this.asked !== wanted) return;
      if (!found) { this.asked = null; return; }
      this.diagram = found;
    }
    // The newest moment: it may have come while its diagram, asked for by an older one, had not.
    if (this.diagram) this.paint(this.moment);
  }

  // What a broken twin attends to at this time, drawn where it is another token.
  twin(moment) {
    this.other = moment && moment.t === this.moment?.t ? moment.attention : null;
    if (this.diagram && this.moment) this.paint(this.moment);
  }

  // The tape between two axes: cells to the left, times below; t stands above it.
  paint(moment) {
    const { diagram, canvas } = this, t = Math.max(moment.t, this.run.lead);
    if (!canvas.clientWidth || t < diagram.start || t >= diagram.stop) return; // another is coming
    const { context, ...whole } = fit(canvas);
    context.font = SMALL;
    const cells = [diagram.first, diagram.last].map(number);
    const left = Math.max(...["cell ↓", ...cells].map((text) => context.measureText(text).width)) + 6;
    const width = Math.max(1, whole.width - left), height = Math.max(1, whole.height - TOP - BOTTOM);
    axes(context, diagram, cells, left, width, height);
    context.translate(left, TOP);
    paint(context, diagram, width, height);
    const at = scale(diagram, width, height);
    const centre = (time) => at.x(time) + at.perTime / 2;
    const row = (cell) => at.y(cell) + at.perCell / 2;
    const early = moment.t < this.run.lead, now = early ? 0 : centre(t);
    this.marks = { t: at.t, places: [], left };
    context.setLineDash([4, 4]);
    line(context, now, 0, now, height, "--text", 1.5);
    context.setLineDash([]);
    context.save();
    context.beginPath();
    context.rect(0, 0, width, height); // an arc may come from before the picture
    context.clip();
    for (const [time, cell, to, next, side, kind] of arcs(this.run, moment)) link(context, [centre(time), row(cell)], [centre(to), row(next)], `--layer-${side === "R" ? 1 : 2}`, kind === "own" ? 2.5 : 1);
    context.restore();
    const found = moment.attention;
    let below = true;
    if (found && found.winner !== null && found.winner >= diagram.start && found.cell !== null) {
      const y = row(found.cell), second = found.second === null || found.second_cell === null ? null : row(found.second_cell);
      if (second !== null) this.mark(context, centre(found.second), second, found.second, "--second", true);
      line(context, centre(found.winner), y, centre(t + (found.winner === moment.t ? 0 : 1)), y, "--layer-3", 4);
      this.mark(context, centre(found.winner), y, found.winner, "--layer-3");
      // Below, unless there is no room or the runner-up is there.
      below = y < height - 30 && !(second > y && second < y + 36) || y < 30;
      label(context, `${this.run.view.moment} ${number(found.winner)}`, centre(found.winner), y + (below ? 18 : -18), width, "--layer-3");
    }
    const wrong = this.other;
    if (found && wrong && wrong.winner !== null && wrong.winner !== found.winner && wrong.winner >= diagram.start && wrong.cell !== null) {
      const y = row(wrong.cell) + (wrong.cell === found.cell ? (below ? -7 : 7) : 0); // beside the right line
      line(context, centre(wrong.winner), y, centre(t + 1), y, "--bad", 4);
      this.mark(context, centre(wrong.winner), y, wrong.winner, "--bad");
      label(context, `✗ token ${number(wrong.winner)}`, centre(wrong.winner), Math.max(10, y + (below ? -18 : 18)), width, "--bad");
    }
    label(context, early ? `t = ${number(moment.t)}, before this` : `t = ${number(t)}`, now, -TOP / 2, width, "--text");
    canvas.setAttribute("aria-label", this.words(moment));
  }

  words(moment) {
    const found = moment.attention;
    if (moment.t < this.run.lead) return `Tape and head from t = ${number(this.run.lead)} on, when the machine starts`;
    if (!found) return `Tape and head around time ${number(moment.t)}`;
    const where = this.run.view.drawing, token = this.run.view.moment;
    if (moment.next === null) return `${where}: the machine has halted, so there is no next cell`;
    if (found.winner === null) return found.winners ? `${where}: ${number(found.winners)} ${token}s have the best score` : `${where}: cell ${number(moment.next)} is fresh`;
    if (found.null) return `${where}: token ${number(moment.t)} follows NULL to token 1, for cell ${number(moment.next)} is fresh`;
    return found.winner === moment.t
      ? `${where}: ${token} ${number(moment.t)} attends to itself, for cell ${number(moment.next)} is fresh`
      : `${where}: ${token} ${number(moment.t)} attends to ${token} ${number(found.winner)}, the last on cell ${number(found.cell ?? moment.next)}`;
  }

  // The scores; the tokens that are marked in the picture are buttons here.
  write(moment) {
    const found = moment.attention;
    this.scores.replaceChildren();
    if (!found || found.score === null) return;
    const exact = (text) => element("span", { class: "number", title: `exactly ${signed(text)}`, tabindex: 0 }, about(text));
    const token = (t) => element("button", { class: "to", onclick: () => this.go(t), "aria-label": `Go to token ${number(t)}` }, `token ${number(t)}`);
    const best = found.winner === null ? `${number(found.winners)} tokens alike` : token(found.winner);
    this.scores.append(`Scores ${this.run.view.score}: `, best, " ", exact(found.score));
    if (found.second === null) return;
    const where = found.second_cell === null ? "" : ` on cell ${number(found.second_cell)}`;
    this.scores.append("; second, ", token(found.second), where, " ", exact(found.second_score ?? found.score));
    if (found.margin !== null) {
      this.scores.append("; margin ", exact(found.margin));
      if (found.bits) this.scores.append(`; seeing it takes about ${found.bits} bits`);
    }
    if (this.allScores && !this.run.in_floats && !this.run.changes.length) this.scores.append(". ", element("button", { class: "to", onclick: () => this.allScores(moment.t) }, "all scores"));
  }

  // A dot; the runner-up is a square, so that the two differ without their colours.
  mark(context, x, y, t, colour, square = false) {
    this.marks.places.push([t, x, y]);
    context.beginPath();
    if (square) context.rect(x - 4.5, y - 4.5, 9, 9);
    else context.arc(x, y, 5.5, 0, 7);
    cased(context, colour, 1);
    context.fillStyle = ink(colour);
    context.fill();
  }
}

function line(context, x0, y0, x1, y1, colour, width) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  cased(context, colour, width);
}

// An arc from one token to another.
function link(context, [x0, y0], [x1, y1], colour, width) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.quadraticCurveTo((x0 + x1) / 2, Math.min(y0, y1) - Math.min(40, Math.abs(x0 - x1) / 3), x1, y1);
  cased(context, colour, width);
}

function axes(context, diagram, cells, left, width, height) {
  const bottom = TOP + height + BOTTOM / 2 + 1;
  context.textBaseline = "middle";
  context.fillStyle = ink("--quiet");
  context.textAlign = "right";
  context.fillText("cell ↓", left - 5, TOP / 2);
  context.fillText(cells[0], left - 5, TOP + 6);
  context.fillText(cells[1], left - 5, TOP + height - 6);
  context.fillText(number(diagram.stop - 1), left + width, bottom);
  context.textAlign = "left";
  context.fillText(`t = ${number(diagram.start)}`, left, bottom);
  context.textAlign = "center";
  context.fillText("time →", left + width / 2, bottom);
  context.textAlign = "left";
}

function label(context, text, x, y, width, colour) {
  context.font = `600 ${document.body.classList.contains("big") ? 15 : 12}px ui-monospace, monospace`;
  const size = context.measureText(text).width + 10;
  const left = Math.max(1, Math.min(width - size - 1, x - size / 2));
  context.fillStyle = ink("--panel");
  context.strokeStyle = ink(colour);
  context.lineWidth = 1.5;
  context.beginPath();
  context.roundRect(left, y - 9, size, 18, 4);
  context.fill();
  context.stroke();
  context.fillStyle = ink(colour);
  context.textBaseline = "middle";
  context.fillText(text, left + 5, y + 0.5);
}
