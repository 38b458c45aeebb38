"""`netwright claims` says of the proofs in Coq what proofs/checked.json allows, and no more."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from netwright.claims.proofs import Proofs, digests, proofs_here
from netwright.cli import claims as verb
from netwright.cli import main

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout with the files of proofs/ as they are, compiled."""
    (tmp_path / "PAPER.toml").touch()
    found = tmp_path / "proofs"
    found.mkdir()
    for path in (ROOT / "proofs").glob("*.v"):
        shutil.copy(path, found)
    write_checked(found)
    return found


def write_checked(folder: Path) -> None:
    found = {"coq": "8.16.1", "closed_theorems": 13, "files": digests(folder)}
    (folder / "checked.json").write_text(json.dumps(found), encoding="utf-8")


def test_the_files_that_were_compiled(folder: Path) -> None:
    (folder / "Check.v").write_text("(* generated for each check *)", encoding="utf-8")
    assert proofs_here(folder) == Proofs(None, 13, "8.16.1")
    assert proofs_here(folder).result == "compiled here"


def test_a_changed_file(folder: Path) -> None:
    path = folder / "Given.v"
    path.write_bytes(path.read_bytes() + b" ")
    assert proofs_here(folder).result == "not compiled here: Given.v has changed since"


def test_a_new_file_and_one_that_is_gone(folder: Path) -> None:
    (folder / "Given.v").rename(folder / "Other.v")
    assert proofs_here(folder) == Proofs("Given.v is gone")
    shutil.copy(ROOT / "proofs" / "Given.v", folder)
    assert proofs_here(folder) == Proofs("Other.v is new since")


def test_weights_of_another_network(folder: Path) -> None:
    path = folder / "WeightsDot.v"
    shutil.copy(folder / "Weights.v", path)
    write_checked(folder)
    assert proofs_here(folder) == Proofs("WeightsDot.v has other weights than the network")
    path.unlink()
    write_checked(folder)
    assert proofs_here(folder) == Proofs("WeightsDot.v is gone")


def test_nothing_compiled(folder: Path) -> None:
    (folder / "checked.json").unlink()
    assert "there is no proofs/checked.json" in proofs_here(folder).result


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "\xff",
        '{"files": [], "closed_theorems": 1, "coq": "8"}',
        '{"files": {}, "closed_theorems": true, "coq": "8"}',
        '{"files": {}, "closed_theorems": 1, "coq": 8}',
    ],
)
def test_a_damaged_record(folder: Path, text: str) -> None:
    (folder / "checked.json").write_text(text, encoding="latin-1")
    assert "proofs/checked.json is damaged" in proofs_here(folder).result


def test_an_installed_package_has_no_proofs(folder: Path, tmp_path: Path) -> None:
    assert proofs_here(tmp_path / "lib") == Proofs("the proofs are in a source checkout")
    (folder.parent / "PAPER.toml").unlink()
    assert proofs_here(folder) == Proofs("the proofs are in a source checkout")


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (Proofs(None, 13, "8.16.1"), "proofs in Coq: compiled here by Coq 8.16.1, 13 theorems\n"),
        (Proofs("A.v is gone"), "proofs in Coq: not compiled here: A.v is gone\n"),
    ],
)
def test_the_entry(capsys: Any, monkeypatch: Any, found: Proofs, line: str) -> None:
    monkeypatch.setattr(verb, "proofs_here", lambda: found)
    assert main(["claims", "Lemma B.6"]) == 0
    assert "Coq" not in capsys.readouterr().out  # it has no theorem there
    assert main(["claims", "Linked visits"]) == 0
    assert line in capsys.readouterr().out
    assert main(["claims", "Linked visits", "--json"]) == 0
    entry = json.loads(capsys.readouterr().out)["proofs"]
    assert entry == {
        "compiled": found.missing is None,
        "result": found.result,
        "coq": found.coq,
        "theorems": found.theorems,
        "statements": ["Linked visits"],
    }
