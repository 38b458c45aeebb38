"""Rounding rationals to binary floating-point numbers, exactly: to the nearest, ties to even."""

from flint import fmpq

from netwright.exact.rational import Rational


def rounded(x: Rational, bits: int, lowest: int | None = None) -> Rational:
    """Round to a number of significant bits, ties to even.

    If `lowest` is given, results are multiples of 2^lowest: subnormal numbers have fewer bits.

    >>> rounded(fmpq(17), 4), rounded(fmpq(1, 3), 4), rounded(fmpq(-19), 4)
    (16, 11/32, -20)
    >>> rounded(fmpq(1, 3), 4, lowest=-2)
    1/4
    """
    p, q = int(abs(x.p)), int(x.q)
    if not p:
        return x
    # 2^(bits − 1) < x / 2^exponent < 2^(bits + 1): one step at most makes it `bits` bits long.
    exponent = p.bit_length() - q.bit_length() - bits
    if _scaled(p, q, exponent)[0] >= _scaled(p, q, exponent)[1] << bits:
        exponent += 1
    if lowest is not None:
        exponent = max(exponent, lowest)
    p, q = _scaled(p, q, exponent)
    whole, rest = divmod(p, q)
    if 2 * rest > q or (2 * rest == q and whole % 2):
        whole += 1
    size = fmpq(whole << exponent) if exponent >= 0 else fmpq(whole, 1 << -exponent)
    return size if x > 0 else -size


def _scaled(p: int, q: int, exponent: int) -> tuple[int, int]:
    """(p/q) / 2^exponent."""
    return (p, q << exponent) if exponent >= 0 else (p << -exponent, q)
