"""Reads a machine's run off the cells of its Neural GPU."""

from collections.abc import Callable, Sequence
from time import perf_counter

from netwright.definitions.neural_gpu import NeuralGPU
from netwright.engine.following.drive import OngoingRun
from netwright.engine.moments import Watch
from netwright.exact.feed_forward import Affine
from netwright.exact.vector import Vector
from netwright.kind.neural_gpu.construction import CompiledNeuralGPU
from netwright.kind.rnn.reading import PairFollower, S, VectorReader, stack_run


def _watch(compiled: CompiledNeuralGPU, readouts: Affine, cell: int, letter: str) -> Watch:
    """A watch for the read-outs of a hidden vector in one block of a cell."""
    layout = compiled.neurons.layout
    take = {(f"{letter} {name}", name): 1 for name, _ in layout.blocks}
    block = Affine.of(compiled.network.layout, layout, take)
    return Watch(str(cell), "n", through=block.then(readouts))


def neural_gpu_run(
    compiled: CompiledNeuralGPU,
    word: Sequence[str],
    max_steps: int,
    iterating: Callable[[NeuralGPU, Sequence[Vector], Sequence[Watch], Sequence[int]], S],
) -> OngoingRun[S]:
    """Start the machine's run on the Neural GPU, with the engine that `iterating` makes."""
    started = perf_counter()
    X = compiled.embed(compiled.machine.check_word(word))
    tokens = len(X) - compiled.has_end_marker
    reader = VectorReader(compiled.neurons)
    follower = PairFollower(reader, compiled.final_states, max_steps, skip=tokens)
    # g_0 = h_n is in block E of the last token's cell, all others are in block D of the last cell.
    first = _watch(compiled, reader.readouts, tokens - 1, "E")
    others = _watch(compiled, reader.readouts, len(X) - 1, "D")
    return stack_run(
        reader,
        iterating(compiled.network, X, (first, others), follower.stops),
        follower,
        lambda time: others if time > 0 else first,
        started=started,
        tokens=tokens,
        dimension=compiled.network.layout.dimension,
    )
