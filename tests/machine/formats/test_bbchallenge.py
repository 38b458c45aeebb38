"""bbchallenge standard text."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netwright.cli import main
from netwright.errors import FormatError
from netwright.machine.formats import bbchallenge, write_text
from netwright.machine.formats.draft import Source
from netwright.machine.library import library_machine
from netwright.machine.load import load_machine
from netwright.machine.simulate import Outcome, simulate


def read(text: str, part: str = "") -> object:
    return bbchallenge.read(text, Source("file", part))


@pytest.mark.parametrize(
    ("text", "steps", "end"),
    [("1RB---_0LA1LB", 2, "A"), ("1RB1RZ_0LA1LB", 3, "Z"), ("1RB1RH_0LA1LB", 3, "H")],
)
def test_finding_no_rule_is_no_step_and_entering_a_halting_letter_is_one(
    text: str, steps: int, end: str
) -> None:
    run = simulate(bbchallenge.read(text, Source()), (), 100)
    assert (run.outcome, run.steps, run.state) == (Outcome.HALTED, steps, end)


def test_any_letter_past_the_last_row_halts() -> None:
    machine = bbchallenge.read("1RB1LB_1LA1RC", Source())
    run = simulate(machine)
    assert (run.outcome, run.steps, run.state) == (Outcome.HALTED, 6, "C")


def test_words_behind_the_machine_are_passed_over() -> None:
    assert read("1RB1LB_1LA1RZ Halt 6 4\n") == read("1RB1LB_1LA1RZ")


def test_comments_are_passed_over_and_spaces_between_rows_are_not() -> None:
    assert read("# champion\n1RB1LB_1LA1RZ\n") == read("1RB1LB_1LA1RZ")
    with pytest.raises(
        FormatError, match="1RB1LB and 1LA1RZ side by side: the rows of one machine"
    ):
        read("1RB1LB 1LA1RZ")


@pytest.mark.parametrize(
    "line",
    [
        "1RB1LB_1LA1RZ,halt,6",
        "1RB1LB_1LA1RZ;halt;6",
        "1RB1LB_1LA1RZ, Halt 6 4",
        "6 4 1RB1LB_1LA1RZ",
        "6\t4\t1RB1LB_1LA1RZ\t# the champion",
        "6,---,1RB1LB_1LA1RZ",
        "1_1_2 1RB1LB_1LA1RZ",
        "1RB 1LB  1LA 1RZ",
        "1RB 1LB    1LA 1RZ",
        "1RB\t1LB\t\t1LA\t1RZ",
        "1RB 1LB  1LA 1RZ | 3 Halt 4 6",
        "6 4 1RB 1LB  1LA 1RZ",
        "machine,status,steps\n1RB1LB_1LA1RZ,halt,6",
    ],
)
def test_lists_that_people_have(line: str, tmp_path: Path) -> None:
    """Columns before, annotations behind, headings, spaced text: wherever a list is read."""
    champion = read("1RB1LB_1LA1RZ")
    assert bbchallenge.recognises(line)
    assert read(line) == champion
    file = tmp_path / "list.txt"
    file.write_text(f"{line}\n{line.splitlines()[-1].replace('1RZ', '---')}\n")
    assert load_machine(f"{file}:0") == champion
    assert load_machine(f"{file}:1") == read("1RB1LB_1LA---")
    assert main(["verify", "--machines", str(file), "--on", "rnn", "--max-steps", "9"]) == 0


@pytest.mark.parametrize(
    "text",
    [
        "name: 1RB1LB_1LA1RZ\nsource code: |\n  blank: 0\n",
        "; 1RB1LB_1LA1RZ\n0 0 1 r 0\n",
        "// 1RB1LB_1LA1RZ\ninit: a\n",
        "---\nblank: 0\n",
        "{1RB1LB_1LA1RZ}",
    ],
)
def test_a_machine_in_the_words_of_another_format_is_not_this_text(text: str) -> None:
    assert not bbchallenge.recognises(text)


def test_spaced_text_has_dots_where_there_is_no_rule() -> None:
    assert read("1RB 1LC  1RC 1RB  ... 0LA") == read("1RB1LC_1RC1RB_---0LA")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1_1_2", r"no machine in the line '1_1_2'; expected text such as 1RB1LB_1LA1RZ"),
        ("6 4 1_1_2", r"no machine in the line '6 4 1_1_2'"),
        ("1RB 1LB 1LA 1RZ", "one space between all rules of 1RB 1LB 1LA 1RZ: which belong to one"),
        (
            "1RB1LB_1LA1RZ 1RB1LB_1LA1RH",
            "two machines on a line, 1RB1LB_1LA1RZ and 1RB1LB_1LA1RH; expected one",
        ),
        ("1RB 1LB  1LA 1RZ | 1RB 1LB  1LA 1RH", r"more than one machine on a line: 1RB 1LB"),
        ("1RB 1LB  1LA", "row B: 1 rules, but row A has 2"),
    ],
)
def test_a_line_that_may_mean_several_things_is_refused_with_what_was_seen(
    line: str, message: str
) -> None:
    with pytest.raises(FormatError, match=message):
        read(line)


def test_one_of_several_lines_is_chosen_by_its_number() -> None:
    text = "1RB1LB_1LA1RZ\n\n1RZ---\n"
    assert read(text, "1") == read("1RZ---")
    with pytest.raises(FormatError, match="holds 2 machines; name one of them: file:0 to file:1"):
        read(text)
    for part in ("2", "9" * 5000, "-1", "x"):
        with pytest.raises(FormatError, match="expected a number from 0 to 1"):
            read(text, part)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1RB1LC_1RC", "row B: 1 rules, but row A has 2; all rows need the same number"),
        ("1RB1L_1LA1RZ", "row A: '1RB1L' is not made of groups of three"),
        ("1RB2LB_1LA1RZ", "row A, column 1: 2LB writes 2, but the highest symbol is 1"),
        ("1RB1XB_1LA1RZ", "row A, column 1: expected a rule such as 1RB, or ---, got 1XB"),
        ("1RB1LB__1LA1RZ", "row B: '' is not made of groups of three"),
        ("_".join(["1RA"] * 27), "27 rows; this text has letters for 26 states"),
        ("0RA" * 11, "11 columns; this text has digits for 10 symbols"),
    ],
)
def test_a_faulty_text_is_explained(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(text)


def test_all_faults_are_listed() -> None:
    with pytest.raises(FormatError, match=r"(?s)row A, column 0.*row A, column 1.*row B"):
        read("9RB8LB_1LA")


cells = st.one_of(st.just("---"), st.from_regex("[012][LR][ABCZ]", fullmatch=True))


@given(st.lists(st.tuples(cells, cells, cells).map("".join), min_size=1, max_size=3).map("_".join))
def test_writing_what_was_read_gives_an_equal_machine(text: str) -> None:
    machine = bbchallenge.read(text, Source())
    assert bbchallenge.read(bbchallenge.write(machine), Source()) == machine


def test_a_machine_that_does_not_fit_is_refused_with_every_reason() -> None:
    with pytest.raises(FormatError, match=r"(?s)symbols are.*blank is '_'.*default input.*accept"):
        write_text(library_machine("palindrome"), "bbchallenge")


@pytest.mark.parametrize("text", ["1 |", "| |", "1,2, |||\n", "--- |", "7 "])
def test_numbers_and_bars_are_no_machine(text: str) -> None:
    """The fields of a line may be none at all."""
    assert not bbchallenge.recognises(text)
