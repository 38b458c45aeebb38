"""What a campaign is about: its sources and what is in them, written down before anything is done.

Sources are one behind the other: each has a `base`, and machine k of it the number base + k.
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
from netwright.campaign.store import STDIN, Part, Store, count_in, has_rows
from netwright.campaign.work import Item, Row
from netwright.errors import InputError, OutputError
from netwright.machine.library import library_names
from netwright.text import counted


class Work:
    """What there is to do: sources, one behind the other, and the numbers that are chosen."""

    def __init__(self, manifest: Mapping[str, Any], folder: Path) -> None:
        self.manifest, self.folder = manifest, folder
        self.targets = Plan(**manifest["plan"]).targets
        told = manifest["sources"]
        self.spans = [(e["base"] + e["first"], e["base"] + e["end"]) for e in told]
        self.bad = sorted(each["base"] + number for each in told for number in each["bad"])
        self.numbers: list[int] | None = None
        if manifest["sample"] is not None:
            places, bad = _Numbers(self.spans), set(self.bad)
            draw = random.Random(manifest["seed"])
            # As many as are asked for are still there without the bad ones, of which so many
            # may have been drawn.
            drawn = draw.sample(
                range(len(places)), min(len(places), manifest["sample"] + len(self.bad))
            )
            good = [n for n in map(places.__getitem__, drawn) if n not in bad]
            self.numbers = sorted(good[: manifest["sample"]])
        self.total = self.count(self.spans)

    def count(self, spans: Sequence[tuple[int, int]]) -> int:
        """How many machines some ranges have."""
        if self.numbers is not None:
            return count_in(spans, self.numbers)
        return count_in(spans, None) - count_in(spans, self.bad)

    def expected(self, first: int, last: int) -> Iterator[tuple[int, str]]:
        """The numbers and networks that the rows of a range of machines are of."""
        bad = set(self.bad)
        for begin, end in self.spans:
            span = range(max(first, begin), min(last + 1, end))
            numbers: Iterable[int] = (n for n in span if n not in bad)
            if self.numbers is not None:
                numbers = self.numbers[
                    bisect_left(self.numbers, span.start) : bisect_left(self.numbers, span.stop)
                ]
            yield from ((number, on) for number in numbers for on in self.targets)

    def rows_of(self, part: Part) -> list[Row]:
        """The rows of a part; FormatError if they are not of its machines and all networks."""
        rows = list(part.rows())
        if (fault := has_rows(rows, self.expected(part.first, part.last))) is not None:
            raise part.damaged(fault)
        return rows

    def rows(self, store: Store) -> Iterator[Row]:
        """All rows, in the order of their machines, also while others make parts into one."""
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
        """The sources themselves, which may be gone by now."""
        seed, stdin = self.manifest["seed"], self.folder / STDIN
        told = self.manifest["sources"]
        return [read_source(each["source"], seed=seed, stdin=stdin) for each in told]

    def items(self, first: int, end: int) -> Iterator[Item]:
        """The machines with numbers from `first` to the one before `end`."""
        for source, told in zip(self.sources, self.manifest["sources"], strict=True):
            base = told["base"]
            begin, stop = max(first - base, told["first"]), min(end - base, told["end"])
            if begin >= stop:
                continue
            wanted: Iterable[int]
            if self.numbers is None:
                bad = set(told["bad"])
                wanted = (number for number in range(begin, stop) if number not in bad)
                found = source.items(begin, stop)
            else:
                wanted = [n - base for n in self.numbers if begin <= n - base < stop]
                found = source.chosen(wanted)
            for number in wanted:
                item = next(found, None)
                if item is None or item.number != number:
                    raise changed(source)
                yield item._replace(number=number + base)

    def check_unchanged(self) -> None:
        """InputError if a source is seen to have changed."""
        for source in self.sources:
            if not source.is_unchanged():
                raise changed(source)


class _Numbers:
    """Ranges as one sequence of numbers."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self.ranges = [range(*span) for span in spans]

    def __len__(self) -> int:
        return sum(map(len, self.ranges))

    def __getitem__(self, place: int) -> int:
        for numbers in self.ranges:
            if place < len(numbers):
                return numbers[place]
            place -= len(numbers)
        raise IndexError(place)


def changed(source: MachineSource) -> InputError:
    """What is said of a source that is not what it was."""
    return InputError(
        f"{source.name} has changed since the campaign was begun: its rows would be about other "
        "machines; put it back, or begin a new campaign"
    )


def located(name: str) -> str:
    """A source by a name that means the same in every folder."""
    path = name if os.path.lexists(name) else name.rpartition(":")[0]
    named = name in ("-", LIBRARY) or name in library_names()
    return os.path.abspath(name) if path and os.path.lexists(path) and not named else name  # noqa: PTH100


def surveyed(
    store: Store, names: Sequence[str], asked: Mapping[str, Any], stdin: BinaryIO | None
) -> list[dict[str, Any]]:
    """The sources, with what they have in them."""
    if not names:
        raise InputError("no source; name a list, a folder, library, all:3x2, …")
    if names.count("-") > 1:
        raise InputError("standard input can be read once; - is there twice")
    place = store.folder / STDIN
    if "-" in names:
        _spool(stdin, place)
    told: list[dict[str, Any]] = []
    base = 0
    for name in map(located, names):
        source = read_source(name, seed=asked["seed"], stdin=place if "-" in names else None)
        found = source.survey(skip_bad=asked["skip_bad"])
        first, end = source.span or (0, found.size)
        if end > found.size:
            raise InputError(f"{name}: there are machines 0 to {found.size - 1} only")
        about = {"source": name, "base": base, "first": first, "end": end}
        bad = [number for number in found.bad if first <= number < end]
        told.append({**about, "digest": found.digest, "bad": bad})
        base += found.size
        if source.is_inside(store.folder):
            raise InputError(f"{store.folder} is inside {name}; name a folder elsewhere")
    total = sum(each["end"] - each["first"] - len(each["bad"]) for each in told)
    sample = asked["sample"]
    if not total:
        raise InputError("there is no machine in all of that; see what --skip-bad passes over")
    if sample is not None and not 1 <= sample <= total:
        raise InputError(f"a sample of {sample:,} of {counted(total, 'machine')}; at most all")
    return told


def _spool(stdin: BinaryIO | None, place: Path) -> None:
    """Keep what comes from a pipe, to be able to go on."""
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
    """InputError if a folder is another campaign's, naming what differs."""
    found = store.manifest()
    if found["version"] != version("netwright"):
        raise InputError(
            f"the campaign in {store.folder} was begun by netwright {found['version']}, and this "
            f"is {version('netwright')}; go on with that version, or begin a new one"
        )
    differs: list[tuple[str, Any, Any]] = []
    if plan is not None:
        wanted = plan.written()
        differs += [(n, found["plan"].get(n), wanted[n]) for n in wanted]
    if names is not None:
        differs.append(
            ("source", [each["source"] for each in found["sources"]], [*map(located, names)])
        )
    given = {name: value for name, value in asked.items() if value not in (None, False)}
    if names is not None:
        given = {**asked, "seed": asked["seed"] or 0}
    differs += [(name, found[name], value) for name, value in given.items()]
    for name, before, now in differs:
        if before != now:
            raise InputError(
                f"the campaign in {store.folder} has {name} {_shown(before)}, not {_shown(now)}; "
                "--resume goes on with what was begun, and needs no options"
            )


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "none" if value in (None, {}) else str(value)


def check_sources(work: Work) -> None:
    """InputError if a source has changed since the campaign was begun."""
    for source, told in zip(work.sources, work.manifest["sources"], strict=True):
        if not source.same_as(told["digest"], skip_bad=work.manifest["skip_bad"]):
            raise changed(source)
