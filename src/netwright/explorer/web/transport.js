// Navigation in time: buttons, keys, a number field, and playback.

import * as store from "./store.js";
import { number } from "./format.js";
import { partNumber } from "./stream.js";
import { showHelp } from "./help.js";

export class Transport {
  constructor(go, isDrawn) {
    Object.assign(this, { go, isDrawn, timer: null });
    for (const button of document.querySelectorAll("[data-go]")) {
      button.addEventListener("click", () => this.act(button.dataset.go));
    }
    this.field = document.getElementById("t");
    this.field.addEventListener("change", () => {
      const wanted = Math.floor(Number(this.field.value.replace(/[,.\s]/g, "")));
      if (Number.isFinite(wanted)) this.go(wanted, true);
      this.field.blur();
      this.mark(store.get("t"));
    });
    document.getElementById("speed").addEventListener("change", () => {
      if (this.timer !== null) { this.stop(); this.play(); }
    });
    this.zoom = document.getElementById("zoom");
    this.zoom.addEventListener("change", () => store.set({ zoom: this.zoom.value || undefined }));
    addEventListener("keydown", (event) => this.key(event));
  }

  show(run) {
    this.run = run;
    this.zoom.value = store.get("zoom") ?? "";
    this.field.size = Math.max(10, number(run.last).length);
    document.getElementById("of").textContent = run.from
      ? `of ${number(run.from)} to ${number(run.to)} in this file`
      : `of ${number(run.last)}${run.ended ? "" : " shown"}`;
  }

  mark(t) {
    if (document.activeElement !== this.field || this.timer !== null) this.field.value = number(t);
  }

  act(name) {
    const t = store.get("t");
    if (name === "play") return this.timer === null ? this.play() : this.stop();
    this.stop();
    return this.go({ first: 1, back: t - 1, on: t + 1, last: Infinity }[name]);
  }

  key(event) {
    const target = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (target.matches("input, select, textarea")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (event.key === " " && target.matches("button:not([data-go])")) return;
    const t = store.get("t"), far = event.shiftKey ? 10 : 1;
    const keys = {
      ArrowRight: () => this.go(t + far), ArrowLeft: () => this.go(t - far),
      PageDown: () => this.go(t + 1000), PageUp: () => this.go(t - 1000),
      Home: () => this.act("first"), End: () => this.act("last"), " ": () => this.act("play"),
      ".": () => this.part(1), ",": () => this.part(-1), Escape: () => store.set({ part: undefined }), "?": showHelp,
    };
    if (!keys[event.key] || !this.run) return;
    event.preventDefault();
    if (event.key !== " ") this.stop();
    keys[event.key]();
  }

  // Go to the next part of this token, or to the first part of the next token.
  part(step) {
    const parts = this.run.view.parts.length, now = partNumber(this.run), t = store.get("t");
    if (!parts) return;
    if (now === null) store.set({ part: step > 0 ? "0" : String(parts - 1) });
    else if (now + step >= 0 && now + step < parts) store.set({ part: String(now + step) });
    else if (t + step >= (this.run.from ?? 1) && t + step <= (this.run.to ?? this.run.last)) store.set({ t: t + step, part: step > 0 ? "0" : String(parts - 1) });
  }

  play() {
    const speed = Number(document.getElementById("speed").value);
    document.body.classList.add("playing");
    if (store.get("t") >= (this.run.to ?? this.run.last)) this.go(1);
    const tick = () => {
      if (store.get("t") >= (this.run.to ?? this.run.last)) return this.stop();
      if (this.isDrawn()) this.go(store.get("t") + 1);
      return undefined;
    };
    this.timer = setInterval(tick, speed ? 1000 / speed : 8);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    document.body.classList.remove("playing");
  }
}
