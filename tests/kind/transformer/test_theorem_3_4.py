"""Theorem 3.4: every vector of the proof, at every step, and the answers decoded from them."""

from dataclasses import replace
from itertools import islice

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tests.machine_table import TABLE, Case, words
from tests.networks import facts, networks_in, run_by_definition, with_network
from tests.repetition import examples, repeated
from tests.strategies import machines
from tests.strategies import words as random_words

from netwright.definitions.transformer import attention
from netwright.errors import NetworkError
from netwright.exact.feed_forward import Affine, FeedForward, affine_network
from netwright.exact.layout import Layout
from netwright.exact.vector import Vector
from netwright.kind.transformer.construction import (
    CompiledTransformer,
    compile_transformer,
)
from netwright.kind.transformer.lemma_b6_if import if_maps
from netwright.kind.transformer.proof_values import ProofValues
from netwright.machine.library import library_machine
from netwright.machine.normal_form import normalize
from netwright.machine.simulate import Outcome, simulate
from netwright.machine.turing_machine import TuringMachine


def compiled_for(machine: TuringMachine, word: tuple[str, ...] | str) -> CompiledTransformer:
    return compile_transformer(normalize(machine, blanks_in_input=machine.blank in word))


def first_broken_lemma(
    compiled: CompiledTransformer, word: tuple[str, ...] | str, steps: int
) -> str | None:
    """The first vector of the proof that the network does not produce, or None."""
    expected = ProofValues(compiled.normal, tuple(word), steps)
    X = compiled.recognizer.embed(word)
    for i, token in enumerate(islice(compiled.network.tokens(X, compiled.seed), steps)):
        first, second, third = token.layers
        attended = [j for j, weight in enumerate(third.self_weights) if weight]
        claims = {
            "a1 (Lemma B.1)": (first.a, expected.a1(i)),
            "z1 (Lemma B.2)": (first.z, expected.z1(i)),
            "p2 (Lemma B.3)": (second.p, expected.p2(i)),
            "z2 (Lemma B.3)": (second.z, expected.p2(i)),
            "index (Lemma B.4)": (attended, [expected.ell[i + 1]]),
            "p3 (Lemma B.4)": (third.p, expected.p3(i)),
            "z3 (Lemma B.4)": (third.z, expected.p3(i)),
            "y (Lemma B.5)": (token.y, expected.y(i + 1)),
        }
        for name, (found, wanted) in claims.items():
            if found != wanted:
                return f"{name} at {i}"
    return None


def network_steps(machine: TuringMachine, word: str) -> int:
    return 2 * len(word) + 3 + simulate(machine, word, 5000).steps + 3


@pytest.mark.parametrize("word", list(words("ab", 5)))
def test_every_vector_of_the_proof_on_palindromes(word: str) -> None:
    machine = library_machine("palindrome")
    compiled = compiled_for(machine, word)
    assert first_broken_lemma(compiled, word, network_steps(machine, word)) is None


@pytest.mark.parametrize(
    ("name", "word"),
    [
        *(("anbncn", word) for word in ("", "abc", "aabbcc", "aabcc", "ba")),
        *(("binary-increment", word) for word in ("", "0", "1011", "111")),
        *((f"busy-beaver-{n}", "") for n in (2, 3, 4)),
        ("ww", "abab"),
        ("collatz", "11"),
    ],
)
def test_every_vector_of_the_proof_on_the_library(name: str, word: str) -> None:
    machine = library_machine(name)
    compiled = compiled_for(machine, word)
    assert first_broken_lemma(compiled, word, network_steps(machine, word)) is None


def test_every_vector_of_the_proof_for_1000_steps_of_the_busy_beaver_of_5_states() -> None:
    assert (
        first_broken_lemma(
            compiled_for(library_machine("busy-beaver-5"), ""), "", repeated(1000, 400)
        )
        is None
    )


@given(st.data())
def test_every_vector_of_the_proof_on_random_machines(data: st.DataObject) -> None:
    machine = data.draw(machines())
    word = data.draw(random_words(machine.symbols))
    assert first_broken_lemma(compiled_for(machine, word), word, 40) is None


@given(machines(), st.booleans())
def test_the_dimension_is_the_papers(machine: TuringMachine, blanks: bool) -> None:
    compiled = compile_transformer(normalize(machine, blanks_in_input=blanks))
    normal = compiled.normal.machine
    assert compiled.layout.dimension == 2 * len(normal.states) + 4 * len(normal.symbols) + 11
    assert (len(compiled.network.encoder), len(compiled.network.decoder)) == (1, 3)
    states, symbols = len(normal.states), len(normal.symbols)
    networks = networks_in(compiled)
    assert networks["decoder.1.O"].hidden_widths == (states + symbols + 1 + states * symbols,)
    assert len(networks["F"].maps) == 4


SHORT_CASES = [case for case in TABLE if len(case.word) <= 4]


@pytest.mark.parametrize("case", SHORT_CASES[:: max(1, len(SHORT_CASES) // 150)])
def test_the_network_answers_as_the_machine_does(case: Case) -> None:
    machine = library_machine(case.machine)
    wanted = simulate(machine, case.word, 200)
    found = run_by_definition(compiled_for(machine, case.word), tuple(case.word), 200)
    assert facts(found) == facts(wanted)


@examples(150)
@given(st.data())
def test_the_network_answers_as_random_machines_do(data: st.DataObject) -> None:
    machine = data.draw(machines())
    word = data.draw(random_words(machine.symbols))
    limit = data.draw(st.integers(0, 20))
    found = run_by_definition(compiled_for(machine, word), word, limit)
    assert facts(found) == facts(simulate(machine, word, limit))


def test_every_limit_shows_the_configuration_after_exactly_that_many_steps() -> None:
    for name in ("busy-beaver-4", "sweeper"):
        machine = library_machine(name)
        compiled = compiled_for(machine, "")
        for limit in [*range(12), 106, 107, 108]:
            assert facts(run_by_definition(compiled, (), limit)) == facts(
                simulate(machine, (), limit)
            )


def test_a_missing_rule_leads_to_the_dead_vector_for_ever() -> None:
    machine = TuringMachine("ab", "01", "0", "a", {("a", "1"): ("b", "0", "R")}, "b")
    compiled = compiled_for(machine, "")
    outputs = list(islice(compiled.recognizer.outputs(""), 12))
    dead = Vector.of(compiled.layout, s1="0")
    assert outputs[3:] == [dead] * 9
    assert not compiled.is_final(dead)
    assert run_by_definition(compiled, (), 100).outcome is Outcome.REJECTED


def test_the_recognizer_accepts_the_machines_language() -> None:
    compiled = compiled_for(library_machine("even-as"), "")
    for word in words("ab", 4):
        accepted = compiled.recognizer.accepts_at(word, 40) is not None
        assert accepted == (word.count("a") % 2 == 0)


def test_acceptance_is_visible_at_exactly_one_time() -> None:
    compiled = compiled_for(library_machine("even-as"), "aa")
    finals = [compiled.is_final(y) for y in islice(compiled.recognizer.outputs("aa"), 30)]
    assert finals.count(True) == 1


@given(st.integers(1, 6), st.integers(1, 12), st.data())
def test_lemma_b1_whatever_else_the_query_holds(n: int, j: int, data: st.DataObject) -> None:
    compiled = compiled_for(library_machine("even-as"), "")
    word = data.draw(st.lists(st.sampled_from("ab"), min_size=n, max_size=n))
    network, layout = compiled.network, compiled.layout
    noise = data.draw(st.dictionaries(st.integers(0, layout.dimension - 5), st.integers(-5, 5)))
    query = Vector(layout, {i: fmpq(x) for i, x in noise.items()}) + Vector.of(layout, x8=1, x9=j)
    attended = attention(
        query, *network.encode(compiled.recognizer.embed(word)), network.score, network.rho
    )
    assert attended == Vector.of(layout, s3=word[min(j, n) - 1], x6=min(j, n))


@given(st.data())
def test_lemma_b6_chooses_and_passes_through(data: st.DataObject) -> None:
    layout = Layout.of(x=("u", "v"), y=("p", "q"), z=("p", "q"), b="")
    halves = st.sampled_from([fmpq(0), fmpq(1, 2), fmpq(1)])
    bits = st.sampled_from([0, 1])
    x = {label: data.draw(halves) for label in "uv"}
    y, z = ({label: data.draw(bits) for label in "pq"} for _ in range(2))
    b = data.draw(bits)
    network = FeedForward(if_maps(layout, ("x",), "y", "z", "b", "chosen"))
    result = network(Vector.of(layout, x=x, y=y, z=z, b=b))
    assert result == Vector.of(network.maps[-1].output, x=x, chosen=z if b else y)


TRIVIAL = {
    *("encoder.1.Q", "encoder.1.K", "encoder.1.V", "encoder.1.O"),
    *("decoder.1.Q", "decoder.1.K", "decoder.1.V", "decoder.2.Q", "decoder.2.K"),
}


def test_no_network_is_idle_but_those_the_proof_calls_trivial() -> None:
    compiled = compiled_for(library_machine("palindrome"), "abba")
    for name, network in networks_in(compiled).items():
        weights = sum(len(affine.weights) for affine in network.maps)
        assert (weights == 0) == (name in TRIVIAL), name


BROKEN_FIRST = {
    "encoder.K": "a1 (Lemma B.1)",
    "encoder.V": "a1 (Lemma B.1)",
    "decoder.1.O": "z1 (Lemma B.2)",
    "decoder.2.V": "p2 (Lemma B.3)",
    "decoder.2.O": "z2 (Lemma B.3)",
    "decoder.3.Q": "index (Lemma B.4)",
    "decoder.3.K": "index (Lemma B.4)",
    "decoder.3.V": "p3 (Lemma B.4)",
    "decoder.3.O": "z3 (Lemma B.4)",
    "F": "y (Lemma B.5)",
}


@pytest.mark.parametrize("name", BROKEN_FIRST)
def test_a_network_without_its_weights_breaks_its_own_lemma(name: str) -> None:
    compiled = compiled_for(library_machine("palindrome"), "abba")
    maps = networks_in(compiled)[name].maps
    nothing = FeedForward(tuple(Affine(a.input, a.output, {}, Vector.zero(a.output)) for a in maps))
    broken = first_broken_lemma(with_network(compiled, name, nothing), "abba", 30)
    assert broken is not None
    assert broken.startswith(BROKEN_FIRST[name])


def test_the_trivial_attention_may_have_any_queries_and_keys() -> None:
    """With V = 0 scores do not matter, which is why the proof calls it trivial."""
    compiled = compiled_for(library_machine("palindrome"), "abba")
    some = affine_network(compiled.layout, {("x9", "x9"): 1})
    for name in ("encoder.1.Q", "encoder.1.K", "decoder.1.Q", "decoder.1.K"):
        assert first_broken_lemma(with_network(compiled, name, some), "abba", 30) is None


def test_a_changed_weight_changes_the_answer() -> None:
    """Accept where the machine would reject: one row of the transition network is moved."""
    machine = library_machine("even-as")
    compiled = compiled_for(machine, "a")
    first, second = networks_in(compiled)["decoder.1.O"].maps
    hidden, layout = second.input, compiled.layout
    weights = dict(second.weights)
    row = hidden.index("qs", "'odd', '_'")
    del weights[row, layout.index("q2", "reject")]
    weights[row, layout.index("q2", "accept")] = fmpq(1)
    changed = FeedForward((first, Affine(hidden, layout, weights, second.bias)))
    assert run_by_definition(compiled, ("a",), 50).outcome is Outcome.REJECTED
    damaged = with_network(compiled, "decoder.1.O", changed)
    assert run_by_definition(damaged, ("a",), 50).outcome is Outcome.ACCEPTED


def test_a_network_that_is_none_of_ours_is_reported_and_not_believed() -> None:
    """It dies before the machine begins, or never gets there: no answer, and no endless run."""
    compiled = compiled_for(library_machine("sweeper"), "")
    nothing = affine_network(compiled.layout)
    with pytest.raises(NetworkError, match="from output 1 on, its vectors do not show a machine"):
        run_by_definition(with_network(compiled, "decoder.1.O", nothing), (), 10)
    pausing = replace(compiled.normal, pauses=frozenset(compiled.normal.given.states))
    with pytest.raises(NetworkError, match="from output 7 on, its vectors do not show a machine"):
        run_by_definition(replace(compiled, normal=pausing), (), 1)
