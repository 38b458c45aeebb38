"""A network that follows pointers, run with tables: the same codes as the definition's.

Each distinct case is evaluated from the weights once (`evaluation`) and becomes a record of a
table; positions and pointers are followed at every token (`kernel`). A changed weight changes
records, or makes the network unsuitable: then the definition takes over.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from netwright.definitions.transformer import Transformer
from netwright.engine.moments import IndexedCodes, UnsuitableError, Watch
from netwright.engine.pointers import kernel
from netwright.engine.pointers.content import Content
from netwright.engine.pointers.evaluation import (
    ByContent,
    Ended,
    LookUp,
    Node,
    Output,
    Value,
    evaluation_of,
)
from netwright.engine.pointers.inputs import Input, Query
from netwright.engine.transformer.decoder import DecoderEngine
from netwright.exact.arrays import IntArray
from netwright.exact.rational import Rational
from netwright.exact.snapshot import Snapshot, require_consistent
from netwright.exact.vector import Vector

if TYPE_CHECKING:
    from netwright.engine.full.run import FullRun
    from netwright.engine.pointers.accelerated import RunPointers

MOST_RECORDS, MOST_ROWS = 1 << 23, 1 << 16
CHUNK, FIRST_SLOTS, MOST_RECORDED = 1 << 20, 1 << 10, 1 << 14
NOT_BEGUN = (-2, 0)


class PointerEngine(DecoderEngine["Tables | FullRun[Tables] | RunPointers"]):
    """A run of a network that follows pointers."""

    LONG_INPUT = 1023
    """Longer inputs skip the definition, which begins with reading all of the input."""
    accelerates = True

    @staticmethod
    def is_warm() -> bool:
        """Whether the code for tables is compiled."""
        return has_code()

    def ways(self) -> "Iterator[Callable[[], Tables | FullRun[Tables] | RunPointers]]":
        """Many tokens at once, by tables, or with every weight at every token.

        The callables have no reference to the engine: a cycle would keep the engine until a garbage
        collection.
        """
        given = self.network, self.X, self.seed, self.watches
        by_tables = partial(self.made_tables, *given)
        if self.accelerated:
            from netwright.engine.pointers.accelerated import RunPointers  # and its loop

            yield lambda: RunPointers(by_tables(), given[-1])
        yield by_tables if self.tables else partial(_full_run, *given)

    @staticmethod
    def made_tables(
        network: Any, X: Sequence[Vector], seed: Vector, watches: Sequence[Watch]
    ) -> "Tables":
        """The tables of a run."""
        return Tables(network, X, seed, watches)

    @property
    def moves(self) -> int | None:
        """How many moves the accelerated engine has made; None if it does not run."""
        return getattr(self.faster, "moves", None)


def has_code() -> bool:
    """Whether the code for tables is compiled in this process; does not import the compiler."""
    return kernel.compiled.cache_info().currsize > 0


def _full_run(
    network: Transformer, X: Sequence[Vector], seed: Vector, watches: Sequence[Watch]
) -> "FullRun[Tables]":
    from netwright.engine.full.run import FullRun  # the compiler

    tables = Tables(network, X, seed, watches, recording=True)
    return FullRun(network, X, seed, watches, tables)


class Tables:
    """The state of a run, and a table with a record for each case that has come up.

    A case is an output, by its number, with the symbol of the input that is read.
    """

    def __init__(
        self,
        network: Transformer,
        X: Sequence[Vector],
        seed: Vector,
        watches: Sequence[Watch],
        *,
        recording: bool = False,
    ) -> None:
        """With `recording`, the last code of a token is the number of its output.

        Slots and pointers are recorded, too, so that `engine.full.run` can take it as a proposal.
        """
        self.evaluation = evaluation_of(network, watches)
        if len(self.evaluation.pointers) != 2:
            raise UnsuitableError("its outputs do not have exactly two pointers")
        self.input = Input(network, self.evaluation.encoder, X)
        self.content = Content(network, self.evaluation)
        self.output = self.evaluation.seed_output(seed)
        self.values: list[Value | None] = []
        self._value_numbers: dict[Value | None, int] = {}
        self._rows: dict[tuple[int, ...], int] = {}
        """The number of each row of codes."""
        self._codes = np.zeros((0, len(watches) + recording), np.int64)
        size = MOST_RECORDED if recording else 0
        self.recorded = np.zeros((size, len(kernel.RECORDED)), np.int64)
        self.shown: list[Output] = [self.output]
        self._shown: dict[Output, int] = {self.output: 0}
        """The number of each output in `shown`, while recording."""
        self.slots = np.zeros((FIRST_SLOTS, kernel.SLOT), np.int64)
        self.clock = np.zeros(kernel.CLOCK, np.int64)
        self.clock[kernel.USED] = 1
        self._width = 8
        """Records per case: one for each value, and one for a look-up of no single token."""
        self._clear()
        self._loop = kernel.compiled(recording=recording)

    def _clear(self) -> None:
        """Empty the tables, because answers of input or content changed, or `_width` grew."""
        self._version = self._answers
        self._outputs: list[Output] = []
        self._numbers: dict[Output, int] = {}
        self._headers = np.zeros((16, self.input.end + 1, kernel.HEADER), np.int64)
        """By output and symbol; a base of −1 − n says that this case of output n has not begun."""
        self._owners: list[int] = []
        """The outputs of the cases that have begun, in the order of their records."""
        self._records = np.zeros((16 * self._width, kernel.RECORD), np.int64)
        self._addresses: tuple[int, ...] | None = None

    @property
    def _answers(self) -> tuple[int, int, int]:
        """A version number: changes when answers change, or when `_width` grows."""
        return self.input.version, self.content.version, self._width

    @property
    def moments(self) -> int:
        """How many tokens are done."""
        return int(self.clock[kernel.TOKEN])

    @property
    def reads(self) -> int:
        """How many tokens read the input; one at least."""
        return max(1, self.input.length)

    @property
    def symbol(self) -> int:
        """The symbol of the input that the next token reads."""
        return int(self.input.symbols[min(self.moments, self.input.length)])

    @property
    def pointed(self) -> list[tuple[int, int]]:
        """The targets of the next token's two pointers: slots, and the numbers of tokens."""
        clock = self.clock.tolist()
        return [(clock[n], clock[n + 1]) for n in (kernel.FIRST, kernel.SECOND)]

    def snapshot(self) -> Snapshot:
        """An empty snapshot: the run is repeated, some hundred million tokens a second."""
        return {}

    def restore(self, state: Snapshot) -> None:
        """Raise FormatError: a snapshot of such a run is empty."""
        require_consistent(False, "it has more than its moments")

    # The proposal of a full run, while recording; see `full.run.Proposer`.

    @property
    def pointers(self) -> tuple[int, ...]:
        """The coordinates of outputs that may hold pointers."""
        return self.evaluation.pointers

    @property
    def newest_output(self) -> int:
        """The number of the newest output."""
        return self._shown[self.output]

    def known(self, number: int) -> tuple[Mapping[int, Rational], Sequence[int]]:
        """The numbers of an output, and the coordinates that hold pointers."""
        output = self.shown[number]
        return output.finite, output.pointers

    def propose(self, given: Mapping[str, IntArray], count: int) -> None:
        """Write slots, and the targets of pointers counted from 1; of the next token, too."""
        coordinates = self.evaluation.layout.coordinates
        names = [f"to {coordinates[k].block}" for k in self.pointers]
        for n, name in enumerate(("cell", "look", *names)):
            if name in given:
                given[name][:count] = self.recorded[:count, n]
                if n >= 2:
                    given[name][:count] += 1
                    given[name][count] = 1 + self.pointed[n - 2][1]

    # Tokens.

    def advance(self, count: int) -> IndexedCodes:
        """The codes of the next tokens, at least one, up to a token that is not for tables."""
        numbers = np.empty(min(count, len(self.recorded) or CHUNK), np.uint16)
        done = 0
        try:
            while done < len(numbers):
                done += self._follow(numbers[done:], self.recorded[done:])
        except UnsuitableError:
            if not done:
                raise
        if len(self._codes) != len(self._rows):
            self._codes = np.array([*self._rows], np.int64)
        return IndexedCodes(numbers[:done], self._codes)

    def _follow(self, numbers: NDArray[np.uint16], recorded: IntArray) -> int:
        """Do tokens as far as there are records, or make a missing one; return how many."""
        if self._version != self._answers:
            self._clear()
        output, symbol, clock = self._number(self.output), self.symbol, self.clock
        self._begin(output, symbol)
        if self._version != self._answers:
            return 0
        clock[kernel.ROOM] = len(self.slots)
        clock[: kernel.HEADER] = header = self._headers[output, symbol]
        if not self.moments:
            self.slots[0, 0] = header[2]  # the first token may look itself up
        if self._addresses is None:
            arrays = (self._records, self.slots, self._headers, self.input.symbols, clock)
            self._addresses = tuple(array.ctypes.data for array in arrays)
        written = recorded.ctypes.data, numbers.ctypes.data
        done = self._loop(*self._addresses, *written, len(numbers))
        base = int(clock[kernel.CASE])
        self.output = self._outputs[self._owners[base // self._width] if base > 0 else -1 - base]
        if clock[kernel.STATUS] == kernel.NO_ROOM:
            self._make_room()
        elif clock[kernel.STATUS] != kernel.DONE and not done:
            self._end(output, symbol)
        return done

    def _make_room(self) -> None:
        """Add a quarter more slots, in place where the system allows it."""
        size = len(self.slots)
        if size >= kernel.SLOTS or self.moments >= kernel.TOKENS:
            raise UnsuitableError("more cells than a slot can address")
        self.slots.resize((size + size // 4 + 1, kernel.SLOT), refcheck=False)
        self._addresses = None

    def asks(self, output: Output, symbol: int) -> Node | None:
        """The node of a token before it looks anything up; None if the symbols have changed."""
        return self._answered(self.evaluation.root(output, self.input.first(symbol)), symbol)

    def _answered(self, node: Node | None, symbol: int) -> Node | None:
        """The first node from here on that neither the input nor content answers."""
        while node is not None:
            if isinstance(node.asks, Query):
                answer = self.input.answer(node.asks, symbol)
                node = None if answer is None else self.evaluation.after(node, answer)
            elif isinstance(node.asks, ByContent):
                self.content.check_keys(node.asks.own.layer, None)
                node = self.evaluation.after(node, self.content.best(node.asks))
            else:
                break
        return node

    def look_up(self, output: Output, symbol: int) -> tuple[int, Value | None] | None:
        """The pointer that a token follows, and its own value; None if the symbols have changed."""
        node = self.asks(output, symbol)
        if node is None:
            return None
        if not isinstance(node.asks, LookUp):
            return -1, None
        self.content.check_keys(node.asks.layer, node.asks.keys)
        return node.asks.follows, node.asks.value

    def result(self, output: Output, symbol: int, value: Value | None) -> Ended | None:
        """The result of a token for the value looked up; None if the symbols have changed."""
        node = self.asks(output, symbol)
        if node is not None and isinstance(node.asks, LookUp):
            node = self._answered(self.evaluation.after(node, value), symbol)
        if node is None:
            return None
        if not isinstance(node.asks, Ended):
            raise UnsuitableError("it looks up twice")
        return node.asks

    def _begin(self, output: int, symbol: int) -> None:
        """Evaluate a case up to its look-up, and give it records."""
        if self._headers[output, symbol, 0] > 0:
            return
        looks_up = self.look_up(self._outputs[output], symbol)
        if looks_up is None:
            return
        follows, value = looks_up
        number = self._value_numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
            self._width = max(self._width, 2 ** (number + 1).bit_length())
        base = len(self._owners) * self._width
        if number == kernel.VALUES or base >= MOST_RECORDS:
            raise UnsuitableError("more different tokens than tables have room for")
        if base >= len(self._records):
            self._records = np.concatenate([self._records, np.zeros_like(self._records)])
            self._addresses = None
        if self._version == self._answers:
            self._owners.append(output)
            self._headers[output, symbol] = base + 1, follows, number

    def _end(self, output: int, symbol: int) -> None:
        """Fill the record of a case for the value that the next token looks up."""
        base, follows, _ = self._headers[output, symbol].tolist()
        found = self.looked_up(follows)
        value = self.values[found] if found >= 0 else None
        ended = self.result(self._outputs[output], symbol, value)
        if ended is None:
            return
        following, end = self._number(ended.output), self.input.end
        if symbol == end:
            with suppress(UnsuitableError):  # the next token raises it again, if there is one
                self._begin(following, end)
        self.content.show(ended.shown)
        codes = ended.codes
        if len(self.recorded):
            shown = self._shown.setdefault(ended.output, len(self.shown))
            self.shown += [ended.output] if shown == len(self.shown) else []
            codes = (*codes, shown)
        row = self._rows.setdefault(codes, len(self._rows))
        if row == MOST_ROWS:
            raise UnsuitableError(f"more than {MOST_ROWS:,} different tokens")
        if self._version == self._answers:
            headers = -1 if symbol == end else following * self._headers[0].size
            fields = (row, *ended.pointers, headers, *self._headers[following, end])
            self._records[base + found, : len(fields)] = fields

    def looked_up(self, follows: int) -> int:
        """The number of the value that the next token looks up; −1 if it follows no pointer."""
        if follows < 0:
            return -1
        slot, token = self.pointed[follows]
        there, value = divmod(int(self.slots[slot, 0]), kernel.VALUES)
        if there != token:
            raise UnsuitableError("a pointer is to a token that was visited since")
        return value

    def _number(self, output: Output) -> int:
        number = self._numbers.setdefault(output, len(self._outputs))
        if number == len(self._outputs):
            self._outputs.append(output)
            if number == len(self._headers):
                self._headers = np.concatenate([self._headers, np.zeros_like(self._headers)])
                self._addresses = None
            self._headers[number] = (-1 - number, *NOT_BEGUN)
        return number
