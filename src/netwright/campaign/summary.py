"""The results of a campaign: what is wrong first, then counts and records."""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from typing import Any

from netwright.campaign.plan import FAULTS
from netwright.campaign.work import Row
from netwright.kind.registry import MACHINE, is_kind, kind_named
from netwright.machine.formats import bbchallenge
from netwright.machine.simulate import Outcome

SHOWN = 5
MOST_WRONG = 20
DECIDED = (Outcome.ACCEPTED, Outcome.REJECTED, Outcome.HALTED)


class Best:
    """The rows with the largest values in a column, the earliest first among equals."""

    def __init__(self, column: str, count: int = SHOWN) -> None:
        self.column, self.count = column, count
        self._heap: list[tuple[Any, int, Row]] = []
        self._machines: set[int] = set()
        self._seen = 0

    def add(self, row: Row) -> None:
        """Add a row; a machine counts once."""
        value = row[self.column]
        self._seen += 1
        if value is None or row["number"] in self._machines:
            return
        entry = (value, -self._seen, row)
        if len(self._heap) < self.count:
            heappush(self._heap, entry)
            self._machines.add(row["number"])
        elif entry > self._heap[0]:
            self._machines.add(row["number"])
            self._machines.discard(heappushpop(self._heap, entry)[2]["number"])

    @property
    def rows(self) -> list[Row]:
        """The rows, largest first."""
        return [row for _, _, row in sorted(self._heap, reverse=True)]


@dataclass
class Summary:
    """Everything that `show` prints."""

    plan: Mapping[str, Any]
    machines: int = 0
    rows: int = 0
    seconds: float = 0.0
    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    """By network."""
    agree: Counter[str] = field(default_factory=Counter)
    certified: Counter[str] = field(default_factory=Counter)
    verified_steps: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)
    disagreements: list[Row] = field(default_factory=list)
    uncertified: list[Row] = field(default_factory=list)
    failures: list[Row] = field(default_factory=list)
    wrong: Counter[str] = field(default_factory=Counter)
    """The total of each of these three; the lists have the first `MOST_WRONG`."""
    longest: Best = field(default_factory=lambda: Best("steps"))
    fullest: Best = field(default_factory=lambda: Best("non_blank"))
    slowest: Best = field(default_factory=lambda: Best("seconds"))
    ends: Counter[tuple[int, int]] = field(default_factory=Counter)
    """How many runs ended with each pair of steps and non-blank cells."""

    @staticmethod
    def of(rows: Iterable[Row], plan: Mapping[str, Any]) -> "Summary":
        """Summarise rows in the order of their machines."""
        summary = Summary(plan)
        number = None
        for row in rows:
            summary.machines += row["number"] != number
            number = row["number"]
            summary._add(row)
        return summary

    def _add(self, row: Row) -> None:
        on = row["on"]
        self.rows += 1
        self.seconds += row["seconds"] or 0.0
        counts = self.outcomes.setdefault(on, Counter())
        if row["outcome"] is not None:
            counts[row["outcome"]] += 1
        self.agree[on] += row["agrees"] is True
        self.certified[on] += row["certified"] is True
        self.verified_steps[on] += row["verified_steps"] or 0
        self.checks[on] += row["checks"] or 0
        for name, has_it in FAULTS.items():
            if has_it(row):
                self.wrong[name] += 1
                kept: list[Row] = getattr(self, name)
                if self.wrong[name] <= MOST_WRONG:
                    kept.append(row)
        self.slowest.add(row)
        if row["outcome"] in DECIDED and (on == MACHINE or MACHINE not in self.plan["on"]):
            self.longest.add(row)
            self.fullest.add(row)
            if on == self.plan["on"][0] or on == MACHINE:
                self.ends[row["steps"], row["non_blank"]] += 1

    def as_json(self) -> dict[str, Any]:
        """The summary as JSON data."""
        return {
            **{name: self.wrong[name] for name in FAULTS},
            "machines": self.machines,
            "rows": self.rows,
            "cpu_seconds": round(self.seconds, 3),
            "networks": {
                on: {
                    "outcomes": dict(counts),
                    "agree": self.agree[on],
                    "certified": self.certified[on],
                    "verified_steps": self.verified_steps[on],
                    "checks": self.checks[on],
                }
                for on, counts in self.outcomes.items()
            },
            "first_disagreements": self._with_commands(self.disagreements),
            "first_uncertified": self._with_commands(self.uncertified),
            "first_failures": self._with_commands(self.failures),
            "most_steps": self.longest.rows,
            "most_non_blank": self.fullest.rows,
            "slowest": self.slowest.rows,
        }

    def _with_commands(self, rows: list[Row]) -> list[dict[str, Any]]:
        return [{**row, "command": self.command(row)} for row in rows]

    def command(self, row: Row) -> str:
        """The shell command that reproduces a row."""
        verb = "run"
        if row["certified"] is False:
            verb = "certify"
        elif row["agrees"] is False and row["verified_steps"] is not None:
            verb = "verify"
        name, on = row["machine"], row["on"]
        dashed = name.startswith("-") and not bbchallenge.is_text(name)
        parts = ["netwright", verb, f"./{name}" if dashed else name, "--on", on]
        if verb != "certify":
            parts += ["--max-steps", str(self.plan["max_steps"])]
        own = {o.name for o in kind_named(on).options} if is_kind(on) else set()
        for name, value in self.plan["options"].items():
            if name in own:
                parts += [f"--{name}"] if value is True else [f"--{name}", str(value)]
        return shlex.join(parts)
