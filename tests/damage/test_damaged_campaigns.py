"""A campaign's folder with any file damaged is refused or gives the same rows, and is repaired."""

import json
import random
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.campaign.campaigns import results
from tests.repetition import repeated

from netwright.campaign import Local, Plan, rows, run, status
from netwright.campaign.index import sealed
from netwright.campaign.packed import pack
from netwright.campaign.store import Store
from netwright.cli import main
from netwright.errors import FormatError, FormatWarning, NetwrightError

PLAN = Plan(max_steps=20)
FILES = ("campaign.json", "parts.json", "rows-*")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign in several parts."""
    folder = tmp_path_factory.mktemp("whole") / "c"
    run("all:2x2:1RB", PLAN, folder, Local(1))
    kept = list(rows(folder))
    next(folder.glob("rows-*")).unlink()
    (folder / "parts.json").unlink()
    store = Store(folder)
    for first in range(0, 41, 9):
        last = min(first + 8, 40)
        store.write(first, last, kept[2 * first : 2 * last + 2])
    return folder


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "c"))


def read(folder: Path) -> Any:
    """Everything that can be read of a campaign; None if it is refused."""
    try:
        return list(rows(folder)), status(folder).digest
    except NetwrightError:
        return None


def flipped(data: bytes, draw: random.Random) -> bytes:
    place, bit = draw.randrange(len(data)), 1 << draw.randrange(8)
    return data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]


@pytest.mark.parametrize("packed", [False, True])
def test_one_flipped_bit_is_never_read_as_other_rows(packed: bool, copy: Path) -> None:
    if packed:
        pack(Store(copy))
    before, draw = read(copy), random.Random(7)
    assert before is not None
    refused = 0
    for _ in range(repeated(400, 40)):
        path = draw.choice(sorted(path for name in FILES for path in copy.glob(name)))
        data = path.read_bytes()
        path.write_bytes(flipped(data, draw))
        found = read(copy)
        assert found is None or found == before, path
        refused += found is None
        path.write_bytes(data)
    assert refused > 20


DAMAGE: dict[str, Callable[[bytes, bytes], bytes]] = {
    "emptied": lambda data, other: b"",
    "halved": lambda data, other: data[: len(data) // 2],
    "doubled": lambda data, other: data + data,
    "with zeros after it": lambda data, other: data + bytes(100),
    "exchanged": lambda data, other: other,
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_part_is_named_and_done_again(how: str, copy: Path, whole: Path) -> None:
    wanted = results(whole)
    one, other, *_ = sorted(copy.glob("rows-*"))
    damaged = DAMAGE[how](one.read_bytes(), other.read_bytes())
    one.write_bytes(damaged)
    with pytest.raises(FormatError, match=rf"{one.name} is damaged"):
        status(copy)
    with pytest.warns(FormatWarning, match=rf"{one.name} is damaged .* moved aside to damaged-"):
        assert run(None, None, copy, Local(1), resume=True).finished
    assert results(copy) == wanted
    assert (copy / f"damaged-{one.name}").read_bytes() == damaged


def test_a_part_that_nobody_wrote_is_moved_aside(copy: Path, whole: Path) -> None:
    one = min(copy.glob("rows-*"))
    stranger = copy / "rows-000000000041-000000000049.jsonl.gz"
    shutil.copy(one, stranger)
    with pytest.raises(FormatError, match="is not one of the parts in"):
        status(copy)
    with pytest.warns(FormatWarning, match="moved aside to damaged-"):
        run(None, None, copy, Local(1), resume=True)
    assert results(copy) == results(whole)


@pytest.mark.parametrize("lost", [True, False])
def test_without_its_index_nothing_is_lost_that_proves_itself(
    lost: bool, copy: Path, whole: Path
) -> None:
    index = copy / "parts.json"
    text = index.read_bytes()
    index.write_bytes(text.replace(b'"rows": 18', b'"rows": 81'))
    if lost:
        index.unlink()
    bad = min(copy.glob("rows-*"))
    bad.write_bytes(bad.read_bytes()[:-4] + b"\0\0\0\0")
    with pytest.raises(FormatError, match=r"parts.json"):
        status(copy)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert run(None, None, copy, Local(1), resume=True).done == 41
    told = [str(each.message) for each in said]
    assert len(told) == (1 if lost else 2)  # the others were taken up again
    assert bad.name in told[-1]
    assert results(copy) == results(whole)


MALFORMED: list[dict[str, Any]] = [
    {"sources": []},
    {"sources": [1]},
    {"sources": [{}]},
    {"plan": {"max_steps": "many"}},
    {"plan": {"colour": "red"}},
    {"plan": 7},
    {"seed": None},
    {"sample": -1},
    {"skip_bad": "yes"},
    {"version": 1},
]


@pytest.mark.parametrize("change", MALFORMED, ids=str)
def test_a_malformed_plan_is_one_message(
    change: dict[str, Any], copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its digest made right again."""
    path = copy / "campaign.json"
    manifest = {**json.loads(path.read_bytes()), **change}
    del manifest["digest"]
    path.write_bytes(sealed(manifest))
    for call in (["status", str(copy)], ["show", str(copy)], ["--resume", "-o", str(copy)]):
        assert main(["campaign", *call]) == 2
        message = capsys.readouterr().err
        assert "campaign.json is damaged: " in message
        assert message.count("\n") == 1


def test_another_plan_than_that_of_the_rows_is_noticed(copy: Path) -> None:
    """Another limit, or machines up to 10¹⁸, with a digest of its own: the parts are of another."""
    path = copy / "campaign.json"
    manifest = json.loads(path.read_bytes())
    del manifest["digest"]
    for change in (
        {"plan": {**manifest["plan"], "max_steps": 1000}},
        {"sources": [{**manifest["sources"][0], "end": 10**12}]},
    ):
        path.write_bytes(sealed({**manifest, **change}))
        with pytest.raises(FormatError, match="belongs to another campaign than"):
            status(copy)
    path.write_bytes(sealed({**manifest, "sources": [{**manifest["sources"][0], "end": 10**18}]}))
    with pytest.raises(FormatError, match="numbers of a source"):
        status(copy)
