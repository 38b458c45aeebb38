// The claims of the proof about a moment: green where the vectors have exactly its values.

import { element, signed } from "./format.js";
import { openDialog } from "./help.js";

const LETTERS = { a1: "a¹", z1: "z¹", p2: "p²", z2: "z²", p3: "p³", z3: "z³", "the tokens attended to": "ℓ" };

const VECTORS = { a1: "decoder.1.a", z1: "decoder.1.z", p2: "decoder.2.p", z2: "decoder.2.z", p3: "decoder.3.p", z3: "decoder.3.z", y: "y" };

function vector(run, moment, name) {
  const names = run.layout.flatMap(([block, labels]) => labels.map((label) => (label ? `${block}[${label}]` : block)));
  return `[${moment.vectors[name].entries.map(([n, value]) => `${names[n]}=${signed(value)}`).join(", ")}]`;
}

export function drawLemmas(list, run, moment, source) {
  list.replaceChildren(...(moment.lemmas ?? []).map((lemma) => {
    const name = `${lemma.statement.replace("Lemma ", "")} ${LETTERS[lemma.name] ?? lemma.name}`;
    const open = async () => {
      const titles = await source.statements();
      openDialog(
        element("h2", {}, lemma.statement),
        element("p", {}, `${titles?.[lemma.statement] ?? ""}.`),
        element("p", {}, lemma.holds
          ? `At token ${moment.t}, ${LETTERS[lemma.name] ?? lemma.name} is exactly the value of the proof.`
          : `At token ${moment.t} it does not hold.`),
        ...(lemma.holds && VECTORS[lemma.name] ? [element("p", {}, `${LETTERS[lemma.name] ?? "y"} = `, element("code", {}, vector(run, moment, VECTORS[lemma.name])))] : []),
        ...(lemma.holds && lemma.name.startsWith("the") ? [element("p", {}, `ℓ = ${moment.attention.winner - 1}, counted from 0: token ${moment.attention.winner}.`)] : []),
        ...(lemma.holds ? [] : [element("p", {}, "found ", element("code", {}, lemma.found)), element("p", {}, "proved ", element("code", {}, lemma.wanted))]),
      );
    };
    return element("li", {}, element("button", { class: lemma.holds ? "holds" : "fails", onclick: open }, `${lemma.holds ? "✓" : "✗"} ${name}`));
  }));
}
