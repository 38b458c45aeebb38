// The neighbourhood of t: the tape, the head's path, and an attention drawn on it.

import { element, about, number, signed, symbol } from "./format.js";
import { fit, ink, paint, scale } from "./diagram.js";

export class Picture {
  constructor(section, go) {
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
      this.canvas.title = `token ${number(t)}; click to go there`;
    });
  }

  // The token under the pointer; snaps to the winner and the runner-up.
  target({ offsetX, offsetY }) {
    for (const [t, x, y] of this.marks.places) {
      if (Math.abs(offsetX - x) < 14 && Math.abs(offsetY - y) < 14) return t;
    }
    return this.marks.t(offsetX);
  }

  show(run, source) {
    Object.assign(this, { run, source, diagram: null, asked: null });
    const { symbols, blank } = run.machine, others = symbols.filter((s) => s !== blank);
    this.legend.replaceChildren(...(others.length > 12 ? [] : [blank, ...others].map((s, n) => {
      const shade = element("i");
      shade.style.setProperty("--shade", `${n ? Math.round((100 * (n + 1)) / (others.length + 1)) : 0}%`);
      return element("span", {}, shade, symbol(s, blank));
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

  async draw(moment) {
    this.moment = moment;
    this.title.textContent = this.words(moment);
    this.write(moment);
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
    if (this.diagram && this.moment === moment) this.paint(moment, t);
  }

  paint(moment, t) {
    const { diagram, canvas } = this;
    const { context, width, height } = fit(canvas);
    paint(context, diagram, width, height);
    const at = scale(diagram, width, height);
    const centre = (time) => at.x(time) + at.perTime / 2;
    const row = (cell) => at.y(cell) + at.perCell / 2;
    this.marks = { t: at.t, places: [] };
    context.setLineDash([4, 4]);
    context.strokeStyle = ink("--text");
    context.lineWidth = 1.5;
    line(context, centre(t), 0, centre(t), height);
    context.setLineDash([]);
    const found = moment.attention;
    if (found && found.winner !== null) {
      if (found.second !== null) this.mark(context, centre(found.second), row(found.second_cell), found.second, "--second");
      const y = row(found.cell);
      context.strokeStyle = ink("--layer-3");
      context.lineWidth = 4;
      line(context, centre(found.winner), y, centre(t + (found.winner === moment.t ? 0 : 1)), y);
      this.mark(context, centre(found.winner), y, found.winner, "--layer-3");
      label(context, `token ${number(found.winner)}`, centre(found.winner), y + (y > height - 30 ? -18 : 18), centre(t) > width - 150 ? width - 130 : width, "--layer-3");
    }
    label(context, `t = ${number(t)}`, centre(t), 12, width, "--text");
    corner(context, `cell ${number(diagram.first)}`, 6, 12, "left");
    corner(context, `cell ${number(diagram.last)}`, 6, height - 8, "left");
    corner(context, `t ${number(diagram.start)} to ${number(diagram.stop - 1)}`, width - 6, height - 8, "right");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", this.words(moment));
  }

  words(moment) {
    const found = moment.attention;
    if (!found) return `Tape and head around time ${number(moment.t)}`;
    const where = this.run.view.drawing;
    if (found.winner === null) return found.winners ? `${where}: ${number(found.winners)} tokens have the best score` : `${where}: cell ${number(moment.next)} is fresh`;
    if (found.null) return `${where}: token ${number(moment.t)} follows NULL to token 1, for cell ${number(moment.next)} is fresh`;
    return found.winner === moment.t
      ? `${where}: token ${number(moment.t)} attends to itself, for cell ${number(moment.next)} is fresh`
      : `${where}: token ${number(moment.t)} attends to token ${number(found.winner)}, the last on cell ${number(found.cell ?? moment.next)}`;
  }

  write(moment) {
    const found = moment.attention;
    this.scores.replaceChildren();
    if (!found || found.score === null) return;
    const exact = (text) => element("span", { class: "number", title: `exactly ${signed(text)}`, tabindex: 0 }, about(text));
    this.scores.append(`Scores ${this.run.view.score}: token `, number(found.winner ?? 0), " ", exact(found.score));
    if (found.second === null) return;
    this.scores.append("; second, token ", number(found.second), " on cell ", number(found.second_cell), " ", exact(found.second_score ?? found.score));
    if (found.margin !== null) {
      this.scores.append("; margin ", exact(found.margin));
      if (found.bits) this.scores.append(`; seeing it takes about ${found.bits} bits`);
    }
  }

  mark(context, x, y, t, colour) {
    this.marks.places.push([t, x, y]);
    context.fillStyle = ink(colour);
    context.strokeStyle = ink("--panel");
    context.lineWidth = 1.5;
    context.beginPath();
    context.arc(x, y, 5, 0, 7);
    context.fill();
    context.stroke();
  }
}

function corner(context, text, x, y, align) {
  context.font = "11px ui-monospace, monospace";
  context.textAlign = align;
  context.textBaseline = "middle";
  const size = context.measureText(text).width + 6;
  context.fillStyle = ink("--panel");
  context.fillRect(align === "left" ? x - 3 : x - size + 3, y - 7, size, 14);
  context.fillStyle = ink("--text");
  context.fillText(text, x, y);
  context.textAlign = "left";
}

function line(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
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
