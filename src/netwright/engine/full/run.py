"""A run in full: tables propose its outputs, and every weight is applied to every token.

A token that is not as the tables say would be a fault of theirs; one that vector code does not
follow, such as an output that is not made of blocks with one 1, of numbers and of pointers, is left
to rationals.
"""

from collections.abc import Mapping, Sequence
from math import lcm
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from netwright.definitions.transformer import Transformer
from netwright.engine.full.checked import CHUNK, Checked
from netwright.engine.full.program import Decoder, Numbered, Part, Pointed, one_hot
from netwright.engine.moments import IndexedCodes, UnsuitableError, Watch
from netwright.exact.feed_forward import FeedForward
from netwright.exact.rational import ONE, Rational
from netwright.exact.snapshot import Snapshot
from netwright.exact.vector import Vector

LARGEST = 1 << 20
"""Denominator of an output's numbers."""


class Proposer(Protocol):
    """Tables that say the number of its output with each token, as the last code."""

    @property
    def pointers(self) -> Sequence[int]:
        """The coordinates of outputs that may have pointers."""

    @property
    def moments(self) -> int:
        """How many tokens are done."""

    @property
    def standing(self) -> int:
        """The number of the newest output."""

    def known(self, number: int) -> tuple[Mapping[int, Rational], Sequence[int]]:
        """What is known of an output, and which coordinates have pointers."""

    def advance(self, count: int, /) -> IndexedCodes:
        """The codes of the next tokens, one at least; UnsuitableError if there is none."""

    def propose(self, given: Mapping[str, NDArray[np.int64]], count: int) -> None:
        """Write where pointers are to, and cells, for these tokens and one more."""

    def snapshot(self) -> Snapshot:
        """All that the tokens from here on depend on."""

    def restore(self, state: Snapshot) -> None:
        """Go on from a snapshot."""


P = TypeVar("P", bound=Proposer)
Columns = dict[str, tuple[int, NDArray[np.int64]]]
"""By what is given: how many tokens later, and the code by the number of a token."""


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
        self.tables, self.watches, layout = tables, watches, network.layout
        if not isinstance(network.F, FeedForward):
            raise UnsuitableError("F is not a feed-forward network")
        last = network.F.maps[-1]
        live = {column for _, column in last.weights} | {*last.bias.entries, *seed.entries}
        self.over = lcm(
            *(
                int(x.q)
                for each in {id(x): x for x in (seed, *X)}.values()
                for x in each.entries.values()
            )
        )
        if self.over > LARGEST:
            raise UnsuitableError("a denominator is too large")
        self.blocks = [
            (block, layout.places(block))
            for block, _ in layout.blocks
            if any(k in live for k in layout.places(block))
        ]
        decoder = Decoder(network, X, self._output(0))
        decoder.require(decoder.vectors["y"], decoder.vector(self._output(1)))
        for n, watch in enumerate(watches):
            decoder.require_watched(watch, f"watch {n}")
        self.checked = Checked(decoder)
        self._codes: list[dict[str, int]] = []
        """By the number of an output: what is given of it."""
        self._others: set[int] = set()
        """The numbers of outputs that are not what is given of them: the check of them fails."""
        self._known, self._columns = 0, Columns()
        self.stand()

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

    def _given(self, number: int) -> dict[str, int]:
        """What is given of an output."""
        while (n := len(self._codes)) <= number:
            numbers, pointers = self.tables.known(n)
            found: dict[str, int] = {}
            fits = True
            for block, places in self.blocks:
                k = places[0]
                if k in self.tables.pointers:
                    found[f"has {block}"] = int(k in pointers)
                elif len(places) == 1:
                    whole = numbers.get(k, Rational(0)) * self.over
                    small = whole.q == 1 and abs(whole) <= 2 * self.over
                    found[block], fits = int(whole.p) if small else 0, fits and small
                else:
                    shown = [
                        (place, numbers[k]) for place, k in enumerate(places) if numbers.get(k)
                    ]
                    one = len(shown) == 1 and shown[0][1] == ONE
                    found[block] = shown[0][0] if one else -1
                    fits = fits and (one or not shown)
            self._codes.append(found)
            self._others |= set() if fits else {n}
        return self._codes[number]

    @property
    def moments(self) -> int:
        """How many tokens are done."""
        return self.tables.moments

    def advance(self, tokens: int) -> IndexedCodes:
        """The next tokens, a chunk at most; UnsuitableError if the next is not as proposed."""
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

    def _by_number(self, rows: NDArray[np.int64]) -> Columns:
        if len(rows) != self._known:
            outputs = [self._given(number) for number in rows[:, -1].tolist()]
            found = {
                name: (1, np.array([each[name] for each in outputs], np.int64))
                for name in outputs[0]
            }
            for n in range(len(self.watches)):
                found[f"watch {n}"] = 0, np.ascontiguousarray(rows[:, n])
            self._known = len(rows)
            self._columns = {k: each for k, each in found.items() if k in self.checked.given}
        return self._columns

    def snapshot(self) -> Snapshot:
        """The state of the tables."""
        return self.tables.snapshot()

    def restore(self, state: Snapshot) -> None:
        """Go on from a state; FormatError if it is none."""
        self.tables.restore(state)
        self.stand()

    def stand(self) -> None:
        """Let vector code stand where the tables stand."""
        self.checked.tokens = self.moments
        given, number = self.checked.given, self.tables.standing
        codes = self._given(number)
        if number in self._others:
            raise UnsuitableError("an output is not made of ones, numbers and pointers")
        for name, code in codes.items():
            if name in given:
                given[name][0] = code
