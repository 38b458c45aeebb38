"""A Transformer's decoder as a program over 64-bit integers: its data types.

A number at token t (position p = t, from 1 on) is an integer over a denominator that is known
beforehand, N / (D·p^e): its `Scale`. The decoder works on

    the residual stream   y + pos, then what the layers add; a scale may grow on the way (`Rescale`)
    hidden vectors        images of the stream under the maps of the layers
    the output y          with e = 0, as an output is read at the next position

`analysis` finds the program of a network, `tables` runs it.
"""

from dataclasses import dataclass, field
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netwright.engine.moments import UnsuitableError, Watch
from netwright.exact.feed_forward import Affine
from netwright.exact.rational import Activation

LARGEST_DENOMINATOR = 1 << 20
LARGEST_POWER = 4


class Scale(NamedTuple):
    """The integer N represents N / (D·p^e)."""

    D: int = 1
    e: int = 0

    def join(self, other: "Scale") -> "Scale":
        """A scale for the numbers of both."""
        joined = Scale(lcm(self.D, other.D), max(self.e, other.e))
        if joined.D > LARGEST_DENOMINATOR or joined.e > LARGEST_POWER:
            raise UnsuitableError("a denominator is too large, or grows from token to token")
        return joined

    def times(self, top: int, bottom: int) -> "Scale":
        """The scale of a weight, a fraction in lowest terms, times a number of this scale."""
        if self.D == bottom == 1:
            return self
        return Scale(bottom * self.D // gcd(top, self.D), self.e)


Scales = dict[int, Scale]
"""The scale of each coordinate that may be other than 0."""


class Term(NamedTuple):
    """An edge of the program: N_target += factor · p^power · N_source."""

    source: int
    target: int
    factor: int
    power: int


@dataclass
class Step:
    """target = f(source·A + b), or target += source·A + b where it adds to the stream."""

    source: int
    target: int
    terms: list[Term]
    bias: list[Term]  # with no source
    activation: Activation | None = None
    adds: bool = False
    map: Affine | None = None
    """The network's map that it computes."""
    is_shared: bool = True
    """Whether all networks of one shape share it (see `shared`)."""


@dataclass
class Rescale:
    """The same numbers of the stream over larger denominators."""

    terms: list[Term]


@dataclass
class Mean:
    """Adds to the stream the mean of a vector over all tokens so far."""

    vector: int
    terms: list[Term]


@dataclass
class External:
    """Adds to the stream the value of the key nearest to j, for a query (1, j) in two places."""

    places: tuple[int, int] | None  # None where all keys are equal
    units: tuple[int, int]  # the 1 of these places
    count: int  # how many rows there are
    columns: dict[int, tuple[int, NDArray[np.int64]]]  # by target: power, and a factor for each row


@dataclass
class LastVisit:
    """Adds to the stream the value of the latest token whose key has the cell of the query."""

    key: int
    query: int
    value: int
    places: tuple[int, ...]  # of the form, three or four; see `attention`
    terms: list[Term]


Instruction = Step | Rescale | Mean | External | LastVisit
STREAM, OUTPUT = 0, 1


def watched_vector(watch: Watch) -> int:
    """The vector that a watch reads; raise UnsuitableError if a program does not have it."""
    if watch.through is not None or watch.numbers is not None:
        raise UnsuitableError("a watch looks through a map, or for numbers")
    if watch.vector not in ("z", "y"):
        raise UnsuitableError(f"a watch looks at {watch.vector}")
    return STREAM if watch.vector == "z" else OUTPUT


@dataclass
class Program:
    """The decoder's instructions for a token, in order, and the scales of its vectors."""

    dimension: int
    vectors: list[Scales]
    """By number: the stream, the output, then others."""
    sizes: list[int]
    instructions: list[Instruction] = field(default_factory=list)
    attentions: list[Mean | LastVisit | None] = field(default_factory=list)
    """The self-attention of each layer; None where every value is 0."""
    longest: int = 0
    """The number of tokens for which nothing overflows."""
    output_bound: dict[int, int] = field(default_factory=dict)
    """By coordinate: the largest |N| of an output for that, where the weights give no bound."""
    found: dict[str, Any] = field(default_factory=dict)
    """A cache of later analyses, which networks of one shape share (see `shared`)."""
