"""The encoder of an RNN, symbol by symbol by entries: the same vectors as by the definition."""

import random
from dataclasses import replace
from typing import Any

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tests.mutations import mutated_rnn
from tests.strategies import machines, words

from netwright.engine.digits import Digits
from netwright.engine.moments import UnsuitableError
from netwright.engine.rnn import last_hidden
from netwright.engine.stack_moments import vector_of
from netwright.exact.vector import Vector
from netwright.machine.library import library_machine
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import compile_network


def hidden(network: Any, X: list[Vector]) -> Vector:
    known = Digits()
    held = last_hidden(network, X, known)
    return vector_of(network.layout, held.state, held.arrays(), known)


def same_hidden(network: Any, X: list[Vector]) -> None:
    *_, expected = network.encoder_states(X)
    assert hidden(network, X) == expected


@given(data=st.data(), machine=machines(), base=st.sampled_from([None, 9, "17/2"]))
def test_the_encoder_of_an_rnn(data: st.DataObject, machine: TuringMachine, base: Any) -> None:
    word = data.draw(words(machine.symbols))
    compiled = compile_network(machine, "rnn", base=base).compiled
    same_hidden(compiled.network, compiled.embed(word))


def test_long_words_with_blanks_in_them() -> None:
    """Blanks at the beginning, at the end and between: zeros on top, below and inside."""
    draw = random.Random(3)
    compiled = compile_network(library_machine("palindrome"), "rnn").compiled
    for blanks in (0.1, 0.5, 0.9):
        for size in (7, 20, 60):
            word = ["_" if draw.random() < blanks else draw.choice("ab") for _ in range(size)]
            same_hidden(compiled.network, compiled.embed(word))


def test_the_encoders_of_mutated_rnns() -> None:
    draw = random.Random(8)
    compiled = compile_network(library_machine("palindrome"), "rnn").compiled
    word, changed, refused = compiled.embed("abbabaabba"), 0, 0
    *_, whole = compiled.network.encoder_states(word)
    for _ in range(200):
        network = mutated_rnn(compiled.network, draw)
        *_, expected = network.encoder_states(word)
        changed += expected != whole
        try:
            assert hidden(network, word) == expected
        except UnsuitableError:
            refused += 1
    assert changed >= 30
    assert refused <= 10


def test_a_bias_and_another_activation() -> None:
    compiled = compile_network(library_machine("palindrome"), "rnn").compiled
    X = compiled.embed("abba")
    half = Vector.of(compiled.network.layout, u=fmpq(1, 2))
    same_hidden(replace(compiled.network, b1=half), X)
    same_hidden(compiled.network, [])
    with pytest.raises(UnsuitableError, match="its activation is not σ"):
        hidden(replace(compiled.network, f1=lambda x: x / 2), X)
