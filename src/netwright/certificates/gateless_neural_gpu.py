"""The obligations of a Neural GPU without gates: together they imply that it simulates, always.

The gates are constants, U = 0 and R = 1, so S^t = σ(K_1 above + K_2 own). A cell is a vector that
is affine in its two stacks, as in `certificates.rnn`; K_1 reads only f and dig of the cell above.
Three obligations follow the proof: a cell that loads pushes the digit above it, a cell below one
that runs already begins, and a cell that runs, with f = dig = 0 above it, makes a step.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from netwright.certificates.products import Products
from netwright.certificates.reading import (
    ONE,
    Blocks,
    Cases,
    Checker,
    Nothing,
    Obligation,
    oblige,
    read_vector,
)
from netwright.certificates.rnn import (
    ALWAYS_0,
    ALWAYS_1,
    Affine,
    RNNCheck,
    Symbolic,
    X,
    read_embedding,
)
from netwright.certificates.schema import NEURAL_GPU

SIZES = {"": ("u", "Rpop", "Rpush", "Lpop", "Lpush"), "stays": ("Rstay", "Lstay")}
OF_INPUT = ("f", "dig")


class GatelessCheck(RNNCheck):
    """A serialised Neural GPU without gates, and its obligations."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        layouts = [Blocks(blocks) for blocks in written["layouts"]]
        sizes = [len(layout.names) for layout in layouts]
        network = written["network"]
        at, self.written, self.network = layouts[network["layout"]], written, network
        self.kernels = {
            letter: [
                Products.read(kernel, sizes, network["layout"])
                for row in network[letter]["kernels"]
                for kernel in row
            ]
            for letter in "URF"
        }
        matrices = {"above": self.kernels["F"][0], "U": self.kernels["F"][-1]}
        super().__init__(written, at, matrices, read_embedding(written, len(at.names)), plain=True)

    def obligations(self) -> Iterator[Obligation]:
        """Check all obligations; those about stacks need a base above k."""
        shape = oblige("shape: kernels (2, 1), σ, zeros outside", self._shape())
        yield shape
        if shape.failure is not None:
            return
        yield oblige("gates: U is 0, R is 1", self._gates())
        neurons = oblige("neurons: one for each part of a configuration", self._neurons())
        yield neurons
        if neurons.failure is not None:
            return
        yield oblige("embedding: u, f and the symbol's digit", self._embedding())
        yield oblige("above: f and dig alone come down", self._above())
        yield oblige("loading: the digit above is pushed, all stacks", self._loading())
        yield oblige("start: the stack becomes the configuration at time 0", self._begins())
        yield oblige("step: every state, symbol and last move, all stacks", self._steps())
        yield oblige("end: a halted machine stays halted", self._end())

    def _shape(self) -> Cases:
        network = self.network
        yield network["width"] == 1 and not network["circular"], "the wrong grid"
        blocks = [*SIZES[""], *(SIZES["stays"] if "Rstay" in self.at.places else ())]
        yield [*self.at.places] == [*blocks, "S", "P", *OF_INPUT], "the wrong channels"
        for block in (*blocks, *OF_INPUT):
            yield [*self.at[block]] == [""], f"{block} has more than one channel"
        for letter in "URF":
            convolution = network[letter]
            yield convolution["f"] == "sigma", f"{letter} has the wrong activation"
            shapes = [len(row) for row in convolution["kernels"]]
            yield shapes == [1, 1], f"{letter} has kernels of the wrong shape"
            bias = convolution["bias"]
            yield bias is None or len(bias) == 1, f"the bias of {letter} is not for one column"

    def _gates(self) -> Cases:
        ones = dict.fromkeys(range(len(self.at.names)), ONE)
        for letter, wanted in (("U", {}), ("R", ones), ("F", {})):
            rows = self.network[letter]["bias"]
            bias = read_vector(rows[0], len(ones)) if rows else {}
            yield bias == wanted, f"the bias of {letter}"
        for letter, (row, kernel), (j, name) in product(
            "UR", enumerate((0, 1), start=1), enumerate(self.at.names)
        ):
            yield not self.kernels[letter][kernel]({j: ONE}), f"K^{letter}_{row} at {name} is not 0"

    def _embedding(self) -> Cases:
        at = self.at
        for symbol, cell in self.embedding.items():
            digit = self.digits[symbol] / self.base
            wanted = {at.one("u"): ONE, at.one("f"): ONE}
            wanted |= {at.one(name): digit for name in ("dig", "Rpush") if digit}
            yield cell == wanted, f"f({symbol}) is {at.show(cell)}"

    def _above(self) -> Cases:
        read = self.at.of(*OF_INPUT)
        for j, name in enumerate(self.at.names):
            yield j in read or not self.matrices["above"]({j: ONE}), f"K_1 reads {name}"

    def _loads(self, digit: int, stack: Affine) -> Symbolic:
        """A cell while it loads: X is its stack before."""
        at = self.at
        cell = {at.one("u"): ALWAYS_1, at.one("f"): ALWAYS_1, at.one("Rpush"): stack}
        return cell | ({at.one("dig"): Affine(digit / self.base)} if digit else {})

    def _loading(self) -> Cases:
        """Above it f = 1 and a digit."""
        digits = range(self.k)
        for own, above in product(digits, digits):
            before = self._through("U", self._loads(own, X))
            taken = {k: v for k, v in self._loads(above, X).items() if k in self.at.of(*OF_INPUT)}
            come = self._through("above", taken)
            found = self._sum(before, come)
            after = self._loads(above, Affine(above / self.base, 1 / self.base))
            yield from self._compare(found, after, *self.stacks, f"digit {above} above {own}")

    def _sum(self, x: Symbolic, y: Symbolic) -> Symbolic:
        return {k: x.get(k, ALWAYS_0).plus(y.get(k, ALWAYS_0)) for k in {*x, *y}}

    def _begins(self) -> Cases:
        """Above it f = dig = 0; the new symbol depends on the top of the stack."""
        start = self.machine.start
        for own, top in product(range(self.k), range(self.k)):
            found = self._through("U", self._loads(own, X))
            part = top / self.base, (top + self.tau) / self.base
            after = self._in_state(start, "R", top) | self._with_stacks("R", X, ALWAYS_0)
            yield from self._compare(found, after, part, self.whole, f"digit {own}, top {top}")

    def _halted(self, q: str | Nothing) -> Symbolic:
        """u alone."""
        return {self.at.one("u"): ALWAYS_1}


CHECKER = Checker(NEURAL_GPU, lambda written: GatelessCheck(written).obligations())
