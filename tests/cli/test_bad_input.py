"""Bad input gets one clear message, exit code 2, and no traceback."""

import os
import re
from pathlib import Path

import pytest

from netwright.cli import main

YAML_BOMB = "a: &a [x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(9)
)
XML_BOMB = """<?xml version="1.0"?>
<!DOCTYPE structure [<!ENTITY file SYSTEM "file:///etc/passwd">]>
<structure><type>turing</type><automaton>&file;</automaton></structure>"""
NTM = """<structure><type>turing</type><automaton>
<state id="0" name="q"><initial/></state>
<transition><from>0</from><to>0</to><read>a</read><write>b</write><move>R</move></transition>
<transition><from>0</from><to>0</to><read>a</read><write>a</write><move>L</move></transition>
</automaton></structure>"""
TMIO = "blank: _\nstart state: a\ntable:\n  a: {0: {R: nowhere}}\n"
DTM = """{"states": ["a"], "tape_symbols": ["0", "1"], "blank_symbol": "0", "initial_state": "a",
"final_states": [], "transitions": {"ghost": {"0": ["a", "1", "R"]}}}"""


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("netwright: ")
    assert captured.err.count("netwright: ") == 1
    return captured.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; expected a Turing machine"),
        (b"\x00\x01\x02\xff" * 40, "is a binary file"),
        (YAML_BOMB.encode(), "not in a format netwright knows"),
        (f"{YAML_BOMB}table: *j\n".encode(), "a machine needs blank, start state and table"),
        (XML_BOMB.encode(), "the XML declares entities"),
        (NTM.encode(), "the file is nondeterministic; netwright reads deterministic machines"),
        (TMIO.encode(), r"line 4: rule for \(a, 0\): goes to 'nowhere', not a declared state"),
        (DTM.encode(), r"\(ghost, 0\): .*'ghost' is not a declared state"),
        (b"name: x\ninit: a\na,0,0\nb,1,1,>,>\n", "a rule for 2 tapes; netwright reads machines"),
        (b"1RB1LC_1RC\n", "row B: 1 rules, but row A has 2"),
    ],
)
def test_a_file_that_is_no_machine(
    content: bytes, message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "machine"
    path.write_bytes(content)
    assert re.search(message, complaint(capsys, "run", str(path)))
    assert re.search(message, complaint(capsys, "show", str(path), "--json"))
    assert re.search(message, complaint(capsys, "convert", str(path), "--to", "morphett"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "missing.yaml"), "'missing.yaml' is not a file here"),
        (("run", ""), "'' is not a file here"),
        (("run", "."), "is a directory; expected a file"),
        (("run", "palindrome", "abc"), r"input symbol 'c' at position 3 \(cell 2\)"),
        (("run", "palindrome", "--max-steps", "-1"), "--max-steps is -1; expected a number of"),
        (("show", "palindrome", "a", "--max-steps", "-1"), "--max-steps is -1; expected"),
        (("run", "palindrome", "--max-steps", "many"), "Invalid value for '--max-steps'"),
        (("run", "palindrome", "--on", "abacus"), "Invalid value for '--on'"),
        (("run", "palindrome", "--separator", ""), "--separator is empty"),
        (("run", "1RB1LB 1LA1RZ"), "a space after 1RB1LB; rows are joined by _ alone"),
        (("run", "palindrome", "--format", "morphett"), "is a machine of the library; leave out"),
        (("run", "1RB1LC_1RC"), "row B: 1 rules, but row A has 2"),
        (("run", "palindrome", "a", "b"), "unexpected extra argument"),
        (("run",), "Missing argument 'MACHINE'"),
        (("dance",), "No such command 'dance'"),
        (("convert", "palindrome", "--to", "bbchallenge"), "does not fit into bbchallenge text"),
        (("convert", "palindrome", "--to", "jflap"), "netwright reads jflap and does not write"),
        (("convert", "palindrome", "--to", "morphett", "-o", "/no/such/x"), "cannot be written"),
    ],
)
def test_a_wrong_call(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert re.search(message, complaint(capsys, *arguments))


def test_an_empty_separator_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--separator is empty" in complaint(capsys, "run", "copy", "ab", "--separator", "")


def test_an_empty_symbol_is_the_inputs_fault(capsys: pytest.CaptureFixture[str]) -> None:
    call = ("run", "copy", "a,,b", "--separator", ",")
    assert "input symbol 2 is empty: two separators ',' in a row" in complaint(capsys, *call)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("folder", "is there and is no ordinary file"),
        ("file/below", "cannot be written"),
        ("x" * 300, "cannot be written"),
        ("fifo", "is there and is no ordinary file"),
    ],
)
def test_a_place_that_cannot_be_written(
    output: str, message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    os.mkfifo(tmp_path / "fifo")
    call = ("convert", "copy", "--to", "morphett", "-o", str(tmp_path / output), "--force")
    assert message in complaint(capsys, *call)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_link_is_followed_and_kept(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    call = ["convert", "copy", "--to", "morphett", "-o", str(tmp_path / "link"), "--force"]
    assert main(call) == 0
    assert (tmp_path / "link").is_symlink()
    assert "bring-a" in (tmp_path / "target").read_text()


def test_a_message_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "machine.json"
    path.write_text(DTM.replace("ghost", "\\u001b[31mghost"))
    assert "\\x1b[31mghost" in complaint(capsys, "run", str(path))


def test_show_refuses_to_print_for_ever(capsys: pytest.CaptureFixture[str]) -> None:
    call = ("show", "sweeper", "", "--max-steps", "100000000")
    assert "show prints every step; at most 100,000" in complaint(capsys, *call)


def test_an_existing_file_is_kept_unless_forced(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("my notes")
    call = ("convert", "palindrome", "--to", "morphett", "-o", str(path))
    assert "exists; name another file, or overwrite it with --force" in complaint(capsys, *call)
    assert path.read_text() == "my notes"
    assert main([*call, "--force"]) == 0
    assert "have-a" in path.read_text()
    assert list(tmp_path.iterdir()) == [path]
