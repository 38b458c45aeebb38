"""Theorem 3.4 with the score by recency: exact, fast and certified like the paper's."""

import json
import random
from dataclasses import replace

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.transformer.test_attention import (
    attends_as_defined,
    cells_asked_for,
    cells_of_a_walk,
)
from tests.engine.transformer.test_transformer import agree_on
from tests.mutations import mutated_transformer
from tests.networks import facts, flipped_networks, held, unproved
from tests.repetition import examples, repeated
from tests.strategies import machines
from tests.strategies import words as random_words

from netwright.cli import main
from netwright.definitions.transformer import attention, hardmax, score_phi
from netwright.engine.transformer.attention import AttentionCache
from netwright.engine.transformer.decoder import FastDecoder
from netwright.errors import InputError
from netwright.exact.feed_forward import affine_network
from netwright.exact.layout import Layout
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector
from netwright.kind.transformer.construction import to_transformer
from netwright.kind.transformer.lemma_b4_last_visit import last_visit_layer
from netwright.kind.transformer.scores import PAPER, RECENCY
from netwright.machine.library import library_machine, library_names
from netwright.machine.simulate import simulate
from netwright.network.network import compile_network
from netwright.network.running import run
from netwright.network.saved import from_bytes, to_bytes

RECENCY = RECENCY


@examples(60)
@given(st.data())
def test_every_vector_of_the_proof_and_every_engine_on_random_machines(
    data: st.DataObject,
) -> None:
    machine = data.draw(machines())
    word = data.draw(random_words(machine.symbols))
    compiled = to_transformer(machine, word, RECENCY)
    assert held(compiled).compare(word, 15).difference is None
    assert agree_on(compiled, word, 40).reason is None
    assert unproved(compiled) == []


@pytest.mark.parametrize("name", library_names())
def test_the_library_is_certified_and_comes_back_from_a_file(name: str) -> None:
    compiled = to_transformer(library_machine(name), (), RECENCY)
    assert unproved(compiled) == []
    assert from_bytes(to_bytes(held(compiled))).compiled == compiled


def test_the_dimension_is_one_more_than_the_papers() -> None:
    machine = library_machine("palindrome")
    paper, recency = to_transformer(machine), to_transformer(machine, (), RECENCY)
    assert recency.layout.dimension == paper.layout.dimension + 1
    assert (paper.score, recency.score) == (PAPER, RECENCY)


def test_a_million_steps_in_64_bit_integers() -> None:
    machine = library_machine("busy-beaver-5")
    found = run(machine, "", 1_000_000, engine="fast", score=RECENCY)
    assert (facts(found), found.note) == (facts(simulate(machine, "", 1_000_000)), None)


D = Layout.of(x="", y="", z="", w="")
KEYS_IN_FOUR = affine_network(D, {(block, block): 1 for block in "xyzw"})


def recency_key(cell: int, n: int) -> Vector:
    return Vector.of(D, x=fmpq(1, n), y=fmpq(-cell, n), z=1, w=n - 1)


def recency_query(cell: Rational, n: int) -> Vector:
    return Vector.of(D, x=cell / n, y=fmpq(1, n), z=fmpq(1, 3 * n**2), w=fmpq(-1, 3 * n**3))


@given(cells_of_a_walk, cells_asked_for)
def test_last_visits_of_any_walk_with_jumps_and_gaps(
    cells: list[int], asked: list[Rational]
) -> None:
    cache = AttentionCache(KEYS_IN_FOUR, score_phi, hardmax)
    attends_as_defined(cache, recency_key, recency_query, cells, asked)


def test_hits_and_fresh_cells_need_no_look_at_all_keys() -> None:
    cache = AttentionCache(KEYS_IN_FOUR, score_phi, hardmax)
    for n, cell in enumerate((0, 1, 2, 1, 0, -1), start=1):
        cache.append(recency_key(cell, n), Vector.of(D, x=n))
        query = recency_query(fmpq(cell + (-1 if n >= 3 else 1)), n)
        assert cache.attend(query) == attention(query, cache.keys, cache.values, score_phi, hardmax)
    assert cache.scans == 0


def run_a_mutated_network(seed: int, tokens: int) -> FastDecoder:
    draw = random.Random(seed)
    name, word = draw.choice([("palindrome", "aba"), ("busy-beaver-3", ""), ("copy", "ab")])
    compiled = to_transformer(library_machine(name), word, RECENCY)
    return agree_on(mutated_transformer(compiled, draw), word, tokens)


def test_mutated_networks_are_run_as_the_networks_they_are() -> None:
    count = repeated(30, 8)
    right = sum(run_a_mutated_network(seed, 40).reason is None for seed in range(count))
    assert right > count // 2


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(200))
def test_many_mutated_networks_for_a_hundred_steps(seed: int) -> None:
    run_a_mutated_network(seed, 100)


@pytest.mark.parametrize("block", ["Q.x9", "Q.x10", "Q.x11", "Q.x12", "K.x9", "K.x11", "K.x12"])
def test_a_flipped_sign_in_the_score_is_not_certified_and_breaks_lemma_b4(block: str) -> None:
    compiled = to_transformer(library_machine("palindrome"), "abba", RECENCY)
    differences = []
    for damaged in flipped_networks(compiled, f"decoder.3.{block}"):
        assert unproved(damaged) == ["Lemma B.4: Q, K, V and O of layer 3, score recency"]
        differences.append(held(damaged).compare(tuple("abba"), 30).difference)
    broken = [each.statement for each in differences if each is not None]
    assert set(broken) == {"Lemma B.4"}


def test_the_papers_score_with_a_fifth_position_is_not_certified() -> None:
    """A layout with x12 asks for the query and key that use it."""
    compiled = to_transformer(library_machine("palindrome"), (), RECENCY)
    decoder = compiled.network.decoder
    papers = (*decoder[:2], last_visit_layer(compiled.layout))
    changed = replace(compiled, network=replace(compiled.network, decoder=papers))
    assert held(changed).compare(tuple("abba"), 30).difference is None  # though it is right
    assert unproved(changed) == ["Lemma B.4: Q, K, V and O of layer 3, score recency"]


def test_a_score_is_for_transformers_of_machines(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="score is not an option of rnn; its options are base"):
        run(library_machine("even-as"), "ab", on="rnn", score=RECENCY)
    with pytest.raises(InputError, match="score applies when a machine is compiled; this"):
        run(compile_network(library_machine("even-as"), "transformer"), "ab", score=RECENCY)
    for verb in ("verify", "certify", "compile"):
        assert main([verb, "even-as", "--on", "rnn", "--score", "recency"]) == 2
        assert "score is not an option of rnn; its options are base" in capsys.readouterr().err


def test_the_command_line_takes_the_score(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "palindrome", "abba", "--score", "recency", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dimension"] == 46
    assert main(["verify", "palindrome", "abba", "--score", "recency"]) == 0
    assert main(["certify", "palindrome", "--score", "recency"]) == 0
    assert "certified" in capsys.readouterr().out
    assert main(["compile", "palindrome", "--score", "recency", "--json"]) == 0
    facts_of_it = json.loads(capsys.readouterr().out)
    assert facts_of_it["dimension"] == 46
    assert facts_of_it["score"] == "recency"
    assert facts_of_it["formula"].startswith("2|Q| + 4|Σ| + 12")
