"""JFLAP 6 and 7 files."""

import pytest

from netwright.errors import FormatError, FormatWarning
from netwright.machine.formats import jflap
from netwright.machine.formats.draft import Source
from netwright.machine.simulate import Outcome, simulate
from netwright.machine.turing_machine import Action, Move, TuringMachine

STATES = '<state id="0" name="q0"><initial/></state><state id="1" name="q1"><final/></state>'


def file(transitions: str, states: str = STATES, head: str = "<type>turing</type>") -> str:
    return f"<structure>{head}<automaton>{states}{transitions}</automaton></structure>"


def step(read: str, write: str, move: str = "R", ends: str = "01", attributes: str = "") -> str:
    return (
        f"<transition{attributes}><from>{ends[0]}</from><to>{ends[1]}</to>"
        f"<read>{read}</read><write>{write}</write><move>{move}</move></transition>"
    )


def read(text: str, *also: str) -> TuringMachine:
    return jflap.read(text, Source("file", also=also))


def test_an_empty_field_is_the_blank_and_final_states_accept() -> None:
    machine = read(file(step("", "a", "S") + step("b", "")))
    assert machine.delta["q0", "□"] == Action("q1", "a", Move.S)
    assert machine.delta["q0", "b"] == Action("q1", "□", Move.R)
    assert simulate(machine, "b").outcome is Outcome.ACCEPTED
    assert simulate(machine, "a").outcome is Outcome.REJECTED


def test_a_final_state_accepts_as_soon_as_it_is_entered() -> None:
    machine = read(file(step("a", "a") + step("a", "a", ends="10")))
    assert simulate(machine, "aaa").steps == 1


def test_tilde_reads_any_symbol_and_writes_it_back() -> None:
    machine = read(file(step("~", "~", ends="00") + step("a", "b", ends="11")), "x")
    assert machine.delta["q0", "x"] == Action("q0", "x", Move.R)
    assert machine.delta["q0", "□"] == Action("q0", "□", Move.R)


def test_not_x_reads_anything_else_and_is_tried_last() -> None:
    with pytest.warns(FormatWarning, match="transition 1: transition 2 applies before it to 'b'"):
        machine = read(file(step("!a", "y") + step("b", "z", ends="00")))
    assert ("q0", "a") not in machine.delta
    assert machine.delta["q0", "b"] == Action("q0", "z", Move.R)
    assert machine.delta["q0", "□"] == Action("q1", "y", Move.R)


def test_the_first_of_two_overlapping_transitions_wins_with_a_warning() -> None:
    with pytest.warns(FormatWarning, match="transition 2: transition 1 applies before it to 'a'"):
        machine = read(file(step("~", "~") + step("a", "b", ends="00")))
    assert machine.delta["q0", "a"] == Action("q1", "a", Move.R)


def test_blocks_of_version_6_are_states() -> None:
    blocks = (
        '<block id="0" name="q0"><tag>Machine0</tag><initial/></block>'
        '<block id="1" name="q1"><tag>Machine1</tag><final/></block>'
    )
    machine = read(file(step("a", "a") + "<Machine0/><Machine1/>", blocks))
    assert machine.states == ("q0", "q1")
    inner = "<Machine1><state id='5' name='x'/></Machine1>"
    with pytest.raises(FormatError, match="block q1: has a machine inside"):
        read(file(step("a", "a") + inner, blocks))


def test_equal_names_are_told_apart() -> None:
    states = STATES + '<state id="2" name="q1"/>'
    assert read(file(step("a", "a"), states)).states == ("q0", "q1#1", "q1#2")
    states += '<state id="3" name="q1#2"/>'
    names = read(file(step("a", "a"), states)).states
    assert len(set(names)) == 4


@pytest.mark.parametrize("tag", ["[", "/x", "-", "*"])
def test_a_blocks_tag_is_only_a_name(tag: str) -> None:
    blocks = f'<block id="0" name="q0"><tag>{tag}</tag><initial/></block>'
    assert read(file(step("a", "a", ends="00"), blocks)).states == ("q0",)


def test_carriage_returns_and_a_missing_move() -> None:
    text = file("<transition>&#13;<from>0</from>&#13;<to>1</to><read>a</read></transition>&#13;")
    assert read(text).delta["q0", "a"] == Action("q1", "□", Move.R)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (file(step("a", "a") + step("a", "b")), "second transition from q0 that reads a, after tr"),
        (
            file("", head="<type>turing</type><tapes>3</tapes>"),
            "a machine with three tapes; netwright",
        ),
        (file("<transition><read tape='2'>a</read></transition>"), "moves a second tape; netwr"),
        (file("", head="<type>fa</type>"), "the automaton's type is 'fa'; expected 'turing'"),
        ('<structure type="turing"/>', "a file of JFLAP 8; netwright reads those of JFLAP 6"),
        ("<html/>", "XML of a 'html'; expected a 'structure'"),
        ("<structure><type>turing", "not XML"),
        (file("", states='<state id="0" name="a"/>'), "0 states are marked as initial"),
        (file(step("a", "a", ends="07")), "transition 1: joins state '7', and no state has that"),
        (file(step("a,b}v", "v")), "reads 'a,b}v'; expected a character, ~ or ! and a character"),
        (file(step("a", "bc")), "writes 'bc'; expected a character or ~"),
        (file(step("a", "b", "U")), "moves 'U'; expected L, R or S"),
        (file(step("a", "a", attributes=' block="true"')), "leaves a building block"),
    ],
)
def test_a_faulty_file_is_explained(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(text)


@pytest.mark.parametrize(
    "declaration",
    ['<!ENTITY x SYSTEM "file:///etc/hostname">', '<!ENTITY x "lol"><!ENTITY y "&x;&x;&x;">'],
)
def test_entities_are_refused(declaration: str) -> None:
    text = f"<!DOCTYPE structure [{declaration}]>{file(step('&x;', 'a'))}"
    with pytest.raises(FormatError, match=r"the XML declares entities .EntitiesForbidden"):
        read(text)
