"""turingmachinesimulator.com, automata-lib and the seed database."""

import json
from pathlib import Path

import pytest
from automata.base.exceptions import RejectionException
from automata.tm.dtm import DTM
from tests.machine_table import words

from netwright.errors import FormatError
from netwright.machine.formats import automata_lib, seed_database, turingmachinesimulator
from netwright.machine.formats.draft import Source
from netwright.machine.load import load_machine
from netwright.machine.simulate import Outcome, simulate
from netwright.machine.turing_machine import Action, Move

SIMULATOR = """
name: Even    // comment
init: q0
accept: qAccept, qYes

q0, a     // read
q1, a, >

q1,a
q0,a,>
q0,_
qAccept,_,-
"""
DTM_PARTS = {
    "states": ["q0", "q1", "q2", "q3", "q4"],
    "input_symbols": ["0", "1"],
    "tape_symbols": ["0", "1", "x", "y", "."],
    "transitions": {
        "q0": {"0": ["q1", "x", "R"], "y": ["q3", "y", "R"]},
        "q1": {"0": ["q1", "0", "R"], "1": ["q2", "y", "L"], "y": ["q1", "y", "R"]},
        "q2": {"0": ["q2", "0", "L"], "x": ["q0", "x", "R"], "y": ["q2", "y", "L"]},
        "q3": {"y": ["q3", "y", "R"], ".": ["q4", ".", "N"]},
    },
    "initial_state": "q0",
    "blank_symbol": ".",
    "final_states": ["q4"],
}


def test_turingmachinesimulator_text() -> None:
    machine = turingmachinesimulator.read(SIMULATOR, Source())
    assert machine.name == "Even"
    assert machine.accepting == {"qAccept", "qYes"}
    assert machine.delta["q0", "_"] == Action("qAccept", "_", Move.S)
    assert simulate(machine, "aa").outcome is Outcome.ACCEPTED
    assert simulate(machine, "a").outcome is Outcome.REJECTED


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "init: a\na,0,0\nb,1,1,>,>",
            "line 2: a machine with two tapes; netwright reads machines with",
        ),
        ("init: a\na,0\nb,1,x", "line 2: expected 'state,symbol' here and 'state,symbol,move' on"),
        ("init: a\na,0\nb,1,>\na,0\na,1,<", r"line 4: a second rule for \(a, 0\), after line 2"),
        ("init: a\na,0\nb,1,>\na,1", "line 4: a rule's first line without the second"),
        ("accept: a\na,0\nb,1,>", "no 'init:' line"),
        ("init: a\ninit: b\na,0\nb,1,>", "line 2: a second 'init:' line"),
        ("init: a\na,00\nb,1,>", "line 2: symbol '00' has 2 characters; expected one"),
    ],
)
def test_a_faulty_turingmachinesimulator_text_is_explained(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        turingmachinesimulator.read(text, Source())


def test_an_automata_lib_machine_runs_as_automata_lib_runs_it() -> None:
    machine = automata_lib.read(json.dumps(DTM_PARTS), Source())
    rules = {
        state: {symbol: tuple(value) for symbol, value in row.items()}
        for state, row in DTM_PARTS["transitions"].items()  # type: ignore[attr-defined]  # a dict
    }
    peer = DTM(**(DTM_PARTS | {"transitions": rules, **_sets()}))
    for word in words("01", 5):
        run = simulate(machine, word)
        try:
            moments = list(peer.read_input_stepwise(word))
            assert (run.outcome, run.steps) == (Outcome.ACCEPTED, len(moments) - 1)
        except RejectionException:
            assert run.outcome is Outcome.REJECTED


def _sets() -> dict[str, set[str]]:
    keys = ("states", "input_symbols", "tape_symbols", "final_states")
    return {key: set(DTM_PARTS[key]) for key in keys}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cls": "NTM"}, "a nondeterministic machine .NTM.; netwright reads deterministic"),
        ({"n_tapes": 2}, "a machine with two tapes; netwright reads machines with one tape"),
        ({"transitions": {"q0": {"0": [["q1", "x", "R"]]}}}, "a list of alternatives: the machine"),
        ({"transitions": {"q0": {"0": ["q9", "x", "R"]}}}, r"transition \(q0, 0\): .*goes to 'q9'"),
        ({"transitions": {"q0": {"0": ["q1", "x", "U"]}}}, "expected .state, symbol, L, N or R."),
        ({"transitions": {"q7": {"0": ["q1", "x", "R"]}}}, "'q7' is not a declared state"),
        ({"states": "q0"}, "states: expected a list"),
        ({"states": ["q0", None]}, "states: expected strings, got null"),
        ({"states": ["q0", 1, "1"]}, "states: a name occurs twice"),
        ({"blank_symbol": None}, "blank_symbol: expected strings, got null"),
        ({"transitions": {"q0": {"0": ["q1", "x", ["R"]]}}}, "expected .state, symbol, L, N or R."),
        ({"transitions": []}, "transitions: expected an object of states"),
    ],
)
def test_a_faulty_automata_lib_file_is_explained(changes: dict[str, object], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        automata_lib.read(json.dumps(DTM_PARTS | changes), Source("file"))


def test_a_missing_part_and_json_of_something_else_are_explained() -> None:
    parts = {key: value for key, value in DTM_PARTS.items() if key != "blank_symbol"}
    with pytest.raises(FormatError, match="no 'blank_symbol'; a DTM has states"):
        automata_lib.read(json.dumps(parts), Source())
    with pytest.raises(FormatError, match="JSON, but not a DTM"):
        automata_lib.read('{"a": 1}', Source())
    with pytest.raises(FormatError, match="nested too deeply"):
        automata_lib.read('{"a":' + "[" * 100_000, Source())


def test_a_key_that_occurs_twice_is_refused() -> None:
    text = json.dumps(DTM_PARTS).replace('"q0": {"0"', '"q0": {"0": ["q1", "x", "L"], "0"')
    with pytest.raises(FormatError, match="the key '0' occurs twice in one object"):
        automata_lib.read(text, Source())


def test_a_part_of_a_file_with_one_machine_is_refused() -> None:
    with pytest.raises(FormatError, match="holds one machine; leave out ':x'"):
        automata_lib.read(json.dumps(DTM_PARTS), Source("f", "x"))


def test_one_of_several_automata_lib_machines_is_chosen_by_its_name() -> None:
    text = json.dumps({"one": DTM_PARTS, "two": DTM_PARTS})
    assert automata_lib.read(text, Source("f", "two")).name == "two"
    with pytest.raises(FormatError, match="f holds 2 machines; name one of: f:one, f:two"):
        automata_lib.read(text, Source("f"))


def test_the_seed_database(tmp_path: Path) -> None:
    """The busy beaver of five states, and one with every rule undefined but the first."""
    champion = "1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA"
    groups = [row[i : i + 3] for row in champion.split("_") for i in (0, 3)]
    first = bytes(b for g in groups for b in (int(g[0]), "RL".index(g[1]), "-ABCDEZ".index(g[2])))
    second = bytes([1, 0, 2] + [0] * 27)
    counts = b"".join(n.to_bytes(4, "big") for n in (2, 0, 2))
    path = tmp_path / "seeds"
    path.write_bytes((counts + b"\1").ljust(30, b"\0") + first + second)
    assert load_machine(f"{path}:0") == load_machine(champion)
    assert load_machine(f"{path}:1") == load_machine("1RB---_------_------_------_------")
    with pytest.raises(FormatError, match="a seed database with no machine '2'; name one of them"):
        load_machine(f"{path}:2")
    with pytest.raises(FormatError, match="is a seed database with 2 machines; name one of them"):
        load_machine(str(path))


def test_a_damaged_record_of_the_seed_database_is_explained(tmp_path: Path) -> None:
    counts = b"".join(n.to_bytes(4, "big") for n in (1, 0, 1))
    path = tmp_path / "seeds"
    path.write_bytes((counts + b"\1").ljust(30, b"\0") + bytes([7, 0, 1] + [0] * 27))
    with pytest.raises(FormatError, match="state A, symbol 0: bytes 7 0 1 are not a rule"):
        load_machine(f"{path}:0", format_name=seed_database.NAME)
