"""A campaign from its beginning or from where it stopped to its end.

Only this process writes to the folder. It hands out batches of machines, in their order, and keeps
the rows of each as a part. When it is asked to stop, it hands out no more.
"""

import json
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import Any, BinaryIO

from netwright.campaign.crew import Crew, Engine, Local, LostError
from netwright.campaign.manifest import Work, check_same, check_sources, surveyed
from netwright.campaign.plan import Plan
from netwright.campaign.store import (
    PROGRESS,
    STDIN,
    Store,
    Tally,
    check_folder,
)
from netwright.campaign.work import Item
from netwright.errors import FormatError, InputError, NetwrightError, OutputError, StoppedError
from netwright.files import TakenError, is_part, locked, output_path, write_whole
from netwright.text import counted

SECONDS_A_BATCH = 4.0
MOST_IN_A_BATCH = 20_000
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


def run(
    source: Any,
    plan: Plan | None = None,
    folder: os.PathLike[str] | str = "campaign",
    engine: Engine | None = None,
    *,
    resume: bool = False,
    skip_bad: bool = False,
    sample: int | None = None,
    seed: int | None = None,
    batch: int | None = None,
    progress: Told | None = None,
    stdin: BinaryIO | None = None,
) -> Status:
    """Do something with very many machines, and keep the rows in a folder: `campaign.run`.

    Args:
        source: what `netwright campaign` takes as SOURCE, or several of them; None goes on with
            those of the folder.
        plan: what to do with each; None goes on with that of the folder.
        folder: where the rows are kept.
        engine: `Local(n)`, processes on this machine, or `Dask(address)`.
        resume: go on with the campaign in the folder, if there is one.
        skip_bad: pass over lines that are no machine.
        sample: take so many machines of the sources, drawn with `seed`.
        seed: for `sample` and for random machines; 0 unless said.
        batch: how many machines a worker gets at once; none means some seconds of work.
        progress: is called about every second with a `Status`.
        stdin: what the source `-` reads.

    StoppedError after Ctrl-C: rows are kept, and `resume` goes on.
    """
    names = _names(source)
    _check_arguments(plan, engine, sample, seed, batch)
    store = Store(output_path(folder))
    if store.exists and not resume:
        raise InputError(
            f"{folder} has a campaign already; go on with it: --resume, or name another folder"
        )
    if not store.exists and source is None:
        raise InputError(f"{folder} has no campaign to go on with; name a SOURCE")
    new = not store.folder.exists()
    check_folder(store.folder)
    if not store.exists and any(not is_part(path) for path in store.folder.iterdir()):
        raise OutputError(f"{folder} is not empty, and has no campaign; name another folder")
    try:
        with _alone(store):
            asked = {"sample": sample, "seed": seed, "skip_bad": skip_bad}
            if store.exists:
                check_same(store, names, plan, asked)
            else:
                asked["seed"] = seed or 0
                found = surveyed(store, names or [], asked, stdin)
                store.begin(
                    {
                        "version": version("netwright"),
                        "plan": (plan or Plan()).written(),
                        **asked,
                        "sources": found,
                    }
                )
            manifest = store.manifest()
            work = Work(manifest, store.folder)
            check_sources(work)
            store.tidy()
            campaign = _Campaign(store, work, Plan(**manifest["plan"]), batch, progress)
            return campaign.run(engine or Local())
    finally:
        if not store.exists:  # nothing came of it
            with suppress(OSError):
                (store.folder / STDIN).unlink(missing_ok=True)
                if new:
                    store.folder.rmdir()


def _names(source: object) -> list[str] | None:
    """The sources by their names; None if none is given."""
    if source is None:
        return None
    names = []
    for each in source if isinstance(source, list | tuple) else [source]:
        if not isinstance(each, str | os.PathLike):
            raise InputError(f"expected a source such as all:3x2, a path, or a list; got {each!r}")
        names.append(os.fsdecode(each))
    return names


def _check_arguments(
    plan: object, engine: object, sample: object, seed: object, batch: object
) -> None:
    """InputError for what is none of what is expected, before anything is written."""
    if plan is not None and not isinstance(plan, Plan):
        raise InputError(f"expected a Plan; got {plan!r}")
    if engine is not None and not isinstance(engine, Engine):
        raise InputError(f"expected Local(…) or Dask(…); got {engine!r}")
    for name, value in (("sample", sample), ("seed", seed), ("batch", batch)):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise InputError(f"{name} is {value!r}; expected a whole number")
    if isinstance(batch, int) and batch < 1:
        raise InputError(f"a batch of {batch} machines; expected 1 or more")


@contextmanager
def _alone(store: Store) -> Iterator[None]:
    """Keep others from working on a campaign; who only looks whether somebody does is soon gone."""
    taken = f"another process works on the campaign in {store.folder}"
    for last in (False, False, False, True):
        try:
            with locked(store.folder / "rows", taken):
                yield
                return
        except TakenError:
            if last:
                raise
            sleep(0.1)


def status(folder: os.PathLike[str] | str) -> Status:
    """How far the campaign in a folder is, also while it runs."""
    store = Store(Path(folder))
    work = Work(store.manifest(), store.folder)
    live: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        found = json.loads((store.folder / PROGRESS).read_text(encoding="utf-8"))
        if is_worked_on(store):
            live = {name: found[name] for name in ("workers", "rate", "seconds_left")}
    tally, missing = Tally.with_missing(store, work.spans)
    done, running = work.total - work.count(missing), is_worked_on(store)
    return Status(str(folder), work.total, done, **asdict(tally), running=running, **live)


def rows(folder: os.PathLike[str] | str) -> Iterator[dict[str, Any]]:
    """The rows of a campaign, in the order of their machines."""
    store = Store(Path(folder))
    store.manifest()
    return store.rows()


def is_worked_on(store: Store) -> bool:
    """Whether a process works on a campaign now."""
    try:
        with locked(store.folder / "rows", ""):
            return False
    except OutputError:
        return os.access(store.folder, os.W_OK)


class _Campaign:
    """The work on a campaign, while it is under way."""

    def __init__(
        self, store: Store, work: Work, plan: Plan, batch: int | None, progress: Told | None
    ) -> None:
        self.store, self.work, self.plan, self.progress = store, work, plan, progress
        self.fixed = batch
        self.size = batch or 1
        self.tally = Tally.of(store)
        self.missing = store.missing(work.spans)
        self.left = work.count(self.missing)
        self.handed = 0
        self.begun = self.told = monotonic()
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
                    self.store.write(first, last, b"")
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
                except LostError:
                    crew.check()
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
        if done.rows.count(b"\n") != count * len(self.plan.targets):
            raise LostError("some of its rows are missing")
        self.store.write(first, last, done.rows)
        self.parts += 1
        if self.parts % 100 == 0:
            self.store.tidy()
        self.tally.add(done.rows)
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
            **asdict(self.tally),
            running=workers > 0,
            workers=workers or None,
            rate=rate,
            seconds_left=left,
        )


@contextmanager
def _asked_to_stop(campaign: _Campaign) -> Iterator[None]:
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
