"""A run at a moment as named arrays, and where such snapshots are kept."""

from collections.abc import Mapping
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from netwright.errors import FormatError

Snapshot: TypeAlias = Mapping[str, NDArray[np.int64]]
"""A run at a moment, as named arrays."""


def checked_array(
    state: Snapshot, name: str, shape: tuple[int | None, ...], least: int, most: int
) -> NDArray[np.int64]:
    """An array of a state, if it has this shape (None: any length) and its numbers this range.

    Compiled loops trust their arrays, so what comes from a file is looked at before.
    """
    found = state.get(name)
    if found is None:
        raise FormatError(f"the checkpoint has no array {name}")
    fits = found.dtype == np.int64 and len(found.shape) == len(shape)
    if not fits or any(want not in (None, n) for n, want in zip(found.shape, shape, strict=True)):
        wanted = " × ".join("any" if n is None else str(n) for n in shape)
        raise FormatError(
            f"the checkpoint's {name} is {found.dtype} of shape {found.shape}; expected int64 of "
            f"shape {wanted}"
        )
    if found.size and (found.min() < least or found.max() > most):
        wrong = found.min() if found.min() < least else found.max()
        raise FormatError(
            f"the checkpoint's {name} has the number {wrong}; expected {least} to {most}"
        )
    return found


def require_consistent(holds: object, what: str) -> None:
    """FormatError if the arrays of a checkpoint contradict each other."""
    if not holds:
        raise FormatError(f"the checkpoint contradicts itself: {what}")


FARTHEST = 1 << 50
"""More than any run takes: no time, cell or number of steps is beyond it."""


class CheckpointStore(Protocol):
    """Where a run is kept, to go on with it another time."""

    every: float
    """Seconds between two times that it is kept."""

    def read(self) -> Snapshot | None:
        """What was kept before."""

    def write(self, state: Snapshot) -> None:
        """Keep a state."""
