"""Where an RNN or a Neural GPU in floating point first goes wrong, and how deep its stacks are.

A stack of n symbols is a number with n digits in base B, so it takes n·log₂ B bits at least; one
digit more while the cell under the head is not read off it yet (Rpop, Lpop). That number of digits
is the *depth*. A format of p bits holds p/log₂ B digits; unless B is a power of two, every digit is
rounded. The hidden vector g_t may then differ from the exact one long before it shows a wrong pair
of state and symbol: that of the read-out n[q, s] above 1/2 (`VectorReader.readouts`).

`decoder_states` and `tensors` are Equations 2, 3 and 14 in a given arithmetic.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log2
from typing import Any

from netwright.definitions.neural_gpu import Convolution, NeuralGPU
from netwright.definitions.rnn import RNN, identity, multiplied_out
from netwright.errors import InputError
from netwright.exact.arrays import AnyArray
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE, ZERO, Rational
from netwright.exact.vector import Vector
from netwright.kind.neural_gpu.construction import compile_neural_gpu
from netwright.kind.rnn.construction import CompiledRNN
from netwright.kind.rnn.reading import VectorReader
from netwright.machine.simulate import configurations
from netwright.precision.arithmetic import Arithmetic
from netwright.precision.failures import Report
from netwright.precision.formats import Format


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

    u ⊙ s + (1 − u) ⊙ f is computed as written.
    """
    if network.width != 1 or network.circular:
        raise InputError("only Neural GPUs of width 1 without circles run in floating point")
    here, layout = arithmetic, network.layout
    update, reset, new = (
        _convolution(each, layout, here) for each in (network.U, network.R, network.F)
    )
    ones, minus = (here.vector(_constant(layout, number)) for number in (1, -1))
    S = [here.vector(x) for x in X]
    while True:
        yield S
        U, R = update(S), reset(S)
        F = new([here.times(r, s) for r, s in zip(R, S, strict=True)])
        S = [
            here.plus(here.times(u, s), here.times(here.plus(ones, here.times(minus, u)), f))
            for u, s, f in zip(U, S, F, strict=True)
        ]


def _convolution(
    convolution: Convolution, layout: Layout, here: Arithmetic[Any]
) -> Callable[[list[AnyArray]], list[AnyArray]]:
    """f(K * S + B) for a column of cells, as a function of S."""
    if callable(convolution.bias):
        raise InputError("only uniform Neural GPUs run in floating point")
    bias = None if convolution.bias is None else here.vector(convolution.bias[0])
    kernels = [here.affine_map(multiplied_out(row[0])) for row in convolution.kernels]
    nothing = here.zero(layout.dimension)

    def cell(S: list[AnyArray], i: int) -> AnyArray:
        z = nothing
        for at, kernel in enumerate(kernels, start=i - len(kernels) // 2):
            if 0 <= at < len(S):
                z = here.plus(z, here.affine(kernel, S[at]))
        return here.activated(z if bias is None else here.plus(z, bias), convolution.f)

    return lambda S: [cell(S, i) for i in range(len(S))]


def _constant(layout: Layout, number: int) -> Vector:
    return Vector(layout, dict.fromkeys(range(layout.dimension), number * ONE))


@dataclass(frozen=True)
class WrongHidden:
    """A hidden vector g_t that is not the exact one: its first such coordinate."""

    time: int
    block: str
    exact: Rational
    rounded: Rational | None
    """None for infinity or NaN."""
    depth: int
    """The digits of the deepest stack."""


@dataclass(frozen=True)
class WrongPair:
    """A hidden vector that shows a wrong state or symbol."""

    time: int
    expected: str
    found: str
    depth: int


@dataclass(frozen=True)
class StackFailures:
    """The first failure of each sort in a run."""

    steps: int
    """Steps up to a wrong pair, the end of the run or the limit."""
    halted: bool
    depth: int
    """The deepest stack up to there."""
    vector: WrongHidden | None
    reading: WrongPair | None


def digits_held(form: Format, compiled: CompiledRNN) -> int | None:
    """The digits of a stack that a format holds exactly: p / log₂ B; None if weights do not fit.

    A digit takes log₂ B bits if B is a power of two. The weights have B − k in their denominators
    besides, for k symbols: only where that is cancelled, or a power of two itself, are they binary
    fractions. So it is with base 4 and two or three symbols, and with base 8 it is not.

    >>> from netwright.machine.library import library_machine
    >>> from netwright.precision.formats import FORMATS
    >>> from netwright.kind.rnn.construction import compile_rnn
    >>> machine, form = library_machine("sweeper"), FORMATS["float32"]
    >>> [digits_held(form, compile_rnn(machine, base)) for base in (3, 4, 8)]
    [None, 12, None]
    """
    network = compiled.network
    weights = [
        weight
        for matrix in (network.W, network.V, network.U)
        for weight in multiplied_out(matrix).weights.values()
    ]
    if not all(map(form.holds, weights)):
        return None
    return form.bits // (int(compiled.neurons.base.p).bit_length() - 1)


def first_stack_failures(
    rnn: CompiledRNN,
    hidden: Iterator[AnyArray],
    word: tuple[str, ...],
    arithmetic: Arithmetic[Any],
    steps: int,
    report: Report = lambda _: None,
) -> StackFailures:
    """Compare the hidden vectors of a network in an arithmetic with those of the exact RNN."""
    seed = Vector.zero(rnn.neurons.layout)
    exact = rnn.network.decoder_states(rnn.embed(word), seed)
    machine = configurations(rnn.machine, word)
    shown = VectorReader(rnn.neurons)
    vector: WrongHidden | None = None
    deepest = 0
    runs = zip(machine, exact, hidden, strict=False)
    for time, (now, g, numbers) in enumerate(islice(runs, steps + 1)):
        if time % 64 == 0:
            report(time)
        depth = max(_digits(g.number(block), rnn.neurons.base) for block in rnn.neurons.stacks)
        deepest = max(deepest, depth)
        found = [arithmetic.exact(number) for number in numbers.tolist()]
        vector = vector or _first_difference(time, g, found, depth)
        if vector is not None:
            pair = _pair(shown, g.layout, found)
            if pair != (now.state, now.symbol):
                expected, seen = (f"{q} over {s}" for q, s in ((now.state, now.symbol), pair))
                wrong = WrongPair(time, expected, seen, depth)
                return StackFailures(time, False, deepest, vector, wrong)
    halted = rnn.machine.action(now.state, now.symbol) is None or now.state in rnn.final_states
    return StackFailures(time, halted, deepest, vector, None)


def _digits(x: Rational, base: Rational) -> int:
    """The digits of a stack: n if, for B = p/r, its denominator is above p^(n−1), not p^n."""
    p, q = int(base.p), int(x.q)
    n = int((q.bit_length() - 1) / log2(p))
    while p**n < q:
        n += 1
    return n


def rnn_hidden(
    compiled: CompiledRNN, word: tuple[str, ...], arithmetic: Arithmetic[Any]
) -> Iterator[AnyArray]:
    """g_0, g_1, … of an RNN."""
    return decoder_states(compiled.network, compiled.embed(word), arithmetic)


def neural_gpu_hidden(
    rnn_compiled: CompiledRNN, word: tuple[str, ...], arithmetic: Arithmetic[Any]
) -> Iterator[AnyArray]:
    """g_0, g_1, … in the RNN's Neural GPU: the last cell's E at first, then its D."""
    compiled = compile_neural_gpu(rnn_compiled)
    layout, rnn = compiled.network.layout, compiled.neurons.layout
    places = {
        letter: [layout.index(f"{letter} {c.block}", c.label) for c in rnn.coordinates]
        for letter in "ED"
    }
    cells = compiled.embed(word)
    for t, S in enumerate(tensors(compiled.network, cells, arithmetic)):
        if t >= len(cells):
            yield S[-1][places["E" if t == len(cells) else "D"]]


def _first_difference(
    time: int, g: Vector, found: list[Rational | None], depth: int
) -> WrongHidden | None:
    for k, number in enumerate(found):
        exact = g.entries.get(k, ZERO)
        if number != exact:
            return WrongHidden(time, str(g.layout.coordinates[k]), exact, number, depth)
    return None


def _pair(shown: VectorReader, layout: Layout, found: list[Rational | None]) -> tuple[str, str]:
    """The state and symbol that a vector shows; "none" if it does not show exactly one pair."""
    numbers = {k: number for k, number in enumerate(found) if number is not None}
    on = [label for label, x in shown.readouts(Vector(layout, numbers))["n"].items() if 2 * x > 1]
    is_clear = len(on) == 1 and len(numbers) == len(found)
    return shown.pairs[on[0]] if is_clear else ("none", "none")
