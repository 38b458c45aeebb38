"""Numbers that are no stacks, sums that are large, nodes that are many: where stacks give way."""

from functools import partial
from typing import Any

import pytest
from benchmarks.depth_and_cells import wiggle
from flint import fmpq
from tests.engine.stacks import agree, matrix_of, tensors_agree
from tests.networks import facts
from tests.strategies import D

from netwright.definitions.neural_gpu import Convolution, NeuralGPU
from netwright.definitions.rnn import RNN
from netwright.engine.moments import advance_to
from netwright.engine.rnn import FastRNN
from netwright.errors import FormatError
from netwright.exact.feed_forward import Affine, LinearMap
from netwright.exact.rational import relu
from netwright.exact.vector import Vector
from netwright.kind.rnn.construction import compile_rnn
from netwright.machine.library import library_machine
from netwright.machine.simulate import simulate
from netwright.network.running import run

matrix = partial(matrix_of, D)
NOTHING = matrix()
KEEP = matrix(xx=1, yy=1, zz=1)


def agree_from(start: Vector, U: Affine | LinearMap, n: int, **more: object) -> FastRNN:
    network = RNN(D, KEEP, NOTHING, U, **more)  # type: ignore[arg-type]  # fields
    return agree(network, [start], start, n)


def test_numbers_that_are_no_stacks_go_on_in_big_numbers() -> None:
    """x is divided by 3 and y by 5 again and again, and z adds them up."""
    U = matrix(xx=fmpq(1, 3), yy=fmpq(1, 5), xz=1, yz=1)
    start = Vector.of(D, x=1, y=1)
    fast = agree_from(start, U, 40)
    assert fast.reason == "a number is no longer a stack"
    assert fast.moments == 40


def test_any_number_is_a_stack_of_one_digit() -> None:
    start = Vector.of(D, x=fmpq(1, 7))
    assert agree_from(start, matrix(xx=1), 5).reason is None


def test_a_digit_of_more_than_62_bits_is_for_big_numbers() -> None:
    start = Vector.of(D, x=1)
    tiny = matrix(xx=fmpq(1, 10**30))
    assert agree_from(start, tiny, 5).reason == "a digit has more than 62 bits"
    assert agree_from(start, matrix(xx=10**30), 5).reason is None


def test_numbers_without_end_are_for_big_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """x is 1 − 1.01·x at every moment: always another number."""
    monkeypatch.setattr("netwright.engine.digits.MOST_DIGITS", 8)
    start = Vector.of(D, x=fmpq(1, 3))
    fast = agree_from(start, matrix(xx=fmpq(-101, 100)), 40, b2=Vector.of(D, x=1))
    assert fast.reason == "its numbers have more than 8 digits"


def test_another_activation_is_for_big_numbers() -> None:
    start = Vector.of(D, x=1)
    fast = agree_from(start, matrix(xx=2), 80, f2=relu)
    assert fast.reason == "its activation is not σ"


def test_what_sigma_does_is_told_by_bounds_or_one_more_digit() -> None:
    """x pushes 1 on a stack in base 3 for ever, so it nears 1/2, and y asks whether it is above.

    y = σ(9x − 4) is 0 up to x = 4/9 and 1 from 5/9 on, and between them the digits must tell.
    """
    U = matrix(xx=fmpq(1, 3), zx=fmpq(1, 3), zz=1, xy=9, zy=-4)
    start = Vector.of(D, z=1)
    assert agree_from(start, U, 60).reason is None


def test_a_stack_times_a_gate_between_0_and_1_is_for_big_numbers() -> None:
    """x falls by thirds, and the gate of y is x itself: x·y is then a product of two stacks."""
    third = matrix(xx=fmpq(1, 3), yy=fmpq(1, 3))
    gate = Convolution(((matrix(xy=1),),))
    open_gate = Convolution(((NOTHING,),), bias=(Vector.of(D, x=1, y=1, z=1),))
    network = NeuralGPU(D, gate, open_gate, Convolution(((third,),)))
    fast = tensors_agree(network, [Vector.of(D, x=1, y=1)], 12)
    assert fast.reason == "a product of two numbers that are not 0 or 1"


def test_a_matrix_that_is_a_factor_twice() -> None:
    half = matrix(xx=fmpq(1, 2))
    twice = LinearMap(D, D, ((half, half),))
    start = Vector.of(D, x=1)
    fast = agree_from(start, twice, 10)
    assert fast.reason is None
    assert fast.vector("0").number("x") == fmpq(1, 4**9)


def test_sums_over_many_products_stay_within_64_bits() -> None:
    """2⁶⁴ in 32 parts would be 0 in 64 bits, and is 1 after σ."""
    part = (matrix(xx=2**24), matrix(xx=2**11), matrix(xx=2**24))
    many = LinearMap(D, D, (part,) * 32)
    start = Vector.of(D, x=1)
    assert agree_from(start, many, 4).reason is None
    assert agree_from(start, matrix(xx=1), 4, b2=Vector.of(D, y=10**30)).reason is None


def test_an_rnn_that_reads_its_own_outputs_runs_on_stacks() -> None:
    """g_1 reads the seed, g_2 and later ones O(g) = g."""
    network = RNN(D, KEEP, NOTHING, matrix(xx=fmpq(1, 3)), R=matrix(yx=fmpq(1, 3), yy=1))
    fast = agree(network, [Vector.of(D, x=1)], Vector.of(D, y=1), 20)
    assert fast.reason is None
    again = FastRNN(network, [Vector.of(D, x=1)], Vector.of(D, y=1))
    again.restore(fast.snapshot())
    assert again.vector("0") == fast.vector("0")


def test_a_bias_for_more_columns_than_there_are() -> None:
    gate = Convolution(((KEEP,),), bias=(Vector.zero(D), Vector.of(D, x=1)))
    network = NeuralGPU(D, gate, gate, Convolution(((KEEP,),)))
    tensors_agree(network, [Vector.of(D, x=1)], 5)


def test_a_state_that_does_not_hang_together_is_refused() -> None:
    compiled = compile_rnn(library_machine("palindrome"))
    zero = Vector.zero(compiled.neurons.layout)

    def engine() -> FastRNN:
        return FastRNN(compiled.network, compiled.embed("abba"), zero)

    fast = engine()
    advance_to(fast, 8)
    state = {name: array.copy() for name, array in fast.snapshot().items()}
    wrong: dict[str, Any] = {
        "has no array ones": {key: array for key, array in state.items() if key != "ones"},
        "cells is int64 of shape .* expected int64": {**state, "cells": state["cells"][:, :1]},
        "digits has the number": {**state, "digits": state["digits"] + 100},
        "stacks without their digits": {**state, "heights": state["heights"] + 1},
        "no stack 7": {**state, "cells": state["cells"] + [7, 0]},
        "two numbers in one place": {**state, "ones": state["cells"][:, 1]},
        "other digits": {**state, "pairs": state["pairs"] + 1},
        "the digit": {**state, "pairs": state["pairs"] * [[1, 0, 0]] + [[0, 0, 1]]},
    }
    for message, changed in wrong.items():
        with pytest.raises(FormatError, match=message):
            engine().restore(changed)
    again = engine()
    again.restore(state)
    assert again.vector("0") == fast.vector("0")


def test_deep_stacks_take_two_bytes_a_digit() -> None:
    machine = wiggle()
    compiled = compile_rnn(machine)
    zero = Vector.zero(compiled.neurons.layout)
    fast = FastRNN(compiled.network, compiled.embed("a" * 300), zero)
    advance_to(fast, 20_000)
    assert fast.reason is None
    assert fast.place().bytes < 700
    found = run(machine, "a" * 300, 20_000, on="rnn", engine="fast")
    assert facts(found) == facts(simulate(machine, "a" * 300, 20_000))
