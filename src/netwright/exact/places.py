"""Metadata of fields: what a field adds to the name of a weight (`network.tree`)."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self


class Named:
    """A value that is one of few, and is known by its name: a normaliser, a score."""

    name: str
    KNOWN: ClassVar[dict[tuple[type, str], "Named"]] = {}

    def known(self) -> Self:
        """Make it the one of its name, and return it."""
        return self.KNOWN.setdefault((type(self), self.name), self)  # type: ignore[return-value]

    @property
    def written(self) -> str:
        """Its name, if it is the one of that name."""
        same = self.KNOWN.get((type(self), self.name)) == self
        return self.name if same else f"another {self.name}"


@dataclass(frozen=True)
class Place:
    """What a field adds to the name of a weight: `decoder.3.V`, `F.2`."""

    name: str
    first: int = 1
    """The number of the first of several."""
    folded: tuple[bool, ...] = ()
    """Of tuples in tuples: whose numbers are left out where there is one alone."""


def called(name: str, *, first: int = 1, folded: tuple[bool, ...] = ()) -> dict[str, Any]:
    """Metadata of a field that has another name than its own in the names of weights."""
    return {"place": Place(name, first, folded)}
