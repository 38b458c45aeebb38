"""The universal Transformer: one network, and every machine as its prompt."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples
from tests.strategies import machines, words

from netwright.exact.vector import Vector
from netwright.kind.pointer_transformer.construction import Attention
from netwright.kind.record import count_weights
from netwright.kind.universal_transformer.codes import code_1, code_2
from netwright.kind.universal_transformer.construction import (
    CompiledSmallRules,
    CompiledUniversalRules,
    compile_small_rules,
    compile_universal_rules,
    seed,
)
from netwright.kind.universal_transformer.proof_values import RuleValues
from netwright.machine.library import library_machine, library_names
from netwright.machine.normal_form import NormalMachine, normalize
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.verify.draw import random_machine

COMPILED: dict[str, Callable[[NormalMachine], CompiledUniversalRules]] = {
    "absolute": compile_universal_rules,
    "dot-product": partial(compile_universal_rules, attention=Attention.DOT_PRODUCT),
    "16": compile_small_rules,
}
every_network = pytest.mark.parametrize("name", COMPILED)


def after_the_halt(compiled: CompiledUniversalRules, y: Vector, accepts: bool, later: int) -> None:
    """r is 1 at once after acceptance, and 0 for ever after; x is 1, or shows the dead state."""
    if compiled.design.halts:
        accepted = accepts and later == 1
        assert y.number("r") == int(accepted)
        assert y.number("on") == 0
    else:
        accepted = accepts
        dead = code_2(len(compiled.normal.machine.states))
        symbols = [code_1(n) for n in compiled.prompt.symbols.values()]
        assert y.number("x") == 1 if accepts else y.number("x") - dead in symbols
        assert y.number("on") == 1
    assert compiled.is_final(y) == accepted


def check(compiled: CompiledUniversalRules, word: Sequence[str], steps: int) -> int:
    """Compare every vector up to the halt, and some after it; how many tokens were compared."""
    values = RuleValues(compiled, word, steps + 1)
    y = compiled.seed
    for i, token in enumerate(islice(compiled.network.tokens(values.X, y), steps)):
        if i > values.end:
            after_the_halt(compiled, y, values.accepts, i - values.end)
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


@every_network
@pytest.mark.parametrize("machine", library_names())
def test_the_library(machine: str, name: str) -> None:
    given_machine = library_machine(machine)
    word, normal = given_machine.default_input, normalize(given_machine)
    if len(normal.machine.states) <= 40:
        normal = normalize(given_machine, blanks_in_input=given_machine.blank in word)
        assert check(COMPILED[name](normal), word, 2 * len(word) + 30) > 0


@every_network
@examples(50)
@given(machine=machines(default_input=False), data=st.data())
def test_random_machines(name: str, machine: TuringMachine, data: st.DataObject) -> None:
    word = data.draw(words(machine.symbols))
    normal = normalize(machine, blanks_in_input=machine.blank in word)
    check(COMPILED[name](normal), word, 2 * len(word) + 25)


@every_network
def test_rules_may_stand_in_any_order(name: str) -> None:
    draw = random.Random(3)
    for _ in range(10):
        compiled = COMPILED[name](normalize(random_machine(draw, 3, 3)))
        network, rules = compiled.network, list(compiled.embed(()))
        shuffled = draw.sample(rules, len(rules))
        runs = [
            [token.y for token in islice(network.tokens(X, seed(network.layout)), 30)]
            for X in (rules, shuffled)
        ]
        running = sum(y.number("on") == 1 for y in runs[0])
        assert runs[0][:running] == runs[1][:running]


@pytest.mark.parametrize(
    ("name", "size", "hidden"), [("absolute", 21, (10, 7)), ("16", 16, (6, 5))]
)
def test_what_it_is_made_of(name: str, size: int, hidden: tuple[int, int]) -> None:
    network = COMPILED[name](normalize(library_machine("even-as"))).network
    assert network.layout.dimension == size
    assert len(network.decoder) == 2
    assert network.decoder[0].O.hidden_widths == hidden[:1]  # type: ignore[union-attr]
    assert network.F.hidden_widths == hidden[1:]  # type: ignore[union-attr]
    assert count_weights(network)["nonzeros"] == {21: 73, 16: 49}[size]


def test_the_dead_state_costs_a_token_for_each_symbol_and_one_more() -> None:
    """Its name is one that the machine does not have."""
    rules = {("dead", "1"): Action("dead'", "1", Move.L)}
    machine = TuringMachine(["dead", "dead'"], ["_", "1"], "_", "dead", rules, accepting=["dead'"])
    large, small = (COMPILED[name](normalize(machine)) for name in ("absolute", "16"))
    assert isinstance(small, CompiledSmallRules)
    assert small.dead == "dead''"
    assert len(small.embed("11")) == len(large.embed("11")) + 2 + 1
    for word in ("", "1", "11"):
        check(small, word, 20)


@given(st.tuples(*4 * [st.integers(0, 500)]))
def test_a_sum_of_codes_tells_its_parts(numbers: tuple[int, int, int, int]) -> None:
    q, a, p, b = numbers
    equal = code_2(q) + code_1(a) == code_2(p) + code_1(b)
    assert equal == ((q, a) == (p, b))
    assert 0 <= code_2(q) + code_1(a) < 1


@pytest.mark.parametrize(("name", "units"), [("absolute", 17), ("16", 11)])
def test_every_unit_is_needed(name: str, units: int) -> None:
    draw = random.Random(7)
    subjects = [random_machine(draw, 3, 3) for _ in range(12)]
    network = COMPILED[name](normalize(subjects[0])).network
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
    assert len(changed) == units
    for mutant in changed:
        wrong = 0
        for machine in subjects:
            word = draw.choices([s for s in machine.symbols if s != machine.blank], k=3)
            try:
                check(replace(COMPILED[name](normalize(machine)), network=mutant), word, 40)
            except AssertionError:
                wrong += 1
        assert wrong
