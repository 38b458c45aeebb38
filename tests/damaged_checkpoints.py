"""Checkpoints in which something was changed, and what comes of resuming them.

As a program, `python -m tests.damaged_checkpoints FOLDER PART ON…`, it resumes one of PART of
them in one process, with their digests made right again: whatever they do to it, they must not end
it.
"""

import contextlib
import io
import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from netwright.cli import main
from netwright.files import array_digest, seal, unseal

STEPS = 700
ON = ("transformer", "rnn", "neural-gpu", "machine")
NUMBERS = (0, -1, 10**9, -(10**9), 1 << 62)
Arrays = dict[str, Any]


def call(on: str) -> list[str]:
    """A run with a tape that grows, and with states and symbols of all kinds."""
    return ["run", "binary-counter", "--on", on, "--engine", "fast", "--json"]


def kept(file: Path, on: str) -> bytes:
    """The checkpoint of a run."""
    start = [*call(on), "--max-steps", str(STEPS), "--checkpoint", str(file)]
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(start) == 3
    return file.read_bytes()


def damaged(arrays: Arrays, part: int = 1) -> Iterator[tuple[str, Arrays]]:
    """One of `part` of all changes."""
    return islice(_damaged(arrays), 0, None, part)


def _damaged(arrays: Arrays) -> Iterator[tuple[str, Arrays]]:
    """Every array with some numbers changed; dropped, shortened, of another shape or type."""
    for name, array in arrays.items():
        for place in sorted({0, array.size // 2, array.size - 1} if array.size else ()):
            for number in NUMBERS:
                changed = array.copy()
                changed.flat[place] = number
                yield f"{name}[{place}] = {number}", {**arrays, name: changed}
        yield f"no {name}", {key: each for key, each in arrays.items() if key != name}
        yield f"{name} shorter", {**arrays, name: array[:-1].copy()}
        yield f"{name} empty", {**arrays, name: array[:0].copy()}
        yield f"{name} longer", {**arrays, name: np.concatenate([array, array])}
        yield f"{name} deeper", {**arrays, name: array[None].copy()}
        yield f"{name} flat", {**arrays, name: np.append(array.ravel(), 0)}
        for dtype in (np.float64, np.int32, np.uint8, np.uint64):
            yield f"{name} as {dtype.__name__}", {**arrays, name: array.astype(dtype)}
    yield "nothing", {}
    yield "more", {**arrays, "moments.other": np.zeros(3, dtype=np.int64)}


def forged(about: dict[str, Any], arrays: Arrays) -> bytes:
    """A file in which all digests are right."""
    digests = {name: array_digest(array) for name, array in arrays.items()}
    return seal({**about, "arrays": digests}, arrays)


def resumed(file: Path, on: str, data: bytes) -> tuple[int, dict[str, Any], str]:
    """Go on from a file: the exit code, the answer, the message."""
    file.write_bytes(data)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*call(on), "--max-steps", str(STEPS + 100), "--resume", str(file)])
    answer = json.loads(out.getvalue()) if out.getvalue() else {}
    return code, {key: each for key, each in answer.items() if "seconds" not in key}, err.getvalue()


def resume_all(folder: Path, on: str, part: int) -> tuple[int, int]:
    """Resume every damaged checkpoint with right digests; how many were refused, and were not."""
    file = folder / f"{on}.kept"
    about, arrays = unseal(kept(file, on), "file", "checkpoint")
    counts = {True: 0, False: 0}
    for name, changed in damaged(arrays, part):
        print(f"{on}: {name}", flush=True)  # the last line tells what ended the process
        code, answer, message = resumed(file, on, forged(about, changed))
        assert code in (0, 1, 2, 3), (name, code)
        assert (code == 2) == (not answer) == bool(message), (name, code, message)
        counts[code == 2] += 1
    return counts[True], counts[False]


if __name__ == "__main__":
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (600, 600))
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    for on in sys.argv[3:]:
        refused, answered = resume_all(Path(sys.argv[1]), on, int(sys.argv[2]))
        print(f"{on}: {refused} refused, {answered} answered")
