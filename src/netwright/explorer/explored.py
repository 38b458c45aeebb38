"""A network on a word, to be looked at: its own run, and the machine's beside it."""

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from time import monotonic
from typing import Any, NamedTuple

from netwright.engine.following.tracing import EndedError, Tracing
from netwright.errors import InputError
from netwright.machine.simulate import outcome_of
from netwright.machine.timeline import Diagram, Instant
from netwright.network.network import Network
from netwright.network.trace import Moment
from netwright.network.view import History, View
from netwright.text import printable

LIMIT = 50_000_000
"""How many steps of a machine are looked at."""
FIRST_AT_ONCE = 1 << 10  # moments between two looks at whether to go on
SHORT, LONG = 0.03, 0.1  # seconds in which there are more of them, or fewer
MOST_STEPS = 10**9
MOST_COLUMNS, MOST_ROWS = 2000, 400
MOST_INPUT = 2000
MOST_RULES = 20_000


class Drawn(NamedTuple):
    """The part of a run that a diagram shows: times up to `stop`, cells up to `last`."""

    start: int
    stop: int
    columns: int
    first: int
    last: int
    rows: int


class Explored:
    """What a page shows."""

    def __init__(self, network: Network, word: tuple[str, ...], limit: int = LIMIT) -> None:
        machine = network.machine
        if len(word) > MOST_INPUT:
            raise InputError(
                f"the input has {len(word):,} symbols; the page shows inputs of {MOST_INPUT:,}"
            )
        if len(machine.states) * len(machine.symbols) > MOST_RULES:
            raise InputError(
                f"{len(machine.states):,} states and {len(machine.symbols):,} symbols are too many "
                f"to draw; at most {MOST_RULES:,} pairs"
            )
        if not 1 <= limit <= MOST_STEPS:
            raise InputError(f"the page shows from 1 to {MOST_STEPS:,} steps; got {limit:,}")
        self.network, self.word, self.limit = network, word, limit
        self.view: View = network.kind.look.view
        self.history: History = network.kind.look.history(network.compiled, word, limit)
        steps = self.history.timeline.limit
        kind, compiled = network.kind, network.compiled
        by_steps = kind.look.steps(compiled, word, steps)
        self.tracing: Tracing[Any] = by_steps or kind.reading.trace(compiled, word, steps)

    @property
    def lead(self) -> int:
        """How far the network's time is ahead of the machine's."""
        return self.history.lead

    def moment(self, t: int, go_on: Callable[[float], bool] = lambda done: True) -> Moment | None:
        """A moment of the network's own run; None where `go_on`, told how far it is, ended it."""
        self.check(t)
        if not self._go(t, go_on):
            return None
        self.tracing.check(t)
        return Moment(self.tracing, t)

    def _go(self, t: int, go_on: Callable[[float], bool]) -> bool:
        """Let the network run to a time, some moments at once; False if `go_on` ended it."""
        lead, count = self.tracing.lead, FIRST_AT_ONCE
        while (now := self.tracing.seeker.nearest(max(0, t - lead)) + lead) < t - count:
            if not go_on(now / t):
                return False
            started = monotonic()
            self.tracing.go_to(now + count)
            seconds = monotonic() - started
            if seconds < SHORT:
                count *= 2
            elif seconds > LONG:
                count = max(1, count // 2)
        return True

    def check(self, t: int) -> None:
        """EndedError for a time that the run has not."""
        last, ended = self.last
        if not 1 <= t <= last:
            end = f"ends at {last:,}" if ended else f"is looked at up to {last:,}"
            raise EndedError(f"there is no time {t:,}; this run begins at 1 and {end}")

    @cached_property
    def last(self) -> tuple[int, bool]:
        """The last time, and whether the run ends there: the machine's, or a changed network's."""
        timeline = self.history.timeline
        timeline.explore(timeline.limit)
        end = timeline.end
        if self.network.changes and self.tracing.seeker.end is not None:
            return self.tracing.seeker.end + self.tracing.lead, True
        time = timeline.limit if end is None else end
        return time + self.history.lead_at_the_end, end is not None

    def explore(self, go_on: Callable[[float], bool]) -> bool:
        """Let the machine run to its end, or to the limit; False if `go_on` ended it."""
        timeline = self.history.timeline
        if not timeline.explore(timeline.limit, lambda: go_on(timeline.reached / timeline.limit)):
            return False
        return not self.network.changes or self._to_its_own_end(go_on)

    def _to_its_own_end(self, go_on: Callable[[float], bool]) -> bool:
        """Let a changed network run until it ends, shows no machine any more, or is at the limit.

        What was proved does not hold of it, so the machine's run does not say where that is.
        """
        seeker, limit = self.tracing.seeker, self.history.timeline.limit
        with suppress(EndedError):
            while seeker.end is None and seeker.lost is None:
                now = seeker.moments + self.tracing.lead
                if now >= limit:
                    break
                if not go_on(now / limit):
                    return False
                self.tracing.go_to(min(limit, now + min(now + FIRST_AT_ONCE, 1 << 20)))
        return True

    def diagram(
        self, start: int, stop: int, columns: int, first: int, last: int, rows: int
    ) -> tuple[Drawn, Diagram]:
        """The machine's space-time diagram over times of the network, and which part is drawn."""
        end = self.last[0] + 1
        start = max(self.lead, min(start, end - 1))
        stop = max(start + 1, min(stop, end))
        lowest, highest = self.history.timeline.lowest, self.history.timeline.highest
        first = max(min(first, highest), lowest - MOST_ROWS)
        last = min(max(first, last), highest + MOST_ROWS)
        columns = max(1, min(columns, MOST_COLUMNS, stop - start))
        rows = max(1, min(rows, MOST_ROWS, last - first + 1))
        times = start - self.lead, stop - self.lead
        found = self.history.timeline.diagram(*times, columns, first, last, rows)
        return Drawn(start, stop, columns, first, last, rows), found

    def description(self) -> dict[str, Any]:
        """What there is to know before any moment is shown."""
        network, timeline = self.network, self.history.timeline
        kind, machine = network.kind, timeline.machine
        last, ended = self.last
        final = timeline.at(timeline.limit if timeline.end is None else timeline.end)
        return {
            "name": printable(network.machine.name),
            "about": printable(network.machine.description),
            "input": list(self.word),
            "kind": kind.name,
            "statement": kind.statement,
            "options": {
                option.name: option.written(network.options[option.name]) for option in kind.options
            },
            "changes": list(network.changes),
            "trust": str(network.standing),
            "dimension": network.dimension,
            "lead": self.lead,
            "last": last,
            "ended": ended,
            "outcome": self._outcome(final) if ended else None,
            "steps": self._steps(final),
            "cut": timeline.is_too_long,
            "cells": [timeline.lowest, timeline.highest],
            "head": self.head,
            "machine": {
                "states": list(machine.states),
                "symbols": list(machine.symbols),
                "blank": machine.blank,
                "start": machine.start,
                "accepting": sorted(machine.accepting),
                "given": [state in network.machine.states for state in machine.states],
                "rules": [
                    [state, symbol, *action]
                    for (state, symbol) in machine.delta
                    if (action := machine.action(state, symbol))
                ],
            },
            "layout": [
                [block, list(labels), kind.look.meanings.of_block(block)]
                for block, labels in network.layout.blocks
            ],
            "view": {
                "groups": [
                    [block for block in group if block in network.layout]
                    for group in self.view.groups
                ],
                "short": dict(self.view.short),
                "columns": [vars(column) for column in self.view.columns],
                "parts": [vars(part) for part in self.view.parts],
                "drawn": self.view.drawn,
                "drawing": self.view.drawing,
                "score": kind.look.score(network.compiled),
            },
        }

    def _outcome(self, final: Instant | None) -> str | None:
        """How the run ends: as the given machine's; or a changed network's own."""
        if self.network.changes:
            result = self.tracing.seeker.result
            return result.outcome.value if result else "no answer"
        if final is None:
            return None
        given = self.network.machine
        symbol = final.symbol if final.symbol in given.symbols else given.blank
        return outcome_of(given, final.state, symbol).value

    def _steps(self, final: Instant | None) -> int | None:
        """How many steps of the given machine are behind its end, or the limit."""
        result = self.tracing.seeker.result
        if self.network.changes:
            return result.steps if result else None
        return final.step if final else None

    @property
    def head(self) -> int:
        """Where the machine's head begins."""
        start = self.history.timeline.at(0)
        assert start is not None
        return start.head
