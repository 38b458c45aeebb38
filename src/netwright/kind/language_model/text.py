"""Texts of a language model: what the machine's own run says, and how a run is resumed.

A text that fills its context is read off, and a new prompt goes on from its last configuration,
with cells l_1, …, l_k left of the head and x_1, …, x_n from the head on:

    x_1 … x_n <run> left:l_1 @0 … left:l_k:goto:q @0

The model behaves as if it had just walked over the left cells, moving right at each, and continues
with the step `R:q:x_1`. (`@0` is a far address that nothing ever follows, but for the last: there
it is right, as x_1 stands at position 0. The head comes back to the others from the right, and
makes a new visit.)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netwright.errors import InputError
from netwright.kind.language_model.vocabulary import ACCEPT, REJECT, RUN, Left, Step, Vocabulary
from netwright.machine.turing_machine import Move


class NoRoomError(InputError):
    """A configuration that no text of the model's context can begin with."""


@dataclass(frozen=True)
class Start:
    """A configuration from which a text begins: the head is on the first of the cells `ahead`."""

    ahead: tuple[str, ...]
    behind: tuple[str, ...] = ()
    """The cells left of the head, if the run is resumed: one at least then."""
    state: str | None = None
    """None for the start of the machine."""

    def prompt(self, vocabulary: Vocabulary) -> list[int]:
        """The text that asks for the run."""
        if self.state is None:
            return vocabulary.prompt(self.ahead)
        needed = len(self.ahead) + 2 * len(self.behind) + 4
        if needed > vocabulary.context:
            cells = len(self.ahead) + len(self.behind)
            raise NoRoomError(
                f"a tape of {cells:,} cells does not fit into a context of "
                f"{vocabulary.context:,} tokens any more: it takes {needed:,}; take a larger one: "
                "--context"
            )
        ids = [vocabulary.number[symbol] for symbol in self.ahead]
        ids.append(RUN)
        for n, symbol in enumerate(self.behind, start=1):
            state = self.state if n == len(self.behind) else None
            ids += [vocabulary.number[Left(symbol, state)], vocabulary.first_address]
        return ids


def machine_text(vocabulary: Vocabulary, start: Start) -> Iterator[int]:
    """The tokens behind the prompt: a run of the machine, with last visits by their definition."""
    machine, number, first = vocabulary.machine, vocabulary.number, vocabulary.first_address
    null = len(start.ahead)
    position = null + 1 + 2 * len(start.behind)
    tape = {cell - len(start.behind): symbol for cell, symbol in enumerate(start.behind)}
    tape |= dict(enumerate(start.ahead))
    # The last visit of each cell: its letter, or its address token.
    visits = {cell: null + 2 * (cell + len(start.behind) + 1) for cell in tape if cell < 0}
    visits |= {cell: cell for cell in range(len(start.ahead))}
    cell, state, move = 0, start.state or machine.start, Move.R
    while True:
        step = Step(move, state, tape.get(cell, machine.blank))
        yield number[step]
        if (end := vocabulary.ends(step)) is not None:
            yield end
            return
        ahead = cell + 1 if move is Move.R else cell - 1
        yield first + visits.get(ahead, null)
        visits[cell] = position + 1
        position += 2
        action = vocabulary.rule(state, step.symbol)
        assert action is not None
        tape[cell] = action.write
        state, move = action.state, action.move
        cell += 1 if move is Move.R else -1


class Follower:
    """Where the given machine stands, from the step tokens of one text after the other.

    Nothing here looks at δ but for the symbol that a step writes, which its token says, too.
    """

    def __init__(self, vocabulary: Vocabulary, word: Sequence[str]) -> None:
        self.vocabulary = vocabulary
        blank = vocabulary.machine.blank
        self.tape = {cell: s for cell, s in enumerate(word) if s != blank}
        self.start = Start(tuple(word))
        self.head, self.state = -1, vocabulary.machine.start
        self.steps = -1
        """Of the given machine; stays count once."""
        self.step: Step | None = None
        self.waiting = False
        """Whether the next token is an address, or the end."""

    def take(self, token: int) -> str | None:
        """One more token; what is wrong with it, if something is."""
        step = self.vocabulary.step_of(token)
        if step is None:
            return self._take_other(token)
        if self.step is not None:
            if self.waiting:
                return "stands where an address should be"
            action = self.vocabulary.rule(self.step.state, self.step.symbol)
            if action is None:
                return "goes on where there is no rule"
            self._write(action.write)
        self.waiting = True
        self.head += 1 if step.move is Move.R else -1
        self.step, self.state = step, step.state
        self.steps += step.state not in self.vocabulary.pauses
        there = self.tape.get(self.head, self.vocabulary.machine.blank)
        if there != step.symbol:
            return f"reads {step.symbol!r} in cell {self.head}, where {there!r} stands"
        return None

    def _take_other(self, token: int) -> str | None:
        """An address, or the end of the run."""
        end = None if self.step is None else self.vocabulary.ends(self.step)
        if token in (ACCEPT, REJECT):
            return None if token == end else "is not how this run can end"
        if token < self.vocabulary.first_address or not self.waiting or end is not None:
            return "stands where it cannot"
        self.waiting = False
        return None

    def _write(self, symbol: str) -> None:
        if symbol == self.vocabulary.machine.blank:
            self.tape.pop(self.head, None)
        else:
            self.tape[self.head] = symbol

    def resumed(self) -> Start:
        """From where the next text goes on; the step that was said last is said again."""
        blank, head = self.vocabulary.machine.blank, self.head
        first, last = min([*self.tape, head - 1]), max([*self.tape, head - 1])
        ahead = tuple(self.tape.get(cell, blank) for cell in range(head, last + 1))
        behind = tuple(self.tape.get(cell, blank) for cell in range(min(first, head - 1), head))
        return Start(ahead, behind, self.state)

    def end_stay(self) -> None:
        """In the middle of a stay: the given machine is where the head goes back to."""
        if self.step is not None and self.state in self.vocabulary.pauses:
            action = self.vocabulary.rule(self.step.state, self.step.symbol)
            assert action is not None  # it leaves the symbol, and goes back
            self.head, self.state, self.steps = self.head - 1, action.state, self.steps + 1

    def go_on(self) -> None:
        """Be ready for the text that goes on: its first step is the last one again."""
        self.head -= 1
        self.steps -= self.state not in self.vocabulary.pauses
        self.step, self.waiting = None, False
