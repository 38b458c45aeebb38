"""From the text of a language model back to the run of a machine: `netwright.decode`.

The text of a machine's own model says what every step writes; that of the universal model has its
rules in front. So both can be followed without knowing the machine, and where they contradict
themselves is found: a symbol that is not there, an address that is not the last visit, a rule that
is another one than before.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from netwright.errors import InputError
from netwright.html import table
from netwright.machine.configuration import Tape
from netwright.machine.remove_stays import remove_stays
from netwright.machine.simulate import Outcome
from netwright.machine.turing_machine import TuringMachine
from netwright.text import as_token, from_token, shortened

STEP = re.compile(r"([RL]):([^:>]+):([^:>]+)(?:>([^:>]+))?")
RULE = re.compile(r"([^:>]+):([^:>]+)")
ACTION = re.compile(r"([^:>]+):([RL]):([^:>]+)")
LEFT = re.compile(r"left:([^:>]+)(?::goto:([^:>]+))?")
ADDRESS = re.compile(r"@(\d+)")
ENDS = {
    "<accept>": Outcome.ACCEPTED,
    "<reject>": Outcome.REJECTED,
    "<halt>": Outcome.HALTED,
}
ACCEPTING = "acc"


@dataclass
class Decoded:
    """What a text says."""

    outcome: Outcome = Outcome.UNDECIDED
    steps: int = 0
    state: str | None = None
    head: int = 0
    tape: Tape = field(default_factory=lambda: Tape(0, ()))
    tokens: int = 0
    problem: str | None = None
    """The first thing in the text that is not right, and its token."""
    against: str = "itself"
    """What the text was compared with."""

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return self.problem is None

    def __repr__(self) -> str:
        tape = shortened(self.tape, 40) or "blank"
        wrong = "" if self.holds else f"; {self.problem}"
        where = f"in {self.state}, head {self.head}, tape {tape}{wrong}"
        return f"<{self.outcome} after {self.steps:,} steps {where}>"

    def _repr_html_(self) -> str:
        rows = [
            ("state", self.state),
            ("head", self.head),
            ("tape", self.tape),
            ("text", self.problem or f"{self.tokens:,} tokens, right"),
        ]
        return table(f"{self.outcome} after {self.steps:,} steps", [], rows)


def decode(text: str | Sequence[str], machine: TuringMachine | None = None) -> Decoded:
    """The run that a text of a language model describes.

    Args:
        text: as the model's tokenizer decodes it, or a list of tokens.
        machine: the machine whose model wrote it, if it is known: the text is compared with its own
            run, and stays count as one step. Not for texts of the universal model, which have their
            rules in them.

    >>> decode("1 1 <run> R:r:1>1 @1 R:r:1>1 @2 R:r:_ <halt>")
    <halted after 2 steps in r, head 2, tape 11>
    """
    tokens = text.split() if isinstance(text, str) else list(text)
    tokens = [token for token in tokens if token not in ("<pad>", "<bos>")]
    if "<run>" not in tokens:
        raise InputError("a text of a language model has <run> behind its input; this has none")
    if "<tape>" in tokens and machine is not None:
        raise InputError("the text has its own rules: it is of the universal model (leave machine)")
    return _Reader(tokens, machine).read()


class _WrongError(Exception):
    pass


class _Reader:
    """Goes through a text once."""

    def __init__(self, tokens: list[str], machine: TuringMachine | None) -> None:
        self.tokens, self.found = tokens, Decoded(tokens=len(tokens))
        self.rules: dict[tuple[str, str], tuple[str, str | None, str | None]] = {}
        """By state and symbol: what is written, and, once it is known, move and next state."""
        self.universal = "<tape>" in tokens
        self.shift = 1 if self.universal else 0  # <bos> was left out
        self.blank: str | None = "#" if self.universal else None
        self.pauses: frozenset[str] = frozenset()
        self.machine: TuringMachine | None = None
        if machine is not None:
            self.machine, self.pauses = remove_stays(machine)
            self.blank = machine.blank
            self.found.against = machine.name or "the machine"
            for (q, a), action in self.machine.delta.items():
                self.rules[q, a] = action.write, str(action.move), action.state
        elif self.universal:
            self.found.against = "its own rules"
        self.cells: dict[int, str] = {}
        self.place = 0

    def read(self) -> Decoded:
        """The run, up to where something is wrong."""
        try:
            self._start()
            self._steps()
        except _WrongError as wrong:
            token = self.tokens[self.place] if self.place < len(self.tokens) else "the end"
            self.found.problem = f"token {self.place + 1 + self.shift} ({token}) {wrong}"
        blank = self.blank if self.blank is not None else "_"
        cells = {cell: s for cell, s in self.cells.items() if s != blank}
        low, high = min(cells, default=0), max(cells, default=-1)
        written = [cells.get(cell, blank) for cell in range(low, high + 1)]
        self.found.tape = Tape.of(written, low, blank)
        return self.found

    def _start(self) -> None:
        """Rules, the input, and the cells of a resumed run."""
        tokens = self.tokens
        if self.universal:
            self._read_rules(tokens[: tokens.index("<tape>")])
            self.place = tokens.index("<tape>") + 1
        run = tokens.index("<run>")
        letters = [from_token(token) for token in tokens[self.place : run]]
        self.visits = {n: self.place + n + self.shift for n in range(len(letters))}
        self.cells, self.null = dict(enumerate(letters)), run + self.shift
        self.place = run + 1
        behind: list[tuple[str, int]] = []
        self.state: str | None = None
        while self.place < len(tokens) and (left := LEFT.fullmatch(tokens[self.place])):
            behind.append((from_token(left[1]), self.place + 1))
            self.state = from_token(left[2]) if left[2] else None
            self.place += 2
        for n, (symbol, place) in enumerate(behind):
            self.cells[n - len(behind)], self.visits[n - len(behind)] = symbol, place
        self.head, self.first = -1, True

    def _read_rules(self, tokens: list[str]) -> None:
        for self.place in range(0, len(tokens), 2):
            key, *rest = tokens[self.place : self.place + 2]
            found = RULE.fullmatch(key)
            action = ACTION.fullmatch(rest[0]) if rest else None
            if found is None or action is None:
                raise _WrongError("and the next are no rule such as q0:a #:R:q1")
            if (found[1], found[2]) in self.rules:
                raise _WrongError("has a rule already")
            self.rules[found[1], found[2]] = action[1], action[2], action[3]

    def _steps(self) -> None:
        tokens, found = self.tokens, self.found
        came: tuple[str, str] | None = None
        while self.place < len(tokens):
            if tokens[self.place] in ENDS:
                self._end(came)
                return
            step = STEP.fullmatch(tokens[self.place])
            if step is None:
                raise _WrongError("stands where a step such as R:q:a should be")
            move, state, symbol = step[1], from_token(step[2]), from_token(step[3])
            self._check_move(came, move, state)
            if came is not None:
                self.cells[self.head] = self.rules[came][0]
            self.head += 1 if move == "R" else -1
            self._check_symbol(symbol)
            found.state, found.head = state, self.head
            if not self.first and state not in self.pauses:
                found.steps += 1
            self.first = False
            self._learn(state, symbol, from_token(step[4]) if step[4] else None)
            came = state, symbol
            self.place += 1
            if self.place == len(tokens):
                return
            if ADDRESS.fullmatch(tokens[self.place]):
                self._check_address(move)
                self.visits[self.head] = self.place + self.shift
                self.place += 1

    def _check_move(self, came: tuple[str, str] | None, move: str, state: str) -> None:
        if came is None:
            start = self.state or (self.machine.start if self.machine else None)
            start = start or ("q0" if self.universal else None)
            if move != "R" or (start is not None and state != start):
                raise _WrongError(f"begins otherwise than with R:{start or 'a state'}")
            return
        if came not in self.rules:
            raise _WrongError("goes on where there is no rule")
        write, right, after = self.rules[came]
        if right is None:
            self.rules[came] = write, move, state
        elif (right, after) != (move, state):
            raise _WrongError(f"is not what {came[0]} does on {came[1]}: {right} into {after}")

    def _check_symbol(self, symbol: str) -> None:
        there = self.cells.get(self.head)
        if there is None and self.blank is None:
            self.blank = symbol  # the first cell that nobody wrote to
        there = self.blank if there is None else there
        if symbol != there:
            raise _WrongError(f"reads {symbol} in cell {self.head}, where {there} stands")

    def _learn(self, state: str, symbol: str, write: str | None) -> None:
        """What a step of a machine's own model writes."""
        if self.universal:
            return
        known = self.rules.get((state, symbol))
        if write is None:
            if known is not None:
                raise _WrongError(f"writes nothing, where {state} on {symbol} writes {known[0]}")
        elif known is None:
            if self.machine is not None:
                raise _WrongError(f"has a rule that the machine has not: {state} on {symbol}")
            self.rules[state, symbol] = write, None, None
        elif known[0] != write:
            raise _WrongError(f"writes {write}, where {state} on {symbol} writes {known[0]}")

    def _check_address(self, move: str) -> None:
        right = self.visits.get(self.head + (1 if move == "R" else -1), self.null)
        if self.tokens[self.place] != f"@{right}":
            raise _WrongError(f"is not the last visit of the cell ahead, which is @{right}")

    def _end(self, came: tuple[str, str] | None) -> None:
        end = self.tokens[self.place]
        if came is None:
            raise _WrongError("ends before the first step")
        accepting = came[0] == ACCEPTING if self.universal else None
        if self.machine is not None and self.machine.accepting:
            accepting = came[0] in self.machine.accepting
        if came in self.rules:
            raise _WrongError(f"ends where {as_token(came[0])} has a rule for {as_token(came[1])}")
        if accepting is not None and (end == "<accept>") != accepting:
            raise _WrongError(f"is not how a run ends in {as_token(came[0])}")
        self.found.outcome = ENDS[end]
        if self.place + 1 < len(self.tokens):
            self.place += 1
            raise _WrongError("stands behind the end")
