"""`netwright audit` accepts good files, and names what is damaged or forged."""

import contextlib
import io
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.repetition import repeated

import netwright as nw
from netwright.campaign import Local, Plan, run
from netwright.campaign.store import Store
from netwright.cli import main
from netwright.errors import FormatError, InputError, NetwrightError
from netwright.export.place import report_digest

KINDS = ("machine", "certificate", "network", "checkpoint", "export", "campaign")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file or folder of each kind, by name."""
    folder = tmp_path_factory.mktemp("good")
    (folder / "machine").write_text("1RB1LB_1LA1RZ\n")
    network = nw.compile("palindrome")
    network.save(folder / "network")
    nw.compile("palindrome", to="rnn").certify().save(folder / "certificate")
    network.export("numpy", folder / "export", inputs=["ab"], check=20)
    run("all:2x2:1RB", Plan(max_steps=20), folder / "campaign", Local(1))
    call = ["run", "binary-counter", "--max-steps", "900", "--checkpoint"]
    with contextlib.redirect_stdout(io.StringIO()):
        main([*call, str(folder / "checkpoint")])
    return folder


@pytest.fixture
def copy(good: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(good, tmp_path / "copy"))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_good(kind: str, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = nw.audit(good / kind)
    assert (found.kind, found.holds, bool(found)) == (kind, True, True), found.findings
    assert "is what it says" in repr(found)
    assert main(["audit", str(good / kind)]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == f"{kind} {good / kind}: is what it says"
    assert main(["audit", str(good / kind), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["holds"], answer["kind"]) == (True, kind)
    if found.digest is not None:
        assert main(["audit", str(good / kind), "--digest", found.digest]) == 0
        assert main(["audit", str(good / kind), "--digest", "0" * 64]) == 1
        assert "NO" in capsys.readouterr().out


def damage(data: bytes, how: str) -> bytes:
    ways: dict[str, Callable[[], bytes]] = {
        "emptied": lambda: b"",
        "halved": lambda: data[: len(data) // 2],
        "doubled": lambda: data + data,
        "a byte changed": lambda: data[: len(data) // 3] + b"\x07" + data[len(data) // 3 + 1 :],
        "another file": lambda: b"nonsense\n",
    }
    return ways[how]()


HOWS = ("emptied", "halved", "doubled", "a byte changed", "another file")


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("kind", ["certificate", "network", "checkpoint"])
def test_damaged_files(kind: str, how: str, copy: Path) -> None:
    (copy / kind).write_bytes(damage((copy / kind).read_bytes(), how))
    found = nw.audit(copy / kind)
    assert not found.holds, found
    assert main(["audit", str(copy / kind)]) == 1


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(
    "name",
    ["export/network.py", "export/names.json", "export/netwright.safetensors", "campaign/rows-*"],
)
def test_damaged_folders(name: str, how: str, copy: Path) -> None:
    (path,) = copy.glob(name)
    path.write_bytes(damage(path.read_bytes(), how))
    found = nw.audit(copy / name.split("/", maxsplit=1)[0])
    assert not found.holds
    assert any(path.name in each.detail for each in found.findings), found.findings


def test_a_part_that_is_gone_is_missed(copy: Path) -> None:
    """A campaign without its rows was what it says."""
    folder = copy / "campaign"
    part = next(folder.glob("rows-*"))
    part.unlink()
    found = nw.audit(folder)
    assert not found.holds
    assert f"1 missing, such as {part.name}" in str([each.detail for each in found.findings])
    assert main(["campaign", "run", "--resume", "-o", str(folder), "--workers", "1"]) == 0
    assert nw.audit(folder).holds


def test_forgeries(copy: Path) -> None:
    """With all digests right: the audit follows the chain to the machine."""
    wrong = nw.compile("palindrome").with_weight("decoder.3.V", "s2[a]", "s4[a]", 0)
    wrong = replace(wrong.with_weight("decoder.3.V", "s2[a]", "s4[b]", 1), changes=())
    wrong.save(copy / "forged")
    found = nw.audit(copy / "forged")
    assert [each.what for each in found.findings if each.holds is False] == [
        "it is certified for its machine"
    ]
    wrong.export("numpy", copy / "out", inputs=["ab"], check=20, keep_failed=True)
    failed = [each.what for each in nw.audit(copy / "out").findings if each.holds is False]
    assert failed == ["it is certified for its machine", "its check went well"]
    # The files of one network with the exact network of another.
    folder = copy / "export"
    other = nw.compile("even-as").export("numpy", copy / "even", check=20).folder
    shutil.copy(other / "network.py", folder / "network.py")
    report = json.loads((folder / "checked.json").read_text())
    report["files"]["network.py"] = json.loads((other / "checked.json").read_text())["files"][
        "network.py"
    ]
    report["digest"] = report_digest(report)
    (folder / "checked.json").write_text(json.dumps(report))
    failed = [each.what for each in nw.audit(folder).findings if each.holds is False]
    assert failed == ["they are the exact network's"]
    (folder / "notes.txt").write_text("mine")
    assert "there are no others" in [e.what for e in nw.audit(folder).findings if e.holds is False]


def test_forged_rows_are_found_by_doing_them_again(copy: Path) -> None:
    """Written by netwright itself, with right digests."""
    folder = copy / "campaign"
    kept = list(nw.campaign.rows(folder))
    next(folder.glob("rows-*")).unlink()
    kept[12]["steps"] = 17
    Store(folder).write(0, 40, kept)
    assert nw.audit(folder, sample=0).holds
    found = nw.audit(folder, sample=None)
    (wrong,) = [each for each in found.findings if each.holds is False]
    assert wrong.what == "rows done again are the same"
    assert "machine 6 on machine: steps is 17, not" in wrong.detail
    assert main(["audit", str(folder), "--all"]) == 1
    assert main(["audit", str(folder), "--sample", "0"]) == 0


def test_what_is_none_of_these(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FormatError, match="there is no such file or folder"):
        nw.audit(tmp_path / "nothing")
    with pytest.raises(FormatError, match="is neither a campaign nor an export"):
        nw.audit(tmp_path)
    with pytest.raises(InputError, match="a sample of -1 rows"):
        nw.audit(tmp_path, sample=-1)
    assert main(["audit", str(tmp_path), "--all", "--sample", "3"]) == 2
    assert "name one" in capsys.readouterr().err
    (tmp_path / "faulty").write_text("1RB1LB_1LA\n")
    assert main(["audit", str(tmp_path / "faulty")]) == 1
    assert "row B: 1 rules" in " ".join(capsys.readouterr().out.split())


def flipped(data: bytes, draw: random.Random) -> bytes:
    place, bit = draw.randrange(len(data)), 1 << draw.randrange(8)
    return data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]


def same_or_refused(read: Callable[[], Any], wanted: Any) -> bool:
    try:
        found = read()
    except NetwrightError:
        return True
    return bool(found == wanted)


def test_one_flipped_bit_is_never_read_as_something_else(copy: Path) -> None:
    """In a saved network, a checkpoint, and every file of an export."""
    draw = random.Random(3)
    network = nw.load(copy / "network")
    answer = resumed(copy / "checkpoint")
    refused = 0
    for _ in range(repeated(400, 40)):
        for kind, read, wanted in (
            ("network", lambda: nw.load(copy / "network"), network),
            ("checkpoint", lambda: resumed(copy / "checkpoint"), answer),
        ):
            data = (copy / kind).read_bytes()
            (copy / kind).write_bytes(flipped(data, draw))
            assert same_or_refused(read, wanted), kind
            (copy / kind).write_bytes(data)
        files = [path for path in sorted((copy / "export").iterdir()) if path.is_file()]
        path = draw.choice(files)
        data = path.read_bytes()
        path.write_bytes(flipped(data, draw))
        found = nw.audit(copy / "export")
        assert not found.holds, path
        refused += not found.holds
        path.write_bytes(data)
    assert refused > 20


def resumed(path: Path) -> Any:
    """The result of a run resumed from a checkpoint, whose file stays as it was."""
    data, out = path.read_bytes(), io.StringIO()
    call = ["run", "binary-counter", "--max-steps", "1000", "--json", "--resume", str(path)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main(call)
    path.write_bytes(data)
    if code == 2:
        raise InputError("refused")
    found = json.loads(out.getvalue())
    return {name: value for name, value in found.items() if "seconds" not in name}


def test_one_flipped_bit_in_a_certificate_proves_nothing_wrong(copy: Path) -> None:
    """It is refused, not certified, or certified because the network is right."""
    draw, path = random.Random(5), copy / "certificate"
    data, digest = path.read_bytes(), nw.load_machine("palindrome").digest
    for _ in range(repeated(400, 40)):
        path.write_bytes(flipped(data, draw))
        found = nw.audit(path, digest=digest)
        if found.holds:
            assert nw.check_certificate(path, "palindrome").holds
