"""Networks with one weight damaged: what must make a check fail.

A weight is named by where it stands and by the block that it leads to: `decoder.3.V.s4`, `F.x1`,
`U.S`. Parts that can be left out are named by kind and place:

    residual:decoder.2.self       the residual connection around an attention of the decoder,
    residual:decoder.1.external   around its attention to the encoder,
    residual:decoder.1.O          around its feed-forward network (and likewise for encoder.1)
    attention:decoder.3.self      an attention itself: as if every value were 0
    positions                     the positional encoding
    gate:update, gate:reset       a gate of the Neural GPU: U = 0, or R = 1
"""

from typing import NamedTuple

from netwright.errors import InputError
from netwright.exact.feed_forward import Affine
from netwright.networks.kind import C, Kind


class WeightPlace(NamedTuple):
    """A weight of a network: the place of its matrix, its row and its column."""

    matrix: str
    row: int
    column: int


def weights_into(kind: Kind[C], compiled: C, place: str) -> list[WeightPlace]:
    """All weights that lead into a block, such as `decoder.3.V.s4`."""
    found = weights_by_place(kind, compiled)
    if place not in found:
        raise InputError(f"no weight leads to {place!r}; there are weights to {', '.join(found)}")
    return found[place]


def weights_by_place(kind: Kind[C], compiled: C) -> dict[str, list[WeightPlace]]:
    """The weights of a network by the blocks into which they lead."""
    found: dict[str, list[WeightPlace]] = {}
    for name, affine in kind.matrices(compiled).items():
        for row, column in affine.weights:
            block = f"{name.split('#')[0]}.{affine.output.coordinates[column].block}"
            found.setdefault(block, []).append(WeightPlace(name, row, column))
    return found


def flipped(kind: Kind[C], compiled: C, weight: WeightPlace) -> C:
    """The network with the sign of a weight flipped."""
    affine = kind.matrices(compiled)[weight.matrix]
    place = (weight.row, weight.column)
    weights = {**affine.weights, place: -affine.weights[place]}
    changed = Affine(affine.input, affine.output, weights, affine.bias)
    return kind.with_matrix(compiled, weight.matrix, changed)
