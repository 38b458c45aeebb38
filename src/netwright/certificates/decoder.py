"""What is written down of a Transformer: its layout, networks, positions and seed."""

from collections.abc import Mapping, Sequence
from typing import Any

from netwright.certificates.chain import Chain
from netwright.certificates.reading import Blocks, Sparse, read_chain, read_vector
from netwright.certificates.schema import unique
from netwright.errors import FormatError

POWERS = {"one": 0, "n": 1, "e": -1, "e2": -2}
"""What blocks of positions are called that have a power of the position."""


def positions_in(blocks: Sequence[str] | None) -> list[tuple[str, int]] | None:
    """The blocks of positions with their powers; None for an unknown score."""
    return None if blocks is None else [(block, POWERS[block]) for block in blocks]


class WrittenDecoder:
    """The parts that the checks of all Transformers look at."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        network = written["network"]
        self.all_layouts = [Blocks(blocks) for blocks in written["layouts"]]
        sizes = [len(layout.names) for layout in self.all_layouts]
        layout = network["layout"]
        self.at: Blocks = self.all_layouts[layout]
        maps = {"encoder.K": network["K"], "encoder.V": network["V"], "F": network["F"]}
        for side in ("encoder", "decoder"):
            for n, layer in enumerate(network[side], start=1):
                maps |= {f"{side}.{n}.{letter}": net for letter, net in layer.items()}
        self.networks = {
            name: Chain(read_chain(net["maps"], sizes, layout), net["activation"])
            for name, net in maps.items()
        }
        self.found_layers = len(network["encoder"]), len(network["decoder"])
        self.positions = [(block, power) for block, power in network["pos"]["powers"]]
        if network["pos"]["layout"] != layout:
            raise FormatError("positions of another layout than the network's")
        self.attention = [network["score"], network["rho"]]
        self.seed = read_vector(written["seed"], len(self.at.names))

    def vectors(self, written: Any, what: str) -> dict[str, Sparse]:
        """Vectors by name."""
        size = len(self.at.names)
        return {name: read_vector(v, size) for name, v in unique(written, what).items()}
