"""What the blocks and weights of a construction mean: one table of words per construction.

`netwright compile --explain` prints these tables, and docs/networks.md has them.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

INPUTS = {
    "embedding": "what each symbol of the input becomes",
    "seed": "y_0, the first input of the decoder",
    "positions": "pos(i), the powers of i that are added to token i",
    "U.bias": "the bias of the update gate",
    "R.bias": "the bias of the reset gate",
    "F.bias": "the bias of the update",
}
"""What enters a network besides its maps, for all constructions."""


@dataclass(frozen=True)
class Meanings:
    """A lookup table of words for the blocks of a network's vectors and for its weights."""

    blocks: Mapping[str, str]
    """By block; a block `D S` may have its words under `D` and `S`."""
    hidden: Mapping[str, Mapping[str, str]]
    """For maps with layers or factors of their own: the blocks between them."""
    weights: Mapping[str, str]

    def blocks_but(self, names: Collection[str]) -> dict[str, str]:
        """The words for all blocks but some."""
        return {name: words for name, words in self.blocks.items() if name not in names}

    def of_block(self, name: str) -> str:
        """The words for a block of the network's vectors; of `D S` those for S, then for D."""
        return "; ".join(self.blocks.get(key, "") for key in reversed(self.keys_of(name)))

    def keys_of(self, name: str) -> list[str]:
        """The keys of the words for a block."""
        return [name] if name in self.blocks else name.split(" ")

    def of_weight(self, name: str) -> str:
        """The words for a weight; `F.2` may have them under `F`."""
        if name in INPUTS:
            return INPUTS[name]
        while name and name not in self.weights:
            name = name.rpartition(".")[0]
        return self.weights.get(name, "")
