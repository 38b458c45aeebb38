"""The named blocks of a vector: no coordinate is anonymous.

A layout is a sequence of blocks, and a block a sequence of labels. The vectors of Theorem 3.4 have
a block `q1` with one coordinate for each state, labelled with its name, a block `x1` with one
coordinate labelled "", and so on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from netwright.errors import NetworkError, UnknownNameError, unknown


class Coordinate(NamedTuple):
    """A coordinate's name: its block, and its label there ("" in a block of one coordinate)."""

    block: str
    label: str = ""

    def __str__(self) -> str:
        return f"{self.block}[{self.label}]" if self.label else self.block


@dataclass(frozen=True)
class Layout:
    """The blocks of a vector, in order, each with the labels of its coordinates.

    >>> layout = Layout.of(q=("on", "off"), x="")
    >>> layout.dimension, layout.index("q", "off"), str(layout.coordinates[1])
    (3, 1, 'q[off]')
    """

    blocks: tuple[tuple[str, tuple[str, ...]], ...]

    def __post_init__(self) -> None:
        if len({name for name, _ in self.blocks}) != len(self.blocks):
            raise NetworkError("a layout has two blocks of one name")
        for name, labels in self.blocks:
            if len(set(labels)) != len(labels):
                raise NetworkError(f"two coordinates of block {name} have one label")

    @staticmethod
    def of(blocks: Mapping[str, object] | None = None, **more: object) -> "Layout":
        """Build a layout from block names with labels; "" for a block of one coordinate."""
        entries = {**(blocks or {}), **more}
        return Layout(
            tuple(
                (name, ("",) if labels == "" else tuple(labels))  # type: ignore[arg-type]  # labels
                for name, labels in entries.items()
            )
        )

    @cached_property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The names of all coordinates, in order."""
        return tuple(Coordinate(name, label) for name, labels in self.blocks for label in labels)

    @cached_property
    def _indices(self) -> dict[tuple[str, str], int]:
        return {coordinate: index for index, coordinate in enumerate(self.coordinates)}

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.coordinates)

    def __contains__(self, block: object) -> bool:
        return block in self._labels

    def index(self, block: str, label: str = "") -> int:
        """The index of a coordinate; raise KeyError if there is none."""
        return self._indices[block, label]

    def place(self, name: str, label: str = "") -> int:
        """Like `index`, also by whole name; raise UnknownNameError if there is none.

        >>> Layout.of(q=("on", "off"), x="").place("q[off]")
        1
        """
        if (name, label) in self._indices:
            return self._indices[name, label]
        if not label and name in self._names:
            return self._names[name]
        whole = f"{name}[{label}]" if label else str(name)
        raise UnknownNameError(unknown("coordinate", whole, [*self._names]))

    @cached_property
    def _names(self) -> dict[str, int]:
        return {str(coordinate): n for n, coordinate in enumerate(self.coordinates)}

    def places(self, block: str) -> range:
        """The indices of a block's coordinates."""
        return self._places[block]

    @cached_property
    def _places(self) -> dict[str, range]:
        ends = accumulate(len(labels) for _, labels in self.blocks)
        blocks = zip(self.blocks, ends, strict=True)
        return {name: range(end - len(labels), end) for (name, labels), end in blocks}

    @cached_property
    def _labels(self) -> dict[str, tuple[str, ...]]:
        return dict(self.blocks)

    def labels(self, block: str) -> tuple[str, ...]:
        """The labels of a block."""
        return self._labels[block]
