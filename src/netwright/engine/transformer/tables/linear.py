"""Numbers that a program computes at a token, as sums of unknowns times powers of the position.

A `Linear` is Σ c·x·p^e over unknowns x; the unknown `ONE` is 1. So what is known to be equal is
seen to be equal, before a line of code is written.
"""

from typing import TypeAlias

Linear: TypeAlias = tuple[tuple[int, int, int], ...]
"""Triples (unknown, power of p, coefficient), in order, with no coefficient 0."""
ONE = 0
ZERO: Linear = ()


def constant(c: int, power: int = 0) -> Linear:
    """c·p^power."""
    return ((ONE, power, c),) if c else ZERO


def unknown(x: int) -> Linear:
    """An unknown."""
    return ((x, 0, 1),)


def is_constant(a: Linear) -> bool:
    """Whether it is a number, the same at every token."""
    return not a or (len(a) == 1 and a[0][:2] == (ONE, 0))


def plus(a: Linear, b: Linear) -> Linear:
    """a + b.

    >>> plus(plus(unknown(3), constant(2)), constant(-2))
    ((3, 0, 1),)
    """
    if not a or not b:
        return a or b
    sums = {(x, e): c for x, e, c in a}
    for x, e, c in b:
        sums[x, e] = sums.get((x, e), 0) + c
    return tuple((x, e, c) for (x, e), c in sorted(sums.items()) if c)


def times(a: Linear, factor: int, power: int = 0) -> Linear:
    """a·factor·p^power."""
    if factor == 1 and power == 0:
        return a
    return tuple((x, e + power, c * factor) for x, e, c in a) if factor else ZERO
