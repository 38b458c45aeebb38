"""What the universal networks have in common: constant weights, and a machine as the prompt."""

from dataclasses import dataclass

from netwright.exact.rational import ONE
from netwright.exact.vector import Vector
from netwright.kind.compiled_decoder import CompiledDecoder


@dataclass(frozen=True, kw_only=True)
class CompiledUniversal(CompiledDecoder):
    """A universal Transformer with a machine as its prompt; block r of an output is its state."""

    def is_final(self, y: Vector) -> bool:
        """𝔽: whether r = 1, which no state's code is."""
        return y.number("r") == ONE
