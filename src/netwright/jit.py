"""Loops compiled by numba from Python source, and kept on disk between runs.

They work in arrays that they are given and make none. So numba's reference counts are switched off
(`_nrt`): counting at every call of a small function took five sixths of the time.
"""

import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeVar, cast

import numba
from numba.core.options import DefaultOptions

# Should numba drop the option, the loops are slower and no less right.
_OPTIONS = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
_Function = TypeVar("_Function", bound=Callable[..., Any])


class Compiled(NamedTuple):
    """A compiled loop, and how many seconds the compiler, or reading its code from disk, took."""

    loop: Callable[..., Any]
    seconds: float


def compiled(function: Callable[..., Any], *sample: Any) -> Compiled:
    """A function as compiled code; `sample` are arguments that give it nothing to do.

    Where nothing can be kept on disk, or a file there is damaged, it is compiled anew.
    """
    started = perf_counter()
    for _ in range(2):
        try:
            loop = numba.njit(cache=True, nogil=True, **_OPTIONS)(function)
            loop(*sample)
            return Compiled(loop, perf_counter() - started)
        except (RuntimeError, OSError, EOFError, ValueError, pickle.UnpicklingError):
            _forget(function, loop)
    loop = numba.njit(nogil=True, **_OPTIONS)(function)
    loop(*sample)
    return Compiled(loop, perf_counter() - started)


def _forget(function: Callable[..., Any], loop: Any) -> None:
    """Remove what is kept on disk of a loop, so that it is written anew."""
    with suppress(OSError, AttributeError, TypeError):
        name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}-"
        for file in Path(loop.stats.cache_path).glob(f"{name}*.nb[ic]"):
            file.unlink(missing_ok=True)


def part(function: _Function) -> _Function:
    """A function that is written into the compiled loops of the same file that call it."""
    return cast(_Function, numba.njit(forceinline=True, **_OPTIONS)(function))


def rare_part(function: _Function) -> _Function:
    """A function that compiled loops of the same file call now and then."""
    return cast(_Function, numba.njit(**_OPTIONS)(function))
