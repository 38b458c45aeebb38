"""Compiled loops are kept on disk, and what is damaged there is written anew."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from tests.repetition import repeated

from netwright.jit import compiled, is_compiled


def test_a_loop_is_compiled_once_in_a_process() -> None:
    def triple(x: Any) -> None:
        for i in range(x.size):
            x[i] *= 3

    numbers = np.array([1, 2], dtype=np.int64)
    assert not is_compiled(triple)
    first = compiled(triple, numbers[:0])
    assert is_compiled(triple)
    assert compiled(triple, numbers[:0]).loop is first.loop
    floats = np.array([0.5])
    compiled(triple, floats[:0]).loop(floats)
    first.loop(numbers)
    assert (numbers.tolist(), floats.tolist()) == ([3, 6], [1.5])


LOADING = """
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import double
from netwright.jit import compiled
numbers = np.array([1, 2], dtype=np.int64)
compiled(double.double, numbers[:0]).loop(numbers)
assert numbers.tolist() == [2, 4]
"""


def test_damaged_code_is_not_run(tmp_path: Path) -> None:
    """Wherever in the files of the cache a byte is another one, it ends no process."""
    (tmp_path / "double.py").write_text(
        "def double(x):\n    for i in range(x.size):\n        x[i] *= 2\n"
    )
    call = [sys.executable, "-c", LOADING, str(tmp_path)]

    def load() -> None:
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")

    load()
    code, index, digests = (next(tmp_path.rglob(f"*.{end}")) for end in ("nbc", "nbi", "sha256"))
    for file, count in ((code, repeated(6, 2)), (index, repeated(2, 1)), (digests, 1)):
        whole = file.read_bytes()
        for part in range(count):
            place = len(whole) * (2 * part + 1) // (2 * count)
            damaged = bytes([byte ^ 0x5A for byte in whole[place : place + 64]])
            file.write_bytes(whole[:place] + damaged + whole[place + 64 :])
            load()
            whole = file.read_bytes()
    written = {file: file.stat().st_mtime_ns for file in (code, index, digests)}
    load()  # what is as it was written is used
    assert written == {file: file.stat().st_mtime_ns for file in written}
    (tmp_path / "beside.py").write_text("FACTOR = 2\n")
    load()  # a source beside it is another one: it is compiled anew
    assert all(file.stat().st_mtime_ns > before for file, before in written.items())
