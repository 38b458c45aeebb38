"""Binary floating-point formats: so many significant bits, and a range of exponents or none."""

from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Any

import ml_dtypes
import numpy as np
from flint import fmpq

from netwright.errors import InputError
from netwright.exact.rational import Rational
from netwright.exact.rounding import rounded

NATIVE_BITS = 53
"""Of Python's own numbers."""


@dataclass(frozen=True)
class Format:
    """A format by name; without `lowest` and `largest` its exponents have no end."""

    name: str
    bits: int
    lowest: int | None = None
    """Every number is a multiple of 2^lowest."""
    largest: float = inf

    @property
    def unit(self) -> Rational:
        """The unit roundoff u = 2^(−bits): no rounding errs by more, relatively."""
        return fmpq(1, 1 << self.bits)

    def nearest(self, x: Rational) -> Rational:
        """The exact number rounded, which is too large for the format beyond `largest`.

        >>> FORMATS["bfloat16"].nearest(fmpq(1, 3))
        171/512
        """
        near = rounded(x, self.bits, self.lowest)
        if self.largest < inf and abs(near) > fmpq(int(self.largest)):
            raise InputError(f"{self.name} has no number for {x}, which is beyond {self.largest:g}")
        return near


def _of_dtype(name: str, info: Any) -> Format:
    """What numpy, or ml_dtypes, says of a type."""
    subnormal = int(info.minexp) - int(info.nmant)
    return Format(name, int(info.nmant) + 1, subnormal, float(info.max))


FORMATS = {
    "float64": _of_dtype("float64", np.finfo(np.float64)),
    "float32": _of_dtype("float32", np.finfo(np.float32)),
    "bfloat16": _of_dtype("bfloat16", ml_dtypes.finfo(ml_dtypes.bfloat16)),  # type: ignore[no-untyped-call]
    "float16": _of_dtype("float16", np.finfo(np.float16)),
}
"""The formats that have a name."""


@cache
def binary(bits: int) -> Format:
    """The format of so many bits, and of any exponent."""
    return Format(f"{bits} bits", bits)
