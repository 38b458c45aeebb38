"""Binary floating-point formats: a number of significant bits, and a range of exponents or none."""

import re
from dataclasses import dataclass
from math import inf
from typing import Any

import ml_dtypes
from flint import fmpq

from netwright.errors import InputError
from netwright.exact.rational import Rational
from netwright.exact.rounding import rounded

NATIVE_BITS = 53
"""The bits of Python's own numbers."""
MOST_BITS = 1000


@dataclass(frozen=True)
class Format:
    """A format; without `lowest` and `largest` its exponents are unbounded."""

    name: str
    bits: int
    lowest: int | None = None
    """Every number is a multiple of 2^lowest."""
    largest: float = inf

    def holds(self, x: Rational) -> bool:
        """Whether the format can represent a number exactly."""
        in_range = self.largest == inf or abs(x) <= int(self.largest)
        return in_range and rounded(x, self.bits, self.lowest) == x

    def nearest(self, x: Rational) -> Rational:
        """Round an exact number; raise InputError beyond `largest`.

        >>> FORMATS["bfloat16"].nearest(fmpq(1, 3))
        171/512
        """
        near = rounded(x, self.bits, self.lowest)
        if self.largest < inf and abs(near) > fmpq(int(self.largest)):
            raise InputError(f"{self.name} has no number for {x}, which is beyond {self.largest:g}")
        return near


def _named(name: str) -> Format:
    info: Any = ml_dtypes.finfo(name)  # type: ignore[no-untyped-call]
    return Format(name, int(info.nmant) + 1, int(info.minexp - info.nmant), float(info.max))


FORMATS = {name: _named(name) for name in ("float64", "float32", "bfloat16", "float16")}
"""The formats with a name."""


def binary(bits: int) -> Format:
    """The format with this many bits and any exponent."""
    return Format(f"{bits} bits", bits)


def read_format(text: str, option: str) -> Format:
    """Parse the value of an option: the name of a format, or its bits.

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


def to_format(value: "Format | str | int") -> Format:
    """A format from its name or its bits.

    >>> to_format("float16").bits, to_format(24).name
    (11, '24 bits')
    """
    return value if isinstance(value, Format) else read_format(str(value), "format")


def read_formats(dtype: str | None, bits: str | None, sums: Format | None) -> list[Format]:
    """Parse comma-separated lists of formats, by name and by bits.

    Without any, return all formats with a name that are not larger than that of the sums.

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
