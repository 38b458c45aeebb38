// A machine from turingmachine.io's YAML, as machine/formats/turingmachine_io.py reads it: a bare
// machine, or a document with its `source code`. Faults have their line. What yaml.js does not read is a
// fault here, and may be a machine there.

import { YAMLFault, readYAML } from "./yaml.js";

const MOVES = new Map([["L", "L"], ["R", "R"], ["N", "S"]]), NEEDED = ["blank", "start state", "table"];

const isNull = ({ text, isPlain }) => isPlain && ["", "~", "null"].includes(text);
const kindOf = ({ text, list }) => (text !== undefined ? "value" : list ? "list" : "mapping");

export const isDocument = (text) => /^["']?(table|source code|start state)["']?\s*:/m.test(text);

// The machine without its accepting states; `fault` is called with a line and words.
export function readDocument(text, fault) {
  try {
    let entries = mapping(readYAML(text), "the file", fault), name = entries.get("name")?.text ?? "";
    const code = entries.get("source code");
    if (code) {
      text = code.text ?? "";
      entries = mapping(readYAML(text, code.line - 1), "the source code", fault);
    }
    return { name, text, ...machineOf(entries, fault) };
  } catch (error) {
    if (error instanceof RangeError) return void fault(1, "nested too deeply to be a machine");
    if (!(error instanceof YAMLFault)) throw error;
    fault(error.line, error.message);
    return null;
  }
}

function mapping(node, what, fault) {
  if (!node.entries) throw new YAMLFault(node.line, `${what}: expected a mapping, got a ${kindOf(node)}`);
  const found = new Map();
  for (const [key, value] of node.entries) {
    const text = scalar(key, `key of ${what}`, fault);
    if (found.has(text)) fault(key.line, `${what}: ${text} occurs a second time`);
    found.set(text, value);
  }
  return found;
}

function scalar(node, what, fault) {
  if (node.text !== undefined) return node.text;
  fault(node.line, `${what}: expected a plain value, got a ${kindOf(node)}`);
  return "";
}

function character(node, what, fault) {
  const text = scalar(node, what, fault);
  if (text === ",,") return ",";
  if (node.text !== undefined && [...text].length !== 1) fault(node.line, `${what}: expected one character, got ${text || "nothing"}`);
  return text;
}

function machineOf(entries, fault) {
  for (const [key, { text, list, line }] of entries) {
    const tapes = ["blank", "input", "tapes"].includes(key) && list ? list.length : /\btapes\b/.test(key.toLowerCase().replaceAll("_", " ")) ? Number(text) : 0;
    if (tapes > 1) throw new YAMLFault(line, `a machine with ${tapes} tapes; netwright reads machines with one tape`);
  }
  const missing = NEEDED.filter((key) => !entries.has(key) || isNull(entries.get(key)));
  for (const key of missing) fault(1, `no ${key}; a machine needs blank, start state and table`);
  if (missing.length) return null;
  const blank = character(entries.get("blank"), "blank", fault), start = scalar(entries.get("start state"), "start state", fault);
  const given = entries.get("input"), word = given && !isNull(given) ? [...scalar(given, "input", fault)] : [];
  const synonyms = new Map(), abbreviations = entries.get("synonyms");
  if (abbreviations && !isNull(abbreviations))
    for (const [name, node] of mapping(abbreviations, "synonyms", fault)) synonyms.set(name, instruction(node, new Map(), `synonym ${name}`, fault));
  const table = mapping(entries.get("table"), "table", fault), rules = [], symbols = [], lines = new Map();
  for (const [state, own] of table) {
    if (!state) fault(own.line, "a state has no name");
    if (isNull(own)) continue;
    if (!own.entries) {
      fault(own.line, `state ${state}: expected symbols and instructions`);
      continue;
    }
    for (const [key, node] of own.entries) {
      const found = instruction(node, synonyms, `state ${state}`, fault);
      for (const symbol of symbolsRead(key, state, fault)) {
        symbols.push(symbol);
        if (!found) continue;
        const { write = symbol, move, target = state } = found, pair = `${state}\n${symbol}`;
        symbols.push(write);
        if (lines.has(pair)) fault(key.line, `a second rule for (${state}, ${symbol}), after line ${lines.get(pair)}`);
        if (!table.has(target)) fault(key.line, `state ${target} is not a key of the table; for one that halts, add ${target}: with nothing after it`);
        lines.set(pair, key.line);
        rules.push([state, symbol, target, write, move]);
      }
    }
  }
  if (!table.has(start)) fault(entries.get("start state").line, `start state ${start} is not a key of the table`);
  return { states: [...table.keys()], start, blank, symbols: [blank, ...symbols, ...word], rules, default_input: word };
}

function instruction(node, synonyms, what, fault) {
  if (node.text !== undefined) {
    if (MOVES.has(node.text) && !(node.text === "N" && synonyms.has("N"))) return { move: MOVES.get(node.text) };
    if (!synonyms.has(node.text)) fault(node.line, `${what}: ${node.text || "nothing"} is neither a move (L, R, N) nor a synonym`);
    return synonyms.get(node.text) ?? null;
  }
  const entries = mapping(node, what, fault);
  for (const key of entries.keys()) if (key !== "write" && !MOVES.has(key)) fault(node.line, `${what}: ${key}; expected write and one of L, R, N`);
  const moves = [...entries.keys()].filter((key) => MOVES.has(key));
  if (moves.length !== 1) {
    fault(node.line, `${what}: expected one move (L, R or N), got ${moves.length}`);
    return null;
  }
  const target = entries.get(moves[0]), write = entries.get("write");
  return {
    move: MOVES.get(moves[0]),
    ...(write ? { write: character(write, "write", fault) } : {}),
    ...(isNull(target) || target.text === "" ? {} : { target: scalar(target, what, fault) }),
  };
}

// The symbols of a key: one, a list, or several separated by commas.
function symbolsRead(key, state, fault) {
  const what = `symbol read in state ${state}`;
  if (key.list) return key.list.map((each) => character(each, what, fault));
  if (/^(,,|[^,])(,(,,|[^,]))+$/su.test(key.text ?? "")) return [...key.text.matchAll(/(,,|[^,])(?:,|$)/gsu)].map(([, symbol]) => (symbol === ",," ? "," : symbol));
  return [character(key, what, fault)];
}
