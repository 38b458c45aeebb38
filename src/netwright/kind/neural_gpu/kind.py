"""The kind `neural-gpu`: Theorem 4.1."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from netwright.certificates.neural_gpu import CHECKER
from netwright.definitions.neural_gpu import Convolution
from netwright.engine.following.drive import OngoingRun
from netwright.engine.following.tracing import NeuralGPUTracing
from netwright.engine.moments import Watch
from netwright.engine.neural_gpu import FastNeuralGPU
from netwright.errors import InputError
from netwright.exact.feed_forward import Affine
from netwright.exact.rational import ONE, ZERO, Rational
from netwright.exact.vector import Vector
from netwright.kind.neural_gpu.checks import neural_gpu_checks
from netwright.kind.neural_gpu.construction import (
    MEANINGS,
    CompiledNeuralGPU,
    block_of,
    compile_neural_gpu,
)
from netwright.kind.record import Kind, Options, Proof
from netwright.kind.rnn.construction import compile_rnn
from netwright.kind.rnn.kind import StackConstruction, StackLook, StackReading, pair_readout
from netwright.kind.rnn.reading import VectorReader
from netwright.machine.turing_machine import TuringMachine
from netwright.network.tensors import VECTOR, NamedTensors, name_of_function, tensor_of
from netwright.network.trace import Moment
from netwright.network.view import AppliedRule, View
from netwright.verify.comparison import Check

if TYPE_CHECKING:
    from netwright.precision.laboratory import Experiment


class NeuralGPUConstruction(StackConstruction[CompiledNeuralGPU]):
    """A uniform Neural GPU that carries out the RNN of the machine."""

    name = "neural-gpu"
    statement = "Theorem 4.1"

    def construct(self, machine: TuringMachine, options: Options) -> CompiledNeuralGPU:
        """Apply Appendix C to the machine's RNN."""
        return compile_neural_gpu(compile_rnn(machine, options["base"]))

    def parts(self, compiled: CompiledNeuralGPU) -> dict[str, Callable[[], CompiledNeuralGPU]]:
        """The gates; without them U = 0 and R = 1."""
        return {
            "gate:update": partial(_with_constant_gate, compiled, "U", ZERO),
            "gate:reset": partial(_with_constant_gate, compiled, "R", ONE),
        }

    def facts(self, compiled: CompiledNeuralGPU) -> dict[str, Any]:
        """The number of channels, and the kernels' shape."""
        layout, d = compiled.network.layout, compiled.neurons.layout.dimension
        return {
            "dimension": layout.dimension,
            "formula": "3d+3",
            "formula_value": 3 * d + 3,
            "rnn_dimension": d,
            "kernel_shape": [*compiled.network.F.shape, layout.dimension, layout.dimension],
            "base": str(compiled.neurons.base),
        }

    def tensors(self, compiled: CompiledNeuralGPU, meanings: Any) -> NamedTensors:
        """Embedding, multiplied kernels, biases, and the read-outs of block D."""
        gpu, neurons = compiled.network, compiled.neurons
        if gpu.circular or compiled.has_end_marker:
            raise InputError("a Neural GPU with circular convolutions cannot be exported")
        named = NamedTensors.of(self, compiled.machine, gpu, meanings, linear=True)
        named.embedding(compiled.embedding, [compiled.machine.blank])
        banks: dict[str, Any] = {}
        for letter in "URF":
            bank: Convolution = getattr(gpu, letter)
            # kernel u (from 0 on) reads the cell Δ(u) = u − ⌊k/2⌋ further down (Equation 15)
            shifts = [u - len(bank.kernels) // 2 for u in range(len(bank.kernels))]
            banks[letter] = {"shifts": shifts, "activation": name_of_function(bank.f)}
            bias = bank.bias[0] if isinstance(bank.bias, Sequence) else Vector.zero(gpu.layout)
            named.tensors[f"{letter}.bias"] = tensor_of(bias)
        named.names |= {
            "banks": banks,
            "activations": {
                "u": {"columns": VECTOR, "meaning": "the update gate of each cell (Equation 14)"},
                "r": {"columns": VECTOR, "meaning": "the reset gate of each cell"},
                "cell": {"columns": VECTOR, "meaning": "u s + (1 - u) F(r s): the next cells"},
            },
        }
        readout, pairs = pair_readout(neurons)
        named.readout(self.hidden(compiled).then(readout), pairs, compiled.final_states)
        return named

    def hidden(self, compiled: CompiledNeuralGPU) -> Affine:
        """From the last cell to the hidden vector of the RNN that it holds."""
        return _hidden(compiled, "D")


class NeuralGPUReading(StackReading[CompiledNeuralGPU]):
    """A reading of the cells and their gates."""

    fast = FastNeuralGPU
    moments_read_input = True

    def inputs(self, compiled: CompiledNeuralGPU, X: Sequence[Vector]) -> tuple[Any, ...]:
        """The network and its cells."""
        return compiled.network, X

    def watches(
        self, compiled: CompiledNeuralGPU, readouts: Affine, tokens: int
    ) -> tuple[Watch, Watch]:
        """g_0 = h_n is in block E of the last token's cell, all others in D of the last cell."""
        last = tokens - 1 + compiled.has_end_marker
        return _watch(compiled, readouts, tokens - 1, "E"), _watch(compiled, readouts, last, "D")

    def moments(
        self, compiled: CompiledNeuralGPU, word: Sequence[str]
    ) -> Iterator[Mapping[str, Vector]]:
        """The cells of S^0, S^1, …, by their numbers."""
        tensors = compiled.network.tensors(compiled.embed(word))
        return ({str(n): row[0] for n, row in enumerate(S)} for S in tensors)

    def outputs(self, compiled: CompiledNeuralGPU, word: Sequence[str]) -> Iterator[Vector]:
        """The last cell of S^1, S^2, …."""
        return compiled.network.outputs(compiled.embed(word))

    def traced(
        self, compiled: CompiledNeuralGPU, word: Sequence[str], ongoing: OngoingRun[Any]
    ) -> NeuralGPUTracing:
        """A trace of the cells and their gates."""
        return NeuralGPUTracing(ongoing, compiled.network, len(compiled.embed(word)))

    def output(self, moment: Moment) -> Vector | None:
        """The last cell."""
        return moment["cell"]

    def vectors(self, compiled: CompiledNeuralGPU) -> list[str]:
        """The names of a cell and its gates."""
        return ["cell", "u", "r"]


class NeuralGPUProof(Proof[CompiledNeuralGPU]):
    """The claims of every cell at every iteration."""

    checker = CHECKER
    is_predicted = True

    def checks(
        self, compiled: CompiledNeuralGPU, word: Sequence[str], max_steps: int
    ) -> Iterator[Check]:
        """Check Equation eq:to-prove for every cell."""
        return neural_gpu_checks(compiled, word, max_steps)

    def laboratory(self, options: Options) -> "tuple[type[Experiment], dict[str, Any]]":
        """The experiment with the stacks of its RNN."""
        from netwright.precision.laboratory import StackExperiment
        from netwright.precision.stacks import neural_gpu_hidden

        return StackExperiment, {"base": options["base"], "hidden": neural_gpu_hidden}


class NeuralGPULook(StackLook[CompiledNeuralGPU]):
    """The look of the cells."""

    meanings = MEANINGS
    view = View(vectors=("cell",))

    def rule(self, compiled: CompiledNeuralGPU, moment: Moment) -> AppliedRule | None:
        """The rule of its RNN: g_0 is in E of the last token's cell, later ones in D."""
        tokens = sum(name.startswith("cell.") for name in moment) - compiled.has_end_marker
        if moment.t < tokens:
            return None
        name, letter = (f"cell.{tokens}", "E") if moment.t == tokens else ("cell", "D")
        hidden = block_of(moment[name], letter, compiled.neurons.layout)
        found = VectorReader(compiled.neurons).read(hidden)
        return AppliedRule.of(compiled.machine, found.state, found.symbol) if found else None


def _watch(compiled: CompiledNeuralGPU, readouts: Affine, cell: int, letter: str) -> Watch:
    """The watch of the read-outs of a hidden vector in one block of a cell."""
    return Watch(str(cell), "n", through=_hidden(compiled, letter).then(readouts))


def _hidden(compiled: CompiledNeuralGPU, letter: str) -> Affine:
    """From a cell to one of its blocks."""
    layout = compiled.neurons.layout
    take = {(f"{letter} {name}", name): 1 for name, _ in layout.blocks}
    return Affine.of(compiled.network.layout, layout, take)


def _with_constant_gate(
    compiled: CompiledNeuralGPU, letter: str, value: Rational
) -> CompiledNeuralGPU:
    gpu = compiled.network
    nothing = Affine(gpu.layout, gpu.layout, {}, Vector.zero(gpu.layout))
    kernels = tuple(tuple(nothing for _ in row) for row in getattr(gpu, letter).kernels)
    constant = Vector(gpu.layout, dict.fromkeys(range(gpu.layout.dimension), value))
    changed: Any = {letter: Convolution(kernels, bias=(constant,) if value else None)}
    return replace(compiled, network=replace(gpu, **changed))


KIND = Kind(NeuralGPUConstruction(), NeuralGPUReading(), NeuralGPUProof(), NeuralGPULook())
