"""Checks of a network that shows its machine's configuration moment by moment."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from netwright.engine.following.shown import Shown, ShownFollower
from netwright.engine.moments import ReferenceEngine
from netwright.exact.vector import Vector
from netwright.machine.configuration import Configuration
from netwright.machine.simulate import Run, configurations, simulate
from netwright.verify.comparison import Check

T = TypeVar("T")
Claim = tuple[str, str, object, object]
"""A statement, the name of a value, the value found, and the value proved."""


def _identity(moment: Any) -> Mapping[str, Vector]:
    return moment  # type: ignore[no-any-return]  # vectors by name


def configuration_pairs(
    follower: ShownFollower, shown: Shown, wanted: Configuration | Run
) -> list[tuple[str, object, object]]:
    """State, head and tape: the name of each, as the network shows it, and as wanted."""
    return [
        ("the state", shown.states[follower.state], wanted.state),
        ("the head", follower.head, wanted.head),
        ("the tape", follower.written.tape(list(shown.symbols), shown.given.blank), wanted.tape),
    ]


def shown_checks(
    shown: Shown,
    moments: Iterator[T],
    word: Sequence[str],
    max_steps: int,
    statement: str,
    vectors: Callable[[T], Mapping[str, Vector]] = _identity,
    claims: Callable[[int], Callable[[int, T], Iterator[Claim]]] | None = None,
) -> Iterator[Check]:
    """Yield checks of the machine's configuration at every step, and of the claims at every moment.

    `vectors` returns the watched vectors of a moment; `claims` takes the number of moments and
    returns the claims about each. The run is compared up to the moment that shows its end, or the
    limit.
    """
    follower = ShownFollower(shown, max_steps)
    claimed = claims(follower.most_moments + 1) if claims is not None else None
    machine = configurations(shown.given, word)
    seen = -1
    for i, moment in enumerate(islice(moments, follower.most_moments)):
        for named, name, found, wanted in claimed(i, moment) if claimed is not None else ():
            yield Check(i, named, name, found, wanted, max(0, seen))
        follower.take(ReferenceEngine(iter([vectors(moment)]), shown.watches).advance(1))
        if follower.steps > seen:
            seen = follower.steps
            now = next(machine)
            if not follower.before_end:
                for name, have, want in configuration_pairs(follower, shown, now):
                    yield Check(i, statement, name, have, want, seen)
        if follower.outcome is not None:
            last = simulate(shown.given, word, max_steps)
            yield Check(i, statement, "the outcome", follower.outcome, last.outcome, seen)
            return
