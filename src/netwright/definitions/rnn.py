"""The encoder-decoder RNN, Equations 2 and 3.

    h_0 = 0,    h_i = f₁(x_i W + h_{i−1} V + b₁)                      (1 ≤ i ≤ n)
    g_0 = h_n,  g_t = f₂(g_{t−1} U + y_{t−1} R + b₂),  y_t = O(g_t)    (t ≥ 1)

Vectors are rows, f₁ and f₂ are activations, and O takes vectors to vectors.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from netwright.exact.feed_forward import Affine, LinearMap, check_linear
from netwright.exact.layout import Layout
from netwright.exact.rational import Activation, sigma
from netwright.exact.vector import Vector, pointwise

Matrix: TypeAlias = LinearMap | Affine


def multiplied_out(matrix: Matrix) -> Affine:
    """Multiply out the factors of a matrix."""
    return matrix.matrix if isinstance(matrix, LinearMap) else matrix


def identity(x: Vector) -> Vector:
    """O(g) = g."""
    return x


@dataclass(frozen=True)
class RNN:
    """An encoder-decoder RNN with hidden vectors of one layout; no R, b₁ or b₂ means zero."""

    layout: Layout
    W: Matrix
    V: Matrix
    U: Matrix
    R: Matrix | None = None
    b1: Vector | None = None
    b2: Vector | None = None
    O: Callable[[Vector], Vector] = identity
    f1: Activation = sigma
    f2: Activation = sigma

    def __post_init__(self) -> None:
        for matrix in (self.W, self.V, self.U, *([] if self.R is None else [self.R])):
            check_linear(matrix)

    def encoder_states(self, X: Sequence[Vector]) -> Iterator[Vector]:
        """h_0, h_1, …, h_n (Equation 2)."""
        h = Vector.zero(self.layout)
        yield h
        for x in X:
            z = self.W(x) + self.V(h)
            h = pointwise(self.f1, z if self.b1 is None else z + self.b1)
            yield h

    def decoder_states(self, X: Sequence[Vector], seed: Vector) -> Iterator[Vector]:
        """g_0, g_1, g_2, … (Equation 3)."""
        *_, g = self.encoder_states(X)
        y = seed
        while True:
            yield g
            g = self.decoder_step(g, y)
            y = self.O(g)

    def decoder_step(self, g: Vector, y: Vector) -> Vector:
        """g_t from g_{t−1} and y_{t−1} (Equation 3)."""
        z = self.U(g)
        if self.R is not None:
            z += self.R(y)
        return pointwise(self.f2, z if self.b2 is None else z + self.b2)

    def outputs(self, X: Sequence[Vector], seed: Vector) -> Iterator[Vector]:
        """y_1, y_2, … without end."""
        states = self.decoder_states(X, seed)
        next(states)
        return (self.O(g) for g in states)
