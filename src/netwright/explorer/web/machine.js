// A simulator of the Turing machine, from which a page without a server draws its diagrams.

const AT_ONCE = 1_000_000; // steps between two checks for cancellation

export class MachineRun {
  constructor(machine, input, head, progress = () => {}) {
    this.progress = progress;
    const state = new Map(machine.states.map((name, n) => [name, n]));
    const symbol = new Map(machine.symbols.map((name, n) => [name, n]));
    const width = (this.width = machine.symbols.length);
    this.blank = symbol.get(machine.blank);
    this.next = new Int32Array(machine.states.length * width).fill(-1);
    this.write = new Int32Array(this.next.length);
    this.move = new Int8Array(this.next.length);
    for (const [from, read, to, write, move] of machine.rules) {
      const place = state.get(from) * width + symbol.get(read);
      this.next[place] = state.get(to) * width;
      this.write[place] = symbol.get(write);
      this.move[place] = { L: -1, R: 1, S: 0 }[move];
    }
    const others = machine.symbols.map((_, n) => n).filter((n) => n !== this.blank);
    this.levels = new Uint8Array(width);
    others.forEach((n, place) => {
      this.levels[n] = Math.floor((255 * (place + 2)) / (others.length + 1));
    });
    this.begin = { row: state.get(machine.start) * width, head, input: input.map((s) => symbol.get(s)) };
    this.reset();
  }

  reset() {
    const { row, head, input } = this.begin;
    this.origin = Math.min(0, head) - 64;
    this.tape = new Int32Array(Math.max(input.length, head) + 128 - this.origin).fill(this.blank);
    this.tape.set(input, -this.origin);
    this.row = row;
    this.head = head - this.origin;
    this.time = 0;
    this.halted = false;
  }

  stop() { this.stopped = true; }

  // Run at most this many steps; call `seen` with the head after each.
  steps(count, seen) {
    let { row, head, tape, time } = this;
    const goal = time + count;
    while (time < goal) {
      const place = row + tape[head];
      if (this.next[place] < 0) { this.halted = true; break; }
      tape[head] = this.write[place];
      head += this.move[place];
      row = this.next[place];
      time += 1;
      if (head < 0 || head >= tape.length) {
        const larger = new Int32Array(2 * tape.length).fill(this.blank);
        const shift = head < 0 ? tape.length : 0;
        larger.set(tape, shift);
        head += shift;
        this.origin -= shift;
        tape = this.tape = larger;
      }
      if (seen) seen(head + this.origin);
    }
    Object.assign(this, { row, head, time });
  }

  configuration() {
    const at = this.row / this.width;
    return { state: at, head: this.head + this.origin, time: this.time };
  }

  // As `Timeline.diagram` in Python. Concurrent calls wait for each other.
  diagram(part) {
    this.stopped = false;
    this.last = (this.last ?? Promise.resolve()).then(() => (part.fit ? this.fitted(part) : this.draw(part)));
    return this.last;
  }

  // Draw the cells around the head's path.
  async fitted(part) {
    const path = await this.draw({ ...part, first: 0, last: 0, rows: 1 });
    if (!path) return null;
    return this.draw({ ...part, first: Math.min(...path.low) - 2, last: Math.max(...path.high) + 2 });
  }

  async draw({ from, to, columns, first, last, rows, lead }) {
    if (this.time > from - lead) this.reset();
    while (this.time < from - lead && !this.halted) {
      this.steps(Math.min(AT_ONCE, from - lead - this.time));
      if (!(await this.rest(to))) return null;
    }
    columns = Math.max(1, Math.min(columns, to - from));
    rows = Math.max(1, Math.min(rows, last - first + 1));
    const low = new Int32Array(columns), high = new Int32Array(columns);
    const image = new Uint8Array(columns * rows);
    const edge = (y) => first + Math.floor(((last + 1 - first) * y) / rows);
    let lowest, highest;
    const seen = (head) => {
      if (head < lowest) lowest = head;
      if (head > highest) highest = head;
    };
    let work = 0;
    for (let column = 0; column < columns; column++) {
      for (let y = 0; y < rows; y++) {
        let total = 0, count = 0;
        const end = Math.max(edge(y) + 1, edge(y + 1));
        const stride = Math.max(1, Math.floor((end - edge(y)) / 16));
        for (let cell = edge(y); cell < end; cell += stride) {
          total += this.levels[this.tape[cell - this.origin] ?? this.blank];
          count += 1;
        }
        image[column * rows + y] = Math.floor(total / count);
      }
      lowest = highest = this.head + this.origin;
      const goal = from - lead + Math.floor(((to - from) * (column + 1)) / columns);
      while (this.time < goal && !this.halted) {
        const count = Math.min(AT_ONCE, goal - this.time);
        // The head after the last step belongs to the next column.
        if (count > 1) this.steps(count - 1, seen);
        if (!this.halted) this.steps(1, this.time + 1 < goal ? seen : undefined);
        if ((work += count) > AT_ONCE) {
          work = 0;
          if (!(await this.rest(to))) return null;
        }
      }
      low[column] = lowest;
      high[column] = highest;
    }
    this.progress(null);
    return { start: from, stop: to, columns, first, last, rows, low, high, image };
  }

  // Yield to the event loop; return false if this was cancelled.
  async rest(goal) {
    this.progress(this.time / goal);
    await new Promise((wake) => setTimeout(wake));
    return !this.stopped;
  }
}
