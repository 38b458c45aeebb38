"""Pointer Transformers against the machine, at every token: vectors, pointers, what is attended."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples, some
from tests.strategies import machines, words

from netwright.exact.vector import Vector
from netwright.kind.pointer_transformer.construction import (
    Attention,
    CompiledPointerTransformer,
    compile_pointer_transformer,
)
from netwright.kind.pointer_transformer.linked_visits import NULL, LinkedVisits
from netwright.kind.pointer_transformer.proof_values import PointerValues
from netwright.machine.library import library_machine, library_names
from netwright.machine.normal_form import normalize
from netwright.machine.simulate import configurations
from netwright.machine.turing_machine import TuringMachine
from netwright.verify.draw import random_machine

ATTENTIONS = list(Attention)
draws = examples(60)


def compiled_for(
    machine: TuringMachine, word: Sequence[str], attention: Attention, *, keep_stays: bool
) -> CompiledPointerTransformer:
    blanks = machine.blank in word
    normal = normalize(machine, blanks_in_input=blanks, keep_stays=keep_stays)
    return compile_pointer_transformer(normal, attention)


def check(compiled: CompiledPointerTransformer, word: Sequence[str], steps: int) -> int:
    """Compare every vector up to the halt, and some after it; how many tokens were compared."""
    values = PointerValues(compiled, word, steps + 1)
    X = tuple(compiled.embedding[symbol] for symbol in values.word)
    y = compiled.seed
    for i, token in enumerate(islice(compiled.network.tokens(X, y), steps)):
        if i > values.end:
            assert token.y["q1"] == {}
            continue
        first, second = token.layers
        assert y == values.y(i), i
        assert first.a == values.a1(i), i
        assert first.z == values.z1(i), i
        y = token.y
        if values.p2(i) is not None:
            assert (second.p, second.z) == (values.p2(i), values.z2(i)), i
            followed = [j for j, weight in enumerate(second.self_weights) if weight]
            assert followed == [values.followed(i)]
        if values.v[i] is None:  # no rule applies: dead from here on
            assert token.y["q1"] == {}
        if word:
            attended = [j for j, weight in enumerate(first.external_weights, 1) if weight]
            assert attended == [min(i + 1, len(word))]
            assert first.external_weights == second.external_weights
    return min(steps, values.end)


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("name", some(library_names(), 9))
def test_the_library(name: str, attention: Attention) -> None:
    machine = library_machine(name)
    word = machine.default_input
    for keep in (False, True):
        compiled = compiled_for(machine, word, attention, keep_stays=keep)
        assert check(compiled, word, 2 * len(word) + 40) > 0


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("keep_stays", [False, True])
@draws
@given(data=st.data())
def test_random_machines(attention: Attention, keep_stays: bool, data: st.DataObject) -> None:
    machine = data.draw(machines(default_input=False))
    word = data.draw(words(machine.symbols))
    compiled = compiled_for(machine, word, attention, keep_stays=keep_stays)
    check(compiled, word, 2 * len(word) + 30)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_dimensions(attention: Attention) -> None:
    machine = library_machine("palindrome")
    normal = normalize(machine)
    states, symbols = len(normal.machine.states), len(normal.machine.symbols)
    extra = {Attention.ABSOLUTE: 10, Attention.DOT_PRODUCT: 11}[attention]
    compiled = compile_pointer_transformer(normal, attention)
    assert compiled.layout.dimension == 2 * states + 4 * symbols + extra
    assert not compiled.stays
    stay = TuringMachine(["a", "b"], "01", "0", "a", {("a", "0"): ("b", "1", "S")})
    kept = normalize(stay, keep_stays=True)
    states, symbols = len(kept.machine.states), len(kept.machine.symbols)
    compiled = compile_pointer_transformer(kept, attention)
    assert compiled.stays
    assert compiled.layout.dimension == 2 * states + 4 * symbols + extra + 2


def test_the_widths_that_the_text_says() -> None:
    compiled = compile_pointer_transformer(normalize(library_machine("palindrome")))
    rules = compiled.network.decoder[0].O
    machine = compiled.normal.machine
    assert rules.hidden_widths == (2 * len(machine.delta),)  # type: ignore[union-attr]
    states, symbols = len(machine.states), len(machine.symbols)
    assert compiled.network.F.hidden_widths == (states + 2 * symbols + 5,)  # type: ignore[union-attr]


@draws
@given(machines(default_input=False), st.data())
def test_linked_visits(machine: TuringMachine, data: st.DataObject) -> None:
    """The lemma itself: the recurrence gives what a look at the whole run gives."""
    word = data.draw(words([s for s in machine.symbols if s != machine.blank] or ["_"]))
    if machine.blank in word or word == ("_",) or not set(word) <= set(machine.symbols):
        word = ()
    visits = LinkedVisits(machine, word, 60)
    cells = {moment.head for moment in islice(configurations(machine, word), 61)}
    assert cells == set(visits.c)
    for i in range(visits.end):
        followed = visits.followed(i)
        if visits.m[i] == 0:
            assert (visits.R[i + 1], visits.L[i + 1]) == (visits.R[i], visits.L[i])
            continue
        assert followed is not None
        to_right = visits.m[i] == 1
        found, back = (visits.R, visits.L) if to_right else (visits.L, visits.R)
        assert back[i + 1] == i
        assert found[i + 1] == (found[followed] if followed != NULL else NULL)
        visited = visits.c[i + 1] in visits.c[: i + 1]
        if visited:
            assert visits.s[i + 1] == visits.v[followed]


@pytest.mark.parametrize("pointer", ["R", "L"])
def test_token_0_must_point_to_itself(pointer: str) -> None:
    """With another seed some runs go wrong."""
    draw = random.Random(1)
    wrong = 0
    for _ in range(20):
        machine = random_machine(draw, 3, 2)
        compiled = compile_pointer_transformer(normalize(machine))
        gone = Vector.of(compiled.layout, {pointer: -1})
        mutant = replace(compiled, seed=compiled.seed + gone)
        runs = [
            [t.y["q1"] for t in islice(c.network.tokens((), c.seed), 40)]
            for c in (compiled, mutant)
        ]
        wrong += runs[0] != runs[1]
    assert wrong


def test_every_hidden_unit_is_needed_or_named() -> None:
    """Dropping a unit of F is noticed on a few random machines, but for the two never used."""
    draw = random.Random(3)
    machine = library_machine("palindrome")
    compiled = compile_pointer_transformer(normalize(machine))
    first, second = compiled.network.F.maps  # type: ignore[union-attr]
    word = tuple(draw.choices("ab", k=5))
    word = (*word, *reversed(word))
    harmless = []
    for place, unit in enumerate(first.output.coordinates):
        weights = {key: w for key, w in second.weights.items() if key[0] != place}
        F = replace(compiled.network.F, maps=(first, replace(second, weights=weights)))  # type: ignore[type-var]
        mutant = replace(compiled, network=replace(compiled.network, F=F))
        try:
            check(mutant, word, 120)
            harmless.append(str(unit))
        except AssertionError:
            pass
    visits = LinkedVisits(compiled.normal.machine, word, 120, head=-1)
    entered = set(visits.q[1:])
    unused = {f"q[{state}]" for state in compiled.normal.machine.states if state not in entered}
    assert set(harmless) == {*unused, f"alpha[{machine.blank}]"}
