"""Type aliases for numpy arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
AnyArray = NDArray[Any]
"""Floats of any format, 64-bit integers, or Python numbers as objects."""
