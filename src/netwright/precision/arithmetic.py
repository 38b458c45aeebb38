"""The interface of an arithmetic of rounded numbers.

There are two implementations: `rational_arithmetic`, which is the definition, for formats of any
size, and slow; and `float_arithmetic`, which does the same in Python's own numbers.
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

KeptMap = TypeVar("KeptMap")
"""An arithmetic's representation of an affine map."""
MOST_WINNERS = 16


class Attended(NamedTuple):
    """The result of an attention."""

    numbers: AnyArray
    """The weighted sum of the values."""
    winners: list[int]
    """The first `MOST_WINNERS` tokens of the greatest score."""
    score: Callable[[int], Any]
    """The score of any token."""


class Tokens(ABC):
    """The keys and values of one attention; only coordinates that can differ from 0 are kept."""

    def __init__(self, size: int, keys: Sequence[int], values: Sequence[int]) -> None:
        self.size = size
        self.key_places = np.array(keys, dtype=np.int64)
        self.value_places = np.array(values, dtype=np.int64)
        self.count = 0

    @abstractmethod
    def append(self, key: AnyArray, value: AnyArray) -> None:
        """Add a token."""

    @abstractmethod
    def attend(self, query: AnyArray, tau: float | None) -> Attended:
        """Apply hard attention, or softmax at temperature τ."""


class Arithmetic(ABC, Generic[KeptMap]):
    """Operations on vectors in a format; products and sums are rounded to `sums`, if given."""

    def __init__(self, storage: Format, sums: Format | None = None) -> None:
        self.storage, self.sums = storage, sums or storage
        if self.sums.bits < storage.bits:
            raise InputError(f"{self.sums.name} is too small to add up numbers of {storage.name}")
        self.nothing, self.one = self.number(ZERO), self.number(ONE)

    def vector(self, x: Vector) -> AnyArray:
        """Round every number of an exact vector."""
        found = self.zero(x.layout.dimension)
        for index, number in x.entries.items():
            found[index] = self.number(number)
        return found

    def prepared(self, net: FeedForward) -> list[tuple[KeptMap, Activation | None]]:
        """Convert a feed-forward network: its maps, each with the activation that follows it."""
        last = len(net.maps) - 1
        return [
            (self.affine_map(affine), None if n == last else net.activation)
            for n, affine in enumerate(net.maps)
        ]

    def network(self, net: list[tuple[KeptMap, Activation | None]], x: AnyArray) -> AnyArray:
        """Apply a network to a vector."""
        for affine, activation in net:
            x = self.affine(affine, x)
            if activation is not None:
                x = self.activated(x, activation)
        return x

    def activated(self, x: AnyArray, activation: Activation) -> AnyArray:
        """Apply σ or relu to every component, which is exact in every format."""
        if activation not in (sigma, relu):
            raise InputError("only networks with σ or relu run in floating point")
        above: AnyArray = np.maximum(x, self.nothing)
        return np.minimum(above, self.one) if activation is sigma else above

    @abstractmethod
    def number(self, x: Rational) -> Any:
        """Round an exact number."""

    @abstractmethod
    def exact(self, x: Any) -> Rational | None:
        """The exact value of a number; None for infinity and NaN."""

    @abstractmethod
    def zero(self, size: int) -> AnyArray:
        """The vector 0."""

    @abstractmethod
    def affine_map(self, affine: Affine) -> KeptMap:
        """Convert a map and round its weights."""

    @abstractmethod
    def affine(self, affine: KeptMap, x: AnyArray) -> AnyArray:
        """Apply a map to a vector."""

    @abstractmethod
    def plus(self, x: AnyArray, y: AnyArray) -> AnyArray:
        """x + y, component by component."""

    @abstractmethod
    def times(self, x: AnyArray, y: AnyArray) -> AnyArray:
        """x · y, component by component."""

    @abstractmethod
    def tokens(self, size: int, keys: Sequence[int], values: Sequence[int]) -> Tokens:
        """An empty store for tokens whose keys and values use these coordinates."""
