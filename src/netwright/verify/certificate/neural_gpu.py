"""The obligations of a Neural GPU: its kernels are those of Appendix C for some W, V and U.

These are read off the kernels, and are then an RNN with obligations of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from netwright.errors import FormatError
from netwright.verify.certificate.reading import (
    ONE,
    Blocks,
    Cases,
    Checker,
    Matrix,
    Numbers,
    Obligation,
    oblige,
    read_vector,
)
from netwright.verify.certificate.rnn import RNNCheck, image, read_embedding, read_terms
from netwright.verify.certificate.schema import NEURAL_GPU

FLAGS = ("a", "b", "c")


class NeuralGPUCheck:
    """What is written down of a Neural GPU, and its obligations."""

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
            (letter, row): read_terms(kernels[0], sizes, network["layout"])
            for letter, convolution in self.convolutions.items()
            for row, kernels in enumerate(convolution["kernels"], start=1)
        }
        self.matrices: dict[str, Matrix] = {}

    def obligations(self) -> Iterator[Obligation]:
        """All of them, those of the RNN included."""
        shape = oblige("shape: kernels (2, 1), σ, zeros outside", self._shape())
        yield shape
        if shape.failure is not None:
            return
        yield oblige("gate U keeps what is still to come", self._gate_u())
        yield oblige("gate R lets pass what is needed", self._gate_r())
        yield oblige("F is W, V and U between the blocks", self._update())
        yield oblige("embedding: [x, 0, 0, 1, 1, 0]", self._embedding())
        terms = {letter: [[matrix]] for letter, matrix in self.matrices.items()}
        if terms.keys() == set("WVU"):
            check = RNNCheck(self.written, self.rnn, terms, self.tokens, plain=True)
            for each in check.obligations():
                yield each._replace(name=f"RNN: {each.name}")

    def _shape(self) -> Cases:
        network = self.written["network"]
        yield network["width"] == 1 and not network["circular"], "another grid"
        names = [f"{letter} {block}" for letter in "ECD" for block in self.rnn.places]
        yield list(self.cell.places) == [*names, *FLAGS], "other channels"
        for letter in "ECD":
            for block, labels in self.rnn.places.items():
                same = list(self.cell[f"{letter} {block}"]) == list(labels)
                yield same, f"{letter} {block} has other channels"
        for letter, convolution in self.convolutions.items():
            yield convolution["f"] == "sigma", f"{letter} has another activation"
            shapes = [len(row) for row in convolution["kernels"]]
            yield shapes == [1, 1], f"{letter} has kernels of another shape"

    def _block(self, letter: str) -> range:
        first = "ECD".index(letter) * self.d
        return range(first, first + self.d)

    def _flag(self, flag: str) -> int:
        return int(self.cell.one(flag))

    def _ones(self, letters: str, flags: str) -> Numbers:
        places = [k for letter in letters for k in self._block(letter)]
        return dict.fromkeys([*places, *(self._flag(flag) for flag in flags)], ONE)

    def _bias(self, letter: str) -> Numbers:
        rows = self.convolutions[letter]["bias"]
        if rows is not None and len(rows) != 1:
            raise FormatError("a bias for another number of columns than one")
        return read_vector(rows[0], len(self.cell.names)) if rows else {}

    def _rows(self, letter: str, row: int) -> Iterator[tuple[int, Numbers]]:
        kernel = self.kernels[letter, row]
        for j in range(len(self.cell.names)):
            yield j, image(kernel, {j: ONE})

    def _is(self, letter: str, row: int, wanted: Mapping[int, Numbers]) -> Cases:
        for j, found in self._rows(letter, row):
            name = f"K^{letter}_{row} at {self.cell.names[j]}"
            yield found == wanted.get(j, {}), f"{name} is {self.cell.show(found)[:60]}"

    def _gate_u(self) -> Cases:
        yield not self._bias("U"), "U has a bias"
        yield from self._is("U", 1, {self._flag("a"): self._ones("EC", "ab")})
        yield from self._is("U", 2, {self._flag("a"): self._ones("D", "c")})

    def _gate_r(self) -> Cases:
        yield self._bias("R") == self._ones("D", "c"), "the bias of R"
        yield from self._is("R", 1, {})
        passing = {self._flag("a"): self._ones("E", "a"), self._flag("b"): self._ones("C", "b")}
        yield from self._is("R", 2, passing)

    def _update(self) -> Cases:
        yield not self._bias("F"), "F has a bias"
        rows: dict[str, dict[int, list[Any]]] = {"W": {}, "V": {}, "U": {}}
        decoder: dict[int, Numbers] = {}
        for kernel in (1, 2):
            for j, found in self._rows("F", kernel):
                name = f"K^F_{kernel} at {self.cell.names[j]}"
                letter = "ECD"[j // self.d] if j < 3 * self.d else ""
                i = j % self.d
                through = {(1, "C"): "V", (2, "E"): "W", (2, "C"): "U"}.get((kernel, letter))
                if through is not None:
                    targets = "D" if through == "U" else "EC"
                    first = self._block(targets[0]).start
                    row = {k - first: w for k, w in found.items() if 0 <= k - first < self.d}
                    rows[through][i] = list(row.items())
                    starts = [self._block(target).start for target in targets]
                    wanted = {start + k: w for start in starts for k, w in row.items()}
                    if through == "U":
                        decoder[i] = wanted
                elif (kernel, letter) == (2, "D"):
                    wanted = decoder[i]
                else:
                    flags = {(1, "a"): "a", (2, "a"): "b"}
                    flag = flags.get((kernel, self.cell.names[j] if not letter else ""))
                    wanted = {self._flag(flag): ONE} if flag else {}
                yield found == wanted, f"{name} is {self.cell.show(found)[:60]}"
        self.matrices = {letter: Matrix(row, {}) for letter, row in rows.items()}

    @property
    def tokens(self) -> dict[str, Numbers]:
        """The vectors of symbols in block E, which comes first."""
        cells = read_embedding(self.written, len(self.cell.names))
        return {s: {k: x for k, x in cell.items() if k < self.d} for s, cell in cells.items()}

    def _embedding(self) -> Cases:
        cells = read_embedding(self.written, len(self.cell.names))
        for symbol, token in self.tokens.items():
            yield cells[symbol] == token | self._ones("", "ab"), f"f({symbol})"


def rnn_blocks(cell: Sequence[Any]) -> Blocks:
    """The blocks of the RNN: a cell has them as `E …`, then as `C …` and `D …`."""
    found = []
    for block in cell:
        name, *labels = [block] if isinstance(block, str) else block
        if name.startswith("E "):
            found.append([name[2:], *labels] if labels else name[2:])
    return Blocks(found)


CHECKER = Checker(NEURAL_GPU, lambda written: NeuralGPUCheck(written).obligations())
