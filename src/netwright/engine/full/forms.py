"""Forms: Σ c·u·p^e, where c is a number of each token, u an unknown and p the position.

A `Column` is one number for each token of a chunk; an operation computes it from others. A number
that is the same for all tokens is an `int`. A coefficient is a column over a denominator that is
known beforehand. So a vector of exact rationals is a few small integers, however long the run, and
only operations that say so depend on the size of an unknown.

| unknown   | stands for                                                                    |
|-----------|-------------------------------------------------------------------------------|
| `ONE`     | 1                                                                             |
| whole     | an integer, such as a running sum: 64 bits, as it grows                       |
| pointer   | 1/J for an integer J, 1 at least                                              |
| mean      | a number between 0 and 1, otherwise unknown                                   |
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from netwright.engine.moments import UnsuitableError
from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.rational import relu, sigma

NARROW = 1 << 30
WIDE = 1 << 62
LONGEST = 1 << 36
"""Maximum number of tokens: a count of tokens stays below this."""


class Column(NamedTuple):
    """A number for each token: the index of the operation that computes it, and its bounds."""

    operation: int
    low: int
    high: int
    wide: bool = False
    """Whether it may need 64 bits; its bound is then `high` times the number of tokens."""


Number = int | Column
Monomial = tuple[int, int]
"""An unknown, by its index in `Forms.unknowns`, and the power of the position."""
Form = Mapping[Monomial, tuple[Number, int]]
"""By monomial: numerator and denominator of its coefficient; absent ones are 0."""
Vector = Mapping[int, Form]
ONE = 0
UNIT: Monomial = (ONE, 0)


class Unknown(NamedTuple):
    """A factor of a monomial."""

    kind: str
    """`one`, `whole`, `pointer` or `mean`."""
    number: Number = 1
    """The integer, or the J of a pointer."""


class Operation(NamedTuple):
    """Computes a column, or states a requirement; arguments are columns, integers, or tuples."""

    name: str
    arguments: tuple[object, ...]


class Forms:
    """Builds the list of operations on columns; equal operations are shared."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.unknowns: list[Unknown] = [Unknown("one")]
        self._columns: dict[Operation, Column] = {}

    # Columns.

    def column(
        self, name: str, *arguments: object, low: int = 0, high: int = 0, wide: bool = False
    ) -> Column:
        """The column that an operation computes; the operation is added if it is new."""
        if not wide and (low <= -NARROW or high >= NARROW):
            raise UnsuitableError("a coefficient is too large")
        operation = Operation(name, arguments)
        if operation not in self._columns:
            self._columns[operation] = Column(len(self.operations), low, high, wide)
            self.operations.append(operation)
        return self._columns[operation]

    def total(self, terms: Iterable[tuple[int, Number]], bias: int = 0) -> Number:
        """Σ factor·number + bias, for narrow numbers."""
        factors: dict[Column, int] = {}
        for factor, number in terms:
            if isinstance(number, int):
                bias += factor * number
            else:
                factors[number] = factors.get(number, 0) + factor
        factors = {column: factor for column, factor in factors.items() if factor}
        if not factors:
            return bias
        if list(factors.values()) == [1] and not bias:
            return next(iter(factors))
        ends = [sorted((f * c.low, f * c.high)) for c, f in factors.items()]
        low, high = (bias + sum(each) for each in zip(*ends, strict=True))
        return self.column("sum", tuple(factors.items()), bias, low=low, high=high)

    def clipped(self, x: Number, top: int | None) -> Number:
        """x clipped to [0, top]."""
        low, high = ends(x)
        if low >= 0 and (top is None or high <= top):
            return x
        if isinstance(x, int) or high <= 0 or (top is not None and low >= top):
            return max(0, low if top is None else min(low, top)) if high > 0 else 0
        top = None if top is not None and high <= top else top  # top may need more than 32 bits
        bounds = max(0, low), high if top is None else top
        return self.column("clip", x, -1 if top is None else top, low=bounds[0], high=bounds[1])

    def at_most(self, x: Number, limit: int) -> Number:
        """1 where x ≤ limit, else 0."""
        low, high = ends(x)
        if low > limit or high <= limit:
            return int(high <= limit)
        return self.column("at most", x, limit, low=0, high=1)

    def chosen(self, condition: Number, x: Number, y: Number) -> Number:
        """x where the condition is 1, y where it is 0."""
        if isinstance(condition, int) or x == y:
            return x if condition else y
        (a, b), (c, d) = ends(x), ends(y)
        return self.column("choose", condition, x, y, low=min(a, c), high=max(b, d))

    def whole(self, terms: Iterable[tuple[int, Number, Monomial]], over: int = 1) -> Number:
        """Σ factor·number·u·p^e / over for whole unknowns, in 64 bits; `over` must divide it."""
        merged = self._merged(terms)
        if len(merged) == 1 and [*merged.values()] == [over]:
            (number, u, power), *_ = merged
            if (number, power) == (1, 0):
                return u
        if all(key == (1, 1, 0) and factor % over == 0 for key, factor in merged.items()):
            return sum(merged.values()) // over
        if any(e not in (0, 1) or (e and u != 1) for _, u, e in merged):
            raise UnsuitableError("a sum has powers of the position")
        size = sum(abs(f) * _size(n) * _size(u) for (n, u, _), f in merged.items())
        if size * LONGEST >= WIDE or over >= WIDE:
            raise UnsuitableError("a sum is too large for 64 bits")
        kept = tuple((f, n, u, e) for (n, u, e), f in merged.items())
        return self.column("whole", kept, over, high=size, wide=True)

    def _merged(
        self, terms: Iterable[tuple[int, Number, Monomial]]
    ) -> dict[tuple[Number, Number, int], int]:
        """Nonzero factors by number, unknown and power; constants are multiplied into them."""
        merged: dict[tuple[Number, Number, int], int] = {}
        for factor, number, (unknown, power) in terms:
            u = self.unknowns[unknown].number
            if isinstance(number, int):
                factor, number = factor * number, 1
            if isinstance(u, int):
                factor, u = factor * u, 1
            key = (number, u, power)
            merged[key] = merged.get(key, 0) + factor
        return {key: factor for key, factor in merged.items() if factor}

    def require_zero(self, x: Number, where: Number = 1) -> None:
        """Reject the tokens where x is not 0 and `where` is 1."""
        if x == 0:
            return
        if where != 1 and not isinstance(x, int) and x.wide:
            x = self.whole([(1, where, (self.unknown("whole", x), 0))])
        elif where != 1:
            x = self.chosen(where, x, 0)
        if isinstance(x, int) or (not x.wide and (x.low > 0 or x.high < 0)):
            raise UnsuitableError("a condition of a token can never hold")
        self.column("require 0", x)

    def require_between(self, x: Number, low: int, high: int) -> None:
        """Reject the tokens where a narrow x is not between `low` and `high`."""
        least, most = ends(x)
        if least < low or most > high:
            if most < low or least > high:
                raise UnsuitableError("a condition of a token can never hold")
            self.column("require between", x, max(low, least), min(high, most))

    # Forms.

    def unknown(self, kind: str, number: Number = 1) -> int:
        """The index of an unknown; every mean is a new one."""
        found = Unknown(kind, number)
        if kind == "mean" or found not in self.unknowns:
            self.unknowns.append(found)
            return len(self.unknowns) - 1
        return self.unknowns.index(found)

    def kind(self, monomial: Monomial) -> str:
        """The kind of a monomial; a reciprocal of the position is a pointer to the token itself."""
        unknown, power = monomial
        if unknown == ONE and power == -1:
            return "pointer"
        return self.unknowns[unknown].kind

    def combined(self, parts: Iterable[tuple[Fraction, Form]]) -> Form:
        """Σ weight·form."""
        terms: dict[Monomial, list[tuple[Fraction, Number]]] = {}
        for weight, form in parts:
            for monomial, (number, over) in form.items():
                terms.setdefault(monomial, []).append((weight / over, number))
        found: dict[Monomial, tuple[Number, int]] = {}
        for monomial, numbers in terms.items():
            over = lcm(*(factor.denominator for factor, _ in numbers))
            total = self.total((int(factor * over), number) for factor, number in numbers)
            if total != 0:
                found[monomial] = (total, over)
        return found

    def added(self, *vectors: Vector) -> Vector:
        """The sum of vectors."""
        places: dict[int, list[tuple[Fraction, Form]]] = {}
        for vector in vectors:
            for k, form in vector.items():
                places.setdefault(k, []).append((Fraction(1), form))
        found = {k: self.combined(f) if len(f) > 1 else f[0][1] for k, f in places.items()}
        return {k: form for k, form in found.items() if form}

    def image(self, affine: Affine, x: Vector) -> Vector:
        """The image of a vector under an affine map."""
        parts: dict[int, list[tuple[Fraction, Form]]] = {}
        for j, k, top, bottom in affine.fractions:
            if j in x:
                parts.setdefault(k, []).append((Fraction(top, bottom), x[j]))
        for k, bias in affine.bias.entries.items():
            parts.setdefault(k, []).append((Fraction(int(bias.p), int(bias.q)), {UNIT: (1, 1)}))
        found = {k: self.combined(each) for k, each in parts.items()}
        return {k: form for k, form in found.items() if form}

    def through(self, net: object, x: Vector) -> Vector:
        """The image of a vector under a feed-forward network."""
        if not isinstance(net, FeedForward):
            raise UnsuitableError("a part of it is not a feed-forward network")
        for affine in net.maps[:-1]:
            if net.activation not in (sigma, relu):
                raise UnsuitableError("an activation is neither σ nor relu")
            top = Fraction(1) if net.activation is sigma else None
            found = {k: self._activated(form, top) for k, form in self.image(affine, x).items()}
            x = {k: form for k, form in found.items() if form}
        return self.image(net.maps[-1], x)

    def _activated(self, form: Form, top: Fraction | None) -> Form:
        """σ of a form if `top` is 1, relu if it is None.

        Reciprocals and pointers are between 0 and 1. Where they occur, the bounds of the form must
        decide: it is 0, or 1, or inside of [0, 1], where σ is the identity.
        """
        if not form:
            return {}
        terms, over = scaled(form)
        parts = {m: self.total([(factor, n)]) for factor, n, m in terms}
        if set(parts) == {UNIT}:
            return _one(self.clipped(parts[UNIT], None if top is None else over), over)
        if top is None:
            raise UnsuitableError("relu of a number that is not finite")
        if all(self.is_whole(monomial) for monomial in parts):
            value = self.whole((1, number, monomial) for monomial, number in parts.items())
            if isinstance(value, int):
                return _one(self.clipped(value, over), over)
            return _one(self.column("clip wide", value, over, low=0, high=over), over)
        if any(self.kind(m) == "whole" or m[1] > 0 for m in parts):
            raise UnsuitableError("σ of a sum of what grows and what does not")
        return self._clipped_by_bounds(parts, over)

    def _clipped_by_bounds(self, parts: dict[Monomial, Number], over: int) -> Form:
        """σ of Σ number·u / over, for monomials u between 0 and 1 and a constant."""
        constant = parts.pop(UNIT, 0)
        negative = [self.clipped(self.total([(-1, n)]), None) for n in parts.values()]
        low = self.total([(1, constant), *((-1, n) for n in negative)])
        high = self.total([(1, constant), *((1, self.clipped(n, None)) for n in parts.values())])
        zero, one = self.at_most(high, 0), self.negated(self.at_most(low, over - 1))
        inside = [(1, self.negated(self.at_most(low, -1))), (1, self.at_most(high, over))]
        self.require_between(self.total([(2, zero), (2, one), *inside]), 2, 6)
        decided = self.total([(1, zero), (1, one)])
        found = {m: self.chosen(decided, 0, number) for m, number in parts.items()}
        found[UNIT] = self.chosen(zero, 0, self.chosen(one, over, constant))
        return {m: (number, over) for m, number in found.items() if number != 0}

    def negated(self, condition: Number) -> Number:
        """1 − condition."""
        return self.total([(-1, condition)], 1)

    def is_whole(self, monomial: Monomial) -> bool:
        """Whether a monomial is an integer."""
        return monomial[1] >= 0 and self.kind(monomial) in ("one", "whole")

    def pointer(self, form: Form, where: Number = 1) -> tuple[Number, Number]:
        """(J, 1) for a form that is 1/J, and (0, 0) where the form is 0."""
        terms: list[tuple[int, Number, Monomial]] = []
        for monomial, (number, over) in self._without_means(form, where).items():
            if monomial != UNIT and self.kind(monomial) != "pointer":
                raise UnsuitableError("a pointer does not stay a pointer")
            there = self.negated(self.at_most(number, over - 1))
            self.require_zero(self.total([(over, there), (-1, number)]), where)
            terms.append((1, there, (ONE, 1) if monomial == (ONE, -1) else (monomial[0], 0)))
        present = self.total((1, number) for _, number, _ in terms)
        self.require_zero(self.clipped(self.total([(1, present)], -1), None), where)
        return self.whole(terms), present

    def require_equal(self, x: Form, y: Form, where: Number = 1) -> None:
        """Reject the tokens where two forms differ; some equal ones may be rejected, too."""
        x, y = self._without_means(x, where), self._without_means(y)
        if any(self.kind(m) == "pointer" and m[0] != ONE for m in (*x, *y)):
            (a, there), (b, too) = self.pointer(x, where), self.pointer(y)
            self.require_zero(self.total([(1, there), (-1, too)]), where)
            first, second = ((self.unknown("whole", number), 0) for number in (a, b))
            self.require_zero(self.whole([(1, 1, first), (-1, 1, second)]), where)
            return
        difference = self.combined([(Fraction(1), x), (Fraction(-1), y)])
        powers: dict[int, dict[Monomial, tuple[Number, int]]] = {}
        for (unknown, power), each in difference.items():
            powers.setdefault(power, {})[unknown, 0] = each
        for form in powers.values():
            number = form[UNIT][0] if set(form) == {UNIT} else self.whole(scaled(form)[0])
            self.require_zero(number, where)

    def _without_means(self, form: Form, where: Number = 1) -> Form:
        """A form without its means, whose coefficients must be 0."""
        for monomial, (number, _) in form.items():
            if self.kind(monomial) == "mean":
                self.require_zero(number, where)
        return {m: each for m, each in form.items() if self.kind(m) != "mean"}


def _one(number: Number, over: int) -> Form:
    return {UNIT: (number, over)} if number != 0 else {}


def scaled(form: Form, sign: int = 1) -> tuple[list[tuple[int, Number, Monomial]], int]:
    """The terms of a form, times its denominator and a sign; and that denominator."""
    over = lcm(*(each for _, each in form.values()))
    return [(sign * (over // each), number, m) for m, (number, each) in form.items()], over


def _size(x: Number) -> int:
    """A bound of |x|; for a wide number, the bound per token."""
    return max(map(abs, ends(x)))


def ends(x: Number) -> tuple[int, int]:
    """The bounds of a narrow number."""
    return (x, x) if isinstance(x, int) else (x.low, x.high)


def is_wide(x: Number) -> bool:
    """Whether a number takes 64 bits."""
    return not isinstance(x, int) and x.wide
