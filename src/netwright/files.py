"""Files that are written whole or not at all, and arrays in files that cannot change unseen.

Arrays are kept as safetensors with one entry of metadata: a JSON object that says what they are,
with a digest of itself and of all arrays.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from netwright.errors import FormatError, OutputError


def check_output(path: Path, *, force: bool) -> None:
    """Refuse a place that cannot be written, before long work: one that exists, unless `force`."""
    try:
        folder = path.resolve().parent
    except (OSError, RuntimeError):
        raise OutputError(f"{path} cannot be written: its links go in a circle") from None
    if os.path.lexists(path) and not path.is_file():
        raise OutputError(f"{path} is there and is no ordinary file; name another one")
    if os.path.lexists(path) and not force:
        raise OutputError(f"{path} exists; name another file, or overwrite it with --force")
    if not folder.is_dir():
        raise OutputError(f"{path} cannot be written: No such file or directory")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"{path} cannot be written: Permission denied")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, in place of what was there."""
    path = path.resolve()
    part = None
    try:
        with NamedTemporaryFile(dir=path.parent, prefix=".netwright-", delete=False) as file:
            part = Path(file.name)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.chmod(0o666 & ~_umask())
        part.replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


def _umask() -> int:
    """What new files may not do; it can be read only by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def seal(about: Mapping[str, Any], arrays: Mapping[str, Any]) -> bytes:
    """Arrays and what they are, as the content of a file."""
    from safetensors.numpy import save

    # One key only: safetensors writes several in any order, and equal networks not alike.
    sealed = {**about, "digest": digest_of(about, arrays)}
    return save(dict(arrays), metadata={"netwright": json.dumps(sealed)})


def unseal(data: bytes, label: str, what: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `seal` put there; FormatError if it is not whole."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        length = int.from_bytes(data[:8], "little")
        about = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["netwright"])
        arrays = load(data)
        whole = about.pop("digest") == digest_of(about, arrays)
    except (
        LookupError,
        TypeError,
        ValueError,
        RecursionError,
        AttributeError,
        SafetensorError,
    ) as e:
        reason = str(e).split("\n")[0][:200] or type(e).__name__
        raise FormatError(f"{label} is not a whole {what} saved by netwright: {reason}") from None
    if not whole:
        raise FormatError(f"{label} is not a whole {what} saved by netwright: it was changed")
    return about, arrays


def digest_of(about: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
    """A digest of everything in the file but itself."""
    total = hashlib.sha256(json.dumps(about).encode())
    for name in sorted(arrays):
        array = arrays[name]
        total.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    return total.hexdigest()
