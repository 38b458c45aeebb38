"""The examples run, and print what they promise."""

import subprocess
import sys
from pathlib import Path

import pytest

import netwright as nw

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


def printed(path: Path, *arguments: str) -> str:
    command = [sys.executable, str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


OWN_TESTS = ("many_machines", "lecture_pictures")


@pytest.mark.parametrize(
    "path",
    [path for path in EXAMPLES if path.stem not in OWN_TESTS],
    ids=lambda path: path.stem,
)
def test_an_example_runs(path: Path) -> None:
    assert printed(path)


def test_three_networks_say_the_same() -> None:
    path = next(path for path in EXAMPLES if path.stem == "three_networks")
    lines = printed(path, "binary-increment", "1011").splitlines()
    assert len(lines) == len(nw.kinds()) + 1
    assert all("halted after 8 steps in done, head 0, tape 1100" in line for line in lines)


def test_the_machine_made_for_a_failure_meets_it() -> None:
    path = next(path for path in EXAMPLES if path.stem == "where_floats_fail")
    text = printed(path, "bfloat16")
    assert "token 10 does not prefer visit 5 of cell 3 to visit 3" in text
    assert "a machine of 10 states on a^2: y_11 shows a, not b" in text


def printed_by(stem: str, *arguments: str) -> str:
    return printed(next(path for path in EXAMPLES if path.stem == stem), *arguments)


def test_the_lemma_of_every_residual_connection() -> None:
    text = printed_by("check_a_lemma")
    assert "no difference" in text
    assert "Lemma B.4: Q, K, V and O of layer 3, score paper, 4 cases" in text
    rows = [line for line in text.splitlines() if line.startswith("without")]
    assert len(rows) == 11
    assert all(" fails, y_1 is wrong" in row for row in rows)


def test_the_pictures_of_a_lecture(tmp_path: Path) -> None:
    text = printed_by("lecture_pictures", str(tmp_path / "pictures"))
    assert "busy-beaver-5: the tape over time" in text
    assert len(list((tmp_path / "pictures").iterdir())) == 5


def test_many_machines_become_a_table_and_a_list() -> None:
    text = printed_by("many_machines", "300")
    assert "300 machines, 600 rows, 0 disagreements" in text
    folder = Path(text.split()[-1])
    assert len((folder / "rows.csv").read_text().splitlines()) == 601
    assert (folder / "undecided.txt").read_text().count("\n") > 10
