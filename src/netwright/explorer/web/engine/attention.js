// Hard attention: the keys and values of a growing sequence of tokens, and the exact winners.
//
// Nothing is assumed of the weights. Scores are −|⟨q, k⟩| or ⟨q, k⟩. Keys that are equal wherever q
// is not 0 tie. If they differ in one coordinate alone, which rises or falls strictly, ⟨q, k_j⟩ is
// strictly monotone in j: the least |⟨q, k_j⟩| is next to its change of sign, and the greatest
// ⟨q, k_j⟩ at an end; the neighbours are compared exactly. All other keys are screened in doubles.
//
// Screening is sound. Let u = 2^−53, and m the number of coordinates. `approximate` gives q̂ and k̂
// within 4u of q and k, relatively, or NaN. Products and sums of them neither overflow nor underflow
// (sizes are between 2^−400 and 2^400), so each operation has a relative error of u at most. The sum
// ŝ of m products, added from left to right, has |ŝ − ⟨q, k⟩| ≤ ((1+4u)² (1+u)^m − 1) Σ|q_c k_c|
// ≤ (m+10) u Σ|q_c k_c| for m < 2^20, and Σ|q_c k_c| ≤ (1 + (m+11) u) M̂ for M̂ = Σ|q̂_c k̂_c| as it
// is computed. So the error is at most (m+12) u M̂; e = 2 (m+16) u M̂ leaves (m+20) u M̂ for the
// rounding of e and of |ŝ| ± e, which is at most 3 u M̂. A box of keys has for each coordinate the
// least and the greatest k̂_c; the same bound holds for the least and the greatest sum that they
// allow, with the larger size of the two in M̂. A key or a box is dropped only if the greatest score
// that it may have is below the least that another key has; every comparison with NaN is false, so
// what cannot be screened is kept. Those that remain are compared in exact rationals.
//
// In arithmetic of p bits the score that counts is ŝ_p, m rounded products added from left to right:
// |ŝ_p − ⟨q, k⟩| ≤ ((1+v)^m − 1) Σ|q_c k_c|, v = 2^−p, and that is at most ((1+v)^(m+1) − 1) M̂, as
// ((1+v)^m − 1) (m+11) u ≤ (1+v)^m v: (1+v)^m − 1 ≤ m v (1+v)^m, and m (m+11) u ≤ 1 for m < 2^20.
// Equal keys still tie, but nothing is monotone any more. ∎

import { ZERO, Rational, absolute, approximate, bitsKept, compare, minus, negative, over, plus, ratio, times } from "./rational.js";
import { NOTHING, Vector, addVectors, divided } from "./vectors.js";

const CHUNK = 14, BOX = 3; // a chunk has 2^14 numbers, a box 2^6 keys, or 2^6 smaller boxes
const RECENT = 32; // winners that are remembered
const MASK = (1 << CHUNK) - 1;

// A growing list of doubles in chunks; a chunk of equal numbers takes no memory.
class Doubles {
  constructor() {
    this.chunks = [];
    this.length = 0;
  }

  push(x) {
    const at = this.length & MASK, last = this.chunks.length - 1;
    if (at === 0) this.chunks.push(x);
    else if (typeof this.chunks[last] !== "number") this.chunks[last][at] = x;
    else if (this.chunks[last] !== x) {
      this.chunks[last] = new Float64Array(1 << CHUNK).fill(this.chunks[last]);
      this.chunks[last][at] = x;
    }
    this.length += 1;
  }

  at(j) {
    const chunk = this.chunks[j >> CHUNK];
    return typeof chunk === "number" ? chunk : chunk[j & MASK];
  }
}

// A growing list of rationals: numerator and denominator, those beyond 2^53 apart.
class Column {
  constructor() {
    this.tops = new Doubles();
    this.bottoms = new Doubles();
    this.large = new Map();
    this.last = null;
    this.isConstant = true;
    this.direction = 0; // 1 or −1 if it rises or falls strictly, 2 if neither
  }

  push(x) {
    if (this.last !== null) {
      const step = Math.sign(compare(x, this.last)) || 2;
      if (step !== 2) this.isConstant = false;
      this.direction = this.direction === 0 || this.direction === step ? step : 2;
    }
    this.last = x;
    const isLarge = typeof x.n !== "number";
    if (isLarge) this.large.set(this.tops.length, x);
    this.tops.push(isLarge ? approximate(x) : x.n);
    this.bottoms.push(isLarge ? 0 : x.d);
  }

  at(j) {
    const d = this.bottoms.at(j);
    return d === 0 ? this.large.get(j) : new Rational(this.tops.at(j), d);
  }

  double(j) {
    const d = this.bottoms.at(j);
    return d === 0 ? this.tops.at(j) : d === 1 ? this.tops.at(j) : this.tops.at(j) / d;
  }
}

// A growing list of vectors that are 0 but in some places.
class Columns {
  constructor(places) {
    this.places = places;
    this.columns = places.map(() => new Column());
    this.length = 0;
  }

  push(vector) {
    for (let n = 0; n < this.places.length; n++) this.columns[n].push(vector.get(this.places[n]));
    this.length += 1;
  }

  at(j) {
    const places = [], numbers = [];
    for (let n = 0; n < this.places.length; n++) {
      const number = this.columns[n].at(j);
      if (number.n === 0) continue;
      places.push(this.places[n]);
      numbers.push(number);
    }
    return new Vector(places, numbers);
  }
}

export class Keys extends Columns {
  constructor(places, score) {
    super(places);
    this.isPhi = score === "score_phi"; // −|⟨q, k⟩|, else ⟨q, k⟩
    this.levels = []; // of boxes: for each column the least and the greatest double of each box
    this.recent = new Set(); // winners, which are tried first
  }

  push(key) {
    super.push(key);
    const j = this.length - 1;
    // There is a level above every level of two boxes or more.
    for (let level = 0, box = j >> BOX, below = 1; below > 0; level++, below = box, box >>= BOX) {
      this.levels[level] ??= this.places.map(() => ({ low: [], high: [] }));
      this.columns.forEach((column, n) => {
        const { low, high } = this.levels[level][n];
        if (box === low.length) {
          // A new level begins with what the boxes below it have.
          const first = level && box === 0 ? this.levels[level - 1][n] : null;
          low.push(first ? Math.min(...first.low) : column.double(j));
          high.push(first ? Math.max(...first.high) : column.double(j));
        } else {
          low[box] = Math.min(low[box], column.double(j));
          high[box] = Math.max(high[box], column.double(j));
        }
      });
    }
  }

  // The score of a key, exactly.
  score(q, j) {
    return this.scored(this.meeting(q), j);
  }

  scored(meeting, j) {
    const product = this.product(meeting, j);
    return this.isPhi ? negative(absolute(product)) : product;
  }

  // The columns where q is not 0, with its numbers there.
  meeting(q) {
    const found = [];
    for (let n = 0; n < this.places.length; n++) {
      const at = q.places.indexOf(this.places[n]);
      if (at >= 0) found.push({ n, column: this.columns[n], number: q.numbers[at], double: approximate(q.numbers[at]) });
    }
    return found;
  }

  product(meeting, j) {
    let total = ZERO;
    for (const { column, number } of meeting) total = plus(total, times(number, column.at(j)));
    return total;
  }

  // The first `length` keys without `except`: those of the greatest score, in order; null for all.
  winners(q, length, except = -1) {
    const meeting = this.meeting(q), varying = meeting.filter(({ column }) => !column.isConstant);
    if (!varying.length) return null;
    if (varying.length === 1 && varying[0].column.direction !== 2 && bitsKept() === 0) {
      const near = this.isPhi ? this.nearZero(meeting, varying[0], length) : [0, 1, length - 2, length - 1];
      return this.best(meeting, [...new Set(near)].filter((j) => j >= 0 && j < length && j !== except));
    }
    const found = this.best(meeting, this.screened(meeting, length, except));
    this.recent.add(found.at(-1));
    if (this.recent.size > RECENT) this.recent.delete(this.recent.values().next().value);
    return found;
  }

  // The keys next to where a strictly monotone ⟨q, k_j⟩ changes its sign, two on either side.
  nearZero(meeting, { column, number }, length) {
    let rest = ZERO;
    for (const each of meeting) if (each.column !== column) rest = plus(rest, times(each.number, each.column.last));
    const zero = negative(over(rest, number)); // ⟨q, k_j⟩ = number (k_j − zero)
    let low = 0, high = length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compare(column.at(middle), zero) * column.direction < 0) low = middle + 1;
      else high = middle;
    }
    return [low - 2, low - 1, low, low + 1];
  }

  // Of some keys those of the greatest score, compared exactly.
  best(meeting, candidates) {
    let winners = [], top = null;
    for (const j of candidates) {
      const score = this.scored(meeting, j), order = top === null ? 1 : compare(score, top);
      if (order > 0) [winners, top] = [[j], score];
      else if (order === 0) winners.push(j);
    }
    return winners.sort((a, b) => a - b);
  }

  // The keys that may have the greatest score; the newest boxes first.
  screened(meeting, length, except) {
    const { isPhi, levels } = this, width = meeting.length, bits = bitsKept();
    const factor = (width + 16) * 2 ** -52 + (bits ? Math.expm1((width + 1) * Math.log1p(2 ** -bits)) * 1.001 : 0);
    const columns = meeting.map(({ column }) => column), numbers = meeting.map(({ double }) => double);
    const bounds = levels.map((level) => meeting.map(({ n }) => level[n]));
    const kept = [], uppers = [];
    let least = -Infinity;
    const visit = (level, box) => {
      let low = 0, high = 0, size = 0;
      for (let c = 0; c < width; c++) {
        const a = numbers[c] * bounds[level][c].low[box], b = numbers[c] * bounds[level][c].high[box];
        low += Math.min(a, b);
        high += Math.max(a, b);
        size += Math.max(Math.abs(a), Math.abs(b));
      }
      const e = factor * size;
      if ((isPhi ? (low - e > 0 ? e - low : high + e < 0 ? high + e : 0) : high + e) < least) return;
      const first = box << BOX, last = Math.min(first + (1 << BOX), ((length - 1) >> (BOX * level)) + 1);
      for (let each = last - 1; each >= first; each--) {
        if (level) visit(level - 1, each);
        else if (each !== except) look(each);
      }
    };
    const look = (j) => {
      let total = 0, size = 0;
      for (let c = 0; c < width; c++) {
        const product = numbers[c] * columns[c].double(j);
        total += product;
        size += Math.abs(product);
      }
      const e = factor * size, middle = isPhi ? -Math.abs(total) : total;
      if (middle - e > least) least = middle - e;
      if (middle + e < least) return;
      kept.push(j);
      uppers.push(middle + e);
    };
    for (const j of this.recent) if (j < length && j !== except) look(j);
    kept.length = uppers.length = 0; // they come again
    const top = levels.length - 1;
    for (let box = (length - 1) >> (BOX * (top + 1)); box >= 0; box--) visit(top, box);
    return kept.filter((_, at) => !(uppers[at] < least));
  }
}

// The values of tokens, and their mean, a running sum that is computed when it is asked for.
export class Values extends Columns {
  constructor(places) {
    super(places);
    this.sum = NOTHING;
    this.summed = 0;
  }

  // The mean of the values of some tokens, or, with null, of the first `length`.
  mean(winners, length) {
    if (winners !== null) {
      if (winners.length === 1) return this.at(winners[0]);
      return divided(addVectors(...winners.map((j) => this.at(j))), ratio(winners.length));
    }
    if (this.summed > length) [this.sum, this.summed] = [NOTHING, 0];
    for (; this.summed < length; this.summed++) this.sum = addVectors(this.sum, this.at(this.summed));
    return divided(this.sum, ratio(length));
  }
}

// An attention as a trace of Python has it: tokens from 1 on; the runner-up is the latest of those
// next after a single winner.
export function attended(keys, q, length) {
  const winners = length ? keys.winners(q, length) : [];
  const all = winners ?? Array.from({ length }, (_, j) => j);
  let second = null, margin = length < 2 ? null : ZERO;
  if (all.length === 1 && length > 1) {
    second = keys.winners(q, length, all[0])?.at(-1) ?? length - 1;
    margin = minus(keys.score(q, all[0]), keys.score(q, second));
  }
  return {
    winners: all.map((j) => j + 1),
    score: all.length ? keys.score(q, all[0]) : null,
    second: second === null ? null : second + 1,
    margin,
  };
}
