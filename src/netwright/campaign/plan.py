"""What a campaign does with every machine, and the columns of its rows."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from netwright.errors import InputError, unknown
from netwright.kind.record import Kind, check_options
from netwright.kind.registry import MACHINE, kind_named, kind_with, read_kind
from netwright.machine.simulate import Engine, check_limit

RUN, VERIFY, CERTIFY = DOINGS = ("run", "verify", "certify")
COLUMNS = {
    "number": "the machine's number among all of the sources",
    "machine": "bbchallenge text, a name of the library, or a file",
    "remark": "the rest of its line",
    "on": "`machine`, or the kind of network",
    "outcome": "accepted, rejected, halted, undecided; refused, error, crashed, timeout",
    "steps": "steps of the machine",
    "network_steps": "the network's time at the end",
    "state": "the state in which the run ended",
    "non_blank": "cells that are not blank",
    "head": "the cell of the head",
    "tape_digest": "the first 16 digits of the tape's SHA-256",
    "agrees": "whether all of these equal the machine's, and all verified facts hold",
    "verified_steps": "steps at which every vector was compared",
    "checks": "number of comparisons",
    "certified": "whether the network is proved right for all inputs and all time",
    "seconds": "CPU time",
    "engine": "the code that did the run",
    "note": "what differs, was refused, or went wrong",
}
MEASURED = ("seconds", "engine")
"""Columns that depend on the execution; all others are reproducible."""
FAULTS: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "disagreements": lambda row: row["agrees"] is False,
    "uncertified": lambda row: row["certified"] is False,
    "failures": lambda row: row["outcome"] in ("refused", "error", "crashed", "timeout"),
}
"""What can be wrong with a row."""
MOST_VERIFIED = 1_000_000
SHORTEST = 0.1  # seconds


@dataclass(frozen=True)
class Plan:
    """What to do with every machine.

    >>> Plan(on="transformer,rnn", do="certify").targets
    ('transformer', 'rnn')
    """

    on: Any = (MACHINE, "transformer")
    """`machine` and kinds of network: a list of names, or one string with commas."""
    do: Any = (RUN,)
    """`run`, `verify`, `certify`."""
    max_steps: int = 1000
    time_limit: float = 300.0
    """Seconds that a machine may take on one target; then its row says `timeout`."""
    engine: str = Engine.FAST
    """`accelerated` for the machine and the networks that have it; the others run as fast."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the kinds, such as `score`; each kind takes those that it has."""

    def __post_init__(self) -> None:
        on, do = _names(self.on), _names(self.do)
        if not isinstance(self.options, Mapping):
            raise InputError(f"options are {self.options!r}; expected names with values")
        for name in on:
            read_kind(name, MACHINE)
        for name in do:
            if name not in DOINGS:
                raise InputError(unknown("thing to do", name, DOINGS))
        check_limit(self.max_steps)
        if self.engine not in (Engine.FAST, Engine.ACCELERATED):
            known = [Engine.FAST, Engine.ACCELERATED]
            raise InputError(unknown("engine for campaigns", str(self.engine), known))
        numeric = isinstance(self.time_limit, int | float) and self.time_limit is not True
        if not numeric or not self.time_limit >= SHORTEST:
            raise InputError(
                f"the time limit is {self.time_limit!r}; expected seconds, {SHORTEST} at least"
            )
        kinds: dict[str, Kind[Any] | None] = {}
        options: Mapping[str, Any] = self.options
        for name in on:
            kind = None
            if name != MACHINE:
                kind, options = kind_with(name, options)
            kinds[kind.name if kind is not None else name] = kind
        object.__setattr__(self, "on", tuple(kinds))
        object.__setattr__(self, "do", do)
        object.__setattr__(self, "options", dict(options))
        self._check_networks([kind for kind in kinds.values() if kind is not None])

    def _check_networks(self, networks: list[Kind[Any]]) -> None:
        """Raise InputError if the kinds cannot do what is asked of them."""
        if not self.targets:
            raise InputError(
                f"nothing to do: a machine has nothing to {' or '.join(self.do)}; name networks"
            )
        if VERIFY in self.do and self.max_steps > MOST_VERIFIED:
            raise InputError(
                f"{self.max_steps:,} steps are too many to verify, where every vector is compared; "
                f"at most {MOST_VERIFIED:,} (certify covers all of them)"
            )
        if CERTIFY in self.do:
            for kind in networks:
                kind.require_checker()
        if self.options and not networks:
            raise InputError(f"{', '.join(self.options)} is an option of networks; none is named")
        check_options(networks, self.options)

    @property
    def targets(self) -> tuple[str, ...]:
        """What has a row for each machine; `machine` is one only if it is to be run."""
        return tuple(name for name in self.on if name != MACHINE or RUN in self.do)

    def written(self) -> dict[str, Any]:
        """The plan as JSON."""
        options = {
            name: option.written(option.read(value))
            for name, value in self.options.items()
            for kind in map(kind_named, (on for on in self.on if on != MACHINE))
            for option in kind.options
            if option.name == name
        }
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        if self.engine == Engine.FAST:
            del plain["engine"]
        return {**plain, "on": list(self.on), "do": list(self.do), "options": options}


def _names(given: Iterable[str] | str) -> tuple[str, ...]:
    if not isinstance(given, str) and not isinstance(given, Iterable):
        raise InputError(f"expected names separated by commas, got {given!r}")
    texts = given.split(",") if isinstance(given, str) else given
    names = tuple(dict.fromkeys(str(text).strip() for text in texts))
    if not names or not all(names):
        raise InputError(f"expected names separated by commas, got {given!r}")
    return names
