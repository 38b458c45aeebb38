"""Serialised Transformers: layout, networks, positions and seed, and the checks they share."""

from collections.abc import Mapping, Sequence
from typing import Any

from netwright.certificates.chain import Chain, Forms, shown
from netwright.certificates.normal_form import NORMAL_FORM, normal_form_cases, read_normal
from netwright.certificates.reading import (
    ONE,
    Blocks,
    Cases,
    Obligation,
    Sparse,
    oblige,
    read_chain,
    read_vector,
)
from netwright.certificates.schema import unique
from netwright.errors import FormatError

POWERS = {"one": 0, "n": 1, "e": -1, "e2": -2}
"""The power of the position in each positional block, by the block's name."""


def positions_in(blocks: Sequence[str] | None) -> list[tuple[str, int]] | None:
    """The positional blocks with their powers; None for an unknown score."""
    return None if blocks is None else [(block, POWERS[block]) for block in blocks]


class WrittenDecoder:
    """A serialised Transformer: the parts that all checks of Transformers read."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        network = written["network"]
        self.all_layouts = [Blocks(blocks) for blocks in written["layouts"]]
        sizes = [len(layout.names) for layout in self.all_layouts]
        layout = network["layout"]
        self.at: Blocks = self.all_layouts[layout]
        self.networks = {
            name: Chain(read_chain(net["maps"], sizes, layout), net["activation"])
            for name, net in self.maps(network).items()
        }
        self.found_layers = len(network.get("encoder", ())), len(network["decoder"])
        pos = network["pos"] or {"layout": layout, "powers": []}
        self.positions = [(block, power) for block, power in pos["powers"]]
        if pos["layout"] != layout:
            raise FormatError("the positions do not have the network's layout")
        self.attention = [network["score"], network["rho"]]
        self.seed = read_vector(written["seed"], len(self.at.names))

    def maps(self, network: Mapping[str, Any]) -> dict[str, Any]:
        """The serialised feed-forward networks by name."""
        found = {"encoder.K": network["K"], "encoder.V": network["V"], "F": network["F"]}
        for side in ("encoder", "decoder"):
            for n, layer in enumerate(network[side], start=1):
                found |= {f"{side}.{n}.{letter}": net for letter, net in layer.items()}
        return found

    def vectors(self, written: Any, what: str) -> dict[str, Sparse]:
        """Vectors by name."""
        size = len(self.at.names)
        return {name: read_vector(v, size) for name, v in unique(written, what).items()}

    def has_layers(self, encoder: int, decoder: int) -> Cases:
        """The numbers of layers, and the names of all networks."""
        layers = [f"encoder.{n}" for n in range(1, encoder + 1)]
        layers += [f"decoder.{n}" for n in range(1, decoder + 1)]
        wanted = {f"{layer}.{letter}" for layer in layers for letter in "QKVO"}
        yield self.found_layers == (encoder, decoder), "the number of layers is wrong"
        yield set(self.networks) == wanted | {"encoder.K", "encoder.V", "F"}, "the wrong networks"

    def has_sigma(self) -> Cases:
        """Every activation is σ."""
        for name, network in self.networks.items():
            yield network.activation == "sigma", f"{name} has an activation other than σ"

    def show(self, x: Forms) -> str:
        """A vector of forms as text."""
        return ", ".join(f"{self.at.names[k]} = {shown(form)}" for k, form in sorted(x.items()))


class NormalDecoder(WrittenDecoder):
    """A serialised Transformer of one machine in normal form."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        super().__init__(written)
        self.read_machines(written)
        self.embedding = self.vectors(written["embedding"], "the embedding")
        self.final = set(written["final_states"])

    def read_machines(self, written: Mapping[str, Any]) -> None:
        """Read the given machine, and the one that the network simulates."""
        self.given, self.normal, self.names, self.pauses = read_normal(written)

    def normal_form(self, *, stays: bool = False) -> Obligation:
        """The machine in normal form simulates the given one."""
        machines = self.given, self.normal, self.names, self.pauses, self.final
        return oblige(NORMAL_FORM, normal_form_cases(*machines, stays=stays))

    def has_labels(self) -> Cases:
        """Blocks of states and of symbols have these as labels; all others are numbers."""
        labels = dict.fromkeys(("q1", "q2"), self.normal.states)
        labels |= dict.fromkeys(("s1", "w", "al", "v"), self.normal.symbols)
        for block, there in self.at.places.items():
            yield list(there) == labels.get(block, [""]), f"block {block} has the wrong labels"

    def has_ends(self, seed: Sparse, block: str) -> Cases:
        """The seed; the embedding, which is a one-hot in a block; the final set."""
        at = self.at
        yield self.seed == seed, f"the seed is {at.show(self.seed)}"
        letters = [symbol for symbol in self.normal.symbols if symbol != self.normal.blank]
        yield list(self.embedding) == letters, "the embedding has the wrong symbols"
        for symbol, vector in self.embedding.items():
            yield vector == {at.one(block, symbol): ONE}, f"f({symbol}) is {at.show(vector)}"
        yield self.final == self.given.final, "the final set is wrong"
