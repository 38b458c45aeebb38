"""How a moment of a network is displayed: its vectors, their order and their captions.

A page or a table asks the kind of a network for a `View` and a `History`; nothing outside the kind
knows which vectors there are. Views with many words are data files next to the page.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

from netwright.machine.timeline import Timeline
from netwright.machine.turing_machine import TuringMachine


@dataclass(frozen=True)
class Column:
    """A column of the residual stream's table: a vector, and what it added to the column before."""

    vector: str
    title: str
    layer: int = 0  # the layer whose colour it has; 0 for none


@dataclass(frozen=True)
class Part:
    """An operation inside one moment, after which the stream is `vector`."""

    name: str
    vector: str
    formula: str
    caption: str
    layer: int = 0


@dataclass(frozen=True)
class View:
    """How a moment is displayed."""

    groups: tuple[tuple[str, ...], ...] = ()
    """The blocks of the stream, as the paper groups them; if empty, as the layout does."""
    short: tuple[tuple[str, str], ...] = ()
    """A word or two for each block; if empty, the kind's meanings."""
    columns: tuple[Column, ...] = ()
    """Of the table of the residual stream; if empty, every vector of the moment by name."""
    parts: tuple[Part, ...] = ()
    vectors: tuple[str, ...] = ()
    """If there are no columns: prefixes of the names that are shown; if empty, all."""
    moment: str = "token"
    """What a moment is called where there are columns."""
    reads: str = "its input"
    """What it reads, a symbol at a moment, before the machine starts."""
    drawn: str = ""  # the attention that is drawn on the space-time diagram
    drawing: str = "Layer 3"  # its title on the page
    has_null: bool = False
    """Whether it attends to the first token if a cell is fresh."""
    figures: tuple[Mapping[str, Any], ...] = ({"draw": "blocks", "attention": ""},)
    """The pictures of a moment: `draw` names a module of the page's `figures/`, the rest is its.

    `attention` is one whose winner it shows, all of them if empty. By default every block by name.
    """
    stacks: tuple[str, ...] = ()
    """Blocks whose number is a stack, the digits of which are shown; also as parts of a cell."""
    gates: tuple[str, ...] = ()
    """Vectors of which only those that are not shown whole are shown in full: gates of 0 and 1."""

    @property
    def asked(self) -> tuple[str, ...]:
        """The attentions whose winners are shown; an empty name for all of them."""
        return tuple(each["attention"] for each in self.figures if "attention" in each)


def view_named(kind: str) -> View:
    """Read the view of a kind from the page's folder."""
    folder = files("netwright").joinpath("explorer", "web", "views")
    data = json.loads(folder.joinpath(f"{kind}.json").read_text(encoding="utf-8"))
    groups = tuple(map(tuple, data.pop("groups", ())))
    short = tuple(data.pop("short", {}).items())
    columns = tuple(Column(*row) for row in data.pop("columns", ()))
    parts = tuple(Part(*row) for row in data.pop("parts", ()))
    for name in ("figures", "vectors", "stacks", "gates"):
        data[name] = tuple(data.get(name, ()))
    return View(groups, short, columns, parts, **data)


class History(NamedTuple):
    """The run of the machine that a network simulates, and how their times correspond."""

    timeline: Timeline
    lead: int  # how far the network's time is ahead of the machine's
    lead_at_the_end: int
    """The same for the last time; less if the last configuration is only an output."""


class Written(NamedTuple):
    """What a language model has written."""

    before: list[str]
    after: list[str]
    """The token that it writes now, if any."""
    pointed: list[tuple[str, int, int]]
    """The heads that look visits up, and the slice of the text that each finds."""


class AppliedRule(NamedTuple):
    """The rule that a moment shows: state and symbol, and its action, if any."""

    state: str
    symbol: str
    write: str | None = None
    move: str | None = None
    next: str | None = None

    @staticmethod
    def of(machine: TuringMachine, state: str, symbol: str) -> "AppliedRule":
        """The machine's rule for a state and a symbol."""
        action = machine.action(state, symbol)
        if action is None:
            return AppliedRule(state, symbol)
        return AppliedRule(state, symbol, action.write, action.move.value, action.state)
