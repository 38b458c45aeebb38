"""The index of a campaign's parts: DIR/parts.json.

An entry has a part's name, the SHA-256 of its file and the tally of its rows. The index has a
digest of itself and that of its campaign.json. An entry is written before its part: so every part
in the folder has one, whichever process is killed, and an entry without a part is work to be done.

The *content* of rows is the sum of the SHA-256 of each, mod 2²⁵⁶. It stays the same when parts are
merged or packed: so one digest identifies the whole campaign, and changes with every row.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from netwright.campaign.plan import FAULTS
from netwright.campaign.work import Row, written_row
from netwright.errors import FormatError
from netwright.files import read_file, write_whole

INDEX = "parts.json"
FORMAT = "netwright campaign parts 1"
LARGEST = 100_000_000
WHOLE = 1 << 256


def digest_of(about: Mapping[str, Any]) -> str:
    """The SHA-256 of JSON data, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def sealed(about: Mapping[str, Any]) -> bytes:
    """JSON data with its digest, as the content of a file."""
    return json.dumps({**about, "digest": digest_of(about)}, indent=1).encode()


def unsealed(path: Path, what: str, format_name: str) -> dict[str, Any]:
    """Read what `sealed` wrote; raise FormatError if it is damaged or of another format."""
    try:
        found = json.loads(read_file(path, LARGEST, what))
    except (ValueError, RecursionError):
        raise FormatError(f"{path} is damaged: it is not JSON") from None
    if not isinstance(found, dict) or not str(found.get("format")).startswith("netwright campaign"):
        raise FormatError(f"{path} is not a netwright {what}")
    if found["format"] != format_name:
        raise FormatError(f"{path} is a {found['format']!r}; this netwright reads {format_name!r}")
    if found.pop("digest", None) != digest_of(found):
        raise FormatError(f"{path} is damaged: its digest does not match")
    return found


@dataclass(frozen=True)
class Tally:
    """Counts of rows, and the digest of their content."""

    rows: int = 0
    disagreements: int = 0
    uncertified: int = 0
    failures: int = 0
    content: int = 0  # the sum of the digests of the rows

    def __add__(self, other: "Tally") -> "Tally":
        sums = {each.name: getattr(self, each.name) + getattr(other, each.name) for each in _FIELDS}
        return Tally(**{**sums, "content": sums["content"] % WHOLE})

    @staticmethod
    def of(rows: Sequence[Row]) -> "Tally":
        """The tally of some rows."""
        digests = (hashlib.sha256(written_row(row)).digest() for row in rows)
        content = sum(int.from_bytes(digest, "big") for digest in digests) % WHOLE
        faults = {name: sum(map(has_it, rows)) for name, has_it in FAULTS.items()}
        return Tally(rows=len(rows), **faults, content=content)

    @property
    def counts(self) -> dict[str, int]:
        """All fields but the content."""
        return {each.name: getattr(self, each.name) for each in _FIELDS[:-1]}


_FIELDS = fields(Tally)


class Entry(NamedTuple):
    """The SHA-256 of a part's file, and the tally of its rows."""

    sha256: str
    tally: Tally


class Index:
    """The file of entries; `campaign` is the digest of the manifest."""

    def __init__(self, folder: Path, campaign: str) -> None:
        self.path, self.campaign = folder / INDEX, campaign

    def read(self) -> dict[str, Entry]:
        """All entries by name; empty if there is no file. Raise FormatError if it is damaged."""
        if not self.path.exists():
            return {}
        found = unsealed(self.path, "index of parts", FORMAT)
        if found.get("campaign") != self.campaign:
            raise FormatError(f"{self.path} belongs to another campaign than campaign.json")
        try:
            return {
                name: Entry(str(about["sha256"]), _tally(about["tally"]))
                for name, about in found["parts"].items()
            }
        except (AttributeError, KeyError, TypeError, ValueError):
            raise FormatError(f"{self.path} is damaged: an entry is incomplete") from None

    def write(self, entries: Mapping[str, Entry]) -> None:
        """Replace all entries."""
        parts = {
            name: {
                "sha256": each.sha256,
                "tally": {**asdict(each.tally), "content": f"{each.tally.content:064x}"},
            }
            for name, each in sorted(entries.items())
        }
        about = {"format": FORMAT, "campaign": self.campaign, "parts": parts}
        write_whole(self.path, sealed(about))


def _tally(about: Mapping[str, Any]) -> Tally:
    counts = {each.name: about[each.name] for each in _FIELDS[:-1]}
    if not all(type(count) is int and count >= 0 for count in counts.values()):
        raise ValueError
    return Tally(**counts, content=int(about["content"], 16) % WHOLE)
