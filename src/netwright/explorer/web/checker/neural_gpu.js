// The obligations of a Neural GPU: its kernels are those of Appendix C for some W, V and U, which are
// read off the kernels and checked as an RNN.

import { ONE } from "./rational.js";
import { Refusal } from "./json.js";
import { Blocks, Matrix, needed, readVector, sameList, sameVector } from "./reading.js";
import { Products, RNN, readEmbedding } from "./rnn.js";

const PARTS = ["E", "C", "D"], FLAGS = ["a", "b", "c"];
// For each matrix: the kernel of F, the block that it reads, and those that it writes.
const MATRICES = { V: [1, "C", ["E", "C"]], W: [2, "E", ["E", "C"]], U: [2, "C", ["D"]] };

// The RNN's blocks: those of a cell whose names begin with E and a space.
function ownBlocks(written) {
  const named = written.map((block) => (typeof block === "string" ? [block] : block)).filter(([name]) => name.startsWith("E "));
  return new Blocks(named.map(([name, labels]) => (labels ? [name.slice(2), labels] : name.slice(2))));
}

export class NeuralGPU {
  constructor(written) {
    this.written = written;
    this.network = written.get("network");
    const layouts = written.get("layouts").map((blocks) => new Blocks(blocks)), layout = this.network.get("layout");
    const sizes = layouts.map((each) => each.names.length);
    this.cell = needed(layouts, layout);
    this.rnn = ownBlocks(written.get("layouts")[layout]);
    this.d = this.rnn.names.length;
    this.kernels = Object.fromEntries([..."URF"].map((letter) => [letter,
      this.network.get(letter).get("kernels").map((row) => Products.read(needed(row, 0), sizes, layout))]));
  }

  *obligations() {
    if (yield ["shape: kernels (2, 1), σ, zeros outside", this.shape()]) return;
    yield ["gate U keeps what is still to come", this.gateU()];
    yield ["gate R lets pass what is needed", this.gateR()];
    const failure = yield ["F is W, V and U between the blocks", this.update()];
    yield ["embedding: [x, 0, 0, 1, 1, 0]", this.embedding()];
    if (failure !== null) return;
    const matrices = Object.fromEntries(Object.entries(MATRICES).map(([letter, ends]) => [letter, this.between(...ends)]));
    const tokens = [...this.cells].map(([symbol, cell]) => [symbol, new Map([...cell].filter(([k]) => k < this.d))]);
    const check = new RNN(this.written, this.rnn, matrices, new Map(tokens), true);
    for (const [name, cases] of check.obligations()) yield [`RNN: ${name}`, cases];
  }

  *shape() {
    const { rnn, cell, network } = this;
    yield (network.get("width") === 1 && !network.get("circular")) || "the wrong grid";
    const names = PARTS.flatMap((part) => [...rnn.places.keys()].map((block) => `${part} ${block}`));
    yield sameList([...cell.places.keys()], [...names, ...FLAGS]) || "the wrong channels";
    for (const part of PARTS) {
      for (const [block, labels] of rnn.places) {
        yield sameList([...cell.places.get(`${part} ${block}`).keys()], [...labels.keys()]) || `${part} ${block} has the wrong channels`;
      }
    }
    for (const letter of "URF") {
      yield network.get(letter).get("f") === "sigma" || `${letter} has the wrong activation`;
      const rows = network.get(letter).get("kernels");
      yield (rows.length === 2 && rows.every((row) => row.length === 1)) || `${letter} has kernels of the wrong shape`;
    }
  }

  block(part) {
    const first = PARTS.indexOf(part) * this.d;
    return Array.from({ length: this.d }, (_, n) => first + n);
  }

  ones(parts, flags) {
    const places = [...parts.flatMap((part) => this.block(part)), ...flags.map((flag) => this.cell.one(flag))];
    return new Map(places.map((k) => [k, ONE]));
  }

  bias(letter) {
    const rows = this.network.get(letter).get("bias");
    if (rows !== null && rows.length !== 1) throw new Refusal("a bias is not for exactly one column");
    return rows ? readVector(rows[0], this.cell.names.length) : new Map();
  }

  // Every row of a kernel is as wanted; those that are not named are 0.
  *is(letter, number, wanted) {
    for (const [j, name] of this.cell.names.entries()) {
      const found = this.kernels[letter][number - 1].image(new Map([[j, ONE]]));
      yield sameVector(found, wanted.get(j) ?? new Map()) || `K^${letter}_${number} at ${name} is ${this.cell.show(found).slice(0, 60)}`;
    }
  }

  *gateU() {
    yield this.bias("U").size === 0 || "U has a bias";
    const a = this.cell.one("a");
    yield* this.is("U", 1, new Map([[a, this.ones(["E", "C"], ["a", "b"])]]));
    yield* this.is("U", 2, new Map([[a, this.ones(["D"], ["c"])]]));
  }

  *gateR() {
    yield sameVector(this.bias("R"), this.ones(["D"], ["c"])) || "the bias of R";
    yield* this.is("R", 1, new Map());
    const [a, b] = ["a", "b"].map((flag) => this.cell.one(flag));
    yield* this.is("R", 2, new Map([[a, this.ones(["E"], ["a"])], [b, this.ones(["C"], ["b"])]]));
  }

  *update() {
    yield this.bias("F").size === 0 || "F has a bias";
    const targets = new Map(Object.values(MATRICES).map(([number, source, to]) => [`${number} ${source}`, to]));
    for (const number of [1, 2]) {
      const kernel = this.kernels.F[number - 1];
      for (const [j, name] of this.cell.names.entries()) {
        const part = j < 3 * this.d ? PARTS[Math.floor(j / this.d)] : name, place = `${number} ${part}`;
        const row = kernel.image(new Map([[j, ONE]]));
        let right;
        if (targets.has(place)) right = this.goesTo(row, targets.get(place));
        else if (place === "2 D") right = sameVector(row, kernel.image(new Map([[j - this.d, ONE]]))); // as C
        else right = sameVector(row, this.ones([], { "1 a": ["a"], "2 a": ["b"] }[place] ?? []));
        yield right || `K^F_${number} at ${name} is ${this.cell.show(row).slice(0, 60)}`;
      }
    }
  }

  // A row that is 0 outside of some blocks, and the same in each of them.
  goesTo(row, parts) {
    const inside = new Set(parts.flatMap((part) => this.block(part))), [first, ...others] = parts.map((part) => this.block(part));
    const at = (k) => `${row.get(k) ?? 0}`;
    return [...row.keys()].every((k) => inside.has(k)) && others.every((other) => other.every((k, n) => at(k) === at(first[n])));
  }

  // The part of a kernel of F from a block to the first of its targets.
  between(number, source, [target]) {
    const link = (pairs) => new Matrix(new Map(pairs.map(([j, k]) => [j, new Map([[k, ONE]])])));
    const into = link(this.block(source).map((j, k) => [k, j])), out = link(this.block(target).map((j, k) => [j, k]));
    return new Products(this.kernels.F[number - 1].terms.map((term) => [into, ...term, out]));
  }

  get cells() {
    return readEmbedding(this.written, this.cell.names.length);
  }

  *embedding() {
    for (const [symbol, cell] of this.cells) {
      const rest = new Map([...cell].filter(([k]) => k >= this.d));
      yield sameVector(rest, this.ones([], ["a", "b"])) || `f(${symbol})`;
    }
  }
}
