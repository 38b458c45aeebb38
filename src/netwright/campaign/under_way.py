"""A running campaign: hands out batches in order and keeps their rows as parts.

Only this process writes to the folder. When asked to stop, it hands out no more batches.
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
from typing import Any, NamedTuple

from netwright.campaign.manifest import Work
from netwright.campaign.pool import BatchResult, Engine, LostError, WorkerPool, WorkersError
from netwright.campaign.store import PROGRESS, Store, parsed, rows_fault
from netwright.campaign.work import Item
from netwright.errors import FormatError, NetwrightError, OutputError, StoppedError
from netwright.files import write_whole
from netwright.text import counted

SECONDS_A_BATCH = 4.0
MOST_IN_A_BATCH = 20_000
MOST_LOSSES = 10_000
"""Batches that may be lost with their workers before the campaign is given up."""
REPORT_EVERY = 1.0  # seconds


@dataclass(frozen=True)
class Status:
    """The progress of a campaign."""

    folder: str
    total: int
    """Machines."""
    done: int
    rows: int
    disagreements: int
    uncertified: int
    """Networks that were not certified."""
    failures: int
    """Rows whose outcome is refused, error, crashed or timeout."""
    running: bool = False
    workers: int | None = None
    rate: float | None = None
    """Machines a second."""
    seconds_left: float | None = None
    digest: str = ""
    """Of the whole campaign: its manifest and all rows."""

    @property
    def finished(self) -> bool:
        """Whether all machines are done."""
        return self.done == self.total

    @property
    def exit_code(self) -> int:
        """0 if all agree or are certified, 1 if one does not, 4 if rows have no answer."""
        return 1 if self.disagreements or self.uncertified else 4 if self.failures else 0


Progress = Callable[[Status], None]


class Batch(NamedTuple):
    """The machines there are with numbers from `first` to `last`."""

    first: int
    last: int
    items: list[Item]


class Campaign:
    """The scheduler of a running campaign."""

    def __init__(
        self, store: Store, work: Work, batch: int | None, progress: Progress | None
    ) -> None:
        self.store, self.work, self.progress = store, work, progress
        self.fixed = batch
        self.size = batch or 1
        self.missing, self.tally = store.progress(work.spans)
        self.left = work.count(self.missing)
        self.handed_out = 0
        self.reported = monotonic()
        self.losses = 0
        self.recent: deque[tuple[float, int]] = deque(maxlen=200)
        self.stopping = self.enumerating = False
        self.parts = 0
        self.workers = 1
        self.in_flight: dict[Any, Batch] = {}
        self.ended: SimpleQueue[Any] = SimpleQueue()

    def run(self, engine: Engine) -> Status:
        """Do all machines without rows; raise StoppedError if interrupted."""
        if not self.missing:
            return self.status(0)
        failure: Exception | None = None
        with engine.pool(self.work.plan) as pool, _deferred_interrupt(self):
            try:
                self._work(pool)
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
        again = f"resume with: netwright campaign --resume -o {self.store.folder}"
        if failure is None:
            return StoppedError(f"interrupted; {kept}; {again}")
        return type(failure)(f"{failure}; {kept}; {again}")

    def _work(self, pool: WorkerPool) -> None:
        """The main loop: submit batches, collect finished ones, report every second."""
        batches: Iterator[Batch] | None = self._batches()
        pool.check()
        self._report(pool)
        while batches is not None or self.in_flight:
            if self.stopping and batches is not None:
                batches = None
                for future in list(self.in_flight):
                    pool.cancel(future)
            if batches is not None and not self._fill(pool, batches):
                batches = None
            if self.stopping and not pool.workers:
                break  # no worker is left to wait for
            if not self.in_flight:
                continue
            with suppress(Empty):
                self._collect(pool, self.ended.get(timeout=0.2))
            if monotonic() - self.reported > REPORT_EVERY:
                pool.check()
                self._report(pool)
        self._report(pool)

    def _fill(self, pool: WorkerPool, batches: Iterator[Batch]) -> bool:
        """Submit batches until enough are in flight; return False if there are no more."""
        # The first machine alone: it shows how long one takes, and compiles what all need.
        wanted = 1 if not self.recent else 2 * max(pool.workers, 1)
        while len(self.in_flight) < wanted:
            batch = self._next(batches)
            if batch is None:
                return False
            if batch.items:
                self._submit(pool, batch)
            else:  # only bad lines
                self.store.write(batch.first, batch.last, [])
        return True

    def _submit(self, pool: WorkerPool, batch: Batch) -> None:
        future = pool.submit(batch.items)
        self.in_flight[future] = batch
        future.add_done_callback(self.ended.put)

    def _collect(self, pool: WorkerPool, future: Any) -> None:
        """Keep the rows of a batch that ended, or submit it again if it was lost."""
        batch = self.in_flight.pop(future)
        try:
            if not future.cancelled():
                self._keep(batch, future.result())
            elif not self.stopping:
                raise LostError("its workers are gone")
        except LostError as error:
            pool.check()
            self.losses += 1
            if self.losses > MOST_LOSSES:
                raise WorkersError(f"{self.losses} batches were lost: {error}") from None
            if not self.stopping:
                self._submit(pool, batch)

    def _next(self, batches: Iterator[Batch]) -> Batch | None:
        """Return the next batch; None after the last, or if interrupted while enumerating."""
        self.enumerating = True
        try:
            return next(batches, None)
        except KeyboardInterrupt:
            self.stopping = True
            return None
        finally:
            self.enumerating = False

    def _keep(self, batch: Batch, done: BatchResult) -> None:
        """Write the rows of a finished batch; raise LostError if they are not those expected."""
        first, last, count = batch.first, batch.last, len(batch.items)
        try:
            rows = list(parsed(done.rows))
        except ValueError as error:
            raise LostError(f"its rows are damaged: {error}") from None
        if (fault := rows_fault(rows, self.work.expected(first, last))) is not None:
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
        """Yield batches that cover all missing numbers, including those without a machine."""
        for first, end in self.missing:
            items = self.work.items(first, end)
            upcoming = next(items, None)
            while first < end:
                batch: list[Item] = []
                size = self._batch_size()
                while upcoming is not None and len(batch) < size:
                    batch.append(upcoming)
                    upcoming = next(items, None)
                self.work.check_unchanged()
                last = end - 1 if upcoming is None else upcoming.number - 1
                self.handed_out += self.work.count([(first, last + 1)])
                yield Batch(first, last, batch)
                first = last + 1

    def _batch_size(self) -> int:
        """The size of the next batch: smaller towards the end, so that all workers end together."""
        if self.fixed is not None:
            return self.fixed
        rest = self.work.count(self.missing) - self.handed_out
        return max(1, self.size // 16, min(self.size, rest // (2 * self.workers)))

    def _report(self, pool: WorkerPool) -> None:
        """Write progress.json and call the progress callback."""
        self.reported = monotonic()
        self.workers = max(1, pool.workers)
        now = self.status(pool.workers)
        with suppress(OutputError):
            write_whole(self.store.folder / PROGRESS, json.dumps(asdict(now)).encode())
        if self.progress is not None:
            self.progress(now)

    def status(self, workers: int) -> Status:
        """The progress now, with rate and time left from the last minute."""
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
def _deferred_interrupt(campaign: Campaign) -> Iterator[None]:
    """Handle Ctrl-C: the first stops new batches, the second ends the campaign at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def stop(_number: int, _frame: object) -> None:
        at_once = campaign.stopping or campaign.enumerating
        if campaign.stopping:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # ending already
        campaign.stopping = True
        if at_once:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
