// The sources of answers: the local server, the recording in this file, or the network in it.

import { forgotten, set, subject } from "./store.js";
import { MachineRun } from "./machine.js";

const AHEAD = 16;
const SHARED = ["api/machines", "api/statements", "api/demos"]; // the same for all runs

export class Trouble extends Error {}

// Decode the vectors of a moment, each sent as its changes since the one before, by name.
export function unfold(moment, run) {
  if (!Array.isArray(moment.vectors)) return moment;
  const whole = {};
  let now = new Map();
  for (const { name, entries, names, digits } of moment.vectors) {
    now = run.view.parts.length ? new Map(now) : new Map();
    for (const [place, value] of entries) {
      if (value === "0") now.delete(place);
      else now.set(place, value);
    }
    whole[name] = { entries: [...now].sort(([a], [b]) => a - b), changed: entries, names, digits };
  }
  moment.vectors = whole;
  return moment;
}

// A client of the server. The newest request of a kind aborts older ones.
export class ServerSource {
  constructor(progress) {
    this.progress = progress;
    this.waiting = {};
    this.moments = new Map();
    this.key = "";
  }

  async ask(path, query, kind = path) {
    this.waiting[kind]?.abort();
    const control = (this.waiting[kind] = new AbortController());
    const given = Object.entries({ ...subject(), ...query }).filter(([, value]) => value !== undefined);
    const url = `${path}?${new URLSearchParams(given)}`;
    try {
      for (;;) {
        const answer = await this.patient(url, control.signal);
        if (answer.status === 409) continue; // cancelled for lack of polls: start again
        if (answer.status === 202) {
          this.progress((await answer.json()).done, kind);
          await new Promise((wake) => setTimeout(wake, 60));
          if (control.signal.aborted) return null;
          continue;
        }
        if (!answer.ok) throw new Trouble((await answer.json()).error);
        const binary = answer.headers.get("content-type").includes("octet");
        return binary ? await answer.arrayBuffer() : await answer.json();
      }
    } catch (error) {
      if (error.name === "AbortError") return null;
      if (error instanceof TypeError) throw new Trouble("the server does not answer; was it stopped?");
      throw error;
    } finally {
      if (this.waiting[kind] === control) {
        delete this.waiting[kind];
        this.progress(null, kind);
      }
    }
  }

  // A server that does not answer may only be slow, or the computer asleep.
  async patient(url, signal) {
    for (let tries = 0; ; tries++) {
      try {
        return await fetch(url, { signal });
      } catch (error) {
        if (error.name === "AbortError" || tries === 5) throw error;
        await new Promise((wake) => setTimeout(wake, 300 * 2 ** tries));
      }
    }
  }

  stop() {
    for (const [kind, control] of Object.entries(this.waiting)) if (!SHARED.includes(kind)) control.abort();
    this.twins?.stop();
  }

  async run() {
    this.stop(); // pending requests are about another run
    this.twins?.close();
    this.twins = null;
    this.moments.clear();
    const key = (this.key = JSON.stringify(subject()));
    const found = await this.ask("api/run", {});
    if (found && this.key === key) this.known = found;
    return this.key === key ? found : null;
  }

  // A moment, or null if another one was requested meanwhile. The next ones are prefetched.
  async moment(t, direction = 1) {
    const found = this.moments.get(t);
    const beyond = t + direction * (AHEAD / 2);
    if (found) {
      if (!this.moments.has(beyond) && beyond > 0) this.fetchAhead(beyond, direction);
      return found;
    }
    const key = this.key;
    const answers = await this.ask("api/moments", { from: t, count: 1 });
    if (!answers || this.key !== key) return null;
    this.keep(answers);
    this.fetchAhead(t + direction, direction);
    return this.moments.get(t) ?? answers[0];
  }

  // What the machine does at a time; it is there before the network's vectors are.
  async configuration(t) {
    const key = this.key, found = await this.ask("api/configuration", { t });
    return this.key === key ? found : null;
  }

  async fetchAhead(t, direction) {
    if (this.waiting.ahead) return;
    const key = this.key, from = Math.max(1, direction > 0 ? t : t - AHEAD + 1);
    try {
      const answers = await this.ask("api/moments", { from, count: AHEAD }, "ahead");
      if (answers && this.key === key) this.keep(answers);
    } catch { /* beyond the end */ }
  }

  keep(answers) {
    for (const each of answers) this.moments.set(each.t, unfold(each, this.known));
    while (this.moments.size > 400) this.moments.delete(this.moments.keys().next().value);
  }

  async diagram(part, kind) {
    const answer = await this.ask("api/diagram", part, `diagram ${kind}`);
    if (!answer) return null;
    const [start, stop, columns, first, last, rows] = new Float64Array(answer, 0, 6);
    const low = new Float64Array(answer, 48, columns);
    const high = new Float64Array(answer, 48 + 8 * columns, columns);
    const image = new Uint8Array(answer, 48 + 16 * columns);
    return { start, stop, columns, first, last, rows, low, high, image };
  }

  // The network itself, for twins that run in the page.
  async lab() {
    const data = await this.ask("api/network", {}), { openLab, MOST } = await import("./engine/remote.js");
    if (!data) return null;
    const { weightsOf } = await import("./engine/twin.js"), last = Math.min(MOST, this.known.last);
    this.twins = openLab(data, this.known.input, this.known.machine, last + 1, { head: this.known.head, lead: this.known.lead });
    return { data, last, weights: weightsOf(data), lab: this.twins };
  }

  // Another kind at the same step of the machine: its run and its moment; null if a newer one was asked for.
  async beside(kind, { step }) {
    const query = { kind, engine: undefined };
    for (const name of Object.keys(this.known.options)) query[name] = undefined; // its own defaults
    const run = await this.ask("api/run", query, "beside");
    const found = run && await this.ask("api/moments", { ...query, step: Math.max(0, step ?? 0), count: 1 }, "beside");
    return found ? { run, moment: unfold(found[0], run) } : null;
  }

  machines() { return this.ask("api/machines", {}); }
  statements() { return this.ask("api/statements", {}); }
  obligations() { return this.ask("api/obligations", {}); }
  demos() { return this.ask("api/demos", {}); }

  // The editor: its machine runs on the network that is chosen, in any format that netwright reads.
  async edit() {
    const { showEditor } = await import("./engine/editor.js"), { writeMachine } = await import("./engine/rules.js");
    const about = "It runs on the kind of network that is chosen in the page. The server keeps long texts until it ends; bbchallenge text stays in the address.";
    const known = this.known && { ...this.known.machine, default_input: this.known.input };
    const given = subject().machine, isNormal = known && known.given.includes(false); // with states of the construction
    const text = /^[0-9A-Z_-]{3,}$/.test(given) ? given : known && !isNormal ? writeMachine(known) ?? "" : "";
    showEditor(text, this.known?.input.join("") ?? "", about, async (typed, input) => {
      const machine = /^[0-9A-Z_-]{3,}$/.test(typed.trim()) ? typed.trim() : await this.post(typed);
      const { kind } = subject();
      set({ ...forgotten(), machine, input: input || undefined, kind, t: 1 }, { replace: false });
    }, true);
  }

  async post(text) {
    const answer = await fetch("api/machine", {
      method: "POST", body: text, headers: { "content-type": "text/plain" },
    });
    const data = await answer.json();
    if (!answer.ok) throw new Trouble(data.error);
    return data.machine;
  }
}

// Reads the recording; diagrams come from the simulator in the page.
class FileSource {
  constructor(recorded, progress) {
    this.recorded = recorded;
    this.moments = new Map(recorded.moments.map((moment) => [moment.t, moment]));
    const run = recorded.run;
    this.machine = new MachineRun(run.machine, run.input, run.head, progress);
    this.only = true;
  }

  // The recording has all times of a run, or a range of them.
  async run() {
    const times = [...this.moments.keys()], run = this.recorded.run;
    if (times.length < run.last) Object.assign(run, { from: times[0], to: times.at(-1) });
    return run;
  }

  async moment(t) { return unfold(this.moments.get(t), this.recorded.run); }

  async diagram(part, kind) {
    const lead = this.recorded.run.lead;
    const start = Math.max(lead, part.from), stop = Math.max(start + 1, Math.min(part.to, this.recorded.run.last + 1));
    return this.machine.diagram({ ...part, from: start, to: stop, lead }, kind);
  }

  stop() { this.machine.stop(); }
  async machines() { return null; }
  async statements() { return this.recorded.statements; }
  async obligations() { return this.recorded.obligations; }
  async demos() { return null; }
}

export async function openSource(progress) {
  if (globalThis.site) return new (await import("./site/source.js")).SiteSource(progress);
  const packed = document.getElementById("recorded");
  if (!packed) return new ServerSource(progress);
  const recorded = await globalThis.unpacked(packed.textContent); // by the script in the file
  if (!recorded.network) return new FileSource(recorded, progress);
  const { EngineSource } = await import("./engine/source.js");
  return new EngineSource(recorded, progress);
}
