"""Machines without stays, and the normal form of Theorem 3.4."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import machines, words

from netwright.errors import InputError
from netwright.machine.library import library_machine, library_names
from netwright.machine.normal_form import ASSUMPTIONS, NormalMachine, normalize, remove_stays
from netwright.machine.simulate import configurations
from netwright.machine.turing_machine import Move, TuringMachine

NEEDED = [assumption for assumption in ASSUMPTIONS if assumption.needed]


@given(st.data())
def test_without_stays_the_same_configurations_are_passed(data: st.DataObject) -> None:
    """One to one: the moving machine is in a given state exactly at the given machine's steps."""
    machine = data.draw(machines())
    word = data.draw(words(machine.symbols))
    moving, new = remove_stays(machine)
    assert all(action.move is not Move.S for action in moving.delta.values())
    assert len(new) <= len(machine.states)
    wanted = list(islice(configurations(machine, word), 30))
    passed = (now for now in configurations(moving, word) if now.state not in new)
    assert list(islice(passed, 30)) == wanted


def test_there_is_one_new_state_for_each_target_of_a_stay() -> None:
    stays = {("a", s): (t, "0", "S") for s, t in (("0", "b"), ("1", "b"), ("2", "c"))}
    machine = TuringMachine(["a", "b", "c", "b'"], "012", "0", "a", stays)
    moving, new = remove_stays(machine)
    assert new == {"b''", "c'"}  # b' is taken
    assert len(moving.states) == 6


def test_rules_that_leave_accepting_states_cost_nothing() -> None:
    machine = TuringMachine("ab", "0", "0", "a", {("b", "0"): ("a", "0", "S")}, "b")
    assert len(normalize(machine).machine.states) == 2 + 3


@given(machines(), st.booleans())
def test_the_normal_form_meets_every_needed_assumption(
    machine: TuringMachine, blanks: bool
) -> None:
    normal = normalize(machine, blanks_in_input=blanks)
    for assumption in NEEDED:
        assert assumption.holds(normal), assumption.statement
    assert len(ASSUMPTIONS) == 7


@pytest.mark.parametrize("index", [0, 1, 3, 4, 5, 6])
def test_each_assumption_can_fail(index: int) -> None:
    """A machine that is taken for its own normal form, though it is none."""
    given = TuringMachine(
        ["a", "b"], "01", "0", "a", {("a", "0"): ("b", "1", "S"), ("b", "1"): ("a", "1", "L")}, "b"
    )
    fake = NormalMachine(given, given, "b", "b", "b", frozenset())
    assert not ASSUMPTIONS[index].holds(fake), ASSUMPTIONS[index].statement


def test_the_third_assumption_is_about_runs_and_not_needed() -> None:
    third = ASSUMPTIONS[2]
    assert not third.needed
    assert not third.holds(normalize(library_machine("sweeper")), (), 40)
    assert third.holds(normalize(library_machine("even-as")), "abab", 40)


@given(st.data())
def test_the_normal_machine_runs_the_given_one_from_time_2n_plus_3(data: st.DataObject) -> None:
    machine = data.draw(machines())
    word = data.draw(words(machine.symbols))
    normal = normalize(machine, blanks_in_input=machine.blank in word)
    run = list(islice(configurations(normal.machine, word, head=-1), 2 * len(word) + 64))
    start = 2 * len(word) + 3
    assert all(not normal.is_given_state(now.state) for now in run[:start])
    passed = [now for now in run[start:] if normal.is_given_state(now.state)]
    for now, wanted in zip(passed, configurations(machine, word), strict=False):
        assert (now.state, now.head) == (wanted.state, wanted.head)
        assert normal.given_symbol(now.symbol) == wanted.symbol


@pytest.mark.parametrize("name", library_names())
def test_three_states_are_added_to_a_machine_without_stays(name: str) -> None:
    given = library_machine(name)
    normal = normalize(given)
    assert len(normal.machine.states) == len(given.states) + 3
    assert normal.machine.symbols == given.symbols
    assert not normal.takes_blanks


def test_a_machine_without_accepting_states_accepts_where_it_halts() -> None:
    assert normalize(library_machine("copy")).machine.accepting == {"done"}
    assert normalize(library_machine("even-as")).machine.accepting == {"accept"}


def test_blanks_in_the_input_need_a_blank_of_their_own() -> None:
    machine = library_machine("copy")
    with pytest.raises(InputError, match=r"has the blank '_' at position 2, .*blanks=True"):
        normalize(machine).check_word("a_b")
    normal = normalize(machine, blanks_in_input=True)
    assert normal.check_word("a_b") == ("a", "_", "b")
    assert normal.machine.blank == "#'"  # # is a symbol of this machine
    assert normal.takes_blanks
