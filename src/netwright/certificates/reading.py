"""The values in a certificate: blocks of coordinates, sparse matrices, Turing machines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import pairwise
from math import isqrt
from typing import Any, Final, NamedTuple

from flint import fmpq

from netwright.certificates.schema import Shape, unique
from netwright.errors import FormatError

Sparse = dict[int, fmpq]
"""A vector as its nonzero coordinates."""
ONE = fmpq(1)


class Nothing(Enum):
    """The type of `NOTHING`."""

    NOTHING = "nothing"


NOTHING: Final = Nothing.NOTHING
"""The absence of a state or symbol; no value in a file equals it."""


class Obligation(NamedTuple):
    """The result of a check: the number of cases, and the first that fails, if any."""

    name: str
    cases: int
    failure: str | None


class Checker(NamedTuple):
    """The checker of one kind of network: the schema of its data, and its obligations."""

    shape: Shape
    obligations: Callable[[Mapping[str, Any]], Iterator[Obligation]]


Cases = Iterator[tuple[int, str]]
"""Whether a case holds, or how many cases hold at once, and the message if none does."""


def oblige(name: str, cases: Cases) -> Obligation:
    """Run the cases of an obligation up to the first that fails."""
    count = 0
    for holds, what in cases:
        count += holds or 1
        if not holds:
            return Obligation(name, count, what)
    return Obligation(name, count, None)


def number(text: str) -> fmpq:
    """Parse a rational.

    >>> number("-1/2"), number("3")
    (-1/2, 3)
    """
    top, _, bottom = text.partition("/")
    return fmpq(int(top), int(bottom or "1"))


def read_vector(written: Sequence[Sequence[Any]], size: int) -> Sparse:
    """Read a vector; raise FormatError for a coordinate outside 0 to size − 1."""
    found = unique(((k, number(x)) for k, x in written), "a vector")
    if any(not 0 <= k < size for k in found):
        raise FormatError(f"a coordinate outside a vector of {size}")
    return found


class Blocks:
    """The named blocks of a vector: a name and labels, or a name for one coordinate."""

    def __init__(self, blocks: Sequence[Any]) -> None:
        self.places: dict[str, dict[str, int]] = {}
        self.names: list[str] = []
        for block in blocks:
            name, labels = (block, [""]) if isinstance(block, str) else block
            if name in self.places or len(set(labels)) != len(labels):
                raise FormatError(f"block {name!r}, or a label in it, occurs twice")
            first = len(self.names)
            self.places[name] = {label: first + n for n, label in enumerate(labels)}
            self.names += [f"{name}[{label}]" if label else name for label in labels]

    def __getitem__(self, block: str) -> dict[str, int]:
        return self.places[block]

    def of(self, *blocks: str) -> set[int]:
        """The coordinates of some blocks."""
        return {k for block in blocks for k in self.places[block].values()}

    def one(self, block: str, label: str = "") -> int:
        """A coordinate."""
        return self.places[block][label]

    def show(self, vector: Mapping[int, fmpq]) -> str:
        """A vector as text, with the names of its coordinates."""
        return ", ".join(f"{self.names[k]}={x}" for k, x in sorted(vector.items())) or "0"


@dataclass(frozen=True)
class Matrix:
    """x ↦ xA + b, by rows."""

    rows: Mapping[int, Sequence[tuple[int, fmpq]]]
    bias: Sparse

    @staticmethod
    def read(written: Mapping[str, Any], inputs: int, outputs: int) -> "Matrix":
        """Read a matrix; raise FormatError for a weight outside of it."""
        rows: dict[int, list[tuple[int, fmpq]]] = {}
        weights = unique((((j, k), number(w)) for j, k, w in written["weights"]), "weights")
        for (j, k), w in weights.items():
            if not (0 <= j < inputs and 0 <= k < outputs):
                raise FormatError(f"a weight at {j}, {k} in a matrix of {inputs} by {outputs}")
            rows.setdefault(j, []).append((k, w))
        return Matrix(rows, read_vector(written["bias"], outputs))

    def __call__(self, x: Mapping[int, fmpq]) -> Sparse:
        """The image of a vector."""
        image = dict(self.bias)
        for j, value in x.items():
            for k, weight in self.rows.get(j, ()):
                image[k] = image.get(k, fmpq(0)) + value * weight
        return {k: value for k, value in image.items() if value}

    @cached_property
    def long(self) -> set[int]:
        """The rows with more entries than the square root of the total; there are few such rows."""
        most = isqrt(sum(map(len, self.rows.values())))
        return {j for j, row in self.rows.items() if len(row) > most}

    @cached_property
    def weights(self) -> dict[tuple[int, int], fmpq]:
        """The nonzero weights by row and column."""
        found: dict[tuple[int, int], fmpq] = {}
        for j, row in self.rows.items():
            for k, w in row:
                found[j, k] = found.get((j, k), fmpq(0)) + w
        return {place: w for place, w in found.items() if w}


def read_chain(
    written: Sequence[Mapping[str, Any]], sizes: Sequence[int], layout: int
) -> list[Matrix]:
    """Read a composition of maps from a layout to itself; raise FormatError if they do not fit."""
    ends = [(each["input"], each["output"]) for each in written]
    fits = ends and (ends[0][0], ends[-1][1]) == (layout, layout)
    if not fits or any(a[1] != b[0] for a, b in pairwise(ends)):
        raise FormatError("maps do not fit each other, or the vectors they are for")
    return [Matrix.read(each, sizes[each["input"]], sizes[each["output"]]) for each in written]


class Machine:
    """A serialised Turing machine; FormatError if its parts do not fit."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        self.states: list[str] = list(written["states"])
        self.symbols: list[str] = list(written["symbols"])
        self.blank: str = written["blank"]
        self.start: str = written["start"]
        self.accepting = set(written["accepting"])
        rules = (((q, s), (p, w, m)) for q, s, p, w, m in written["delta"])
        self.delta: dict[tuple[str, str], tuple[str, str, str]] = unique(rules, "rules")
        states, symbols = set(self.states), set(self.symbols)
        known = {self.start, *self.accepting} <= states and self.blank in symbols
        for (q, s), (p, w, m) in self.delta.items():
            known = known and {q, p} <= states and {s, w} <= symbols and m in ("L", "R", "S")
        once = len(states) == len(self.states) and len(symbols) == len(self.symbols)
        if not known or not once:
            raise FormatError("the machine has unknown states, symbols or moves, or some twice")

    def rule(self, state: str, symbol: str) -> tuple[str, str, str] | None:
        """The rule (state, write, move) that applies; None where the machine halts."""
        return None if state in self.accepting else self.delta.get((state, symbol))

    @property
    def final(self) -> set[str]:
        """The accepting states; if none are declared, those in which it always halts."""
        leaving = {q for q, _ in self.delta}
        return self.accepting or {q for q in self.states if q not in leaving}


def read_machine(part: Any, written: Mapping[str, Any]) -> Machine:
    """Read a machine of a network: the word `given` stands for the given one."""
    return Machine(written["given"] if part == "given" else part)
