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

from netwright.errors import InputError
from netwright.kind.language_model.vocabulary import ACCEPT, REJECT, RUN, Left, Step, Vocabulary
from netwright.machine.configuration import Tape
from netwright.machine.turing_machine import Move, TuringMachine


class NoRoomError(InputError):
    """A configuration whose prompt is longer than the model's context."""


@dataclass(frozen=True)
class Start:
    """A configuration at the start of a text: the head is on the first of the cells `ahead`."""

    ahead: tuple[str, ...]
    behind: tuple[str, ...] = ()
    """The cells left of the head; at least one if the run is resumed."""
    state: str | None = None
    """None for the machine's start state."""

    def prompt(self, vocabulary: Vocabulary) -> list[int]:
        """The tokens of the prompt; NoRoomError if they do not fit into the context."""
        if self.state is None:
            return vocabulary.prompt(self.ahead)
        needed = len(self.ahead) + 2 * len(self.behind) + 4
        if needed > vocabulary.context:
            cells = len(self.ahead) + len(self.behind)
            raise NoRoomError(
                f"a tape of {cells:,} cells no longer fits into a context of "
                f"{vocabulary.context:,} tokens: it takes {needed:,}; take a larger one: "
                "--context"
            )
        ids = [vocabulary.number[symbol] for symbol in self.ahead]
        ids.append(RUN)
        for n, symbol in enumerate(self.behind, start=1):
            state = self.state if n == len(self.behind) else None
            ids += [vocabulary.number[Left(symbol, state)], vocabulary.first_address]
        return ids


def machine_text(vocabulary: Vocabulary, start: Start) -> Iterator[int]:
    """The tokens after the prompt: a run of the machine, with last visits by their definition."""
    machine, null = vocabulary.machine, len(start.ahead)
    position = null + 1 + 2 * len(start.behind)
    tape = {cell - len(start.behind): symbol for cell, symbol in enumerate(start.behind)}
    tape |= dict(enumerate(start.ahead))
    # The last visit of each cell: its letter, or its address token.
    visits = {cell: null + 2 * (cell + len(start.behind) + 1) for cell in tape if cell < 0}
    visits |= {cell: cell for cell in range(len(start.ahead))}
    state = start.state or machine.start
    for step, visit in visiting_steps(machine, tape, visits, position, state):
        yield vocabulary.number[step]
        if (end := vocabulary.ends(step)) is not None:
            yield end
            return
        yield vocabulary.first_address + (null if visit is None else visit)


def visiting_steps(
    machine: TuringMachine,
    tape: dict[int, str],
    visits: dict[int, int],
    position: int,
    state: str,
) -> Iterator[tuple[Step, int | None]]:
    """The steps of a run from cell 0, each with the position of the last visit of the cell ahead.

    That is None for a fresh cell. `position` is that of the first step token; `tape` and `visits`
    are updated.
    """
    cell, move = 0, Move.R
    while True:
        step = Step(move, state, tape.get(cell, machine.blank))
        yield step, visits.get(cell + move.offset)
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
        self.head, self.state = -1, vocabulary.machine.start
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
        if there != step.symbol:
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
        """Prepare for the next text, whose first step repeats the last one."""
        self.head -= 1
        self.steps -= self.state not in self.vocabulary.pauses
        self.step, self.waiting = None, False
