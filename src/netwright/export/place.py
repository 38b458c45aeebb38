"""Folders of exports and sites: written whole, and never overwriting anything but one of them.

An export's checked.json, a site's site.json, has digests of all its other files, and of itself, so
that added and changed files are noticed.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from netwright.errors import FormatError, OutputError
from netwright.export.target import write_json

CHECKED = "checked.json"
KIND = "netwright export 2"


class Sort(NamedTuple):
    """What a folder is: the file with its report, the report's format, and a word for messages."""

    file: str
    format: str
    word: str


EXPORT = Sort(CHECKED, KIND, "export")
SITE = Sort("site.json", "netwright site 1", "site")


def check_place(place: Path, *, force: bool, sort: Sort = EXPORT) -> None:
    """Raise OutputError if the place cannot be written, or holds anything but such a folder."""
    parent = parent_of(place)
    if os.path.lexists(place):
        if not place.is_dir() or place.is_symlink():
            raise OutputError(f"{place} exists and is not a folder; name another one")
        if not force:
            raise OutputError(f"{place} exists; name another folder, or overwrite it: --force")
        if any(place.iterdir()):
            report = read_report(place, sort)
            if report is None:
                article = "an" if sort is EXPORT else "a"
                raise OutputError(
                    f"{place} is not {article} {sort.word} of netwright; not overwritten"
                )
            others = set(digests(place, sort)) - set(report["files"])
            if others:
                raise OutputError(
                    f"{place} has a file {min(others)}, which is not part of the {sort.word}; move "
                    "it away, or name another folder"
                )
    if not parent.is_dir():
        raise OutputError(f"{place} cannot be written: No such file or directory")
    if not os.access(parent, os.W_OK):
        raise OutputError(f"{place} cannot be written: Permission denied")


def parent_of(place: Path) -> Path:
    """Return the parent of a new folder; raise OutputError if the path cannot name a folder."""
    try:
        whole = place.resolve()
        str(whole).encode()
    except UnicodeEncodeError:
        raise OutputError(
            f"{str(place)!r} is not valid text, so some tools cannot read it"
        ) from None
    except (OSError, RuntimeError):
        raise OutputError(f"{place} cannot be written: its links form a cycle") from None
    if not place.name or place.name == ".." or not whole.name:
        raise OutputError(f"{place} is not a name for a new folder")
    return whole.parent


def digests(folder: Path, sort: Sort = EXPORT) -> dict[str, str]:
    """Return the SHA-256 digests of all files of a folder but its report and bytecode."""
    paths = [path for path in sorted(folder.rglob("*")) if not path.is_dir()]
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for name, path in names.items()
        if name != sort.file and "__pycache__" not in path.parts
    }


def read_report(folder: Path, sort: Sort = EXPORT) -> dict[str, Any] | None:
    """Read a folder's report; None if it is missing, damaged or of another version."""
    try:
        found = json.loads((folder / sort.file).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("format") != sort.format:
        return None
    return found if found.get("digest") == report_digest(found) else None


def report_digest(report: Mapping[str, Any]) -> str:
    """Return the digest of a report, leaving out its own digest."""
    rest = {name: value for name, value in report.items() if name != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def check_intact(folder: Path) -> dict[str, Any]:
    """Return an export's report; raise FormatError if a file is not the one that was checked."""
    report = read_report(folder)
    if report is None:
        raise FormatError(
            f"{folder} is not a folder exported by netwright, or its {CHECKED} is damaged"
        )
    found = digests(folder)
    wrong = [name for name, digest in report["files"].items() if found.get(name) != digest]
    if wrong:
        raise FormatError(
            f"{folder / wrong[0]} is not the file that was checked; export it again (to run it "
            "anyway: damaged=True, --damaged)"
        )
    return report


def intact_report(folder: Path) -> dict[str, Any] | None:
    """Return an export's report; None if it does not have exactly the files that were checked."""
    report = read_report(folder)
    try:
        return report if report and digests(folder) == report["files"] else None
    except OSError:
        return None


@contextmanager
def new_folder(place: Path) -> Iterator[Path]:
    """Context manager: a temporary folder to write to, on the same file system as the place.

    It has the same name as the place, since some tools take that as the name of a model.
    """
    with TemporaryDirectory(dir=parent_of(place), prefix=".netwright-") as temporary:
        folder = Path(temporary) / "new" / place.resolve().name
        folder.mkdir(parents=True)
        yield folder


def put_in_place(
    folder: Path, place: Path, report: dict[str, Any], *, force: bool, sort: Sort = EXPORT
) -> None:
    """Add the report and move the folder to its place; an older one is removed last."""
    report["files"] = digests(folder, sort)
    report["digest"] = report_digest(report)
    write_json(folder / sort.file, report)
    old = folder.parent.parent / "old"
    try:
        check_place(place, force=force, sort=sort)
        if place.exists():
            place.rename(old)
        try:
            folder.rename(place)
        except BaseException:
            if old.exists() and not place.exists():
                old.rename(place)
            raise
    except OSError as error:
        raise OutputError(f"{place} cannot be written: {error.strerror}") from None
    shutil.rmtree(old, ignore_errors=True)
