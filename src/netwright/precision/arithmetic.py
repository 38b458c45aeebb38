"""What a network needs of an arithmetic, and the arithmetic of exact rationals, rounded.

`Arithmetic` says what there is to do. `RationalArithmetic` does it by the letter of the package's
rules: each operation exactly, then `Format.nearest`. It is the definition, serves formats of any
size, and is slow. `float_arithmetic` does the same in Python's own numbers.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from netwright.errors import InputError
from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.rational import ONE, ZERO, Rational, relu, sigma
from netwright.exact.vector import Vector
from netwright.precision.formats import Format

Numbers = NDArray[Any]
"""A vector: a number for each coordinate of its layout."""
Map = TypeVar("Map")
"""An affine map as an arithmetic keeps it."""


class Attended(NamedTuple):
    """What an attention found: the values weighted, and the first tokens of the greatest score."""

    numbers: Numbers
    winners: list[int]


class Tokens(ABC):
    """Keys and values of one attention; only coordinates that are ever other than 0 are kept."""

    def __init__(self, size: int, keys: Sequence[int], values: Sequence[int]) -> None:
        self.size = size
        self.key_places = np.array(keys, dtype=np.int64)
        self.value_places = np.array(values, dtype=np.int64)
        self.count = 0

    @abstractmethod
    def append(self, key: Numbers, value: Numbers) -> None:
        """One more token."""

    @abstractmethod
    def attend(self, query: Numbers, tau: float | None) -> Attended:
        """Hard attention, or softmax at temperature τ."""

    @abstractmethod
    def score(self, query: Numbers, token: int) -> Any:
        """The score of one token."""


class Arithmetic(ABC, Generic[Map]):
    """Vectors of numbers of a format; sums are rounded to another one on the way, if any."""

    def __init__(self, storage: Format, sums: Format | None = None) -> None:
        self.storage, self.sums = storage, sums or storage
        if self.sums.bits < storage.bits:
            raise InputError(f"{self.sums.name} is too small to add up numbers of {storage.name}")
        self.nothing, self.one = self.number(ZERO), self.number(ONE)

    def vector(self, x: Vector) -> Numbers:
        """A vector of exact numbers, each rounded."""
        found = self.zero(x.layout.dimension)
        for index, number in x.entries.items():
            found[index] = self.number(number)
        return found

    def prepared(self, net: FeedForward) -> "list[tuple[Map, object]]":
        """A feed-forward network: its maps, each with what follows it."""
        if len(net.maps) > 1 and net.activation not in (sigma, relu):
            raise InputError("only networks with σ or relu run in floating point")
        last = len(net.maps) - 1
        return [
            (self.affine_map(affine), None if n == last else net.activation)
            for n, affine in enumerate(net.maps)
        ]

    def network(self, net: "list[tuple[Map, object]]", x: Numbers) -> Numbers:
        """The image of a vector under a network."""
        for affine, activation in net:
            x = self.affine(affine, x)
            if activation is not None:
                x = self.activated(x, activation)
        return x

    def activated(self, x: Numbers, activation: object) -> Numbers:
        """σ or relu of every component; exact in every format."""
        above: Numbers = np.maximum(x, self.nothing)
        return np.minimum(above, self.one) if activation is sigma else above

    @abstractmethod
    def number(self, x: Rational) -> Any:
        """An exact number, rounded."""

    @abstractmethod
    def exact(self, x: Any) -> Rational | None:
        """What a number is; None for infinities and what comes of them."""

    @abstractmethod
    def zero(self, size: int) -> Numbers:
        """The vector 0."""

    @abstractmethod
    def affine_map(self, affine: Affine) -> Map:
        """A map with its weights rounded."""

    @abstractmethod
    def affine(self, affine: Map, x: Numbers) -> Numbers:
        """The image of a vector under a map."""

    @abstractmethod
    def plus(self, x: Numbers, y: Numbers) -> Numbers:
        """x + y, component by component."""

    @abstractmethod
    def times(self, x: Numbers, y: Numbers) -> Numbers:
        """x · y, component by component."""

    @abstractmethod
    def tokens(self, size: int, keys: Sequence[int], values: Sequence[int]) -> Tokens:
        """No tokens yet; their keys and values have numbers in these coordinates."""


RationalMap = tuple[list[list[tuple[int, Rational]]], list[Rational]]


class RationalArithmetic(Arithmetic[RationalMap]):
    """Each operation exactly, and then rounded."""

    def number(self, x: Rational) -> Rational:
        """The exact number, rounded."""
        return self.storage.nearest(x)

    def exact(self, x: Any) -> Rational:
        """Itself."""
        return Rational(x)

    def zero(self, size: int) -> Numbers:
        """The vector 0."""
        return np.array([ZERO] * size, dtype=object)

    def affine_map(self, affine: Affine) -> RationalMap:
        """For each output coordinate its weights, in the order of the inputs."""
        columns: list[list[tuple[int, Rational]]] = [[] for _ in range(affine.output.dimension)]
        for (row, column), weight in sorted(affine.weights.items(), key=lambda item: item[0]):
            columns[column].append((row, self.number(weight)))
        return columns, list(self.vector(affine.bias))

    def affine(self, affine: RationalMap, x: Numbers) -> Numbers:
        """Products and sums in order, then the bias."""
        columns, bias = affine
        image = [self.dot((x[row], weight) for row, weight in column) for column in columns]
        sums = (self.sums.nearest(number + b) for number, b in zip(image, bias, strict=True))
        return np.array([self.number(number) for number in sums], dtype=object)

    def dot(self, pairs: Any) -> Rational:
        """The sum of some products."""
        total = ZERO
        for a, b in pairs:
            total = self.sums.nearest(total + self.sums.nearest(a * b))
        return total

    def plus(self, x: Numbers, y: Numbers) -> Numbers:
        """x + y."""
        return np.array([self.number(a) for a in x + y], dtype=object)

    def times(self, x: Numbers, y: Numbers) -> Numbers:
        """x · y."""
        return np.array([self.number(a) for a in x * y], dtype=object)

    def tokens(self, size: int, keys: Sequence[int], values: Sequence[int]) -> Tokens:
        """No tokens yet."""
        return _RationalTokens(self, size, keys, values)


class _RationalTokens(Tokens):
    def __init__(
        self, arithmetic: RationalArithmetic, size: int, keys: Sequence[int], values: Sequence[int]
    ) -> None:
        super().__init__(size, keys, values)
        self.arithmetic = arithmetic
        self.keys: list[Numbers] = []
        self.values: list[Numbers] = []

    def append(self, key: Numbers, value: Numbers) -> None:
        """One more token."""
        self.keys.append(key[self.key_places])
        self.values.append(value[self.value_places])
        self.count += 1

    def attend(self, query: Numbers, tau: float | None) -> Attended:
        """Hard attention."""
        if tau is not None:
            raise InputError("softmax is for formats of 53 bits at most")
        here, found = self.arithmetic, self.arithmetic.zero(self.size)
        scores = [self.score(query, token) for token in range(self.count)]
        if not scores:
            return Attended(found, [])
        top = max(scores)
        winners = [j for j, score in enumerate(scores) if score == top]
        total = here.zero(len(self.value_places))
        for j in winners:
            total = np.array([here.sums.nearest(a) for a in total + self.values[j]], dtype=object)
        number = here.number(Rational(len(winners)))
        found[self.value_places] = [here.number(here.sums.nearest(a / number)) for a in total]
        return Attended(found, winners)

    def score(self, query: Numbers, token: int) -> Rational:
        """−|⟨q, k⟩|."""
        places = query[self.key_places]
        return -abs(self.arithmetic.dot(zip(places, self.keys[token], strict=True)))
