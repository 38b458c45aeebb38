// The source of answers in a static site: the networks of the library, each in a script of its own
// that is loaded when it is shown, and any typed machine on the universal network.

import * as store from "../store.js";
import { EngineSource } from "../engine/source.js";
import { Trouble } from "../source.js";

const { site } = globalThis; // by site.js: machines, kinds, demos, and the scripts loaded so far

// What a script of data/ has, by its name; scripts load from file://, where fetch does not.
export async function load(name) {
  site.data[name] ??= await new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `data/${name}.js`;
    script.onload = () => resolve(site.packed[name]);
    script.onerror = () => reject(new Trouble(`data/${name}.js does not load; is the folder whole?`));
    document.head.append(script);
  });
  return globalThis.unpacked(site.data[name]);
}

export class SiteSource extends EngineSource {
  constructor(progress) {
    super(null, progress);
    this.library = new Map(site.machines.map((machine) => [machine.name, machine]));
    store.inFragment.push("kind");
  }

  // The machine in the address: one of the library as it is here, or one that is typed, or has
  // another input: these run on the universal network.
  async run() {
    const { machine = site.machines[0].name, kind = site.kinds[0].name, input } = store.subject();
    const known = this.library.get(machine), isUniversal = !known || kind === site.universal;
    if (!site.kinds.some(({ name }) => name === kind))
      throw new Trouble(`this site has no ${kind}; it has ${site.kinds.map(({ name }) => name).join(", ")}`);
    const isOther = known && input !== undefined && input !== known.input;
    if (isOther && !isUniversal)
      throw new Trouble(`this site has the ${kind} of ${machine} on its input ${known.input || "(empty)"}; another input runs on ${site.universal}, or with netwright explore`);
    const mine = (this.wanted = {}), found = await load(known ? machine : site.machines[0].name);
    if (mine !== this.wanted) return null;
    const recorded = found[isUniversal ? site.universal : kind];
    this.recorded = { ...recorded, statements: site.statements };
    this.isTyped = !known || isOther;
    return super.run();
  }

  get typed() {
    if (!this.isTyped) return {};
    const { machine, input } = store.subject();
    return this.library.has(machine) ? { machine: this.given, input } : { machine: this.read(machine), input };
  }

  async machines() { return { machines: site.machines, kinds: site.kinds }; }
  async demos() { return site.demos; }
}
