"""A run in full: tables propose its outputs, and every weight is applied to every token.

A token that differs from the proposal would be a bug of the tables. Tokens that vector code cannot
follow are left to rationals: for example, outputs not made of one-hot blocks, numbers and pointers.
"""

from collections.abc import Mapping, Sequence
from math import lcm
from typing import Generic, Protocol, TypeVar

import numpy as np

from netwright.definitions.transformer import Transformer
from netwright.engine.full.checked import CHUNK, Checked
from netwright.engine.full.program import Decoder, Numbered, Part, Pointed, one_hot
from netwright.engine.moments import FasterMoments, IndexedCodes, UnsuitableError, Watch
from netwright.exact.arrays import IntArray
from netwright.exact.feed_forward import FeedForward
from netwright.exact.rational import ONE, Rational
from netwright.exact.snapshot import Snapshot
from netwright.exact.vector import Vector

LARGEST = 1 << 20
"""The largest denominator of an output's numbers."""


class Proposer(FasterMoments, Protocol):
    """Tables that propose a run; the last code of a token is the number of its output."""

    @property
    def pointers(self) -> Sequence[int]:
        """The coordinates of outputs that may hold pointers."""

    @property
    def newest_output(self) -> int:
        """The number of the newest output."""

    def known(self, number: int) -> tuple[Mapping[int, Rational], Sequence[int]]:
        """The numbers of an output, and the coordinates that hold pointers."""

    def advance(self, count: int, /) -> IndexedCodes:
        """The codes of the next tokens, at least one; raise UnsuitableError if that fails."""

    def propose(self, given: Mapping[str, IntArray], count: int) -> None:
        """Write the targets of pointers, and cells, for these tokens and the next one."""


P = TypeVar("P", bound=Proposer)
Columns = dict[str, tuple[int, IntArray]]
"""By hint: how many tokens later its code is read, and the code by the number of a row."""


def _is_many_to_one(watch: Watch) -> bool:
    """Whether several numbers of an output have the same code."""
    numbers = watch.numbers or {}
    return watch.vector == "y" and len({*numbers.values()}) < len(numbers)


class FullRun(Generic[P]):
    """A decoder's run, token by token."""

    def __init__(
        self,
        network: Transformer,
        X: Sequence[Vector],
        seed: Vector,
        watches: Sequence[Watch],
        tables: P,
    ) -> None:
        self.tables, self.watches = tables, watches
        self.layout = layout = network.layout
        if not isinstance(network.F, FeedForward):
            raise UnsuitableError("F is not a feed-forward network")
        last = network.F.maps[-1]
        live = {column for _, column in last.weights} | {*last.bias.entries, *seed.entries}
        vectors = {id(x): x for x in (seed, *X)}.values()
        self.over = lcm(*(int(x.q) for each in vectors for x in each.entries.values()))
        if self.over > LARGEST:
            raise UnsuitableError("a denominator is too large")
        self.blocks = [
            (block, layout.places(block))
            for block, _ in layout.blocks
            if any(k in live for k in layout.places(block))
        ]
        decoder = Decoder(network, X, self._output(0))
        decoder.require(decoder.vectors["y"], decoder.vector(self._output(1)))
        self._read_off = [n for n, watch in enumerate(watches) if _is_many_to_one(watch)]
        """The watches whose codes are read off the checked outputs."""
        for n, watch in enumerate(watches):
            if n not in self._read_off:
                decoder.require_watched(watch, f"watch {n}")
        self.checked = Checked(decoder)
        self._codes: list[dict[str, int]] = []
        """By the number of an output: its codes, by hint."""
        self._inexpressible: set[int] = set()
        """The numbers of outputs that codes cannot express; their check fails."""
        self._known, self._columns = 0, Columns()
        self.synchronise()

    def _output(self, shift: int) -> list[Part]:
        parts: list[Part] = []
        for block, places in self.blocks:
            k = places[0]
            if k in self.tables.pointers:
                parts.append(Pointed(f"to {block}", k, shift, unless=f"has {block}"))
            elif len(places) == 1:
                parts.append(Numbered(block, k, self.over, 2 * self.over, shift))
            else:
                parts.append(one_hot(block, places, shift))
        return parts

    def _codes_of(self, number: int) -> dict[str, int]:
        """The codes of an output, by hint."""
        while (n := len(self._codes)) <= number:
            numbers, pointers = self.tables.known(n)
            found: dict[str, int] = {}
            fits = True
            for block, places in self.blocks:
                k = places[0]
                if k in self.tables.pointers:
                    found[f"has {block}"] = int(k in pointers)
                    continue
                shown = [(place, numbers[k]) for place, k in enumerate(places) if numbers.get(k)]
                if len(places) == 1:
                    whole = numbers.get(k, Rational(0)) * self.over
                    is_code = whole.q == 1 and abs(whole) <= 2 * self.over
                    found[block] = int(whole.p) if is_code else 0
                else:
                    is_code = len(shown) == 1 and shown[0][1] == ONE
                    found[block] = shown[0][0] if is_code else -1
                fits = fits and (is_code or not shown)
            self._codes.append(found)
            self._inexpressible |= set() if fits else {n}
        return self._codes[number]

    @property
    def moments(self) -> int:
        """How many tokens are done."""
        return self.tables.moments

    def advance(self, tokens: int) -> IndexedCodes:
        """The codes of the next tokens, a chunk at most.

        Raise UnsuitableError if the next token is not as proposed.
        """
        if self.checked.tokens != self.moments:
            raise UnsuitableError("vector code does not follow the next token")
        proposed = self.tables.advance(min(tokens, CHUNK))
        count, given = len(proposed), self.checked.given
        for name, (shift, codes) in self._by_number(proposed.rows).items():
            np.take(codes, proposed.numbers, out=given[name][shift : shift + count], mode="clip")
        self.tables.propose(given, count)
        done = self.checked.advance(count)
        self.checked.shift(count)
        if not done:
            raise UnsuitableError("vector code does not follow the next token")
        return IndexedCodes(proposed.numbers[:done], proposed.rows[:, :-1])

    def _by_number(self, rows: IntArray) -> Columns:
        if len(rows) != self._known:
            outputs = [self._codes_of(number) for number in rows[:, -1].tolist()]
            found = {
                name: (1, np.array([each[name] for each in outputs], np.int64))
                for name in outputs[0]
            }
            for n in self._read_off:
                known = (self.tables.known(number)[0] for number in rows[:, -1].tolist())
                seen = [self.watches[n].code(Vector(self.layout, {**each})) for each in known]
                if seen != rows[:, n].tolist():
                    raise UnsuitableError("a code is not the one of its output")
            for n in range(len(self.watches)):
                found[f"watch {n}"] = 0, np.ascontiguousarray(rows[:, n])
            self._known = len(rows)
            self._columns = {k: each for k, each in found.items() if k in self.checked.given}
        return self._columns

    def snapshot(self) -> Snapshot:
        """A snapshot of the tables."""
        return self.tables.snapshot()

    def restore(self, state: Snapshot) -> None:
        """Continue from a snapshot; raise FormatError if it is not valid."""
        self.tables.restore(state)
        self.synchronise()

    def synchronise(self) -> None:
        """Copy the state of the tables to vector code."""
        self.checked.tokens = self.moments
        given, number = self.checked.given, self.tables.newest_output
        codes = self._codes_of(number)
        if number in self._inexpressible:
            raise UnsuitableError("an output is not made of ones, numbers and pointers")
        for name, code in codes.items():
            if name in given:
                given[name][0] = code
