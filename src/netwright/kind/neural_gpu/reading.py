"""The machine's run, read off the cells of its Neural GPU."""

from collections.abc import Callable, Sequence
from time import perf_counter

from netwright.definitions.neural_gpu import NeuralGPU
from netwright.engine.following.drive import OngoingRun
from netwright.engine.moments import Watch
from netwright.exact.feed_forward import Affine
from netwright.exact.vector import Vector
from netwright.kind.neural_gpu.construction import CompiledNeuralGPU
from netwright.kind.rnn.reading import PairFollower, S, VectorReader, stack_run


def hidden_watches(
    compiled: CompiledNeuralGPU, readouts: Affine, tokens: int
) -> tuple[Watch, Watch]:
    """Watches for g_0 at time `tokens`, and for g_1, g_2, … after it.

    g_0 = h_n is in block E of the last token's cell, all others in block D of the last cell.
    """
    last = tokens - 1 + compiled.has_end_marker
    return _watch(compiled, readouts, tokens - 1, "E"), _watch(compiled, readouts, last, "D")


def _watch(compiled: CompiledNeuralGPU, readouts: Affine, cell: int, letter: str) -> Watch:
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
    """The machine's run as the Neural GPU does it, by an engine."""
    started = perf_counter()
    X = compiled.embed(compiled.machine.check_word(word))
    tokens = len(X) - compiled.has_end_marker
    reader = VectorReader(compiled.neurons)
    follower = PairFollower(compiled, reader, max_steps, skip=tokens)
    watches = hidden_watches(compiled, reader.readouts, tokens)

    return stack_run(
        compiled,
        reader,
        iterating(compiled.network, X, watches, follower.stops),
        follower,
        lambda time: watches[time > 0],
        started=started,
        tokens=tokens,
        dimension=compiled.network.layout.dimension,
    )
