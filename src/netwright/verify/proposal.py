"""The run of a machine, proposed to a network, with what is claimed of its tokens."""

from collections.abc import Sequence
from typing import NamedTuple

from netwright.definitions.transformer import Transformer
from netwright.engine.following.shown import Shown
from netwright.engine.full.program import Part
from netwright.exact.vector import Vector
from netwright.machine.turing_machine import TuringMachine


class Where(NamedTuple):
    """The tokens of which something is claimed: those that have a code, or that have not."""

    hint: str
    code: int
    shift: int = 0
    has_it: bool = False


class Claimed(NamedTuple):
    """What a statement says of a vector of every token, or of the winner of an attention."""

    statement: str
    name: str
    found: str
    """A vector such as `z1`, blocks of it (`y:r on`), or an attention such as `decoder.3.self`."""
    parts: Sequence[Part]
    where: "Where | None" = None


class Proposal(NamedTuple):
    """A run of a machine for a network, and what is claimed of its tokens."""

    network: Transformer
    X: Sequence[Vector]
    seed: Vector
    machine: TuringMachine
    word: Sequence[str]
    y: Sequence[Part]
    claims: Sequence[Claimed]
    shown: Shown
    states: Sequence[int]
    """What the machine's states are in codes of `shown`; the last one for after the halt."""
    symbols: Sequence[int]
    """And its symbols, with the last one for none."""
    statement: str
    accepting: frozenset[str] = frozenset()
    """The states after which `accepted` is shown."""
