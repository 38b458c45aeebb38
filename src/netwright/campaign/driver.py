"""The API of campaigns: start or resume one, see its progress, read its rows."""

import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from time import sleep
from typing import Any, BinaryIO

from netwright.campaign.manifest import Work, check_same, check_sources, survey_sources
from netwright.campaign.plan import Plan
from netwright.campaign.pool import Engine, Local
from netwright.campaign.store import PROGRESS, STDIN, Store, check_folder
from netwright.campaign.under_way import Campaign, Progress, Status
from netwright.errors import FormatWarning, InputError, OutputError
from netwright.files import TakenError, is_part, locked, output_path


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
    progress: Progress | None = None,
    stdin: BinaryIO | None = None,
) -> Status:
    """Run, verify or certify very many machines; keep the rows in a folder: `campaign.run`.

    Args:
        source: what `netwright campaign` takes as SOURCE, or a list of them; None resumes with
            those of the folder.
        plan: what to do with each machine; None resumes with that of the folder.
        folder: where the rows are kept.
        engine: `Local(n)`, processes on this machine, or `Dask(address)`.
        resume: continue the campaign in the folder, if there is one.
        skip_bad: skip lines that are not machines.
        sample: how many machines to draw from the sources, with `seed`; None takes all.
        seed: for `sample` and for random machines; 0 by default.
        batch: how many machines a worker gets at once; None means some seconds of work.
        progress: a callback that gets a `Status` about every second.
        stdin: what the source `-` reads.

    Raise StoppedError after Ctrl-C: the rows are kept, and `resume` continues.
    """
    names = _names(source)
    _check_arguments(plan, engine, sample, seed, batch)
    store = Store(output_path(folder))
    new = not store.folder.exists()
    _check_place(store, folder, resume=resume, has_source=source is not None)
    try:
        with _exclusive(store):
            asked = {"sample": sample, "seed": seed, "skip_bad": skip_bad}
            if store.exists:
                check_same(store, names, plan, asked)
            else:
                asked["seed"] = seed or 0
                sources = survey_sources(store, names or [], asked, stdin)
                about = {"version": version("netwright"), "plan": (plan or Plan()).written()}
                store.begin({**about, **asked, "sources": sources})
            work = Work(store.manifest(), store.folder)
            check_sources(work)
            for message in store.repair(work.expected):
                warnings.warn(message, FormatWarning, stacklevel=2)
            store.tidy()
            return Campaign(store, work, batch, progress).run(engine or Local())
    finally:
        if not store.exists:  # it failed before it began: leave nothing
            with suppress(OSError):
                (store.folder / STDIN).unlink(missing_ok=True)
                if new:
                    store.folder.rmdir()


def _check_place(store: Store, folder: object, *, resume: bool, has_source: bool) -> None:
    """Make the folder; raise InputError or OutputError if the campaign cannot be there."""
    if store.exists and not resume:
        raise InputError(
            f"{folder} already has a campaign; resume it with --resume, or name another folder"
        )
    if not store.exists and not has_source:
        raise InputError(f"{folder} has no campaign to resume; name a SOURCE")
    check_folder(store.folder)
    if not store.exists and any(not is_part(path) for path in store.folder.iterdir()):
        raise OutputError(f"{folder} is not empty and has no campaign; name another folder")


def _names(source: object) -> list[str] | None:
    """The names of the sources; None if no source is given."""
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
    """Raise InputError for an argument of a wrong type, before anything is written."""
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
def _exclusive(store: Store) -> Iterator[None]:
    """Lock the campaign; retry a little, as `_is_running` holds the lock for a moment."""
    taken = f"another process is working on the campaign in {store.folder}"
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
    """The progress of the campaign in a folder, also while it runs."""
    store = Store(Path(folder))
    work = Work(store.manifest(), store.folder)
    live: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        found = json.loads((store.folder / PROGRESS).read_text(encoding="utf-8"))
        if _is_running(store):
            live = {name: found[name] for name in ("workers", "rate", "seconds_left")}
    missing, tally = store.progress(work.spans)
    done, running = work.total - work.count(missing), _is_running(store)
    live |= {**tally.counts, "digest": store.digest(tally)}
    return Status(str(folder), work.total, done, running=running, **live)


def rows(folder: os.PathLike[str] | str) -> Iterator[dict[str, Any]]:
    """The rows of a campaign, in the order of their machines."""
    store = Store(Path(folder))
    return Work(store.manifest(), store.folder).rows(store)


def _is_running(store: Store) -> bool:
    """Whether a process holds the lock of a campaign now."""
    try:
        with locked(store.folder / "rows", ""):
            return False
    except OutputError:
        return os.access(store.folder, os.W_OK)
