"""Checkpoint files, from which a run is resumed: `--checkpoint` and `--resume`.

The file holds the arrays of the run's state, and names the run. Digests reveal damage; the code
that restores the arrays checks that they make sense. (A digest is not a signature: a forged file
with right digests and sensible arrays can resume a run from where it never was.)
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
    """The file to save a run to (`keep`) and the one to resume from; either may be None.

    `run` identifies the run, as JSON; files of other runs are refused. While the context manager
    `open` is active, no other process can save a run to the same file.
    """

    def __init__(
        self, run: Mapping[str, object], keep: Path | None, resume: Path | None, every: float = 30.0
    ) -> None:
        self.every = every
        self.run, self.keep, self.resume = json.loads(json.dumps(run)), keep, resume
        self._own: stat_result | None = None
        """The status of the file `keep` when this run last wrote or found it."""

    @contextmanager
    def open(self) -> Iterator["Checkpoint"]:
        """Lock the file to save to; InputError if it exists and is not the one to resume from."""
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
                        f"{self.keep} exists; if it is a checkpoint, --resume {self.keep} "
                        "resumes it; otherwise name another file"
                    )
                self._own = self.keep.stat()
            yield self

    def read(self) -> Snapshot | None:
        """The state to resume from, checked; None if there is none."""
        if self.resume is None:
            return None
        label = str(self.resume)
        about, arrays = unseal(read_file(self.resume, LARGEST, "checkpoint"), label, "checkpoint")
        if about.get("kind") != KIND:
            kind = str(about.get("kind"))[:60]
            raise FormatError(f"{label} is a {kind!r}; this netwright reads {KIND!r}")
        run, digests = about.get("run"), about.get("arrays")
        if not isinstance(run, dict) or not isinstance(digests, dict):
            raise FormatError(
                f"{label} is not an intact netwright checkpoint: it does not say of what run"
            )
        if run != self.run:
            keys = dict.fromkeys([*self.run, *run])
            names = [key[:20] for key in keys if run.get(key) != self.run.get(key)][:8]
            raise InputError(
                f"{label} was made by another run (different {', '.join(names)}); resume with the "
                "same command"
            )
        for name in sorted({*arrays, *digests}):
            if name not in arrays or digests.get(name) != array_digest(arrays[name]):
                raise FormatError(
                    f"{label} is not an intact netwright checkpoint: {name} was changed"
                )
        return arrays

    def write(self, state: Snapshot) -> None:
        """Save a state, replacing the previous one; OutputError if another process changed it."""
        if self.keep is None:
            return
        whole = {name: np.ascontiguousarray(array) for name, array in state.items()}
        digests = {name: array_digest(array) for name, array in whole.items()}
        about = {"kind": KIND, "run": self.run, "arrays": digests}
        if self._own is not None and paths.lexists(self.keep):  # if removed, nothing can be lost
            now = self.keep.stat()
            if (now.st_ino, now.st_mtime_ns) != (self._own.st_ino, self._own.st_mtime_ns):
                raise OutputError(f"{self.keep} was changed by another process; not overwritten")
        write_whole(self.keep, seal(about, whole), fresh=self._own is None)
        self._own = self.keep.stat()


def fingerprint(content: bytes) -> str:
    """The SHA-256 digest of content that is too long to store."""
    return hashlib.sha256(content).hexdigest()
