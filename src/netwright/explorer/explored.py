"""A network on a word for the page: its own run, and the machine's run to compare with."""

from bisect import bisect_left
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from threading import Lock
from time import monotonic
from typing import Any

from netwright.engine.following.tracing import EndedError, Tracing
from netwright.errors import InputError
from netwright.kind.registry import check_engine, exact_kinds
from netwright.machine.accelerated_timeline import AcceleratedTimeline
from netwright.machine.simulate import Engine, outcome_of, read_engine
from netwright.machine.timeline import Diagram
from netwright.network.network import Network
from netwright.network.trace import Moment
from netwright.network.view import History, View
from netwright.text import printable

LIMIT, FAR = 50_000_000, 10**12
"""The default limits on steps of a machine: one by one, and by the accelerated engine."""
FIRST_AT_ONCE = 1 << 10  # moments between the first two calls of `keep_going`
SHORT, LONG = 0.03, 0.1  # seconds between two calls, below and above which their number changes
MOST_STEPS, FARTHEST = 10**9, 10**15
MOST_COLUMNS, MOST_ROWS = 2000, 400
MOST_INPUT = 2000
MOST_RULES = 20_000

KeepGoing = Callable[[float], bool]
"""A callback that receives the fraction of the work done, and returns False to cancel the rest."""


class Explored:
    """A network's run on a word, as a page shows it."""

    def __init__(
        self,
        network: Network,
        word: tuple[str, ...],
        limit: int | None = None,
        *,
        engine: Engine | str = Engine.AUTO,
    ) -> None:
        machine, kind, chosen = network.machine, network.kind, read_engine(engine)
        check_engine(kind, chosen, page=True)
        self.accelerated = chosen is Engine.ACCELERATED
        """Whether moments are those of an accelerated run, which has no visits of cells."""
        if len(word) > MOST_INPUT:
            raise InputError(
                f"the input has {len(word):,} symbols; the page shows at most {MOST_INPUT:,}"
            )
        if len(machine.states) * len(machine.symbols) > MOST_RULES:
            raise InputError(
                f"{len(machine.states):,} states and {len(machine.symbols):,} symbols are too many "
                f"to draw; at most {MOST_RULES:,} pairs"
            )
        usual, most = (FAR, FARTHEST) if self.accelerated else (LIMIT, MOST_STEPS)
        limit = usual if limit is None else limit
        if not 1 <= limit <= most:
            raise InputError(f"the page shows from 1 to {most:,} steps; got {limit:,}")
        self.network, self.word, self.limit = network, word, limit
        self.view: View = network.kind.look.view
        self.history: History = network.kind.look.history(network.compiled, word, limit)
        if self.accelerated:
            far = AcceleratedTimeline.of(self.history.timeline)
            self.history = self.history._replace(timeline=far)
        self.lead = self.history.lead
        self.reads = network.kind.look.reads(network.compiled, word)
        self._lock = Lock()
        self._tracing: Tracing[Any] | None = None

    @property
    def reads_input(self) -> bool:
        """Whether it reads the input before the machine starts, and not a prompt."""
        return tuple(self.reads) == self.word

    @property
    def tracing(self) -> Tracing[Any]:
        """The network's own run, which starts when it is first asked for."""
        with self._lock:
            if self._tracing is None:
                kind = self.network.kind
                given = self.network.compiled, self.word, self.history.timeline.limit
                if self.accelerated:
                    self._tracing = kind.reading.accelerated_trace(*given)
                else:
                    self._tracing = kind.look.steps(*given) or kind.reading.trace(*given)
            return self._tracing

    def moment(self, t: int, keep_going: KeepGoing = lambda done: True) -> Moment | None:
        """Compute a moment of the network's own run; None if `keep_going` cancelled it."""
        self.check(t)
        if not self._run_to(t, keep_going):
            return None
        self.tracing.check(t)
        return Moment(self.tracing, t)

    def _run_to(
        self, t: int, keep_going: KeepGoing, is_enough: Callable[[], bool] = lambda: False
    ) -> bool:
        """Run the network to near a time in batches of moments; False if `keep_going` cancelled it.

        `is_enough` may end it before.
        """
        lead, count = self.tracing.lead, FIRST_AT_ONCE
        while (now := self.tracing.seeker.nearest(max(0, t - lead)) + lead) < t - count:
            if is_enough():
                break
            if not keep_going(now / t):
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
        """Raise EndedError if the run has no time `t`."""
        last, ended = self.last
        if not 1 <= t <= last:
            end = f"ends at {last:,}" if ended else f"is shown up to {last:,}"
            raise EndedError(f"there is no time {t:,}; this run begins at 1 and {end}")

    @cached_property
    def last(self) -> tuple[int, bool]:
        """The last time, and whether the run ends there: the machine's, or a changed network's."""
        timeline = self.history.timeline
        timeline.explore(timeline.limit)
        if self.network.changes and self.tracing.seeker.end is not None:
            return self.tracing.seeker.end + self.tracing.lead, True
        time = timeline.limit if timeline.end is None else timeline.end
        return time + self.history.lead_at_the_end, timeline.end is not None

    def time_of_step(self, step: int) -> int:
        """The first time of the network at which the given machine has made so many steps."""
        timeline = self.history.timeline

        def steps(time: int) -> int:
            now = timeline.at(time)
            return 1 << 62 if now is None else now.step  # past the end

        return bisect_left(range(self.last[0] + 1 - self.lead), step, key=steps) + self.lead

    def explore(self, keep_going: KeepGoing) -> bool:
        """Run the machine to its end or the limit; False if `keep_going` cancelled it."""
        timeline = self.history.timeline  # whose limit drops when the tape becomes too long
        if not timeline.explore(
            timeline.limit, lambda: keep_going(timeline.reached / timeline.limit)
        ):
            return False
        return not self.network.changes or self._to_its_own_end(keep_going)

    def _to_its_own_end(self, keep_going: KeepGoing) -> bool:
        """Run a changed network until it ends, no longer shows a machine, or is at the limit.

        The proof does not hold for it, so the machine's run does not say where that is.
        """
        seeker, limit = self.tracing.seeker, self.history.timeline.limit

        def is_known() -> bool:
            return seeker.end is not None or seeker.lost is not None

        with suppress(EndedError):
            if not self._run_to(limit, keep_going, is_known):
                return False
            if not is_known():
                self.tracing.go_to(limit)
        return True

    def diagram(
        self, start: int, stop: int, columns: int, first: int, last: int, rows: int
    ) -> tuple[tuple[int, ...], Diagram]:
        """Draw the machine's space-time diagram over times of the network; `stop` is exclusive.

        Returns the arguments, clipped to the run, and the diagram.
        """
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
        return (start, stop, columns, first, last, rows), found

    def description(self) -> dict[str, Any]:
        """Return the facts that the page needs before any moment, as plain data."""
        network, timeline = self.network, self.history.timeline
        kind, machine = network.kind, timeline.machine
        last, ended = self.last
        start = timeline.at(0)
        assert start is not None
        outcome, steps = self._result()
        return {
            "name": printable(network.machine.name),
            "about": printable(network.machine.description),
            "input": list(self.word),
            "in_floats": kind.name not in exact_kinds(),
            "reads": {"symbols": list(self.reads), "input": self.reads_input},
            "kind": kind.name,
            "statement": kind.statement,
            "options": {
                option.name: option.written(network.options[option.name]) for option in kind.options
            }
            | ({"engine": "accelerated"} if self.accelerated else {}),
            "changes": list(network.changes),
            "trust": str(network.standing),
            "dimension": network.dimension,
            "lead": self.lead,
            "last": last,
            "ended": ended,
            "outcome": outcome if ended else None,
            "steps": steps,
            "cut": timeline.cut,
            "cells": [timeline.lowest, timeline.highest],
            "head": start.head,
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
                "moment": self.view.moment,
                "reads": self.view.reads,
                "drawn": self.view.drawn,
                "drawing": self.view.drawing,
                "figures": [dict(figure) for figure in self.view.figures],
                "score": kind.look.score(network.compiled),
            },
        }

    def _result(self) -> tuple[str | None, int | None]:
        """The outcome and the steps of the given machine's run, or of a changed network's own."""
        if self.network.changes:
            result = self.tracing.seeker.result
            return (result.outcome.value, result.steps) if result else ("no answer", None)
        timeline, given = self.history.timeline, self.network.machine
        final = timeline.at(timeline.limit if timeline.end is None else timeline.end)
        if final is None:
            return None, None
        symbol = final.symbol if final.symbol in given.symbols else given.blank
        # One time more than the limit is known, to show whether the machine has halted there.
        steps = final.step if timeline.end is not None else min(final.step, self.limit)
        return outcome_of(given, final.state, symbol).value, steps
