"""The folder of a campaign, which is consistent at every moment.

    DIR/campaign.json                                   the manifest, written first
    DIR/parts.json                                      the index: a digest for each part
    DIR/rows-000000001000-000000001049.jsonl.gz         the rows of machines 1,000 to 1,049
    DIR/rows-000000000000-000000000999.parquet          the same, packed
    DIR/.netwright-stdin                                the machines that came from a pipe
    DIR/progress.json                                   of the process that works on it now

A part is named by the numbers of its machines and is written atomically. A machine is done when a
part has it whose digest is that of its entry in parts.json. Small parts are merged into large ones;
the large one is written first, and a part inside another is ignored. Reading a damaged part raises
FormatError; resuming the campaign moves it aside and does its machines again.
"""

import gzip
import hashlib
import json
import re
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
SEVERAL = 64  # how many adjacent small parts are merged into one
SMALL = 4_000_000  # bytes
ASIDE = "damaged-"  # the prefix of damaged parts that were moved aside
MOST_MACHINES = 10**13
_NAME = re.compile(rf"rows-(\d{{12}})-(\d{{12}})\.({re.escape(LIVE)}|{PACKED})")


@dataclass(frozen=True)
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
        """The bytes of the file; raise FormatError if their digest is not that of the entry."""
        try:
            found = self.path.read_bytes()
        except FileNotFoundError:  # it has just been merged into a larger one
            raise
        except OSError as error:
            raise FormatError(f"{self.path} cannot be read: {error.strerror}") from None
        if hashlib.sha256(found).hexdigest() != self.entry.sha256:
            raise self.damaged("it is empty" if not found else "its SHA-256 does not match")
        return found

    def damaged(self, reason: object) -> FormatError:
        """The error for a part that is not what was written."""
        return FormatError(f"{self.path} is damaged ({reason}); --resume does its machines again")

    def rows(self) -> Iterator[Row]:
        """The rows; raise FormatError if the file is damaged."""
        if self.packed:
            from netwright.campaign.packed import packed_rows

            yield from packed_rows(self, self.content())
            return
        try:
            yield from parsed(gzip.decompress(self.content()))
        except (gzip.BadGzipFile, EOFError, zlib.error, ValueError) as error:
            raise self.damaged(error) from None


def parsed(lines: bytes) -> Iterator[Row]:
    """Rows from lines of JSON; raise ValueError for a line that is not a row."""
    for line in lines.splitlines():
        row = json.loads(line)
        if not isinstance(row, dict) or row.keys() != COLUMNS.keys():
            raise ValueError("a row has the wrong columns")
        yield row


class Store:
    """The folder of a campaign."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def exists(self) -> bool:
        """Whether the folder has a campaign."""
        return (self.folder / MANIFEST).exists()

    def manifest(self) -> dict[str, Any]:
        """Read the manifest; raise FormatError if it is damaged."""
        path = self.folder / MANIFEST
        if not path.exists():
            raise InputError(f"{self.folder} has no campaign: there is no {path}")
        found = unsealed(path, "campaign", FORMAT)
        if (fault := manifest_fault(found)) is not None:
            raise FormatError(f"{path} is damaged: {fault}")
        return found

    def begin(self, manifest: dict[str, Any]) -> None:
        """Write the manifest."""
        about = {"format": FORMAT, **manifest}
        write_whole(self.folder / MANIFEST, sealed(about), fresh=True)

    @property
    def index(self) -> Index:
        """The index of the parts."""
        return Index(self.folder, digest_of(self.manifest()))

    def parts(self) -> list[Part]:
        """The parts in order, without those inside others; FormatError for one with no entry."""
        while True:
            # An entry is written before its part and removed after it: so in this order.
            paths = self._paths()
            entries = self.index.read()
            strangers = [path for path in paths if path.name not in entries]
            if not strangers:
                return without_inner([_part(path, entries[path.name]) for path in paths])
            if all(path.exists() for path in strangers):
                raise FormatError(f"{_stranger(strangers[0])}; --resume does its machines again")

    def missing(self) -> list[str]:
        """The entries whose part is gone and not merged into another one.

        A crash after an entry was written leaves one, too; `repair` removes it.
        """
        parts = self.parts()
        found = []
        for name in self.index.read():
            match = _NAME.fullmatch(name)
            first, last = (int(match[1]), int(match[2])) if match else (0, 0)
            is_there = (self.folder / name).exists() or any(
                part.first <= first and last <= part.last for part in parts
            )
            found += [] if is_there else [name]
        return found

    def _paths(self) -> list[Path]:
        """The files that are parts by their names."""
        try:
            return [path for path in self.folder.iterdir() if _NAME.fullmatch(path.name)]
        except OSError as error:
            raise FormatError(f"{self.folder} cannot be read: {error.strerror}") from None

    def write(self, first: int, last: int, rows: Sequence[Row]) -> Tally:
        """Write the rows of machines `first` to `last` as a part; return their tally."""
        tally = Tally.of(rows)
        lines = gzip.compress(b"".join(map(written_row, rows)), 6, mtime=0)
        self._put(first, last, LIVE, lines, tally)
        return tally

    def _put(self, first: int, last: int, kind: str, content: bytes, tally: Tally) -> None:
        """Write an entry, then its part."""
        name = f"rows-{first:012}-{last:012}.{kind}"
        entry = Entry(hashlib.sha256(content).hexdigest(), tally)
        self.index.write({**self.index.read(), name: entry})
        write_whole(self.folder / name, content)

    def replace(self, parts: Sequence[Part], kind: str, content: bytes) -> None:
        """Replace several adjacent parts by one."""
        tally = reduce(add, (part.entry.tally for part in parts))
        self._put(parts[0].first, parts[-1].last, kind, content, tally)
        self._drop(part.path for part in parts)

    def _drop(self, paths: Iterable[Path]) -> None:
        """Remove parts, then their entries."""
        gone = set()
        for path in paths:
            path.unlink(missing_ok=True)
            gone.add(path.name)
        entries = {name: each for name, each in self.index.read().items() if name not in gone}
        self.index.write(entries)

    def repair(self, expected: Callable[[int, int], Iterable[tuple[int, str]]]) -> list[str]:
        """Move aside parts that are damaged or have no entry; return a message for each.

        If the index itself is lost, it is rebuilt from the parts that have the rows `expected` of
        their machines and whose check sum is right: gzip files have one, Parquet files have none
        over everything.
        """
        messages, index = [], self.index
        entries: dict[str, Entry] = {}
        lost = not index.path.exists()
        try:
            entries = index.read()
        except FormatError as error:
            lost = True
            messages.append(f"{error}; {self._move_aside(index.path)}, and was rebuilt")
        for path in sorted(self._paths()):
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
            messages.append(f"{reason}; {self._move_aside(path)}, and its machines are done again")
        there = {name: entry for name, entry in entries.items() if (self.folder / name).exists()}
        if messages or lost or len(there) < len(entries):
            index.write(there)
        return messages

    def _move_aside(self, path: Path) -> str:
        name, n = f"{ASIDE}{path.name}", 1
        while (self.folder / name).exists():
            n += 1
            name = f"{ASIDE}{n}-{path.name}"
        try:
            path.rename(self.folder / name)
        except OSError as error:
            raise OutputError(f"{path} cannot be moved aside: {error.strerror}") from None
        return f"it was moved aside to {name}"

    def tidy(self, several: int = SEVERAL) -> None:
        """Remove parts that are inside others, and merge `several` or more small ones."""
        parts = self.parts()
        kept = {part.path for part in parts}
        if inner := [path for path in self._paths() if path not in kept]:
            self._drop(inner)
        row: list[Part] = []
        size = 0
        for part in parts:
            own = SMALL if part.packed else part.path.stat().st_size
            if row and (size + own > SMALL or row[-1].last + 1 != part.first):
                self._merge(row, several)
                row, size = [], 0
            if own < SMALL:
                row.append(part)
                size += own
        self._merge(row, several)

    def _merge(self, parts: Sequence[Part], several: int) -> None:
        """Replace parts by one, if there are enough; raise FormatError if one is damaged."""
        if len(parts) >= max(several, 2):
            # Concatenated gzip files are a gzip file.
            self.replace(parts, LIVE, b"".join(part.content() for part in parts))

    def verified(self) -> tuple[list[Part], Tally]:
        """A snapshot: all parts, with their digests checked, and the tally of all."""
        while True:
            try:
                parts = self.parts()
                for part in parts:
                    part.content()
                return parts, reduce(add, (part.entry.tally for part in parts), Tally())
            except FileNotFoundError:
                continue

    def progress(self, spans: Sequence[tuple[int, int]]) -> tuple[list[tuple[int, int]], Tally]:
        """A snapshot: the ranges of numbers that have no part yet, and the tally of all rows."""
        parts, tally = self.verified()
        return missing_from(spans, [(part.first, part.last + 1) for part in parts]), tally

    def digest(self, tally: Tally) -> str:
        """The digest of the whole campaign: of its manifest and all rows."""
        return digest_of({"campaign": self.index.campaign, "rows": f"{tally.content:064x}"})


def _part(path: Path, entry: Entry) -> Part:
    match = _NAME.fullmatch(path.name)
    assert match is not None
    return Part(int(match[1]), int(match[2]), path, entry)


def _stranger(path: Path) -> str:
    return f"{path} is not one of the parts in parts.json"


def _proved(path: Path, expected: Callable[[int, int], Iterable[tuple[int, str]]]) -> Entry:
    """A new entry for a part; raise FormatError if its check sum or its rows are wrong."""
    content = path.read_bytes()
    entry = Entry(hashlib.sha256(content).hexdigest(), Tally())
    part = _part(path, entry)
    rows = list(part.rows())
    if not content or rows_fault(rows, expected(part.first, part.last)) is not None:
        raise part.damaged("its rows do not match its machines")
    return entry._replace(tally=Tally.of(rows))


def rows_fault(rows: Iterable[Row], expected: Iterable[tuple[int, str]]) -> str | None:
    """The first row that is not of the expected machine and target; None if all are."""
    for row, wanted in zip_longest(rows, expected):
        found = None if row is None else (row["number"], row["on"])
        if found != wanted:
            names = (
                "no row" if each is None else f"machine {each[0]} on {each[1]}"
                for each in (found, wanted)
            )
            return "it has {} where {} is expected".format(*names)
    return None


def without_inner(parts: Sequence[Part]) -> list[Part]:
    """Sort parts and drop those inside others; raise FormatError if two overlap."""
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
    """The first fault of a manifest whose digest is right; None if it has none."""
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
    for entry in found["sources"]:
        if (fault := _source_fault(entry, base)) is not None:
            return fault
        base = entry["base"] + entry["end"]
    sample = found.get("sample", ...)
    if sample is not None and (type(sample) is not int or sample < 1):
        return f"sample is {str(sample)[:40]}"
    return None


def _source_fault(entry: object, base: int) -> str | None:
    """The first fault of a source's entry; `base` is the first number it may have."""
    if not isinstance(entry, dict):
        return "a source is not an object"
    numbers: list[Any] = [entry.get(name) for name in ("base", "first", "end")]
    if not all(type(each) is int and 0 <= each <= MOST_MACHINES for each in numbers):
        return f"numbers of a source are {numbers}"
    own, first, end = numbers
    texts = type(entry.get("source")) is str and type(entry.get("digest")) is str
    bad = entry.get("bad")
    if not texts or not isinstance(bad, list) or own < base or first > end:
        return "a source is incomplete"
    if not all(type(each) is int and first <= each < end for each in bad):
        return "bad lines outside their source"
    return None


def missing_from(
    spans: Sequence[tuple[int, int]], done: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The ranges that remain of `spans` without those of `done`.

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
    """How many numbers there are in some ranges; with sorted `numbers`, how many of these."""
    if numbers is None:
        return sum(end - first for first, end in spans)
    return sum(bisect_left(numbers, end) - bisect_left(numbers, first) for first, end in spans)


def check_folder(folder: Path) -> None:
    """Create the folder if needed; raise OutputError if that fails or it is a file."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise OutputError(f"{folder} exists and is not a folder; name another one") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"{folder} cannot be created: {reason}") from None
