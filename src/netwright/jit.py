"""Loops compiled by numba from Python source, and kept on disk between runs."""

import pickle
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numba


class Compiled(NamedTuple):
    """A compiled loop, and how many seconds the compiler, or reading its code from disk, took."""

    loop: Callable[..., Any]
    seconds: float


def compiled(function: Callable[..., Any], *sample: Any) -> Compiled:
    """A function as compiled code; `sample` are arguments that give it nothing to do.

    Where nothing can be kept on disk, or a file there is damaged, it is compiled anew.
    """
    started = perf_counter()
    try:
        loop = numba.njit(cache=True, nogil=True)(function)
        loop(*sample)
    except (RuntimeError, OSError, EOFError, ValueError, pickle.UnpicklingError):
        loop = numba.njit(nogil=True)(function)
        loop(*sample)
    return Compiled(loop, perf_counter() - started)
