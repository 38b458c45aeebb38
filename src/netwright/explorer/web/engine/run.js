// A network's run with random access: snapshots, and steps from the nearest one.

const APART = 14; // 2^14 steps between two snapshots
export const SLICE = 50; // milliseconds of work between two looks at the clock of the page

export class Run {
  // `first` is the state before time 1; `step` takes a state to the next and changes neither.
  constructor(first, step) {
    this.step = step;
    this.snapshots = [first];
    this.newest = first;
    this.reached = 0;
  }

  // The state at time t, or null if a deadline (of performance.now) came first; call again then.
  stateAt(t, deadline = Infinity) {
    if (t >= this.reached) {
      while (this.reached < t) {
        this.newest = this.step(this.newest, this.reached + 1);
        this.reached += 1;
        if ((this.reached & ((1 << APART) - 1)) === 0) this.snapshots.push(this.newest);
        if ((this.reached & 15) === 0 && performance.now() > deadline) return this.reached === t ? this.newest : null;
      }
      return this.newest;
    }
    if (this.there?.time <= t && this.there.time >= (t >> APART) << APART) return this.onward(t);
    this.there = { time: (t >> APART) << APART, state: this.snapshots[t >> APART] };
    return this.onward(t);
  }

  onward(t) {
    const { there } = this;
    for (; there.time < t; there.time++) there.state = this.step(there.state, there.time + 1);
    return there.state;
  }

  // The state at time t, in slices; null if `stopped` says so.
  async seek(t, progress = () => {}, stopped = () => false) {
    for (;;) {
      const found = this.stateAt(t, performance.now() + SLICE);
      if (found !== null) return found;
      if (stopped()) return null;
      progress(this.reached / t);
      await new Promise((wake) => setTimeout(wake));
    }
  }
}
