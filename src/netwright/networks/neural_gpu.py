"""The kind `neural-gpu`: Theorem 4.1."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from netwright.errors import FormatError, InputError
from netwright.exact.feed_forward import Affine
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE, ZERO, Rational
from netwright.exact.vector import Vector
from netwright.following.neural_gpu import neural_gpu_course, run_neural_gpu
from netwright.following.rnn import Decoder
from netwright.following.tracing import NeuralGPUTracing
from netwright.machine.simulate import Run
from netwright.machine.turing_machine import TuringMachine
from netwright.nets.neural_gpu import Convolution, NeuralGPU
from netwright.nets.rnn import multiplied_out
from netwright.networks.kind import Following, Kind, Options
from netwright.networks.plain import VECTOR, Plain, tensor_of
from netwright.networks.rnn import (
    BASE,
    base_for_floats,
    matrices_of,
    pair_readout,
    stack_experiment,
    with_factor,
    written_meaning,
)
from netwright.networks.trace import Moment
from netwright.networks.view import Says, View
from netwright.networks.writing import ACTIVATIONS, Reading, Writing, name_of_function
from netwright.runtime.stacks.neural_gpu import FastNeuralGPU
from netwright.theorems.theorem_2_3_rnn.construction import compile_rnn
from netwright.theorems.theorem_4_1_neural_gpu import (
    MEANINGS,
    CompiledNeuralGPU,
    block_of,
    compile_neural_gpu,
)
from netwright.verify.certificate.neural_gpu import CHECKER
from netwright.verify.comparison import Check
from netwright.verify.neural_gpu import neural_gpu_checks

if TYPE_CHECKING:
    from netwright.precision.laboratory import StackExperiment

LETTERS = "URF"


class NeuralGPUKind(Kind[CompiledNeuralGPU]):
    """A uniform Neural GPU that carries out the RNN of the machine."""

    name = "neural-gpu"
    statement = "Theorem 4.1"
    meanings = MEANINGS
    checker = CHECKER
    view = View(vectors=("cell",))
    options = (BASE,)

    def construct(self, machine: TuringMachine, options: Options) -> CompiledNeuralGPU:
        """Appendix C for the machine's RNN."""
        return compile_neural_gpu(compile_rnn(machine, options["base"]))

    def run(self, compiled: CompiledNeuralGPU, word: Sequence[str], following: Following) -> Run:
        """One iteration is one step, once the input is read."""
        return run_neural_gpu(
            compiled, word, *following.beside, following.faster(FastNeuralGPU, FastNeuralGPU.SHORT)
        )

    def trace(
        self, compiled: CompiledNeuralGPU, word: Sequence[str], max_steps: int
    ) -> NeuralGPUTracing:
        """The cells, and their gates."""
        iterating = partial(FastNeuralGPU, reference_steps=FastNeuralGPU.SHORT)
        course = neural_gpu_course(compiled, word, max_steps, iterating)
        return NeuralGPUTracing(course, compiled.network, len(compiled.embed(word)))

    def outputs(self, compiled: CompiledNeuralGPU, word: Sequence[str]) -> Iterator[Vector]:
        """The last cell of S^1, S^2, …."""
        cells = compiled.embed(word)
        return (S[-1][0] for S in islice(compiled.network.tensors(cells), 1, None))

    def checks(
        self, compiled: CompiledNeuralGPU, word: Sequence[str], max_steps: int
    ) -> Iterator[Check]:
        """Equation eq:to-prove for every cell."""
        return neural_gpu_checks(compiled, word, max_steps)

    def machine_of(self, compiled: CompiledNeuralGPU) -> TuringMachine:
        """The given machine."""
        return compiled.rnn.machine

    def says(self, compiled: CompiledNeuralGPU, moment: Moment) -> Says | None:
        """As the RNN that it carries out: g_0 is in E of the last token's cell, later ones in D."""
        tokens = sum(name.startswith("cell.") for name in moment) - compiled.has_end_marker
        if moment.t < tokens:
            return None
        name, letter = (f"cell.{tokens}", "E") if moment.t == tokens else ("cell", "D")
        hidden = block_of(moment[name], letter, compiled.rnn.neurons.layout)
        found = Decoder(compiled.rnn.neurons).decode(hidden)
        return Says.of(compiled.rnn.machine, found.state, found.symbol) if found else None

    def written(self, compiled: CompiledNeuralGPU) -> dict[str, Any]:
        """The RNN's meaning, and the convolutions."""
        writing, gpu = Writing(), compiled.network
        rnn_layout = writing.layout(compiled.rnn.neurons.layout)
        convolutions = {
            letter: {
                "kernels": [
                    [writing.matrix(kernel) for kernel in row]
                    for row in getattr(gpu, letter).kernels
                ],
                "bias": [writing.vector(b) for b in getattr(gpu, letter).bias or ()],
                "activation": name_of_function(getattr(gpu, letter).f),
            }
            for letter in LETTERS
        }
        embedding = compiled.recognizer.embedding
        layout = writing.layout(gpu.layout)
        return {
            **written_meaning(compiled.rnn, writing),
            "convolutions": convolutions,
            "cell_embedding": [
                [s, writing.vector(embedding[s])] for s in compiled.rnn.machine.symbols
            ],
            "width": gpu.width,
            "circular": gpu.circular,
            "rnn_layout": rnn_layout,
            "layout": layout,
            "layouts": writing.layouts,
        }

    def rebuilt(
        self, written: Mapping[str, Any], machine: TuringMachine, options: Options
    ) -> CompiledNeuralGPU:
        """From what `written` gave; the RNN that it carries out is made from the machine."""
        reading = Reading(written)
        rnn = compile_rnn(machine, options["base"])
        if reading.layouts[written["rnn_layout"]] != rnn.neurons.layout:
            raise FormatError("its RNN is of another machine, or in another base")
        banks = {}
        for letter in LETTERS:
            each = written["convolutions"][letter]
            kernels = tuple(
                tuple(reading.matrix(kernel, reading.layout) for kernel in row)
                for row in each["kernels"]
            )
            bias = tuple(reading.vector(b, reading.layout) for b in each["bias"]) or None
            banks[letter] = Convolution(kernels, bias, ACTIVATIONS[each["activation"]])
        if written["width"] != 1 or any(
            not bank.kernels or any(len(row) != 1 for row in bank.kernels)
            for bank in banks.values()
        ):
            raise FormatError("kernels of another shape")
        network = NeuralGPU(
            reading.layout,
            banks["U"],
            banks["R"],
            banks["F"],
            int(written["width"]),
            bool(written["circular"]),
        )
        return CompiledNeuralGPU(rnn, network)

    def unwritable(self, compiled: CompiledNeuralGPU) -> str | None:
        """Activations that have no name here, and biases that differ from row to row."""
        banks = [getattr(compiled.network, letter) for letter in LETTERS]
        if any(name_of_function(bank.f) == "another" or callable(bank.bias) for bank in banks):
            return "its activations or biases are not those of the theorem"
        return None

    def plain(self, compiled: CompiledNeuralGPU) -> Plain:
        """Embedding, kernels multiplied out, biases, and the read-outs of block D."""
        gpu, rnn = compiled.network, compiled.rnn
        if gpu.circular or compiled.has_end_marker:
            raise InputError("a Neural GPU with circular convolutions cannot be exported")
        plain = Plain.of(self.name, self.statement, rnn.machine, self.meanings)
        plain.layout(VECTOR, gpu.layout)
        plain.embedding(compiled.recognizer.embedding, [rnn.machine.blank], gpu.layout)
        banks: dict[str, Any] = {}
        for letter in LETTERS:
            bank: Convolution = getattr(gpu, letter)
            for u, row in enumerate(bank.kernels):
                plain.weight(f"{letter}.{u + 1}", multiplied_out(row[0]), linear=True)
            # kernel u (from 0 on) reads the cell Δ(u) = u − ⌊k/2⌋ further down (Equation 15)
            shifts = [u - len(bank.kernels) // 2 for u in range(len(bank.kernels))]
            banks[letter] = {"shifts": shifts, "activation": name_of_function(bank.f)}
            bias = bank.bias[0] if isinstance(bank.bias, Sequence) else Vector.zero(gpu.layout)
            plain.tensors[f"{letter}.bias"] = tensor_of(bias)
        plain.names |= {
            "banks": banks,
            "activations": {
                "u": {"columns": VECTOR, "meaning": "the update gate of each cell (Equation 14)"},
                "r": {"columns": VECTOR, "meaning": "the reset gate of each cell"},
                "cell": {"columns": VECTOR, "meaning": "u s + (1 - u) F(r s): the next cells"},
            },
        }
        readout, pairs = pair_readout(rnn)
        places = {
            j: gpu.layout.index(f"D {c.block}", c.label)
            for j, c in enumerate(rnn.neurons.layout.coordinates)
        }
        moved = {(places[j], k): weight for (j, k), weight in readout.weights.items()}
        of_d = Affine(gpu.layout, readout.output, moved, readout.bias)
        plain.readout(of_d, pairs, rnn.final_states)
        return plain

    def for_export(self, given: Options, machine: TuringMachine) -> Options:
        """In a base whose digits are bits."""
        return base_for_floats(given, machine)

    def output(self, moment: Moment) -> Vector | None:
        """The last cell."""
        return moment["cell"]

    def matrices(self, compiled: CompiledNeuralGPU) -> dict[str, Affine]:
        """The factors of every kernel, by its row."""
        return matrices_of(
            {
                f"{letter}.{u + 1}": row[0]
                for letter in LETTERS
                for u, row in enumerate(getattr(compiled.network, letter).kernels)
            }
        )

    def with_matrix(
        self, compiled: CompiledNeuralGPU, name: str, affine: Affine
    ) -> CompiledNeuralGPU:
        """With another factor in one of the kernels."""
        place, _, number = name.partition("#")
        letter, _, row = place.partition(".")
        convolution: Convolution = getattr(compiled.network, letter)
        kernels = [list(kernel_row) for kernel_row in convolution.kernels]
        kernels[int(row) - 1][0] = with_factor(kernels[int(row) - 1][0], number, affine)
        other: Any = {letter: replace(convolution, kernels=tuple(map(tuple, kernels)))}
        return replace(compiled, network=replace(compiled.network, **other))

    def experiment(
        self, machine: TuringMachine, word: tuple[str, ...], options: Options, settings: Options
    ) -> "StackExperiment":
        """The stacks of the RNN that it carries out."""
        from netwright.precision.stacks import neural_gpu_hidden

        return stack_experiment(self, neural_gpu_hidden, machine, word, options, settings)

    def parts(self, compiled: CompiledNeuralGPU) -> dict[str, Callable[[], CompiledNeuralGPU]]:
        """The gates: left out, U = 0, and R = 1."""
        return {
            "gate:update": partial(_with_constant_gate, compiled, "U", ZERO),
            "gate:reset": partial(_with_constant_gate, compiled, "R", ONE),
        }

    def vectors(self, compiled: CompiledNeuralGPU) -> list[str]:
        """A cell, and its gates."""
        return ["cell", "u", "r"]

    def layout(self, compiled: CompiledNeuralGPU) -> Layout:
        """The layout of the cells."""
        return compiled.network.layout

    def facts(self, compiled: CompiledNeuralGPU) -> dict[str, Any]:
        """Channels, and the kernels' shape."""
        layout, d = compiled.network.layout, compiled.rnn.neurons.layout.dimension
        return {
            "dimension": layout.dimension,
            "formula": "3d+3",
            "formula_value": 3 * d + 3,
            "rnn_dimension": d,
            "kernel_shape": [*compiled.network.F.shape, layout.dimension, layout.dimension],
            "base": str(compiled.rnn.neurons.base),
        }

    def description(self, compiled: CompiledNeuralGPU) -> dict[str, Any]:
        """Convolutions with their shapes and activations."""
        gpu = compiled.network
        return {
            "convolutions": {
                letter: {
                    "shape": list(getattr(gpu, letter).shape),
                    "activation": name_of_function(getattr(gpu, letter).f),
                }
                for letter in LETTERS
            },
            "width": gpu.width,
            "circular": gpu.circular,
        }


def _with_constant_gate(
    compiled: CompiledNeuralGPU, letter: str, value: Rational
) -> CompiledNeuralGPU:
    gpu = compiled.network
    nothing = Affine(gpu.layout, gpu.layout, {}, Vector.zero(gpu.layout))
    kernels = tuple(tuple(nothing for _ in row) for row in getattr(gpu, letter).kernels)
    constant = Vector(gpu.layout, dict.fromkeys(range(gpu.layout.dimension), value))
    changed: Any = {letter: Convolution(kernels, bias=(constant,) if value else None)}
    return replace(compiled, network=replace(gpu, **changed))
