"""Sources of machines: lists in many formats, databases, folders, enumerated classes.

A source numbers its machines, always in the same way: a list numbers its lines with machines from
0 on, as FILE:PART does.
"""

import hashlib
import json
import os
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, starmap
from pathlib import Path
from typing import NamedTuple, TypeVar

from netwright.campaign import enumeration
from netwright.campaign.lines import file_digest, is_compressed, opened
from netwright.campaign.work import Item
from netwright.errors import FormatError, FormatWarning, InputError, NetwrightError
from netwright.files import open_regular
from netwright.machine.formats import bbchallenge, seed_database
from netwright.machine.library import library_names
from netwright.machine.load import load_machine
from netwright.machine.turing_machine import TuringMachine
from netwright.machine.written import machine_parts

LIBRARY = "library"
T = TypeVar("T")


class Survey(NamedTuple):
    """The size and digest of a source."""

    size: int  # how many numbers it has
    digest: str
    bad: tuple[int, ...] = ()
    """Numbers without a valid machine, which are skipped."""


class MachineSource(ABC):
    """Machines, numbered from 0."""

    name: str  # as the user gave it
    span: tuple[int, int] | None = None
    """The range of numbers that the user asked for, without its end; None means all."""

    @abstractmethod
    def survey(self, *, skip_bad: bool) -> Survey:
        """Read the whole source; raise FormatError for the first bad line, unless `skip_bad`."""

    def same_as(self, digest: str, *, skip_bad: bool) -> bool:
        """Whether the source still has this digest."""
        return self.survey(skip_bad=skip_bad).digest == digest

    def contains(self, folder: Path) -> bool:
        """Whether a folder is inside the source, so that writing there would change it."""
        return False

    def is_unchanged(self) -> bool:
        """Whether it looks as it did at the last call of `same_as`: a quick check."""
        return True

    @abstractmethod
    def items(self, numbers: Sequence[int]) -> Iterator[Item]:
        """The machines with the given numbers, one or more in order, without bad ones."""


def _picked(values: Iterable[T], numbers: Sequence[int]) -> Iterator[tuple[int, T]]:
    """The values at the given places, each after its place."""
    wanted = numbers if isinstance(numbers, range) else set(numbers)
    found = enumerate(islice(values, numbers[0], numbers[-1] + 1), start=numbers[0])
    return ((number, value) for number, value in found if number in wanted)


class _File(MachineSource):
    """A source that is one file."""

    def __init__(self, name: str, path: Path, span: tuple[int, int] | None) -> None:
        self.name, self.path, self.span = name, path, span
        self._stat_then: tuple[int, ...] | None = None

    def same_as(self, digest: str, *, skip_bad: bool) -> bool:
        self._stat_then = self._stat()
        return file_digest(self.path) == digest

    def is_unchanged(self) -> bool:
        """Whether size, time and inode are the same."""
        return self._stat_then == self._stat()

    def _stat(self) -> tuple[int, ...] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_size, found.st_mtime_ns, found.st_ino


class _ListFile(_File):
    """A file, perhaps compressed, with one machine a line, among other columns."""

    @property
    def label(self) -> str:
        return "standard input" if self.name == "-" else str(self.path)

    def survey(self, *, skip_bad: bool) -> Survey:
        size = 0
        bad: list[int] = []
        for place, line in self._lines():
            try:
                bbchallenge.find_in_line(line, place)
            except NetwrightError as error:
                if not skip_bad:
                    raise FormatError(f"{error}\n  --skip-bad skips such lines") from None
                bad.append(size)
            size += 1
        if not size:
            raise FormatError(f"{self.label} has no machines; expected one per line")
        return Survey(size, file_digest(self.path), tuple(bad))

    def items(self, numbers: Sequence[int]) -> Iterator[Item]:
        """Those of the given lines; the lines before them are read, too."""
        for number, (place, line) in _picked(self._lines(), numbers):
            try:
                text, remark = bbchallenge.find_in_line(line, place)
            except NetwrightError:
                continue
            yield Item(number, text, remark)

    def _lines(self) -> Iterator[tuple[str, str]]:
        """The lines that should have a machine, each after its place for messages."""
        with opened(self.path) as file:
            for number, line in bbchallenge.machine_lines(file):
                yield f"{self.label}:{number}", line


class _SeedDatabase(_File):
    """The bbchallenge seed database, or another file of its format."""

    def survey(self, *, skip_bad: bool) -> Survey:
        import numpy as np

        total = hashlib.sha256()
        bad: list[int] = []
        with open_regular(self.path, "seed database") as file:
            size = seed_database.count_machines(file) or 0
            file.seek(0)
            total.update(file.read(seed_database.RECORD))
            number = 0
            while chunk := file.read(100_000 * seed_database.RECORD):
                total.update(chunk)
                cells = np.frombuffer(chunk, np.uint8).reshape(-1, 10, 3)
                wrong = (cells > np.array([1, 1, 6], np.uint8)).any(axis=(1, 2))
                if wrong.any() and not skip_bad:
                    where = number + int(wrong.argmax())
                    raise FormatError(
                        f"{self.path}: machine {where} has bytes that are not a rule; --skip-bad "
                        "skips such machines"
                    )
                bad += (number + np.flatnonzero(wrong)).tolist()
                number += len(cells)
        return Survey(size, total.hexdigest(), tuple(bad))

    def items(self, numbers: Sequence[int]) -> Iterator[Item]:
        with open_regular(self.path, "seed database") as file:
            for number in numbers:
                file.seek(seed_database.RECORD * (number + 1))
                text = seed_database.text_of(file.read(seed_database.RECORD))
                if text is not None:
                    yield Item(number, text)


class _Members(MachineSource):
    """Machines loaded one by one: of the library, or the files of a folder."""

    def __init__(
        self, name: str, members: Sequence[str], load: Callable[[str], TuringMachine]
    ) -> None:
        self.name, self.members, self.load = name, members, load
        self._digests: list[str] = []

    def survey(self, *, skip_bad: bool) -> Survey:
        self._digests = []
        bad: list[int] = []
        for number, member in enumerate(self.members):
            try:
                self._digests.append(self._loaded(member).digest)
            except NetwrightError as error:
                if not skip_bad:
                    hint = "\n  --skip-bad skips such files" if len(self.members) > 1 else ""
                    raise FormatError(f"{error}{hint}") from None
                self._digests.append("")
                bad.append(number)
        about = json.dumps([*zip(self.members, self._digests, strict=True)])
        return Survey(len(self.members), hashlib.sha256(about.encode()).hexdigest(), tuple(bad))

    def items(self, numbers: Sequence[int]) -> Iterator[Item]:
        for number in numbers:
            try:
                machine = self._loaded(self.members[number])
            except NetwrightError:
                continue
            if self._digests and machine.digest != self._digests[number]:
                continue  # it has changed; `Work.items` notices the gap
            parts = {**machine_parts(machine), "description": ""}
            yield Item(number, self.members[number], "", parts)

    def contains(self, folder: Path) -> bool:
        place = Path(self.name)
        return place.is_dir() and folder.resolve().is_relative_to(place.resolve())

    def _loaded(self, member: str) -> TuringMachine:
        try:
            member.encode()
        except UnicodeEncodeError:
            raise FormatError(f"{member!r}: its name is not valid text") from None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FormatWarning)
            return self.load(member)


class _MachineClass(MachineSource):
    """A class of machines: enumerated by `texts`, or computed from a number by `numbered`."""

    def __init__(
        self,
        name: str,
        texts: Callable[[], Iterable[str]] = tuple,
        numbered: Callable[[int], str] | None = None,
        size: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.name, self.texts, self.numbered = name, texts, numbered
        self.size, self.seed = size, seed

    def survey(self, *, skip_bad: bool) -> Survey:
        size = self.size if self.size is not None else sum(1 for _ in self.texts())
        return Survey(size, self._digest())

    def same_as(self, digest: str, *, skip_bad: bool) -> bool:
        return self._digest() == digest

    def _digest(self) -> str:
        return self.name if self.seed is None else f"{self.name} {self.seed}"

    def items(self, numbers: Sequence[int]) -> Iterator[Item]:
        if self.numbered is None:
            return starmap(Item, _picked(self.texts(), numbers))
        return map(Item, numbers, map(self.numbered, numbers))


def read_source(text: str, *, seed: int = 0, stdin: Path | None = None) -> MachineSource:
    """The source that SOURCE names; `stdin` is the file with the saved standard input."""
    if text == "-" and stdin is not None:
        return _ListFile(text, stdin, None)
    if text == LIBRARY:
        return _Members(text, library_names(), load_machine)
    if re.match(r"(?:all|every|random):", text) and not os.path.lexists(text):
        return _machine_class(text, seed)
    path, _, part = text.rpartition(":")
    span = None
    if path and os.path.lexists(path) and not os.path.lexists(text):
        numbers = re.fullmatch(r"(\d{1,12})(?:-(\d{1,12}))?", part)
        if numbers is None:
            return _Members(text, [text], load_machine)  # one of the machines in a file
        span = (int(numbers[1]), int(numbers[2] or numbers[1]) + 1)
        if span[0] >= span[1]:
            raise InputError(f"{text}: expected numbers such as 1000-2000, the smaller first")
    else:
        path = text
    if os.path.lexists(path):
        return _file(text, Path(path), span)
    return _Members(text, [text], load_machine)  # a name or a text; else loading it says why not


def _machine_class(text: str, seed: int) -> _MachineClass:
    """The class that all:NxM, every:NxM or random:NxM:COUNT names."""
    kind, size, *rest = text.split(":")
    numbers = re.fullmatch(r"([1-9]\d?)x([1-9]\d?)", size)
    if numbers is None or len(rest) > 1:
        raise InputError(
            f"{text}: expected a source such as all:3x2, all:3x2:1RB, every:2x2, random:5x2:1000"
        )
    states, symbols = int(numbers[1]), int(numbers[2])
    if states > 26 or symbols > 10:
        raise InputError(f"{text}: bbchallenge text has at most 26 states and 10 symbols")
    if kind == "random":
        if not rest or not re.fullmatch(r"[1-9]\d{0,11}", rest[0]):
            raise InputError(f"{text}: no count; expected a source such as {kind}:{size}:1000")
        numbered = partial(enumeration.random_table, states, symbols, seed)
        return _MachineClass(text, numbered=numbered, size=int(rest[0]), seed=seed)
    if kind == "every":
        if rest:
            raise InputError(f"{text}: every:{size} takes nothing after it")
        tables = (2 * states * symbols + 1) ** (states * symbols)
        if states * symbols > 6:
            raise InputError(
                f"{text} has {tables:,} machines; every:NxM is for tables of at most 6 rules "
                "(random:NxM:COUNT samples larger ones)"
            )
        numbered = partial(enumeration.table_number, states, symbols)
        return _MachineClass(text, numbered=numbered, size=tables)
    return _normal_form_class(text, size, states, symbols, rest)


def _normal_form_class(
    text: str, size: str, states: int, symbols: int, rest: Sequence[str]
) -> _MachineClass:
    if (states, symbols) not in enumeration.LONGEST_RUN:
        known = ", ".join(f"{n}x{m}" for n, m in enumeration.LONGEST_RUN)
        raise InputError(
            f"{text}: deciding which machines never halt needs a small busy-beaver value; "
            f"all:NxM is for {known} (for 5x2 use the seed database of bbchallenge)"
        )
    if rest not in ([], ["1RB"]):
        raise InputError(f"{text}: all:{size} takes only :1RB, the first rule, after it")
    if rest and states == 1:
        raise InputError(f"{text}: there is no state B")
    first = (1, 1, 1) if rest else None
    return _MachineClass(text, partial(enumeration.tree_normal_form, states, symbols, first))


def _file(text: str, path: Path, span: tuple[int, int] | None) -> MachineSource:
    if path.is_dir():
        if span is not None:
            raise InputError(f"{text}: a folder has no numbers; name it without them")
        members = _files_in(path)
        if not members:
            raise InputError(f"{path} has no files; expected a folder of machine files")
        return _Members(text, members, load_machine)
    with open_regular(path, "list of machines") as file:
        if seed_database.count_machines(file) is not None:
            return _SeedDatabase(text, path, span)
    with opened(path) as lines:
        head = "".join(islice(lines, 100))
    if bbchallenge.lists_machines(head) or span is not None or is_compressed(path):
        return _ListFile(text, path, span)
    return _Members(text, [text], load_machine)


def _files_in(folder: Path) -> list[str]:
    """All files in a folder and its subfolders, without hidden ones."""

    def refuse(error: OSError) -> None:
        raise FormatError(f"{error.filename} cannot be read: {error.strerror}")

    found = []
    for place, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = (os.path.join(place, name) for name in files if not name.startswith("."))  # noqa: PTH118
        found += [path for path in paths if os.path.isfile(path)]  # noqa: PTH113
    return sorted(found)
