"""The folder of a campaign is consistent at every moment, whatever files are in it."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netwright.campaign.index import Tally
from netwright.campaign.manifest import Work
from netwright.campaign.packed import ask, pack
from netwright.campaign.plan import Plan
from netwright.campaign.store import Store, count_in, missing_from
from netwright.campaign.summary import Summary
from netwright.campaign.work import Item, failed_row, rows_of, written_row
from netwright.errors import FormatError, InputError

TABLE = ["1RB1LB_1LA1RZ", "1RB1RZ_0LA1LB", "0RA---_------", "1RB1LA_1LA1RB"]


def rows(number: int) -> list[dict[str, Any]]:
    """The rows of one machine: two runs, or one and a crash."""
    item = Item(number, TABLE[number % 4], 'a remark with "agrees":false and "outcome":"crashed"')
    found = list(rows_of(item, Plan(max_steps=50)))
    if number % 5 == 4:
        found[1] = failed_row(item, "transformer", "crashed", "why", 0.5)
    if number % 7 == 6:
        found[1]["agrees"] = False
    return found


MANIFEST: dict[str, Any] = {
    **{"version": "0", "plan": Plan(max_steps=50).written(), "sample": None, "seed": 0},
    **{"skip_bad": False},
    "sources": [{"source": "a", "base": 0, "first": 0, "end": 99, "digest": "", "bad": []}],
}


def filled(folder: Path, *batches: tuple[int, int]) -> Store:
    store = Store(folder)
    if not store.exists:
        store.begin(MANIFEST)
    for first, last in batches:
        store.write(first, last, [row for n in range(first, last + 1) for row in rows(n)])
    return store


def all_rows(store: Store) -> Iterator[dict[str, Any]]:
    return Work(store.manifest(), store.folder).rows(store)


def tally_of(store: Store) -> Tally:
    return store.verified()[1]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("rows-*"))


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12))),
    st.lists(st.integers(0, 80), unique=True).map(sorted),
)
def test_what_is_missing_is_what_no_part_has(
    parts: list[tuple[int, int]], numbers: list[int]
) -> None:
    done: list[tuple[int, int]] = []
    for first, length in sorted(parts):
        if not done or first >= done[-1][1]:
            done.append((first, first + length))
    spans = [(3, 20), (30, 70)]
    wanted = {n for first, end in spans for n in range(first, end)}
    wanted -= {n for first, end in done for n in range(first, end)}
    left = missing_from(spans, done)
    assert sorted(wanted) == [n for first, end in left for n in range(first, end)]
    assert count_in(left, None) == len(wanted)
    assert count_in(left, numbers) == len(wanted & set(numbers))


def test_many_small_parts_become_one_and_nothing_changes(tmp_path: Path) -> None:
    store = filled(tmp_path, *((n, n) for n in range(10)), (12, 13), (14, 14))
    before, tally = list(all_rows(store)), tally_of(store)
    store.tidy(several=2)
    assert names(tmp_path) == [
        "rows-000000000000-000000000009.jsonl.gz",
        "rows-000000000012-000000000014.jsonl.gz",
    ]
    assert list(all_rows(store)) == before
    assert tally_of(store) == tally
    assert store.progress([(0, 20)])[0] == [(10, 12), (15, 20)]


def test_rows_are_read_while_parts_become_one(tmp_path: Path) -> None:
    store = filled(tmp_path, *((n, n) for n in range(6)))
    whole, tally = list(all_rows(store)), tally_of(store)
    reading = all_rows(store)
    begun = [next(reading) for _ in range(5)]
    store.tidy(several=2)
    assert [*begun, *reading] == whole
    (part,) = store.parts()
    names = [f"rows-{n:012}-{n:012}.jsonl.gz" for n in range(6)]
    old = [type(part)(n, n, tmp_path / name, part.entry) for n, name in enumerate(names)]
    listings = iter([old, [part], [part]])
    store.parts = lambda: next(listings)  # type: ignore[method-assign]
    assert tally_of(store) == tally


def test_a_part_inside_another_is_none(tmp_path: Path) -> None:
    """As after a kill between writing the large part and removing the small ones."""
    store = filled(tmp_path, (0, 3), (4, 5), (0, 5), (6, 6))
    numbers = [row["number"] for row in all_rows(store)]
    assert numbers == [n for n in range(7) for _ in range(2)]
    store.tidy()
    assert len(names(tmp_path)) == 2


def test_parts_that_overlap_are_not_believed(tmp_path: Path) -> None:
    store = filled(tmp_path, (0, 3), (2, 5))
    with pytest.raises(FormatError, match="machines in common"):
        store.parts()


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    store = filled(tmp_path, (0, 3))
    (part,) = store.parts()
    part.path.write_bytes(part.path.read_bytes()[:40])
    with pytest.raises(FormatError, match=r"rows-000000000000-000000000003.*is damaged.*--resume"):
        list(all_rows(store))


def test_the_tally_is_what_the_rows_say(tmp_path: Path) -> None:
    store = filled(tmp_path, (0, 20))
    found = list(all_rows(store))
    assert tally_of(store) == Tally.of(found)
    assert tally_of(store).counts == {
        "rows": 42,
        "disagreements": sum(row["agrees"] is False for row in found),
        "uncertified": 0,
        "failures": sum(row["outcome"] == "crashed" for row in found),
    }
    assert tally_of(store).failures == 4
    assert tally_of(store).disagreements == 3


def test_packed_rows_are_the_same_rows(tmp_path: Path) -> None:
    import pyarrow.parquet

    store = filled(tmp_path, (0, 3), (4, 9), (12, 13))
    before, tally = list(all_rows(store)), tally_of(store)
    digest = store.digest(tally)
    question = 'select number, "on", steps, agrees from rows order by number, "on"'
    asked = ask(store, question)
    assert pack(store) == (24, 2)
    assert names(tmp_path) == [
        "rows-000000000000-000000000009.parquet",
        "rows-000000000012-000000000013.parquet",
    ]
    assert list(all_rows(store)) == before
    assert tally_of(store) == tally
    assert store.digest(tally_of(store)) == digest
    assert ask(store, question) == asked
    assert len(asked[1]) == 24
    assert pyarrow.parquet.read_table(tmp_path / names(tmp_path)[0]).num_rows == 20
    filled(tmp_path, (10, 11))  # more is done later
    assert [row["number"] for row in all_rows(store)] == [n for n in range(14) for _ in range(2)]
    assert ask(store, "select count(*) from rows")[1] == [(28,)]
    assert pack(store) == (4, 1)
    assert pack(store) == (0, 0)
    part = next(tmp_path.glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(FormatError, match="is damaged"):
        list(all_rows(store))
    with pytest.raises(FormatError, match="is damaged"):
        tally_of(store)


def test_names_of_folders_are_no_patterns(tmp_path: Path) -> None:
    for name in ("g*", "g1", "g[1]", "g'q"):
        (tmp_path / name).mkdir()
        filled(tmp_path / name, (0, 1))
    for name in ("g*", "g[1]", "g'q"):
        assert ask(Store(tmp_path / name), "select count(*) from rows")[1] == [(4,)]


def test_a_wrong_question_is_one_message(tmp_path: Path) -> None:
    store = filled(tmp_path, (0, 1))
    with pytest.raises(InputError, match="--sql is empty"):
        ask(store, "")
    with pytest.raises(InputError, match=r"--sql: .*stepz"):
        ask(store, "select stepz from rows")


def test_a_folder_without_a_campaign(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no campaign"):
        Store(tmp_path).manifest()
    (tmp_path / "campaign.json").write_text(json.dumps({"format": "something else"}))
    with pytest.raises(FormatError, match="is not a netwright campaign"):
        Store(tmp_path).manifest()
    (tmp_path / "campaign.json").write_text(json.dumps({"format": "netwright campaign 1"}))
    with pytest.raises(FormatError, match="'netwright campaign 1'; this netwright reads"):
        Store(tmp_path).manifest()


def test_equal_rows_are_equal_files(tmp_path: Path) -> None:
    found = rows(1)
    for name in "ab":
        (tmp_path / name).mkdir()
        filled(tmp_path / name).write(1, 1, found)
    one, other = (next((tmp_path / name).glob("rows-*")).read_bytes() for name in "ab")
    assert one == other
    assert gzip.decompress(one) == b"".join(map(written_row, found))


def test_the_summary_counts_and_keeps_the_best(tmp_path: Path) -> None:
    store = filled(tmp_path, (0, 30))
    found = list(all_rows(store))
    plan = Plan(max_steps=50).written()
    summary = Summary.of(found, plan)
    assert summary.machines == 31
    assert summary.wrong["disagreements"] == sum(row["agrees"] is False for row in found)
    assert sum(summary.outcomes["machine"].values()) == 31
    halted = [row for row in found if row["on"] == "machine" and row["outcome"] == "halted"]
    assert sum(summary.ends.values()) == len(halted)
    longest = sorted(halted, key=lambda row: (-row["steps"], row["number"]))[:5]
    assert summary.longest.rows == longest
    assert len({row["number"] for row in summary.slowest.rows}) == 5
    disagreement = summary.as_json()["first_disagreements"][0]
    assert disagreement["command"] == (
        f"netwright run {disagreement['machine']} --on transformer --max-steps 50"
    )
