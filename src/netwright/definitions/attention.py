"""Attention, Equations 4 and 5, for any score and any normaliser of the paper's form.

A normaliser is ρ_i(x) = f(x_i) / Σ_j f(x_j). The paper asks for an f from ℚ to ℚ⁺, which leaves out
its own hardmax. So f may here depend on the set of the values {x_1, …, x_n} and may be 0, not
everywhere; all proofs that use the form go through. The attention over no keys at all is the
vector 0, so that the empty input word works.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from netwright.errors import NetworkError
from netwright.exact.places import Named
from netwright.exact.rational import ONE, ZERO, Rational, phi
from netwright.exact.vector import Vector, combine

Score: TypeAlias = Callable[[Vector, Vector], Rational]


def dot_product(q: Vector, k: Vector) -> Rational:
    """⟨q, k⟩: multiplicative attention."""
    return q.dot(k)


def score_phi(q: Vector, k: Vector) -> Rational:
    """φ(⟨q, k⟩) = −|⟨q, k⟩|: the score of Theorem 3.4."""
    return phi(q.dot(k))


@dataclass(frozen=True)
class Normalizer(Named):
    """ρ; `f_given` takes x_1, …, x_n to f and may use them only as a set."""

    name: str
    f_given: Callable[[Sequence[Rational]], Callable[[Rational], Rational]]

    def __call__(self, x: Sequence[Rational]) -> list[Rational]:
        """ρ(x): the weights f(x_i) / Σ_j f(x_j)."""
        if not x:
            return []
        f = self.f_given(x)
        parts = [f(value) for value in x]
        total = sum(parts, ZERO)
        if total <= 0:
            raise NetworkError(f"normaliser {self.name}: f is 0 for every score, or negative")
        return [part / total if part else ZERO for part in parts]


def _one_at_the_maximum(x: Sequence[Rational]) -> Callable[[Rational], Rational]:
    top = max(x)
    return lambda value: ONE if value == top else ZERO


hardmax = Normalizer("hardmax", _one_at_the_maximum).known()
"""1/r for each of the r maxima, 0 for all others."""
square_plus_one = Normalizer("x² + 1", lambda _: lambda value: value * value + 1)
"""A normaliser with f(x) = x² + 1, which is nowhere 0."""


def attention_weights(
    q: Vector, K: Sequence[Vector], score: Score, rho: Normalizer
) -> list[Rational]:
    """(s_1, …, s_n) = ρ(score(q, k_1), …, score(q, k_n)) (Equation 4)."""
    return rho([score(q, k) for k in K])


def attention(
    q: Vector, K: Sequence[Vector], V: Sequence[Vector], score: Score, rho: Normalizer
) -> Vector:
    """Att(q, K, V) = s_1 v_1 + ⋯ + s_n v_n (Equation 5); the vector 0 if n = 0."""
    return weighted_sum(q, attention_weights(q, K, score, rho), V)


def weighted_sum(q: Vector, weights: Sequence[Rational], V: Sequence[Vector]) -> Vector:
    """Σ s_j v_j; the vector 0 of the layout of q if there is no v_j."""
    layout = V[0].layout if V else q.layout
    return combine(layout, ((s, v) for s, v in zip(weights, V, strict=True) if s))
