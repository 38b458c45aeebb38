// What the tests ask of the page's engine, in node (engine.mjs) and in Chromium (node.py).

// `load` imports a module of the engine by its name.
export async function work(load) {
  const { openNetwork } = await load("network.js");
  const rational = await load("rational.js");
  const { Keys } = await load("attention.js");
  const { readVector } = await load("vectors.js");
  const { withMachine } = await load("prompt.js");
  const { readMachine } = await load("rules.js");
  const { Lab } = await load("lab.js");

  const text = (x) => (x === null ? null : `${x}`);

  const WORK = {
    // Every vector and attention of the first tokens.
    moments({ network, word, count }) {
      const opened = openNetwork(network, word), found = [];
      for (let t = 1; t <= count; t++) {
        const { vectors, attention } = opened.explain(opened.run.stateAt(t - 1), t);
        found.push({
          vectors: Object.fromEntries([...vectors].map(([name, vector]) => [name, vector.entries()])),
          attention: Object.fromEntries(Object.entries(attention).map(([name, { winners, score, second, margin }]) =>
            [name, [winners, text(score), second, text(margin)]])),
        });
      }
      return found;
    },

    // Operations on rationals.
    arithmetic({ rows }) {
      return rows.map(([name, ...numbers]) => {
        const found = rational[name](...numbers.map(rational.parse));
        if (typeof found === "number") return name === "approximate" ? found : Math.sign(found);
        return `${found}`;
      });
    },

    // The same in arithmetic of some bits.
    rounded({ rows, bits }) {
      return rational.rounding(bits, () => WORK.arithmetic({ rows }));
    },

    // A laboratory's answers to questions about a network.
    async lab({ network, word, machine, last, questions }) {
      const lab = new Lab(network, word, machine, last), found = [];
      for (const [name, ...given] of questions) found.push(await lab.ask(name, given, () => {}));
      return found;
    },

    // The winners among keys for some queries, by screening and among all.
    winners({ score, places, keys, queries, bits = 0 }) {
      return rational.rounding(bits, () => WORK.won({ score, places, keys, queries }));
    },

    won({ score, places, keys, queries }) {
      const store = new Keys(places, score);
      for (const key of keys) store.push(readVector(key));
      return queries.map(([q, length]) => {
        const query = readVector(q), found = store.winners(query, length);
        const kept = store.screened(store.meeting(query), length, -1);
        return [found, kept.length, store.best(store.meeting(query), Array.from({ length }, (_, j) => j))];
      });
    },

    // The prompt of a machine, and its normal form.
    prompt({ network, machine, blanks }) {
      const { written, normal } = withMachine(network, { ...machine, rules: machine.delta }, blanks);
      return { symbols: written.symbols, rules: written.rules, normal };
    },

    // A machine from text, or its faults.
    machine({ text }) {
      try {
        return readMachine(text);
      } catch (error) {
        if (!error.list) throw error;
        return { faults: error.list };
      }
    },

    // A file's answers for a machine in its address, and Python's as the page decodes them.
    async source({ recorded, machine, input, times, moments }) {
      globalThis.location = { protocol: "file:", hash: "" };
      const { EngineSource } = await load("source.js"), { unfold } = await load("../source.js");
      const store = await load("../store.js");
      const source = new EngineSource(recorded, () => {});
      store.set({ machine, input: input ?? undefined });
      const run = await source.run(), found = [];
      for (const t of times) found.push(await source.moment(t));
      return { run, found, wanted: moments.map((moment) => unfold(moment, run)) };
    },

    // The outputs at some times, in this order.
    seek({ network, word, places }) {
      const opened = openNetwork(network, word);
      return places.map((t) => opened.run.stateAt(t).y.entries());
    },

    // How long tokens take, and the memory of the process.
    speed({ network, word, count }) {
      const began = process.cpuUsage(), opened = openNetwork(network, word);
      opened.run.stateAt(count);
      const { user, system } = process.cpuUsage(began);
      return { seconds: (user + system) / 1e6, bytes: process.memoryUsage().rss, y: opened.run.newest.y?.entries() };
    },
  };

  return WORK;
}
