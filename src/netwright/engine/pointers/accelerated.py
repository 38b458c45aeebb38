"""A network that follows pointers, accelerated: many tokens at once, from the weights alone.

A token has a value, which is looked up, and two pointers, which are never changed. So the tokens
that can be reached from the newest output by its first pointer alone are a stack, and so are those
by the second one: looking up the top of a stack and taking that token's own pointer pops it, and a
pointer to the new token pushes the token's value. A case is an output with the value that it looks
up. It is an entry of two stacks of values, the same at every moment, and the loop is that of
`exact.runs`. A network whose pointers do more than that is unsuitable.

The stacks of a Turing machine's network are the tape left and right of the head: a token's pointers
are to the last visits of the cells beside it.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from netwright.engine.moments import Codes, RepeatedCodes, UnsuitableError, Watch
from netwright.engine.pointers import kernel
from netwright.engine.pointers.engine import Tables
from netwright.engine.pointers.evaluation import NEW, NONE, NULL, Ended, Output, Value
from netwright.errors import InputError
from netwright.exact import entries
from netwright.exact.arrays import IntArray
from netwright.exact.blocks import BlockStacks
from netwright.exact.entries import ALL, BY_HAND, GROWS, POPS, PUSHED, ROW, STATUS, Shape
from netwright.exact.runs import MOST_MOVES, Emitted, Pieces, Runs
from netwright.exact.snapshot import FARTHEST, Snapshot

SHAPE = Shape(2, 1)
MOST_ENTRIES = 1 << 20
FIRST_DIGITS = 8
Effects = tuple[int, int, int, int]
"""How many values each stack loses, and then gets: those of the first stack come first."""


class RunPointers:
    """The run of a network that follows pointers: its input token by token, then by moves."""

    moves = 0
    """How many moves were done."""

    def __init__(self, tables: Tables, watches: Sequence[Watch]) -> None:
        self.tables, self.reads = tables, tables.reads
        """`reads` is how many tokens the tables do: those that read the input, and the first."""
        self.held: BlockStacks | None = None
        """The stacks; None while the input is read."""
        self._pieces, self.time = Pieces(), 0
        self.values: list[Value | None] = []
        """By digit; that of token 0, which stays below all others, is `EMPTY`."""
        self._digits: dict[Value | None, int] = {}
        self._numbered: dict[tuple[tuple[int, ...], Effects], int] = {}
        self.codes = np.zeros((0, len(watches)), np.int64)
        """What watches see, by the number of a code."""
        self._needed = FIRST_DIGITS
        self._clear()

    def _clear(self) -> None:
        """Drop all entries, because answers of input or content changed, or digits have no room."""
        self._version, self._room = self._answers, self._needed
        self.outputs: list[Output] = []
        self._numbers: dict[Output, int] = {}
        self._rows = np.zeros((1 + 8 * self._room, SHAPE.width), np.int64)
        """Row 0 only leads to an output; row 1 + n·room + d is that of output n with digit d."""
        self._rows[1:, entries.FLAGS] = 1

    @property
    def effects(self) -> IntArray:
        """What tokens do to the two stacks, by the number of a code."""
        return np.array([effects for _, effects in self._numbered], np.int64)

    @property
    def _answers(self) -> tuple[int, int, int]:
        tables = self.tables
        return tables.input.version, tables.content.version, self._needed

    @property
    def moments(self) -> int:
        """How many tokens are done."""
        return self.tables.moments if self.held is None else self.time

    def snapshot(self) -> Snapshot:
        """An empty snapshot: the run is repeated."""
        if self.moments > FARTHEST:
            raise InputError(f"a run of more than {FARTHEST:,} tokens is not saved to a file")
        return self.tables.snapshot()

    def restore(self, state: Snapshot) -> None:
        """Raise FormatError: a snapshot of such a run is empty."""
        self.tables.restore(state)

    # The stacks.

    def begin(self) -> BlockStacks:
        """The stacks, from the slots that the newest output's pointers lead to."""
        if self.held is None:
            v0 = int(self.tables.slots[0, 0])
            if v0 >= kernel.VALUES:
                raise UnsuitableError("token 0 has lost its place")
            self._digit(self.tables.values[v0])
            stacks = [Runs.of(np.array(self._reached(s), np.int64)) for s in (0, 1)]
            self.time = self.tables.moments
            self.put(self.tables.output, stacks)
        assert self.held is not None
        return self.held

    def _reached(self, s: int) -> list[int]:
        """The digits of the tokens that pointer s alone leads to, but for token 0, lowest first."""
        values = self.tables.values
        return [self._digit(values[value]) for _, value, _ in self.chain(s)][::-1]

    def chain(self, s: int) -> Iterator[tuple[int, int, list[int]]]:
        """The tokens that pointer s alone leads to, but for token 0, highest first.

        Each with its value's index, and the tokens that its own pointers are to.
        """
        slot, token = self.tables.pointed[s]
        while token:
            head, two, *pointers = self.tables.slots[slot].tolist()
            there, value = divmod(head, kernel.VALUES)
            if there != token:
                raise UnsuitableError("a pointer is to a token that was visited since")
            yield token, value, pointers
            slot, token = two >> 32 * s & 0xFFFFFFFF, pointers[s]

    def put(self, output: Output, stacks: Sequence[Runs]) -> None:
        """Continue with an output and two stacks."""
        if self._version != self._answers:
            self._clear()
        self.held = BlockStacks(SHAPE, stacks, self._pieces)
        first, number = self._rows[0], self._number(output)
        first[:] = 0
        first[entries.BASE] = self._address(number)
        self._lead(0, number)

    def state(self) -> tuple[Output, list[Runs]]:
        """The newest output, and the stacks: the last entry of the loop is not applied yet."""
        held = self.begin()
        row, stacks = self._rows[int(held.clock[ROW]) // SHAPE.width], held.stacks()
        if row[entries.FLAGS]:
            return self.outputs[(int(held.clock[ROW]) // SHAPE.width - 1) // self._room], stacks
        number = (int(row[entries.BASE]) // SHAPE.width - 1) // self._room
        fields = [[int(row[SHAPE.field(s, n)]) for n in range(3)] for s in (0, 1)]
        return self.outputs[number], [
            each.after(pops, pushed if grows else None)
            for each, (pops, pushed, grows) in zip(stacks, fields, strict=True)
        ]

    # Entries.

    def _digit(self, value: Value | None) -> int:
        digit = self._digits.setdefault(value, len(self.values))
        if digit == len(self.values):
            self.values.append(value)
            while digit >= self._needed:
                self._needed *= 2
        return digit

    def _number(self, output: Output) -> int:
        number = self._numbers.setdefault(output, len(self.outputs))
        if number == len(self.outputs):
            self.outputs.append(output)
            if 1 + (number + 1) * self._room > len(self._rows):
                if len(self._rows) > MOST_ENTRIES:
                    raise UnsuitableError(f"more than {MOST_ENTRIES:,} entries")
                more = np.zeros_like(self._rows[1:])
                more[:, entries.FLAGS] = 1
                self._rows = np.concatenate([self._rows, more])
        return number

    def _address(self, number: int) -> int:
        return (1 + number * self._room) * SHAPE.width

    def _lead(self, row: int, number: int) -> None:
        """Make a row lead to an output: to the entry for the value that it looks up.

        An output that cannot be evaluated leads to an entry that cannot be filled.
        """
        try:
            looks_up = self.tables.look_up(self.outputs[number], self.tables.input.end)
        except UnsuitableError:
            return
        follows = -1 if looks_up is None else looks_up[0]
        self._rows[row, entries.BASE] = self._address(number)
        if follows >= 0:
            self._rows[row, SHAPE.multiple(follows, 0)] = SHAPE.width
            self._rows[row, SHAPE.reads(follows)] = 1

    def _fill(self, row: int) -> bool:
        """Fill the entry of an output and a digit; False if answers have changed meanwhile."""
        number, digit = divmod(row - 1, self._room)
        tables, output, end = self.tables, self.outputs[number], self.tables.input.end
        looks_up = tables.look_up(output, end)
        if looks_up is None:
            return False
        follows, own = looks_up
        ended = tables.result(output, end, self.values[digit] if follows >= 0 else None)
        if ended is None:
            return False
        tables.content.show(ended.shown)
        effects, pushed = _effects(ended, follows), self._digit(own)
        if self._version != self._answers:
            return False
        code = self._numbered.setdefault((ended.codes, effects), len(self._numbered))
        following = self._number(ended.output)
        fields = np.zeros(SHAPE.width, np.int64)
        fields[entries.EMITS], fields[entries.CODE] = 1, code
        fields[entries.BASE] = self._address(following)
        fields[entries.REPEATS] = following == number
        for s in (0, 1):
            fields[SHAPE.field(s, POPS)], fields[SHAPE.field(s, GROWS)] = effects[2 * s : 2 * s + 2]
            fields[SHAPE.field(s, PUSHED)] = pushed if effects[2 * s + 1] else 0
        self._rows[row] = fields
        self._lead(row, following)
        return True

    # Tokens.

    def advance(self, count: int) -> Codes:
        """The codes of the next tokens, at least one; UnsuitableError if there is none."""
        if self.held is None and self.moments < self.reads:
            return self.tables.advance(min(count, self.reads - self.moments))
        emitted, done = Emitted(min(count, MOST_MOVES)), 0
        held = self.begin()
        while done < count and emitted.size < len(emitted.codes):
            if self._version != self._answers:
                self.put(*self.state())
                held = self.begin()
            none_is_zero = np.zeros(len(self.values), np.int64)
            done += held.advance(self._rows, none_is_zero, emitted, count - done)
            if held.clock[STATUS] != BY_HAND:
                break
            row = int(held.clock[ROW]) // SHAPE.width
            try:
                is_filled = self._fill(row)
            except UnsuitableError:
                if not done:
                    raise
                break
            if is_filled:
                emitted.codes[emitted.size] = self._rows[row, entries.CODE]
                emitted.counts[emitted.size] = 1
                emitted.size, done = emitted.size + 1, done + 1
        self.time += done
        self.moves += emitted.size
        if len(self.codes) != len(self._numbered):
            self.codes = np.array([codes for codes, _ in self._numbered], np.int64)
        numbers, counts = emitted.codes[: emitted.size], emitted.counts[: emitted.size]
        return RepeatedCodes(numbers, self.codes, counts, done, self._pieces)


def _effects(ended: Ended, follows: int) -> Effects:
    """What a token does to the two stacks: its own pointers, and the one that it follows, say so.

    The token pushes itself where it becomes the target. Taking the own pointer of the token that
    was looked up pops the stack on which that token is. A pointer to token 0 is an empty stack.
    """
    found: list[int] = []
    for s, target in enumerate(ended.pointers):
        if target in (NONE, NULL):
            found += ALL, 0
        elif target == NEW:
            found += 0, 1
        elif target == NEW + 1 + s:
            found += 0, 0
        elif target == NEW + 3 + s and follows == s:
            found += 1, 0
        else:
            raise UnsuitableError("a pointer is to a token of the other stack")
    return found[0], found[1], found[2], found[3]
