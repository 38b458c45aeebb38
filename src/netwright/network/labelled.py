"""Arrays whose rows and columns have names: what weights and traces give to numpy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netwright.html import table
from netwright.text import shortened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_ROWS, MOST_COLUMNS = 60, 60
"""How much of an array is shown."""


@dataclass(frozen=True, eq=False)
class LabelledArray:
    """A matrix of float64, no longer exact, with the names of its rows and columns.

    `numpy.asarray` takes it as it is.
    """

    name: str
    values: "NDArray[np.float64]"
    labels: tuple[Sequence[Any], Sequence[Any]]
    """The names of the rows, such as the times, and of the columns, such as coordinates."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> "NDArray[Any]":
        import numpy as np

        return np.array(self.values, dtype=dtype, copy=bool(copy) or dtype is not None)

    def __getitem__(self, index: Any) -> Any:
        """As for numpy."""
        return self.values[index]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many rows and columns there are."""
        return self.values.shape

    def __repr__(self) -> str:
        return f"<{self.name}: {' × '.join(map(str, self.shape))} float64>"

    def _repr_html_(self) -> str:
        rows, columns = self.labels
        return table(
            repr(self)[1:-1],
            ["", *map(shortened, columns[:MOST_COLUMNS])],
            [
                [row, *(f"{value:g}" if value else "" for value in values[:MOST_COLUMNS])]
                for row, values in zip(rows[:MOST_ROWS], self.values, strict=False)
            ],
        )
