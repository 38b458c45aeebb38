"""Sources of machines: lists of all shapes, databases, folders, classes."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from tests.corpora import FOLDER, needs_corpora

from netwright.campaign.sources import MachineSource, read_source
from netwright.campaign.work import Item, machine_of_item
from netwright.errors import FormatError, InputError
from netwright.machine.load import load_machine

ONE, TWO = "1RB1LB_1LA1RZ", "1RB1RZ_0LA1LB"
CHECKED = zstandard.ZstdCompressor(write_checksum=True)
SHAPES = {
    "standard": (f"{ONE}\n{TWO}\n", ["", ""]),
    "comments": (f"# a list\n\n{ONE}  # the beaver\n{TWO}\n", ["", ""]),
    "annotated": (f"{ONE} Halt 6 4\n{TWO} Inf Lin_Recur\n", ["Halt 6 4", "Inf Lin_Recur"]),
    "behind columns": (f"6 4 {ONE}\n3 2 {TWO}\n", ["6 4", "3 2"]),
    "CSV with headings": (
        f"machine,status,decider\n{ONE},HALT,LOOP1\n{TWO},NONHALT,NGRAM\n",
        [",HALT,LOOP1", ",NONHALT,NGRAM"],
    ),
    "a second machine in a later column": (
        f"{ONE},HALT,1RB1LB_1LA1RA\n{TWO},HALT,1RB---_0LA1LB\n",
        [",HALT,1RB1LB_1LA1RA", ",HALT,1RB---_0LA1LB"],
    ),
    "quoted": (f'"{ONE}","x"\n"{TWO}","y"\n', ['"","x"', '"","y"']),
    "spaced": ("1RB 1LB  1LA 1RZ\n1RB 1RZ  0LA 1LB | 1 Halt 3\n", ["", "| 1 Halt 3"]),
    "other line ends": (f"{ONE}\r\n{TWO}\r\n", ["", ""]),
}


def items(source: MachineSource, *, skip_bad: bool = False) -> list[Item]:
    return list(source.items(range(source.survey(skip_bad=skip_bad).size)))


@pytest.mark.parametrize("shape", SHAPES)
def test_lists_of_every_shape(shape: str, tmp_path: Path) -> None:
    text, remarks = SHAPES[shape]
    path = tmp_path / "list"
    for content in (
        text.encode(),
        gzip.compress(text.encode()),
        zstandard.ZstdCompressor().compress(text.encode()),
    ):
        path.write_bytes(content)
        found = items(read_source(str(path)))
        assert [item.machine for item in found] == [ONE, TWO]
        assert [item.number for item in found] == [0, 1]
        assert [item.remark.replace(" ", "") for item in found] == [
            remark.replace(" ", "") for remark in remarks
        ]


def test_a_range_of_a_list_is_numbered_as_in_the_list(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("".join(f"{ONE}\n{TWO}\n" for _ in range(10)))
    source = read_source(f"{path}:3-5")
    assert source.span == (3, 6)
    assert source.survey(skip_bad=False).size == 20
    found = [(item.number, item.machine) for item in source.items(range(3, 6))]
    assert found == [(3, TWO), (4, ONE), (5, TWO)]
    assert load_machine(f"{path}:3") == machine_of_item(next(source.items([3])))


def test_a_bad_line_is_named_or_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text(f"{ONE}\n\n1RB1LB_1LA\n{TWO}\n")
    source = read_source(str(path))
    with pytest.raises(FormatError, match=r"list:3 (.|\n)*row B: 1 rules(.|\n)*--skip-bad"):
        source.survey(skip_bad=False)
    assert source.survey(skip_bad=True).bad == (1,)
    assert [item.number for item in items(source, skip_bad=True)] == [0, 2]


@pytest.mark.parametrize("line", ["1RB2LB_1LA1RZ", "1RB1LB_1LA", "hello 12", "1RB1LB_1LA1RZ_x"])
def test_what_is_no_machine_is_a_bad_line(line: str, tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text(f"{ONE}\n{line}\n")
    with pytest.raises(FormatError, match="list:2"):
        read_source(str(path)).survey(skip_bad=False)


@pytest.mark.parametrize("pack", [gzip.compress, CHECKED.compress])
def test_a_cut_or_damaged_file_is_one_message(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "list"
    text = "".join(f"{n} {ONE}\n" for n in range(50_000)).encode()
    whole = pack(text)
    for content in (
        whole[: len(whole) * 3 // 4],
        whole[: len(whole) // 2] + b"damage" + whole[len(whole) // 2 + 6 :],
    ):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=r"list is damaged"):
            read_source(str(path)).survey(skip_bad=True)
    path.write_bytes(whole + pack(f"{TWO}\n".encode()))  # one behind another
    assert read_source(str(path)).survey(skip_bad=False).size == 50_001


@pytest.mark.parametrize(
    ("first", "size"),
    [("machine,status", 2), ("id2,machine", 2), ("------_------", 3), ("0RA---_------", 3)],
)
def test_headings_are_lines_without_a_machine(first: str, size: int, tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text(f"{first}\n{ONE}\n{TWO}\n")
    assert read_source(str(path)).survey(skip_bad=False).size == size


@needs_corpora
def test_a_seed_database_by_number() -> None:
    path = FOLDER / "bbchallenge" / "seed_format_sample.bin"
    source = read_source(str(path))
    found = items(source)
    assert len(found) == 44
    for item in found:
        assert machine_of_item(item) == load_machine(f"{path}:{item.number}")
    assert [item.number for item in source.items([3, 17, 40])] == [3, 17, 40]


def test_bytes_that_are_no_rule_in_a_seed_database(tmp_path: Path) -> None:
    good = bytes([1, 0, 2, 0, 1, 6, *24 * [0]])
    header = b"".join(n.to_bytes(4, "big") for n in (3, 0, 3)) + bytes([1]) + bytes(17)
    path = tmp_path / "seeds"
    path.write_bytes(header + good + bytes([7] * 30) + good)
    source = read_source(str(path))
    with pytest.raises(FormatError, match="machine 1 has bytes that are not a rule"):
        source.survey(skip_bad=False)
    assert source.survey(skip_bad=True).bad == (1,)
    assert [item.number for item in items(source, skip_bad=True)] == [0, 2]


def test_the_library_a_folder_and_single_machines(tmp_path: Path) -> None:
    for item in items(read_source("library")):
        assert machine_of_item(item) == load_machine(item.machine)
    (tmp_path / "one.txt").write_text(ONE)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "two.txt").write_text(TWO)
    (tmp_path / ".hidden").write_text("no machine")
    found = items(read_source(str(tmp_path)))
    assert [machine_of_item(item) for item in found] == [load_machine(TWO), load_machine(ONE)]
    assert json.loads(json.dumps(found[0].given)) == found[0].given
    (tmp_path / "README").write_text("about these machines")
    with pytest.raises(FormatError, match=r"README.*(\n.*)*--skip-bad"):
        items(read_source(str(tmp_path)))
    assert [machine_of_item(i).name for i in items(read_source("palindrome"))] == ["palindrome"]
    assert [machine_of_item(i).name for i in items(read_source(ONE))] == [ONE]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("all:5x2", "busy-beaver value"),
        ("all:3", "expected a source such as all:3x2"),
        ("all:3x2:0RB", ":1RB"),
        ("all:1x2:1RB", "no state B"),
        ("every:3x3", r"at most 6 rules"),
        ("random:5x2", "no count; expected"),
        ("random:30x2:5", "26 states"),
    ],
)
def test_classes_that_there_are_not(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_source(text)


def test_a_name_that_is_no_text_and_a_folder_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"bad\xff")).write_text(ONE)
    (tmp_path / "good").write_text(TWO)
    source = read_source(str(tmp_path))
    with pytest.raises(FormatError, match="its name is not valid text"):
        source.survey(skip_bad=False)
    assert source.survey(skip_bad=True).bad == (0,)


def test_numbers_in_the_wrong_order(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text(f"{ONE}\n")
    with pytest.raises(InputError, match="the smaller first"):
        read_source(f"{path}:5-3")
