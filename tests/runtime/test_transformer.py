"""The faster decoder equals the definition on everything, and falls back where it must."""

import random
from itertools import islice

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.machine_table import TABLE
from tests.networks import facts
from tests.strategies import D, machines, transformers, vectors
from tests.strategies import words as random_words

from netwright.exact.feed_forward import Affine, FeedForward, affine_network
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector
from netwright.machine.library import library_machine
from netwright.machine.normal_form import normalize
from netwright.machine.simulate import simulate
from netwright.machine.turing_machine import TuringMachine
from netwright.nets.attention import attention, hardmax, score_phi, square_plus_one
from netwright.nets.transformer import Transformer
from netwright.pipeline import run
from netwright.runtime.attention import AttentionCache
from netwright.runtime.transformer import fast_tokens
from netwright.theorems.proposition_3_3_majority import majority_recognizer
from netwright.theorems.theorem_3_4_transformer.construction import (
    CompiledTransformer,
    compile_transformer,
)


def agree(network: Transformer, X: list[Vector] | tuple[Vector, ...], seed: Vector, n: int) -> None:
    """Every vector z and y of the fast engine is the definition's."""
    slow = network.tokens(X, seed)
    for fast, token in zip(islice(fast_tokens(network, X, seed), n), slow, strict=False):
        assert fast.y == token.y
        assert fast.z == token.layers[-1].z


def compiled_for(machine: TuringMachine, word: tuple[str, ...] | str) -> CompiledTransformer:
    return compile_transformer(normalize(machine, blanks_in_input=machine.blank in word))


@pytest.mark.parametrize("case", [case for case in TABLE if len(case.word) <= 4][::9])
def test_every_vector_on_the_machine_table(case: tuple[str, str, object]) -> None:
    name, word, _ = case
    compiled = compiled_for(library_machine(name), word)
    agree(compiled.network, compiled.recognizer.embed(word), compiled.seed, 60)


@given(st.data())
def test_every_vector_on_random_machines(data: st.DataObject) -> None:
    machine = data.draw(machines())
    word = data.draw(random_words(machine.symbols))
    compiled = compiled_for(machine, word)
    agree(compiled.network, compiled.recognizer.embed(word), compiled.seed, 40)


@settings(max_examples=60)
@given(transformers(positions=True) | transformers(), st.lists(vectors(), max_size=3), vectors())
def test_every_vector_of_random_networks(
    network: Transformer, X: list[Vector], seed: Vector
) -> None:
    agree(network, X, seed, 3)


@pytest.mark.parametrize("rho", [hardmax, square_plus_one])
def test_the_majority_recognizer(rho: object) -> None:
    recognizer = majority_recognizer(rho=rho)  # type: ignore[arg-type]  # one of the two
    for word in ("", "a", "abb", "aabab"):
        network = recognizer.network
        assert isinstance(network, Transformer)
        agree(network, recognizer.embed(word), recognizer.seed, 4)


def mutated(compiled: CompiledTransformer, draw: random.Random) -> CompiledTransformer:
    """One weight of one network changed, zeroed or with its sign flipped."""
    name = draw.choice(sorted(compiled.networks()))
    network = compiled.networks()[name]
    maps = list(network.maps)
    number = draw.randrange(len(maps))
    affine = maps[number]
    weights = dict(affine.weights)
    sizes = affine.input.dimension, affine.output.dimension
    anywhere = (draw.randrange(sizes[0]), draw.randrange(sizes[1]))
    place = draw.choice([anywhere, *(list(weights) or [anywhere])])
    old = weights.get(place, fmpq(0))
    weights[place] = draw.choice([fmpq(0), -old, old + 1, fmpq(1, 2)])
    maps[number] = Affine(affine.input, affine.output, weights, affine.bias)
    return compiled.with_network(name, FeedForward(tuple(maps), network.activation))


@pytest.mark.parametrize("seed", range(40))
def test_a_mutated_network_is_run_as_the_network_it_is(seed: int) -> None:
    draw = random.Random(seed)
    name, word = draw.choice([("palindrome", "aba"), ("busy-beaver-3", ""), ("copy", "ab")])
    compiled = mutated(compiled_for(library_machine(name), word), draw)
    agree(compiled.network, compiled.recognizer.embed(word), compiled.seed, 40)


def visit_key(cell: int, n: int) -> Vector:
    return Vector.of(D, x=fmpq(1, n), y=fmpq(-cell, n), z=fmpq(1, n * n))


def visit_query(cell: Rational, n: int) -> Vector:
    return Vector.of(D, x=cell / n, y=fmpq(1, n), z=fmpq(1, 3 * n * n))


KEYS_IN_THREE = affine_network(D, {("x", "x"): 1, ("y", "y"): 1, ("z", "z"): 1})


@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=8),
    st.lists(st.one_of(st.integers(-5, 5).map(fmpq), st.just(fmpq(1, 2))), min_size=1, max_size=4),
)
def test_last_visits_of_any_walk_with_jumps_and_gaps(
    cells: list[int], asked: list[Rational]
) -> None:
    """Hits, fresh cells, gaps inside the walk, and cells that are no integers."""
    cache = AttentionCache(KEYS_IN_THREE, score_phi, hardmax)
    for n, cell in enumerate(cells, start=1):
        cache.append(visit_key(cell, n), Vector.of(D, x=n))
        for query in (visit_query(each, n) for each in asked):
            wanted = attention(query, cache.keys, cache.values, score_phi, hardmax)
            assert cache.attend(query) == wanted


@given(st.lists(vectors(), min_size=1, max_size=5), vectors())
def test_keys_of_no_form_are_all_looked_at(keys: list[Vector], query: Vector) -> None:
    cache = AttentionCache(KEYS_IN_THREE, score_phi, hardmax)
    for n, key in enumerate(keys, start=1):
        cache.append(key, Vector.of(D, x=n))
        wanted = attention(query, cache.keys, cache.values, score_phi, hardmax)
        assert cache.attend(query) == wanted


@given(st.integers(1, 6), st.integers(-3, 9), st.sampled_from([fmpq(1), fmpq(1, 2), fmpq(2)]))
def test_keys_on_a_line(n: int, place: int, first: Rational) -> None:
    keys = affine_network(D, {("x", "x"): 1, ("y", "y"): 1})
    cache = AttentionCache(keys, score_phi, hardmax)
    for i in range(1, n + 1):
        cache.append(Vector.of(D, x=i, y=-1), Vector.of(D, z=i))
    for query in (Vector.of(D, x=first, y=place), Vector.of(D, x=first, y=fmpq(2 * place + 1, 2))):
        wanted = attention(query, cache.keys, cache.values, score_phi, hardmax)
        assert cache.attend(query) == wanted


def test_a_compiled_network_never_needs_a_look_at_all_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[AttentionCache] = []
    original = AttentionCache.__init__

    def remember(self: AttentionCache, *arguments: object) -> None:
        original(self, *arguments)  # type: ignore[arg-type]  # passed on
        made.append(self)

    monkeypatch.setattr(AttentionCache, "__init__", remember)
    compiled = compiled_for(library_machine("palindrome"), "abba")
    tokens = fast_tokens(compiled.network, compiled.recognizer.embed("abba"), compiled.seed)
    assert len(list(islice(tokens, 26))) == 26
    assert [cache.scans for cache in made] == [0] * 5  # the encoder's, its output's, three layers'


def test_ten_thousand_steps_of_the_busy_beaver_of_five_states() -> None:
    machine = library_machine("busy-beaver-5")
    assert facts(run(machine, (), 10_000)) == facts(simulate(machine, (), 10_000))
