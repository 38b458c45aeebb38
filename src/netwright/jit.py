"""Loops compiled by numba from Python source, and kept on disk between runs.

They work in arrays that they are given and make none. So numba's reference counts are switched off
(`_nrt`): counting at every call of a small function took five sixths of the time.
"""

import hashlib
import os
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from numba.core.options import DefaultOptions

# Should numba drop the option, the loops are slower and no less right.
_OPTIONS = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
_LOOPS: dict[tuple[Callable[..., Any], tuple[Any, ...]], Callable[..., Any]] = {}
"""What is compiled in this process, by function and types."""
_Function = TypeVar("_Function", bound=Callable[..., Any])


class Compiled(NamedTuple):
    """A compiled loop, and how many seconds the compiler, or reading its code from disk, took."""

    loop: Callable[..., Any]
    seconds: float


def compiled(function: Callable[..., Any], *sample: Any) -> Compiled:
    """A function as compiled code; `sample` are arguments that give it nothing to do.

    Damaged code would end the process, so a digest beside the files on disk tells whether they are
    as they were written. If not, or where nothing can be kept, the function is compiled anew.
    """
    started = perf_counter()
    key = (function, tuple(map(_signature, sample)))
    if key not in _LOOPS:
        _LOOPS[key] = _compile(function, sample)
    return Compiled(_LOOPS[key], perf_counter() - started)


def _signature(value: Any) -> object:
    """What numba tells apart in an argument, which takes it longer to say."""
    if isinstance(value, tuple):
        return (type(value), *map(_signature, value))
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.ndim, value.flags.c_contiguous, value.flags.writeable
    return numba.typeof(value)


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether a function was compiled, or its code loaded, in this process."""
    return any(known is function for known, _ in _LOOPS)


def _compile(function: Callable[..., Any], sample: tuple[Any, ...]) -> Callable[..., Any]:
    loop: Any
    for _ in range(2):
        try:
            loop = numba.njit(cache=True, nogil=True, **_OPTIONS)(function)
            kept = _Kept(function, loop)
            kept.remove_if_damaged()
            loop(*sample)
            kept.note()
            return cast(Callable[..., Any], loop)
        except (RuntimeError, OSError, EOFError, ValueError, pickle.UnpicklingError):
            with suppress(OSError, AttributeError, TypeError):
                _Kept(function, loop).remove()
    loop = numba.njit(nogil=True, **_OPTIONS)(function)
    loop(*sample)
    return cast(Callable[..., Any], loop)


class _Kept:
    """What numba keeps on disk of a loop, with digests of it and of the sources it came from."""

    def __init__(self, function: Callable[..., Any], loop: Any) -> None:
        name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        self.folder, self.pattern = Path(loop.stats.cache_path), f"{name}-*.nb[ic]"
        self.digests = self.folder / f"{name}-{sys.implementation.cache_tag}.sha256"
        # numba looks at the file of the loop alone; what it calls may stand in those beside it.
        self.sources = sorted(Path(function.__code__.co_filename).parent.glob("*.py"))

    def _files(self) -> list[Path]:
        """Those of this version of Python, which numba writes into their names."""
        tag = f"py{sys.version_info.major}{sys.version_info.minor}"
        return sorted(file for file in self.folder.glob(self.pattern) if f".{tag}" in file.name)

    def _lines(self) -> str:
        return "".join(
            f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
            for file in (*self._files(), *self.sources)
        )

    def remove_if_damaged(self) -> None:
        """Remove files that are not those which were written, so that none of them is run."""
        noted = self.digests.read_text(errors="replace") if self.digests.exists() else ""
        if self._files() and noted != self._lines():
            self.remove()

    def remove(self) -> None:
        for file in (*self._files(), self.digests):
            file.unlink(missing_ok=True)

    def note(self) -> None:
        """Write down the digests of what is on disk now."""
        lines = self._lines() if self._files() else ""
        if lines and (not self.digests.exists() or self.digests.read_text() != lines):
            part = self.digests.with_suffix(f".{os.getpid()}")
            part.write_text(lines)
            part.replace(self.digests)


def part(function: _Function) -> _Function:
    """A function that is written into the compiled loops of the same folder that call it."""
    return cast(_Function, numba.njit(forceinline=True, **_OPTIONS)(function))


def rare_part(function: _Function) -> _Function:
    """A function that compiled loops of the same folder call now and then."""
    return cast(_Function, numba.njit(**_OPTIONS)(function))
