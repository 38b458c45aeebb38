"""The zoo: every machine of the library, an index, and going on after a stop."""

import json
from itertools import islice
from pathlib import Path

import pytest
from tests.networks import KINDS
from tests.repetition import repeated

from netwright.errors import InputError, OutputError
from netwright.export.zoo import write_zoo
from netwright.machine.library import library_names


def test_all_of_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it with `make test-thorough`; some of it, and all kinds, in `make test`."""
    names = library_names()[:: repeated(1, 5)]
    monkeypatch.setattr("netwright.export.zoo.library_names", lambda: names)
    place = tmp_path / "zoo"
    found = [*write_zoo("numpy", place, check=60)]
    assert [(each.machine, each.kind) for each in found] == [
        (name, kind) for name in names for kind in KINDS
    ]
    index = json.loads((place / "index.json").read_text(encoding="utf-8"))
    assert [row["folder"] for row in index["networks"]] == [each.folder for each in found]
    page = (place / "README.md").read_text(encoding="utf-8")
    wrong = [each for each in found if not each.holds]
    # Stacks of many symbols are no binary fractions: floats go wrong there, and it is said.
    assert wrong
    assert {each.kind for each in wrong} <= {"rnn", "neural-gpu"}
    for each in found:
        assert f"[{each.folder}]({each.folder}) | {each.computes}" in page
        assert (place / each.folder / "network.py").is_file()
        assert each.verdict in page
        assert each.verdict.startswith("checked to" if each.holds else "right to ")
    assert not any(each.fresh for each in write_zoo("numpy", place, check=60))


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    place = tmp_path / "zoo"
    kinds = ["transformer"]
    some = [*islice(write_zoo("numpy", place, on=kinds, check=9), 5)]
    assert all(each.fresh for each in some)
    index = json.loads((place / "index.json").read_text(encoding="utf-8"))
    assert len(index["networks"]) >= 4
    damaged = place / some[2].folder / "checked.json"
    kept = damaged.read_text(encoding="utf-8")
    damaged.write_text("{}")
    with pytest.raises(OutputError, match="is not an export of netwright; not overwritten"):
        [*write_zoo("numpy", place, on=kinds, check=9)]
    damaged.write_text(kept, encoding="utf-8")
    damaged.with_name("network.py").write_text("garbage")
    again = [*islice(write_zoo("numpy", place, on=kinds, check=9), 7)]
    assert [each.fresh for each in again] == [False, False, True, False, False, True, True]
    # Checked farther is another check. Other kinds stay in the index.
    assert next(write_zoo("numpy", place, on=kinds, check=10)).fresh
    assert not next(write_zoo("numpy", place, on=kinds, check=10)).fresh
    assert next(write_zoo("numpy", place, on=kinds, check=10, force=True)).fresh
    [*islice(write_zoo("numpy", place, on=["rnn"], check=9), 2)]
    index = json.loads((place / "index.json").read_text(encoding="utf-8"))
    found = [row["folder"] for row in index["networks"]]
    assert found[:4] == [
        f"{name}-{kind}" for name in library_names()[:2] for kind in ("transformer", "rnn")
    ]
    assert len(found) == 7 + 2
    for to, dtype in (("onnx", "float64"), ("numpy", "float32")):
        with pytest.raises(OutputError, match="is a zoo for numpy in float64; name another folder"):
            next(write_zoo(to, place, check=9, dtype=dtype))


def test_a_folder_that_is_something_else(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(OutputError, match="is not a netwright zoo; name another folder"):
        next(write_zoo("numpy", tmp_path, force=True))
    with pytest.raises(OutputError, match="exists and is not a folder"):
        next(write_zoo("numpy", tmp_path / "thesis.txt", force=True))
    with pytest.raises(OutputError, match="No such file or directory"):
        next(write_zoo("numpy", tmp_path / "no" / "zoo"))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    (tmp_path / "index.json").write_text('{"name": "my app"}')
    with pytest.raises(OutputError, match="is not a netwright zoo; name another folder"):
        next(write_zoo("numpy", tmp_path, force=True))
    with pytest.raises(InputError, match=r"rnn has no code for hf|needs torch"):
        next(write_zoo("hf", tmp_path / "zoo", on=["rnn"]))
