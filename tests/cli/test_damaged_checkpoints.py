"""A checkpoint with anything in it changed is refused, or gives the right answer."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.damaged_checkpoints import ON, damaged, forged, kept, resumed
from tests.repetition import repeated

from netwright.files import seal, unseal

PART = repeated(1, 9)
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("on", ON)
def test_what_was_changed_is_refused_or_right(on: str, tmp_path: Path) -> None:
    """With the right digest of the file; what its arrays are, it says too."""
    file = tmp_path / "kept"
    about, arrays = unseal(kept(file, on), "file", "checkpoint")
    code, right, _ = resumed(file, on, seal(about, arrays))
    assert (code, right["steps"]) == (3, 800)
    refused = 0
    for name, changed in damaged(arrays, PART):
        code, answer, message = resumed(file, on, seal(about, changed))
        assert code == 2 or answer == right, name
        assert (code == 2) == message.startswith("netwright: "), name
        assert message.count("\n") <= 1, message
        refused += code == 2
    assert refused > 50 // PART


@pytest.mark.parametrize("on", ON)
def test_nothing_in_a_checkpoint_ends_the_process(on: str, tmp_path: Path) -> None:
    """With all digests right: arrays are checked before compiled code sees them."""
    call = [sys.executable, "-m", "tests.damaged_checkpoints", str(tmp_path), str(PART), on]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout.splitlines()[-1:], done.stderr[-2000:])
    assert done.stdout.splitlines()[-1].endswith("answered")


def test_small_files_that_ask_for_much_are_refused(tmp_path: Path) -> None:
    """A tape that begins far away, and a time that no run of so few steps has."""
    file = tmp_path / "kept"
    about, arrays = unseal(kept(file, "transformer"), "file", "checkpoint")
    far = {
        "follower.tape_place": np.array([1 << 28, 0, -1]),
        "follower.tape": np.zeros(1, dtype=np.int64),
        "follower.place": arrays["follower.place"] * [1, 0, 1, 1, 1, 0] - [0, 1, 0, 0, 0, 0],
    }
    code, _, message = resumed(file, "transformer", forged(about, {**arrays, **far}))
    assert (code, "its tape ends before its cells do" in message) == (2, True)
    late = {
        "moments.moments": np.array([1 << 40]),
        "follower.place": np.array([1 << 40, 0, 0, 0, 0, 0]),
        "follower.tape_place": np.array([0, 0, -1]),
        "follower.tape": np.zeros(1, dtype=np.int64),
    }
    code, _, message = resumed(file, "transformer", forged(about, late))
    assert (code, f"{1 << 40} tokens" in message) == (2, True)
    about["run"]["more"] = 1
    assert "different more" in resumed(file, "transformer", forged(about, arrays))[2]
    kind = forged({**about, "kind": "k" * 400_000}, arrays)
    assert len(resumed(file, "transformer", kind)[2]) < 300
