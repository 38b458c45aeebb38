"""A network that follows pointers, run with tables: the same codes as the definition's.

What a token does for each distinct case is evaluated from the weights once (`evaluation`), and
kept as a row of a table; positions and pointers are followed at every token (`kernel`). A changed
weight changes the rows, or makes the network unsuitable: then the definition goes on.
"""

from collections.abc import Callable, Iterator, Sequence

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
from netwright.runtime.pointers.evaluation import Ended, Evaluation, Output, Value
from netwright.runtime.pointers.input_attention import External
from netwright.runtime.transformer.decoder import fast_tokens

MOST_ROWS = 60_000
CHUNK = 1 << 20
NOT_BEGUN = (-2, 0)
Case = tuple[Output, External | None, int]
"""An output, the input token, and how many different things tokens have shown so far."""


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
        super().__init__(watches, reference_steps)

    @staticmethod
    def is_warm() -> bool:
        """Whether there is code for tables."""
        return has_code()

    def ways(self) -> Iterator[Callable[[], "Tables"]]:
        """By tables."""
        yield lambda: Tables(self.network, self.X, self.seed, self.watches)

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


class Tables:
    """The cases that came up, their rows, and where the run stands."""

    def __init__(
        self, network: Transformer, X: Sequence[Vector], seed: Vector, watches: Sequence[Watch]
    ) -> None:
        self.evaluation = Evaluation(network, X, watches)
        if len(self.evaluation.pointers) != 2:
            raise UnsuitableError("its outputs have not two pointers")
        self.X = X
        self.cases: dict[Case, int] = {}
        self.begun: dict[int, tuple[int, int]] = {}
        """By case: the pointer that it follows, or −1, and its value."""
        self.values: dict[Value, int] = {}
        self.ended: list[Ended] = []
        self.records = np.full((16, 17, kernel.RECORD), -1, np.int64)
        self.leading: dict[int, list[tuple[int, int]]] = {}
        """By case: the records that lead to it."""
        self.codes = np.zeros((16, len(watches)), np.int64)
        self.slots = np.zeros((1024, kernel.RECORD), np.int64)
        self.externals: dict[tuple[Vector, int | None], External] = {}
        self.clock = np.zeros(kernel.CLOCK, np.int64)
        self.clock[kernel.USED] = 1
        self.output, _ = self.evaluation.of(seed)
        self._loop = kernel.compiled()

    @property
    def moments(self) -> int:
        """How many tokens were done."""
        return int(self.clock[kernel.TOKEN])

    def snapshot(self) -> Snapshot:
        """Nothing: tables take a second for some sixty million tokens, and do them again."""
        return {}

    def restore(self, state: Snapshot) -> None:
        """Refuse what is none of theirs."""
        require_consistent(False, "it has more than its moments")

    def advance(self, count: int) -> Coded:
        """The next tokens, one at least: up to one that is not for tables, which is the next time.

        They come one by one while the input is read, and then many at once.
        """
        count = min(count, CHUNK)
        reading = len(self.X) - int(self.clock[kernel.TOKEN])
        numbers = np.zeros(1 if reading > 0 else count, np.uint16)
        done = 0
        while done < len(numbers):
            case = (self.output, self.external(), len(self.evaluation.shown))
            self.clock[kernel.CASE] = number = self._case(case)
            self.clock[[kernel.FOLLOWS, kernel.VALUE]] = self.begun.get(number, NOT_BEGUN)
            self.clock[[kernel.NOBODY, kernel.ROOM]] = self.records.shape[1] - 1, len(self.slots)
            arrays = (self.records, self.slots, numbers[done:], self.clock)
            now = self._loop(*(array.ctypes.data for array in arrays), len(numbers) - done)
            status = self.clock[kernel.STATUS]
            done += now
            if now:
                self.output = self.ended[numbers[done - 1]].output
            if status == kernel.MISSING:
                if now:
                    continue  # the case may be another one, and is looked up above
                try:
                    self._complete(case)
                except UnsuitableError:
                    if done:
                        break
                    raise
            elif status == kernel.STALE:
                if done:
                    break
                raise UnsuitableError("a pointer is to a token that was visited since")
            elif status == kernel.NO_ROOM:
                self.slots = np.concatenate([self.slots, np.zeros_like(self.slots)])
        return Coded(numbers[:done], self.codes[: len(self.ended)])

    def external(self) -> External | None:
        """The input token of the token that comes next: the next one, or the last for ever."""
        if not self.X:
            return None
        token, last = int(self.clock[kernel.TOKEN]), len(self.X)
        at_end = token >= last
        place = (self.X[min(token, last - 1)], last if at_end else None)
        if place not in self.externals:
            self.externals[place] = External(*place, first=last + 1 if at_end else 1)
        return self.externals[place]

    def _case(self, case: Case) -> int:
        number = self.cases.setdefault(case, len(self.cases))
        if number == len(self.records):
            self.records = np.concatenate([self.records, np.full_like(self.records, -1)])
        return number

    def _complete(self, case: Case) -> None:
        """Evaluate what is missing of a case: its beginning, or what comes of what it looked up."""
        number = self.cases[case]
        output, external, _ = case
        if number not in self.begun:
            begun = self.evaluation.begin(output, external)
            follows = -1 if begun.follows is None else begun.follows
            self.begun[number] = follows, self._value(begun.value)
            for place in self.leading.get(number, ()):
                self.records[place][[kernel.NEXT_FOLLOWS, kernel.NEXT_VALUE]] = self.begun[number]
            return
        found = self._looked_up()
        nobody = self.records.shape[1] - 1
        value = None if found == nobody else list(self.values)[found]
        ended = self.evaluation.end(output, external, value)
        if self.evaluation.show(ended.shown):
            return  # with what is new it is another case
        row = len(self.ended)
        if row == MOST_ROWS:
            raise UnsuitableError(f"more than {MOST_ROWS:,} different tokens")
        if row == len(self.codes):
            self.codes = np.concatenate([self.codes, self.codes])
        self.ended.append(ended)
        self.codes[row] = ended.codes
        # What comes next is a case with the same input token, once the input is over.
        following = -1
        if external is None or external.position is not None:
            following = self._case((ended.output, *case[1:]))
            place = (number, -1 if found == nobody else found)  # the last column may move
            self.leading.setdefault(following, []).append(place)
        after = self.begun.get(following, NOT_BEGUN)
        self.records[number, found, :6] = (row, following, *after, *ended.pointers)

    def _looked_up(self) -> int:
        """The value that the next token looks up."""
        follows = int(self.clock[kernel.FOLLOWS])
        if follows < 0:
            return self.records.shape[1] - 1
        slot = int(self.clock[kernel.SECOND if follows else kernel.FIRST])
        return int(self.slots[slot, 1])

    def _value(self, value: Value) -> int:
        number = self.values.setdefault(value, len(self.values))
        nobody = self.records.shape[1] - 1
        if number == nobody:  # the last column is for no single token
            more = np.full_like(self.records[:, :nobody], -1)
            parts = (self.records[:, :nobody], more, self.records[:, nobody:])
            self.records = np.concatenate(parts, axis=1)
        return number
