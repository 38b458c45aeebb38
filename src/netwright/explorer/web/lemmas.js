// The claims of the proof about a moment: green where the vectors have exactly its values.

import { element, number, signed } from "./format.js";
import { openDialog } from "./help.js";

const LETTERS = { a1: "a¹", z1: "z¹", p2: "p²", z2: "z²", p3: "p³", z3: "z³", "the tokens attended to": "ℓ" };
const ATTENDED = { "the tokens attended to": "p3" };

const VECTORS = { a1: "decoder.1.a", z1: "decoder.1.z", p2: "decoder.2.p", z2: "decoder.2.z", p3: "decoder.3.p", z3: "decoder.3.z", y: "y" };

function vector(run, moment, name) {
  const names = run.layout.flatMap(([block, labels]) => labels.map((label) => (label ? `${block}[${label}]` : block)));
  return `[${moment.vectors[name].entries.map(([n, value]) => `${names[n]}=${signed(value)}`).join(", ")}]`;
}

// What a vector is, for those who point at its chip: its formula, and the words of the view.
function says(run, name) {
  const part = run.view?.parts?.find(({ vector }) => vector === (VECTORS[name] ?? VECTORS[ATTENDED[name]]));
  if (!part) return "";
  return name in ATTENDED ? `ℓ: the token that layer 3 attends to. ${part.caption}` : `${part.formula}: ${part.caption}`;
}

export function drawLemmas(list, run, moment, source) {
  const chip = (holds, words, title, open) => element("li", {}, element("button", { class: holds ? "holds" : "fails", title, onclick: open }, `${holds ? "✓" : "✗"} ${words}`));
  list.replaceChildren(...(moment.lemmas ?? []).map((lemma) => {
    const step = !(lemma.name in LETTERS) && !(lemma.name in VECTORS), name = step ? lemma.name : `${lemma.statement.replace("Lemma ", "")} ${LETTERS[lemma.name] ?? lemma.name}`, letter = LETTERS[lemma.name] ?? lemma.name, what = says(run, lemma.name);
    const open = async () => {
      const titles = await source.statements();
      openDialog(
        element("h2", {}, lemma.statement),
        element("p", {}, `${titles?.[lemma.statement] ?? ""}.`),
        what ? element("p", {}, what) : null,
        element("p", {}, lemma.holds
          ? `At time ${number(moment.t)}, ${letter} ${step ? "are what the vectors show" : "is exactly the value of the proof"}.`
          : `At time ${number(moment.t)} it does not hold.`),
        ...(lemma.holds && VECTORS[lemma.name] ? [element("p", {}, `${LETTERS[lemma.name] ?? "y"} = `, element("code", {}, vector(run, moment, VECTORS[lemma.name])))] : []),
        ...(lemma.holds && lemma.name in ATTENDED ? [element("p", {}, `ℓ = ${moment.attention.winner - 1}, counted from 0: token ${moment.attention.winner}.`)] : []),
        ...(lemma.holds ? [] : [element("p", {}, "found ", element("code", {}, lemma.found)), element("p", {}, "proved ", element("code", {}, lemma.wanted))]),
      );
    };
    return chip(lemma.holds, name, `${titlesOf[lemma.statement] ? `${lemma.statement}: ${titlesOf[lemma.statement]}. ` : ""}${what}`, open);
  }), ...(list.id === "lemmas" ? obliged(run, chip, moment.lemmas?.length > 1) : []));
}

let titlesOf = {}, checked = {}; // of the last run: its certificate

// Ask once a run for what is checked of the weights; then the chips are drawn again.
export async function loadObligations(run, source, draw) {
  if (checked.run === run) return;
  checked = { run, found: null };
  const [titles, found] = await Promise.all([source.statements(), source.obligations()]).catch(() => [null, null]);
  if (checked.run !== run || !found) return;
  titlesOf = titles ?? {};
  checked.found = found;
  draw();
}

// A chip for each part of the certificate, or one for all if the moment has chips of its own.
function obliged(run, chip, asOne) {
  if (checked.run !== run || !checked.found) return [];
  const { obligations, why } = checked.found, parts = new Map();
  if (!obligations.length) return [element("li", { class: "quiet", title: why }, "no certificate")];
  for (const each of obligations) {
    const part = asOne ? "certificate" : each[0].split(":")[0];
    parts.set(part, [...(parts.get(part) ?? []), each]);
  }
  const open = (part, some) => openDialog(element("h2", {}, `Checked for every input: ${part}`), element("p", {}, "An independent checker reads the weights and checks finitely many cases, which imply the theorem for all inputs and all time."),
    element("ul", {}, ...some.map(([name, cases, failure]) => element("li", {}, `${failure === null ? "✓" : "✗"} ${name}`, element("small", {}, ` ${number(cases)} ${cases === 1 ? "case" : "cases"}`), failure === null ? null : element("p", {}, failure)))));
  return [...parts].map(([part, some]) => chip(some.every(([, , failure]) => failure === null), some.length > 1 ? `${part} · ${some.length}` : part, some.map(([name]) => name).join("\n"), () => open(part, some)));
}
