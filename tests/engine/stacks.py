"""Stack engines against the definition, vector by vector."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from tests.mutations import mutated_rnn
from tests.networks import Word

from netwright.definitions.neural_gpu import NeuralGPU
from netwright.definitions.rnn import RNN
from netwright.engine.neural_gpu import FastNeuralGPU
from netwright.engine.rnn import FastRNN
from netwright.exact.feed_forward import Affine, Weights
from netwright.exact.layout import Layout
from netwright.exact.vector import Vector
from netwright.kind.neural_gpu.construction import CompiledNeuralGPU, compile_neural_gpu
from netwright.kind.rnn.construction import CompiledRNN, compile_rnn
from netwright.machine.library import library_machine
from netwright.machine.turing_machine import TuringMachine


def agree(network: RNN, X: list[Vector], seed: Vector, n: int) -> FastRNN:
    """Every hidden vector is the definition's, and so is the one before it."""
    fast, before = FastRNN(network, X, seed), None
    for t, g in enumerate(islice(network.decoder_states(X, seed), n)):
        fast.advance(1)
        assert fast.vector("0") == g, t
        if before is not None:
            assert fast.vector("0", before=True) == before, t
        before = g
    return fast


def agree_now_and_then(
    fast: FastRNN | FastNeuralGPU, moments: Sequence[Sequence[Vector]], draw: random.Random
) -> None:
    """Whole vectors are the definition's after any number of moments at once."""
    while fast.moments < len(moments):
        fast.advance(min(draw.randint(1, 20), len(moments) - fast.moments))
        for number, vector in enumerate(moments[fast.moments - 1]):
            assert fast.vector(str(number)) == vector, (fast.moments, number)


def agree_on(compiled: CompiledRNN, word: Word, n: int) -> FastRNN:
    seed = Vector.zero(compiled.neurons.layout)
    return agree(compiled.network, compiled.embed(tuple(word)), seed, n)


def tensors_agree(network: NeuralGPU, X: list[Vector], n: int) -> FastNeuralGPU:
    """Every cell of every iteration is the definition's, and so is the last one before it."""
    fast, before = FastNeuralGPU(network, X), None
    for t, S in enumerate(islice(network.tensors(X), n)):
        fast.advance(1)
        cells = [cell for row in S for cell in row]
        for number, cell in enumerate(cells):
            assert fast.vector(str(number)) == cell, (t, number)
        if before is not None:
            assert fast.vector(str(len(cells) - 1), before=True) == before, t
        before = cells[-1]
    return fast


def matrix_of(layout: Layout, *pairs: str, **other: object) -> Affine:
    """Weights 1 by names such as xy, from x to y, and others by name."""
    weights: dict[tuple[str, str], Weights] = {(pair[0], pair[1]): 1 for pair in pairs}
    weights |= {(pair[0], pair[1]): w for pair, w in other.items()}  # type: ignore[misc]  # numbers
    return Affine.of(layout, layout, weights)


def gpu_of(machine: TuringMachine) -> CompiledNeuralGPU:
    return compile_neural_gpu(compile_rnn(machine))


def run_a_mutated_rnn(seed: int, steps: int) -> FastRNN:
    draw = random.Random(seed)
    name, word = draw.choice([("palindrome", "aba"), ("busy-beaver-4", ""), ("copy", "ab")])
    compiled = compile_rnn(library_machine(name))
    return agree_on(replace(compiled, network=mutated_rnn(compiled.network, draw)), word, steps)
