"""A campaign while it is under way: batches go out in order, their rows are kept as parts.

Only this process writes to the folder. When it is asked to stop, it hands out no more.
"""

import json
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from netwright.campaign.crew import Crew, Engine, LostError, WorkersError
from netwright.campaign.manifest import Work
from netwright.campaign.plan import Plan
from netwright.campaign.store import PROGRESS, Store, has_rows, parsed
from netwright.campaign.work import Item
from netwright.errors import FormatError, NetwrightError, OutputError, StoppedError
from netwright.files import write_whole
from netwright.text import counted

SECONDS_A_BATCH = 4.0
MOST_IN_A_BATCH = 20_000
MOST_LOSSES = 10_000
"""Batches that may be lost with their workers; beyond it something is wrong."""
TOLD = 1.0
"""Seconds between two notes of how far it is."""


@dataclass(frozen=True)
class Status:
    """How far a campaign is."""

    folder: str
    total: int
    """Machines."""
    done: int
    rows: int
    disagreements: int
    uncertified: int
    """Networks whose certificate is refused."""
    failures: int
    """Rows that are refused, in error, crashed, or took too long."""
    running: bool = False
    workers: int | None = None
    rate: float | None = None
    """Machines a second."""
    seconds_left: float | None = None
    digest: str = ""
    """Of the whole campaign: what is to be done, and all rows."""

    @property
    def finished(self) -> bool:
        """Whether all machines are done."""
        return self.done == self.total

    @property
    def exit_code(self) -> int:
        """0 all agree or are certified, 1 one does not, 4 rows without an answer."""
        return 1 if self.disagreements or self.uncertified else 4 if self.failures else 0


Told = Callable[[Status], None]
Batch = tuple[int, int, list[Item]]
"""A first and a last number, and the machines that there are of these."""


class Campaign:
    """The work on a campaign, while it is under way."""

    def __init__(
        self, store: Store, work: Work, plan: Plan, batch: int | None, progress: Told | None
    ) -> None:
        self.store, self.work, self.plan, self.progress = store, work, plan, progress
        self.fixed = batch
        self.size = batch or 1
        _, self.tally = store.verified()
        self.missing = store.missing(work.spans)
        self.left = work.count(self.missing)
        self.handed = 0
        self.told = monotonic()
        self.losses = 0
        self.recent: deque[tuple[float, int]] = deque(maxlen=200)
        self.stopping = self.looking = False
        self.parts = 0
        self.workers = 1

    def run(self, engine: Engine) -> Status:
        """Do what is missing."""
        if not self.missing:
            return self.status(0)
        failure: Exception | None = None
        with engine.crew(self.plan) as crew, _asked_to_stop(self):
            try:
                self._work(crew)
            except NetwrightError as error:
                failure = error
            except KeyboardInterrupt:  # a second one
                self.stopping = True
        with suppress(OSError):
            (self.store.folder / PROGRESS).unlink(missing_ok=True)
        with suppress(OutputError, FormatError):
            self.store.tidy(several=2)
        done = self.status(0)
        if failure is not None or not done.finished:
            raise self._stopped(done, failure)
        return done

    def _stopped(self, done: Status, failure: Exception | None) -> Exception:
        kept = f"{done.done:,} of {counted(done.total, 'machine')} are kept"
        again = f"go on with: netwright campaign --resume -o {self.store.folder}"
        if failure is None:
            return StoppedError(f"interrupted; {kept}; {again}")
        return type(failure)(f"{failure}; {kept}; {again}")

    def _work(self, crew: Crew) -> None:
        batches = self._batches()
        under_way: dict[Any, tuple[int, int, list[Item]]] = {}
        ended: SimpleQueue[Any] = SimpleQueue()
        more = True

        def submit(first: int, last: int, items: list[Item]) -> None:
            future = crew.submit(items)
            under_way[future] = first, last, items
            future.add_done_callback(ended.put)

        crew.check()
        self._tell(crew)
        while more or under_way:
            if self.stopping and more:
                more = False
                for future in list(under_way):
                    crew.drop(future)
            # The first machine alone: it shows how long one takes, and compiles what all need.
            wanted = 1 if not self.recent else 2 * max(crew.workers, 1)
            while more and len(under_way) < wanted:
                batch = self._next(batches)
                if batch is None:
                    more = False
                    break
                first, last, items = batch
                if items:
                    submit(first, last, items)
                else:  # bad lines alone
                    self.store.write(first, last, [])
            if self.stopping and not crew.workers:
                break  # there is nobody to wait for
            if not under_way:
                continue
            with suppress(Empty):
                future = ended.get(timeout=0.2)
                first, last, items = under_way.pop(future)
                try:
                    if not future.cancelled():
                        self._keep(first, last, len(items), future.result())
                    elif not self.stopping:
                        raise LostError("its workers are gone")
                except LostError as error:
                    crew.check()
                    self.losses += 1
                    if self.losses > MOST_LOSSES:
                        raise WorkersError(f"{self.losses} batches were lost: {error}") from None
                    if not self.stopping:
                        submit(first, last, items)
            if monotonic() - self.told > TOLD:
                crew.check()
                self._tell(crew)
        self._tell(crew)

    def _next(self, batches: Iterator[Batch]) -> Batch | None:
        """The next batch; Ctrl-C while machines are looked for, which may take long, ends that."""
        self.looking = True
        try:
            return next(batches, None)
        except KeyboardInterrupt:
            self.stopping = True
            return None
        finally:
            self.looking = False

    def _keep(self, first: int, last: int, count: int, done: Any) -> None:
        try:
            rows = list(parsed(done.rows))
        except ValueError as error:
            raise LostError(f"its rows are damaged: {error}") from None
        if (fault := has_rows(rows, self.work.expected(first, last))) is not None:
            raise LostError(fault)
        self.tally += self.store.write(first, last, rows)
        self.parts += 1
        if self.parts % 100 == 0:
            self.store.tidy()
        self.left -= self.work.count([(first, last + 1)])
        self.recent.append((monotonic(), count))
        if self.fixed is None:
            fitting = int(SECONDS_A_BATCH * count / max(done.seconds, 1e-6))
            self.size = max(1, min(fitting, 8 * self.size, MOST_IN_A_BATCH))

    def _batches(self) -> Iterator[Batch]:
        """Batches that together cover all that is missing, also where numbers have no machine."""
        for first, end in self.missing:
            items = self.work.items(first, end)
            upcoming = next(items, None)
            while first < end:
                batch: list[Item] = []
                size = self._fitting()
                while upcoming is not None and len(batch) < size:
                    batch.append(upcoming)
                    upcoming = next(items, None)
                self.work.check_unchanged()
                last = end - 1 if upcoming is None else upcoming.number - 1
                self.handed += self.work.count([(first, last + 1)])
                yield first, last, batch
                first = last + 1

    def _fitting(self) -> int:
        """How many machines to hand out at once: fewer towards the end, so that all end at once."""
        if self.fixed is not None:
            return self.fixed
        rest = self.work.count(self.missing) - self.handed
        return max(1, self.size // 16, min(self.size, rest // (2 * self.workers)))

    def _tell(self, crew: Crew) -> None:
        self.told = monotonic()
        self.workers = max(1, crew.workers)
        now = self.status(crew.workers)
        with suppress(OutputError):
            write_whole(self.store.folder / PROGRESS, json.dumps(asdict(now)).encode())
        if self.progress is not None:
            self.progress(now)

    def status(self, workers: int) -> Status:
        """How far it is."""
        rate = left = None
        if len(self.recent) > 1:
            since = max(self.recent[0][0], monotonic() - 60)
            inside = [count for when, count in self.recent if when > since]
            rate = sum(inside) / max(monotonic() - since, 1e-9)
            left = self.left / rate if rate else None
        return Status(
            str(self.store.folder),
            self.work.total,
            self.work.total - self.left,
            **self.tally.counts,
            digest=self.store.digest(self.tally),
            running=workers > 0,
            workers=workers or None,
            rate=rate,
            seconds_left=left,
        )


@contextmanager
def _asked_to_stop(campaign: Campaign) -> Iterator[None]:
    """Ctrl-C once: no new batches; twice: at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def stop(_number: int, _frame: object) -> None:
        at_once = campaign.stopping or campaign.looking
        if campaign.stopping:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is ending
        campaign.stopping = True
        if at_once:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
