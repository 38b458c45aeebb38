// The whole run as a space-time diagram, which is also the scrubber.

import * as store from "./store.js";
import { number } from "./format.js";
import { cased, fit, ink, paint, scale } from "./diagram.js";

export class Overview {
  constructor(canvas, go) {
    this.canvas = canvas;
    const move = (event) => {
      if (!this.part || !(event.buttons & 1) && event.type !== "pointerdown") return;
      const box = canvas.getBoundingClientRect();
      go(this.time(event.clientX - box.left));
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      move(event);
    });
    canvas.addEventListener("pointermove", move);
  }

  time(x) {
    const { from, to } = this.part;
    return Math.max(1, Math.min(this.run.last, Math.floor(from + (x / this.canvas.clientWidth) * (to - from))));
  }

  show(run, source) {
    Object.assign(this, { run, source, diagram: null, part: null, t: Math.min(store.get("t"), run.last) });
    this.canvas.setAttribute("aria-valuemin", 1);
    this.canvas.setAttribute("aria-valuemax", run.last);
  }

  // The range of times shown: all, or a window around t that moves when t nears its edge.
  window() {
    const { lead, last } = this.run, size = Number(store.get("zoom")) || 0;
    if (!size || size > last + 1 - lead) return { from: lead, to: last + 1 };
    const old = this.part, rim = size / 10;
    if (old && old.to - old.from === size && this.t >= old.from + rim && this.t < old.to - rim) return old;
    const from = Math.max(lead, Math.min(this.t - Math.floor(size / 2), last + 1 - size));
    return { from, to: from + size };
  }

  async load() {
    if (!this.canvas.clientWidth) return; // not laid out yet: `resize` loads it
    const part = this.window(), run = this.run;
    if (this.part && part.from === this.part.from && part.to === this.part.to) return;
    this.part = part;
    const [first, last] = run.cells, cells = part.to - part.from === run.last + 1 - run.lead ? { first, last } : { fit: 1 };
    const found = await this.source.diagram({ ...part, columns: this.canvas.clientWidth, ...cells, rows: 64 }, "overview").catch(() => null);
    if (this.run === run && this.part === part && found) { this.diagram = found; this.draw(); }
  }

  resize() {
    this.part = null;
    if (this.run) this.load();
  }

  mark(t) {
    this.t = t;
    if (this.part) this.load(); // else after the first picture, which is quicker
    this.canvas.setAttribute("aria-valuenow", t);
    this.canvas.setAttribute("aria-valuetext", `time ${number(t)} of ${number(this.run.last)}`);
    this.draw();
  }

  // The diagram is painted once and cached; the mark moves over it.
  draw() {
    if (!this.diagram || !this.canvas.clientWidth) return;
    const { context, width, height } = fit(this.canvas);
    const key = `${width} ${height} ${ink("--tape-0")}`;
    if (this.kept?.diagram !== this.diagram || this.kept.key !== key) {
      const still = new OffscreenCanvas(this.canvas.width, this.canvas.height);
      const inner = still.getContext("2d");
      inner.setTransform(context.getTransform());
      paint(inner, this.diagram, width, height);
      this.kept = { diagram: this.diagram, key, still };
    }
    context.drawImage(this.kept.still, 0, 0, width, height);
    const at = scale(this.diagram, width, height);
    const x = Math.max(1, at.x(this.t) + Math.min(at.perTime / 2, 8));
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, height);
    cased(context, "--layer-3", 3);
  }
}
