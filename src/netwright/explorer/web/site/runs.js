// The runs that the walk shows: networks that run in this page, from the folder or from the server.

import { EngineSource } from "../engine/source.js";
import { readMachine } from "../engine/rules.js";
import { ServerSource, Trouble, unfold } from "../source.js";
import { load } from "./source.js";

export const WORD = "abba", FAR = 23_456_789, ANY = "universal-transformer";

// The page that shows a run.
export const address = (query) => (globalThis.site ? `page.html#${new URLSearchParams(query)}` : `./?${new URLSearchParams(query)}`);

// A network that runs in this page, with another machine or input if they are given.
class Walked extends EngineSource {
  constructor(recorded, typed = {}) {
    super(recorded, () => {});
    this.given_ = typed;
  }

  get typed() { return this.given_; }
}

const server = () => new ServerSource(() => {});
const ask = (path, query) => server().ask(path, query);

async function recorded(machine, kind) {
  if (globalThis.site) return (await load(machine))[kind];
  const input = machine === "palindrome" ? { input: WORD } : {};
  const [run, network] = await Promise.all(["api/run", "api/network"].map((path) => ask(path, { machine, kind, ...input })));
  return { run, network };
}

const kept = new Map();
const once = (name, make) => {
  if (!kept.has(name)) kept.set(name, make());
  return kept.get(name);
};

// A run with all of its moments, of which there are few: { source, run, network, moments by t }.
async function whole(source) {
  const run = await source.run(), moments = [null];
  for (let t = 1; t <= run.last; t++) moments.push(await source.moment(t));
  return { source, run, network: source.data, moments };
}

export const palindrome = () => once("palindrome", async () => whole(new Walked(await recorded("palindrome", "transformer"))));

// The busy beaver on the universal network, and its moment FAR, which the network's own run in Python
// has reached: an engine in a page stops earlier.
export const beaver = () => once("beaver", async () => {
  const source = new Walked(await recorded("busy-beaver-5", ANY)), run = await source.run();
  const query = { machine: "busy-beaver-5", kind: ANY, from: FAR, count: 1 };
  const far = globalThis.site ? await load("walk") : (await ask("api/moments", query))[0];
  return { source, run, network: source.data, far: unfold(far, run) };
});

// A typed machine on the universal network.
export async function typed(text, input) {
  let machine;
  try {
    machine = readMachine(text);
  } catch (error) {
    throw error.list ? new Trouble(error.message) : error;
  }
  const source = new Walked((await beaver()).source.recorded, { machine, input });
  return { source, run: await source.run(), network: source.data };
}
