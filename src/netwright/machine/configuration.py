"""The configuration of a Turing machine at one moment: its state, its head and its tape.

The tape is kept as two stacks, left and right of the head, whose tops are the neighbouring cells.
A stack is a pair (top, rest) or None, and None is an endless supply of blanks. A step pushes on one
stack and pops the other, so configurations are immutable, share their tails, and each costs O(1).
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain, repeat
from typing import Any, NamedTuple, TypeAlias

from netwright.errors import InputError
from netwright.html import table
from netwright.machine.turing_machine import Action, Move
from netwright.text import shortened

Stack: TypeAlias = "tuple[str, Stack] | None"


LONGEST = 1 << 24
"""The greatest number of cells of a configuration."""
LONG = 1 << 16
"""More cells than that, given as runs, are kept as runs."""


class CellRuns(Sequence[str]):
    """The cells of a very long tape, as runs of equal symbols; equal to the tuple of the cells."""

    def __init__(self, runs: Iterable[tuple[str, int]]) -> None:
        self.runs = merged(runs)

    @cached_property
    def _ends(self) -> list[int]:
        return [*accumulate(count for _, count in self.runs)]

    def __len__(self) -> int:
        return self._ends[-1] if self.runs else 0

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[n] for n in range(*index.indices(len(self))))
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"there is no cell {index} of {len(self)}")
        return self.runs[bisect_right(self._ends, place)][0]

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(repeat(symbol, count) for symbol, count in self.runs)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, CellRuns):
            return self.runs == other.runs
        return isinstance(other, tuple) and len(self) == len(other) and tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<{len(self):,} cells: {shortened(runs_text(self.runs), 60)}>"


def merged(runs: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Runs of symbols, neighbours of which differ.

    >>> merged([("1", 2), ("1", 1), ("0", 0), ("0", 4)])
    (('1', 3), ('0', 4))
    """
    found: list[tuple[str, int]] = []
    for symbol, count in runs:
        if found and found[-1][0] == symbol:
            found[-1] = symbol, found[-1][1] + count
        elif count:
            found.append((symbol, count))
    return tuple(found)


def runs_text(runs: Iterable[tuple[str, int]]) -> str:
    """Runs as a text, such as `1^12345 0 1^3`.

    >>> runs_text([("1", 12345), ("0", 1), ("1", 3)])
    '1^12345 0 1^3'
    """
    return " ".join(symbol if count == 1 else f"{symbol}^{count}" for symbol, count in runs)


class Tape(NamedTuple):
    """The cells from the first to the last non-blank one; `start` is 0 on a blank tape."""

    start: int
    cells: Sequence[str]
    """A tuple; `CellRuns` if an accelerated run has left very many cells."""

    @staticmethod
    def of_runs(symbols: list[str], counts: list[int], start: int, blank: str) -> "Tape":
        """Build the tape from runs of symbols, and strip the blanks at both ends.

        >>> Tape.of_runs(["_", "a", "_"], [3, 2, 1], start=-1, blank="_")
        Tape(start=2, cells=('a', 'a'))
        """
        first, last = 0, len(symbols)
        while first < last and symbols[first] == blank:
            start += counts[first]
            first += 1
        while first < last and symbols[last - 1] == blank:
            last -= 1
        symbols, counts = symbols[first:last], counts[first:last]
        cells = sum(counts)
        if cells > LONG and cells > len(counts):
            return Tape(start, CellRuns(zip(symbols, counts, strict=True)))
        spelled = chain.from_iterable(map(repeat, symbols, counts))
        return Tape(start if symbols else 0, tuple(spelled))

    @property
    def runs(self) -> tuple[tuple[str, int], ...]:
        """The cells as runs of equal symbols."""
        if isinstance(self.cells, CellRuns):
            return self.cells.runs
        return merged((cell, 1) for cell in self.cells)

    @staticmethod
    def of(cells: Sequence[str], start: int, blank: str) -> "Tape":
        """Build the tape with these cells from `start` on, and strip the blanks at both ends.

        >>> Tape.of("__ab_c_", start=-1, blank="_")
        Tape(start=1, cells=('a', 'b', '_', 'c'))
        """
        first, last = 0, len(cells)
        while first < last and cells[first] == blank:
            first += 1
        while first < last and cells[last - 1] == blank:
            last -= 1
        return Tape(start + first if first < last else 0, tuple(cells[first:last]))

    def non_blank(self, blank: str) -> int:
        """How many cells are not blank."""
        if isinstance(self.cells, CellRuns):
            return sum(count for symbol, count in self.runs if symbol != blank)
        return sum(cell != blank for cell in self.cells)

    def __str__(self) -> str:
        """The symbols, joined by commas if one of them has several characters; or as runs."""
        if isinstance(self.cells, CellRuns):
            return runs_text(self.cells.runs)
        return ("" if all(len(cell) == 1 for cell in self.cells) else ",").join(self.cells)


class Configuration(NamedTuple):
    """State q^(i), head c^(i) and symbol s^(i) at time i, with the tape on both sides."""

    state: str
    head: int
    symbol: str
    left: Stack
    right: Stack
    blank: str

    @staticmethod
    def initial(state: str, word: Sequence[str], blank: str, head: int = 0) -> "Configuration":
        """Build the configuration with the word in the cells from 0 on and the head on cell `head`.

        >>> Configuration.initial("q0", "ab", "_").tape
        Tape(start=0, cells=('a', 'b'))
        """
        left: Stack = None
        right: Stack = None
        cells = dict(enumerate(word))
        for cell in range(min(0, head), head):
            left = _push(cells.get(cell, blank), left, blank)
        for cell in range(max(len(word) - 1, head), head, -1):
            right = _push(cells.get(cell, blank), right, blank)
        return Configuration(state, head, cells.get(head, blank), left, right, blank)

    @staticmethod
    def on_tape(state: str, head: int, tape: Tape, blank: str) -> "Configuration":
        """Build the configuration with the head on a cell of a tape.

        >>> Configuration.on_tape("q", 1, Tape(0, ("a", "b")), "_").symbol
        'b'
        """
        if len(tape.cells) > LONGEST:
            raise InputError(
                f"a tape of {len(tape.cells):,} cells is too long for a configuration, which has "
                f"at most {LONGEST:,}; a run has it as runs: {shortened(tape, 60)}"
            )
        found = Configuration.initial(state, tape.cells, blank, head - tape.start)
        return found._replace(head=head)

    def after(self, action: Action) -> "Configuration":
        """Return the next configuration: write, move, change state."""
        state, write, move = action
        left, right = self.left, self.right
        if move is Move.R:
            left = _push(write, left, self.blank)
            symbol, right = right or (self.blank, None)
        elif move is Move.L:
            right = _push(write, right, self.blank)
            symbol, left = left or (self.blank, None)
        else:
            symbol = write
        return Configuration(state, self.head + move.offset, symbol, left, right, self.blank)

    # The stacks are as deep as the tape is long, and Python recurses into nested tuples: so these
    # methods replace those of NamedTuple.

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Configuration):
            return NotImplemented
        flat = (self.state, self.head, self.symbol, self.blank)
        if flat != (other.state, other.head, other.symbol, other.blank):
            return False
        return _are_equal(self.left, other.left) and _are_equal(self.right, other.right)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.state, self.head, self.symbol, self.blank))

    def __reduce__(self) -> tuple[Any, ...]:
        return Configuration.on_tape, (self.state, self.head, self.tape, self.blank)

    def __repr__(self) -> str:
        return f"<{self.state}, head {self.head}, tape {shortened(self.tape, 40) or 'blank'}>"

    def _repr_html_(self) -> str:
        rows = [("state", self.state), ("head", f"cell {self.head}"), ("symbol", self.symbol)]
        return table("configuration", [], [*rows, ("tape", shortened(self.tape, 120) or "blank")])

    @property
    def depth(self) -> int:
        """The number of cells of the larger stack, up to its last non-blank one."""
        return max(sum(1 for _ in symbols_of(stack)) for stack in (self.left, self.right))

    @property
    def tape(self) -> Tape:
        """The tape without the blanks at its ends."""
        left = list(symbols_of(self.left))[::-1]
        cells = [*left, self.symbol, *symbols_of(self.right)]
        return Tape.of(cells, self.head - len(left), self.blank)


def _push(symbol: str, stack: Stack, blank: str) -> Stack:
    # A blank on the empty stack changes nothing: so equal tapes have equal stacks.
    return None if stack is None and symbol == blank else (symbol, stack)


def _are_equal(a: Stack, b: Stack) -> bool:
    while a is not None and b is not None and a is not b:
        if a[0] != b[0]:
            return False
        a, b = a[1], b[1]
    return a is b


def symbols_of(stack: Stack) -> Iterator[str]:
    """The symbols of a stack, its top first."""
    while stack is not None:
        top, stack = stack
        yield top
