"""Networks given by their hidden units, and positions given by the names of their blocks."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from netwright.definitions.transformer import Positions
from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.layout import Layout
from netwright.exact.rational import Number

POWERS = {"one": 0, "n": 1, "e": -1, "e2": -2}


def positions_in(layout: Layout, blocks: Sequence[str]) -> Positions:
    """pos(i) has i to the power of each block's name: one 1, n i, e 1/i, e2 1/i²."""
    return Positions(layout, tuple((block, POWERS[block]) for block in blocks))


def stated_positions(layout: Layout) -> Positions:
    """The positions that a construction states for its layout, whatever a network has."""
    return positions_in(layout, [block for block in POWERS if block in layout])


class Unit(NamedTuple):
    """σ(Σ reads + bias), added to what it writes; blocks of one coordinate each."""

    name: str
    reads: Mapping[str, Number]
    bias: Number
    writes: Mapping[str, Number]


def unit_network(
    layout: Layout, units: Sequence[Unit], bias: Mapping[str, Number] | None = None
) -> FeedForward:
    """The network with these hidden units, and a bias of its outputs."""
    hidden = Layout.of({unit.name: "" for unit in units})
    reads = {(block, unit.name): w for unit in units for block, w in unit.reads.items()}
    writes = {(unit.name, block): w for unit in units for block, w in unit.writes.items()}
    first = Affine.of(layout, hidden, reads, {unit.name: unit.bias for unit in units})
    return FeedForward((first, Affine.of(hidden, layout, writes, bias or {})))
