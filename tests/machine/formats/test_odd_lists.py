"""Lists of bbchallenge machines in odd shapes: every line is read right, or refused."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from netwright.campaign.sources import read_source
from netwright.cli import main
from netwright.errors import FormatError
from netwright.machine.formats import bbchallenge
from netwright.machine.formats.draft import Source
from netwright.machine.load import load_machine

MACHINES = (
    "1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA",
    "1RB---_1LA1RZ",
    "1RB1LB_1RB1LB",
    "1RB2LA0RB_1LA------",
    "1RA1RZ",
    "1RB_1LA",
    "1RB---_------",
)
ROWS = ("_", " ", ",", "\t", "|", ";", "  ", ", ", " | ", " _ ", "/", "-", ":", "__")
CELLS = ("", " ", ",", "\t", "|")
AROUND = {
    "alone": "{}",
    "quotes": '"{}"',
    "single quotes": "'{}'",
    "backticks": "`{}`",
    "brackets": "[{}]",
    "CSV": "12,{},halt,6",
    "CSV of quotes": '"12","{}","halt"',
    "bbi": "47176870 4098 {}",
    "annotated": "{} Halt 6 4",
    "columns of tabs": "6\t4\t{}\tInf Lin_Recur",
    "a row of a table": "| {} | 6 | 4 |",
    "no value": "---,{},---",
    "another machine later": "{},HALT,1RB1LB_1LA1RA",
}


def shapes() -> list[tuple[str, str]]:
    """Lines, and the machine that each is a way to write."""
    found = []
    for text, row, cell, around in product(MACHINES, ROWS, CELLS, AROUND.values()):
        rows = (
            cell.join(part[n : n + 3] for n in range(0, len(part), 3)) for part in text.split("_")
        )
        found.append((around.format(row.join(rows)), text))
    return found


def read_by(read: Any, *arguments: Any) -> str | None:
    """The text of the machine that is read; None if it is refused."""
    try:
        found = read(*arguments)
    except FormatError:
        return None
    return str(found)


def test_every_line_is_read_right_or_refused(record_property: Any) -> None:
    lines, right = shapes(), 0
    for line, text in lines:
        found = read_by(lambda line: bbchallenge.find_in_line(line, "list:1")[0], line)
        assert found in (None, text), line
        again = read_by(lambda line: bbchallenge.read(line, Source("list")).name, line)
        assert again == found, line
        right += found is not None
    assert right > 200
    record_property(
        "counted", f"{len(lines):,} lines in odd shapes: {right:,} read, others refused"
    )


@pytest.mark.parametrize("joint", [" ", ",", "|", "\t"])
def test_rows_that_are_not_joined_are_never_cut(
    joint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "list"
    path.write_text(f"{MACHINES[0].replace('_', joint)}\n")
    assert main(["campaign", str(path), "-o", str(tmp_path / "c")]) == 2
    message = capsys.readouterr().err
    assert "list:1 is not a bbchallenge machine:\n  1RB1LC and 1RC1RB side by side" in message
    assert f"as in {MACHINES[0]}" in message
    assert main(["run", str(path), "--max-steps", "9"]) == 2
    assert "1RB1LC and 1RC1RB side by side" in capsys.readouterr().err


def test_a_damaged_machine_is_not_passed_over_for_a_later_one() -> None:
    for damaged in ("1RB2LB_1LA1RZ", "1RB1L_1LA1RZ", "1RB1LB_1LA"):
        with pytest.raises(FormatError, match=r"two machines on a line|side by side"):
            bbchallenge.find_in_line(f"{damaged},HALT,1RB1LB_1LA1RA", "list:1")


@pytest.mark.parametrize(
    "text",
    [
        "# Champions\n\n```\n1RB1LB_1LA1RZ\n1RB1RZ_0LA1LB\n```\n",
        "```text\n1RB1LB_1LA1RZ 6\n1RB1RZ_0LA1LB 3\n```\n",
        "| machine | steps |\n|---|---:|\n| 1RB1LB_1LA1RZ | 6 |\n| 1RB1RZ_0LA1LB | 3 |\n",
        "machine;steps\n1RB1LB_1LA1RZ;6\n\n1RB1RZ_0LA1LB;3\n",
        "my 2 machines\n1RB1LB_1LA1RZ\n1RB1RZ_0LA1LB\n",
    ],
)
def test_headings_fences_and_tables(text: str, tmp_path: Path) -> None:
    """In a campaign and one by one, with the same numbers."""
    path = tmp_path / "list.md"
    path.write_text(text)
    source = read_source(str(path))
    assert source.survey(skip_bad=False).size == 2
    assert [item.machine for item in source.items(range(2))] == ["1RB1LB_1LA1RZ", "1RB1RZ_0LA1LB"]
    for item in source.items(range(2)):
        assert load_machine(f"{path}:{item.number}").name == item.machine
