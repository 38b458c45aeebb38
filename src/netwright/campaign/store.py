"""Where a campaign is kept: a folder that is whole at every moment.

    DIR/campaign.json                                   what is to be done, written first
    DIR/parts.json                                      what proves each part whole
    DIR/rows-000000001000-000000001049.jsonl.gz         the rows of machines 1,000 to 1,049
    DIR/rows-000000000000-000000000999.parquet          the same, packed
    DIR/.netwright-stdin                                the machines that came from a pipe
    DIR/progress.json                                   of the process that works on it now

A part is named by the numbers of the machines that it has, and is written whole or not at all: what
is done is what has a part that is as its entry in parts.json says. Small parts become large ones,
of which the large one is written first; a part inside another is none. A part that is damaged is
named by whoever reads it; who goes on with the campaign puts it aside and does its machines anew.
"""

import gzip
import hashlib
import json
import re
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import zip_longest
from operator import add
from pathlib import Path
from typing import Any

from netwright.campaign.index import Entry, Index, Tally, digest_of, sealed, unsealed
from netwright.campaign.plan import COLUMNS, Plan
from netwright.campaign.work import Row, written_row
from netwright.errors import FormatError, InputError, NetwrightError, OutputError
from netwright.files import write_whole

MANIFEST, PROGRESS, STDIN = "campaign.json", "progress.json", ".netwright-stdin"
FORMAT = "netwright campaign 2"
LIVE, PACKED = "jsonl.gz", "parquet"
SEVERAL = 64
"""So many small parts side by side become one."""
SMALL = 4_000_000  # bytes
ASIDE = "damaged-"
"""How the names of parts begin that were put aside."""
MOST_MACHINES = 10**13
_NAME = re.compile(rf"rows-(\d{{12}})-(\d{{12}})\.({re.escape(LIVE)}|{PACKED})")


@dataclass(frozen=True, order=True)
class Part:
    """The rows of the machines from `first` to `last`."""

    first: int
    last: int
    path: Path
    entry: Entry

    @property
    def packed(self) -> bool:
        """Whether it is Parquet."""
        return self.path.name.endswith(PACKED)

    def content(self) -> bytes:
        """The file, which is as its entry says; FormatError if it is not."""
        try:
            found = self.path.read_bytes()
        except FileNotFoundError:  # it has just become part of a larger one
            raise
        except OSError as error:
            raise FormatError(f"{self.path} cannot be read: {error.strerror}") from None
        if hashlib.sha256(found).hexdigest() != self.entry.sha256:
            raise self.damaged("it is empty" if not found else "its SHA-256 is another one")
        return found

    def text(self) -> bytes:
        """The rows as lines of JSON."""
        try:
            return gzip.decompress(self.content())
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise self.damaged(error) from None

    def damaged(self, reason: object) -> FormatError:
        """What is said of a part that is not what was written."""
        return FormatError(f"{self.path} is damaged ({reason}); --resume does its machines anew")

    def rows(self) -> Iterator[Row]:
        """The rows themselves."""
        if self.packed:
            from netwright.campaign.packed import packed_rows

            return packed_rows(self, self.content())
        return self._parsed()

    def _parsed(self) -> Iterator[Row]:
        try:
            yield from parsed(self.text())
        except ValueError as error:
            raise self.damaged(error) from None


def parsed(lines: bytes) -> Iterator[Row]:
    """Rows from lines of JSON; ValueError for what is no row."""
    for line in lines.splitlines():
        row = json.loads(line)
        if not isinstance(row, dict) or row.keys() != COLUMNS.keys():
            raise ValueError("a row has other columns")
        yield row


class Store:
    """The folder of a campaign."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    # What is to be done.

    @property
    def exists(self) -> bool:
        """Whether there is a campaign in the folder."""
        return (self.folder / MANIFEST).exists()

    def manifest(self) -> dict[str, Any]:
        """What is to be done; FormatError if it is not as it was written."""
        path = self.folder / MANIFEST
        if not path.exists():
            raise InputError(f"{self.folder} has no campaign: there is no {path}")
        found = unsealed(path, "campaign", FORMAT)
        if (fault := manifest_fault(found)) is not None:
            raise FormatError(f"{path} is damaged: {fault}")
        return found

    def begin(self, manifest: dict[str, Any]) -> None:
        """Write down what is to be done."""
        about = {"format": FORMAT, **manifest}
        write_whole(self.folder / MANIFEST, sealed(about), fresh=True)

    @property
    def index(self) -> Index:
        """The entries of all parts."""
        return Index(self.folder, digest_of(self.manifest()))

    # What is done.

    def parts(self) -> list[Part]:
        """The parts in order, without those that are inside others; FormatError for a stranger."""
        while True:
            # An entry is there before its part, and until that is gone: so in this order.
            paths = [path for path in self._files() if _NAME.fullmatch(path.name)]
            entries = self.index.read()
            strangers = [path for path in paths if path.name not in entries]
            if not strangers:
                return without_inner([_part(path, entries[path.name]) for path in paths])
            if all(path.exists() for path in strangers):
                raise FormatError(f"{_stranger(strangers[0])}; --resume does its machines anew")

    def _files(self) -> list[Path]:
        try:
            return list(self.folder.iterdir())
        except OSError as error:
            raise FormatError(f"{self.folder} cannot be read: {error.strerror}") from None

    def write(self, first: int, last: int, rows: Iterable[Row]) -> Tally:
        """Keep the rows of some machines."""
        kept = list(rows)
        tally = Tally.of(kept)
        lines = gzip.compress(b"".join(map(written_row, kept)), 6, mtime=0)
        self._put(first, last, LIVE, lines, tally)
        return tally

    def _put(self, first: int, last: int, kind: str, content: bytes, tally: Tally) -> None:
        """Write an entry, and then its part."""
        name = f"rows-{first:012}-{last:012}.{kind}"
        entry = Entry(name, hashlib.sha256(content).hexdigest(), tally)
        self.index.write({**self.index.read(), name: entry})
        write_whole(self.folder / name, content)

    def replace(self, parts: Sequence[Part], kind: str, content: bytes) -> None:
        """Put one part in the place of several that are side by side."""
        tally = reduce(add, (part.entry.tally for part in parts))
        self._put(parts[0].first, parts[-1].last, kind, content, tally)
        self._drop(part.path for part in parts)

    def _drop(self, paths: Iterable[Path]) -> None:
        """Remove parts, and then their entries."""
        gone = set()
        for path in paths:
            path.unlink(missing_ok=True)
            gone.add(path.name)
        entries = {name: each for name, each in self.index.read().items() if name not in gone}
        self.index.write(entries)

    def repair(self, expected: Callable[[int, int], Iterable[tuple[int, str]]]) -> list[str]:
        """Put aside what is damaged or a stranger; a sentence for each, which says why.

        Where the index itself is lost, the parts are taken into a new one that have the rows that
        are `expected` of a first to a last machine, as far as they prove themselves whole: gzip
        files have a check sum, Parquet files none for all of them.
        """
        said, index = [], self.index
        entries: dict[str, Entry] = {}
        lost = not index.path.exists()
        try:
            entries = index.read()
        except FormatError as error:
            lost = True
            said.append(f"{error}; {self._aside(index.path)}, and made anew")
        for path in sorted(self._files()):
            if not _NAME.fullmatch(path.name):
                continue
            reason = _stranger(path)
            try:
                if path.name in entries:
                    _part(path, entries[path.name]).content()
                    continue
                if lost and path.name.endswith(LIVE):
                    entries[path.name] = _proved(path, expected)
                    continue
            except FormatError as error:
                reason = str(error).partition("; ")[0]
            entries.pop(path.name, None)
            said.append(f"{reason}; {self._aside(path)}, and its machines are done anew")
        if said or lost:
            index.write(entries)
        return said

    def _aside(self, path: Path) -> str:
        name, n = f"{ASIDE}{path.name}", 1
        while (self.folder / name).exists():
            n += 1
            name = f"{ASIDE}{n}-{path.name}"
        try:
            path.rename(self.folder / name)
        except OSError as error:
            raise OutputError(f"{path} cannot be put aside: {error.strerror}") from None
        return f"it is put aside as {name}"

    def tidy(self, several: int = SEVERAL) -> None:
        """Remove parts that are inside others, and make one of `several` small ones."""
        parts = self.parts()
        kept = {part.path for part in parts}
        inner = [path for path in self._files() if _NAME.fullmatch(path.name)]
        if inner := [path for path in inner if path not in kept]:
            self._drop(inner)
        row: list[Part] = []
        size = 0
        for part in parts:
            own = SMALL if part.packed else part.path.stat().st_size
            if row and (size + own > SMALL or row[-1].last + 1 != part.first):
                self._join(row, several)
                row, size = [], 0
            if own < SMALL:
                row.append(part)
                size += own
        self._join(row, several)

    def _join(self, parts: Sequence[Part], several: int) -> None:
        """Make one part of several, if there are so many; a damaged one spoils no others."""
        if len(parts) >= max(several, 2):
            # A gzip file behind another is one gzip file.
            self.replace(parts, LIVE, b"".join(part.content() for part in parts))

    def verified(self) -> tuple[list[Part], Tally]:
        """All parts, each as its entry says, and the tally of all, of one moment."""
        while True:
            try:
                parts = self.parts()
                for part in parts:
                    part.content()
                return parts, reduce(add, (part.entry.tally for part in parts), Tally())
            except FileNotFoundError:
                continue

    def missing(self, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """What has no part yet, of some ranges from a first number to one before the last."""
        return missing_from(spans, [(part.first, part.last + 1) for part in self.parts()])

    def digest(self, tally: Tally) -> str:
        """The digest of the whole campaign: of what is to be done, and of all rows."""
        return digest_of({"campaign": self.index.campaign, "rows": f"{tally.content:064x}"})


def _part(path: Path, entry: Entry) -> Part:
    """The part in a file."""
    match = _NAME.fullmatch(path.name)
    assert match is not None
    return Part(int(match[1]), int(match[2]), path, entry)


def _stranger(path: Path) -> str:
    return f"{path} is none of the parts in parts.json"


def _proved(path: Path, expected: Callable[[int, int], Iterable[tuple[int, str]]]) -> Entry:
    """The entry of a part that has none; FormatError if it does not prove itself whole."""
    content = path.read_bytes()
    entry = Entry(path.name, hashlib.sha256(content).hexdigest(), Tally())
    part = _part(path, entry)
    rows = list(part.rows())
    if not content or has_rows(rows, expected(part.first, part.last)) is not None:
        raise part.damaged("its rows are not those of its machines")
    return replace(entry, tally=Tally.of(rows))


def has_rows(rows: Iterable[Row], expected: Iterable[tuple[int, str]]) -> str | None:
    """What is wrong with rows that should be of some machines and networks, in this order."""
    for row, wanted in zip_longest(rows, expected):
        found = None if row is None else (row["number"], row["on"])
        if found != wanted:
            names = (
                "no row" if each is None else f"machine {each[0]} on {each[1]}"
                for each in (found, wanted)
            )
            return "it has {} where {} should be".format(*names)
    return None


def without_inner(parts: Sequence[Part]) -> list[Part]:
    """Parts in order, without those that are inside others; FormatError for two that overlap."""
    kept: list[Part] = []
    for part in sorted(parts, key=lambda part: (part.first, -part.last, not part.packed)):
        if kept and part.last <= kept[-1].last:
            continue
        if kept and part.first <= kept[-1].last:
            raise FormatError(
                f"{kept[-1].path} and {part.path.name} have machines in common; remove one of "
                "them, and --resume does what is missing"
            )
        kept.append(part)
    return kept


def manifest_fault(found: Mapping[str, Any]) -> str | None:
    """What is wrong with a manifest, beyond its digest; None if nothing is."""
    types = {"version": str, "plan": dict, "sources": list, "seed": int, "skip_bad": bool}
    for name, kind in types.items():
        if type(found.get(name)) is not kind:
            return f"{name} is {str(found.get(name))[:40]!r}"
    try:
        Plan(**found["plan"])
    except (NetwrightError, TypeError, ValueError) as error:
        return f"plan: {error}"
    if not found["sources"]:
        return "it has no sources"
    base = 0
    for told in found["sources"]:
        if not isinstance(told, dict):
            return "a source is no object"
        numbers: list[Any] = [told.get(name) for name in ("base", "first", "end")]
        own, first, end = numbers
        if not all(type(each) is int and 0 <= each <= MOST_MACHINES for each in numbers):
            return f"numbers of a source are {numbers}"
        texts = type(told.get("source")) is str and type(told.get("digest")) is str
        bad = told.get("bad")
        if not texts or not isinstance(bad, list) or own < base or first > end:
            return "a source is not whole"
        if not all(type(each) is int and first <= each < end for each in bad):
            return "bad lines outside their source"
        base = own + end
    sample = found.get("sample", ...)
    if sample is not None and (type(sample) is not int or sample < 1):
        return f"sample is {str(sample)[:40]}"
    return None


def missing_from(
    spans: Sequence[tuple[int, int]], done: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """What is left of some ranges.

    >>> missing_from([(0, 10), (20, 30)], [(0, 3), (5, 6), (8, 22)])
    [(3, 5), (6, 8), (22, 30)]
    """
    left = []
    for first, end in spans:
        for begin, stop in done:
            if begin >= end:
                break
            if stop <= first:
                continue
            if first < begin:
                left.append((first, begin))
            first = max(first, stop)
        if first < end:
            left.append((first, end))
    return left


def count_in(spans: Sequence[tuple[int, int]], numbers: Sequence[int] | None) -> int:
    """How many numbers some ranges have; of `numbers` alone, if there are any, in order."""
    if numbers is None:
        return sum(end - first for first, end in spans)
    return sum(bisect_left(numbers, end) - bisect_left(numbers, first) for first, end in spans)


def check_folder(folder: Path) -> None:
    """Refuse a place that can be no campaign's folder; make it, if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise OutputError(f"{folder} is there and is no folder; name another one") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"{folder} cannot be made: {reason}") from None
