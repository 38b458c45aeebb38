"""turingmachine.io's YAML."""

import pytest

from netwright.errors import FormatError, FormatWarning
from netwright.machine.formats import turingmachine_io
from netwright.machine.formats.draft import Source
from netwright.machine.turing_machine import Action, Move, TuringMachine

HEAD = "blank: _\nstart state: a\n"


def read(text: str) -> TuringMachine:
    return turingmachine_io.read(text, Source("file"))


def test_lists_of_symbols_and_every_kind_of_instruction() -> None:
    machine = read(
        HEAD
        + """
synonyms: {go: {write: x, R: b}, back: L}
table:
  a:
    [0, 1]: R
    2: {L: b}
    3: {write: 0, R}
    4: go
    '5,6': back
    ',,': {write: ',', N}
  b:
"""
    )
    assert machine.delta == {
        ("a", "0"): Action("a", "0", Move.R),
        ("a", "1"): Action("a", "1", Move.R),
        ("a", "2"): Action("b", "2", Move.L),
        ("a", "3"): Action("a", "0", Move.R),
        ("a", "4"): Action("b", "x", Move.R),
        ("a", "5"): Action("a", "5", Move.L),
        ("a", "6"): Action("a", "6", Move.L),
        ("a", ","): Action("a", ",", Move.S),
    }
    assert machine.halting_states == ("b",)


def test_commas_among_other_symbols_and_a_synonym_called_n() -> None:
    machine = read(HEAD + "synonyms: {N: {write: 1, R: a}}\ntable: {a: {'x,,,,y': R, 0: N}}")
    assert set(machine.symbols) == set("_x,y01")
    assert machine.delta["a", "0"] == Action("a", "1", Move.R)


def test_words_that_yaml_1_1_took_for_booleans_are_names() -> None:
    table = "table: {on: {0: {R: yes}, y: {L: off}}, off: , yes: }"
    machine = read(f"blank: 0\nstart state: on\n{table}")
    assert machine.blank == "0"
    assert machine.states == ("on", "off", "yes")
    assert machine.accepting == {"yes"}


def test_a_document_gives_its_name_and_the_lines_of_the_file() -> None:
    text = "name: my machine\nsource code: |\n  # What it does.\n  blank: ' '\n"
    code = "  start state: a\n  table:\n    a: {x: {R: b}}\npositions: {a: {x: 1, y: 2}}\n"
    with pytest.raises(FormatError, match=r"line 7: rule for \(a, x\): goes to 'b', not a decl"):
        read(text + code)
    machine = read(text + code.replace("R: b", "R: a"))
    assert (machine.name, machine.description) == ("my machine", "What it does.")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("blank: _\ntable: {a: }", "no 'start state'; a machine needs blank, start state"),
        (HEAD + "table: {a: {x: Q}}", "line 3: state a: 'Q' is neither a move .L, R, N. nor a "),
        (HEAD + "table: {a: {xy: R}}", "line 3: symbol read in state a: expected one character"),
        (HEAD + "table: {a: {x: {L: a, R: a}}}", "expected one move .L, R or N., got 2"),
        (HEAD + "table: {a: {x: {write: y}}}", "expected one move .L, R or N., got 0"),
        (HEAD + "table: {a: {x: {R: a, wirte: y}}}", "'wirte'; expected write and one of L, R"),
        (HEAD + "table: {a: {x: R, [y, x]: L}}", "line 3: a second rule for .a, x., after line 3"),
        (HEAD + "table: {a: , a: }", "table: 'a' occurs a second time"),
        (HEAD + "table: {b: }", "line 2: start state 'a' is not among the states"),
        (HEAD + "table: {a: 3}", "state a: expected symbols and instructions"),
        (HEAD + "table: [a]", "line 3: table: expected a mapping, got a sequence"),
        (HEAD + "table: {a: {x: R}", "not YAML"),
        ("- just\n- a list", "the file: expected a mapping, got a sequence"),
        (HEAD + "synonyms: {s: t, t: L}\ntable: {a: }", "synonym s: 't' is neither a move"),
        ("# nothing", "the YAML is empty"),
        ("source code: {a: b}", "source code: expected a plain value, got a mapping"),
        ('blank: "\\UFFFFFFFF"\nstart state: a\ntable: {a: }', "not YAML"),
        ("blank: ~\nstart state: a\ntable: {a: }", "no 'blank'; a machine needs blank, start"),
        ("table: " + "[" * 5000, "nested too deeply|not YAML"),
        (HEAD + "table: {a: {x: \x00}}", "not YAML"),
    ],
)
def test_a_faulty_file_is_explained(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(text)


def test_all_faults_of_a_file_are_listed() -> None:
    text = HEAD + "table:\n  a:\n    0: {R: nowhere}\n    1: Q\n    2: {L: a, R: a}\n"
    with pytest.raises(FormatError, match=r"(?s)line 6: .*'Q'.*line 7: .*got 2.*line 5: .*nowhere"):
        read(text)


def test_an_unknown_key_at_the_top_is_left_out_with_a_warning() -> None:
    with pytest.warns(FormatWarning, match="line 3: unknown key 'author' is left out"):
        read(HEAD + "author: me\ntable: {a: }")


def test_aliases_of_aliases_cost_what_they_weigh() -> None:
    levels = [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, 40)]
    bomb = "\n".join(["l0: &l0 [x, x, x]", *levels, "table: {a: {*l39 : R}}", HEAD])
    with pytest.raises(FormatError, match="state a: expected a plain value, got a sequence"):
        read(bomb)


def test_a_list_that_contains_itself_is_no_symbol() -> None:
    with pytest.raises(FormatError, match="expected a plain value, got a sequence"):
        read(HEAD + "table: {a: {? &l [*l] : R}}")


def test_a_stay_is_written_as_n_with_a_warning() -> None:
    machine = TuringMachine("a", "0", "0", "a", {("a", "0"): ("a", "0", "S")})
    with pytest.warns(FormatWarning, match="written as N"):
        assert read(turingmachine_io.write(machine)) == machine


def test_long_symbols_do_not_fit() -> None:
    machine = TuringMachine("a", ["0", "11"], "0", "a", {})
    with pytest.raises(FormatError, match="symbol '11' has 2 characters, and a cell holds one"):
        turingmachine_io.write(machine)
