"""A run kept in a file, to go on with it later: `--checkpoint` and `--resume`."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from netwright.errors import FormatError, InputError
from netwright.exact.observe import State
from netwright.files import check_output, seal, unseal, write_whole

KIND = "netwright checkpoint 1"


class Checkpoint:
    """Where a run is kept and where it begins: either may be None.

    `run` says which run it is, as JSON; only a file of the same run is taken.
    """

    def __init__(
        self, run: Any, keep: Path | None, resume: Path | None, every: float = 30.0
    ) -> None:
        self.every = every
        self.run, self.keep, self.resume = json.loads(json.dumps(run)), keep, resume
        if keep is not None:
            check_output(keep, force=True)
        if resume is not None and not resume.is_file():
            raise FormatError(f"{resume} cannot be read: there is no such file")
        same = resume is not None and keep is not None and keep.exists() and keep.samefile(resume)
        if keep is not None and keep.exists() and not same:
            raise InputError(
                f"{keep} exists; if it is a checkpoint, --resume {keep} goes on from it; else name "
                "another file"
            )

    def read(self) -> State | None:
        """The state in the file to begin with."""
        if self.resume is None:
            return None
        try:
            data = self.resume.read_bytes()
        except OSError as error:
            raise FormatError(f"{self.resume} cannot be read: {error.strerror}") from None
        about, arrays = unseal(data, str(self.resume), "checkpoint")
        if about.get("kind") != KIND:
            kind = about.get("kind")
            raise FormatError(f"{self.resume} is a {kind!r}; this netwright reads {KIND!r}")
        if about["run"] != self.run:
            names = [key for key in self.run if about["run"].get(key) != self.run[key]]
            raise InputError(
                f"{self.resume} was made by another run (another {', '.join(names)}); resume with "
                "the same command"
            )
        return arrays

    def write(self, state: State) -> None:
        """Keep a state, in place of the one before."""
        if self.keep is not None:
            about = {"kind": KIND, "run": self.run}
            whole = {name: np.ascontiguousarray(array) for name, array in state.items()}
            write_whole(self.keep, seal(about, whole))


def fingerprint(content: bytes) -> str:
    """A short name for what is too long to keep."""
    return hashlib.sha256(content).hexdigest()
