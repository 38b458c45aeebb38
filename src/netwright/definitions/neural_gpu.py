"""The Neural GPU, Equations 14 and 15, for tensors and kernel banks of any shape.

    U^t = U(S^{t−1}),  R^t = R(S^{t−1}),  S^t = U^t ⊙ S^{t−1} + (1 − U^t) ⊙ F(R^t ⊙ S^{t−1})

where each of U, R, F is f(K * S + B): a convolution with a kernel bank K of shape (k_H, k_W, d,
d), a bias, and an activation (Equation 14). A tensor is a grid of h × w vectors; the input is its
first column, and the last cell of that column is the output. (In print: 1 − U for 1 − U^t.)

A bias is uniform if it is the same in every row: then the network has a fixed number of
parameters. Outside the grid there are zeros, or, with circular convolution, the grid again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from netwright.definitions.rnn import Matrix
from netwright.errors import InputError
from netwright.exact.feed_forward import check_linear
from netwright.exact.layout import Layout
from netwright.exact.places import called
from netwright.exact.rational import ONE, Activation, sigma
from netwright.exact.vector import Vector, combine, hadamard, pointwise

Grid: TypeAlias = "list[list[Vector]]"
Bias: TypeAlias = "Sequence[Vector] | Callable[[int, int], Vector] | None"
"""Uniform: a vector for each column. Otherwise: a function of row and column, from 1 on."""


@dataclass(frozen=True)
class Convolution:
    """f(K * S + B) (Equation 14); `kernels[u][v]` is the matrix K_{u+1, v+1}."""

    kernels: tuple[tuple[Matrix, ...], ...] = field(metadata=called("", folded=(False, True)))
    bias: Bias = None
    f: Activation = sigma

    def __post_init__(self) -> None:
        for kernel in (kernel for row in self.kernels for kernel in row):
            check_linear(kernel)

    @property
    def shape(self) -> tuple[int, int]:
        """(k_H, k_W)."""
        return len(self.kernels), len(self.kernels[0])

    def __call__(self, S: Grid, layout: Layout, circular: bool) -> Grid:
        """The tensor f(K * S + B), with K * S by Equation 15."""
        return [
            [self._cell(S, i, j, layout, circular) for j in range(len(S[0]))] for i in range(len(S))
        ]

    def _cell(self, S: Grid, i: int, j: int, layout: Layout, circular: bool) -> Vector:
        """(K * S)_{i,j} = Σ_u Σ_v s_{i+Δ₁(u), j+Δ₂(v)} K_{uv}, Δ(u) = u − ⌊k/2⌋ − 1 for u ≥ 1."""
        height, width = len(S), len(S[0])
        k_h, k_w = self.shape
        terms = []
        for u, row in enumerate(self.kernels):
            for v, kernel in enumerate(row):
                a, b = i + u - k_h // 2, j + v - k_w // 2
                if circular:
                    a, b = a % height, b % width
                if 0 <= a < height and 0 <= b < width:
                    terms.append((ONE, kernel(S[a][b])))
        if self.bias is not None:
            bias = self.bias(i + 1, j + 1) if callable(self.bias) else self.bias[j]
            terms.append((ONE, bias))
        return pointwise(self.f, combine(layout, terms))


@dataclass(frozen=True)
class NeuralGPU:
    """A Neural GPU with update gate U, reset gate R and update F."""

    layout: Layout
    U: Convolution
    R: Convolution
    F: Convolution
    width: int = 1
    circular: bool = False

    def step(self, S: Grid) -> Grid:
        """S^t from S^{t−1}."""
        update = self.U(S, self.layout, self.circular)
        reset = self.R(S, self.layout, self.circular)
        kept = [
            [hadamard(r, s) for r, s in zip(*rows, strict=True)]
            for rows in zip(reset, S, strict=True)
        ]
        new = self.F(kept, self.layout, self.circular)
        return [
            # u ⊙ s + (1 − u) ⊙ f = u ⊙ s + f − u ⊙ f
            [
                combine(self.layout, [(ONE, hadamard(u, s)), (ONE, f), (-ONE, hadamard(u, f))])
                for u, s, f in zip(*rows, strict=True)
            ]
            for rows in zip(update, S, new, strict=True)
        ]

    def tensors(self, X: Sequence[Vector]) -> Iterator[Grid]:
        """S^0, S^1, S^2, …; S^0 has X in its first column and zeros elsewhere."""
        if not X:
            raise InputError("a Neural GPU on no input has no output cell; give it a token")
        S = [[x, *([Vector.zero(self.layout)] * (self.width - 1))] for x in X]
        while True:
            yield S
            S = self.step(S)

    def outputs(self, X: Sequence[Vector], seed: Vector | None = None) -> Iterator[Vector]:
        """y_t = S^t_{n,1} for t = 1, 2, …; a Neural GPU has no seed."""
        tensors = self.tensors(X)
        next(tensors)
        return (S[-1][0] for S in tensors)
