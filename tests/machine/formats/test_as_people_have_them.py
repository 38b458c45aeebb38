"""Machines as people have them: in Markdown, in Python, as numbers, of a course, as objects."""

from pathlib import Path

import pytest
from automata.tm.dtm import DTM

import netwright as nw
from netwright.cli import main
from netwright.errors import FormatError
from netwright.machine.formats import write_text
from netwright.machine.normal_form import walking_to

MARKDOWN = """# Notes

```yaml
blank: '_'
start state: a
table:
  a: {0: {write: 1, R: a}, _: {R: b}}
  b:
```

Some Python, which is no machine:

~~~python
print("hello")
~~~

```
init: q0
accept: q1
q0,0
q1,1,>
```
"""
ONE_WAY = """from automata.tm.dtm import DTM

dtm = DTM(
    states={"q0", "q1", "q4"},
    input_symbols={"0", "1"},
    tape_symbols={"0", "1", "x", "."},
    transitions={
        "q0": {"0": ("q1", "x", "R"), ".": ("q4", ".", "N")},
        "q1": {"1": ("q0", "x", "R")},
    },
    initial_state="q0",
    blank_symbol=".",
    final_states={"q4"},
)
"""
COURSE = """states 3
A
B +
C -
alphabet 2 a b
A a A b R
A b C b N
A _ B _ L
"""


def test_fenced_blocks_of_a_markdown_file_are_machines(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(MARKDOWN)
    assert nw.load_machine(f"{path}:0").run("00").steps == 3
    assert nw.load_machine(f"{path}:1").accepting == {"q1"}
    with pytest.raises(FormatError, match=r"holds 2 machines; name one of: .*notes.md:0, "):
        nw.load_machine(path)
    with pytest.raises(FormatError, match="has no machine '2'; there are 0 to 1"):
        nw.load_machine(f"{path}:2")
    path.write_text(MARKDOWN[: MARKDOWN.index("```\ninit")])
    assert nw.load_machine(path).start == "a"
    path.write_text("```\nhello\n```\n")
    with pytest.raises(FormatError, match="not in a format netwright knows"):
        nw.load_machine(path)
    with pytest.raises(FormatError, match="no fenced block has a machine"):
        nw.load_machine(path, format_name="markdown")


def test_a_call_of_dtm_is_read_and_never_run(tmp_path: Path) -> None:
    path = tmp_path / "machines.py"
    path.write_text(ONE_WAY + "raise SystemExit('it was run')\n")
    machine = nw.load_machine(path)
    assert machine.start == "q0"
    assert [machine.run(word).outcome for word in ("01", "0", "")] == [
        "accepted",
        "rejected",
        "accepted",
    ]
    path.write_text(ONE_WAY + ONE_WAY.replace("dtm =", "other ="))
    assert nw.load_machine(f"{path}:other") == nw.load_machine(f"{path}:dtm")
    with pytest.raises(FormatError, match=r"holds 2 machines; name one of: .*:dtm, .*:other"):
        nw.load_machine(path)
    path.write_text(ONE_WAY.replace('{"q4"}', "set(finals)"))
    with pytest.raises(FormatError, match="line 13: final_states is not a literal"):
        nw.load_machine(path)
    path.write_text(ONE_WAY.replace("DTM(\n", "DTM(\n***"))
    with pytest.raises(FormatError, match="not Python: invalid syntax"):
        nw.load_machine(path)


def test_a_dtm_object_is_the_machine_that_it_is() -> None:
    space: dict[str, DTM] = {}
    exec(ONE_WAY, space)  # the test's own text
    found = nw.load_machine(space["dtm"])
    for word in ("", "0", "01", "0101", "011"):
        accepted = space["dtm"].accepts_input(word)
        assert (found.run(word).outcome == "accepted") == accepted
        assert nw.compile(space["dtm"]).accepts(word) == accepted


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("wolfram:596440,2,3", "1RB2LA1LA_2LA2RB0RA"),
        ("wolfram:0,1,2", "0LA0LA"),
        ("wolfram:15,1,2", "1RA1RA"),
    ],
)
def test_wolframs_numbers(number: str, text: str) -> None:
    machine = nw.load_machine(number)
    assert write_text(machine, "bbchallenge").strip() == text
    assert machine.run("", 50).tape == nw.load_machine(text).run("", 50).tape


@pytest.mark.parametrize(
    ("number", "message"),
    [
        ("wolfram:16,1,2", r"there are 4\^2 machines of 1 states and 2 colours, numbered from 0"),
        ("wolfram:1,0,2", "expected 1 to 26 states"),
        ("wolfram:x", "expected wolfram:NUMBER,STATES,COLOURS"),
    ],
)
def test_numbers_that_there_are_not(number: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        nw.load_machine(number)


def test_a_courses_format(tmp_path: Path) -> None:
    path = tmp_path / "m.tm"
    path.write_text(COURSE)
    machine = nw.load_machine(path)
    assert (machine.start, sorted(machine.accepting), machine.input_symbols) == (
        "A",
        ["B"],
        ("a", "b"),
    )
    assert str(machine.run("aa").tape) == "bb"
    assert [machine.run(word).outcome for word in ("aa", "ab")] == ["accepted", "rejected"]
    for old, new, message in (
        ("states 3", "states 9", "expected a state's name, perhaps with"),
        ("alphabet 2", "alphabet 3", "2 symbols; the line says 3"),
        ("A a A b R", "A a A b X", "line 6: expected 'state symbol state symbol L, R or N'"),
        ("A a A b R", "A a D b R", "D"),
    ):
        path.write_text(COURSE.replace(old, new))
        with pytest.raises(FormatError, match=message):
            nw.load_machine(path)


def test_the_head_begins_where_it_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    machine = nw.load_machine("binary-increment")
    # It walks to the right end first; from the left of the input it increments nothing.
    for cell, tape, steps in ((0, "1100", 8), (2, "1100", 8), (-1, "1_1011", 3)):
        walked = walking_to(machine, cell)
        run = walked.run("1011")
        assert (str(run.tape).replace(" ", "_"), run.steps) == (tape, steps)
        assert nw.compile(walked).run("1011").tape == run.tape
    assert main(["run", "palindrome", "aabba", "--head", "1"]) == 0  # begins on abba
    assert "accepted after 16 steps" in capsys.readouterr().out
    assert main(["run", "palindrome", "a", "--head", "100000"]) == 2
    assert "at most 1000 away" in capsys.readouterr().err


def test_compile_takes_blanks_where_the_default_input_has_some() -> None:
    machine = nw.load_machine("palindrome")
    spaced = nw.TuringMachine(
        machine.states,
        machine.symbols,
        machine.blank,
        machine.start,
        machine.delta,
        machine.accepting,
        default_input=("a", "_", "a"),
    )
    assert nw.compile(spaced).run().steps == spaced.run().steps
    assert nw.compile(machine).options["blanks"] is False


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('".": ("q4", ".", "N")}', '**common, ".": ("q4", ".", "N")}'),
        ('blank_symbol="."', 'blank_symbol=b"."'),
        ('blank_symbol="."', "blank_symbol=..."),
        ('blank_symbol="."', f"blank_symbol=0x{'f' * 9000}"),
        ('("q1", "x", "R")', '("q1", 1j, "R")'),
        ('"q1": {"1"', 'b"q1": {"1"'),
        ('"q1": {"1"', '"q0": {"1"'),
    ],
)
def test_what_is_not_a_plain_literal_is_never_left_out(old: str, new: str, tmp_path: Path) -> None:
    """Rules of `**common` were dropped in silence; others were tracebacks."""
    path = tmp_path / "m.py"
    assert old in ONE_WAY
    path.write_text(ONE_WAY.replace(old, new))
    with pytest.raises(FormatError, match="is not a literal; a file is read and never run"):
        nw.load_machine(path)


def test_two_machines_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(ONE_WAY + ONE_WAY)
    with pytest.raises(FormatError, match="a second machine 'dtm'"):
        nw.load_machine(path)
    path.write_text(COURSE.replace("B +", "A +"))
    with pytest.raises(FormatError, match="line 3: a second state 'A'"):
        nw.load_machine(path)


def test_fences_inside_a_machine_are_not_markdown(tmp_path: Path) -> None:
    """A Morphett text with fences around one rule was read as that rule alone."""
    path = tmp_path / "m.txt"
    path.write_text("0 a b r 1\n```\n1 a b r 1\n```\n1 _ _ r halt\n")
    with pytest.raises(FormatError, match=r"is not a Morphett machine:\s+line 2: "):
        nw.load_machine(path)


def test_lists_in_fences_are_read_as_lists(tmp_path: Path) -> None:
    path = tmp_path / "list.md"
    path.write_text("```\n1RB1LB_1LA1RZ\n```\n1RB1RZ_0LA1LB\n1RB1RZ_1LB0RC_1LC1LA\n")
    texts = [write_text(nw.load_machine(f"{path}:{n}"), "bbchallenge").strip() for n in range(3)]
    assert texts == ["1RB1LB_1LA1RZ", "1RB1RZ_0LA1LB", "1RB1RZ_1LB0RC_1LC1LA"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("~" * 400_000 + f"\n{MARKDOWN}", "has 400,204 characters; netwright reads turingmachine"),
        ("~~~ x\n" * 300_000, "not in a format netwright knows"),
        ("".join("`" * n + "\n" for n in range(900, 2, -1)), "not in a format netwright knows"),
    ],
    ids=["one long fence", "many fences", "nested fences"],
)
def test_many_fences_take_no_time_and_no_stack(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.md"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        nw.load_machine(path)
