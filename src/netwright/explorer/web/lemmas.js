// What is proved of a moment: green where the vectors are exactly the values of the proof.

import { element } from "./format.js";
import { openDialog } from "./help.js";

const LETTERS = { a1: "a¹", z1: "z¹", p2: "p²", z2: "z²", p3: "p³", z3: "z³", "the tokens attended to": "ℓ" };

export function drawLemmas(list, run, moment, source) {
  list.replaceChildren(...moment.lemmas.map((lemma) => {
    const name = `${lemma.statement.replace("Lemma ", "")} ${LETTERS[lemma.name] ?? lemma.name}`;
    const open = async () => {
      const titles = await source.statements();
      openDialog(
        element("h2", {}, lemma.statement),
        element("p", {}, titles?.[lemma.statement] ?? ""),
        element("p", {}, lemma.holds
          ? `At token ${moment.t}, ${LETTERS[lemma.name] ?? lemma.name} is exactly the value of the proof.`
          : `At token ${moment.t} it does not hold.`),
        ...(lemma.holds ? [] : [element("p", {}, "found ", element("code", {}, lemma.found)), element("p", {}, "proved ", element("code", {}, lemma.wanted))]),
      );
    };
    return element("li", {}, element("button", { class: lemma.holds ? "holds" : "fails", onclick: open }, `${lemma.holds ? "✓" : "✗"} ${name}`));
  }));
}
