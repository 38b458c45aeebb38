"""Bad input gets one clear message, exit code 2, and no traceback."""

import json
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
        (
            b"name: x\ninit: a\na,0,0\nb,1,1,>,>\n",
            "a machine with two tapes; netwright reads machines",
        ),
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
        (
            ("run", "palindrome", "--max-steps", "many"),
            "--max-steps is many; expected a number of steps, 0 or more, such as 1000000 or 1e6",
        ),
        (
            ("run", "palindrome", "--on", "abacus"),
            "no network 'abacus'; there are transformer, rnn, neural-gpu, pointer-transformer, "
            "universal-transformer, universal-text, language-model, gateless-neural-gpu, "
            "positionless-transformer, residual-free-transformer, machine",
        ),
        (("run", "palindrome", "--separator", ""), "--separator is empty"),
        (("run", "1RB1LB 1LA1RZ"), "1RB1LB and 1LA1RZ side by side: the rows of one machine"),
        (("run", "palindrome", "--format", "morphett"), "is a machine of the library; leave out"),
        (("run", "1RB1LC_1RC"), "row B: 1 rules, but row A has 2"),
        (("run", "palindrome", "--max-steps", "1e6.5"), "--max-steps is 1e6.5; expected a number"),
        (("run", "palindrome", "--max-steps", "1.5e0"), "--max-steps is 1.5e0; expected a number"),
        (("run", "palindrome", "--max-steps", "-5"), "--max-steps is -5; expected a number"),
        (
            ("run", "palindrome", "--on", "transfomer"),
            r"no network 'transfomer'; did you mean transformer\? there are transformer, rnn",
        ),
        (("verify", "copy", "--on", "rnm"), r"no network 'rnm'; did you mean rnn\? there are"),
        (("run", "copy", "--engine", "quick"), "--engine: no value 'quick'; there are auto, fast"),
        (
            ("run", "abba", "palindrome"),
            r"'abba' is not a machine, but 'palindrome' is; MACHINE comes first.*swapped\?",
        ),
        (("precision", "abba", "palindrome"), r"'abba' is not a machine, but 'palindrome' is"),
        (
            ("run", "palindrome", "a b b a"),
            r"symbol ' ' at position 2 .* for symbols with ' ' between them: --separator ' '",
        ),
        (("verify", "palindrome", "a,b"), "for symbols with ',' between them: --separator ','"),
        (("run", "palindrome", "-1"), "No such option: -1; put -- before an INPUT that begins"),
        (("verify", "palindrome", "-ab"), "put -- before an INPUT that begins with -"),
        (("run", "---0LB_0RB1XA"), "No such option"),
        (("run", "palindrome", "a", "b"), "unexpected extra argument"),
        (("run",), "Missing argument 'MACHINE'"),
        (("dance",), "no command 'dance'; there are run, compile"),
        (("compile", "palindrome", "--weights"), "Option '--weights' requires an argument"),
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
        ("folder", "exists and is not a regular file"),
        ("file/below", "cannot be written"),
        ("x" * 300, "cannot be written"),
        ("fifo", "exists and is not a regular file"),
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
    assert "exists; name another file, or overwrite it: force (--force)" in complaint(capsys, *call)
    assert path.read_text() == "my notes"
    assert main([*call, "--force"]) == 0
    assert "have-a" in path.read_text()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "verb",
    [
        ("run", "{}"),
        ("run", "{}", "1", "--on", "rnn"),
        ("run", "--max-steps", "1e3", "{}", "--json"),
        ("show", "{}"),
        ("compile", "{}"),
        ("verify", "{}", "1", "--max-steps", "5"),
        ("certify", "{}"),
        ("convert", "{}", "--to", "bbchallenge"),
        ("precision", "{}", "--dtype", "float16", "--max-steps", "20"),
        ("certify", "--check", "{file}", "--machine", "{}"),
    ],
)
def test_a_machine_may_begin_with_dashes(
    verb: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """In every verb; a text that can only be a machine is never taken for an option."""
    file = tmp_path / "file.json"
    text = "---0LB_0RB1LA"
    assert main(["certify", text, "-o", str(file)]) == 0
    capsys.readouterr()
    assert main([word.format(text, file=file) for word in verb]) in (0, 1, 3)
    captured = capsys.readouterr()
    assert captured.out
    assert captured.err == ""
    behind = ["run", "--", text]
    assert main(behind) == 0


@pytest.mark.parametrize("text", ["1e6", "1_000_000", "1,000,000", "1000000", "1.0e6", "10e5"])
def test_numbers_as_people_write_them(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "sweeper", "--on", "machine", "--max-steps", text, "--json"]) == 3
    assert '"steps": 1000000' in capsys.readouterr().out


THREE_FAULTS = """
blank: '__'
strat state: a
table:
  a:
    0: {wrte: 1, R: b}
  b:
"""
TWO_TAPES = "blank: [_, _, _]\nstart state: a\ntable:\n  a:\n"
TAPES_KEY = "tapes: 3\nblank: _\nstart state: a\ntable:\n  a:\n"
THREE_WRITES = "blank: _\nstart state: a\ntable:\n  a: {_: {write: [x, y, z], R: a}}\n"
ARROWS = "init: q0\naccept: q\nq0,0 -> q,_,>\nq0,1 -> q0,1,>\n"
NANJING = "; palindromes\n#Q = {0,cp,halt}\n#S = {0,1}\n#q0 = 0\n0 0_ __ ** cp\n0 * * r halt\n"
STATES = "STATE q0\n0 1 1 R q0\n1 0 0 L q1\nSTATE q1\n0 0 0 R q0\n"


@pytest.mark.parametrize(
    ("content", "messages"),
    [
        (
            THREE_FAULTS,
            (
                "line 2: blank: expected one character, got '__'",
                "line 3: unknown key 'strat state'; did you mean 'start state'?",
                "line 6: state a: 'wrte'; expected write and one of L, R, N; did you mean 'write'?",
            ),
        ),
        (TWO_TAPES, ("a machine with three tapes; netwright reads machines with one tape",)),
        (TAPES_KEY, ("a machine with three tapes; netwright reads machines with one tape",)),
        (THREE_WRITES, ("a machine with three tapes; netwright reads machines with one tape",)),
        (ARROWS, ("is in another format, rules like q0,0 -> q1,1,>; netwright reads jflap",)),
        (ARROWS.replace("init: q0\naccept: q\n", ""), ("is in another format, rules like",)),
        (NANJING, ("is in another format, with lines #Q, #S, #G and so on; netwright reads",)),
        (STATES, ("is in another format, with lines that begin with STATE; netwright reads",)),
    ],
)
def test_a_file_of_another_kind_is_explained(
    content: str, messages: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "machine"
    path.write_text(content)
    found = complaint(capsys, "run", str(path))
    for message in messages:
        assert message in found
    assert "Morphett" not in found


def test_no_refusal_is_longer_than_a_screen(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "machine"
    path.write_text("0 aa b r 0\n" * 500)
    found = complaint(capsys, "run", str(path), "--format", "morphett")
    assert found.count("\n") <= 20
    assert "… and 482 more" in found
    path.write_text(
        DTM.replace(
            '"ghost": {', '"ghost": {' + "".join(f'"{n}": ["a", "1", "R"], ' for n in range(2, 60))
        )
    )
    assert complaint(capsys, "run", str(path)).count("\n") <= 20
    assert complaint(capsys, "convert", "prime", "--to", "bbchallenge").count("\n") <= 20


def test_a_network_that_is_cut_off_is_truncated(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "copy.pt"
    assert main(["compile", "copy", "-o", str(file)]) == 0
    assert f"wrote {file}, in the safetensors format" in capsys.readouterr().out
    data = file.read_bytes()
    for size in (len(data) - 1, len(data) // 2, 500, 9):
        file.write_bytes(data[:size])
        found = complaint(capsys, "run", str(file), "a")
        assert "is not an intact netwright network: it is truncated" in found
        for inner in ("Error", "header", "column", "char"):
            assert inner not in found
    file.write_bytes(data[:-3] + b"abc")
    assert "it was changed" in complaint(capsys, "run", str(file), "a")


@pytest.mark.parametrize(
    ("content", "options", "warning"),
    [
        (
            '; $START: "nowhere"\n0 a b r 0\n0 b b l halt\n',
            (),
            "$START: no rule mentions the state 'nowhere'",
        ),
        (
            '# $START: "b"\nblank: _\nstart state: a\ntable:\n  a: {_: {R: b}}\n  b:\n',
            (),
            "$START: the comment is left out: 'start state' is a key of the file",
        ),
        (
            '# $BLANK: "0"\nblank: _\nstart state: a\ntable:\n  a: {_: {R: b}}\n  b:\n',
            (),
            "$BLANK: the comment is left out: 'blank' is a key of the file",
        ),
    ],
)
def test_what_its_author_may_not_have_meant_is_said(
    content: str,
    options: tuple[str, ...],
    warning: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    path = tmp_path / "machine"
    path.write_text(content)
    assert main(["run", str(path), *options]) in (0, 1, 3)
    err = capsys.readouterr().err
    assert err.startswith("netwright: warning: ")
    assert warning in err


def test_what_does_not_come_back_is_not_written_without_a_word(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    long = DTM.replace("ghost", "a").replace('"a"', json.dumps("q" * 1100))
    path = tmp_path / "machine"
    path.write_text(long)
    message = complaint(capsys, "convert", str(path), "--to", "turingmachine.io")
    assert "has 1,100 characters, and a key of YAML at most 1,024" in message
    assert main(["convert", "--format", "bbchallenge", "--to", "bbchallenge", "--", "---"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "---\n"
    assert "read it with --format bbchallenge" in captured.err
    path.write_text(DTM.replace("ghost", "a").replace('["a", "1", "R"]', '["a", true, "R"]'))
    assert "expected [state, symbol, L, N or R]" in complaint(capsys, "run", str(path))


def test_every_writer_says_what_it_wrote(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = str(tmp_path / "file.svg")
    for call in (
        ("convert", "copy", "--to", "morphett", "-o", file),
        ("compile", "copy", "-o", file),
        ("certify", "copy", "-o", file),
        ("precision", "copy", "a", "--dtype", "bfloat16", "--max-steps", "9", "--plot", file),
    ):
        assert main([*call, "--force"]) == 0
        assert f"wrote {file}" in capsys.readouterr().out
    kept = str(tmp_path / "kept")
    assert main(["run", "sweeper", "--max-steps", "9", "--checkpoint", kept]) == 3
    assert f"kept   {kept}" in capsys.readouterr().out
