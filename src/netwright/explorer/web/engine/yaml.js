// The YAML that machines are written in: block and flow mappings, flow lists, scalars as they are in
// the file, blocks of text. No anchors, tags, lists with dashes or scalars over several lines.
//
// A node has its line, from 1 on, and is { text, isPlain }, { list } or { entries: [[key, value], …] }.

export class YAMLFault extends Error {
  constructor(line, words) {
    super(words);
    this.line = line;
  }
}

const ESCAPES = new Map([["n", "\n"], ["t", "\t"], ["0", "\0"], ['"', '"'], ["\\", "\\"], ["/", "/"], [" ", " "]]);
const HEX = new Map([["x", 2], ["u", 4], ["U", 8]]);

class Reader {
  constructor(text, offset) {
    this.text = text.replace(/\r\n?/g, "\n");
    this.at = 0;
    this.offset = offset;
    this.seen = this.rows = 0; // line ends before a place, and the place
  }

  get char() { return this.text[this.at]; }
  get line() {
    if (this.seen > this.at) this.seen = this.rows = 0;
    for (; this.seen < this.at; this.seen++) if (this.text[this.seen] === "\n") this.rows += 1;
    return this.offset + this.rows + 1;
  }
  get column() { return this.at - (this.text.lastIndexOf("\n", this.at - 1) + 1); }

  fault(words) { throw new YAMLFault(this.line, words); }

  // Over spaces; in a flow collection also over line ends and comments.
  skip(isFlow) {
    for (;;) {
      const found = /[ \t]*(#[^\n]*)?/y;
      found.lastIndex = this.at;
      const [all, comment] = found.exec(this.text), isComment = comment !== undefined && (all !== comment || this.at === 0 || /\s/.test(this.text[this.at - 1]));
      this.at += isComment || comment === undefined ? all.length : all.length - comment.length;
      if (!isFlow || this.char !== "\n") return;
      this.at += 1;
    }
  }

  // To the first character of the next line that says anything.
  nextLine() {
    this.skip(true);
    const isEnd = /^\.\.\.\s*$/.test(this.text.slice(this.at)) && this.column === 0;
    if (isEnd) this.at = this.text.length;
  }

  quoted() {
    const quote = this.char, line = this.line;
    let found = "";
    for (this.at += 1; ; this.at += 1) {
      if (this.char === undefined || this.char === "\n") this.fault(`a text in ${quote} has no end`);
      if (this.char === quote) {
        if (quote === '"' || this.text[this.at + 1] !== quote) break;
        this.at += 1; // '' is one
      } else if (quote === '"' && this.char === "\\") {
        const letter = this.text[(this.at += 1)], count = HEX.get(letter), digits = this.text.slice(this.at + 1, this.at + 1 + (count ?? 0));
        if (count ? !/^[0-9a-fA-F]+$/.test(digits) || digits.length < count || parseInt(digits, 16) > 0x10ffff : !ESCAPES.has(letter)) this.fault(`\\${letter ?? ""}${digits} is not read`);
        found += count ? String.fromCodePoint(parseInt(digits, 16)) : ESCAPES.get(letter);
        this.at += count ?? 0;
        continue;
      }
      found += this.char;
    }
    this.at += 1;
    return { text: found, isPlain: false, line };
  }

  plain(isFlow) {
    const { line, char } = this, start = this.at, next = this.text[this.at + 1];
    if (/[&*!|>%@`,\]}#]/.test(char) || (char === ":" && /[\s:]/.test(next ?? " ")) || (/[?-]/.test(char) && /\s/.test(next ?? " "))) this.fault(`expected a value, got ${char}; put it in quotes, as in '${char}'`);
    for (; this.char !== undefined && this.char !== "\n"; this.at += 1) {
      if (this.char === ":" && (/[\s]/.test(this.text[this.at + 1] ?? " ") || (isFlow && /[,\]}]/.test(this.text[this.at + 1])))) break;
      if (isFlow && /[,\[\]{}]/.test(this.char)) break;
      if (this.char === "#" && /\s/.test(this.text[this.at - 1])) break;
    }
    return { text: this.text.slice(start, this.at).trim(), isPlain: true, line };
  }

  // A scalar or a flow collection.
  value(isFlow) {
    if (this.char === "{" || this.char === "[") return this.flow();
    return this.char === '"' || this.char === "'" ? this.quoted() : this.plain(isFlow);
  }

  flow() {
    const { line } = this, end = this.char === "{" ? "}" : "]", items = [];
    this.at += 1;
    for (this.skip(true); this.char !== end; this.skip(true)) {
      if (this.char === undefined) throw new YAMLFault(line, `there is no ${end} for this`);
      if (this.char === ",") this.fault("expected a value, got a comma; a comma itself is written ','");
      const key = this.value(true);
      this.skip(true);
      let value = { text: "", isPlain: true, line: this.line };
      if (end === "}" && this.char === ":") {
        this.at += 1;
        this.skip(true);
        if (!/[,}]/.test(this.char ?? "}")) value = this.value(true);
        this.skip(true);
      }
      items.push(end === "}" ? [key, value] : key);
      if (this.char === ",") this.at += 1;
      else if (this.char !== end && this.char !== undefined) this.fault(`expected a comma or ${end}, got ${this.char}`);
    }
    this.at += 1;
    return end === "}" ? { entries: items, line } : { list: items, line };
  }

  // A block mapping, or a value, that begins here, at a column.
  block() {
    const { column, line } = this, entries = [];
    for (; this.char !== undefined && this.column >= column; this.nextLine()) {
      if (this.column > column) this.fault("this line is further in than the one before it");
      const key = this.value(false);
      this.skip(false);
      if (this.char === ":" && !/\s/.test(this.text[this.at + 1] ?? " ")) this.fault("expected a space after the colon");
      if (this.char !== ":") {
        if (entries.length || ![undefined, "\n"].includes(this.char)) this.fault("expected a key, a colon and a value");
        return key;
      }
      this.at += 1;
      this.skip(false);
      entries.push([key, this.blockValue(column)]);
    }
    return { entries, line };
  }

  blockValue(column) {
    const none = { text: "", isPlain: true, line: this.line };
    if (/[|>]/.test(this.char ?? "") && /^[|>][+-]?\s*(#.*)?$/.test(this.text.slice(this.at).split("\n")[0])) return this.literal(column);
    if (this.char !== undefined && this.char !== "\n") {
      const found = this.value(false);
      this.skip(false);
      if (this.char !== undefined && this.char !== "\n") this.fault(`expected the end of the line, got ${this.char}`);
      return found;
    }
    this.nextLine();
    return this.char !== undefined && this.column > column ? this.block() : none;
  }

  literal(column) {
    const [first] = this.text.slice(this.at).split("\n"), isClipped = first[1] === "-";
    if (first[0] === ">") this.fault("a folded text (>) is not read; write it with |");
    const line = this.line + 1, lines = this.text.slice(this.at).split("\n").slice(1), own = [];
    for (const each of lines) {
      if (each.trim() && each.length - each.trimStart().length <= column) break;
      own.push(each);
    }
    this.at += [this.text.slice(this.at).split("\n")[0], ...own].join("\n").length;
    const indent = Math.min(...own.filter((each) => each.trim()).map((each) => each.length - each.trimStart().length));
    const text = own.map((each) => each.slice(indent)).join("\n").trimEnd();
    return { text: isClipped ? text : `${text}\n`, isPlain: false, line };
  }
}

// The node of a whole text, whose first line is `offset` + 1.
export function readYAML(text, offset = 0) {
  const reader = new Reader(text, offset);
  reader.nextLine();
  if (reader.column === 0 && /^---\s/.test(reader.text.slice(reader.at, reader.at + 4))) { // where a document begins
    reader.at += 3;
    reader.nextLine();
  }
  const found = reader.block();
  reader.nextLine();
  if (reader.char !== undefined) reader.fault("expected the end, or a line further in");
  return found;
}
