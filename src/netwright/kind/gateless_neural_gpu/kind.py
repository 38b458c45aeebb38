"""The kind `gateless-neural-gpu`: a Neural GPU with no gates, past the paper."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from netwright.certificates.gateless_neural_gpu import CHECKER
from netwright.engine.moments import Watch
from netwright.exact.feed_forward import Affine, linear
from netwright.exact.meanings import Meanings
from netwright.kind.gateless_neural_gpu.checks import STATEMENT, gateless_checks
from netwright.kind.gateless_neural_gpu.construction import (
    ENCODER,
    CompiledGateless,
    compile_gateless,
    core_of,
)
from netwright.kind.neural_gpu.construction import CompiledNeuralGPU
from netwright.kind.neural_gpu.kind import (
    NeuralGPUConstruction,
    NeuralGPULook,
    NeuralGPUReading,
)
from netwright.kind.record import Kind, Options, Proof
from netwright.kind.rnn.meanings import MEANINGS as RNN_MEANINGS
from netwright.kind.rnn.meanings import READOUTS
from netwright.kind.rnn.reading import VectorReader
from netwright.machine.turing_machine import TuringMachine
from netwright.network.trace import Moment
from netwright.network.view import AppliedRule, view_named
from netwright.verify.comparison import Check


class GatelessConstruction(NeuralGPUConstruction):
    """A Neural GPU with no gates: each cell runs the machine on its prefix of the input."""

    name = "gateless-neural-gpu"
    statement = STATEMENT
    of_the_paper = False
    code = "neural-gpu"

    def construct(self, machine: TuringMachine, options: Options) -> CompiledGateless:
        """The cells hold the neurons of the machine's RNN."""
        return compile_gateless(machine, options["base"])

    def parts(self, compiled: CompiledNeuralGPU) -> dict[str, Callable[[], CompiledNeuralGPU]]:
        """The kernel from the cell above, without which the input stays where it is."""

        def alone() -> CompiledNeuralGPU:
            cell, (_, own) = compiled.network.layout, compiled.network.F.kernels
            F = replace(compiled.network.F, kernels=((linear(cell, cell),), own))
            return replace(compiled, network=replace(compiled.network, F=F))

        return {"kernel:above": alone}

    def facts(self, compiled: CompiledNeuralGPU) -> dict[str, Any]:
        """The number of channels, and the formula for it."""
        neurons, d = compiled.neurons, compiled.network.layout.dimension
        entered, m = len(neurons.entries), len(neurons.machine.states)
        more = 9 if neurons.stays else 7
        return {
            "dimension": d,
            "formula": f"m+(k-1)|E|+{more}",
            "formula_value": m + (neurons.k - 1) * entered + more,
            "entered": entered,
            "kernel_shape": [*compiled.network.F.shape, d, d],
            "base": str(neurons.base),
        }

    def hidden(self, compiled: CompiledNeuralGPU) -> Affine:
        """The neurons of a cell."""
        return core_of(compiled.neurons)


class GatelessReading(NeuralGPUReading):
    """A reading of the cells."""

    def watches(
        self, compiled: CompiledNeuralGPU, readouts: Affine, tokens: int
    ) -> tuple[Watch, Watch]:
        """All configurations are in the last cell."""
        watch = Watch(str(tokens - 1), "n", through=core_of(compiled.neurons).then(readouts))
        return watch, watch


class GatelessProof(Proof[CompiledNeuralGPU]):
    """The claims of every cell at every iteration."""

    checker = CHECKER

    def checks(
        self, compiled: CompiledNeuralGPU, word: Sequence[str], max_steps: int
    ) -> Iterator[Check]:
        """Check every cell."""
        return gateless_checks(compiled, word, max_steps)


class GatelessLook(NeuralGPULook):
    """The look of the cells."""

    meanings = Meanings(
        blocks={
            **RNN_MEANINGS.blocks_but(ENCODER),
            "f": "1 while the cell takes in its prefix of the input",
            "dig": "the digit that came down to the cell, divided by B",
        },
        hidden={"F": {**READOUTS, **dict.fromkeys(ENCODER, "0: the RNN's encoder alone has it")}},
        weights={
            "U.1": "update gate, from the cell above: 0",
            "U.2": "update gate, from the cell itself: 0, so nothing is kept",
            "R.1": "reset gate, from the cell above: 0",
            "R.2": "reset gate, from the cell itself: 0, and a bias of 1: everything passes",
            "F.1": "from the cell above: the input's digits come down; f holds back the start",
            "F.2": "from the cell itself: a step of the machine, or the start",
        },
    )
    view = view_named("gateless-neural-gpu")

    def rule(self, compiled: CompiledNeuralGPU, moment: Moment) -> AppliedRule | None:
        """The rule of the last cell."""
        reader = VectorReader(compiled.neurons)
        found = reader.read(core_of(compiled.neurons)(moment["cell"]))
        return AppliedRule.of(compiled.machine, found.state, found.symbol) if found else None


KIND = Kind(GatelessConstruction(), GatelessReading(), GatelessProof(), GatelessLook())
