"""Comparisons of networks with machines hold where they should, and fail where they must."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mutations import mutated_neural_gpu, mutated_rnn, mutated_transformer
from tests.networks import KINDS, compiled_network, held
from tests.repetition import examples, repeated
from tests.strategies import machines
from tests.strategies import words as random_words

from netwright.cli.verify import read_kinds
from netwright.errors import InputError
from netwright.kind.rnn.construction import CompiledRNN
from netwright.kind.transformer.construction import CompiledTransformer
from netwright.machine.library import library_machine, library_names
from netwright.machine.simulate import simulate
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import network_for_word
from netwright.verify.comparison import Comparison
from netwright.verify.draw import random_machine

WORD = tuple("abba")


def palindromes(on: str) -> Any:
    return compiled_network(library_machine("palindrome"), on, WORD)


def comparisons(machine: TuringMachine, word: Sequence[str], steps: int) -> Iterator[Comparison]:
    for on in KINDS:
        yield network_for_word(machine, on, tuple(word)).compare(word, steps)


@pytest.mark.parametrize("name", library_names())
def test_every_machine_of_the_library_agrees(name: str) -> None:
    machine = library_machine(name)
    limit = repeated(25, 6)
    for found in comparisons(machine, machine.default_input, limit):
        assert found.difference is None, found
        assert found.steps == simulate(machine, None, limit).steps
        assert found.checks > 3 * found.steps


@examples(40)
@given(st.data())
def test_random_machines_agree(data: st.DataObject) -> None:
    machine = data.draw(machines(max_states=3, max_symbols=3))
    word = data.draw(random_words(machine.symbols))
    for found in comparisons(machine, word, 12):
        assert found.difference is None, found
        assert found.steps == simulate(machine, word, 12).steps


BROKEN = {
    "encoder.K.x8": "Lemma B.1",
    "encoder.V.s3": "Lemma B.1",
    "encoder.V.x6": "Lemma B.1",
    "decoder.1.O.q2": "Lemma B.2",
    "decoder.1.O.s2": "Lemma B.2",
    "decoder.1.O.x2": "Lemma B.2",
    "decoder.2.V.x4": "Lemma B.3",
    "decoder.2.V.x5": "Lemma B.3",
    "decoder.2.O.s3": "Lemma B.3",
    "decoder.3.Q.x9": "Lemma B.4",
    "decoder.3.K.x10": "Lemma B.4",
    "decoder.3.V.s4": "Lemma B.4",
    "decoder.3.O.x6": "Lemma B.4",
    "F.q1": "Lemma B.5",
    "F.s1": "Lemma B.5",
    "F.x1": "Lemma B.5",
}


@pytest.mark.parametrize("place", BROKEN)
def test_a_broken_weight_breaks_its_lemma(place: str) -> None:
    broken = held(palindromes("transformer")).broken(place, word=WORD, max_steps=40)
    difference = broken.compare(WORD, 40).difference
    assert difference is not None
    assert difference.statement == BROKEN[place]
    assert difference.expected != difference.found


@pytest.mark.parametrize("place", ["U.S", "U.P", "U.Lpush", "W.S", "V.Rpop", "U.n"])
def test_a_broken_weight_breaks_the_rnn(place: str) -> None:
    broken = held(palindromes("rnn")).broken(place, word=WORD, max_steps=40)
    difference = broken.compare(WORD, 40).difference
    assert difference is not None
    assert difference.statement == "Theorem 2.3"


@pytest.mark.parametrize("place", ["U.1.E e", "R.2.C u", "F.1.E Rpop", "F.2.D P"])
def test_a_broken_weight_breaks_the_neural_gpu(place: str) -> None:
    broken = held(palindromes("neural-gpu")).broken(place, word=WORD, max_steps=40)
    difference = broken.compare(WORD, 40).difference
    assert difference is not None
    assert difference.statement.startswith("Theorem 4.1")


def test_a_weight_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match=r"no weight leads to 'F\.q2'; there are weights to"):
        held(palindromes("transformer")).broken("F.q2")


WITHOUT = {
    "residual:encoder.1.self": "Lemma B.1",
    "residual:encoder.1.O": "Lemma B.1",
    "residual:decoder.1.self": "Lemma B.1",
    "residual:decoder.1.external": "Lemma B.1",
    "residual:decoder.1.O": "Lemma B.2",
    "residual:decoder.2.self": "Lemma B.3",
    "residual:decoder.2.external": "Lemma B.3",
    "residual:decoder.2.O": "Lemma B.3",
    "residual:decoder.3.self": "Lemma B.4",
    "residual:decoder.3.external": "Lemma B.4",
    "residual:decoder.3.O": "Lemma B.4",
    "attention:encoder.1.self": None,
    "attention:decoder.1.self": None,
    "attention:decoder.1.external": "Lemma B.1",
    "attention:decoder.2.self": "Lemma B.3",
    "attention:decoder.2.external": "Lemma B.3",
    "attention:decoder.3.self": "Lemma B.4",
    "attention:decoder.3.external": "Lemma B.4",
    "positions": "Lemma B.1",
}


def test_every_part_of_the_transformer_is_in_the_table() -> None:
    assert set(KINDS["transformer"].construction.parts(palindromes("transformer"))) == set(WITHOUT)


@pytest.mark.parametrize("part", WITHOUT)
def test_what_breaks_without_a_part(part: str) -> None:
    """All but the two attentions that the proof calls trivial are needed."""
    found = held(palindromes("transformer")).without(part).compare(WORD, 40)
    statement = None if found.difference is None else found.difference.statement
    assert statement == WITHOUT[part]


def test_two_parts_may_be_left_out() -> None:
    trivial = ("attention:encoder.1.self", "attention:decoder.1.self")
    network = held(palindromes("transformer")).without(trivial[0])
    assert network.compare(WORD, 5).difference is None
    network = network.without(trivial[1])
    assert network.compare(WORD, 5).difference is None
    assert network.changes == tuple(f"without {part}" for part in trivial)
    assert network.without("residual:decoder.3.self").compare(WORD, 5).difference is not None


@pytest.mark.parametrize("part", ["gate:update", "gate:reset"])
def test_the_neural_gpu_needs_its_gates(part: str) -> None:
    found = held(palindromes("neural-gpu")).without(part).compare(WORD, 40)
    assert found.difference is not None
    assert found.difference.statement == "Theorem 4.1 (eq:to-prove)"


def test_a_part_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match=r"no part 'gate:both'; .*there are gate:update"):
        held(palindromes("neural-gpu")).without("gate:both")
    with pytest.raises(InputError, match="rnn has no parts"):
        held(palindromes("rnn")).without("gate:reset")


def test_mutated_networks_do_not_pass_for_long() -> None:
    """Of 60 random changes most are noticed on one word; those that are not cannot matter there."""
    draw = random.Random(7)
    noticed = 0
    for n in range(60):
        compiled = palindromes([*KINDS][n % 3])
        if isinstance(compiled, CompiledTransformer):
            compiled = mutated_transformer(compiled, draw)
        elif isinstance(compiled, CompiledRNN):
            network = mutated_rnn(compiled.network, draw)
            compiled = type(compiled)(
                compiled.neurons, network, compiled.embedding, compiled.final_states
            )
        else:
            gpu = mutated_neural_gpu(compiled.network, draw)
            compiled = replace(compiled, network=gpu)
        noticed += held(compiled).compare(WORD, 20).difference is not None
    assert noticed > 15


def test_names_of_networks() -> None:
    assert [kind.name for kind in read_kinds("rnn, transformer,rnn", {})[0]] == [
        "rnn",
        "transformer",
    ]
    with pytest.raises(InputError, match="no network 'machine'; there are transformer, rnn"):
        read_kinds("rnn,machine", {})


def test_the_same_seed_draws_the_same_machines() -> None:
    draws = [random.Random(4), random.Random(4)]
    first, second = (random_machine(draw, 4, 3) for draw in draws)
    assert first == second
    assert len({random_machine(draws[0], 4, 3).delta.get(("q0", "_")) for _ in range(9)}) > 1
