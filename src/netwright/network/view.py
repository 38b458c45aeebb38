"""How a kind of network is looked at: what a moment shows, in which order, in whose words.

A page or a table that shows moments of a network asks its kind for a `View` and for a `History`;
nothing outside of the kind knows which vectors there are. Views with many words are data beside the
page.
"""

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

from netwright.machine.timeline import Timeline
from netwright.machine.turing_machine import TuringMachine


@dataclass(frozen=True)
class Column:
    """A vector of the residual stream, and what was added since the column before."""

    vector: str
    title: str
    layer: int = 0
    """Whose colour it has; 0 for no layer's."""


@dataclass(frozen=True)
class Part:
    """Something that happens inside one moment, after which the stream is `vector`."""

    name: str
    vector: str
    formula: str
    caption: str
    layer: int = 0


@dataclass(frozen=True)
class View:
    """What a moment shows."""

    groups: tuple[tuple[str, ...], ...] = ()
    """The blocks of the stream, as the paper groups them; none: as the layout has them."""
    short: tuple[tuple[str, str], ...] = ()
    """A word or two for each block; none: what the kind's meanings say."""
    columns: tuple[Column, ...] = ()
    """Of the table of the residual stream; none: every vector of the moment by its name."""
    parts: tuple[Part, ...] = ()
    vectors: tuple[str, ...] = ()
    """Where there are no columns: the first parts of the names that are shown; none: all."""
    drawn: str = ""
    """The attention that is drawn on the space-time diagram."""
    drawing: str = "Layer 3"
    """What a page calls it."""
    has_null: bool = False
    """Whether it attends to the first token where a cell is fresh."""


def view_named(kind: str) -> View:
    """The view of a kind, from the page's folder."""
    folder = files("netwright").joinpath("explorer", "web", "views")
    data = json.loads(folder.joinpath(f"{kind}.json").read_text(encoding="utf-8"))
    groups = tuple(map(tuple, data.pop("groups")))
    short = tuple(data.pop("short", {}).items())
    columns = tuple(Column(*row) for row in data.pop("columns"))
    parts = tuple(Part(*row) for row in data.pop("parts"))
    return View(groups, short, columns, parts, **data)


class History(NamedTuple):
    """The machine's run that a network does, beside the network's own times."""

    timeline: Timeline
    lead: int
    """How far the network's time is ahead of the machine's."""
    lead_at_the_end: int
    """The same for the last time; less where the last configuration is an output and no more."""


class AppliedRule(NamedTuple):
    """The rule that a moment shows: state and symbol, and what is done, if anything."""

    state: str
    symbol: str
    write: str | None = None
    move: str | None = None
    next: str | None = None

    @staticmethod
    def of(machine: TuringMachine, state: str, symbol: str) -> "AppliedRule":
        """A configuration, and the machine's rule for it."""
        action = machine.action(state, symbol)
        if action is None:
            return AppliedRule(state, symbol)
        return AppliedRule(state, symbol, action.write, action.move.value, action.state)
