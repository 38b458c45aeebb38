"""Theorem 2.3 (the RNN in real time) and Theorem 4.1 (the Neural GPU), at every step."""

from dataclasses import replace
from itertools import islice

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tests.machine_table import TABLE, Case, words
from tests.networks import agree_at_every_step, every_cell_is_as_proved, facts, run_by_definition
from tests.repetition import examples, repeated, some
from tests.strategies import machines
from tests.strategies import words as random_words

from netwright.errors import InputError, NetworkError
from netwright.exact.feed_forward import linear
from netwright.exact.rational import relu
from netwright.exact.vector import Vector
from netwright.kind.neural_gpu.construction import (
    CompiledNeuralGPU,
    block_of,
    compile_neural_gpu,
    in_block,
    neural_gpu,
    with_padding,
)
from netwright.kind.rnn.construction import compile_rnn
from netwright.kind.rnn.reading import VectorReader
from netwright.machine.library import library_machine, library_names
from netwright.machine.simulate import Outcome, simulate
from netwright.machine.turing_machine import Move, TuringMachine


@pytest.mark.parametrize("name", library_names())
def test_the_rnn_is_in_the_machines_configuration_at_every_step(name: str) -> None:
    machine = library_machine(name)
    compiled = compile_rnn(machine)
    assert agree_at_every_step(compiled, machine.default_input, repeated(2000, 400)) > 5
    wanted = simulate(machine, None, 2000)
    found = run_by_definition(compiled, machine.default_input, 2000)
    assert facts(found) == facts(wanted)
    assert found.network_steps == len(machine.default_input) + 1 + found.steps  # real time


@examples(150)
@given(st.data())
def test_random_machines_at_every_step(data: st.DataObject) -> None:
    machine = data.draw(machines())
    word = data.draw(random_words(machine.symbols))
    compiled = compile_rnn(machine)
    agree_at_every_step(compiled, word, 30)
    limit = data.draw(st.integers(0, 20))
    assert facts(run_by_definition(compiled, word, limit)) == facts(simulate(machine, word, limit))


@pytest.mark.parametrize("base", [fmpq(7, 2), 4, 5, 8, fmpq(31, 10)])
def test_any_base_above_the_number_of_symbols(base: int) -> None:
    compiled = compile_rnn(library_machine("palindrome"), base)
    for word in ("", "a", "abba", "abab"):
        agree_at_every_step(compiled, word, 60)


@pytest.mark.parametrize("base", [3, 2, fmpq(5, 2), 0, -4])
def test_a_base_that_is_too_small_is_refused(base: int) -> None:
    with pytest.raises(InputError, match="3 symbols need a base above 3"):
        compile_rnn(library_machine("palindrome"), base)


@given(machines())
def test_the_number_of_neurons(machine: TuringMachine) -> None:
    compiled = compile_rnn(machine)
    m, k = len(machine.states), len(machine.symbols)
    neurons = compiled.neurons.layout.dimension - k  # without the encoder's sc and e
    if compiled.neurons.stays:
        assert neurons <= m * (3 * k - 2) + 7
    else:
        entered = len(compiled.neurons.entries)
        assert neurons == 5 + m + (k - 1) * entered <= m * (2 * k - 1) + 5


def test_the_network_is_of_the_restricted_class() -> None:
    network = compile_rnn(library_machine("copy")).network
    assert network.R is None
    assert network.b1 is network.b2 is None
    x = Vector.of(network.layout, u=1)
    assert network.O(x) == x


def test_the_empty_word_needs_the_extra_token() -> None:
    """Without a bias and without a token the hidden vector is 0 for ever."""
    compiled = compile_rnn(library_machine("even-as"))
    zero = Vector.zero(compiled.neurons.layout)
    assert list(islice(compiled.network.decoder_states([], zero), 20)) == [zero] * 20
    assert run_by_definition(compiled, (), 50).outcome is Outcome.ACCEPTED
    assert run_by_definition(compile_neural_gpu(compiled), (), 50).outcome is Outcome.ACCEPTED


def test_after_a_halt_only_the_constant_is_left() -> None:
    compiled = compile_rnn(library_machine("busy-beaver-3"))
    zero = Vector.zero(compiled.neurons.layout)
    states = compiled.network.decoder_states(compiled.embed(""), zero)
    after = list(islice(states, 22, 30))
    assert after == [Vector.of(compiled.neurons.layout, u=1)] * 8


def test_a_start_state_that_accepts_is_seen_by_the_recognizer() -> None:
    machine = TuringMachine("ab", "01", "0", "a", {("a", "0"): ("b", "1", "R")}, "a")
    compiled = compile_rnn(machine)
    assert compiled.recognizer.accepts_at("0", 5) == 1
    assert run_by_definition(compiled, "1", 5).outcome is Outcome.ACCEPTED
    assert run_by_definition(compiled, "1", 5).steps == 0


def test_stays_are_steps_of_their_own() -> None:
    delta = {
        ("a", "0"): ("b", "1", "S"),
        ("b", "1"): ("c", "2", "S"),
        ("c", "2"): ("a", "1", "R"),
    }
    machine = TuringMachine("abc", "012", "0", "a", delta)
    compiled = compile_rnn(machine)
    assert compiled.neurons.stays
    assert agree_at_every_step(compiled, "", 40) == 41
    assert agree_at_every_step(compiled, "0102", 40) == 4
    assert ("b", Move.S) in compiled.neurons.entries
    assert not compile_rnn(library_machine("copy")).neurons.stays


def test_a_changed_weight_is_noticed() -> None:
    """Zeroing the row of the state neurons in U kills the run."""
    compiled = compile_rnn(library_machine("even-as"))
    network = compiled.network
    broken = replace(network, U=linear(network.layout, network.layout, {("u", "u"): 1}))
    damaged = replace(compiled, network=broken)
    assert run_by_definition(damaged, "aa", 50).outcome is Outcome.REJECTED
    assert run_by_definition(damaged, "aa", 50).steps == 0


def test_vectors_that_are_no_configuration_are_reported() -> None:
    compiled = compile_rnn(library_machine("even-as"))
    layout, reader = compiled.neurons.layout, VectorReader(compiled.neurons)
    with pytest.raises(NetworkError, match="not a one-hot of state and symbol"):
        reader.read(Vector.of(layout, u=1, S={"even": 1, "odd": 1}))
    for stack in (fmpq(7, 8), fmpq(1, 3)):  # a digit too large, and 0.1111… for ever
        found = reader.read(Vector.of(layout, u=1, S="even", Rpush=stack))
        assert found is not None
        with pytest.raises(NetworkError, match="is not a stack in base 4"):
            found.tape(0)


def gpu_of(machine: TuringMachine) -> CompiledNeuralGPU:
    return compile_neural_gpu(compile_rnn(machine))


@pytest.mark.parametrize("name", library_names())
def test_every_cell_of_every_iteration(name: str) -> None:
    machine = library_machine(name)
    word = machine.default_input
    steps = len(word) + 1 + simulate(machine, word, repeated(300, 20)).steps
    every_cell_is_as_proved(gpu_of(machine), word, steps)


def test_every_cell_with_blanks_in_the_input_and_without_input() -> None:
    every_cell_is_as_proved(gpu_of(library_machine("copy")), "a_b", 40)
    every_cell_is_as_proved(gpu_of(library_machine("palindrome")), "", 10)


@examples(40)
@given(st.data())
def test_every_cell_on_random_machines(data: st.DataObject) -> None:
    machine = data.draw(machines(max_states=3, max_symbols=3))
    word = data.draw(random_words(machine.symbols))
    compiled = gpu_of(machine)
    every_cell_is_as_proved(compiled, word, len(word) + 12)
    limit = data.draw(st.integers(0, 12))
    assert facts(run_by_definition(compiled, word, limit)) == facts(simulate(machine, word, limit))


@pytest.mark.parametrize("name", library_names())
def test_the_neural_gpu_answers_as_the_machine_does(name: str) -> None:
    machine = library_machine(name)
    compiled = gpu_of(machine)
    limit = repeated(300, 30)
    found = run_by_definition(compiled, machine.default_input, limit)
    assert facts(found) == facts(simulate(machine, None, limit))
    assert found.network_steps == len(machine.default_input) + 1 + found.steps
    d = compiled.rnn.neurons.layout.dimension
    assert compiled.network.layout.dimension == 3 * d + 3
    network = compiled.network
    assert {c.shape for c in (network.U, network.R, network.F)} == {(2, 1)}


SHORT = [case for case in TABLE if len(case.word) <= 3][::3]


@pytest.mark.parametrize("case", some(SHORT, 15))
def test_all_networks_answer_alike(case: Case) -> None:
    machine = library_machine(case.machine)
    wanted = facts(simulate(machine, case.word, 60))
    assert facts(run_by_definition(compile_rnn(machine), case.word, 60)) == wanted
    assert facts(run_by_definition(gpu_of(machine), case.word, 60)) == wanted


def test_the_recognizers_accept_the_machines_language() -> None:
    rnn = compile_rnn(library_machine("even-as"))
    gpu = compile_neural_gpu(rnn)
    for word in words("ab", 3):
        wanted = word.count("a") % 2 == 0
        assert (rnn.recognizer.accepts_at(f"{word}_", 20) is not None) == wanted
        assert (gpu.recognizer.accepts_at(f"{word}_", 20) is not None) == wanted


def test_the_final_set_looks_at_the_whole_cell() -> None:
    """The decoder's block alone would accept too early: see the deviation."""
    compiled = gpu_of(library_machine("even-as"))
    layout, rnn = compiled.network.layout, compiled.rnn.neurons.layout
    accepting = in_block(Vector.of(rnn, S="accept"), "D", layout)
    assert compiled.is_final(accepting)
    assert not compiled.is_final(accepting + Vector.of(layout, b=1))
    assert not compiled.is_final(accepting + in_block(Vector.of(rnn, u=1), "E", layout))
    assert block_of(accepting, "D", rnn) == Vector.of(rnn, S="accept")


@pytest.mark.parametrize("word", ["", "a", "abba", "abab", "aaaa", "abababab"])
def test_circular_convolution_breaks_it_and_an_end_marker_mends_it(word: str) -> None:
    machine = library_machine("palindrome")
    compiled = gpu_of(machine)
    wanted = facts(simulate(machine, word, 60))
    circular = with_padding(compiled, circular=True)
    try:
        broken = facts(run_by_definition(circular, word, 60)) != wanted
    except NetworkError:
        broken = True
    assert broken
    marked = with_padding(compiled, circular=True, end_marker=True)
    assert facts(run_by_definition(marked, word, 60)) == wanted
    accepted = marked.recognizer.accepts_at([*word, "_", "e"], 80) is not None
    assert accepted == (word == word[::-1])


def test_an_rnn_outside_the_theorem_is_refused() -> None:
    rnn = compile_rnn(library_machine("copy")).network
    one = Vector.of(rnn.layout, u=1)
    for changes in ({"b1": one}, {"b2": one}, {"R": rnn.U}, {"f1": relu}, {"O": lambda g: g + g}):
        with pytest.raises(NetworkError, match=r"takes an RNN with no R and no biases"):
            neural_gpu(replace(rnn, **changes))


def test_the_encoder_holds_the_whole_input_before_the_last_blank_too() -> None:
    compiled = compile_rnn(library_machine("palindrome"))
    reader = VectorReader(compiled.neurons)
    tokens = [compiled.embedding[symbol] for symbol in "abb"]
    for n, h in enumerate(islice(compiled.network.encoder_states(tokens), 1, None), start=1):
        found = reader.read(h)
        assert found is not None
        assert "".join(found.tape(0).cells) == "abb"[:n]
