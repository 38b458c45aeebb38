"""A Neural GPU run fast: the same tensors as `nets.neural_gpu`, on every network.

It runs as `stacks.engine` says; its cells are those of the grid, row by row.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netwright.exact.rational import sigma
from netwright.exact.vector import Vector
from netwright.nets.neural_gpu import Convolution, NeuralGPU
from netwright.runtime.engine import Watch
from netwright.runtime.stacks.engine import StackEngine
from netwright.runtime.unsuitable import UnsuitableError

if TYPE_CHECKING:
    from netwright.runtime.stacks.network import StackLayer, StackNetwork


class FastNeuralGPU(StackEngine):
    """S^0, S^1, … of a Neural GPU on an input; the output cell is that of the last row."""

    loop = "advance_neural_gpu"
    SHORT = 300
    """How many moments `--engine auto` does by the definition: less time than a compiler takes."""

    def __init__(
        self,
        network: NeuralGPU,
        X: Sequence[Vector],
        watches: Sequence[Watch] = (),
        stops: Sequence[int] = (),
        *,
        reference_steps: int = 0,
    ) -> None:
        self.network, self.height = network, len(X)
        grid = next(network.tensors(X))
        super().__init__([cell for row in grid for cell in row], watches, stops, reference_steps)

    def _step(self, cells: Sequence[Vector]) -> Sequence[Vector]:
        width = self.network.width
        rows = [list(cells[i : i + width]) for i in range(0, len(cells), width)]
        return [cell for row in self.network.step(rows) for cell in row]

    def _stacks(self) -> "StackNetwork":
        from netwright.runtime.stacks.loops import advance_neural_gpu
        from netwright.runtime.stacks.network import CellWatch, StackNetwork

        network, cells = self.network, len(self._cells)
        return StackNetwork(
            advance_neural_gpu,
            network.layout,
            [_layer(each, network.width) for each in (network.U, network.R, network.F)],
            grid=(self.height, network.width, network.circular),
            slots=3 * cells + 5,
            watches=[CellWatch(watch, int(watch.vector)) for watch in self.watches],
            stops=self.stops,
        )


def _layer(convolution: Convolution, width: int) -> "StackLayer":
    from netwright.runtime.stacks.network import Source, StackLayer

    bias = convolution.bias
    if convolution.f is not sigma or callable(bias):
        raise UnsuitableError("a convolution has another activation than σ, or a bias of its rows")
    k_h, k_w = convolution.shape
    sources = [
        Source(kernel, u - k_h // 2, v - k_w // 2)
        for u, row in enumerate(convolution.kernels)
        for v, kernel in enumerate(row)
    ]
    return StackLayer(sources, list(bias)[:width] if bias is not None else [None] * width)
