"""The scores of Lemma B.4 by name: queries and keys of the third decoder layer, and their margins.

`lemma_b4_last_visit` has the paper's, `lemma_b4_recency` others for the same theorem.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt

from flint import fmpq

from netwright.definitions.transformer import Layer
from netwright.errors import InputError, unknown
from netwright.exact.layout import Layout
from netwright.exact.places import Named
from netwright.exact.rational import Rational
from netwright.kind.transformer.lemma_b4_last_visit import last_visit_layer
from netwright.kind.transformer.lemma_b4_recency import recency_layer


@dataclass(frozen=True, repr=False)
class Score(Named):
    """Queries and keys that make token i attend to ℓ(i+1) alone, with what is proved of them."""

    name: str
    title: str
    layer: Callable[[Layout], Layer]
    """The third decoder layer, in vectors of a layout."""
    positions: tuple[str, ...]
    """The blocks of the positional encoding: 1, i, 1/i, 1/i², …"""
    gap: Callable[[int], Rational]
    """A lower bound, over all machines, for how far the winner of token i is ahead."""
    safe_until: Callable[[int], int]
    """The last token at which numbers of a given precision in bits provably keep the order."""
    searched_at_once: int
    """The precision in bits up to which a search for possible failures takes no noticeable time."""
    searched: int
    """The precision in bits up to which that search takes less than a minute."""
    has_time_in_keys: bool = False
    """Whether keys have the token's number as such, and queries its cube's reciprocal."""

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<score {self.name}>"


def paper_gap(i: int) -> Rational:
    """The difference for visits i and i − 1 of one cell, which only a halted machine makes.

    Visits of one that runs are two steps apart, and its least difference some twice that. All else
    is larger. Another cell is behind a visit by ε_i²/3 at least. For a fresh cell, earlier tokens
    are behind token i by (i−j) ε_i² ε_j/3 at least, and i > j.

    >>> paper_gap(5)
    11/97200
    """
    return fmpq(2 * i + 1, 3 * i**2 * (i + 1) ** 4) if i else fmpq(1, 3)


def paper_safe_until(bits: int) -> int:
    """9u i⁴ < 1, by the argument in `precision.horizon`."""
    return isqrt(isqrt(((1 << bits) - 1) // 9))


def recency_gap(i: int) -> Rational:
    """The difference for visits i and i − 1 of one cell, which only a halted machine makes.

    All else is larger, as for the paper's score: a fresh cell's earlier tokens are behind token i
    by 2(i−j) ε_i² ε_j/3 at least.

    >>> recency_gap(5)
    1/648
    """
    return fmpq(1, 3 * (i + 1) ** 3)


def recency_safe_until(bits: int) -> int:
    """18u (i+1)² ≤ 1, by the argument in `precision.horizon`."""
    return max(0, isqrt((1 << bits) // 18) - 1)


PAPER = Score(
    name="paper",
    title="paper's score",
    layer=last_visit_layer,
    positions=("x8", "x9", "x10", "x11"),
    gap=paper_gap,
    safe_until=paper_safe_until,
    searched_at_once=24,
    searched=53,
).known()
RECENCY = Score(
    name="recency",
    title="score by recency",
    layer=recency_layer,
    positions=("x8", "x9", "x10", "x11", "x12"),
    gap=recency_gap,
    safe_until=recency_safe_until,
    searched_at_once=20,
    searched=26,
    has_time_in_keys=True,
).known()
SCORES = {score.name: score for score in (PAPER, RECENCY)}


def read_score(score: Score | str | None) -> Score:
    """The score of a name; the paper's for None. InputError for an unknown name.

    >>> read_score("recency").title
    'score by recency'
    """
    if score is None or isinstance(score, Score):
        return score or PAPER
    if score not in SCORES:
        raise InputError(unknown("score", str(score), list(SCORES)))
    return SCORES[score]
