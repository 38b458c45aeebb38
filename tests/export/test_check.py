"""A check finds what is wrong, says where, and lets nothing wrong be written unasked."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import netwright as nw
from netwright.errors import InputError, OutputError
from netwright.export import folder as folders
from netwright.export import place as places
from netwright.export import subject
from netwright.export.folder import CheckFailedError
from netwright.export.numpy_target import NumpyTarget
from netwright.export.place import read_report
from netwright.machine.library import library_machine
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import compile_network
from netwright.network.tensors import NamedTensors

PALINDROME = compile_network(library_machine("palindrome"))


def test_floats_that_go_wrong_are_not_written(tmp_path: Path) -> None:
    """In float32 the 5-state busy beaver attends wrongly from token 144 on, or nearby."""
    beaver = compile_network(library_machine("busy-beaver-5"))
    with pytest.raises(CheckFailedError, match=r"right only up to 1\d\d outputs") as caught:
        beaver.export("numpy", tmp_path / "bb5", dtype="float32")
    lines = str(caught.value).split("\n")
    # Not always 144: a product of matrices is summed as the processor likes it best.
    wrong = re.fullmatch(r"token (1\d\d) attends to .* in decoder.3.self, not to \d+", lines[1])
    assert wrong is not None
    assert lines[2].startswith("y_4")
    advice = " ".join(lines[3:])
    assert "--dtype float64, --score recency, a smaller --check, or --keep-failed" in advice
    assert all(len(line) <= 76 for line in lines[1:])
    assert [*tmp_path.iterdir()] == []
    made = beaver.export("numpy", tmp_path / "bb5", dtype="float32", keep_failed=True)
    report = json.loads((tmp_path / "bb5" / "checked.json").read_text(encoding="utf-8"))
    assert report == made.about
    assert not report["holds"]
    assert report["predicted"] == [
        {"word": [], "wrong_index": 144, "wrong_output": 470, "wrong_step": None}
    ]
    assert report["checks"][0]["index"]["token"] == int(wrong[1])
    assert f"right to {wrong[1]}" in (tmp_path / "bb5" / "README.md").read_text(encoding="utf-8")
    assert beaver.export("numpy", tmp_path / "short", dtype="float32", check=90).holds


def test_stacks_in_a_base_that_floats_do_not_have(tmp_path: Path) -> None:
    """In base 3 the digits of a stack are rounded, in base 4 they are bits."""
    sweeper = library_machine("sweeper")
    with pytest.raises(CheckFailedError, match=r"right only up to \d\d outputs") as caught:
        compile_network(sweeper, "rnn").export("numpy", tmp_path / "rnn")
    assert "try --base 4" in str(caught.value)
    made = compile_network(sweeper, "rnn", base=4).export("numpy", tmp_path / "rnn", check=300)
    assert made.holds


def damaged(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """Files with a weight that is not what it should be."""
    write = NumpyTarget.write

    def damage(self: NumpyTarget, named: NamedTensors, folder: Path, dtype: str) -> None:
        write(self, named, folder, dtype)
        text = (folder / self.code).read_text(encoding="utf-8")
        assert text.count(old) == 1
        (folder / self.code).write_text(text.replace(old, new), encoding="utf-8")

    monkeypatch.setattr(NumpyTarget, "write", damage)


LINE = re.compile(r"^    '(.*?)': \(\(.*\), \[\[.*$", re.MULTILINE)
"""A tensor that has a number in it."""


def test_any_damaged_weight_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every tensor, the first number and the last; also where no output shows it."""
    PALINDROME.export("numpy", tmp_path / "whole")
    text = (tmp_path / "whole" / "network.py").read_text(encoding="utf-8")
    lines = {found[1]: found[0] for found in LINE.finditer(text)}
    assert {"seed", "embedding", "readout.weight", "decoder.3.V.weight", "F.1.bias"} <= set(lines)
    seen_in_outputs = 0
    for name, line in lines.items():
        for pattern in (r"'-?[\d/]+'(\].*)", r"'-?[\d/]+'(\]\]\),)$"):
            with monkeypatch.context() as patch:
                damaged(patch, line, re.sub(pattern, r"'5/7'\1", line, count=1))
                with pytest.raises(CheckFailedError, match="nothing was written") as caught:
                    PALINDROME.export("numpy", tmp_path / "damaged")
            wrong = caught.value.export
            assert wrong.weight is not None
            assert wrong.weight.tensor == name
            assert wrong.weight.found == str(5 / 7)
            seen_in_outputs += not all(each.holds for each in wrong.checks)
    assert seen_in_outputs > len(lines)
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]


def test_places_that_are_not_overwritten(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("precious")
    with pytest.raises(OutputError, match="exists; name another folder, or overwrite it: --force"):
        PALINDROME.export("numpy", mine)
    with pytest.raises(OutputError, match="is not an export of netwright; not overwritten"):
        PALINDROME.export("numpy", mine, force=True)
    file = tmp_path / "file"
    file.write_text("precious")
    with pytest.raises(OutputError, match="exists and is not a folder"):
        PALINDROME.export("numpy", file, force=True)
    (tmp_path / "link").symlink_to(mine)
    with pytest.raises(OutputError, match="exists and is not a folder"):
        PALINDROME.export("numpy", tmp_path / "link", force=True)
    with pytest.raises(OutputError, match="No such file or directory"):
        PALINDROME.export("numpy", tmp_path / "no" / "folder")
    assert (mine / "thesis.txt").read_text() == file.read_text() == "precious"
    PALINDROME.export("numpy", tmp_path / "again")
    before = read_report(tmp_path / "again")
    PALINDROME.export("numpy", tmp_path / "again", inputs=["ab"], force=True)
    assert read_report(tmp_path / "again") not in (None, before)
    (tmp_path / "again" / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"has a file notes\.txt, which is not part of"):
        PALINDROME.export("numpy", tmp_path / "again", force=True)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(OutputError, match=r"links form a cycle|is not a folder"):
        PALINDROME.export("numpy", tmp_path / "loop", force=True)
    with pytest.raises(OutputError, match="is not valid text"):
        PALINDROME.export("numpy", str(tmp_path / "\udc80"))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["again", "file", "link", "loop", "mine"]


def test_an_older_export_comes_back_if_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    PALINDROME.export("numpy", tmp_path / "old")
    before = places.digests(tmp_path / "old")
    rename = Path.rename

    def interrupted(self: Path, target: Path) -> Path:
        if self.parent.name == "new":
            raise KeyboardInterrupt
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", interrupted)
        with pytest.raises(KeyboardInterrupt, match=r"^$"):
            PALINDROME.export("numpy", tmp_path / "old", inputs=["ab"], force=True)
    assert places.digests(tmp_path / "old") == before
    PALINDROME.export("numpy", tmp_path / "old", inputs=["ab"], force=True)
    assert places.digests(tmp_path / "old") != before
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_an_interrupted_export_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subject, "check_outputs", interrupt)
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        PALINDROME.export("numpy", tmp_path / "export")
    assert [*tmp_path.iterdir()] == []


def test_what_cannot_be_exported_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "export"
    with pytest.raises(InputError, match="no target 'tensorflow'"):
        PALINDROME.export("tensorflow", place)
    with pytest.raises(InputError, match="no dtype for numpy 'float16'"):
        PALINDROME.export("numpy", place, dtype="float16")
    with pytest.raises(InputError, match="rnn has no code for hf; it can be exported to numpy, "):
        compile_network(library_machine("palindrome"), "rnn").export("hf", place)
    with pytest.raises(InputError, match="input symbol 'c' at position 2"):
        PALINDROME.export("numpy", place, inputs=["ac"])
    for most in (45**2 - 1, 10**4):
        monkeypatch.setattr(folders, "MOST_NUMBERS", most)
        with pytest.raises(InputError, match="numbers or more, including zeros; exports have at"):
            PALINDROME.export("numpy", place)
    assert [*tmp_path.iterdir()] == []


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    said = r"needs torch: pip install 'netwright\[torch\]'"
    with pytest.raises(InputError, match=said):
        PALINDROME.export("torch", tmp_path / "export")
    with pytest.raises(InputError, match=said):
        PALINDROME.to_torch()


def test_an_unchecked_export_says_so(tmp_path: Path) -> None:
    made = PALINDROME.export("numpy", tmp_path / "export", check=0)
    assert repr(made) == (
        "<numpy export of transformer of palindrome, dimension 45, float64: not checked>"
    )
    assert "It was not checked." in (made.folder / "README.md").read_text(encoding="utf-8")


def test_the_part_of_a_run_that_was_checked_is_said(tmp_path: Path) -> None:
    made = PALINDROME.export("numpy", tmp_path / "export", inputs="abba", check=10)
    assert [(each.outputs, each.ended) for each in made.checks] == [(10, False)]
    with pytest.raises(InputError, match="expected at most 10,000,000 outputs"):
        PALINDROME.export("numpy", tmp_path / "other", check=10**30)


def test_names_that_no_text_can_have(tmp_path: Path) -> None:
    """Half of a pair of surrogates; and what would be markup on a page."""
    machine = TuringMachine(["b\ud800"], ["_"], "_", "b\ud800", {})
    with pytest.raises(OutputError, match="no lone surrogates"):
        compile_network(machine).export("numpy", tmp_path / "odd")
    odd = ["| a |", "```", "# x\n# y"]
    machine = TuringMachine(odd, ["_", "|"], "_", odd[0], {(odd[0], "|"): (odd[1], "|", "R")})
    for to in ("numpy", "onnx"):
        made = compile_network(machine).export(to, tmp_path / to, inputs=["|"])
        assert made.holds
        page = (tmp_path / to / "README.md").read_text(encoding="utf-8")
        assert "| \\| | step by step |" in page


def test_a_forged_network_is_not_exported_as_its_machines(tmp_path: Path) -> None:
    """It was compared with its own run alone: a palindrome that accepted ab, and held."""
    network = nw.compile("palindrome").with_weight("decoder.3.V", "s2[a]", "s4[a]", 0)
    network = network.with_weight("decoder.3.V", "s2[a]", "s4[b]", 1)
    replace(network, changes=()).save(tmp_path / "forged")
    forged = nw.load(tmp_path / "forged")
    with pytest.raises(CheckFailedError, match="its own exact run on a b is not its machine's"):
        forged.export("numpy", tmp_path / "out", inputs=["ab"])
    made = forged.export("numpy", tmp_path / "out", inputs=["ab"], keep_failed=True)
    assert not made.holds
    report = json.loads((tmp_path / "out" / "checked.json").read_text())
    assert (report["holds"], report["runs_as_the_machine"]) == (False, False)
    assert report["trust"].startswith("not certified: Lemma B.4")
    # What is said to be changed is not the machine's, and nobody says so.
    made = network.export("numpy", tmp_path / "changed", inputs=["ab"])
    assert (made.about["trust"], made.about["runs_as_the_machine"]) == ("changed", False)


def test_what_a_report_says_of_the_network(tmp_path: Path) -> None:
    network = nw.compile("palindrome")
    about = network.export("numpy", tmp_path / "a", inputs=["ab", "abba"]).about
    assert about["machine_digest"] == network.machine.digest
    assert (about["trust"], about["runs_as_the_machine"]) == ("compiled", True)
    assert about["checked"] > 30
    network.save(tmp_path / "saved")
    about = nw.load(tmp_path / "saved").export("numpy", tmp_path / "b").about
    assert (about["trust"], about["holds"]) == ("certified", True)
    about = network.export("numpy", tmp_path / "c", check=0).about
    assert (about["checked"], about["runs_as_the_machine"], "holds" in about) == (0, None, False)


def test_names_are_no_markup_in_a_readme(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script> [x](http://y) | `"
    machine = replace(library_machine("even-as"), name=evil, description=evil)
    nw.compile(machine).export("numpy", tmp_path / "out", check=5)
    text = (tmp_path / "out" / "README.md").read_text()
    assert "<script>" not in text.replace("\\<script", "")
    assert "[x](" not in text.replace("\\[x\\](", "")
