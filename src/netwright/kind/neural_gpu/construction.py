"""Theorem 4.1 (ngpu-turing-complete): uniform Neural GPUs are Turing complete (Appendix C).

An RNN with zero biases and R = 0 becomes a uniform Neural GPU with w = 1, kernels of shape (2, 1,
3d+3, 3d+3) and one cell for each input vector. A cell is [E, C, D, a, b, c]: blocks of d channels
for the encoder, for the carry to the decoder and for the decoder, and three flags. At time t
(eq:to-prove), with α^i_0 = h_i and α^i_j = σ(α^i_{j−1} U), so that g_j = α^n_j:

    [0, 0, α^i_{t−i}, 0, 0, 0]      in the cells i < t, which the encoder has passed
    [h_i, h_i, 0, 0, 1, 0]          in the cell i = t, where it is
    [x_i, 0, 0, 1, 1, 0]            in the cells i > t, still to come

Departures from the print: (1 − U) must be (1 − U^t); no final set is given there, and testing the
block D alone would accept too early if 0 ∈ 𝔽, so it is {0}^2d × 𝔽 × {(0, 0, 0)}; the input must
not be empty, so a blank is read after it, as for the RNN.

With circular convolution the construction fails, as it must (Proposition 4.2); one more cell that
marks the end makes it work again (`end_marker`): it takes the place of the zeros above the first
cell, and collects the decoder in its own block D.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from netwright.definitions.neural_gpu import Convolution, NeuralGPU
from netwright.definitions.recognizer import Recognizer
from netwright.definitions.rnn import RNN, Matrix, identity
from netwright.errors import NetworkError
from netwright.exact.feed_forward import Affine, LinearMap, Weights
from netwright.exact.layout import Layout
from netwright.exact.meanings import Meanings
from netwright.exact.rational import ONE, sigma
from netwright.exact.vector import Vector
from netwright.kind.rnn.construction import CompiledRNN, compile_rnn
from netwright.kind.rnn.meanings import MEANINGS as RNN_MEANINGS
from netwright.kind.rnn.meanings import READOUTS
from netwright.kind.rnn.neurons import Neurons
from netwright.machine.normal_form import fresh_name
from netwright.machine.turing_machine import TuringMachine

BLOCKS = ("E", "C", "D")
FLAGS = ("a", "b", "c")
END = "e"

MEANINGS = Meanings(
    blocks={
        "E": "encoder: the input's vector while it waits, then h_i while the encoder is here",
        "C": "carry: h_i for the next cell, while the encoder is here",
        "D": "decoder: what h_i has become after t - i steps, once the encoder has passed",
        "a": "1 in cells that the encoder has still to reach",
        "b": "1 there, and in the cell where it is",
        "c": "0 always; it makes the final set exact",
        **{name: f"in E, C and D: {words}" for name, words in RNN_MEANINGS.blocks.items()},
    },
    hidden={"F": READOUTS},
    weights={
        "U.1": "update gate, from the cell above: E, C, a and b keep their values while it waits",
        "U.2": "update gate, from the cell itself: D and c keep theirs while it waits",
        "R.1": "reset gate, from the cell above: 0",
        "R.2": "reset gate, from the cell itself: E and a pass while it waits, C and b up to h_i",
        "F.1": "from the cell above: its carry through V of the RNN, and its flag a",
        "F.2": "from the cell itself: E through W, C and D through U of the RNN, and a into b",
    },
)


def cell_layout(rnn: Layout, *, end_marker: bool = False) -> Layout:
    """The 3d + 3 channels of a cell, and one more for the end marker on request."""
    blocks = {f"{letter} {name}": labels for letter in BLOCKS for name, labels in rnn.blocks}
    flags = (*FLAGS, END) if end_marker else FLAGS
    return Layout((*blocks.items(), *((flag, ("",)) for flag in flags)))


def block_of(cell: Vector, letter: str, rnn: Layout) -> Vector:
    """One of the blocks E, C, D of a cell, as a vector of the RNN."""
    return Vector.of(rnn, {name: dict(cell[f"{letter} {name}"].items()) for name, _ in rnn.blocks})


def in_block(x: Vector, letter: str, cell: Layout) -> Vector:
    """A cell with a vector of the RNN in one of its blocks, and 0 elsewhere."""
    return Vector.of(cell, {f"{letter} {name}": x[name] for name, _ in x.layout.blocks})


class _Kernels:
    """Builds the matrices of the proof, between cells of one layout."""

    def __init__(self, rnn: RNN, cell: Layout) -> None:
        self.rnn, self.cell = rnn, cell
        self.names = [name for name, _ in rnn.layout.blocks]

    def through(self, sources: str, matrix: Matrix, targets: str) -> list[tuple[Affine, ...]]:
        """Terms that take the sum of some blocks through a matrix of the RNN into others."""
        take = {(f"{letter} {name}", name): 1 for letter in sources for name in self.names}
        put = {(name, f"{letter} {name}"): 1 for letter in targets for name in self.names}
        first = Affine.of(self.cell, self.rnn.layout, take)
        last = Affine.of(self.rnn.layout, self.cell, put)
        terms = matrix.terms if isinstance(matrix, LinearMap) else ((matrix,),)
        return [(first, *term, last) for term in terms]

    def flags(self, weights: Mapping[str, str]) -> list[tuple[Affine, ...]]:
        """A term from flags to flags and blocks: "a" → "E C a" puts a into all of E and C, and a.

        Into a block that is the matrix A or B of the proof, a row of ones.
        """
        blocks: dict[tuple[str, str], Weights] = {}
        for flag, targets in weights.items():
            for target in targets.split():
                if target not in BLOCKS:
                    blocks[flag, target] = 1
                    continue
                for name, labels in self.rnn.layout.blocks:
                    ones = {("", label): 1 for label in labels}
                    blocks[flag, f"{target} {name}"] = ones
        return [(Affine.of(self.cell, self.cell, blocks),)]

    def kernel(self, *parts: list[tuple[Affine, ...]]) -> LinearMap:
        """The kernel that is the sum of some terms."""
        return LinearMap(self.cell, self.cell, tuple(term for part in parts for term in part))


def neural_gpu(rnn: RNN, *, circular: bool = False, end_marker: bool = False) -> NeuralGPU:
    """The Neural GPU of an RNN: the kernels of Appendix C, block by block."""
    extra = (rnn.R, rnn.b1, rnn.b2) != (None, None, None)
    if extra or (rnn.f1, rnn.f2, rnn.O) != (sigma, sigma, identity):
        raise NetworkError(
            "Theorem 4.1 takes an RNN with no R and no biases, with σ, and with O the identity"
        )
    cell = cell_layout(rnn.layout, end_marker=end_marker)
    make = _Kernels(rnn, cell)
    # K^F_1 takes the carry h_{i−1} of the cell above through V into E and C, and its flag a into a
    # (F₁); K^F_2 takes x_i in E through W into E and C, C and D through U into D, and a into b
    # (F₂). In the cell i = t that is [x_i W + h_{i−1} V, the same, 0, 0, 1, 0], above it α U in D.
    above = [make.through("C", rnn.V, "EC"), make.flags({"a": "a"})]
    own = [make.through("E", rnn.W, "EC"), make.through("CD", rnn.U, "D"), make.flags({"a": "b"})]
    # K^U keeps: E, C, a and b while the cell above has a = 1, that is, is still to come; D and c
    # while the cell itself is (U₁, U₂, A of the proof).
    keep_above, keep_own = {"a": "E C a b"}, {"a": "D c"}
    if end_marker:
        # The end cell keeps its E, C and flags for ever. Its D takes the carry of the cell above
        # through U; in other cells the gate is closed (a = 1) when that carry is not 0.
        above.append(make.through("C", rnn.U, "D"))
        keep_own |= {END: "E C a b c e"}
    # K^R resets: E passes while a = 1, C while b = 1, the flags likewise; the bias lets D, c pass.
    passing = make.flags({"a": "E a", "b": "C b", **({END: END} if end_marker else {})})
    ones = {f"D {name}": dict.fromkeys(labels, 1) for name, labels in rnn.layout.blocks}
    return NeuralGPU(
        layout=cell,
        U=Convolution(
            ((make.kernel(make.flags(keep_above)),), (make.kernel(make.flags(keep_own)),))
        ),
        R=Convolution(
            ((make.kernel(),), (make.kernel(passing),)), bias=(Vector.of(cell, {**ones, "c": 1}),)
        ),
        F=Convolution(((make.kernel(*above),), (make.kernel(*own),))),
        circular=circular,
    )


@dataclass(frozen=True)
class CompiledNeuralGPU:
    """A machine, and the Neural GPU that carries out its RNN."""

    neurons: Neurons
    """The neurons of the RNN."""
    network: NeuralGPU
    embedding: Mapping[str, Vector]
    """The cells [x, 0, 0, 1, 1, 0] of symbols."""
    final_states: frozenset[str]

    @property
    def machine(self) -> TuringMachine:
        """The given machine."""
        return self.neurons.machine

    @cached_property
    def rnn(self) -> CompiledRNN:
        """The RNN of Theorem 2.3 that it should carry out."""
        return compile_rnn(self.machine, self.neurons.base)

    @property
    def has_end_marker(self) -> bool:
        """Whether inputs end with the end marker's cell."""
        return any(name == END for name, _ in self.network.layout.blocks)

    def embed(self, word: Sequence[str]) -> list[Vector]:
        """The cells [x_i, 0, 0, 1, 1, 0] of a word and its blank, and the end marker if any."""
        cells = [self.embedding[symbol] for symbol in (*word, self.machine.blank)]
        end = [Vector.of(self.network.layout, {END: 1})] if self.has_end_marker else []
        return [*cells, *end]

    def is_final(self, y: Vector) -> bool:
        """{0}^2d × 𝔽 × {(0, 0, 0)}."""
        decoder = block_of(y, "D", self.neurons.layout)
        alone = in_block(decoder, "D", self.network.layout)
        rest = Vector.of(self.network.layout, {END: 1} if self.has_end_marker else {})
        final = any(decoder.number("S", state) == ONE for state in self.final_states)
        return y == alone + rest and final

    @property
    def recognizer(self) -> Recognizer:
        """The recognizer of cells; its words end with a blank, and `END` if there is a marker."""
        alphabet, embedding = self.machine.symbols, dict(self.embedding)
        if self.has_end_marker:
            name = fresh_name(END, set(alphabet))
            alphabet, embedding[name] = (*alphabet, name), self.embed([])[-1]
        seed = Vector.zero(self.network.layout)
        return Recognizer(alphabet, embedding, self.network, seed, self.is_final)


def compile_neural_gpu(
    rnn: CompiledRNN, *, circular: bool = False, end_marker: bool = False
) -> CompiledNeuralGPU:
    """The Neural GPU of a machine's RNN.

    >>> from netwright.machine.library import library_machine
    >>> from netwright.kind.rnn.construction import compile_rnn
    >>> compiled = compile_neural_gpu(compile_rnn(library_machine("even-as")))
    >>> compiled.network.layout.dimension, compiled.network.F.shape
    (63, (2, 1))
    """
    network = neural_gpu(rnn.network, circular=circular, end_marker=end_marker)
    waiting = Vector.of(network.layout, a=1, b=1)
    cells = {s: in_block(x, "E", network.layout) + waiting for s, x in rnn.embedding.items()}
    return CompiledNeuralGPU(rnn.neurons, network, cells, rnn.final_states)


def with_padding(
    compiled: CompiledNeuralGPU, *, circular: bool, end_marker: bool = False
) -> CompiledNeuralGPU:
    """The Neural GPU of the same RNN with another padding, with or without the end marker."""
    return compile_neural_gpu(compiled.rnn, circular=circular, end_marker=end_marker)
