"""An RNN run fast: the same hidden vectors as `nets.rnn`, on every network.

The encoder runs as `stacks.encoder` says, the decoder as `stacks.engine`; its one cell is g_t.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netwright.exact.rational import sigma
from netwright.exact.vector import Vector
from netwright.nets.rnn import RNN, identity
from netwright.runtime.engine import Watch
from netwright.runtime.stacks.encoder import last_hidden
from netwright.runtime.stacks.engine import StackEngine
from netwright.runtime.unsuitable import UnsuitableError

if TYPE_CHECKING:
    from netwright.runtime.stacks.network import StackNetwork


class FastRNN(StackEngine):
    """g_0, g_1, … of an RNN on an input."""

    loop = "advance_rnn"
    SHORT = 5_000
    """How many moments `--engine auto` does by the definition: less time than a compiler takes."""

    def __init__(
        self,
        network: RNN,
        X: Sequence[Vector],
        seed: Vector,
        watches: Sequence[Watch] = (),
        stops: Sequence[int] = (),
        *,
        reference_steps: int = 0,
    ) -> None:
        self.network, self.y = network, seed
        self.earliest = 0 if network.R is None else 1  # g_1 reads the seed, later ones O(g)
        super().__init__([last_hidden(network, X)], watches, stops, reference_steps)

    def _step(self, cells: Sequence[Vector]) -> Sequence[Vector]:
        (g,) = cells
        # y_0 is the seed, and y_t = O(g_t).
        y = self.y if self.moments == 1 else self.network.O(g)
        return [self.network.decoder_step(g, y)]

    def _stacks(self) -> "StackNetwork":
        from netwright.runtime.stacks.loops import advance_rnn
        from netwright.runtime.stacks.network import CellWatch, Source, StackLayer, StackNetwork

        network = self.network
        if network.f2 is not sigma:
            raise UnsuitableError("its activation is not σ")
        sources = [Source(network.U)]
        if network.R is not None:
            if network.O is not identity:
                raise UnsuitableError("it reads more than its hidden vector")
            sources.append(Source(network.R))
        return StackNetwork(
            advance_rnn,
            network.layout,
            [StackLayer(sources, [network.b2])],
            grid=(1, 1, False),
            slots=5,
            watches=[CellWatch(watch) for watch in self.watches],
            stops=self.stops,
        )
