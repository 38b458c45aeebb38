"""A machine's run as the proposed run of a network, with the claims about its tokens."""

from collections.abc import Sequence
from typing import NamedTuple

from netwright.definitions.transformer import Transformer
from netwright.engine.following.shown import Shown
from netwright.engine.full.program import Part
from netwright.exact.vector import Vector
from netwright.machine.turing_machine import TuringMachine


class Where(NamedTuple):
    """The tokens that a claim is about: those with a code (`has_it`), or those without it."""

    hint: str
    code: int
    shift: int = 0
    has_it: bool = False


class Claimed(NamedTuple):
    """A statement's claim about a vector of every token, or about the winner of an attention."""

    statement: str
    name: str
    found: str
    """A vector such as `z1`, blocks of it (`y:r on`), or an attention such as `decoder.3.self`."""
    parts: Sequence[Part]
    where: "Where | None" = None


class Proposal(NamedTuple):
    """A machine's run as the proposed run of a network, and the claims about its tokens."""

    network: Transformer
    X: Sequence[Vector]
    seed: Vector
    machine: TuringMachine
    word: Sequence[str]
    y: Sequence[Part]
    claims: Sequence[Claimed]
    shown: Shown
    states: Sequence[int]
    """The code in `shown` of each state of the machine; the last is for after the halt."""
    symbols: Sequence[int]  # the same for its symbols; the last is for none
    statement: str
    accepting: frozenset[str] = frozenset()
    """The states after which the network shows `accepted`."""
