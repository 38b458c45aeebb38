"""RNNs and Neural GPUs in floating point: Equations 2, 3 and 14 in a given arithmetic."""

from collections.abc import Iterator, Sequence
from typing import Any

from netwright.definitions.neural_gpu import Convolution, NeuralGPU
from netwright.definitions.rnn import RNN, identity, multiplied_out
from netwright.errors import InputError
from netwright.exact.arrays import AnyArray
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE
from netwright.exact.vector import Vector
from netwright.precision.arithmetic import Arithmetic


def decoder_states(
    network: RNN, X: Sequence[Vector], arithmetic: Arithmetic[Any]
) -> Iterator[AnyArray]:
    """g_0, g_1, g_2, … (Equations 2 and 3), for an RNN without R and biases, with O = id."""
    if (network.R, network.b1, network.b2) != (None, None, None) or network.O is not identity:
        raise InputError("only RNNs of the form of Theorem 2.3 run in floating point")
    W, V, U = (arithmetic.affine_map(multiplied_out(m)) for m in (network.W, network.V, network.U))
    h = arithmetic.zero(network.layout.dimension)
    for x in X:
        z = arithmetic.plus(arithmetic.affine(W, arithmetic.vector(x)), arithmetic.affine(V, h))
        h = arithmetic.activated(z, network.f1)
    while True:
        yield h
        h = arithmetic.activated(arithmetic.affine(U, h), network.f2)


def tensors(
    network: NeuralGPU, X: Sequence[Vector], arithmetic: Arithmetic[Any]
) -> Iterator[list[AnyArray]]:
    """S^0, S^1, … (Equation 14), a column of cells, for a Neural GPU of width 1.

    u ⊙ s + (1 − u) ⊙ f is computed as it stands.
    """
    if network.width != 1 or network.circular:
        raise InputError("only Neural GPUs of width 1 without circles run in floating point")
    here = arithmetic
    gates = [_Convolution(each, network.layout, here) for each in (network.U, network.R, network.F)]
    update, reset, new = gates
    ones = here.vector(_constant(network.layout, 1))
    minus = here.vector(_constant(network.layout, -1))
    S = [here.vector(x) for x in X]
    while True:
        yield S
        U, R = update(S), reset(S)
        F = new([here.times(r, s) for r, s in zip(R, S, strict=True)])
        S = [
            here.plus(here.times(u, s), here.times(here.plus(ones, here.times(minus, u)), f))
            for u, s, f in zip(U, S, F, strict=True)
        ]


class _Convolution:
    """f(K * S + B) for a column of cells."""

    def __init__(
        self, convolution: Convolution, layout: Layout, arithmetic: Arithmetic[Any]
    ) -> None:
        self.arithmetic, self.f = arithmetic, convolution.f
        self.kernels = [
            arithmetic.affine_map(multiplied_out(row[0])) for row in convolution.kernels
        ]
        self.bias = None
        if convolution.bias is not None:
            if callable(convolution.bias):
                raise InputError("only uniform Neural GPUs run in floating point")
            self.bias = arithmetic.vector(convolution.bias[0])
        self.nothing = arithmetic.zero(layout.dimension)

    def __call__(self, S: list[AnyArray]) -> list[AnyArray]:
        found = []
        for i in range(len(S)):
            z = self.nothing
            for u, kernel in enumerate(self.kernels):
                at = i + u - len(self.kernels) // 2
                if 0 <= at < len(S):
                    z = self.arithmetic.plus(z, self.arithmetic.affine(kernel, S[at]))
            if self.bias is not None:
                z = self.arithmetic.plus(z, self.bias)
            found.append(self.arithmetic.activated(z, self.f))
        return found


def _constant(layout: Layout, number: int) -> Vector:
    return Vector(layout, dict.fromkeys(range(layout.dimension), number * ONE))
