"""A machine is valid, immutable, and compared by what it is."""

import dataclasses
import pickle

import pytest
from hypothesis import given
from tests.strategies import machines

from netwright.errors import InputError, MachineError
from netwright.machine.turing_machine import Action, Move, TuringMachine


def flip(**changes: object) -> TuringMachine:
    parts: dict[str, object] = {
        "states": ["flip", "end"],
        "symbols": "01_",
        "blank": "_",
        "start": "flip",
        "delta": {
            ("flip", "0"): ("flip", "1", "R"),
            ("flip", "1"): ("flip", "0", "R"),
            ("flip", "_"): ("end", "_", "L"),
        },
    }
    return TuringMachine(**(parts | changes))  # type: ignore[arg-type]  # tests pass wrong parts


def test_all_faults_are_reported_at_once() -> None:
    with pytest.raises(MachineError, match="not a Turing machine") as caught:
        flip(
            blank="#",
            start="begin",
            accepting=["yes"],
            default_input="0x",
            delta={("flip", "0"): ("nowhere", "2", "X"), ("ghost", "9"): ("end", "0", "L")},
        )
    assert caught.value.faults == (
        "start state 'begin' is not among the states",
        "blank '#' is not among the symbols",
        "accepting state 'yes' is not among the states",
        "default input has 'x', not a symbol",
        "rule for (flip, 0): goes to 'nowhere', not a declared state",
        "rule for (flip, 0): writes '2', not a declared symbol",
        "rule for (flip, 0): moves 'X'; a move is L, R or S",
        "rule for (ghost, 9): 'ghost' is not a declared state",
        "rule for (ghost, 9): '9' is not a declared symbol",
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"symbols": ["0", "1", "_", ""]}, "symbol '': not a nonempty string"),
        ({"states": ["flip", "end", 3]}, "state 3: not a nonempty string"),
        ({"delta": {"flip0": ("flip", "0", "R")}}, r"expected a pair \(state, symbol\)"),
        ({"delta": {("flip", "0"): ("flip", "0")}}, r"expected \(state, write, move\)"),
    ],
)
def test_a_wrong_part_is_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(MachineError, match=message):
        flip(**changes)


def test_a_machine_cannot_be_changed() -> None:
    machine = flip()
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        machine.start = "end"  # type: ignore[misc]  # that is the test
    with pytest.raises(TypeError, match="does not support item assignment"):
        machine.delta["end", "0"] = Action("end", "0", Move.L)  # type: ignore[index]  # the test


def test_a_machine_does_not_follow_the_dictionary_it_was_made_from() -> None:
    delta = {("flip", "0"): ("flip", "1", "R")}
    machine = flip(delta=delta)
    delta["flip", "1"] = ("flip", "0", "R")
    assert ("flip", "1") not in machine.delta


def test_machines_are_equal_whatever_their_order_and_names() -> None:
    assert flip() == flip(states=["end", "flip"], symbols="_10", name="other", description="x")
    assert hash(flip()) == hash(flip(states=["end", "flip"]))
    assert flip() != flip(accepting=["end"])
    assert flip() != flip(default_input="0")
    assert flip() != "flip"


def test_an_accepting_state_halts_even_if_it_has_rules() -> None:
    machine = flip(accepting=["flip"])
    assert machine.action("flip", "0") is None
    assert machine.halting_states == ("flip", "end")


def test_a_stranger_in_the_word_is_named_with_its_position() -> None:
    with pytest.raises(InputError, match=r"input symbol '2' at position 3 \(cell 2\)"):
        flip().check_word("012")


@given(machines())
def test_every_random_machine_is_valid_and_equals_its_copy(machine: TuringMachine) -> None:
    copy = TuringMachine(
        set(machine.states),
        set(machine.symbols),
        machine.blank,
        machine.start,
        dict(reversed(list(machine.delta.items()))),
        machine.accepting,
        machine.default_input,
    )
    assert copy == machine
    assert pickle.loads(pickle.dumps(machine)) == machine
    assert hash(copy) == hash(machine)
