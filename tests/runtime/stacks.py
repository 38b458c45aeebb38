"""Stack engines against the definition, vector by vector."""

import random
from dataclasses import replace
from itertools import islice

from tests.mutations import mutated_rnn
from tests.networks import Word

from netwright.engine.neural_gpu import FastNeuralGPU
from netwright.engine.rnn import FastRNN
from netwright.exact.vector import Vector
from netwright.machine.library import library_machine
from netwright.machine.turing_machine import TuringMachine
from netwright.nets.neural_gpu import NeuralGPU
from netwright.nets.rnn import RNN
from netwright.theorems.theorem_2_3_rnn.construction import CompiledRNN, compile_rnn
from netwright.theorems.theorem_4_1_neural_gpu import (
    CompiledNeuralGPU,
    compile_neural_gpu,
)


def agree(network: RNN, X: list[Vector], seed: Vector, n: int) -> FastRNN:
    """Every hidden vector is the definition's."""
    fast = FastRNN(network, X, seed)
    for t, g in enumerate(islice(network.decoder_states(X, seed), n)):
        fast.advance(1)
        assert fast.vector("0") == g, t
    return fast


def agree_on(compiled: CompiledRNN, word: Word, n: int) -> FastRNN:
    seed = Vector.zero(compiled.neurons.layout)
    return agree(compiled.network, compiled.embed(tuple(word)), seed, n)


def tensors_agree(network: NeuralGPU, X: list[Vector], n: int) -> FastNeuralGPU:
    """Every cell of every iteration is the definition's."""
    fast = FastNeuralGPU(network, X)
    for t, S in enumerate(islice(network.tensors(X), n)):
        fast.advance(1)
        cells = [cell for row in S for cell in row]
        for number, cell in enumerate(cells):
            assert fast.vector(str(number)) == cell, (t, number)
    return fast


def gpu_of(machine: TuringMachine) -> CompiledNeuralGPU:
    return compile_neural_gpu(compile_rnn(machine))


def run_a_mutated_rnn(seed: int, steps: int) -> FastRNN:
    draw = random.Random(seed)
    name, word = draw.choice([("palindrome", "aba"), ("busy-beaver-4", ""), ("copy", "ab")])
    compiled = compile_rnn(library_machine(name))
    return agree_on(replace(compiled, network=mutated_rnn(compiled.network, draw)), word, steps)
