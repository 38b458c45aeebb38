"""Safe reading, atomic writing and locking of files, and arrays in files with a digest.

Arrays are saved as safetensors with one entry of metadata: a JSON object that describes them, with
a digest of itself and of all arrays.
"""

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO

from netwright.errors import FormatError, OutputError

try:
    import fcntl
except ImportError:  # not on Windows, where two runs may write to one checkpoint
    fcntl = None  # type: ignore[assignment]

_OTHER_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (lambda _mode: True, "a device"),
)


@contextmanager
def open_regular(path: Path, what: str) -> Iterator[BinaryIO]:
    """Open a regular file for reading; raise FormatError for a pipe or device, which may hang."""
    try:
        # Without O_NONBLOCK, opening a pipe waits until another process opens it for writing.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(number, "rb", closefd=True) as file:
            mode = os.fstat(number).st_mode
            if not stat.S_ISREG(mode):
                kind = next(name for test, name in _OTHER_KINDS if test(mode))
                raise FormatError(f"{path} is {kind}; expected a file with a {what}")
            yield file
    except IsADirectoryError:  # from fdopen
        raise FormatError(f"{path} is a directory; expected a file with a {what}") from None
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:  # a null character
        raise FormatError(f"{str(path)!r} cannot be read: no file can have such a name") from None


def is_safetensors(path: str, what: str) -> bool:
    """Whether there is a safetensors file of this name: 8 bytes for its header's length, JSON."""
    if not os.path.isfile(path):  # noqa: PTH113  # a long text is not a path
        return False
    with open_regular(Path(path), what) as file:
        start = file.read(9)
    return start[8:] == b"{" and int.from_bytes(start[:8], "little") < 1 << 32


def read_file(path: Path, largest: int, what: str) -> bytes:
    """The content of a regular file; raise FormatError if it has more than `largest` bytes."""
    with open_regular(path, what) as file:
        size = os.fstat(file.fileno()).st_size
        if size > largest:
            raise FormatError(
                f"{path} has {size:,} bytes; a file with a {what} has at most {largest:,}"
            )
        data = file.read(size + 1)
    if len(data) != size:
        raise FormatError(f"{path} changed while it was read; try again")
    return data


def output_path(path: os.PathLike[str] | str) -> Path:
    """A path that a user gave to write to; raise OutputError if it is not a path."""
    try:
        if "\0" not in os.fsdecode(os.fsencode(path)) and not isinstance(path, bytes):
            return Path(path)
    except (TypeError, ValueError):
        pass
    raise OutputError(f"expected a path to write to; got {repr(path)[:60]}")


def check_output(path: Path, *, force: bool) -> None:
    """Raise OutputError before long work if a file cannot be written, or exists, unless `force`."""
    try:
        folder = path.resolve().parent
    except (OSError, RuntimeError):
        raise OutputError(f"{path} cannot be written: its links form a cycle") from None
    if os.path.lexists(path) and not path.is_file():
        raise OutputError(f"{path} exists and is not a regular file; name another one")
    if os.path.lexists(path) and not force:
        raise OutputError(f"{path} exists; name another file, or overwrite it: force (--force)")
    if not folder.is_dir():
        raise OutputError(f"{path} cannot be written: No such file or directory")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"{path} cannot be written: Permission denied")


def write_whole(path: Path, content: bytes, *, fresh: bool = False) -> None:
    """Write a file atomically; with `fresh`, raise OutputError if it exists."""
    path = path.resolve()
    part = None
    try:
        _remove_stale_parts(path)
        with NamedTemporaryFile(dir=path.parent, prefix=_part_prefix(path), delete=False) as file:
            part = Path(file.name)
            _try_lock(file.fileno())  # marks it as not stale
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            part.chmod(0o666 & ~_umask())
            _move(part, path, fresh)
    except FileExistsError:
        raise OutputError(f"{path} exists by now; not overwritten") from None
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


def _move(part: Path, path: Path, fresh: bool) -> None:
    if fresh:
        try:
            os.link(part, path)
            return
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            if os.path.lexists(path):
                raise FileExistsError from None
    part.replace(path)


def _part_prefix(path: Path) -> str:
    """The prefix of temporary files for a path; short, as names may have 255 bytes."""
    return f".netwright-{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:12]}-"


def _remove_stale_parts(path: Path) -> None:
    """Remove the temporary files of killed processes that wrote to the same path."""
    for part in path.parent.glob(f"{_part_prefix(path)}*"):
        with suppress(OSError), part.open("rb") as file:
            if _try_lock(file.fileno()):
                part.unlink()


def _try_lock(number: int) -> bool:
    """Lock an open file; return False if another process has. The lock ends with the process."""
    if fcntl is not None:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def is_part(path: Path) -> bool:
    """Whether a file is one of netwright's temporary or lock files."""
    return path.name.startswith(".netwright-")


class TakenError(OutputError):
    """Another process holds the lock."""


@contextmanager
def locked(path: Path, taken: str = "") -> Iterator[None]:
    """Hold the lock for writing to a path; raise TakenError if another process holds it.

    The lock is on a file next to the path, and ends with the process in any case.
    """
    path = path.resolve()
    lock = path.with_name(f"{_part_prefix(path)[:-1]}.lock")
    try:
        while True:
            number = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
            if not _try_lock(number):
                os.close(number)
                raise TakenError(
                    taken
                    or f"another run keeps its checkpoint in {path}; name another file, or wait "
                    "for it"
                )
            with suppress(FileNotFoundError):
                if os.path.samestat(lock.stat(), os.fstat(number)):
                    break
            os.close(number)  # the previous holder has just removed the file
    except OSError as error:
        raise OutputError(f"{path} cannot be locked: {error.strerror}") from None
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(number)


def _umask() -> int:
    """The umask of the process, which can be read only by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def seal(about: Mapping[str, Any], arrays: Mapping[str, Any]) -> bytes:
    """The content of a file with arrays and their description."""
    from safetensors.numpy import save

    # One key only: safetensors writes several in arbitrary order, so equal networks would differ.
    sealed = {**about, "digest": digest_of(about, arrays)}
    return save(dict(arrays), metadata={"netwright": json.dumps(sealed)})


def unseal(data: bytes, label: str, what: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read what `seal` wrote; raise FormatError if it is damaged."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    not_intact = f"{label} is not an intact netwright {what}"
    try:
        length = int.from_bytes(data[:8], "little")
        if len(data) < 8 + length:
            raise FormatError(f"{not_intact}: it is truncated, or not a safetensors file")
        header = json.loads(data[8 : 8 + length])
        ends = [each["data_offsets"][1] for name, each in header.items() if name[:2] != "__"]
        if len(data) < 8 + length + max(ends, default=0):
            raise FormatError(
                f"{not_intact}: it is truncated, {len(data):,} bytes of "
                f"{8 + length + max(ends):,}; copy it again"
            )
        about = json.loads(header["__metadata__"]["netwright"])
        arrays = load(data)
        whole = about.pop("digest") == digest_of(about, arrays)
    except (KeyError, IndexError):
        raise FormatError(f"{not_intact}: it was written by another program") from None
    except (TypeError, ValueError, RecursionError, AttributeError, SafetensorError):
        raise FormatError(f"{not_intact}: it was changed") from None
    if not whole:
        raise FormatError(f"{not_intact}: it was changed")
    return about, arrays


def digest_of(about: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
    """A digest of the description and all arrays."""
    total = hashlib.sha256(json.dumps(about).encode())
    for name in sorted(arrays):
        total.update(f"{name} {array_digest(arrays[name])}".encode())
    return total.hexdigest()


def array_digest(array: Any) -> str:
    """A digest of an array's type, shape and numbers."""
    about = f"{array.dtype} {array.shape}".encode()
    return hashlib.sha256(about + array.tobytes()).hexdigest()
