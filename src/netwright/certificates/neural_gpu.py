"""The obligations of a Neural GPU: its kernels are those of Appendix C for some W, V and U.

W, V and U are read off the kernels and checked as an RNN.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netwright.certificates.products import Products
from netwright.certificates.reading import (
    ONE,
    Blocks,
    Cases,
    Checker,
    Matrix,
    Obligation,
    Sparse,
    oblige,
    read_vector,
)
from netwright.certificates.rnn import RNNCheck, read_embedding
from netwright.certificates.schema import NEURAL_GPU
from netwright.errors import FormatError

FLAGS = ("a", "b", "c")
MATRICES = {"V": (1, "C", "EC"), "W": (2, "E", "EC"), "U": (2, "C", "D")}
"""For each matrix of the RNN: the kernel of F, the block it reads, and the blocks it writes."""


class NeuralGPUCheck:
    """A serialised Neural GPU, and its obligations."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        self.written = written
        layouts = [Blocks(blocks) for blocks in written["layouts"]]
        sizes = [len(layout.names) for layout in layouts]
        network = written["network"]
        self.cell = layouts[network["layout"]]
        self.rnn = rnn_blocks(written["layouts"][network["layout"]])
        self.d = len(self.rnn.names)
        self.convolutions = {letter: network[letter] for letter in "URF"}
        self.kernels = {
            (letter, row): Products.read(kernels[0], sizes, network["layout"])
            for letter, convolution in self.convolutions.items()
            for row, kernels in enumerate(convolution["kernels"], start=1)
        }

    def obligations(self) -> Iterator[Obligation]:
        """Check all obligations, those of the RNN included."""
        shape = oblige("shape: kernels (2, 1), σ, zeros outside", self._shape())
        yield shape
        if shape.failure is not None:
            return
        yield oblige("gate U keeps what is still to come", self._gate_u())
        yield oblige("gate R lets pass what is needed", self._gate_r())
        update = oblige("F is W, V and U between the blocks", self._update())
        yield update
        yield oblige("embedding: [x, 0, 0, 1, 1, 0]", self._embedding())
        if update.failure is None:
            matrices = {letter: self._between(*ends) for letter, ends in MATRICES.items()}
            check = RNNCheck(self.written, self.rnn, matrices, self.tokens, plain=True)
            for each in check.obligations():
                yield each._replace(name=f"RNN: {each.name}")

    def _shape(self) -> Cases:
        network = self.written["network"]
        yield network["width"] == 1 and not network["circular"], "the wrong grid"
        names = [f"{letter} {block}" for letter in "ECD" for block in self.rnn.places]
        yield list(self.cell.places) == [*names, *FLAGS], "the wrong channels"
        for letter in "ECD":
            for block, labels in self.rnn.places.items():
                same = list(self.cell[f"{letter} {block}"]) == list(labels)
                yield same, f"{letter} {block} has the wrong channels"
        for letter, convolution in self.convolutions.items():
            yield convolution["f"] == "sigma", f"{letter} has the wrong activation"
            shapes = [len(row) for row in convolution["kernels"]]
            yield shapes == [1, 1], f"{letter} has kernels of the wrong shape"

    def _block(self, letter: str) -> range:
        first = "ECD".index(letter) * self.d
        return range(first, first + self.d)

    def _ones(self, letters: str, flags: str) -> Sparse:
        places = [k for letter in letters for k in self._block(letter)]
        return dict.fromkeys([*places, *map(self.cell.one, flags)], ONE)

    def _bias(self, letter: str) -> Sparse:
        rows = self.convolutions[letter]["bias"]
        if rows is not None and len(rows) != 1:
            raise FormatError("a bias is not for exactly one column")
        return read_vector(rows[0], len(self.cell.names)) if rows else {}

    def _is(self, letter: str, row: int, wanted: Mapping[int, Sparse]) -> Cases:
        for j, at in enumerate(self.cell.names):
            found, name = self.kernels[letter, row]({j: ONE}), f"K^{letter}_{row} at {at}"
            yield found == wanted.get(j, {}), f"{name} is {self.cell.show(found)[:60]}"

    def _gate_u(self) -> Cases:
        yield not self._bias("U"), "U has a bias"
        yield from self._is("U", 1, {self.cell.one("a"): self._ones("EC", "ab")})
        yield from self._is("U", 2, {self.cell.one("a"): self._ones("D", "c")})

    def _gate_r(self) -> Cases:
        yield self._bias("R") == self._ones("D", "c"), "the bias of R"
        yield from self._is("R", 1, {})
        a, b = self.cell.one("a"), self.cell.one("b")
        yield from self._is("R", 2, {a: self._ones("E", "a"), b: self._ones("C", "b")})

    def _update(self) -> Cases:
        yield not self._bias("F"), "F has a bias"
        others = {
            (number, source): self._others(number, to) for number, source, to in MATRICES.values()
        }
        for number in (1, 2):
            kernel = self.kernels["F", number]
            for j, at in enumerate(self.cell.names):
                letter = "ECD"[j // self.d] if j < 3 * self.d else at
                if (number, letter) in others:
                    right = not others[number, letter]({j: ONE})
                elif (number, letter) == (2, "D"):  # as C, which has been looked at
                    right = not kernel({j: ONE, j - self.d: -ONE})
                else:
                    flag = {(1, "a"): "a", (2, "a"): "b"}.get((number, letter), "")
                    right = kernel({j: ONE}) == self._ones("", flag)
                shown = "" if right else self.cell.show(kernel({j: ONE}))[:60]
                yield right, f"K^F_{number} at {at} is {shown}"

    def _between(self, number: int, source: str, targets: str) -> Products:
        """The part of a kernel of F from a block to the first of its targets."""
        into = Matrix({k: [(j, ONE)] for k, j in enumerate(self._block(source))}, {})
        out = Matrix({j: [(k, ONE)] for k, j in enumerate(self._block(targets[0]))}, {})
        return Products([[into, *term, out] for term in self.kernels["F", number].terms])

    def _others(self, number: int, targets: str) -> Products:
        """The image of a kernel of F outside its targets, and how these differ from the first."""
        first, *others = map(self._block, targets)
        rows = {j: [(j, ONE)] for j in range(len(self.cell.names)) if j not in first}
        rows |= {j: [(other[k], -ONE) for other in others] for k, j in enumerate(first)}
        return Products([[*term, Matrix(rows, {})] for term in self.kernels["F", number].terms])

    @property
    def tokens(self) -> dict[str, Sparse]:
        """The embedding of the RNN: block E of each cell, which comes first."""
        cells = read_embedding(self.written, len(self.cell.names))
        return {s: {k: x for k, x in cell.items() if k < self.d} for s, cell in cells.items()}

    def _embedding(self) -> Cases:
        cells = read_embedding(self.written, len(self.cell.names))
        for symbol, token in self.tokens.items():
            yield cells[symbol] == token | self._ones("", "ab"), f"f({symbol})"


def rnn_blocks(cell: Sequence[Any]) -> Blocks:
    """The blocks of the RNN: those of a cell that are named `E …`."""
    found = []
    for block in cell:
        name, *labels = [block] if isinstance(block, str) else block
        if name.startswith("E "):
            found.append([name[2:], *labels] if labels else name[2:])
    return Blocks(found)


CHECKER = Checker(NEURAL_GPU, lambda written: NeuralGPUCheck(written).obligations())
