// Exact rational numbers: n/d in lowest terms with d > 0.
//
// Both are Numbers if both are safe integers (at most 2^53 − 1), else both are BigInts. A product
// or a sum of safe integers is exact if the double that it gives is at most LARGEST in size: by
// monotonic rounding a true value of 2^53 or more becomes a double of 2^53 or more. So each result
// below is tested after it was computed, and recomputed with BigInts if it is too large.
//
// Within `rounding(p, work)` every operation is that of a float with p bits: what is exact elsewhere
// is rounded to the nearest number of p significant bits, ties to even, with no limit on exponents.

const LARGEST = Number.MAX_SAFE_INTEGER;

export class Rational {
  constructor(n, d) {
    this.n = n;
    this.d = d;
  }

  toString() {
    return this.d === 1 || this.d === 1n ? `${this.n}` : `${this.n}/${this.d}`;
  }
}

export const ZERO = new Rational(0, 1), ONE = new Rational(1, 1), MINUS_ONE = new Rational(-1, 1);

// The greatest common divisor of two safe integers, the second positive.
function gcd(a, b) {
  if (a < 0) a = -a;
  while (b > 0x7fffffff || a > 0x7fffffff) {
    if (b === 0) return a;
    const rest = a % b;
    a = b;
    b = rest;
  }
  a |= 0;
  b |= 0;
  while (b !== 0) {
    const rest = a % b | 0;
    a = b;
    b = rest;
  }
  return a;
}

function bigGcd(a, b) {
  if (a < 0n) a = -a;
  while (b > LARGEST || a > LARGEST) {
    if (b === 0n) return a;
    [a, b] = [b, a % b];
  }
  return BigInt(gcd(Number(a), Number(b)));
}

// How often 2 divides a positive BigInt.
function twos(x) {
  let count = 0;
  for (let bits = 4096; bits >= 1; bits >>= 1)
    while (BigInt.asUintN(bits, x) === 0n) {
      x >>= BigInt(bits);
      count += bits;
    }
  return count;
}

// n/d from BigInts, d > 0. The denominators of stacks are powers of two, which need no division.
function reduced(n, d) {
  if (n === 0n) return ZERO;
  let common;
  if ((d & (d - 1n)) === 0n) {
    common = BigInt(Math.min(twos(d), twos(n < 0n ? -n : n)));
    n >>= common;
    d >>= common;
  } else {
    common = bigGcd(n, d);
    n /= common;
    d /= common;
  }
  if (d <= LARGEST && n <= LARGEST && n >= -LARGEST) return new Rational(Number(n), Number(d));
  return new Rational(n, d);
}

let precision = 0; // bits; 0 is exact

// What `work` returns if every operation in it is rounded to `bits` bits; 0 is exact.
export function rounding(bits, work) {
  const before = precision;
  precision = bits;
  try {
    return work();
  } finally {
    precision = before;
  }
}

export const bitsKept = () => precision;

const length = (x) => {
  const text = x.toString(16);
  return 4 * text.length - Math.clz32(parseInt(text[0], 16)) + 28;
};

// x, or the nearest number of `precision` bits to it.
export function rounded(x) {
  if (precision === 0 || x.n === 0) return x;
  const size = BigInt(x.n < 0 ? -x.n : x.n), bottom = BigInt(x.d);
  // size/d·2^shift has precision + 1 bits or one more: at least one beyond those that are kept.
  const shift = precision + 1 + length(bottom) - length(size);
  const top = shift > 0 ? size << BigInt(shift) : size, under = shift < 0 ? bottom << BigInt(-shift) : bottom;
  let kept = top / under;
  const more = BigInt(length(kept) - precision), half = 1n << (more - 1n), rest = kept & ((1n << more) - 1n);
  const isAbove = rest > half || (rest === half && (kept * under !== top || (kept >> more) & 1n));
  kept = (kept >> more) + (isAbove ? 1n : 0n);
  const exponent = Number(more) - shift, sign = x.n < 0 ? -1n : 1n;
  return exponent >= 0 ? reduced((sign * kept) << BigInt(exponent), 1n) : reduced(sign * kept, 1n << BigInt(-exponent));
}

// n/d from integers of any kind, d not 0.
export function ratio(n, d = 1) {
  if (typeof n === "number" && typeof d === "number" && Number.isSafeInteger(n) && Number.isSafeInteger(d)) {
    if (d < 0) return ratio(-n, -d);
    const common = gcd(n, d);
    return rounded(new Rational(n / common + 0, d / common));
  }
  const top = BigInt(n), bottom = BigInt(d);
  return rounded(bottom < 0n ? reduced(-top, -bottom) : reduced(top, bottom));
}

// The number of a text "p" or "p/q".
export function parse(text) {
  const [top, bottom = "1"] = text.split("/");
  return ratio(BigInt(top), BigInt(bottom));
}

export function negative(x) {
  return x.n === 0 ? ZERO : new Rational(-x.n, x.d);
}

export function sign(x) {
  return x.n > 0 ? 1 : x.n < 0 ? -1 : 0;
}

export function absolute(x) {
  return x.n < 0 ? negative(x) : x;
}

export function times(x, y) {
  return precision === 0 ? product(x, y) : rounded(product(x, y));
}

export function plus(x, y) {
  return precision === 0 ? total(x, y) : rounded(total(x, y));
}

function product(x, y) {
  const a = x.n, b = x.d, c = y.n, d = y.d;
  if (typeof a === "number" && typeof c === "number") {
    if (a === 0 || c === 0) return ZERO;
    if (b === 1 && d === 1) {
      const n = a * c;
      if (n <= LARGEST && n >= -LARGEST) return new Rational(n, 1);
    } else {
      const left = d === 1 ? 1 : gcd(a, d), right = b === 1 ? 1 : gcd(c, b);
      const n = (a / left) * (c / right), m = (b / right) * (d / left);
      if (n <= LARGEST && n >= -LARGEST && m <= LARGEST) return new Rational(n, m);
    }
  }
  return reduced(BigInt(a) * BigInt(c), BigInt(b) * BigInt(d));
}

function total(x, y) {
  const a = x.n, b = x.d, c = y.n, d = y.d;
  if (a === 0) return y;
  if (c === 0) return x;
  if (typeof a === "number" && typeof c === "number") {
    if (b === d) {
      const n = a + c;
      if (n <= LARGEST && n >= -LARGEST) {
        if (b === 1) return n === 0 ? ZERO : new Rational(n, 1);
        if (n === 0) return ZERO;
        const common = gcd(n, b);
        return new Rational(n / common, b / common);
      }
    } else {
      // With g = gcd(b, d): (a d/g + c b/g) / (b d/g), whose common factors divide g.
      const g = b === 1 || d === 1 ? 1 : gcd(b, d);
      const left = a * (d / g), right = c * (b / g), n = left + right;
      if (left <= LARGEST && left >= -LARGEST && right <= LARGEST && right >= -LARGEST && n <= LARGEST && n >= -LARGEST) {
        if (n === 0) return ZERO;
        const common = g === 1 ? 1 : gcd(n, g), m = (b / g) * (d / common);
        if (m <= LARGEST) return new Rational(n / common, m);
      }
    }
  }
  const top = BigInt(b), bottom = BigInt(d);
  return reduced(BigInt(a) * bottom + BigInt(c) * top, top * bottom);
}

export function minus(x, y) {
  return plus(x, negative(y));
}

export function over(x, y) {
  return times(x, y.n < 0 ? new Rational(-y.d, -y.n) : new Rational(y.d, y.n));
}

// Negative, 0 or positive as x is below, equal to or above y.
export function compare(x, y) {
  if (typeof x.n === "number" && typeof y.n === "number") {
    if (x.d === y.d) return x.n - y.n;
    const left = x.n * y.d, right = y.n * x.d;
    if (left <= LARGEST && left >= -LARGEST && right <= LARGEST && right >= -LARGEST) return left - right;
    // A double product has the sign of the true one, and is 0 only with it.
    if (left > 0 !== right > 0 || left === 0 || right === 0) return left > 0 || right < 0 ? 1 : -1;
  }
  const left = BigInt(x.n) * BigInt(y.d), right = BigInt(y.n) * BigInt(x.d);
  return left > right ? 1 : left < right ? -1 : 0;
}

export function equal(x, y) {
  return x.n === y.n && x.d === y.d; // in lowest terms, and of one type for one size
}

export function sigma(x) {
  return x.n <= 0 ? ZERO : x.n > x.d ? ONE : x;
}

export function relu(x) {
  return x.n <= 0 ? ZERO : x;
}

const RANGE = 2 ** 400;

// A double within 4 u |x| of x, u = 2^−53; NaN if x is not 0 and not between 2^−400 and 2^400 in
// size. Safe integers are doubles, and their quotient is rounded once. Of BigInts the first 64 to
// 67 bits are kept, an error below 2^−63; rounding those to doubles and dividing adds 3 u.
export function approximate(x) {
  let found;
  if (typeof x.n === "number") found = x.n / x.d;
  else {
    const top = x.n < 0n ? -x.n : x.n, bottom = x.d;
    const left = Math.max(0, 4 * top.toString(16).length - 67), right = Math.max(0, 4 * bottom.toString(16).length - 67);
    found = (Number(top >> BigInt(left)) / Number(bottom >> BigInt(right))) * 2 ** (left - right);
    if (x.n < 0n) found = -found;
  }
  const size = Math.abs(found);
  return size <= RANGE && size >= 1 / RANGE ? found : x.n === 0 ? 0 : NaN;
}
