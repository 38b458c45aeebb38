"""What the checks of the universal networks have in common."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from flint import fmpq

from netwright.certificates.chain import Bounds, Form, Forms, shown, unknown, within
from netwright.certificates.decoder import WrittenDecoder, positions_in
from netwright.certificates.reading import ONE, Cases

MOVES = {1: "R", -1: "L"}
"""A move, and the pointer that it follows."""


def code(number: int) -> fmpq:
    """code₁ of a number: its binary digits as base-4 digits behind the point, the lowest first.

    So code₁ is below 1/3, code₂ = 2 code₁ below 2/3, and a sum code₂(x) + code₁(y) tells both.

    >>> code(0), code(1), code(2), code(3)
    (0, 1/4, 1/16, 5/16)
    """
    found = fmpq(0)
    for place, digit in enumerate(reversed(f"{number:b}"), start=1):
        found += fmpq(int(digit), 4**place)
    return found


class UniversalCheck(WrittenDecoder, ABC):
    """What is written down of a universal network."""

    layers = (0, 0)

    def __init__(self, written: Mapping[str, Any]) -> None:
        super().__init__(written)
        self.score, self.normaliser = self.attention

    @property
    @abstractmethod
    def blocks(self) -> list[str]:
        """The blocks of the layout."""

    def _shape(self) -> Cases:
        wanted = ["encoder.K", "encoder.V", "F"]
        wanted += [f"decoder.{n}.{x}" for n in range(1, self.layers[1] + 1) for x in "QKVO"]
        yield self.normaliser == "hardmax", "attention is not hard"
        yield self.found_layers == self.layers, "other numbers of layers"
        yield set(self.networks) == set(wanted), "other networks"
        for name, network in self.networks.items():
            yield network.activation == "sigma", f"{name} has another activation than σ"
        yield [*self.at.places] == self.blocks, "other blocks, or another score"
        for block, labels in self.at.places.items():
            yield list(labels) == [""], f"block {block} is not one coordinate"

    def _ends(self, positions: Sequence[str] | None) -> Cases:
        at = self.at
        yield self.positions == positions_in(positions), "the positions are elsewhere"
        start = {at.one(block): ONE for block in ("on", "R", "L")}  # both pointers are token 0
        yield self.seed == start, f"the seed is {at.show(self.seed)}"

    def weights(self, blocks: Mapping[tuple[str, str], fmpq]) -> dict[tuple[int, int], fmpq]:
        """Weights from block to block."""
        return {(self.at.one(a), self.at.one(b)): w for (a, b), w in blocks.items()}

    def linked(self, move: int) -> Forms:
        """The next pointers after a move, by the lemma of linked visits."""
        right, left = ("RR", "e") if move > 0 else ("e", "LL")
        return {self.at.one("R"): unknown(right), self.at.one("L"): unknown(left)}

    def is_unit(self, form: Form, bounds: Bounds) -> bool:
        """Whether a form is in [0, 1]."""
        least, most = within(form, bounds)
        return least is not None and least >= 0 and most is not None and most <= 1

    def show(self, x: Forms) -> str:
        """A vector of forms."""
        shown_parts = (f"{self.at.names[k]} = {shown(form)}" for k, form in sorted(x.items()))
        return ", ".join(shown_parts) or "nothing else"
