"""Configurations: two stacks that behave like a tape."""

from hypothesis import given
from hypothesis import strategies as st

from netwright.machine.configuration import Configuration, Tape
from netwright.machine.turing_machine import Action, Move

actions = st.builds(Action, st.just("q"), st.sampled_from("_ab"), st.sampled_from(Move))


@given(st.text("_ab", max_size=6), st.integers(-3, 9), st.lists(actions, max_size=30))
def test_a_configuration_is_a_tape_with_a_head(word: str, head: int, steps: list[Action]) -> None:
    now = Configuration.initial("q", word, "_", head)
    tape = dict(enumerate(word))
    for action in steps:
        assert now.symbol == tape.get(now.head, "_")
        tape[now.head] = action.write
        now = now.after(action)
    written = sorted(cell for cell, symbol in tape.items() if symbol != "_")
    if not written:
        assert now.tape == Tape(0, ())
    else:
        cells = range(written[0], written[-1] + 1)
        assert now.tape == Tape(written[0], tuple(tape.get(cell, "_") for cell in cells))


def test_equal_tapes_are_equal_configurations() -> None:
    """A blank pushed on an empty stack leaves no trace."""
    start = Configuration.initial("q", "ab", "_")
    there = start.after(Action("q", "a", Move.L)).after(Action("q", "_", Move.R))
    assert there == start


def test_a_long_tape_needs_no_recursion() -> None:
    word = "a" * 100_000
    assert Configuration.initial("q", word, "_").tape.cells == tuple(word)
