"""The examples run, and print what they promise."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


def printed(path: Path, *arguments: str) -> str:
    command = [sys.executable, str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path: Path) -> None:
    assert printed(path)


def test_three_networks_say_the_same() -> None:
    path = next(path for path in EXAMPLES if path.stem == "three_networks")
    lines = printed(path, "binary-increment", "1011").splitlines()
    assert len(lines) == 8
    assert all("halted after 8 steps in done, head 0, tape 1100" in line for line in lines)


def test_the_machine_made_for_a_failure_meets_it() -> None:
    path = next(path for path in EXAMPLES if path.stem == "where_floats_fail")
    text = printed(path, "bfloat16")
    assert "token 10 does not prefer visit 5 of cell 3 to visit 3" in text
    assert "a machine of 10 states on a^2: y_11 shows a, not b" in text
