// JSON, strictly: no key twice, no number but integers, no NaN. Objects become Maps.

export class Refusal extends Error {}

const DEEPEST = 500, LONGEST = 4000; // lists in lists; characters of an integer
const SPACE = /[ \t\n\r]*/y, PLAIN = /[^"\\\u0000-\u001f]*/y, HEX = /[0-9a-fA-F]{4}/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const WORDS = [["true", true], ["false", false], ["null", null]];

// A generator: it pauses now and then, and returns the value.
export function* parse(text) {
  let at = 0, steps = 0;
  const refuse = (what) => { throw new Refusal(`not JSON: ${what} at character ${at}`); };
  const skip = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found;
  };
  const take = (character) => {
    skip(SPACE);
    const found = text[at] === character;
    if (found) at += 1;
    return found;
  };
  const string = () => {
    let found = "";
    for (;;) {
      found += skip(PLAIN)[0];
      const character = text[at];
      if (character === '"') { at += 1; return found; }
      if (character !== "\\") refuse("a text does not end");
      const escape = text[at + 1];
      at += 2;
      if (escape === "u") {
        const code = skip(HEX);
        if (!code) refuse("an escape");
        found += String.fromCharCode(parseInt(code[0], 16));
      } else if (Object.hasOwn(ESCAPES, escape ?? "")) found += ESCAPES[escape];
      else refuse("an escape");
    }
  };
  const number = () => {
    const found = skip(NUMBER);
    if (!found) refuse("no value");
    if (found[1] || found[2] || found[0].length > LONGEST) {
      throw new Refusal(`found the number ${found[0].slice(0, 40)}; expected an integer or text`);
    }
    const value = Number(found[0]);
    return Number.isSafeInteger(value) ? value + 0 : BigInt(found[0]); // −0 + 0 is 0
  };
  const open = []; // the lists and objects around the place, the innermost last
  const key = (object) => {
    if (!take('"')) refuse("a key");
    object.key = string();
    if (object.value.has(object.key)) throw new Refusal(`an object: '${object.key}' occurs twice`);
    if (!take(":")) refuse("no colon");
  };

  for (;;) {
    if ((++steps & 0xfff) === 0) yield;
    let value;
    if (take("{")) {
      value = new Map();
      if (!take("}")) {
        open.push({ value });
        key(open.at(-1));
        value = undefined;
      }
    } else if (take("[")) {
      value = [];
      if (!take("]")) {
        open.push({ value });
        value = undefined;
      }
    } else if (take('"')) value = string();
    else {
      const word = WORDS.find(([name]) => text.startsWith(name, at));
      if (word) at += word[0].length;
      value = word ? word[1] : number();
    }
    if (open.length > DEEPEST) throw new Refusal("nested too deeply");
    if (value === undefined) continue; // the first value inside of what was opened
    for (;;) { // put the value into what is around it; close what ends here
      const around = open.at(-1);
      if (!around) {
        skip(SPACE);
        if (at < text.length) refuse("more after the end");
        return value;
      }
      const isList = Array.isArray(around.value);
      if (isList) around.value.push(value);
      else around.value.set(around.key, value);
      if (take(",")) {
        if (!isList) key(around);
        break;
      }
      if (!take(isList ? "]" : "}")) refuse("no comma");
      value = open.pop().value;
    }
  }
}
