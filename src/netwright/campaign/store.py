"""Where a campaign is kept: a folder that is whole at every moment.

    DIR/campaign.json                                   what is to be done, written first
    DIR/rows-000000001000-000000001049.jsonl.gz         the rows of machines 1,000 to 1,049
    DIR/rows-000000000000-000000000999.parquet          the same, packed
    DIR/.netwright-stdin                                the machines that came from a pipe
    DIR/progress.json                                   of the process that works on it now

A part is named by the numbers of the machines that it has, and is written whole or not at all: what
is done is what has a part. Small parts become large ones, of which the large one is written first;
a part inside another is none.
"""

import gzip
import json
import re
import zlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from netwright.campaign.plan import COLUMNS, FAILED
from netwright.errors import FormatError, InputError, OutputError
from netwright.files import read_file, write_whole

MANIFEST, PROGRESS, STDIN = "campaign.json", "progress.json", ".netwright-stdin"
FORMAT = "netwright campaign 1"
LIVE, PACKED = "jsonl.gz", "parquet"
SEVERAL = 64
"""So many small parts side by side become one."""
SMALL = 4_000_000  # bytes
_KEYS = ("plan", "sources", "version", "sample", "seed", "skip_bad")
_SOURCE = ("source", "base", "first", "end", "digest", "bad")
_NAME = re.compile(rf"rows-(\d{{12}})-(\d{{12}})\.({re.escape(LIVE)}|{PACKED})")


@dataclass(frozen=True, order=True)
class Part:
    """The rows of the machines from `first` to `last`."""

    first: int
    last: int
    path: Path

    @property
    def packed(self) -> bool:
        """Whether it is Parquet."""
        return self.path.name.endswith(PACKED)

    def text(self) -> bytes:
        """The rows as lines of JSON."""
        try:
            packed = self.path.read_bytes()
            if packed:
                return gzip.decompress(packed)
        except FileNotFoundError:  # it has just become part of a larger one
            raise
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise self.damaged(error) from None
        except OSError as error:
            raise FormatError(f"{self.path} cannot be read: {error.strerror}") from None
        raise self.damaged("it is empty")

    def damaged(self, reason: object) -> FormatError:
        """What is said of a part that is not what was written."""
        return FormatError(
            f"{self.path} is damaged ({reason}); remove it, and --resume does its machines anew"
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows themselves."""
        if self.packed:
            from netwright.campaign.packed import packed_rows

            yield from packed_rows(self)
            return
        for line in self.text().splitlines():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise self.damaged(error) from None
            if not isinstance(row, dict) or row.keys() != COLUMNS.keys():
                raise self.damaged("a row has other columns")
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
        """What is to be done."""
        path = self.folder / MANIFEST
        if not path.exists():
            raise InputError(f"{self.folder} has no campaign: there is no {path}")
        try:
            found = json.loads(read_file(path, 100_000_000, "campaign"))
            told = found["format"] == FORMAT and {*_KEYS} <= set(found)
            if told and all({*_SOURCE} <= set(each) for each in found["sources"]):
                return dict(found)
        except (ValueError, KeyError, TypeError):
            pass
        raise FormatError(f"{path} is no campaign as netwright {FORMAT.split()[-1]} writes it")

    def begin(self, manifest: dict[str, Any]) -> None:
        """Write down what is to be done."""
        text = json.dumps({"format": FORMAT, **manifest}, indent=1)
        write_whole(self.folder / MANIFEST, text.encode(), fresh=True)

    # What is done.

    def parts(self) -> list[Part]:
        """The parts in order, without those that are inside others."""
        found = []
        for path in self._files():
            if match := _NAME.fullmatch(path.name):
                found.append(Part(int(match[1]), int(match[2]), path))
        found.sort(key=lambda part: (part.first, -part.last, not part.packed))
        kept: list[Part] = []
        for part in found:
            if not kept or part.last > kept[-1].last:
                kept.append(part)
        for one, other in pairwise(kept):
            if other.first <= one.last:
                raise FormatError(
                    f"{one.path} and {other.path.name} have machines in common; remove one of "
                    "them, and --resume does what is missing"
                )
        return kept

    def _files(self) -> list[Path]:
        try:
            return list(self.folder.iterdir())
        except OSError as error:
            raise FormatError(f"{self.folder} cannot be read: {error.strerror}") from None

    def write(self, first: int, last: int, rows: bytes) -> None:
        """Keep the rows of some machines."""
        write_whole(self._place(first, last, LIVE), gzip.compress(rows, 6, mtime=0))

    def _place(self, first: int, last: int, kind: str) -> Path:
        return self.folder / f"rows-{first:012}-{last:012}.{kind}"

    def replace(self, parts: Sequence[Part], packed: bytes) -> None:
        """Put one packed part in the place of several that are side by side."""
        write_whole(self._place(parts[0].first, parts[-1].last, PACKED), packed)
        for part in parts:
            part.path.unlink()

    def tidy(self, several: int = SEVERAL) -> None:
        """Remove parts that are inside others, and make one of `several` small ones."""
        parts = self.parts()
        kept = {part.path for part in parts}
        for path in self._files():
            if _NAME.fullmatch(path.name) and path not in kept:
                path.unlink(missing_ok=True)
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
        for part in parts:
            part.text()
        if len(parts) >= max(several, 2):
            # A gzip file behind another is one gzip file.
            joined = b"".join(part.path.read_bytes() for part in parts)
            write_whole(self._place(parts[0].first, parts[-1].last, LIVE), joined)
            for part in parts:
                part.path.unlink()

    def rows(self) -> Iterator[dict[str, Any]]:
        """All rows, in the order of their machines, also while others make parts into one."""
        done = -1
        while True:
            try:
                for part in self.parts():
                    if part.last > done:
                        for row in part.rows():
                            if row["number"] > done:
                                yield row
                        done = part.last
                return
            except FileNotFoundError:
                continue

    def missing(self, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """What has no part yet, of some ranges from a first number to one before the last."""
        return missing_from(spans, [(part.first, part.last + 1) for part in self.parts()])


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


@dataclass
class Tally:
    """What the rows say, as far as everybody wants to know it at any time."""

    rows: int = 0
    disagreements: int = 0
    uncertified: int = 0
    failures: int = 0

    def add(self, text: bytes) -> None:
        """Count lines of JSON, without reading them: no text in them can look like this."""
        self.rows += text.count(b"\n")
        self.disagreements += text.count(b'"agrees":false')
        self.uncertified += text.count(b'"certified":false')
        self.failures += sum(text.count(f'"outcome":"{name}"'.encode()) for name in FAILED)

    @staticmethod
    def of(store: Store) -> "Tally":
        """Of all parts of a campaign, also while others make parts into one."""
        return Tally.with_missing(store, [])[0]

    @staticmethod
    def with_missing(
        store: Store, spans: Sequence[tuple[int, int]]
    ) -> "tuple[Tally, list[tuple[int, int]]]":
        """The same, and what has no part, of the same moment."""
        while True:
            tally = Tally()
            try:
                parts = store.parts()
                for part in parts:
                    if part.packed:
                        from netwright.campaign.packed import count_packed

                        count_packed(part, tally)
                    else:
                        tally.add(part.text())
                done = [(part.first, part.last + 1) for part in parts]
                return tally, missing_from(spans, done)
            except FileNotFoundError:
                continue


def check_folder(folder: Path) -> None:
    """Refuse a place that can be no campaign's folder; make it, if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise OutputError(f"{folder} is there and is no folder; name another one") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"{folder} cannot be made: {reason}") from None
