"""Encoders of long inputs: the same vectors as by the definition."""

import random
from dataclasses import replace
from typing import Any

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from netwright.runtime.stacks.encoder import last_hidden
from tests.machine_table import ORACLES
from tests.mutations import mutated_rnn, mutated_transformer
from tests.strategies import machines, words

from netwright.exact.vector import Vector
from netwright.machine.library import library_machine
from netwright.machine.turing_machine import TuringMachine
from netwright.networks.network import compile_network, network_for_word
from netwright.runtime.transformer.attention import AttentionCache
from netwright.runtime.transformer.encoded import Encoded


def same_hidden(network: Any, X: list[Vector]) -> None:
    *_, expected = network.encoder_states(X)
    assert last_hidden(network, X) == expected


@given(data=st.data(), machine=machines(), base=st.sampled_from([None, 9, "17/2"]))
def test_the_encoder_of_an_rnn(data: st.DataObject, machine: TuringMachine, base: Any) -> None:
    word = data.draw(words(machine.symbols))
    compiled = compile_network(machine, "rnn", base=base).compiled
    same_hidden(compiled.network, compiled.embed(word))


def test_the_encoders_of_mutated_rnns() -> None:
    draw = random.Random(8)
    compiled = compile_network(library_machine("palindrome"), "rnn").compiled
    word, changed = compiled.embed("abbabaabba"), 0
    *_, whole = compiled.network.encoder_states(word)
    for _ in range(200):
        network = mutated_rnn(compiled.network, draw)
        *_, expected = network.encoder_states(word)
        changed += expected != whole
        assert last_hidden(network, word) == expected
    assert changed >= 30


def test_a_bias_and_another_activation() -> None:
    compiled = compile_network(library_machine("palindrome"), "rnn").compiled
    X = compiled.embed("abba")
    half = Vector.of(compiled.network.layout, u=fmpq(1, 2))
    same_hidden(replace(compiled.network, b1=half), X)
    same_hidden(replace(compiled.network, f1=lambda x: x / 2), X)
    same_hidden(compiled.network, [])


def vectors(encoded: Encoded, which: str) -> list[Vector]:
    columns = getattr(encoded, which)
    layout = encoded.network.layout
    return [Vector(layout, {k: c.at(n) for k, c in columns.items()}) for n in range(len(encoded))]


@pytest.mark.parametrize("name", ORACLES)
def test_the_encoder_of_a_transformer_as_arrays(name: str) -> None:
    word = max(ORACLES[name][0], key=len)
    compiled = network_for_word(library_machine(name), "transformer", word).compiled
    X = compiled.recognizer.embed(word)
    encoded = Encoded(compiled.network, X)
    assert encoded._arrays is not None  # the quick way
    K, V = compiled.network.encode(X)
    assert (vectors(encoded, "keys"), vectors(encoded, "values")) == (K, V)
    cache = AttentionCache(compiled.network.K, compiled.network.score, compiled.network.rho)
    for key, value in zip(K, V, strict=True):
        cache.append(key, value)
    for token in compiled.network.tokens(X, compiled.seed):
        p = token.layers[0].p
        assert encoded.attend(p) == cache.attend(p)
        if p.number("x9") > 3 * len(word):
            break


def test_mutated_encoders() -> None:
    compiled = compile_network(library_machine("palindrome")).compiled
    draw, quick = random.Random(4), 0
    X = compiled.recognizer.embed("abbab")
    for _ in range(300):
        network = mutated_transformer(compiled, draw).network
        encoded = Encoded(network, X)
        quick += encoded._arrays is not None
        K, V = network.encode(X)
        assert (vectors(encoded, "keys"), vectors(encoded, "values")) == (K, V)
    assert quick >= 200
