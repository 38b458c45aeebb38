"""Binary floating-point formats: so many significant bits, and a range of exponents or none."""

import re
from dataclasses import dataclass
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
MOST_BITS = 1000


@dataclass(frozen=True)
class Format:
    """A format by name; without `lowest` and `largest` its exponents have no end."""

    name: str
    bits: int
    lowest: int | None = None
    """Every number is a multiple of 2^lowest."""
    largest: float = inf

    def holds(self, x: Rational) -> bool:
        """Whether a number needs no rounding."""
        in_range = self.largest == inf or abs(x) <= int(self.largest)
        return in_range and rounded(x, self.bits, self.lowest) == x

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


def binary(bits: int) -> Format:
    """The format of so many bits, and of any exponent."""
    return Format(f"{bits} bits", bits)


def read_format(text: str, option: str) -> Format:
    """A format by its name, or by its bits, as an option has it.

    >>> read_format("float16", "--accumulate").bits, read_format("24", "--bits").name
    (11, '24 bits')
    """
    name = text.strip()
    if name in FORMATS:
        return FORMATS[name]
    if not re.fullmatch(r"[0-9]{1,4}", name) or not 2 <= int(name) <= MOST_BITS:
        known = f"{', '.join(FORMATS)}, and 2 to {MOST_BITS} bits"
        raise InputError(f"{option}: no format {text!r}; there are {known}")
    return binary(int(name))


def read_formats(dtype: str | None, bits: str | None, sums: Format | None) -> list[Format]:
    """Formats by their names and by their bits, with commas between them.

    If there are none, all that have a name and are not larger than the one that sums are in.

    >>> [form.name for form in read_formats("float32", "8,16", None)]
    ['float32', '8 bits', '16 bits']
    """
    if dtype is None and bits is None:
        return [form for form in FORMATS.values() if sums is None or form.bits <= sums.bits]
    names = [] if dtype is None else dtype.split(",")
    numbers = [] if bits is None else bits.split(",")
    for name in names:
        if name.strip() not in FORMATS:
            raise InputError(f"--dtype: no format {name!r}; there are {', '.join(FORMATS)}")
    for number in numbers:
        if number.strip() in FORMATS:
            raise InputError(f"--bits is {number!r}; expected a number such as 24")
    found = [read_format(name, "--dtype") for name in names]
    found += [read_format(number, "--bits") for number in numbers]
    return list(dict.fromkeys(found))
