"""Traversals of a network: names, one leaf replaced, data and back, for every kind."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples
from tests.strategies import machines

import netwright as nw
from netwright.errors import FormatError
from netwright.exact.feed_forward import Affine
from netwright.exact.rational import ONE, ZERO
from netwright.machine.library import library_machine
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import compile_network
from netwright.network.tree import difference, filled, maps, replaced, shapes, to_data

NAMES = {
    "transformer": ["encoder.1.Q", "encoder.K", "decoder.1.O.2", "decoder.3.V", "F.3"],
    "rnn": ["W", "V", "U.2"],
    "neural-gpu": ["U.1", "R.2", "F.1.1.1", "F.2.1.2"],
    "pointer-transformer": ["encoder.V", "decoder.1.O.1", "decoder.2.K", "F.2"],
    "universal-transformer": ["encoder.K", "decoder.2.V", "F.1"],
    "universal-text": ["encoder.K", "decoder.3.V", "F.1"],
    "gateless-neural-gpu": ["U.1", "R.2", "F.1.1", "F.2.1.2"],
    "positionless-transformer": ["encoder.1.V", "encoder.K", "decoder.1.O.1", "F.2"],
    "residual-free-transformer": ["decoder.1.head.1.Q", "decoder.2.head.2.V", "decoder.1.O.1"],
    "language-model": ["wte", "block.0.head.0.Q", "block.1.head.1.O", "block.0.units.A", "U"],
}


@pytest.mark.parametrize("kind", nw.kinds())
def test_every_map_has_a_name_of_its_own(kind: str) -> None:
    network = compile_network(library_machine("palindrome"), kind)
    leaves = maps(network.compiled.network)
    names = [leaf.name for leaf in leaves]
    assert len(names) == len(set(names))
    assert list(network.weights())[: len(names)] == names
    assert [name for name in NAMES[kind] if name not in names] == []
    assert all(leaf.name.startswith(leaf.place) for leaf in leaves)


@pytest.mark.parametrize("kind", nw.kinds())
def test_one_leaf_is_replaced_and_all_others_stay(kind: str) -> None:
    network = compile_network(library_machine("even-as"), kind).compiled.network
    leaves = maps(network)
    for leaf in leaves[:: max(1, len(leaves) // 5)]:
        a = leaf.part
        weights = {**a.weights, (0, 0): a.weights.get((0, 0), ZERO) + ONE}
        other = Affine(a.input, a.output, weights, a.bias)
        changed = {each.name: each.part for each in maps(replaced(network, leaf.path, other))}
        assert changed.pop(leaf.name) == other
        assert changed == {each.name: each.part for each in leaves if each.name != leaf.name}


@examples(40)
@given(machines(), st.sampled_from([*nw.kinds()]))
def test_data_and_back(machine: TuringMachine, kind: str) -> None:
    compiled = compile_network(machine, kind).compiled
    data = json.loads(json.dumps(to_data(compiled, machine)))
    again = filled(compiled, data, machine)
    assert difference(again, compiled) is None
    assert to_data(again, machine) == data
    json.dumps(shapes(compiled.network))


def leaves_of(data: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if not isinstance(data, dict | list) or not data:
        return [place]
    items = data.items() if isinstance(data, dict) else enumerate(data)
    return [found for key, item in items for found in leaves_of(item, (*place, key))]


@pytest.mark.parametrize("kind", nw.kinds())
def test_whatever_is_changed_in_data_is_another_network_or_refused(kind: str) -> None:
    """Every place: a number of a map or a vector is a number, and all else is as it must be."""
    machine = library_machine("busy-beaver-2")
    options = {"context": 32} if kind == "language-model" else {}
    network = compile_network(machine, kind, **options)
    text = json.dumps(network.written)
    places = leaves_of(json.loads(text))
    taken = 0
    for place in places[:: max(1, len(places) // 300)]:
        data = json.loads(text)
        at: Any = data
        for key in place[:-1]:
            at = at[key]
        old = at[place[-1]]
        at[place[-1]] = {str: f"{old}1", int: 10**7, bool: not old, type(None): "x"}.get(
            type(old), 5
        )
        try:
            found = filled(network.compiled, data, machine)
        except (FormatError, ValueError, TypeError, AttributeError, KeyError, nw.NetwrightError):
            continue
        taken += 1
        assert to_data(found, machine) != network.written, place
        assert replace(network, compiled=found) != network
    assert taken
