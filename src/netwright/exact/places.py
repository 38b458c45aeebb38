"""Dataclass field metadata: what a field adds to the name of a weight (`network.tree`)."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self


class Named:
    """A value that is known by its name: a normaliser, a score."""

    name: str
    KNOWN: ClassVar[dict[tuple[type, str], "Named"]] = {}

    def known(self) -> Self:
        """Register the value under its name and return it; the first of a name wins."""
        return self.KNOWN.setdefault((type(self), self.name), self)  # type: ignore[return-value]

    @property
    def written(self) -> str:
        """Its name, if it is the value registered under it."""
        same = self.KNOWN.get((type(self), self.name)) == self
        return self.name if same else f"another {self.name}"


@dataclass(frozen=True)
class Place:
    """What a field adds to the name of a weight: `decoder.3.V`, `F.2`."""

    name: str
    first: int = 1
    """The number of the first item of a tuple."""
    folded: tuple[bool, ...] = ()
    """For each level of nested tuples: whether the number of a single item is left out."""


def called(name: str, *, first: int = 1, folded: tuple[bool, ...] = ()) -> dict[str, Any]:
    """Metadata for a field that has another name in the names of weights."""
    return {"place": Place(name, first, folded)}
