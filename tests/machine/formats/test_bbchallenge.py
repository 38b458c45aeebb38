"""bbchallenge standard text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netwright.errors import FormatError
from netwright.machine.formats import bbchallenge, write_text
from netwright.machine.formats.draft import Source
from netwright.machine.library import library_machine
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
    with pytest.raises(FormatError, match="a space after 1RB1LB; rows are joined by _ alone"):
        read("1RB1LB 1LA1RZ")
    with pytest.raises(FormatError, match="a space after 1RB; rows are joined by _ alone"):
        read("1RB 1LC  1RC 1RB  ... 0LE")


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
        ("1RB2LB_1LA1RZ", "row A, column 1: 2LB writes 2, but there are 2 columns"),
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
