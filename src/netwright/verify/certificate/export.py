"""A compiled network written down: machine, layouts, exact weights, as JSON."""

from collections.abc import Mapping
from typing import Any

from netwright.exact.feed_forward import Affine, LinearMap
from netwright.exact.layout import Layout
from netwright.exact.rational import Activation, rational, sigma
from netwright.exact.vector import Vector
from netwright.nets.attention import hardmax, score_phi
from netwright.nets.positional import ReciprocalPositions
from netwright.nets.rnn import RNN, Matrix, identity
from netwright.theorems.theorem_2_3_rnn.construction import CompiledRNN
from netwright.theorems.theorem_3_4_transformer.construction import CompiledTransformer
from netwright.theorems.theorem_3_4_transformer.saving import machine_parts
from netwright.theorems.theorem_4_1_neural_gpu import CompiledNeuralGPU
from netwright.verify.damage import Compiled


def written(compiled: Compiled) -> dict[str, Any]:
    """All that a certificate's check needs of a network."""
    if isinstance(compiled, CompiledTransformer):
        return _transformer(compiled)
    if isinstance(compiled, CompiledRNN):
        return _rnn(compiled)
    return _neural_gpu(compiled)


class _Layouts:
    """Layouts by number."""

    def __init__(self) -> None:
        self.found: list[Layout] = []

    def number(self, layout: Layout) -> int:
        if layout not in self.found:
            self.found.append(layout)
        return self.found.index(layout)

    def affine(self, affine: Affine) -> dict[str, Any]:
        return {
            "input": self.number(affine.input),
            "output": self.number(affine.output),
            "weights": [[j, k, str(w)] for (j, k), w in affine.weights.items()],
            "bias": _vector(affine.bias),
        }

    def matrix(self, matrix: Matrix) -> list[list[dict[str, Any]]]:
        """A matrix as a sum of products."""
        terms = matrix.terms if isinstance(matrix, LinearMap) else ((matrix,),)
        return [[self.affine(affine) for affine in term] for term in terms]

    def written(self) -> list[Any]:
        return [
            [name if labels == ("",) else [name, list(labels)] for name, labels in layout.blocks]
            for layout in self.found
        ]


def _name_of(activation: Activation) -> str:
    """σ is σ by being equal to it, not by its name."""
    return "sigma" if activation == sigma else "another"


def _vector(vector: Vector) -> list[list[Any]]:
    return [[k, str(x)] for k, x in sorted(vector.entries.items())]


def _machine(machine: Any) -> dict[str, Any]:
    parts = machine_parts(machine)
    names = ("states", "symbols", "blank", "start", "delta", "accepting")
    return {name: parts[name] for name in names}


def _transformer(compiled: CompiledTransformer) -> dict[str, Any]:
    layouts = _Layouts()
    normal = compiled.normal
    networks = {
        name: {
            "activation": _name_of(network.activation),
            "maps": [layouts.affine(affine) for affine in network.maps],
        }
        for name, network in compiled.networks().items()
    }
    layout = layouts.number(compiled.layout)
    pos = compiled.network.pos
    positions: list[str] = []
    if type(pos) is ReciprocalPositions and pos.layout == compiled.layout:
        positions = list(pos.blocks)
    return {
        "given": _machine(normal.given),
        "normal": _machine(normal.machine),
        "names": [normal.q_init, normal.q_read, normal.q_rewind],
        "pauses": sorted(normal.pauses),
        "networks": networks,
        "layout": layout,
        "layouts": layouts.written(),
        "encoder_layers": len(compiled.network.encoder),
        "decoder_layers": len(compiled.network.decoder),
        "attention": [
            "score_phi" if compiled.network.score == score_phi else "another",
            "hardmax" if compiled.network.rho == hardmax else "another",
        ],
        "score": compiled.score.name,
        "positions": positions,
        "seed": _vector(compiled.seed),
        "embedding": [[s, _vector(v)] for s, v in compiled.embedding.items()],
        "final_states": sorted(compiled.final_states),
    }


def _rnn(compiled: CompiledRNN) -> dict[str, Any]:
    layouts = _Layouts()
    network = compiled.network
    matrices = {letter: layouts.matrix(getattr(network, letter)) for letter in "WVU"}
    return {
        **_meaning(compiled),
        "matrices": matrices,
        "plain": _is_plain(network),
        "layout": layouts.number(network.layout),
        "layouts": layouts.written(),
    }


def _is_plain(network: RNN) -> bool:
    """Whether there is nothing beside W, V, U and σ."""
    nothing = (network.R, network.b1, network.b2) == (None, None, None)
    return nothing and (network.f1, network.f2, network.O) == (sigma, sigma, identity)


def _meaning(compiled: CompiledRNN) -> dict[str, Any]:
    """The machine, and what the neurons stand for."""
    neurons = compiled.neurons
    return {
        "given": _machine(compiled.machine),
        "base": str(rational(neurons.base)),
        "digits": dict(neurons.digits),
        "tops": [
            [neurons.label(q, move, a), q, move.value, a]
            for q, move in neurons.entries
            for a in range(1, neurons.k)
        ],
        "embedding": [[s, _vector(v)] for s, v in compiled.embedding.items()],
        "final_states": sorted(compiled.final_states),
    }


def _neural_gpu(compiled: CompiledNeuralGPU) -> dict[str, Any]:
    layouts = _Layouts()
    gpu = compiled.network
    rnn_layout = layouts.number(compiled.rnn.neurons.layout)
    convolutions: Mapping[str, Any] = {
        letter: {
            "kernels": [
                [layouts.matrix(kernel) for kernel in row] for row in getattr(gpu, letter).kernels
            ],
            "bias": [_vector(b) for b in getattr(gpu, letter).bias or ()],
            "activation": _name_of(getattr(gpu, letter).f),
        }
        for letter in "URF"
    }
    return {
        **_meaning(compiled.rnn),
        "convolutions": convolutions,
        "cell_embedding": [
            [s, _vector(compiled.recognizer.embedding[s])] for s in compiled.rnn.machine.symbols
        ],
        "width": gpu.width,
        "circular": gpu.circular,
        "rnn_layout": rnn_layout,
        "layout": layouts.number(gpu.layout),
        "layouts": layouts.written(),
    }
