// What the page asks of a network: moments of it and of its twins. Each answer may take a while, in
// slices; it is null if a newer question of its kind came, or if all were stopped.

import { compare } from "./rational.js";
import { Moments } from "./moments.js";
import { Twin, strip } from "./twin.js";

const MOST_TWINS = 2;

export class Lab {
  // As for Moments: network JSON, the input, the machine that is simulated, the last time; and where and
  // when the machine starts.
  constructor(data, word, machine, last, start = { head: -1, lead: 1 }) {
    this.given = [data, word, machine, last];
    this.start = start;
    this.twins = new Map();
    this.newest = {};
  }

  // Answer a question: the name of a method and its arguments.
  ask(name, given, progress) {
    const mine = (this.newest[name] = {});
    return this[name](...given, progress, () => this.newest[name] !== mine);
  }

  stop() { this.newest = {}; }
  close() {}

  // The network's own moments.
  get own() { return (this.moments ??= new Moments(...this.given)); }

  moment(t, progress, stopped) { return this.own.at(t, progress, stopped); }

  // The scores of the attention that is drawn, of all tokens at time t: the best first, those that
  // score alike in order; at most `most` of them, as [token, text].
  async scores(t, most, progress, stopped) {
    const { network, view } = this.own, before = await network.run.seek(t - 1, progress, stopped);
    if (before === null) return null;
    const all = network.scores(before, t, view.drawn).map((score, j) => [j + 1, score]);
    return all.sort(([i, x], [j, y]) => compare(y, x) || i - j).slice(0, most).map(([token, score]) => [token, `${score}`]);
  }

  twin(changes) {
    const key = JSON.stringify(changes), found = this.twins.get(key) ?? new Twin(changes, this.own, this.start, ...this.given);
    this.twins.delete(key); // so that the newest is last
    this.twins.set(key, found);
    if (this.twins.size > MOST_TWINS) this.twins.delete(this.twins.keys().next().value);
    return found;
  }

  momentOfTwin(changes, t, progress, stopped) { return this.twin(changes).at(t, progress, stopped); }
  compare(changes, most, progress, stopped) { return this.twin(changes).compare(most, progress, stopped); }
  strip(count, progress, stopped) { return strip(count, ...this.given, progress, stopped); }
}
