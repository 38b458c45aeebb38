"""Cells: numbers of unbounded length, stored as stacks of digits.

A digit is the index of a pair (c, b) with 0 ≤ b < 1; `EMPTY` is that of (0, 0). The value of a
stack of digits is

    τ(empty) = 0,    τ(digit (c, b) above the rest) = c + b·τ(the rest).

Let f = c/(1 − b), the number that is its own tail. As c + b·x = (1 − b)·f + b·x, τ is a mean of f
and of the rest's τ; so every τ lies in the hull of 0 and of the f of all pairs. `Digits` numbers
the pairs as they appear and tracks this hull. Conclusions drawn from it expire when it widens.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from math import gcd, lcm
from typing import Any

import numpy as np
from flint import fmpq, fmpz
from numpy.typing import NDArray

from netwright.engine.moments import UnsuitableError
from netwright.errors import InputError
from netwright.exact.entries import EMPTY
from netwright.exact.rational import Rational
from netwright.exact.runs import Runs

Digit = np.uint16
Stacks = list[Any]
"""The digits of each cell, lowest first: an array, or `Runs` in the accelerated engine."""
MOST_STACKS = 8
MOST_DIGITS = 1 << 12
LARGEST = 1 << 62
LONGEST = 1 << 26
"""The greatest number of digits of a stack whose value is computed."""
MIXED = (0, 1)
"""Replaces the common b of a stack whose digits differ in b; such a stack cannot be added."""
Pair = tuple[int, int, int]
"""c and b over a common denominator."""


class Digits:
    """The pairs seen so far, by digit, and the hull of the values of all stacks of them."""

    def __init__(self) -> None:
        self.pairs: list[Pair] = [(0, 0, 1)]
        self._numbers = {self.pairs[0]: EMPTY}
        self.low, self.high, self.over = 0, 0, 1
        """The hull: low/over to high/over."""
        self.version = 0
        """How often the hull has widened."""

    def __len__(self) -> int:
        return len(self.pairs)

    def number(self, c: int, b: int, over: int) -> int:
        """The digit of the pair (c, b)/over; UnsuitableError if there are too many."""
        if c == 0 and b == 0:
            return EMPTY
        unit = gcd(c, b, over)
        pair = (c // unit, b // unit, over // unit)
        found = self._numbers.get(pair)
        if found is None:
            if len(self.pairs) == MOST_DIGITS:
                raise UnsuitableError(f"its numbers have more than {MOST_DIGITS:,} digits")
            if max(abs(pair[0]), pair[2]) >= LARGEST:
                raise UnsuitableError("a digit has more than 62 bits")
            found = self._numbers[pair] = len(self.pairs)
            self.pairs.append(pair)
            self._widen(pair[0], pair[2] - pair[1])
        return found

    def _widen(self, c: int, over: int) -> None:
        """Widen the hull to include c/over."""
        if self.low * over <= c * self.over <= self.high * over:
            return
        common = lcm(self.over, over)
        low, high = self.low * (common // self.over), self.high * (common // self.over)
        c *= common // over
        self.low, self.high, self.over = min(low, c), max(high, c), common
        self.version += 1

    def value(self, digits: Iterable[int]) -> Rational:
        """τ of a stack, top first: the maps x ↦ (c + b·x)/D are composed in pairs, repeatedly."""
        pairs = [self.pairs[digit] for digit in digits]
        common = lcm(*{over for _, _, over in pairs})
        scaled = {pair: common // pair[2] for pair in set(pairs)}
        chain = [(fmpz(p[0] * scaled[p]), fmpz(p[1] * scaled[p])) for p in pairs]
        power, total = fmpz(common), fmpq(0)
        rest: list[tuple[fmpz, fmpz, fmpz]] = []
        while chain:
            if len(chain) % 2:
                rest.append((*chain.pop(), power))
            below = zip(chain[::2], chain[1::2], strict=True)
            chain = [(a * power + b * c, b * d) for (a, b), (c, d) in below]
            power *= power
        for a, b, over in rest:
            total = (a + b * total) / over
        return total

    def value_of_runs(self, runs: Runs) -> Rational:
        """τ of a stack of runs; InputError if it is too long to be written.

        One digit is x ↦ (c + b·x)/D, so n of them are x ↦ (c·(Dⁿ − bⁿ)/(D − b) + bⁿ·x)/Dⁿ: with
        f = c/(D − b), τ = f + (b/D)ⁿ·(τ₀ − f). Neighbouring maps are composed, repeatedly.
        """
        if runs.height > LONGEST:
            raise InputError(
                f"a number of this vector has {runs.height:,} digits; at most {LONGEST:,} are "
                "written out"
            )
        maps = []
        for digit, n in zip(runs.digits[::-1].tolist(), runs.counts[::-1].tolist(), strict=True):
            c, b, over = self.pairs[digit]
            power, below = fmpz(over) ** n, fmpz(b) ** n
            maps.append((c * (power - below) // (over - b), below, power))
        while len(maps) > 1:
            last = maps[len(maps) // 2 * 2 :]
            pairs = zip(maps[::2], maps[1::2], strict=False)
            maps = [(a * e + b * c, b * d, over * e) for (a, b, over), (c, d, e) in pairs] + last
        return fmpq(maps[0][0], maps[0][2]) if maps else fmpq(0)


class Stack:
    """A mutable stack of digits, open at both ends, for the moments that Python computes.

    Equal digits (0, b) on top are stored as a count, `zeros`. So dividing B^(−i) by B, as an
    encoder does at every symbol, takes constant time. A digit far below is appended at the bottom.
    """

    __slots__ = ("base", "digits", "zero", "zeros")

    def __init__(self, digits: Sequence[int] = (), base: tuple[int, int] | None = None) -> None:
        self.digits = deque(digits)
        """Top first."""
        self.zeros, self.zero = 0, EMPTY
        self.base = base
        """The b of all digits but the last, or `MIXED`; kept when only one digit is left."""

    def __len__(self) -> int:
        return self.zeros + len(self.digits)

    def copy(self) -> "Stack":
        """An independent copy."""
        other = Stack(self.digits, self.base)
        other.zeros, other.zero = self.zeros, self.zero
        return other

    def digit(self, depth: int) -> int:
        """The digit at a depth, counted from 0 at the top; `EMPTY` below the end."""
        if depth < self.zeros:
            return self.zero
        depth -= self.zeros
        return self.digits[depth] if depth < len(self.digits) else EMPTY

    def pop(self, count: int) -> None:
        """Remove up to `count` digits from the top."""
        from_zeros = min(count, self.zeros)
        self.zeros -= from_zeros
        for _ in range(min(count - from_zeros, len(self.digits))):
            self.digits.popleft()
        if not len(self):
            self.base = None

    def push(self, digit: int, known: Digits) -> None:
        """Push a digit; (0, b) leaves an empty stack unchanged.

        A digit (c, n·b) above digits of one b, for a whole n, becomes (c, b), and the digits below
        it are multiplied by n: so a multiple of a stack has digits of the same b.
        """
        c, b, over = known.pairs[digit]
        if not len(self):
            if c:
                self.digits.append(digit)
            return
        own = gcd(b, over)
        base = (b // own, over // own)
        if self.base == MIXED:
            base = MIXED
        elif self.base is not None and base != self.base:
            times, rest = divmod(base[0] * self.base[1], self.base[0] * base[1])
            if rest == 0 and times > 1:
                self.multiply(times, 1, known)
                base, (b, e) = self.base, self.base
                digit = known.number(c * e, b * over, e * over)
            elif len(self) > 1:
                base = MIXED
        self.base = base
        if c == 0 and (self.zeros == 0 or self.zero == digit):
            self.zeros, self.zero = self.zeros + 1, digit
            return
        self._spell_zeros()
        self.digits.appendleft(digit)

    def _spell_zeros(self) -> None:
        self.digits.extendleft([self.zero] * self.zeros)
        self.zeros = 0

    def multiply(self, factor: int, over: int, known: Digits) -> None:
        """Multiply by factor/over > 0: remove zeros while it divides by 1/b, then scale digits."""
        b, e = self.base or MIXED
        while self.zeros and b and factor * b % (over * e) == 0:
            factor = factor * b // e
            self.zeros -= 1
        if factor == over:
            return

        def times(digit: int) -> int:
            c, b, e = known.pairs[digit]
            return known.number(c * factor, b * over, e * over)

        images = {digit: times(digit) for digit in set(self.digits)}
        self.digits = deque(images[digit] for digit in self.digits)

    def add(self, other: "Stack", known: Digits) -> None:
        """Add another stack of the same b, digit by digit; UnsuitableError if the b differ."""
        bases = {stack.base for stack in (self, other) if len(stack) > 1}
        base = bases.pop() if bases else self.base or other.base
        if bases or base == MIXED:
            raise UnsuitableError("a sum of stacks in different bases")
        if other.zeros < self.zeros:
            self._spell_zeros()
        # If all b are 0, each stack has a single digit, at the same depth.
        b, over = base or (0, 1)
        for depth, digit in enumerate(other.digits, start=other.zeros - self.zeros):
            c, _, e = known.pairs[digit]
            if depth >= len(self.digits):
                if self.digits:  # the last digit, which had none below it, gets the b
                    last, _, own = known.pairs[self.digits[-1]]
                    self.digits[-1] = known.number(last * over, b * own, own * over)
                self.digits.extend([known.number(0, b, over)] * (depth - len(self.digits)))
                self.digits.append(known.number(c * over, b * e, e * over))
            else:
                d, own_b, own = known.pairs[self.digits[depth]]
                self.digits[depth] = known.number(d * e + c * own, own_b * e, own * e)
        self.base = base

    def array(self) -> NDArray[np.uint16]:
        """The digits, lowest first."""
        top = np.full(self.zeros, self.zero, np.uint16)
        below = np.fromiter(reversed(self.digits), np.uint16, len(self.digits))
        return np.concatenate([below, top])

    def __iter__(self) -> Iterator[int]:
        return iter(self.array()[::-1].tolist())
