"""Texts of a language model: the text of a machine's run, and how a run is resumed.

When a text fills its context, a new prompt continues from its last configuration, with cells
l_1, …, l_k left of the head and x_1, …, x_n from the head on:

    x_1 … x_n <run> left:l_1 @0 … left:l_k:goto:q @0

The model behaves as if it had just walked over the left cells, moving right at each, and continues
with the step `R:q:x_1`. (`@0` is a far address that nothing ever follows, but for the last: there
it is right, as x_1 is at position 0. The head comes back to the others from the right, and
makes a new visit.)
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from netwright.kind.language_model.vocabulary import ACCEPT, REJECT, Beginning, Step, Vocabulary
from netwright.machine.configuration import Tape
from netwright.machine.turing_machine import Move, TuringMachine


@dataclass(frozen=True)
class Start:
    """A configuration at the start of a text: the head is on the first of the cells `ahead`."""

    ahead: tuple[str, ...]
    behind: tuple[str, ...] = ()
    """The cells left of the head; at least one if the run is resumed."""
    state: str | None = None
    """None for the machine's start state."""

    def begin(self, vocabulary: Vocabulary) -> Beginning:
        """The prompt, and what it says; NoRoomError if it does not fit into the context."""
        return vocabulary.begin(self.ahead, self.behind, self.state)

    def prompt(self, vocabulary: Vocabulary) -> list[int]:
        """The tokens of the prompt."""
        return self.begin(vocabulary).prompt


def machine_text(vocabulary: Vocabulary, start: Start) -> Iterator[int]:
    """The tokens after the prompt: a run of the machine, with last visits by their definition."""
    begun = start.begin(vocabulary)
    return islice(_whole_text(vocabulary, begun), begun.told, None)


def _whole_text(vocabulary: Vocabulary, begun: Beginning) -> Iterator[int]:
    place = len(begun.prompt) - begun.told
    for step, visit in visiting_steps(vocabulary.machine, begun, place):
        place += 2
        yield vocabulary.number[step]
        if (end := vocabulary.ends(step)) is not None:
            yield end
            return
        yield vocabulary.address(place - 1, visit)


def visiting_steps(
    machine: TuringMachine, begun: Beginning, position: int
) -> Iterator[tuple[Step, int]]:
    """The steps of a run, each with the position of the last visit of the cell ahead.

    `position` is that of the first step token.
    """
    tape, visits = dict(begun.tape), dict(begun.visits)
    cell, move, state = begun.cell, begun.move, begun.state
    while True:
        step = Step(move, state, tape.get(cell, begun.fresh[cell >= 0]))
        yield step, visits.get(cell + move.offset, begun.nulls[move is Move.R])
        visits[cell] = position + 1
        position += 2
        action = machine.action(state, step.symbol)
        if action is None:
            return
        tape[cell] = action.write
        state, move = action.state, action.move
        cell += move.offset


def tape_of(cells: Mapping[int, str], blank: str) -> Tape:
    """The tape with these cells, and blanks elsewhere."""
    low, high = min(cells, default=0), max(cells, default=-1)
    return Tape.of([cells.get(cell, blank) for cell in range(low, high + 1)], low, blank)


class Follower:
    """Tracks the given machine's configuration from the step tokens of consecutive texts.

    It uses δ only for the symbol that a step writes, which the step's token also says.
    """

    def __init__(self, vocabulary: Vocabulary, word: Sequence[str]) -> None:
        self.vocabulary = vocabulary
        blank = vocabulary.machine.blank
        self.tape = {cell: s for cell, s in enumerate(word) if s != blank}
        self.start = Start(tuple(word))
        begun = self.start.begin(vocabulary)
        self.head, self.state = begun.cell - begun.move.offset, vocabulary.machine.start
        self.steps = -1
        """Steps of the given machine; a stay counts once."""
        self.step: Step | None = None
        self.waiting = False
        """Whether the next token must be an address or the end."""

    def take(self, token: int) -> str | None:
        """Advance by one token; return what is wrong with it, or None."""
        step = self.vocabulary.step_of(token)
        if step is None:
            return self._take_other(token)
        if self.step is not None:
            if self.waiting:
                return "occurs where an address is expected"
            action = self.vocabulary.machine.action(self.step.state, self.step.symbol)
            if action is None:
                return "continues where there is no rule"
            self._write(action.write)
        self.waiting = True
        self.head += step.move.offset
        self.step, self.state = step, step.state
        self.steps += step.state not in self.vocabulary.pauses
        there = self.tape.get(self.head, self.vocabulary.machine.blank)
        if there != self.vocabulary.plain(step.symbol):
            return f"reads {step.symbol!r} in cell {self.head}, which has {there!r}"
        return None

    def _take_other(self, token: int) -> str | None:
        """Advance by an address or by the end of the run."""
        end = None if self.step is None else self.vocabulary.ends(self.step)
        if token in (ACCEPT, REJECT):
            return None if token == end else "is not how this run can end"
        if token < self.vocabulary.first_address or not self.waiting or end is not None:
            return "occurs where it cannot"
        self.waiting = False
        return None

    def _write(self, symbol: str) -> None:
        if symbol == self.vocabulary.machine.blank:
            self.tape.pop(self.head, None)
        else:
            self.tape[self.head] = symbol

    def resumed(self) -> Start:
        """The start of the next text, which repeats the last step."""
        blank, head = self.vocabulary.machine.blank, self.head
        first, last = min([*self.tape, head - 1]), max([*self.tape, head - 1])
        ahead = tuple(self.tape.get(cell, blank) for cell in range(head, last + 1))
        behind = tuple(self.tape.get(cell, blank) for cell in range(min(first, head - 1), head))
        return Start(ahead, behind, self.state)

    def end_stay(self) -> None:
        """Complete a stay: move to the cell and state of the given machine after it."""
        if self.step is not None and self.state in self.vocabulary.pauses:
            action = self.vocabulary.machine.action(self.step.state, self.step.symbol)
            assert action is not None  # it leaves the symbol, and goes back
            self.head, self.state, self.steps = self.head - 1, action.state, self.steps + 1

    def go_on(self) -> None:
        """Prepare for the next text, which repeats the last step, or has it in its prompt."""
        self.waiting = False
        if self.vocabulary.starts_over:
            self.head -= 1
            self.steps -= self.state not in self.vocabulary.pauses
            self.step = None
        elif self.step is not None:
            # An end comes right after its step, anything else after an address.
            self.waiting = self.vocabulary.ends(self.step) is not None
