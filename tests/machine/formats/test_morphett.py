"""Morphett's text: wildcards, halting names, the French dialect, sample input."""

import warnings

import pytest

from netwright.errors import FormatError, FormatWarning
from netwright.machine.formats import morphett
from netwright.machine.formats.draft import Source
from netwright.machine.simulate import Outcome, simulate
from netwright.machine.turing_machine import Action, Move, TuringMachine


def read(text: str, *also: str) -> TuringMachine:
    return morphett.read(text, Source("file", also=also))


def test_the_most_exact_rule_wins() -> None:
    """(q, s), then (q, *), then (*, s), then (*, *)."""
    machine = read(
        """
        * * w r any
        * a x r by-symbol
        0 * y r by-state
        0 a z r exact
        1 b b l 0
        """
    )
    assert machine.delta["0", "a"] == Action("exact", "z", Move.R)
    assert machine.delta["0", "b"] == Action("by-state", "y", Move.R)
    assert machine.delta["1", "a"] == Action("by-symbol", "x", Move.R)
    assert machine.delta["1", "_"] == Action("any", "w", Move.R)
    assert machine.delta["any", "_"] == Action("any", "w", Move.R)


def test_a_star_on_the_right_means_unchanged() -> None:
    machine = read("0 * * * *\n0 _ _ r halt\n0 a b l 0")
    assert machine.delta["0", "b"] == Action("0", "b", Move.S)
    assert machine.delta["0", "_"] == Action("halt", "_", Move.R)


def test_a_wildcard_covers_the_symbols_of_the_input() -> None:
    text = "0 * * r 0\n0 _ _ * halt"
    assert simulate(read(text, "x", "y"), "xy").state == "halt"
    assert "x" not in read("0 a * r 0\n0 _ _ * halt", "x").symbols


def test_a_space_in_the_input_is_never_a_symbol_of_its_own() -> None:
    assert " " not in read("0 * * r 0", " ", "x").symbols


def test_the_blank_of_a_directive_in_the_input_is_the_blank() -> None:
    assert read('; $BLANK: "0"\n0 * * r 0\n0 _ _ * halt', "0").symbols == ("0",)


def test_wildcards_are_written_out_up_to_a_bound_and_plain_rules_beyond() -> None:
    plain = "\n".join(f"q{i} {chr(0x4E00 + i)} _ r q{i + 1}" for i in range(2000))
    assert len(read(f"0 a a r q0\n{plain}").delta) == 2001
    with pytest.raises(FormatError, match="wildcards over 2,002 states and 2,002 symbols"):
        read(f"* a a r *\n0 a a r q0\n{plain}")


def test_a_hostile_comment_costs_little() -> None:
    assert read("0 a b r halt " + ";" * 400_000).start == "0"
    with pytest.raises(FormatError, match="line 2: expected JSON such as"):
        read("0 a b r halt\n; $ACCEPT: " + "[" * 200_000)


def test_the_last_of_two_equal_rules_wins_with_a_warning() -> None:
    with pytest.warns(FormatWarning, match=r"line 2: replaces the rule for \(0, a\) of line 1"):
        machine = read("0 a a r 0\n0 a b l 0")
    assert machine.delta["0", "a"] == Action("0", "b", Move.L)


def test_halting_names_halt_even_under_a_wildcard() -> None:
    machine = read("0 * * r HALT-here\n* * * l 0")
    assert machine.halting_states == ("HALT-here",)
    with pytest.warns(FormatWarning, match="state halt: the machine halts here; its rules are"):
        assert read("0 a a r halt\nhalt a a r 0").halting_states == ("halt",)


def test_the_french_dialect() -> None:
    machine = read("q0 1 1 d q0\nq0 _ _ g stop-fin\n* * * d *")
    assert machine.start == "q0"
    assert machine.delta["q0", "_"] == Action("stop-fin", "_", Move.L)
    assert machine.halting_states == ("stop-fin",)


def test_stop_halts_in_the_french_dialect_only() -> None:
    assert read("0 a a r stop\n* * * l *").halting_states == ()


def test_a_named_halting_state_accepts_and_the_others_reject() -> None:
    machine = read("0 a a r halt-accept\n0 b b r halt-reject")
    assert simulate(machine, "a").outcome is Outcome.ACCEPTED
    assert simulate(machine, "b").outcome is Outcome.REJECTED


def test_comments_breakpoints_and_letters_of_either_case() -> None:
    machine = read("; a comment\n0 a b R 1 ! ; stop here\n1 a b L 1\n")
    assert machine.delta["0", "a"] == Action("1", "b", Move.R)


def test_the_first_comment_is_the_description() -> None:
    assert read("; Adds one.\n; Slowly.\n\n; More.\n0 a b r 0").description == "Adds one. Slowly."


def test_the_sample_input_and_its_blanks() -> None:
    assert read("0 1 1 r 0 \n; text. $INITIAL_TAPE: 11 1_1 ").default_input == tuple("11_1_1")
    assert read("0 1 1 r 0\n;$INITIAL_TAPE:").default_input == ()


def test_the_mark_of_the_head_is_left_out_with_a_warning() -> None:
    with pytest.warns(FormatWarning, match=r"the head's mark \* at position 3 is left out"):
        assert read("0 1 1 r 0\n;$INITIAL_TAPE: 01*1").default_input == tuple("011")


def test_a_program_without_state_0_starts_with_its_first_rule() -> None:
    with pytest.warns(FormatWarning, match="no rule for 0 or q0; starting with the first, go"):
        assert read("go 1 1 r go").start == "go"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read("* 1 1 r go").start == "0"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 a b r", r"line 1: expected five fields .*, got 4: 0 a b r"),
        ("0 a b r 1 2", r"line 1: expected five fields .*, got 6"),
        ("0 ab b r 1", "line 1: symbol 'ab' has 2 characters; expected one"),
        ("\n0 a b x 1", "line 2: direction 'x'; expected l, r"),
        ("; nothing", "no rule in it"),
        ("0 a b r 1\n; $ACCEPT: q5", r"line 2: expected JSON such as \[\"q5\"\] after \$ACCEPT:"),
    ],
)
def test_a_faulty_line_is_explained(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(text)


@pytest.mark.parametrize(
    ("states", "symbols", "message"),
    [
        (["0", "a b"], "01", "state 'a b' is"),
        (["0", "halt-not"], "01", "state 'halt-not' has rules"),
        (["0"], ["0", "*"], r"symbol '\*' is not one printable character"),
        (["0"], ["0", "10"], "symbol '10' is not one printable character"),
    ],
)
def test_what_does_not_fit_is_refused(states: list[str], symbols: list[str], message: str) -> None:
    delta = {(state, "0"): (state, "0", "L") for state in states}
    machine = TuringMachine(states, symbols, "0", "0", delta)
    with pytest.raises(FormatError, match=message):
        morphett.write(machine)
