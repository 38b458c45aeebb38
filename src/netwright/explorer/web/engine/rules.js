// A machine from text: bbchallenge text, turingmachine.io's YAML, or Morphett's lines `state symbol
// new-symbol direction new-state`, as machine/formats reads them. Faults have their line.

import { isDocument, readDocument } from "./document.js";

const MOVES = { l: "L", g: "L", r: "R", d: "R", "*": "S" };
const ACCEPTING = ["accept", "accepted", "qaccept", "q_accept", "halt-accept", "yes"];
const WORDS = { START: false, BLANK: false, ACCEPT: true, SYMBOLS: true, STATES: true, INPUT_SYMBOLS: true };
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const MOST_PAIRS = 20_000;

export class Faults extends Error {
  // `list` has [line, words], lines from 1 on.
  constructor(list) {
    super(list.map(([line, words]) => `line ${line}: ${words}`).join("\n"));
    this.list = list;
  }
}

const unique = (names) => [...new Set(names)];

export function readMachine(text) {
  const lines = text.split("\n").map((line) => line.trim());
  const first = lines.findIndex((line) => line && !line.startsWith("#"));
  if (first < 0) throw new Faults([[1, "there is no machine in it; expected text such as 1RB1LB_1LA1RZ, or rules such as 0 1 0 r 0"]]);
  if (isDocument(text)) return readNamed(text);
  return /^[0-9A-Z_-]{3,}$/.test(lines[first]) ? readTable(lines[first], first + 1, lines) : readLines(text.split("\n"));
}

// The words of directives such as `; $ACCEPT: ["q5"]`, after a mark of comments.
function directives(lines, mark, fault) {
  const words = {};
  lines.forEach((line, n) => {
    const directive = line.match(new RegExp(`^\\s*${mark}\\s*\\$([A-Z_]+):\\s*(\\S.*)$`));
    if (!directive || !(directive[1] in WORDS)) return;
    let value = null;
    try { value = JSON.parse(directive[2]); } catch { /* a fault below */ }
    const isList = WORDS[directive[1]];
    if (isList ? Array.isArray(value) && value.every((each) => typeof each === "string") : typeof value === "string") words[directive[1]] = value;
    else fault(n, `expected JSON such as ${isList ? '["q5"]' : '"q5"'} after $${directive[1]}:, got ${directive[2]}`);
  });
  return words;
}

// The accepting states: as declared, or by name.
function acceptingOf(declared, states, rules) {
  const leaving = new Set(rules.map(([state]) => state));
  const accepting = declared ?? states.filter((state) => !leaving.has(state) && ACCEPTING.includes(state.toLowerCase()));
  for (const state of accepting) if (!states.includes(state)) throw new Faults([[1, `accepting state ${state} is not among the states`]]);
  return [...accepting].sort();
}

function readNamed(text) {
  const faults = [], found = readDocument(text, (line, words) => faults.push([line, words]));
  const words = found?.text === undefined ? {} : directives(found.text.split("\n"), "#", (n, fault) => faults.push([n + 1, fault]));
  if (faults.length) throw new Faults(faults);
  const { name, states, start, blank, rules, default_input } = found, symbols = unique([...found.symbols, ...(words.SYMBOLS ?? [])]);
  return { name, description: "", states, start, blank, symbols, rules, accepting: acceptingOf(words.ACCEPT, states, rules), default_input };
}

function readTable(text, line, lines) {
  const faults = [], rows = text.split("_"), columns = Math.floor(rows[0].length / 3), rules = [];
  const fault = (words, at = line) => faults.push([at, words]);
  lines.forEach((other, n) => { if (n >= line && other && !other.startsWith("#")) fault("expected one machine, and nothing after it", n + 1); });
  if (rows.length > LETTERS.length) fault(`${rows.length} rows; this text has letters for 26 states`);
  if (columns > 10) fault(`${columns} columns; this text has digits for 10 symbols`);
  rows.forEach((row, n) => {
    const state = LETTERS[n];
    if (!row || row.length % 3) fault(`row ${state}: ${row} is not made of groups of three, such as 1RB`);
    else if (row.length !== 3 * columns) fault(`row ${state}: ${row.length / 3} rules, but row A has ${columns}`);
    (row.match(/.../g) ?? []).forEach((cell, symbol) => {
      if (cell === "---") return;
      if (!/^[0-9][LR][A-Z]$/.test(cell)) fault(`row ${state}, column ${symbol}: expected a rule such as 1RB, or ---, got ${cell}`);
      else if (Number(cell[0]) >= columns) fault(`row ${state}, column ${symbol}: ${cell} writes ${cell[0]}, but the highest symbol is ${columns - 1}`);
      rules.push([state, String(symbol), cell[2], cell[0], cell[1]]);
    });
  });
  if (faults.length) throw new Faults(faults);
  const states = [...LETTERS.slice(0, rows.length)];
  const halting = unique(rules.map((rule) => rule[2])).filter((state) => !states.includes(state)).sort();
  return {
    name: text, description: "", states: [...states, ...halting], start: "A", blank: "0",
    symbols: Array.from({ length: columns }, (_, n) => String(n)), rules, accepting: [], default_input: [],
  };
}

function readLines(lines) {
  const faults = [], found = new Map(), letters = new Set(), key = (q, s) => `${q}\n${s}`;
  const fault = (n, text) => faults.push([n + 1, text]), words = directives(lines, ";", fault);
  let tape = null;
  lines.forEach((line, n) => {
    const comment = line.slice((line.indexOf(";") + 1 || line.length + 1));
    if (tape === null && comment.includes("$INITIAL_TAPE"))
      tape = [...comment.split("$INITIAL_TAPE").slice(1).join("$INITIAL_TAPE").replace(/^:/, "").trim().replaceAll(" ", "_")].filter((s) => s !== "*");
    const fields = line.split(";")[0].split(/\s+/).filter(Boolean);
    if (fields.length === 6 && fields[5] === "!") fields.pop(); // a breakpoint
    if (!fields.length) return;
    if (fields.length !== 5) return fault(n, `expected five fields (state, symbol, new symbol, direction, new state), got ${fields.length}: ${fields.join(" ").slice(0, 60)}`);
    const [state, symbol, write, letter, target] = fields, move = MOVES[letter.toLowerCase()];
    for (const each of [symbol, write]) if ([...each].length !== 1) fault(n, `symbol ${each} has ${[...each].length} characters; expected one`);
    if (!move) return fault(n, `direction ${letter}; expected l, r, * (or g, d)`);
    letters.add(letter.toLowerCase());
    found.set(key(state, symbol), { state, symbol, write, move, target, n }); // the last one wins
  });
  if (!found.size && !faults.length) fault(0, "there is no rule in it");
  if (faults.length) throw new Faults(faults);
  const all = [...found.values()], from = all.map((rule) => rule.state);
  const french = letters.has("g") || letters.has("d") || (!from.includes("0") && from.includes("q0"));
  const start = words.START ?? ["0", "q0"].find((state) => from.includes(state)) ?? (from.includes("*") ? "0" : from[0]);
  const states = unique([start, ...all.flatMap((rule) => [rule.state, rule.target]), ...(words.STATES ?? [])]).filter((state) => state !== "*");
  const inFile = unique(["_", ...all.flatMap((rule) => [rule.symbol, rule.write]), ...(tape ?? [])]).filter((symbol) => symbol !== "*");
  const blank = words.BLANK ?? "_", name = (symbol) => (symbol === "_" ? blank : symbol);
  const wild = all.some((rule) => rule.state === "*" || rule.symbol === "*"), rules = [];
  if (states.length * inFile.length > MOST_PAIRS) throw new Faults([[1, `${states.length} states and ${inFile.length} symbols are too many for the page`]]);
  for (const state of states) {
    if (/^halt/i.test(state) || (french && /^stop/i.test(state))) continue;
    for (const symbol of wild ? inFile : all.filter((rule) => rule.state === state).map((rule) => rule.symbol)) {
      const rule = [[state, symbol], [state, "*"], ["*", symbol], ["*", "*"]].map(([q, s]) => found.get(key(q, s))).find(Boolean);
      if (rule) rules.push([state, name(symbol), rule.target === "*" ? state : rule.target, name(rule.write === "*" ? symbol : rule.write), rule.move]);
    }
  }
  return {
    name: "", description: "", states, start, blank, symbols: unique([...inFile.map(name), ...(words.SYMBOLS ?? [])]),
    rules, accepting: acceptingOf(words.ACCEPT, states, rules), default_input: (tape ?? []).map(name),
  };
}

// A machine as lines of rules, which `readMachine` reads back; null if a name does not fit.
export function writeMachine(machine) {
  const bad = (name) => !name || /[\s;*]/.test(name), symbol = (s) => (s === machine.blank ? "_" : s);
  const rules = machine.rules.map(([state, read, next, write, move]) => [state, symbol(read), symbol(write), { L: "l", R: "r", S: "*" }[move], next]);
  const halts = (state) => /^(halt|stop)/i.test(state);
  if (machine.symbols.some((s) => [...s].length !== 1 || (s === "_" && s !== machine.blank)) || machine.symbols.some(bad) || machine.states.some(bad) || rules.some(([state]) => halts(state))) return null;
  const words = { START: machine.start, BLANK: machine.blank, ACCEPT: machine.accepting, STATES: machine.states, SYMBOLS: machine.symbols };
  return [
    ...Object.entries(words).map(([word, value]) => `; $${word}: ${JSON.stringify(value)}`),
    ...(machine.default_input.length ? [`; $INITIAL_TAPE: ${machine.default_input.map(symbol).join("")}`] : []),
    ...rules.map((fields) => fields.join(" ")),
  ].join("\n");
}
