"""Formats of numbers, and what a runtime must promise.

All bounds are computed in float64. Each of its operations errs by at most 2⁻⁵³ of its result; every
rule adds SLACK = 2⁻⁴⁰ of all sizes that go into it, which is more than 2¹² operations on the way to
one number can lose. (Sums of more terms have their own term, as for float32: see `boxes`.) With
`EXACT` there is no rounding at all: weights are whole numbers, and so are all sums, which float64
computes exactly below 2⁵³.
"""

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SINGLE = 2.0**-24
"""The unit roundoff of float32, in which sums are computed."""
SLACK = 2.0**-40
PROMISES = (
    "R1  weights are rounded to the format once, to nearest",
    "R2  a matrix product adds products in float32 or better, in any order; its result is "
    "rounded to the format once, or not at all",
    "R3  a layer norm computes in float32: its mean errs by at most twice what a sum of float32 in "
    "some order does, its variance by 4(D + 8)·2^-24 of itself, then 8 roundings and one store",
    "R4  scores are scaled before or after the product, with three stores at most; softmax "
    "subtracts the greatest one first; an exponential errs by 2^-20 of itself at most; weights may "
    "be stored in the format, before or after the division",
    "R5  subnormal numbers are kept, and rounding is to nearest",
    "R6  masked positions weigh exactly 0, and positions count from 0",
)
OF_LLAMA = (
    "L1  weights are rounded to the format once, to nearest",
    "L2  a matrix product adds products in float32 or better, in any order; its result is "
    "rounded to the format once, or not at all",
    "L3  an RMS norm computes in float32: its mean of squares errs by at most (D + 8)·2^-24 of "
    "itself; then 8 roundings, a store, and a product with the weight and a store",
    "L4  RoPE turns pair j by the position times theta^(-2j/size), computed in float32 with an "
    "error of at most (2j + 1)·2^-23 of itself; cosines and sines err by 2^-22 and are stored at "
    "most once; two products and a sum, each stored at most once",
    "L5  scores are scaled before or after the product, with three stores at most; softmax "
    "subtracts the greatest one first; an exponential errs by 2^-20 of itself at most; weights may "
    "be stored in the format, before or after the division",
    "L6  SiLU errs by 2^-20 of its argument at most, and is stored at most once, as is its product",
    "L7  subnormal numbers are kept, and rounding is to nearest",
    "L8  masked positions weigh exactly 0; RoPE is not scaled, and positions count from <s> at 0",
)


def promises(architecture: str) -> tuple[str, ...]:
    """What a runtime of an architecture must promise."""
    return OF_LLAMA if architecture.startswith("llama") else PROMISES


@dataclass(frozen=True)
class Format:
    """A floating-point format; `unit` is its unit roundoff, 0 for exact numbers."""

    name: str
    unit: float
    least: float
    """The smallest positive number."""
    largest: float
    kind: Any

    @property
    def exact(self) -> bool:
        """Whether nothing is rounded, and attention is hard."""
        return self.unit == 0

    @property
    def single(self) -> float:
        """The unit roundoff of sums: float32, or the format if that is finer."""
        return min(self.unit, SINGLE)

    @property
    def slack(self) -> float:
        """What float64 itself may lose."""
        return 0.0 if self.exact else SLACK

    def rounded(self, x: Floats) -> Floats:
        """To float32, then to the format: what a runtime stores of a number in float32."""
        if self.kind is np.float64:
            return x
        return x.astype(np.float32).astype(self.kind).astype(np.float64)

    def stored(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """An interval that has its numbers and what is stored of them: rounding is monotone."""
        if self.kind is np.float64:
            return low, high
        single = low.astype(np.float32), high.astype(np.float32)
        own = [x.astype(self.kind).astype(np.float64) for x in single]
        return (
            np.minimum(np.minimum(low, single[0]), own[0]),
            np.maximum(np.maximum(high, single[1]), own[1]),
        )


FORMATS = {
    each.name: each
    for each in (
        Format("float32", SINGLE, 2.0**-149, 3.4e38, np.float32),
        Format("float16", 2.0**-11, 2.0**-24, 65504.0, np.float16),
        Format("bfloat16", 2.0**-8, 2.0**-133, 3.38e38, ml_dtypes.bfloat16),
    )
}
EXACT = Format("exact", 0.0, 0.0, 2.0**53, np.float64)
