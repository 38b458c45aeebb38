"""Cells: numbers without a bound on their length, kept as stacks of digits.

A digit is the number of a pair (c, b) with 0 ≤ b < 1, and a stack of digits stands for

    τ(empty) = 0,    τ(digit (c, b) above the rest) = c + b·τ(the rest).

Let f = c/(1 − b), the number that is its own tail. As c + b·x = (1 − b)·f + b·x, τ is a mean of f
and of the rest's τ; so every τ lies in the hull of 0 and of the f of all pairs. `Digits` numbers
the pairs as they are met, and keeps this hull. What was concluded from it is void when it widens.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from math import gcd, lcm

import numpy as np
from flint import fmpq, fmpz
from numpy.typing import NDArray

from netwright.engine.moments import UnsuitableError
from netwright.exact.rational import Rational

Digit = np.uint16
Stacks = list[NDArray[Digit]]
"""The digits of some cells, the lowest of each first."""
MOST_STACKS = 8
EMPTY = 0
"""The digit that is read where a stack has ended: the pair (0, 0)."""
MOST_DIGITS = 1 << 12
LARGEST = 1 << 62
MIXED = (0, 1)
"""In place of the b of all digits of a stack, where they differ: it cannot be added to."""
Pair = tuple[int, int, int]
"""c and b over a common denominator."""


class Digits:
    """The pairs met so far, by number, and the hull of all stacks of them."""

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
        """The digit of the pair (c, b)/over."""
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
        """Take c/over into the hull."""
        if self.low * over <= c * self.over <= self.high * over:
            return
        common = lcm(self.over, over)
        low, high = self.low * (common // self.over), self.high * (common // self.over)
        c *= common // over
        self.low, self.high, self.over = min(low, c), max(high, c), common
        self.version += 1

    def value(self, digits: Iterable[int]) -> Rational:
        """τ of a stack, its top first: by halves, as maps x ↦ (c + b·x)/D are composed."""
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


class Stack:
    """A stack of digits that is open at both ends, for the moments that Python does.

    Equal digits (0, b) on top are a number, `zeros`: so B^(−i), which an encoder divides by B at
    every symbol, takes no longer the smaller it becomes. A digit far below is put at the other end.
    """

    __slots__ = ("base", "digits", "zero", "zeros")

    def __init__(self, digits: Sequence[int] = (), base: tuple[int, int] | None = None) -> None:
        self.digits = deque(digits)
        """From the top on."""
        self.zeros, self.zero = 0, EMPTY
        self.base = base
        """The b of all its digits but the last, or `MIXED`; of one digit, what it was of more."""

    def __len__(self) -> int:
        return self.zeros + len(self.digits)

    def copy(self) -> "Stack":
        """Another stack with the same digits."""
        other = Stack(self.digits, self.base)
        other.zeros, other.zero = self.zeros, self.zero
        return other

    def digit(self, depth: int) -> int:
        """The digit at a depth, from 0 on."""
        if depth < self.zeros:
            return self.zero
        depth -= self.zeros
        return self.digits[depth] if depth < len(self.digits) else EMPTY

    def pop(self, count: int) -> None:
        """Take off the highest digits."""
        from_zeros = min(count, self.zeros)
        self.zeros -= from_zeros
        for _ in range(min(count - from_zeros, len(self.digits))):
            self.digits.popleft()
        if not len(self):
            self.base = None

    def push(self, digit: int, known: Digits) -> None:
        """Put a digit on top; (0, b) leaves an empty stack as it is.

        A digit (c, n·b) above digits of one b, for a whole n, is written as (c, b), and n times the
        digits below it: so a multiple of a stack has digits of the same b.
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
        """Multiply the number by a positive one: by 1/b with one zero less, else in every digit."""
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
        """Add another stack of the same b, digit by digit of the other."""
        bases = {stack.base for stack in (self, other) if len(stack) > 1}
        base = bases.pop() if bases else self.base or other.base
        if bases or base == MIXED:
            raise UnsuitableError("a sum of stacks in different bases")
        if other.zeros < self.zeros:
            self._spell_zeros()
        # With digits of b = 0 alone there is one in each, and they stand at the same depth.
        b, over = base or (0, 1)
        for depth, digit in enumerate(other.digits, start=other.zeros - self.zeros):
            c, _, e = known.pairs[digit]
            if depth >= len(self.digits):
                if self.digits:  # the last digit, below which there was nothing, gets the b
                    last, _, own = known.pairs[self.digits[-1]]
                    self.digits[-1] = known.number(last * over, b * own, own * over)
                self.digits.extend([known.number(0, b, over)] * (depth - len(self.digits)))
                self.digits.append(known.number(c * over, b * e, e * over))
            else:
                d, own_b, own = known.pairs[self.digits[depth]]
                self.digits[depth] = known.number(d * e + c * own, own_b * e, own * e)
        self.base = base

    def array(self) -> NDArray[np.uint16]:
        """The digits from the lowest on."""
        top = np.full(self.zeros, self.zero, np.uint16)
        below = np.fromiter(reversed(self.digits), np.uint16, len(self.digits))
        return np.concatenate([below, top])

    def __iter__(self) -> Iterator[int]:
        return iter(self.array()[::-1].tolist())
