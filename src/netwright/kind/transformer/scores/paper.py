"""The score of the paper's Lemma B.4: `lemma_b4_last_visit` has its queries, keys and proof."""

from math import isqrt

from flint import fmpq

from netwright.exact.rational import Rational
from netwright.kind.transformer.lemma_b4_last_visit import last_visit_layer
from netwright.kind.transformer.scores.score import Score


def gap(i: int) -> Rational:
    """The difference for visits i and i − 1 of one cell, which only a halted machine makes.

    Visits of one that runs are two steps apart, and its least difference some twice that. All else
    is larger. Another cell is behind a visit by ε_i²/3 at least. For a fresh cell, earlier tokens
    are behind token i by (i−j) ε_i² ε_j/3 at least, and i > j.

    >>> gap(5)
    11/97200
    """
    return fmpq(2 * i + 1, 3 * i**2 * (i + 1) ** 4) if i else fmpq(1, 3)


def safe_until(bits: int) -> int:
    """9u i⁴ < 1, by the argument in `precision.horizon`."""
    return isqrt(isqrt(((1 << bits) - 1) // 9))


PAPER = Score(
    name="paper",
    title="paper's score",
    layer=last_visit_layer,
    positions=("x8", "x9", "x10", "x11"),
    gap=gap,
    safe_until=safe_until,
    searched_at_once=24,
    searched=53,
).known()
