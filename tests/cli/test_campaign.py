"""`netwright campaign`: what it prints, its exit codes, and what it refuses."""

import io
import json
from csv import DictReader
from pathlib import Path
from typing import Any

import pytest

from netwright.campaign import Status, rows, status
from netwright.campaign.plan import COLUMNS, Plan
from netwright.campaign.store import Store
from netwright.campaign.work import Item, failed_row, rows_of
from netwright.cli import main

ROOT = Path(__file__).resolve().parents[2]


def test_a_campaign_from_its_beginning_to_its_answers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = str(tmp_path / "c")
    call = ["campaign", "all:2x2", "--max-steps", "50", "-o", folder, "--workers", "1"]
    assert main(call) == 0
    out = capsys.readouterr().out
    assert out.startswith("all:2x2: 61 machines\n")
    assert "transformer      19         42     61\n" in out
    assert "no disagreement, nothing without an answer" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert main(["campaign", "status", folder]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "61 of 61 machines (100.0%), 122 rows",
        "  finished",
        "  no disagreement, nothing without an answer",
        f"  digest {status(folder).digest}",
    ]
    assert out.endswith(f"\ndigest {status(folder).digest}\n")
    assert main(["campaign", "show", folder, "--sql", "select max(steps) most from rows"]) == 0
    assert capsys.readouterr().out.split() == ["most", "50"]
    assert main(["campaign", "pack", folder]) == 0
    assert capsys.readouterr().out == "packed 122 rows into 1 part of Parquet\n"
    picture = tmp_path / "p.svg"
    assert main(["campaign", "show", folder, "--plot", str(picture), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["networks"]["machine"]["outcomes"] == {"halted": 19, "undecided": 42}
    assert answer["most_steps"][0]["steps"] == 5
    assert "19 machines that halt" in picture.read_text()
    assert main([*call, "--resume"]) == 0
    assert capsys.readouterr().err == ""


def test_an_answer_in_a_file_is_whole(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was cut at 1,000 rows, and said so in a row."""
    monkeypatch.setattr("netwright.cli.campaign_report.MOST_SHOWN", 10)
    folder = str(tmp_path / "c")
    call = ["campaign", "all:2x2", "--max-steps", "50", "-o", folder, "--workers", "1"]
    assert main(call) == 0
    capsys.readouterr()
    question = ["campaign", "show", folder, "--sql", "select machine from rows"]
    assert main(question) == 0
    out = capsys.readouterr().out
    assert (out.count("\n"), out.count("more")) == (1 + 122, 0)
    with monkeypatch.context() as patch:
        patch.setenv("FORCE_COLOR", "1")  # as on a terminal
        assert main(question) == 0
    out = capsys.readouterr().out
    assert "… and 112 more: --csv, --json, or into a file, has all" in out
    assert main([*question[:3], "--csv"]) == 0
    found = list(DictReader(io.StringIO(capsys.readouterr().out)))
    assert list(found[0]) == list(COLUMNS)
    assert [row["machine"] for row in found] == [row["machine"] for row in rows(folder)]
    assert main([*question, "--csv"]) == 0
    assert capsys.readouterr().out.startswith("machine\n")
    assert main([*question, "--holdouts", "x", "--csv"]) == 2
    assert "several answers" in capsys.readouterr().err


def test_the_undecided_machines_are_a_list_for_the_next_campaign(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder, left = str(tmp_path / "c"), tmp_path / "left.txt"
    call = ["--on", "machine,rnn", "--workers", "1"]
    assert main(["campaign", "all:2x2", "--max-steps", "4", "-o", folder, *call]) == 0
    assert main(["campaign", "show", folder, "--holdouts", str(left)]) == 0
    undecided = [r["machine"] for r in rows(folder) if r["outcome"] == "undecided"]
    assert left.read_text().splitlines() == list(dict.fromkeys(undecided))
    capsys.readouterr()
    again = ["campaign", str(left), "--max-steps", "50", "-o", str(tmp_path / "d"), *call]
    assert main([*again, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["machines"] == len(undecided) // 2
    assert main(["campaign", "show", folder, "--holdouts", str(left)]) == 2
    assert "overwrite it: force (--force)" in capsys.readouterr().err
    assert main(["campaign", "prime", "--max-steps", "4", "-o", str(tmp_path / "e"), *call]) == 0
    assert main(["campaign", "show", str(tmp_path / "e"), "--holdouts", str(tmp_path / "x")]) == 2
    assert "which has only bbchallenge text" in capsys.readouterr().err


def kept(folder: Path, *given: dict[str, Any]) -> None:
    """A campaign with these rows, two for each machine."""
    folder.mkdir()
    plan = Plan(on="machine,transformer", do="run,certify", max_steps=9)
    source = {"source": "list", "base": 0, "first": 0, "end": 5, "digest": "", "bad": [3, 4]}
    (folder.parent / "list").write_text("1RB1LB_1LA1RZ\n")
    source["source"] = str(folder.parent / "list")
    about = {"version": "0.1.0", "plan": plan.written(), "sample": None, "seed": 0}
    Store(folder).begin({**about, "skip_bad": True, "sources": [source]})
    Store(folder).write(0, 2, [{**row, "number": n // 2} for n, row in enumerate(given)])


def test_what_is_wrong_stands_first_with_the_command_that_shows_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    item = Item(0, "1RB1LB_1LA1RZ")
    machine, network = rows_of(item, Plan(max_steps=9))
    wrong = {**network, "agrees": False, "note": "steps is 5, the machine's is 6"}
    crash = failed_row(item, "transformer", "crashed", "its worker was killed by SIGKILL", 1.0)
    refused = {**network, "certified": False, "note": "some obligation: fails"}
    kept(tmp_path / "c", machine, wrong, machine, refused, machine, crash)
    assert main(["campaign", "show", str(tmp_path / "c")]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[:3] == [
        "1 row DISAGREE with the machine:",
        "  transformer: steps is 5, the machine's is 6",
        "    netwright run 1RB1LB_1LA1RZ --on transformer --max-steps 9",
    ]
    assert "1 row NOT CERTIFIED:" in out
    assert "netwright certify 1RB1LB_1LA1RZ --on transformer\n" in out
    assert "2 skipped: not machines" in out
    assert "1 disagreement, 1 not certified, 1 without an answer" in " ".join(out.split())


@pytest.mark.parametrize(
    ("counts", "code"), [((0, 0, 0), 0), ((1, 0, 0), 1), ((0, 1, 2), 1), ((0, 0, 1), 4)]
)
def test_exit_codes(counts: tuple[int, int, int], code: int) -> None:
    assert Status("c", 9, 9, 18, *counts).exit_code == code


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (["all:2x2"], "name one: -o DIR"),
        (["-o", "new"], "has no campaign to resume; name a SOURCE"),
        (["--resume", "-o", "new"], "has no campaign to resume"),
        (["nothing", "-o", "new"], "'nothing' is not a file here"),
        (["all:2x2", "--on", "transfomer", "-o", "new"], "did you mean transformer"),
        (["all:2x2", "--do", "certify", "--on", "machine", "-o", "new"], "nothing to do"),
        (["all:2x2", "--max-steps", "many", "-o", "new"], "--max-steps is many"),
        (["all:2x2", "--workers", "0", "-o", "new"], "expected a number from 1"),
        (["all:2x2", "--batch", "0", "-o", "new"], "--batch"),
        (["all:2x2", "--sample", "62", "-o", "new"], "a sample of 62 of 61 machines"),
        (["all:2x2", "--scheduler", "x", "--workers", "1", "-o", "new"], "name one"),
        (["all:2x2", "--scheduler", "here", "-o", "new"], "expected an address such as"),
        (["all:2x2", "--scheduler", "tcp://", "-o", "new"], "expected an address such as"),
        (["all:2x2", "--sql", "select 1", "-o", "new"], "--sql belongs to: "),
        (["all:2x2", "--csv", "-o", "new"], "campaign show"),
        (["run", "all:2x2", "--holdouts", "x", "-o", "new"], "--holdouts belongs to: "),
        (["shwo", "new"], "no command 'shwo'; did you mean show?"),
        (["all:2x2", "--score", "none", "-o", "new"], "score"),
        (["bad", "-o", "new"], "bad:2"),
        (["bad:0-7", "--skip-bad", "-o", "new"], "there are only machines 0 to 1"),
        (["status"], "Missing argument 'DIR'"),
        (["status", "new"], "has no campaign"),
        (["show", "new", "--on", "rnn"], "--on belongs to: "),
        (["pack", "."], "has no campaign"),
    ],
)
def test_bad_calls_are_one_message_and_leave_nothing(
    call: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad").write_text("1RB1LB_1LA1RZ\n1RB1LB_1LA1R\n")
    assert main(["campaign", *call]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert [path.name for path in tmp_path.iterdir()] == ["bad"]


def test_the_page_says_what_every_column_is() -> None:
    page = (ROOT / "docs" / "campaigns.md").read_text(encoding="utf-8")
    for name, meaning in COLUMNS.items():
        assert f"| `{name}` | {meaning} |\n" in page
