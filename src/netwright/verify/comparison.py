"""A comparison of a network with its machine: a sequence of checks, up to the first that fails."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from netwright.errors import NetworkError
from netwright.exact.vector import Vector
from netwright.html import table


class Check(NamedTuple):
    """A value of the network, and the value that a statement of the paper proves."""

    time: int
    """The network's time: the token, the step or the iteration."""
    statement: str
    name: str
    found: object
    wanted: object
    steps: int
    """How many steps the given machine has made by then."""


@dataclass(frozen=True)
class Difference:
    """The first place where a network differs from what was proved."""

    time: int
    statement: str
    part: str
    expected: str
    found: str

    def __str__(self) -> str:
        return (
            f"{self.statement} does not hold at time {self.time}: {self.part} is {self.found}, "
            f"expected {self.expected}"
        )


@dataclass(frozen=True)
class Comparison:
    """The result of the checks of a network on a word."""

    on: str
    word: tuple[str, ...]
    steps: int
    """Steps of the given machine that were compared and equal."""
    checks: int
    difference: Difference | None


class Verification(tuple[Comparison, ...]):
    """Comparisons of one network with its machine, on several words."""

    @property
    def holds(self) -> bool:
        """Whether no comparison found a difference."""
        return not self.differences

    @property
    def differences(self) -> list[Difference]:
        """The first difference of each comparison that has one."""
        return [each.difference for each in self if each.difference is not None]

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        runs = f"{len(self)} run{'' if len(self) == 1 else 's'}"
        checks = f"{runs}, {sum(each.checks for each in self):,} checks"
        found = self.differences
        return f"<{checks}: {f'{len(found)} differ; {found[0]}' if found else 'no difference'}>"

    def _repr_html_(self) -> str:
        rows = [
            (" ".join(each.word), each.steps, each.checks, each.difference or "agrees")
            for each in self
        ]
        return table(repr(self)[1:-1], ["input", "steps", "checks", ""], rows)


def compare(on: str, statement: str, word: Sequence[str], checks: Iterator[Check]) -> Comparison:
    """Run the checks up to the first that fails; an unreadable network is a difference, too."""
    count, steps, time, difference = 0, 0, 0, None
    try:
        for check in checks:
            count, time = count + 1, check.time
            if check.found != check.wanted:
                difference = difference_of(check)
                break
            steps = max(steps, check.steps)
    except NetworkError as error:
        part = "what the network shows"
        difference = Difference(time, statement, part, "readable", str(error))
    return Comparison(on, tuple(word), steps, count, difference)


def difference_of(check: Check) -> Difference:
    """The difference that a failed check shows; for vectors, at the first coordinate."""
    part, wanted, found = check.name, check.wanted, check.found
    if isinstance(found, Vector) and isinstance(wanted, Vector):
        names, have, want = wanted.layout.coordinates, found.entries, wanted.entries
        k = next(k for k in range(len(names)) if have.get(k) != want.get(k))
        part = f"{names[k]} of {check.name}"
        wanted, found = want.get(k, 0), have.get(k, 0)
    return Difference(check.time, check.statement, part, _shown(wanted), _shown(found))


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:28]}…{text[-28:]}"
