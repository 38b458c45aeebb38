"""The types that numpy and ml_dtypes have for the named formats."""

from typing import Any

import ml_dtypes
import numpy as np

TYPES: dict[str, Any] = {
    "float64": np.float64,
    "float32": np.float32,
    "bfloat16": ml_dtypes.bfloat16,
    "float16": np.float16,
}
