"""Encoders of long inputs: the same vectors as by the definition."""

import random

import pytest
from tests.machine_table import ORACLES
from tests.mutations import mutated_transformer

from netwright.engine.transformer.attention import AttentionCache
from netwright.engine.transformer.encoded import Encoded
from netwright.exact.vector import Vector
from netwright.machine.library import library_machine
from netwright.network.network import compile_network, network_for_word


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
