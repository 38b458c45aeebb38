"""A Transformer without positional encodings: what is attended to, and what the mask is for."""

from dataclasses import replace
from itertools import islice, permutations

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tests.networks import facts
from tests.repetition import examples
from tests.strategies import machines, words

import netwright as nw
from netwright.engine.moments import UnsuitableError
from netwright.engine.pointers.means import with_positions
from netwright.errors import InputError
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector
from netwright.kind.pointer_transformer.linked_visits import LinkedVisits
from netwright.kind.positionless_transformer.construction import (
    CompiledPositionless,
    compile_positionless,
)
from netwright.machine.library import library_machine
from netwright.machine.normal_form import normalize
from netwright.machine.simulate import simulate
from netwright.machine.turing_machine import Action, Move, TuringMachine


def only_maximum(scores: list[Rational]) -> int:
    """The place of the greatest number, from 1 on; it is the only one."""
    best = [j for j, score in enumerate(scores, start=1) if score == max(scores)]
    assert len(best) == 1
    return best[0]


def check_attention(compiled: CompiledPositionless, word: tuple[str, ...], count: int) -> int:
    """The input token and the visit that each token attends to, each with its gap; how many."""
    network = compiled.network
    visits = LinkedVisits(compiled.normal.machine, word, count, head=-1)
    keys, _ = network.encode(compiled.embed(word))
    seen: list[Vector] = []
    done = 0
    for i, token in enumerate(islice(network.tokens(compiled.embed(word), compiled.seed), count)):
        e = fmpq(1, i + 1)
        first, second = token.layers
        seen.append(first.z)
        assert token.input["e"] == {}  # no position
        assert first.p.number("e") == e
        for p in (first.p, second.p):
            scores = [network.score(p, key) for key in keys]
            assert only_maximum(scores) == min(i + 2, len(word) + 2)
        followed = visits.followed(i) if i <= visits.end else None
        layer = network.decoder[1]
        scores = [network.score(layer.Q(first.z), layer.K(z)) for z in seen]
        assert only_maximum(scores) == (i if followed is None else followed) + 1
        if followed is not None:
            runner_up = sorted(scores)[-2:][0]
            assert i == 0 or max(scores) - runner_up >= fmpq(1, (followed + 1) * (followed + 2))
            done += 1
    return done


@examples(40)
@given(data=st.data())
def test_what_is_attended_to_is_the_only_maximum(data: st.DataObject) -> None:
    """Also after the halt, where the newest token wins."""
    machine = data.draw(machines(default_input=False))
    normal = normalize(machine, blanks_in_input=True)
    word = data.draw(words(machine.symbols))
    assert check_attention(compile_positionless(normal), word, 2 * len(word) + 12) >= 1


def test_what_is_attended_to_on_a_long_run() -> None:
    beaver = compile_positionless(normalize(library_machine("busy-beaver-4")))
    assert check_attention(beaver, (), 110) == 110


def outputs(compiled: CompiledPositionless, word: str, count: int) -> list[Vector]:
    X = compiled.embed(tuple(word))
    return [*islice(compiled.network.outputs(X, compiled.seed), count)]


def test_without_the_mask_order_is_lost() -> None:
    """Proposition 3.1: all outputs are equal on a permuted word; with the mask they are not."""
    masked = nw.compile("palindrome", to="positionless-transformer").compiled
    unmasked = replace(masked, network=replace(masked.network, masked=False))
    for word in ("ab", "aab", "abba"):
        others = {"".join(letters) for letters in permutations(word)} - {word}
        for other in others:
            assert outputs(unmasked, word, 8) == outputs(unmasked, other, 8)
            assert outputs(masked, word, 20) != outputs(masked, other, 20)


def test_only_the_first_token_of_each_side_differs_by_its_place() -> None:
    """Nothing of the place is in a token: equal symbols have equal vectors."""
    compiled = nw.compile("palindrome", to="positionless-transformer").compiled
    assert compiled.network.pos is None
    begin, *word, end = compiled.embed(tuple("abab"))
    assert (word[0], word[1]) == (word[2], word[3])
    assert [x["b"] for x in (begin, *word, end)] == [{"": 1}, {}, {}, {}, {}, {}]
    assert compiled.seed["b"] == {"": 1}


@given(machines())
def test_the_dimension(machine: TuringMachine) -> None:
    """As of the pointer Transformer in the same normal form."""
    normal = normalize(machine)
    layout = compile_positionless(normal).layout
    states, symbols = len(normal.machine.states), len(normal.machine.symbols)
    assert layout.dimension == 2 * states + 4 * symbols + 10


def test_symbols_may_have_the_names_of_the_marks() -> None:
    machine = TuringMachine(
        states=["q", "p"],
        symbols=["_", "^", "$"],
        blank="_",
        start="q",
        delta={("q", "^"): Action("p", "$", Move.R), ("p", "$"): Action("q", "^", Move.S)},
    )
    network = nw.compile(machine, to="positionless-transformer")
    for word in ("", "^", "^$", "$^", "^^$$"):
        assert facts(network.run(word, 20)) == facts(simulate(machine, tuple(word), 20))
    assert network.certify().holds


def test_blanks_in_the_input_are_an_option() -> None:
    with pytest.raises(InputError, match="compiled for inputs without blanks"):
        nw.compile("even-as", to="positionless-transformer").run("a_a")
    network = nw.compile("even-as", to="positionless-transformer", blanks=True)
    assert facts(network.run("a_a")) == facts(simulate(library_machine("even-as"), tuple("a_a")))


def test_the_reduction_wants_two_input_tokens() -> None:
    """The begin mark is left out of it, and a token alone would be asked for."""
    compiled = nw.compile("even-as", to="positionless-transformer").compiled
    X = compiled.embed(("a",))
    assert with_positions(compiled.network, X, compiled.seed).pos is not None
    with pytest.raises(UnsuitableError, match="no two first layers"):
        with_positions(compiled.network, X[:1], compiled.seed)
    for network, message in (
        (replace(compiled.network, masked=False), "its encoder is not masked"),
        (replace(compiled.network, encoder=compiled.network.encoder * 2), "no two first layers"),
        (replace(compiled.network, decoder=compiled.network.decoder[1:]), "not the mean of a flag"),
        (replace(compiled.network, K=compiled.network.V), "its keys have another form"),
    ):
        with pytest.raises(UnsuitableError, match=message):
            with_positions(network, X, compiled.seed)
