"""The universal Transformer: one network, and every machine as its prompt."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples
from tests.strategies import machines, words

from netwright.definitions.transformer import Transformer
from netwright.kind.pointer_transformer.construction import Attention
from netwright.kind.universal_transformer.codes import code_1, code_2
from netwright.kind.universal_transformer.construction import (
    compile_universal_rules,
    seed,
    universal_transformer,
)
from netwright.kind.universal_transformer.proof_values import RuleValues
from netwright.machine.library import library_machine, library_names
from netwright.machine.normal_form import normalize
from netwright.machine.turing_machine import TuringMachine
from netwright.verify.draw import random_machine

NETWORKS = {attention: universal_transformer(attention) for attention in Attention}


def check(
    network: Transformer,
    attention: Attention,
    machine: TuringMachine,
    word: Sequence[str],
    steps: int,
) -> int:
    """Compare every vector up to the halt, and some after it; how many tokens were compared."""
    normal = normalize(machine, blanks_in_input=machine.blank in word)
    compiled = replace(compile_universal_rules(normal, attention), network=network)
    values = RuleValues(compiled, word, steps + 1)
    y = compiled.seed
    for i, token in enumerate(islice(network.tokens(values.X, y), steps)):
        if i > values.end:  # r is 1 at once after acceptance, and 0 for ever after
            assert y.number("r") == int(i == values.end + 1 and values.accepts)
            assert compiled.is_final(y) == (i == values.end + 1 and values.accepts)
            assert y.number("on") == 0
        else:
            first, second = token.layers
            assert y == values.y(i), i
            found = [j for j, weight in enumerate(first.external_weights) if weight]
            assert found == [values.place_of_rule(i)]
            assert (first.a, first.z) == (values.a1(i), values.z1(i)), i
            assert (second.p, second.z) == (values.p2(i), values.z2(i)), i
            found = [j for j, weight in enumerate(second.external_weights, 1) if weight]
            assert found == [min(i + 1, len(values.X))]
            if (followed := values.followed(i)) is not None:
                assert [j for j, weight in enumerate(second.self_weights) if weight] == [followed]
        y = token.y
    return min(steps, values.end)


@pytest.mark.parametrize("attention", list(Attention))
@pytest.mark.parametrize("name", library_names())
def test_the_library(name: str, attention: Attention) -> None:
    machine = library_machine(name)
    word = machine.default_input
    if len(normalize(machine).machine.states) <= 40:
        assert check(NETWORKS[attention], attention, machine, word, 2 * len(word) + 30) > 0


@pytest.mark.parametrize("attention", list(Attention))
@examples(50)
@given(machine=machines(default_input=False), data=st.data())
def test_random_machines(attention: Attention, machine: TuringMachine, data: st.DataObject) -> None:
    word = data.draw(words(machine.symbols))
    check(NETWORKS[attention], attention, machine, word, 2 * len(word) + 25)


@pytest.mark.parametrize("attention", list(Attention))
def test_rules_may_stand_in_any_order(attention: Attention) -> None:
    network, draw = NETWORKS[attention], random.Random(3)
    for _ in range(10):
        machine = random_machine(draw, 3, 3)
        rules = list(compile_universal_rules(normalize(machine), attention).embed(()))
        shuffled = draw.sample(rules, len(rules))
        runs = [
            [token.y for token in islice(network.tokens(X, seed(network.layout)), 30)]
            for X in (rules, shuffled)
        ]
        running = sum(y.number("on") == 1 for y in runs[0])
        assert runs[0][:running] == runs[1][:running]


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
            except AssertionError:
                wrong += 1
        assert wrong
