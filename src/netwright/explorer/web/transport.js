// Navigation in time: buttons, keys, a number field, and playback.

import * as store from "./store.js";
import { number } from "./format.js";
import { partNumber } from "./stream.js";
import { showHelp } from "./help.js";

const WHOLE = 20; // seconds of a whole run

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

  // Keep to the speed: where drawing is slower, moments are skipped. "0", every one, skips none,
  // and "whole" takes the same time for every run.
  play() {
    const speed = document.getElementById("speed").value;
    document.body.classList.add("playing");
    const first = this.run.from ?? 1, last = this.run.to ?? this.run.last;
    if (store.get("t") >= last) this.go(first);
    const rate = speed === "whole" ? (last - first) / WHOLE : Number(speed);
    let from = store.get("t"), began = performance.now(), shown = from;
    const tick = () => {
      const t = store.get("t");
      if (t >= last) return this.stop();
      if (t !== shown) [from, began] = [t, performance.now()]; // somebody went elsewhere
      shown = t;
      if (this.isDrawn()) {
        const goal = rate ? Math.floor(from + (rate * (performance.now() - began)) / 1000) : t + 1;
        if (goal > t) this.go((shown = Math.min(last, goal)));
      }
      this.timer = requestAnimationFrame(tick);
      return undefined;
    };
    this.timer = requestAnimationFrame(tick);
  }

  stop() {
    cancelAnimationFrame(this.timer);
    this.timer = null;
    document.body.classList.remove("playing");
  }
}
