"""What a network needs of an arithmetic of rounded numbers.

There are two: `rational_arithmetic`, which is the definition, serves formats of any size, and is
slow; and `float_arithmetic`, which does the same in Python's own numbers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from netwright.errors import InputError
from netwright.exact.arrays import AnyArray
from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.rational import ONE, ZERO, Activation, Rational, relu, sigma
from netwright.exact.vector import Vector
from netwright.precision.formats import Format

"""A vector: a number for each coordinate of its layout."""
KeptMap = TypeVar("KeptMap")
"""An affine map as an arithmetic keeps it."""
MOST_WINNERS = 16


class Attended(NamedTuple):
    """What an attention found."""

    numbers: AnyArray
    """The values, weighted."""
    winners: list[int]
    """The tokens of the greatest score, the first `MOST_WINNERS` of them."""
    score: Callable[[int], Any]
    """The score of any token."""


class Tokens(ABC):
    """Keys and values of one attention; only coordinates that are ever other than 0 are kept."""

    def __init__(self, size: int, keys: Sequence[int], values: Sequence[int]) -> None:
        self.size = size
        self.key_places = np.array(keys, dtype=np.int64)
        self.value_places = np.array(values, dtype=np.int64)
        self.count = 0

    @abstractmethod
    def append(self, key: AnyArray, value: AnyArray) -> None:
        """One more token."""

    @abstractmethod
    def attend(self, query: AnyArray, tau: float | None) -> Attended:
        """Hard attention, or softmax at temperature τ."""


class Arithmetic(ABC, Generic[KeptMap]):
    """Vectors of numbers of a format; sums are rounded to another one on the way, if any."""

    def __init__(self, storage: Format, sums: Format | None = None) -> None:
        self.storage, self.sums = storage, sums or storage
        if self.sums.bits < storage.bits:
            raise InputError(f"{self.sums.name} is too small to add up numbers of {storage.name}")
        self.nothing, self.one = self.number(ZERO), self.number(ONE)

    def vector(self, x: Vector) -> AnyArray:
        """A vector of exact numbers, each rounded."""
        found = self.zero(x.layout.dimension)
        for index, number in x.entries.items():
            found[index] = self.number(number)
        return found

    def prepared(self, net: FeedForward) -> list[tuple[KeptMap, Activation | None]]:
        """A feed-forward network: its maps, each with what follows it."""
        last = len(net.maps) - 1
        return [
            (self.affine_map(affine), None if n == last else net.activation)
            for n, affine in enumerate(net.maps)
        ]

    def network(self, net: list[tuple[KeptMap, Activation | None]], x: AnyArray) -> AnyArray:
        """The image of a vector under a network."""
        for affine, activation in net:
            x = self.affine(affine, x)
            if activation is not None:
                x = self.activated(x, activation)
        return x

    def activated(self, x: AnyArray, activation: Activation) -> AnyArray:
        """σ or relu of every component; exact in every format."""
        if activation not in (sigma, relu):
            raise InputError("only networks with σ or relu run in floating point")
        above: AnyArray = np.maximum(x, self.nothing)
        return np.minimum(above, self.one) if activation is sigma else above

    @abstractmethod
    def number(self, x: Rational) -> Any:
        """An exact number, rounded."""

    @abstractmethod
    def exact(self, x: Any) -> Rational | None:
        """What a number is; None for infinities and what comes of them."""

    @abstractmethod
    def zero(self, size: int) -> AnyArray:
        """The vector 0."""

    @abstractmethod
    def affine_map(self, affine: Affine) -> KeptMap:
        """A map with its weights rounded."""

    @abstractmethod
    def affine(self, affine: KeptMap, x: AnyArray) -> AnyArray:
        """The image of a vector under a map."""

    @abstractmethod
    def plus(self, x: AnyArray, y: AnyArray) -> AnyArray:
        """x + y, component by component."""

    @abstractmethod
    def times(self, x: AnyArray, y: AnyArray) -> AnyArray:
        """x · y, component by component."""

    @abstractmethod
    def tokens(self, size: int, keys: Sequence[int], values: Sequence[int]) -> Tokens:
        """No tokens yet; their keys and values have numbers in these coordinates."""
