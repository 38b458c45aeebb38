"""Snapshots of a run as named arrays, and the stores that keep them."""

from collections.abc import Mapping
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from netwright.errors import FormatError

Snapshot: TypeAlias = Mapping[str, NDArray[np.int64]]
"""The state of a run at a moment, as named arrays."""


def checked_array(
    state: Snapshot, name: str, shape: tuple[int | None, ...], least: int, most: int
) -> NDArray[np.int64]:
    """Return an array of a snapshot; raise FormatError for a wrong shape or number.

    None in `shape` means any length. Compiled loops trust their arrays, so files are checked here.
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
    """Raise FormatError unless the arrays of a checkpoint agree."""
    if not holds:
        raise FormatError(f"the checkpoint contradicts itself: {what}")


FARTHEST = 1 << 50
"""A bound for every time, cell and number of steps of a run."""


class CheckpointStore(Protocol):
    """A store that keeps snapshots of a run, so that it can be resumed."""

    every: float
    """Seconds between two snapshots."""

    def read(self) -> Snapshot | None:
        """Return the last snapshot, or None."""

    def write(self, state: Snapshot) -> None:
        """Keep a snapshot."""
