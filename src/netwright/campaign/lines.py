"""Read the lines of a plain, gzip or Zstandard file, and its digest; a damaged file is an error."""

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from netwright.errors import FormatError, InputError
from netwright.files import open_regular
from netwright.machine.load import LARGEST_FILE

CHUNK = 1 << 22
GZIP, ZSTANDARD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def is_compressed(path: Path) -> bool:
    """Whether a file has the magic number of gzip or Zstandard."""
    with open_regular(path, "list of machines") as file:
        return file.read(4).startswith((GZIP, ZSTANDARD))


@contextmanager
def opened(path: Path) -> Iterator[Iterator[str]]:
    """Open a file for reading its lines, decompressed; raise FormatError if it is damaged."""
    with open_regular(path, "list of machines") as file:
        begin = file.read(4)
        file.seek(0)
        unpacked: Any = file
        if begin.startswith(GZIP):
            unpacked = gzip.GzipFile(fileobj=file)
        elif begin == ZSTANDARD:
            unpacked = io.BufferedReader(_Zstandard(file, path))
        text = io.TextIOWrapper(unpacked, encoding="utf-8-sig", errors="replace", newline=None)
        yield _whole_lines(text, path)
        text.detach()


def _whole_lines(lines: Iterable[str], path: Path) -> Iterator[str]:
    try:
        for line in lines:
            if len(line) > LARGEST_FILE:
                raise FormatError(
                    f"{path} has a line of {len(line):,} characters; it is not a list"
                )
            yield line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"{path} is damaged: {error}; copy it again") from None


class _Zstandard(io.RawIOBase):
    """A decompressing stream; raises FormatError if the file is truncated or damaged."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        try:
            import zstandard
        except ImportError:
            raise InputError(
                f"{path} is a Zstandard file, which needs: pip install zstandard, or netwright "
                "with the extra campaign"
            ) from None
        self._file, self._path, self._module = file, path, zstandard
        self._frame: Any = None
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            chunk = self._file.read(CHUNK)
            if not chunk:
                if self._frame is not None:
                    raise FormatError(f"{self._path} is damaged: it is truncated; copy it again")
                return 0
            while chunk:
                if self._frame is None:
                    self._frame = self._module.ZstdDecompressor().decompressobj()
                try:
                    self._ready += self._frame.decompress(chunk)
                except self._module.ZstdError as error:
                    raise FormatError(f"{self._path} is damaged: {error}; copy it again") from None
                chunk = self._frame.unused_data if self._frame.eof else b""
                if self._frame.eof:
                    self._frame = None
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with open_regular(path, "list of machines") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
