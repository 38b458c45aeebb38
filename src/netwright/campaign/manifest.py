"""The manifest of a campaign: its sources and their contents, written before any work is done.

Sources follow one another: each has a `base`, and its machine k has the number base + k.
"""

import os
import random
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

from netwright.campaign.lines import CHUNK
from netwright.campaign.plan import Plan
from netwright.campaign.sources import LIBRARY, MachineSource, read_source
from netwright.campaign.store import STDIN, Part, Store, count_in, rows_fault
from netwright.campaign.work import Item, Row
from netwright.errors import InputError, OutputError
from netwright.machine.library import library_names
from netwright.text import counted


class Work:
    """All machines of a campaign: those of its sources in order, or a sample of them."""

    def __init__(self, manifest: Mapping[str, Any], folder: Path) -> None:
        self.manifest, self.folder = manifest, folder
        self.plan = Plan(**manifest["plan"])
        entries = manifest["sources"]
        self.spans = [(e["base"] + e["first"], e["base"] + e["end"]) for e in entries]
        self.bad = sorted(e["base"] + number for e in entries for number in e["bad"])
        self.numbers: list[int] | None = None
        if manifest["sample"] is not None:
            size, bad = count_in(self.spans, None), set(self.bad)
            # Draw as many more as there are bad ones: enough good ones remain without these.
            count = min(size, manifest["sample"] + len(self.bad))
            drawn = random.Random(manifest["seed"]).sample(range(size), count)
            good = [n for n in (_number_at(self.spans, place) for place in drawn) if n not in bad]
            self.numbers = sorted(good[: manifest["sample"]])
        self.total = self.count(self.spans)

    def count(self, spans: Sequence[tuple[int, int]]) -> int:
        """How many machines there are in some ranges of numbers."""
        if self.numbers is not None:
            return count_in(spans, self.numbers)
        return count_in(spans, None) - count_in(spans, self.bad)

    def expected(self, first: int, last: int) -> Iterator[tuple[int, str]]:
        """The number and target of each row that machines `first` to `last` should have."""
        bad = set(self.bad)
        for begin, end in self.spans:
            span = range(max(first, begin), min(last + 1, end))
            numbers: Iterable[int] = (n for n in span if n not in bad)
            if self.numbers is not None:
                ends = (bisect_left(self.numbers, end) for end in (span.start, span.stop))
                numbers = self.numbers[slice(*ends)]
            yield from ((number, on) for number in numbers for on in self.plan.targets)

    def rows_of(self, part: Part) -> list[Row]:
        """The rows of a part; raise FormatError if they are not those expected."""
        rows = list(part.rows())
        if (fault := rows_fault(rows, self.expected(part.first, part.last))) is not None:
            raise part.damaged(fault)
        return rows

    def rows(self, store: Store) -> Iterator[Row]:
        """All rows in the order of their machines, even while parts are merged."""
        done = -1
        while True:
            try:
                for part in store.parts():
                    if part.last > done:
                        yield from (row for row in self.rows_of(part) if row["number"] > done)
                        done = part.last
                return
            except FileNotFoundError:
                continue

    @cached_property
    def sources(self) -> list[MachineSource]:
        """The sources, opened by name; raise an error if one is gone."""
        seed, stdin = self.manifest["seed"], self.folder / STDIN
        entries = self.manifest["sources"]
        return [read_source(each["source"], seed=seed, stdin=stdin) for each in entries]

    def items(self, first: int, end: int) -> Iterator[Item]:
        """The machines with numbers from `first` to `end` - 1."""
        for source, entry in zip(self.sources, self.manifest["sources"], strict=True):
            base = entry["base"]
            span = range(max(first - base, entry["first"]), min(end - base, entry["end"]))
            numbers: Sequence[int] = span
            if self.numbers is not None:
                numbers = [n - base for n in self.numbers if n - base in span]
            if not numbers:
                continue
            bad, found = set(entry["bad"]), source.items(numbers)
            for number in numbers:
                if number in bad:
                    continue
                item = next(found, None)
                if item is None or item.number != number:
                    raise _changed(source)
                yield item._replace(number=number + base)

    def check_unchanged(self) -> None:
        """Raise InputError if a source has changed, as far as a quick look shows."""
        for source in self.sources:
            if not source.is_unchanged():
                raise _changed(source)

    def changed_source(self) -> MachineSource | None:
        """The first source whose digest is no longer that of the manifest."""
        skip_bad, entries = self.manifest["skip_bad"], self.manifest["sources"]
        for source, entry in zip(self.sources, entries, strict=True):
            if not source.same_as(entry["digest"], skip_bad=skip_bad):
                return source
        return None


def _number_at(spans: Sequence[tuple[int, int]], place: int) -> int:
    """The number at a place in ranges that follow one another."""
    for first, end in spans:
        if place < end - first:
            return first + place
        place -= end - first
    raise IndexError(place)


def _changed(source: MachineSource) -> InputError:
    return InputError(
        f"{source.name} has changed since the campaign began: its rows would describe other "
        "machines; restore it, or start a new campaign"
    )


def _absolute_name(name: str) -> str:
    """The name of a source that means the same in every folder."""
    path = name if os.path.lexists(name) else name.rpartition(":")[0]
    named = name in ("-", LIBRARY) or name in library_names()
    return os.path.abspath(name) if path and os.path.lexists(path) and not named else name  # noqa: PTH100


def survey_sources(
    store: Store, names: Sequence[str], asked: Mapping[str, Any], stdin: BinaryIO | None
) -> list[dict[str, Any]]:
    """Read all sources once; return their entries for the manifest."""
    if not names:
        raise InputError("no source; name a list, a folder, library, all:3x2, …")
    if names.count("-") > 1:
        raise InputError("standard input can be read only once; - is given twice")
    place = store.folder / STDIN
    if "-" in names:
        _spool(stdin, place)
    entries: list[dict[str, Any]] = []
    base = 0
    for name in map(_absolute_name, names):
        source = read_source(name, seed=asked["seed"], stdin=place if "-" in names else None)
        found = source.survey(skip_bad=asked["skip_bad"])
        first, end = source.span or (0, found.size)
        if end > found.size:
            raise InputError(f"{name}: there are only machines 0 to {found.size - 1}")
        about = {"source": name, "base": base, "first": first, "end": end}
        bad = [number for number in found.bad if first <= number < end]
        entries.append({**about, "digest": found.digest, "bad": bad})
        base += found.size
        if source.contains(store.folder):
            raise InputError(f"{store.folder} is inside {name}; name a folder elsewhere")
    total = sum(each["end"] - each["first"] - len(each["bad"]) for each in entries)
    sample = asked["sample"]
    if not total:
        raise InputError("there are no machines in the sources; see what --skip-bad skips")
    if sample is not None and not 1 <= sample <= total:
        raise InputError(
            f"a sample of {sample:,} of {counted(total, 'machine')}; expected at most all"
        )
    return entries


def _spool(stdin: BinaryIO | None, place: Path) -> None:
    """Save standard input to a file, so that the campaign can be resumed."""
    if stdin is None:
        raise InputError("there is no standard input to read")
    part = place.with_name(f"{place.name}.part")
    try:
        with part.open("wb") as file:
            while chunk := stdin.read(CHUNK):
                file.write(chunk)
        part.replace(place)
    except OSError as error:
        raise OutputError(f"{place} cannot be written: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)


def check_same(
    store: Store, names: list[str] | None, plan: Plan | None, asked: Mapping[str, Any]
) -> None:
    """Raise InputError if the folder has another campaign; the message says what differs."""
    found = store.manifest()
    if found["version"] != version("netwright"):
        raise InputError(
            f"the campaign in {store.folder} was started by netwright {found['version']}; this "
            f"is {version('netwright')}; resume it with that version, or start a new one"
        )
    pairs: list[tuple[str, Any, Any]] = []
    if plan is not None:
        pairs += [(name, found["plan"].get(name), now) for name, now in plan.written().items()]
    given = {name: value for name, value in asked.items() if value not in (None, False)}
    if names is not None:
        sources = [each["source"] for each in found["sources"]]
        pairs.append(("source", sources, [*map(_absolute_name, names)]))
        given = {**asked, "seed": asked["seed"] or 0}
    pairs += [(name, found[name], value) for name, value in given.items()]
    for name, before, now in pairs:
        if before != now:
            raise InputError(
                f"the campaign in {store.folder} has {name} {_shown(before)}, not {_shown(now)}; "
                "--resume continues the campaign as it was started, without options"
            )


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "none" if value in (None, {}) else str(value)


def check_sources(work: Work) -> None:
    """Raise InputError if a source has changed since the campaign began."""
    if (source := work.changed_source()) is not None:
        raise _changed(source)
