"""A language model's checkpoint as plain tensors and names."""

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from netwright.exact.layout import Layout
from netwright.exact.meanings import Meanings
from netwright.nets.language_model import LanguageModel
from netwright.networks.plain import Plain, Tensor
from netwright.theorems.beyond.language_model.checkpoint import HEADS, pack


class WholeNumbers(Tensor):
    """A tensor of whole numbers, as an array."""

    def __init__(self, array: NDArray[np.float32]) -> None:
        object.__setattr__(self, "array", array)
        super().__init__(array.shape, {})

    def to_numpy(self, dtype: str) -> NDArray[Any]:
        """Each number rounded once to a format; bfloat16 is one."""
        array: NDArray[np.float32] = self.array  # type: ignore[attr-defined]  # set above
        return array.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def plain_language_model(
    names: dict[str, Any], network: LanguageModel, meanings: Meanings, ends: Sequence[str]
) -> Plain:
    """The tensors of GPT-2, and a name for every coordinate, head, slot, unit and token."""
    weights = pack(network)
    stream = _labels(network.stream)
    unused = weights.width - len(stream) - 3
    names |= {
        "context": network.context,
        "width": weights.width,
        "hidden": weights.hidden,
        "blocks": weights.blocks,
        "heads": HEADS,
        "vocabulary": list(network.vocabulary),
        "ends": list(ends),
        "layouts": {"vector": [*stream, *["unused"] * unused, "bal", "c1", "c2"]},
        "meanings": dict(meanings.blocks),
        "attention": [
            {
                "block": n,
                "head": g,
                "meaning": meanings.of_weight(head.name),
                "slots": _labels(head.Q.columns),
                "values": _labels(head.V.columns),
            }
            for n, block in enumerate(network.blocks)
            for g, head in enumerate(block.heads)
        ],
        "units": [
            list(block.units.A.columns.labels("unit")) if block.units else []
            for block in network.blocks
        ],
    }
    tensors: dict[str, Tensor] = {
        name: WholeNumbers(array) for name, array in weights.tensors.items()
    }
    return Plain("language-model", names, meanings, network.stream, tensors)


def _labels(layout: Layout) -> list[str]:
    return [str(coordinate) for coordinate in layout.coordinates]
