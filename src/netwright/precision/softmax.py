"""Softmax in place of hard attention: a temperature that is provably low enough, and snapping.

Let token i have n = i + 1 scores, and let the greatest be ahead of all others by gap(i) or more. At
temperature τ_i ≤ gap(i)/ln(4(i+1)²) every other token has a weight of at most 1/(4(i+1)²) of the
winner's. So the others' weights add up to less than 1/(4(i+1)), and

- a one-hot block of the attention is off by less than 1/4 in every coordinate;
- ℓ is off by less than i · i/(4(i+1)²) < 1/4, as indices differ by i at most.

The attention to the encoder has scores −|j − (i+1)|. For i = 0 all j are on one side, τ_0 ≤
2/(3 ln 4), so e^(−1/τ) ≤ 1/8 and Σ k e^(−k/τ) ≤ 8/49 < 1/4; for i ≥ 1, τ_i < 1/20 and twice that
sum is far less. So s3 and β are off by less than 1/4 too.
Layer 2 has equal scores, of which softmax is the mean: nothing is off there.

F sees these numbers through its first map f₁, whose images are 0, 1/2, 1 or integers in the exact
run, and off by less than 1/4 now (for b₁ and b₂ one such number and one exact position enter). With
2 f₁(x) − 1/2 in place of f₁(x), σ gives what it gave before: numbers below 1/4 become 0, numbers
above 3/4 become 1, and the 1/2 of the dead vector stays, as the move does not come from an
attention. So y is *exact*, and the next token begins without error: snapped, the network with
softmax is right for ever. In floating point the same holds for as long as scores are computed with
an error well below the gap.
"""

from collections.abc import Callable
from math import log

from flint import fmpq

from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector
from netwright.theorems.theorem_3_4_transformer.construction import CompiledTransformer, Scoring


def gap(i: int, score: Scoring) -> Rational:
    """A lower bound, over all machines, for how far the winner of token i is ahead.

    For the paper's score it is the difference for visits i − 1 and i − 3 of one cell, or for a
    fresh cell; for the other one that of any two visits that are two steps apart.

    >>> gap(5, Scoring.PAPER), gap(5, Scoring.RECENCY)
    (4/6075, 1/324)
    """
    if score is Scoring.RECENCY:
        return fmpq(2, 3 * (i + 1) ** 3)
    fresh = fmpq(1, 3 * (i + 1) ** 2 * max(i, 1))
    if i < 3:
        return fresh
    visits = fmpq(4 * (i - 1), 3 * (i + 1) ** 2 * i**2 * (i - 2) ** 2)
    return min(fresh, visits)


def schedule(score: Scoring) -> Callable[[int], float]:
    """τ_i = gap(i)/ln(4(i+1)²)."""

    def tau(i: int) -> float:
        bound = gap(i, score)
        return int(bound.p) / int(bound.q) / log(4 * (i + 1) ** 2)

    return tau


def constant(tau: float) -> Callable[[int], float]:
    """The same temperature for every token."""
    return lambda _: tau


def snapped(compiled: CompiledTransformer) -> CompiledTransformer:
    """The network with 2 f₁ − 1/2 for the first map f₁ of F."""
    final = compiled.networks()["F"]
    first, *others = final.maps
    layout = first.output
    half = Vector(layout, dict.fromkeys(range(layout.dimension), fmpq(-1, 2)))
    weights = {place: 2 * weight for place, weight in first.weights.items()}
    doubled = Affine(first.input, layout, weights, 2 * first.bias + half)
    return compiled.with_network("F", FeedForward((doubled, *others), final.activation))
