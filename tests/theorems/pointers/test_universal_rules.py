"""The universal Transformer: one network, and every machine as its prompt."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import machines, words

from netwright.machine.library import library_machine, library_names
from netwright.machine.normal_form import normalize
from netwright.machine.turing_machine import TuringMachine
from netwright.nets.transformer import Transformer
from netwright.theorems.beyond.pointers.codes import code_1, code_2
from netwright.theorems.beyond.pointers.linked_visits import LinkedVisits
from netwright.theorems.beyond.pointers.pointer_transformer import Attention
from netwright.theorems.beyond.pointers.universal_rules import (
    RulePrompt,
    seed,
    universal_transformer,
)
from netwright.verify.draw import random_machine

NETWORKS = {attention: universal_transformer(attention) for attention in Attention}


def check(
    network: Transformer,
    attention: Attention,
    machine: TuringMachine,
    word: Sequence[str],
    steps: int,
    shuffle: random.Random | None = None,
) -> int:
    """Compare every token up to the halt, and some after it."""
    normal = normalize(machine, blanks_in_input=machine.blank in word)
    prompt = RulePrompt(normal, attention)
    tape_and_rules = list(prompt.tokens(network.layout, word))
    rules = tape_and_rules[len(word) :]
    if shuffle is not None:
        shuffle.shuffle(rules)
    X = [*tape_and_rules[: len(word)], *rules]
    visits = LinkedVisits(normal.machine, word, steps + 1, head=-1)
    accepting = normal.machine.accepting
    codes = {q: code_2(n) for q, n in prompt.states.items()}
    y = seed(network.layout)
    for i, token in enumerate(islice(network.tokens(X, y), steps)):
        state = visits.q[i] if i <= visits.end else None
        if state is None or state in accepting:
            assert y.number("r") == int(i == visits.end)
            assert y.number("on") == 0
            y = token.y
            continue
        assert y.number("r") == codes[state]
        assert y.number("s") == code_1(prompt.symbols[visits.s[i]])
        assert y.number("on") == 1
        assert y.number("R") == fmpq(1, visits.R[i] + 1)
        assert y.number("L") == fmpq(1, visits.L[i] + 1)
        assert set(y.entries) <= set(range(5))
        first, second = token.layers
        assert sum(weight != 0 for weight in first.external_weights) == 1
        place = first.external_weights.index(fmpq(1))
        assert X[place].number("on") == codes[state] + y.number("s")
        nearest = second.external_weights.index(fmpq(1))
        assert nearest == min(i + 1, len(X)) - 1
        followed = visits.followed(i)
        if followed is not None:
            assert [j for j, weight in enumerate(second.self_weights) if weight] == [followed]
        y = token.y
        if visits.v[i] is None:  # no rule: it has halted without accepting
            assert y.number("r") == y.number("on") == 0
            assert i == visits.end
            return i
    return min(steps, visits.end)


@pytest.mark.parametrize("attention", list(Attention))
@pytest.mark.parametrize("name", library_names())
def test_the_library(name: str, attention: Attention) -> None:
    machine = library_machine(name)
    word = machine.default_input
    if len(normalize(machine).machine.states) <= 40:
        assert check(NETWORKS[attention], attention, machine, word, 2 * len(word) + 30) > 0


@pytest.mark.parametrize("attention", list(Attention))
@settings(max_examples=50, deadline=None)
@given(machine=machines(default_input=False), data=st.data())
def test_random_machines(attention: Attention, machine: TuringMachine, data: st.DataObject) -> None:
    word = data.draw(words(machine.symbols))
    shuffle = random.Random(data.draw(st.integers(0, 99)))
    check(NETWORKS[attention], attention, machine, word, 2 * len(word) + 25, shuffle)


def test_what_it_is_made_of() -> None:
    network = NETWORKS[Attention.ABSOLUTE]
    assert network.layout.dimension == 21
    assert len(network.decoder) == 2
    assert network.decoder[0].O.hidden_widths == (10,)  # type: ignore[union-attr]
    assert network.F.hidden_widths == (7,)  # type: ignore[union-attr]


@given(st.tuples(*4 * [st.integers(0, 500)]))
def test_a_sum_of_codes_tells_its_parts(numbers: tuple[int, int, int, int]) -> None:
    q, a, p, b = numbers
    equal = code_2(q) + code_1(a) == code_2(p) + code_1(b)
    assert equal == ((q, a) == (p, b))
    assert 0 <= code_2(q) + code_1(a) < 1


def test_every_unit_is_needed() -> None:
    network = NETWORKS[Attention.ABSOLUTE]
    draw = random.Random(7)
    subjects = [random_machine(draw, 3, 3) for _ in range(12)]
    layer, look_up = network.decoder

    def mutants(net: object) -> list[object]:
        first, second = net.maps  # type: ignore[attr-defined]
        found = []
        for place in range(first.output.dimension):
            weights = {key: w for key, w in second.weights.items() if key[0] != place}
            found.append(replace(net, maps=(first, replace(second, weights=weights))))  # type: ignore[type-var]
        return found

    changed = [
        *(replace(network, decoder=(replace(layer, O=O), look_up)) for O in mutants(layer.O)),  # type: ignore[arg-type]
        *(replace(network, F=F) for F in mutants(network.F)),  # type: ignore[arg-type]
    ]
    assert len(changed) == 17
    for mutant in changed:
        wrong = 0
        for machine in subjects:
            word = draw.choices([s for s in machine.symbols if s != machine.blank], k=3)
            try:
                check(mutant, Attention.ABSOLUTE, machine, word, 40)
            except (AssertionError, ValueError):
                wrong += 1
        assert wrong
