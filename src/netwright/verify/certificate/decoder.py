"""What is written down of a Transformer: its layout, networks, positions and seed."""

from collections.abc import Mapping
from typing import Any

from netwright.verify.certificate.chain import Chain
from netwright.verify.certificate.reading import Blocks, Numbers, read_chain, read_vector
from netwright.verify.certificate.schema import unique


class WrittenDecoder:
    """The parts that the checks of all Transformers look at."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        self.all_layouts = [Blocks(blocks) for blocks in written["layouts"]]
        sizes = [len(layout.names) for layout in self.all_layouts]
        self.at = self.all_layouts[written["layout"]]
        self.networks = {
            name: Chain(read_chain(net["maps"], sizes, written["layout"]), net["activation"])
            for name, net in written["networks"].items()
        }
        self.found_layers = written["encoder_layers"], written["decoder_layers"]
        self.positions = list(written["positions"])
        self.attention = list(written["attention"])
        self.seed = read_vector(written["seed"], len(self.at.names))

    def vectors(self, written: Any, what: str) -> dict[str, Numbers]:
        """Vectors by name."""
        size = len(self.at.names)
        return {name: read_vector(v, size) for name, v in unique(written, what).items()}
