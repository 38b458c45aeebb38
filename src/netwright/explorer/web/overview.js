// The whole run as a space-time diagram, which is also the scrubber.

import { number } from "./format.js";
import { fit, ink, paint, scale } from "./diagram.js";

export class Overview {
  constructor(canvas, go) {
    this.canvas = canvas;
    const move = (event) => {
      if (!this.run || !(event.buttons & 1) && event.type !== "pointerdown") return;
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
    const { lead, last } = this.run;
    return Math.max(1, Math.min(last, Math.floor(lead + (x / this.canvas.clientWidth) * (last + 1 - lead))));
  }

  async show(run, source) {
    Object.assign(this, { run, source, diagram: null });
    this.canvas.setAttribute("aria-valuemin", 1);
    this.canvas.setAttribute("aria-valuemax", run.last);
    const [first, last] = run.cells;
    const part = { from: run.lead, to: run.last + 1, columns: this.canvas.clientWidth, first, last, rows: 64 };
    const found = await source.diagram(part, "overview").catch(() => null);
    if (this.run === run && found) { this.diagram = found; this.draw(); }
  }

  resize() {
    if (this.run) this.show(this.run, this.source);
  }

  mark(t) {
    this.t = t;
    this.canvas.setAttribute("aria-valuenow", t);
    this.canvas.setAttribute("aria-valuetext", `time ${number(t)} of ${number(this.run.last)}`);
    this.draw();
  }

  // The diagram is painted once, and kept; the mark moves over it.
  draw() {
    if (!this.diagram) return;
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
    context.fillStyle = ink("--panel");
    context.fillRect(x - 2.5, 0, 5, height);
    context.fillStyle = ink("--layer-3");
    context.fillRect(x - 1.5, 0, 3, height);
  }
}
