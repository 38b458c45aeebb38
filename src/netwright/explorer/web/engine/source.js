// The source of answers in a page that has a network: any moment up to MOST, and any machine.

import * as store from "../store.js";
import { MachineRun } from "../machine.js";
import { Trouble, unfold } from "../source.js";
import { MOST, openLab } from "./remote.js";
import { weightsOf } from "./twin.js";
import { Timeline } from "./timeline.js";
import { normalize, withMachine } from "./prompt.js";
import { readMachine, writeMachine } from "./rules.js";
import { showEditor } from "./editor.js";

const TAPE = 30;

// What the page shows of a run before any moment, as Explored.description in Python.
function describe(data, machine, word) {
  const normal = normalize(machine, data.options.blanks);
  const shown = {
    states: normal.states, symbols: normal.symbols, blank: normal.blank, start: normal.start,
    accepting: normal.accepting, given: normal.states.map(normal.counts), rules: normal.rules,
  };
  const timeline = new Timeline(shown, word, -1, MOST + 1);
  const ended = (timeline.end ?? MOST + 1) <= MOST, final = timeline.at(ended ? timeline.end : MOST);
  const outcome = !machine.accepting.length ? "halted" : machine.accepting.includes(final.state) ? "accepted" : "rejected";
  const { groups, short, columns, parts, moment, reads, drawn, drawing, figures, score } = data.view;
  const run = {
    name: machine.name, about: machine.description, input: word, reads: { symbols: word, input: true },
    kind: data.kind, statement: data.statement, options: data.options, in_floats: false, changes: [], trust: "compiled",
    dimension: data.dimension, lead: 1, last: final.time, ended, outcome: ended ? outcome : null, steps: final.step,
    cut: "", cells: [timeline.lowest, timeline.highest], head: -1, machine: shown, layout: data.blocks,
    view: { groups, short, columns, parts, moment, reads, drawn, drawing, figures, score },
  };
  return { run, timeline };
}

export class EngineSource {
  constructor(recorded, progress) {
    this.recorded = recorded;
    this.progress = progress;
    this.only = true;
    this.asked = 0;
    store.inFragment.push("machine", "input");
  }

  // The editor: its machine runs on the universal network, whose prompt this page can make.
  edit() {
    const run = (machine, input) => store.set({ ...store.forgotten(), machine, input, t: 1 }, { replace: false });
    const about = "It runs at once on the universal network: the weights stay as they are, and the machine is the prompt. (Weights of the other kinds are computed by netwright: netwright explore FILE --on transformer.) The address of this page keeps the machine; nothing is sent anywhere.";
    showEditor(this.typed.machine === undefined ? writeMachine(this.given) ?? "" : this.text, this.known?.input.join("") ?? "", about, run);
  }

  // The machine that the file was written for.
  get given() {
    const { machine } = this.recorded.network;
    return { ...machine, rules: machine.delta };
  }

  // The text in the address.
  get text() { return store.get("machine"); }

  // The machine that was typed, and its input, if the address has one.
  get typed() {
    const { machine, input } = store.subject();
    return machine ? { machine: this.read(machine), input } : {};
  }

  // The machine in the address, if one was typed; else the one that the file was written for.
  async run() {
    this.stop();
    const { machine, input } = this.typed, { network, universal = network } = this.recorded;
    let data = network, run = this.recorded.run, timeline = null;
    if (machine) {
      const word = input === undefined ? machine.default_input : [...input];
      const unknown = word.find((symbol) => !machine.symbols.includes(symbol));
      if (unknown !== undefined) throw new Trouble(`the input has ${unknown}; the machine's symbols are ${machine.symbols.join(" ")}`);
      data = withMachine(universal, machine, word.includes(machine.blank));
      ({ run, timeline } = describe(data, machine, word));
    }
    if (run.last > MOST) run = { ...run, from: 1, to: MOST };
    this.data = data;
    this.known = run;
    const last = Math.min(MOST, run.last) + 1;
    this.timeline = timeline ?? new Timeline(run.machine, run.input, run.head, last);
    this.machine = new MachineRun(run.machine, run.input, run.head, this.progress);
    this.own?.close();
    this.own = openLab(data, run.input, run.machine, last, { head: run.head, lead: run.lead });
    return run;
  }

  async lab() {
    return { data: this.data, last: Math.min(MOST, this.known.last), weights: weightsOf(this.data), lab: this.own };
  }

  read(text) {
    try {
      return readMachine(text);
    } catch (error) {
      throw error.list ? new Trouble(error.message) : error;
    }
  }

  // A moment, or null if another one was requested meanwhile.
  async moment(t) {
    const mine = (this.asked += 1), stopped = () => mine !== this.asked, { known } = this;
    const found = await this.own.ask("moment", [t], (done) => stopped() || this.tell(done));
    if (found === null || stopped()) return null;
    this.progress(null);
    const place = this.place(t);
    if (!found.lemmas.length && place.step !== null) found.lemmas = [this.shows(found.rule, t)];
    return unfold({ ...found, ...place, ...(found.attention ? { attention: this.cells(found.attention, place.next) } : {}) }, known);
  }

  // Whether the state and the symbol that the vectors show are the machine's, as explorer/moments.py has it.
  shows(rule, t) {
    const own = this.timeline.at(t - this.known.lead), said = (state, symbol) => `${state} reading ${symbol}`;
    const found = rule && said(rule.state, rule.symbol), wanted = own && said(own.state, own.symbol), holds = found === wanted;
    return { statement: this.known.statement, name: "the machine's state and symbol", holds, ...(holds ? {} : { found, wanted }) };
  }

  // Say how far the network's own run is; without this word, progress is the diagram's.
  tell(done) {
    this.working = "the network's own run";
    this.progress(done);
    this.working = undefined;
  }

  // What the machine does at a time: tape, head and step; before it starts, what the network reads.
  place(t) {
    const { timeline, known } = this, { reads } = known, time = t - known.lead;
    const around = (head, cell) => ({ first: head - TAPE, ...cell(Array.from({ length: 2 * TAPE + 1 }, (_, n) => head - TAPE + n)) });
    if (time < 0) {
      const outside = reads.input ? known.machine.blank : "";
      const tape = (cells) => ({ cells: cells.map((c) => reads.symbols[c] ?? outside), visits: cells.map((c) => (c >= 0 && c < t - 1 ? c + 1 : null)) });
      return { step: null, head: t - 1, next: t < reads.symbols.length ? t : null, tape: around(t - 1, tape) };
    }
    const now = timeline.at(time), action = timeline.at(time + 1);
    const tape = (cells) => {
      const found = cells.map((c) => timeline.cell(time, c));
      return { cells: found.map(({ symbol }) => symbol), visits: found.map(({ visit }) => (visit === null ? null : visit + known.lead)) };
    };
    return { step: now.step, head: now.head, next: action ? action.head : null, tape: around(now.head, tape) };
  }

  // The attention with the cells of the tokens; NULL is token 1, for cells that were never visited.
  cells(attention, ahead) {
    const cell = (token) => (token === null ? null : this.timeline.at(token - this.known.lead)?.head ?? null);
    const isNull = this.data.view.has_null && attention.winner === 1 && cell(1) !== ahead;
    return { ...attention, null: isNull, cell: cell(attention.winner), second_cell: cell(attention.second) };
  }

  diagram(part, kind) {
    const { lead, last } = this.known, start = Math.max(lead, part.from), stop = Math.max(start + 1, Math.min(part.to, last + 1));
    return this.machine.diagram({ ...part, from: start, to: stop, lead }, kind);
  }

  stop() {
    this.asked += 1;
    this.machine?.stop();
    this.own?.stop();
  }

  async machines() { return null; }
  async statements() { return this.recorded.statements; }
  // Those of the network that the file was written for; a machine that is typed has another prompt.
  async obligations() { return this.typed.machine ? null : this.recorded.obligations; }
  async demos() { return null; }
}
