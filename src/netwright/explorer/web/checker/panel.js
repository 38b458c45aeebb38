// The dialog in which a certificate is checked: in slices, so that the page stays alive. Nothing leaves it.

import { element, number } from "../format.js";
import { openDialog } from "../help.js";
import { checking } from "./check.js";

const SLICE = 40, LARGEST = 1e8; // milliseconds; bytes
let current = 0; // the number of the newest check: those before it end

const pause = () => new Promise((resolve) => { setTimeout(resolve); });

async function run(bytes, tell) {
  const mine = ++current, report = {}, steps = checking(bytes, report), began = performance.now();
  for (let step = steps.next(); !step.done;) {
    const until = performance.now() + SLICE;
    while (!step.done && performance.now() < until) step = steps.next();
    if (step.done) break;
    tell(report);
    await pause();
    if (mine !== current) return null;
  }
  return { ...report, seconds: (performance.now() - began) / 1000 };
}

// The SHA-256 that netwright prints of a machine: of its JSON in ASCII, all in the order of code points.
async function digest(machine) {
  if (!globalThis.crypto?.subtle) return null;
  const points = (text) => Array.from(text, (each) => each.codePointAt(0));
  const compare = (a, b) => {
    const [x, y] = typeof a === "string" ? [points(a), points(b)] : [a, b];
    for (let n = 0; n < Math.min(x.length, y.length); n += 1) {
      const found = typeof x[n] === "string" ? compare(x[n], y[n]) : x[n] - y[n];
      if (found) return found;
    }
    return x.length - y.length;
  };
  const ascii = (text) => JSON.stringify(text).replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const written = (value) => (Array.isArray(value) ? `[${value.map(written).join(", ")}]` : ascii(value));
  const sorted = (key) => [...machine.get(key)].sort(compare);
  const accepting = [...new Set(machine.get("accepting"))].sort(compare);
  const parts = [sorted("states"), sorted("symbols"), accepting, machine.get("blank"), machine.get("start"), sorted("delta")];
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(written(parts)));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function verdict({ verdict: found, on, machine, obligations, reason }) {
  const failed = obligations.find((each) => each.failure !== null);
  if (found === "holds") return `Certified: the ${on} simulates ${machine ? "the machine below" : "every machine"} on every input, for ever.`;
  if (found === "fails") return `Not certified. ${failed.name}: ${failed.failure}`;
  return found === "refused" ? `Refused: ${reason}` : `Not checked: ${reason}.`;
}

async function machinePart(machine) {
  const rules = machine.get("delta"), count = (key) => number(machine.get(key).length);
  const hash = await digest(machine);
  return element("details", {},
    element("summary", {}, `The machine: ${count("states")} states, ${count("symbols")} symbols, ${count("delta")} rules, begins in ${machine.get("start")}`),
    hash && element("p", {}, `sha256 ${hash}`),
    element("pre", { tabindex: 0 }, rules.map(([q, s, p, w, move]) => `${q} ${s} → ${p} ${w} ${move}`).join("\n")));
}

async function check(file, place) {
  const say = (text) => place.replaceChildren(element("p", { role: "status" }, text));
  if (file.size > LARGEST) return say(`${file.name} has more than ${number(LARGEST)} bytes; netwright certify --check reads it`);
  say(`Reading ${file.name} …`);
  place.dataset.verdict = "";
  let report;
  try {
    const bytes = await file.arrayBuffer();
    report = await run(bytes, ({ on, obligations }) => say(on ? `Checking ${on}: ${obligations.length} obligations so far` : `Reading ${file.name} …`));
  } catch (error) {
    return say(`${file.name} cannot be checked here: ${error.message}`);
  }
  if (!report) return null; // another file came
  const rows = report.obligations.map(({ name, cases, failure }) => element("tr", { class: failure === null ? "" : "failed" },
    element("td", {}, name), element("td", {}, number(cases)), element("td", {}, failure === null ? "holds" : `fails: ${failure}`)));
  const cases = report.obligations.reduce((sum, each) => sum + each.cases, 0);
  const shown = [
    element("p", { role: "status", class: "verdict" }, verdict(report)),
    element("p", {}, `${file.name}${report.on ? `, ${report.on}` : ""}: ${number(report.obligations.length)} obligations, ${number(cases)} cases in ${report.seconds.toFixed(2)} s`),
    report.machine && await machinePart(report.machine),
    rows.length ? element("table", { class: "obligations" },
      element("thead", {}, element("tr", {}, ...["obligation", "cases", ""].map((each) => element("th", { scope: "col" }, each)))),
      element("tbody", {}, ...rows)) : null,
  ];
  place.replaceChildren(...shown.filter(Boolean));
  place.dataset.verdict = report.verdict;
  return null;
}

export function showChecker(file) {
  const place = element("div", { id: "checked" });
  const choose = element("input", { type: "file", accept: ".json,application/json", onchange: () => choose.files[0] && check(choose.files[0], place) });
  openDialog(
    element("h2", {}, "Check a certificate"),
    element("p", {}, "Choose a file that netwright certify -o wrote, or drop it anywhere onto this page. It is checked here, by a second checker that shares no code with netwright's own; nothing leaves this page."),
    element("p", {}, element("label", {}, "Certificate ", choose)), place);
  if (file) check(file, place);
}
