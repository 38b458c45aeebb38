// The run of a machine, kept step by step up to a limit: where its head was, and what it wrote.

export class Timeline {
  // `machine` as the page's description has it, with `given`: which states count as steps.
  constructor(machine, word, head, limit) {
    this.machine = machine;
    this.actions = new Map(machine.rules.map(([state, symbol, next, write, move]) => [`${state}\n${symbol}`, { next, write, move }]));
    const counted = new Map(machine.states.map((state, n) => [state, machine.given[n]]));
    this.tape = new Map(word.map((symbol, cell) => [cell, symbol]));
    this.visited = new Map(); // by cell: the times of its visits, and what was written then
    this.instants = [];
    this.lowest = Math.min(head, 0);
    this.highest = Math.max(head, word.length - 1);
    this.end = null;
    const tape = new Map(this.tape);
    let state = machine.start, step = counted.get(state) ? 0 : -1;
    for (let time = 0; time <= limit; time++) {
      const symbol = tape.get(head) ?? machine.blank;
      this.instants.push({ time, state, symbol, head, step });
      this.lowest = Math.min(this.lowest, head);
      this.highest = Math.max(this.highest, head);
      const action = this.action(time);
      if (!action) {
        this.end = time;
        break;
      }
      if (!this.visited.has(head)) this.visited.set(head, { times: [], symbols: [] });
      this.visited.get(head).times.push(time);
      this.visited.get(head).symbols.push(action.write);
      tape.set(head, action.write);
      head += { L: -1, R: 1, S: 0 }[action.move];
      state = action.next;
      step += counted.get(state) ? 1 : 0;
    }
  }

  at(time) {
    return this.instants[time] ?? null;
  }

  // The rule that is applied at a time, if any.
  action(time) {
    const now = this.at(time);
    return now && !this.machine.accepting.includes(now.state) ? this.actions.get(`${now.state}\n${now.symbol}`) : undefined;
  }

  // The symbol of a cell at a time, and the last visit before it, or null.
  cell(time, cell) {
    const found = this.visited.get(cell);
    let low = 0, high = found ? found.times.length : 0;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (found.times[middle] < time) low = middle + 1;
      else high = middle;
    }
    if (low) return { symbol: found.symbols[low - 1], visit: found.times[low - 1] };
    return { symbol: this.tape.get(cell) ?? this.machine.blank, visit: null };
  }
}
