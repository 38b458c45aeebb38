"""A network that follows pointers, run with tables: the same codes as the definition's.

What a token does for each distinct case is evaluated from the weights once (`evaluation`), and
kept as a record of a table; positions and pointers are followed at every token (`kernel`). A
changed weight changes records, or makes the network unsuitable: then the definition goes on.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

import numpy as np

from netwright.engine.moments import (
    Coded,
    ReferenceEngine,
    UnsuitableError,
    Watch,
    watched,
)
from netwright.engine.staged import StagedEngine, Vectors
from netwright.exact.snapshot import Snapshot, require_consistent
from netwright.exact.vector import Vector
from netwright.nets.transformer import Transformer
from netwright.runtime.pointers import kernel
from netwright.runtime.pointers.content import Content
from netwright.runtime.pointers.evaluation import (
    ByContent,
    Ended,
    LookUp,
    Node,
    Output,
    Value,
    evaluation_of,
)
from netwright.runtime.pointers.inputs import Input, Query
from netwright.runtime.transformer.decoder import fast_tokens

MOST_RECORDS, MOST_ROWS = 1 << 22, 1 << 16
CHUNK = 1 << 20
NOT_BEGUN = (-2, 0)
LONG = 1 << 10
"""From this length on an input is not for the definition, which reads all of it at first."""
FIRST_SLOTS, TRIES, SPREAD = 1024, 8, 4


class PointerEngine(StagedEngine["Tables"]):
    """A decoder's run on an input, token by token."""

    def __init__(
        self,
        network: Transformer,
        X: Sequence[Vector],
        seed: Vector,
        watches: Sequence[Watch],
        *,
        reference_steps: int = 0,
    ) -> None:
        self.network, self.X, self.seed = network, X, seed
        super().__init__(watches, reference_steps if len(X) < LONG else 0)

    @staticmethod
    def is_warm() -> bool:
        """Whether there is code for tables."""
        return has_code()

    def ways(self) -> Iterator[Callable[[], "Tables"]]:
        """By tables; without a reference to the engine, which would keep it until a collection."""
        return iter([partial(Tables, self.network, self.X, self.seed, self.watches)])

    def definition(self) -> Vectors:
        """Token by token."""
        return map(watched, self.network.tokens(self.X, self.seed))

    def rationals(self) -> ReferenceEngine:
        """From the first token on, as they need every key."""
        vectors = map(watched, fast_tokens(self.network, self.X, self.seed))
        return ReferenceEngine(vectors, self.watches, fast=True)


def has_code() -> bool:
    """Whether there is code for tables in this process; asking does not import the compiler."""
    return kernel.compiled.cache_info().currsize > 0


@dataclass(eq=False)
class Case:
    """An output, and the symbol of the input that is read."""

    output: Output
    symbol: int
    base: int
    begun: tuple[int, int] = NOT_BEGUN
    """The pointer that it follows, or −1, and its value."""
    found: list[int] = field(default_factory=list)
    """The values for which it has a record."""
    leading: "list[tuple[Case, int]]" = field(default_factory=list)
    """The records that lead to it: cases and values."""

    @property
    def header(self) -> tuple[int, int, int]:
        """What the loop has of it before it looks anything up."""
        return self.base, *self.begun


class Tables:
    """The cases that came up, their records, and where the run stands."""

    def __init__(
        self, network: Transformer, X: Sequence[Vector], seed: Vector, watches: Sequence[Watch]
    ) -> None:
        self.evaluation = evaluation_of(network, watches)
        if len(self.evaluation.pointers) != 2:
            raise UnsuitableError("its outputs have not two pointers")
        self.input = Input(network, self.evaluation.encoder, X)
        self.content = Content(network)
        self.values: list[Value | None] = []
        self._value_numbers: dict[Value | None, int] = {}
        self._rows: dict[tuple[int, ...], int] = {}
        """The codes of tokens, with their numbers."""
        self._codes = np.zeros((0, len(watches)), np.int64)
        self.slots = np.zeros((FIRST_SLOTS, kernel.SLOT), np.int64)
        self.clock = np.zeros(kernel.CLOCK, np.int64)
        self.clock[kernel.USED] = 1
        self.clock[kernel.ROOM], self.clock[kernel.LENGTH] = len(self.slots), len(X)
        self.output = self.evaluation.of(seed)
        self._draw = Random(0)
        self._addresses: tuple[int, ...] | None = None
        self._forget()
        self._loop = kernel.compiled()

    @property
    def moments(self) -> int:
        """How many tokens were done."""
        return int(self.clock[kernel.TOKEN])

    def snapshot(self) -> Snapshot:
        """Nothing: tables take a second for some hundred million tokens, and do them again."""
        return {}

    def restore(self, state: Snapshot) -> None:
        """Refuse what is none of theirs."""
        require_consistent(False, "it has more than its moments")

    def advance(self, count: int) -> Coded:
        """The next tokens, one at least: up to one that is not for tables, which is the next."""
        numbers = np.empty(min(count, CHUNK), np.uint16)
        done = 0
        while done < len(numbers):
            if self._version != self.input.version + self.content.version:
                self._forget()
            clock, case = self.clock, self.case
            clock[: kernel.HEADER] = case.header
            if self._addresses is None:
                self._addresses = self._found_in_memory()
            records, slots, headers, symbols, at = self._addresses
            first = numbers[done:].ctypes.data
            now = self._loop(records, slots, first, headers, symbols, at, len(numbers) - done)
            done += now
            if now:
                base = int(clock[kernel.CASE])
                self.output = self._cases[base].output if base >= 0 else self._outputs[-1 - base]
            try:
                if clock[kernel.STATUS] == kernel.NO_ROOM:
                    self._make_room()
                elif clock[kernel.STATUS] != kernel.DONE:
                    self._complete(self.case)
            except UnsuitableError:
                if done:
                    break
                raise
        if len(self._codes) != len(self._rows):
            self._codes = np.array([*self._rows], np.int64)
        return Coded(numbers[:done], self._codes)

    def _make_room(self) -> None:
        """A quarter more slots, where they are if the system can do so."""
        size = len(self.slots)
        if size >= kernel.SLOTS or self.moments >= kernel.TOKENS:
            raise UnsuitableError("more cells than a slot can tell")
        self.slots.resize((size + size // 4 + 1, kernel.SLOT), refcheck=False)
        self.clock[kernel.ROOM] = len(self.slots)
        self._addresses = None

    def _found_in_memory(self) -> tuple[int, ...]:
        """Where the arrays of the loop are."""
        arrays = (self._records, self.slots, self._headers, self.input.symbols, self.clock)
        return tuple(array.ctypes.data for array in arrays)

    # Evaluation.

    @property
    def case(self) -> Case:
        """The case of the next token."""
        return self._case(self.output, self.input.symbol(self.moments))

    def asks(self, case: Case) -> Node | None:
        """A token of a case that has not looked up; None if symbols are others than they were."""
        root = self.evaluation.root(case.output, self.input.first(case.symbol))
        return self._answered(root, case.symbol)

    def _answered(self, node: Node | None, symbol: int) -> Node | None:
        """The first node from here on that is not answered by the input, or by content."""
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

    def _complete(self, case: Case) -> None:
        """Evaluate what is missing of a case: its beginning, or what comes of what it looked up."""
        node = self.asks(case)
        if node is None:
            return
        if case.begun == NOT_BEGUN:
            follows, value = -1, None
            if isinstance(node.asks, LookUp):
                self.content.check_keys(node.asks.layer, node.asks.keys)
                follows, value = node.asks.follows, node.asks.value
            case.begun = follows, self._number(value)
            self._announce(case)
        found = self.looked_up(case.begun[0])
        if isinstance(node.asks, LookUp):
            value = self.values[found] if found >= 0 else None
            node = self._answered(self.evaluation.after(node, value), case.symbol)
        if node is None:
            return
        if not isinstance(node.asks, Ended):
            raise UnsuitableError("it looks up twice")
        self.content.show(node.asks.shown)
        if self._version == self.input.version + self.content.version:
            self._record(case, found, node.asks)  # else it is a case of other tables

    def looked_up(self, follows: int) -> int:
        """The number of the value that the next token looks up; −1 for no single one."""
        if follows < 0:
            return -1
        slot, token = self.pointed[follows]
        there, value = divmod(int(self.slots[slot, 0]), kernel.VALUES)
        if there != token:
            raise UnsuitableError("a pointer is to a token that was visited since")
        return value

    @property
    def pointed(self) -> list[tuple[int, int]]:
        """Where the two pointers of the next token are to: slots, and the numbers of tokens."""
        clock = self.clock.tolist()
        return [(clock[n], clock[n + 1]) for n in (kernel.FIRST, kernel.SECOND)]

    def _number(self, value: Value | None) -> int:
        number = self._value_numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            if number == kernel.VALUES:
                raise UnsuitableError(f"more than {kernel.VALUES:,} different values")
            self.values.append(value)
            self._reach(self._end)
        return number

    # Records.

    def _forget(self) -> None:
        """Begin tables anew: input or content answer otherwise than they did."""
        self._version = self.input.version + self.content.version
        self._known: dict[tuple[Output, int], Case] = {}
        self._cases: dict[int, Case] = {}
        """By base."""
        self._outputs: list[Output] = []
        self._output_numbers: dict[Output, int] = {}
        self._headers = np.zeros((0, self.input.end, kernel.HEADER), np.int64)
        """By output and symbol; a base of −1 − n is that of no case yet, with output n."""
        self._records = np.full((64, kernel.RECORD), -1, np.int64)
        self._addresses = None
        self._end = 0
        """No record is owned from here on."""

    def _case(self, output: Output, symbol: int) -> Case:
        case = self._known.get((output, symbol))
        if case is None:
            case = self._known[output, symbol] = Case(output, symbol, self._end + 1)
            self._cases[case.base] = case
            self._reach(self._end + SPREAD)
        return case

    def _reach(self, end: int) -> None:
        """Let every place be one of the array where a record of some value may be looked for."""
        self._end = max(self._end, end)
        if self._end > MOST_RECORDS:
            raise UnsuitableError(f"more than {MOST_RECORDS:,} different tokens")
        while self._end + len(self.values) + 1 > len(self._records):
            self._records = np.concatenate([self._records, np.full_like(self._records, -1)])
            self._addresses = None

    def _record(self, case: Case, found: int, ended: Ended) -> None:
        """Note what comes of a case for a value."""
        row = self._rows.setdefault(ended.codes, len(self._rows))
        if row == MOST_ROWS:
            raise UnsuitableError(f"more than {MOST_ROWS:,} different tokens")
        if self._is_taken(case.base, [found]):
            self._move(case, [*case.found, found])
        case.found.append(found)
        following = self._case(ended.output, self.input.end)
        following.leading.append((case, found))
        headers = 0 if case.symbol == self.input.end else self._headers_of(ended.output)
        fields = (case.base, row, *ended.pointers, headers, *following.header)
        self._records[case.base + found] = fields
        self._end = max(self._end, case.base + found + 1)

    def _is_taken(self, base: int, found: Iterable[int]) -> bool:
        return any(self._records[base + each, kernel.OWNER] >= 0 for each in found)

    def _move(self, case: Case, found: Sequence[int]) -> None:
        """Give a case a base with room for records of some values: between others, or after all."""
        bases = (self._draw.randrange(1, self._end + 1) for _ in range(TRIES))
        fitting = (n for n in bases if n not in self._cases and not self._is_taken(n, found))
        base = next(fitting, self._end + 1)
        self._reach(base + max(found) + 1)
        for each in case.found:
            self._records[base + each] = self._records[case.base + each]
            self._records[base + each, kernel.OWNER] = base
            self._records[case.base + each] = -1
        del self._cases[case.base]
        case.base, self._cases[base] = base, case
        self._announce(case)

    def _announce(self, case: Case) -> None:
        """Tell those that lead to a case what it is."""
        for other, found in case.leading:
            self._records[other.base + found, kernel.NEXT :] = case.header
        if case.symbol != self.input.end:
            first = self._headers_of(case.output) // kernel.HEADER
            self._headers.reshape(-1, kernel.HEADER)[first + case.symbol] = case.header

    def _headers_of(self, output: Output) -> int:
        """Where the headers of an output begin."""
        number = self._output_numbers.setdefault(output, len(self._outputs))
        if number == len(self._outputs):
            self._outputs.append(output)
            if number == len(self._headers):
                empty = np.zeros((max(16, number), *self._headers.shape[1:]), np.int64)
                self._headers = np.concatenate([self._headers, empty])
                self._addresses = None
            self._headers[number] = (-1 - number, *NOT_BEGUN)
        return number * self.input.end * kernel.HEADER
