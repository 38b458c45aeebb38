// Rationals: a numerator and a positive denominator in lowest terms, both BigInt.

const LONGEST = 4000; // characters of a number in a file

function divisor(a, b) {
  while (b) [a, b] = [b, a % b];
  return a < 0n ? -a : a;
}

export class Rational {
  constructor(top, bottom = 1n) { // in lowest terms
    this.top = top;
    this.bottom = bottom;
  }

  static of(top, bottom = 1) {
    return reduced(BigInt(top), BigInt(bottom));
  }

  // The one spelling of each number: "-1/2", "3"; null for "2/4", "+1", "-0", "1/1".
  static parse(text) {
    if (text.length > LONGEST || !/^(?:0|-?[1-9][0-9]*(?:\/[1-9][0-9]*)?)$/.test(text)) return null;
    const [top, bottom] = text.split("/");
    if (bottom === undefined) return new Rational(BigInt(top));
    const found = new Rational(BigInt(top), BigInt(bottom));
    return found.bottom > 1n && divisor(found.top, found.bottom) === 1n ? found : null;
  }

  plus(other) {
    if (this.bottom === 1n && other.bottom === 1n) return new Rational(this.top + other.top);
    return reduced(this.top * other.bottom + other.top * this.bottom, this.bottom * other.bottom);
  }

  times(other) {
    if (this.bottom === 1n && other.bottom === 1n) return new Rational(this.top * other.top);
    return reduced(this.top * other.top, this.bottom * other.bottom);
  }

  minus(other) {
    return this.plus(other.negative);
  }

  get negative() {
    return new Rational(-this.top, this.bottom);
  }

  get inverse() { // of a number that is not 0
    return this.top < 0n ? new Rational(-this.bottom, -this.top) : new Rational(this.bottom, this.top);
  }

  get sign() {
    return this.top > 0n ? 1 : this.top < 0n ? -1 : 0;
  }

  compare(other) { // negative, 0 or positive, as this − other
    const difference = this.top * other.bottom - other.top * this.bottom;
    return difference > 0n ? 1 : difference < 0n ? -1 : 0;
  }

  equals(other) {
    return this.top === other.top && this.bottom === other.bottom;
  }

  toString() {
    return this.bottom === 1n ? `${this.top}` : `${this.top}/${this.bottom}`;
  }
}

function reduced(top, bottom) {
  const by = divisor(top, bottom);
  return new Rational(top / by, bottom / by);
}

export const ZERO = new Rational(0n), ONE = new Rational(1n);
