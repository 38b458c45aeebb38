"""Networks with one weight damaged, or without one of their parts: what must make a check fail.

A weight is named by where it stands and by the block that it leads to: `decoder.3.V.s4`, `F.x1`,
`U.S`. Parts are named by kind and place:

    residual:decoder.2.self       the residual connection around an attention of the decoder,
    residual:decoder.1.external   around its attention to the encoder,
    residual:decoder.1.O          around its feed-forward network (and likewise for encoder.1)
    attention:decoder.3.self      an attention itself: as if every value were 0
    positions                     the positional encoding
    gate:update, gate:reset       a gate of the Neural GPU: U = 0, or R = 1
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from netwright.errors import InputError
from netwright.exact.feed_forward import Affine, FeedForward, LinearMap
from netwright.exact.rational import ONE
from netwright.exact.vector import Vector
from netwright.nets.neural_gpu import Convolution, NeuralGPU
from netwright.nets.rnn import RNN, Matrix
from netwright.nets.transformer import Layer, LayerTrace, Transformer
from netwright.theorems.theorem_2_3_rnn.construction import CompiledRNN
from netwright.theorems.theorem_3_4_transformer.construction import CompiledTransformer
from netwright.theorems.theorem_4_1_neural_gpu import CompiledNeuralGPU

Compiled = CompiledTransformer | CompiledRNN | CompiledNeuralGPU


class Weight(NamedTuple):
    """A weight of a network: the number of its matrix there, its row and its column."""

    matrix: str
    row: int
    column: int


def weights_into(compiled: Compiled, place: str) -> list[Weight]:
    """All weights that lead into a block, such as `decoder.3.V.s4`.

    >>> from netwright.machine.library import library_machine
    >>> from netwright.theorems.theorem_2_3_rnn.construction import compile_rnn
    >>> rnn = compile_rnn(library_machine("even-as"))
    >>> len(weights_into(rnn, "W.S"))
    1
    """
    found = _weights_by_place(compiled)
    if place not in found:
        raise InputError(f"no weight leads to {place!r}; there are weights to {', '.join(found)}")
    return found[place]


def places_of(compiled: Compiled) -> list[str]:
    """The blocks into which weights lead."""
    return list(_weights_by_place(compiled))


def _weights_by_place(compiled: Compiled) -> dict[str, list[Weight]]:
    found: dict[str, list[Weight]] = {}
    for name, affine in _maps_of(compiled).items():
        for row, column in affine.weights:
            block = f"{name.split('#')[0]}.{affine.output.coordinates[column].block}"
            found.setdefault(block, []).append(Weight(name, row, column))
    return found


def flipped(compiled: Compiled, weight: Weight) -> Compiled:
    """The network with the sign of a weight flipped."""
    affine = _maps_of(compiled)[weight.matrix]
    place = (weight.row, weight.column)
    weights = {**affine.weights, place: -affine.weights[place]}
    changed = Affine(affine.input, affine.output, weights, affine.bias)
    return _with_map(compiled, weight.matrix, changed)


def _maps_of(compiled: Compiled) -> dict[str, Affine]:
    """Every matrix by its place; `#` and a number tell several at one place apart."""
    found: dict[str, Affine] = {}
    if isinstance(compiled, CompiledTransformer):
        for name, network in compiled.networks().items():
            found |= {f"{name}#{n}": affine for n, affine in enumerate(network.maps)}
        return found
    matrices: dict[str, Matrix] = {}
    if isinstance(compiled, CompiledRNN):
        matrices = {letter: getattr(compiled.network, letter) for letter in "WVU"}
    else:
        for letter in "URF":
            kernels = getattr(compiled.network, letter).kernels
            matrices |= {f"{letter}.{u + 1}": row[0] for u, row in enumerate(kernels)}
    for name, matrix in matrices.items():
        terms = matrix.terms if isinstance(matrix, LinearMap) else ((matrix,),)
        # The last factor of a product leads to the blocks of the network.
        last_first = [(t, n) for t, term in enumerate(terms) for n in reversed(range(len(term)))]
        found |= {f"{name}#{t}.{n}": terms[t][n] for t, n in last_first}
    return found


def _with_map(compiled: Compiled, name: str, affine: Affine) -> Compiled:
    place, _, number = name.partition("#")
    if isinstance(compiled, CompiledTransformer):
        network = compiled.networks()[place]
        maps = list(network.maps)
        maps[int(number)] = affine
        return compiled.with_network(place, FeedForward(tuple(maps), network.activation))
    t, n = map(int, number.split("."))

    def changed(matrix: Matrix) -> Matrix:
        if isinstance(matrix, Affine):
            return affine
        terms = [list(term) for term in matrix.terms]
        terms[t][n] = affine
        return LinearMap(matrix.input, matrix.output, tuple(map(tuple, terms)))

    letter, _, row = place.partition(".")
    if isinstance(compiled, CompiledRNN):
        rnn: RNN = compiled.network
        return replace(compiled, network=_replaced(rnn, letter, changed(getattr(rnn, letter))))
    convolution: Convolution = getattr(compiled.network, letter)
    kernels = [list(kernel_row) for kernel_row in convolution.kernels]
    kernels[int(row) - 1][0] = changed(kernels[int(row) - 1][0])
    other = replace(convolution, kernels=tuple(map(tuple, kernels)))
    return replace(compiled, network=_replaced(compiled.network, letter, other))


def _replaced(network: Any, field: str, value: object) -> Any:
    return replace(network, **{field: value})


@dataclass(frozen=True)
class TransformerWithout(Transformer):
    """A Transformer that leaves out residual connections or attentions, by name."""

    without: frozenset[str] = frozenset()

    def _around(self, name: str, image: Vector, x: Vector) -> Vector:
        """image + x, or without what is left out."""
        if f"attention:{name}" in self.without:
            image = Vector.zero(self.layout)
        return image if f"residual:{name}" in self.without else image + x

    def encoder_layer(self, layer: Layer, X: Sequence[Vector]) -> list[Vector]:
        """Equations 6 and 7."""
        name = f"encoder.{_number(self.encoder, layer)}"
        K, V = [layer.K(x) for x in X], [layer.V(x) for x in X]
        Z = []
        for x in X:
            a = self._around(f"{name}.self", self.attend(layer.Q(x), K, V)[1], x)
            Z.append(self._around(f"{name}.O", layer.O(a), a))
        return Z

    def decode_token(
        self,
        layer: Layer,
        external: tuple[Sequence[Vector], Sequence[Vector]],
        y: Vector,
        K: Sequence[Vector],
        V: Sequence[Vector],
    ) -> LayerTrace:
        """Equations 9 to 11."""
        name = f"decoder.{_number(self.decoder, layer)}"
        self_weights, attended = self.attend(layer.Q(y), K, V)
        p = self._around(f"{name}.self", attended, y)
        external_weights, attended = self.attend(p, *external)
        a = self._around(f"{name}.external", attended, p)
        z = self._around(f"{name}.O", layer.O(a), a)
        return LayerTrace(self_weights, p, external_weights, a, z)


def _number(layers: Sequence[Layer], layer: Layer) -> int:
    return next(n for n, each in enumerate(layers, start=1) if each is layer)


def without_part(compiled: Compiled, part: str) -> Compiled:
    """The network without one of its parts."""
    parts = parts_of(compiled)
    if part not in parts:
        raise InputError(f"no part {part!r} to leave out; there are {', '.join(parts)}")
    if isinstance(compiled, CompiledTransformer):
        network = compiled.network
        fields = {name: getattr(network, name) for name in network.__dataclass_fields__}
        left_out = fields.pop("without", frozenset()) | {part}
        if part == "positions":
            fields["pos"] = None
        changed = TransformerWithout(**fields, without=left_out)
        return replace(compiled, network=changed)
    if isinstance(compiled, CompiledRNN):
        return compiled  # it has no parts
    gpu: NeuralGPU = compiled.network
    layout = gpu.layout
    gate = gpu.U if part == "gate:update" else gpu.R
    nothing = Affine(layout, layout, {}, Vector.zero(layout))
    kernels = tuple(tuple(nothing for _ in row) for row in gate.kernels)
    if part == "gate:update":
        return replace(compiled, network=replace(gpu, U=Convolution(kernels)))
    ones = Vector(layout, dict.fromkeys(range(layout.dimension), ONE))
    return replace(compiled, network=replace(gpu, R=Convolution(kernels, bias=(ones,))))


def parts_of(compiled: Compiled) -> list[str]:
    """What can be left out of a network."""
    if isinstance(compiled, CompiledRNN):
        return []
    if isinstance(compiled, CompiledNeuralGPU):
        return ["gate:update", "gate:reset"]
    names = []
    for n in range(1, len(compiled.network.encoder) + 1):
        names += [f"encoder.{n}.self", f"encoder.{n}.O"]
    for n in range(1, len(compiled.network.decoder) + 1):
        names += [f"decoder.{n}.self", f"decoder.{n}.external", f"decoder.{n}.O"]
    attentions = [f"attention:{name}" for name in names if not name.endswith(".O")]
    return [*(f"residual:{name}" for name in names), *attentions, "positions"]
