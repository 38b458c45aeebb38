"""Networks given by their hidden units: what each reads, its bias, and what it writes."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.layout import Layout
from netwright.exact.rational import Number


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
