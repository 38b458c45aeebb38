"""A run kept in a file, to go on with it later: `--checkpoint` and `--resume`.

The file has the arrays of the run's state, and says of which run they are. Digests of all of it
tell damage; that the arrays make sense is checked by who restores them. (Whoever writes a file
with right digests and sensible arrays can make a run go on from where it never was: a digest is no
signature.)
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import path as paths
from os import stat_result
from pathlib import Path

import numpy as np

from netwright.errors import FormatError, InputError, OutputError
from netwright.exact.snapshot import Snapshot
from netwright.files import array_digest, check_output, locked, read_file, seal, unseal, write_whole

KIND = "netwright checkpoint 4"
LARGEST = 1 << 34  # bytes


class Checkpoint:
    """Where a run is kept and where it begins: either may be None.

    `run` says which run it is, as JSON; only a file of the same run is taken. While the context
    manager `open` is active, no other process can keep a run in the same place.
    """

    def __init__(
        self, run: Mapping[str, object], keep: Path | None, resume: Path | None, every: float = 30.0
    ) -> None:
        self.every = every
        self.run, self.keep, self.resume = json.loads(json.dumps(run)), keep, resume
        self._own: stat_result | None = None
        """The file in `keep` as this run left or found it."""

    @contextmanager
    def open(self) -> Iterator["Checkpoint"]:
        """Lock the file to keep the run in; refuse one that this run did not write."""
        if self.resume is not None and not self.resume.exists():
            raise FormatError(f"{self.resume} cannot be read: there is no such file")
        if self.keep is None:
            yield self
            return
        check_output(self.keep, force=True)
        with locked(self.keep):
            if self.keep.exists():
                if self.resume is None or not self.keep.samefile(self.resume):
                    raise InputError(
                        f"{self.keep} exists; if it is a checkpoint, --resume {self.keep} goes on "
                        "from it; else name another file"
                    )
                self._own = self.keep.stat()
            yield self

    def read(self) -> Snapshot | None:
        """The state in the file to begin with."""
        if self.resume is None:
            return None
        label = str(self.resume)
        about, arrays = unseal(read_file(self.resume, LARGEST, "checkpoint"), label, "checkpoint")
        if about.get("kind") != KIND:
            kind = str(about.get("kind"))[:60]
            raise FormatError(f"{label} is a {kind!r}; this netwright reads {KIND!r}")
        run, digests = about.get("run"), about.get("arrays")
        if not isinstance(run, dict) or not isinstance(digests, dict):
            raise FormatError(f"{label} is not a whole checkpoint: it does not say of what")
        if run != self.run:
            keys = dict.fromkeys([*self.run, *run])
            names = [key[:20] for key in keys if run.get(key) != self.run.get(key)][:8]
            raise InputError(
                f"{label} was made by another run (another {', '.join(names)}); resume with the "
                "same command"
            )
        for name in sorted({*arrays, *digests}):
            if name not in arrays or digests.get(name) != array_digest(arrays[name]):
                raise FormatError(f"{label} is not a whole checkpoint: {name} was changed")
        return arrays

    def write(self, state: Snapshot) -> None:
        """Keep a state, in place of the one before, and of nothing else."""
        if self.keep is None:
            return
        whole = {name: np.ascontiguousarray(array) for name, array in state.items()}
        digests = {name: array_digest(array) for name, array in whole.items()}
        about = {"kind": KIND, "run": self.run, "arrays": digests}
        if self._own is not None and not self._is_own():
            raise OutputError(f"{self.keep} was changed by somebody else, and is not overwritten")
        write_whole(self.keep, seal(about, whole), fresh=self._own is None)
        self._own = self.keep.stat()

    def _is_own(self) -> bool:
        """Whether the file is still the one that this run wrote or began with."""
        assert self.keep is not None
        if not paths.lexists(self.keep):
            return True  # somebody removed it; there is nothing to lose
        now = self.keep.stat()
        return (now.st_ino, now.st_mtime_ns) == (self._own.st_ino, self._own.st_mtime_ns)  # type: ignore[union-attr]


def fingerprint(content: bytes) -> str:
    """A short name for what is too long to keep."""
    return hashlib.sha256(content).hexdigest()
