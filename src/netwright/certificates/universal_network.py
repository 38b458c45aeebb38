"""Checks that both universal networks share."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from flint import fmpq

from netwright.certificates.chain import Form, Forms, unknown
from netwright.certificates.decoder import WrittenDecoder, positions_in
from netwright.certificates.reading import ONE, Cases

MOVES = {1: "R", -1: "L"}
"""Moves, and the pointer that each follows."""


def code(number: int) -> fmpq:
    """code₁ of a number: its binary digits as base-4 digits after the point, the lowest first.

    So code₁ < 1/3, code₂ = 2 code₁ < 2/3, and a sum code₂(x) + code₁(y) determines x and y.

    >>> code(0), code(1), code(2), code(3)
    (0, 1/4, 1/16, 5/16)
    """
    found = fmpq(0)
    for place, digit in enumerate(reversed(f"{number:b}"), start=1):
        found += fmpq(int(digit), 4**place)
    return found


class UniversalCheck(WrittenDecoder, ABC):
    """A serialised universal network."""

    layers: int
    """How many decoder layers it has; there is no encoder layer."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        super().__init__(written)
        self.score, self.normaliser = self.attention

    @property
    @abstractmethod
    def blocks(self) -> list[str]:
        """The blocks of the layout."""

    def _shape(self) -> Cases:
        yield self.normaliser == "hardmax", "attention is not hard"
        yield from self.has_layers(0, self.layers)
        yield from self.has_sigma()
        yield [*self.at.places] == self.blocks, "the blocks or the score are wrong"
        for block, labels in self.at.places.items():
            yield list(labels) == [""], f"block {block} is not one coordinate"

    def _ends(self, positions: Sequence[str] | None) -> Cases:
        at = self.at
        yield self.positions == positions_in(positions), "the positions are in the wrong place"
        start = {at.one(block): ONE for block in ("on", "R", "L")}  # both pointers are token 0
        yield self.seed == start, f"the seed is {at.show(self.seed)}"

    def weights(self, blocks: Mapping[tuple[str, str], fmpq]) -> dict[tuple[int, int], fmpq]:
        """Weights from block to block."""
        return {(self.at.one(a), self.at.one(b)): w for (a, b), w in blocks.items()}

    def linked(self, move: int) -> Forms:
        """The next pointers after a move, by the lemma of linked visits."""
        right, left = ("RR", "e") if move > 0 else ("e", "LL")
        return self.forms(R=unknown(right), L=unknown(left))

    def forms(self, **blocks: Form) -> Forms:
        """The vector with these forms in its blocks."""
        return {self.at.one(block): form for block, form in blocks.items()}

    def show(self, x: Forms) -> str:
        """A vector of forms as text."""
        return super().show(x) or "nothing else"
