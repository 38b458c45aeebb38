"""`netwright precision`: the table, JSON, plots, and bad input."""

import json
from pathlib import Path
from typing import Any

import pytest

from netwright.cli import main
from netwright.machine.library import library_machine


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["precision", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_four_formats_with_what_was_predicted(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "busy-beaver-5", "--max-steps", "600")
    rows = {row["name"]: row for row in found["results"]}
    assert list(rows) == ["float64", "float32", "bfloat16", "float16"]
    assert rows["float64"]["index"] is None
    assert rows["float32"]["reading"]["output"] == 470
    assert rows["float32"]["predicted"]["safe_until"] == 36
    assert rows["float32"]["predicted"]["first_possible"]["token"] == 60
    worst = rows["float32"]["predicted"]["worst_machine"]
    assert (worst["states"], worst["input_length"], worst["wrong_output"]) == (13, 49, 61)
    assert rows["float64"]["predicted"]["searched"] is False
    assert rows["float64"]["predicted"]["worst_machine"] is None


def test_formats_have_any_number_of_bits(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "palindrome", "abba", "--bits", "8,16,60", "--score", "recency")
    assert [row["bits"] for row in found["results"]] == [8, 16, 60]
    assert all(row["halted"] and row["vector"] is None for row in found["results"])
    both = answer(capsys, "palindrome", "abba", "--bits", "12", "--dtype", "float16,bfloat16")
    assert [row["name"] for row in both["results"]] == ["float16", "bfloat16", "12 bits"]


def test_accumulating_in_another_format(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("sweeper", "--dtype", "bfloat16", "--max-steps", "50")
    (row,) = answer(capsys, *options, "--accumulate", "float32")["results"]
    assert (row["accumulated_in"], row["index"]["token"]) == ("float32", 24)
    assert row["predicted"]["first_possible"]["token"] == 8
    (row,) = answer(capsys, *options)["results"]
    assert row["index"]["token"] == 36
    rows = answer(capsys, "sweeper", "--max-steps", "10", "--accumulate", "float32")["results"]
    assert [row["name"] for row in rows] == ["float32", "bfloat16", "float16"]  # those that fit


def test_formats_named_twice_run_once(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "sweeper", "--bits", "8,8", "--max-steps", "10")
    assert len(found["results"]) == 1


def test_a_run_that_halts_ends_the_curves_too(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "busy-beaver-3", "--dtype", "float16", "--growth", "--curves")
    assert found["results"][0]["outputs"] == found["curves"]["outputs"] == 25
    assert found["growth"][-1]["time"] == 24
    assert found["curves"]["margin_by_step"]["paper"][-1]["token"] == 24
    assert found["curves"]["bits_by_step"]["rnn"][-1]["time"] == 21


def test_softmax_plain_and_snapped(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("busy-beaver-5", "--dtype", "float64", "--max-steps", "300", "--softmax")
    rows = answer(capsys, *options, "schedule")["results"]
    assert [row["name"] for row in rows] == ["float64, snapped", "float64"]
    assert rows[0]["vector"] is None
    assert rows[1]["reading"]["output"] == 138
    (row,) = answer(capsys, *options, "1e-6", "--snap")["results"]
    assert row["vector"]["output"] == 38
    (row,) = answer(capsys, *options, "1e-2/t2", "--snap", "--score", "recency")["results"]
    assert row["vector"]["output"] == 133


@pytest.mark.parametrize("on", ["rnn", "neural-gpu"])
def test_stacks_go_wrong_where_they_are_too_deep(
    capsys: pytest.CaptureFixture[str], on: str
) -> None:
    found = answer(capsys, "sweeper", "--on", on, "--base", "4", "--max-steps", "500", "--growth")
    times = {row["name"]: row["reading"]["time"] for row in found["results"]}
    assert times == {"float64": 405, "float32": 104, "bfloat16": 20, "float16": 27}
    assert [row["digits_held"] for row in found["results"]] == [26, 12, 4, 5]
    assert found["base"] == "4"
    assert found["growth"][-1]["block"] == "stack"


def test_everything_fits_into_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for arguments in (
        ["busy-beaver-5", "--max-steps", "500", "--growth"],
        ["sweeper", "--softmax", "1e-6", "--dtype", "float64"],
        ["binary-counter", "--on", "rnn", "--growth", "--max-steps", "300"],
    ):
        assert main(["precision", *arguments]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 80
        assert any(line.startswith("float64") for line in lines)


def test_the_table_says_where_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["precision", "busy-beaver-5", "--dtype", "float16", "--growth"]) == 0
    printed = capsys.readouterr().out
    for text in (
        "wrong index at token 41, decoder layer 3, self-attention",
        "it attends to 36 and 38 alike; right is 38",
        "score of 38: exactly -1/8049132, here -1/8388608",
        "margin: 38/2754815427",
        "y_42 is not exact: s4[0] of p3 is 1/2, exactly 0",
        "worst machine, on a tape with an end: 11 states, on a^5, wrong at y_15",
        "bits in the exact run at time 9,999",
    ):
        assert text in printed


def test_the_plots_are_drawn_from_the_data_in_json(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plot = tmp_path / "precision.svg"
    options = ("busy-beaver-5", "--dtype", "float16", "--max-steps", "300")
    found = answer(capsys, *options, "--plot", str(plot))
    curves = found["curves"]
    assert curves["horizon_by_bits"].keys() == {"paper", "recency"}
    sixteen = next(row for row in curves["horizon_by_bits"]["paper"] if row["bits"] == 16)
    assert sixteen == {
        "bits": 16,
        "safe_until": 9,
        "first_possible": 19,
        "first_wrong_index": 84,
    }
    assert curves["softmax_by_temperature"][5]["snapped_not_exact"] == 38
    assert {row["block"] for row in curves["bits_by_step"]["rnn"]} == {"stack"}
    assert curves["margin_by_step"]["paper"][-1]["token"] == 299
    drawn = plot.read_text()
    for text in (
        "significant bits of the format",
        "first token that attends wrongly",
        "temperature τ of softmax",
        "bits of numerator and denominator",
        "score of the winner minus the next",
        "the Transformer of busy-beaver-5",
    ):
        assert text in drawn
    assert main(["precision", *options, "--plot", str(plot)]) == 2
    assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sweeper", "--dtype", "float8"), "--dtype: no format 'float8'; there are float64"),
        (("sweeper", "--bits", "x"), "--bits: no format 'x'; there are float64"),
        (("sweeper", "--bits", "float16"), "--bits is 'float16'; expected a number such as 24"),
        (("sweeper", "--bits", "1"), "--bits: no format '1'; there are"),
        (("sweeper", "--bits", "5000"), "--bits: no format '5000'"),
        (("sweeper", "--bits", ""), "--bits: no format ''"),
        (("sweeper", "--curves"), "--curves is data for --json"),
        (("sweeper", "--accumulate", "half"), "--accumulate: no format 'half'"),
        (("sweeper", "--dtype", "float32", "--accumulate", "8"), "8 bits is too small to add up"),
        (("sweeper", "--softmax", "0"), "the temperature is '0'; expected a number"),
        (("sweeper", "--softmax", "nan"), "the temperature is 'nan'"),
        (("sweeper", "--softmax", "1/t3"), "the temperature is '1/t3'"),
        (("sweeper", "--softmax", "1", "--bits", "60"), "softmax is for formats of 53 bits"),
        (
            ("sweeper", "--on", "rnn", "--softmax", "1"),
            "softmax is for the attention of a transformer, not rnn",
        ),
        (
            ("sweeper", "--on", "rnn", "--plot", "x.png"),
            "--plot and --curves are for the transformer, not for rnn",
        ),
        (("sweeper", "--on", "machine"), "no network 'machine'"),
        (
            ("sweeper", "--on", "rnn", "--no-snap"),
            "snap is for the attention of a transformer, not rnn",
        ),
        (("sweeper", "--bits", "８"), "--bits: no format"),
        (("",), "is not a file here"),
        (("sweeper", "--base", "4"), "base is not an option of transformer"),
        (("sweeper", "--plot", "x.txt"), "expected a file that ends in"),
        (("sweeper", "--max-steps", "0"), "--max-steps is 0; expected 1 to"),
        (("no-such-machine",), "no-such-machine"),
    ],
)
def test_bad_input_is_explained(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert main(["precision", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") <= 2


def test_a_saved_network_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "n.safetensors"
    assert main(["compile", "even-as", "-o", str(path)]) == 0
    assert main(["precision", str(path), "ab"]) == 2
    assert "is a saved network" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_noticed_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("netwright.files.os.access", lambda *_: False)
    arguments = ["precision", "sweeper", "--plot", str(tmp_path / "x.png")]
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "x.png cannot be written: Permission denied" in captured.err


def test_names_that_would_steer_a_terminal_are_made_visible(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The busy beaver with a line break in its blank, in a file with one in its name."""
    monkeypatch.chdir(tmp_path)
    machine = library_machine("busy-beaver-5")
    named = {"0": "x\ny", "1": "1"}
    rules: dict[str, dict[str, list[str]]] = {}
    for (state, symbol), action in machine.delta.items():
        rule = [action.state, named[action.write], action.move.value]
        rules.setdefault(state, {})[named[symbol]] = rule
    content = json.dumps(
        {
            "states": list(machine.states),
            "input_symbols": ["1"],
            "tape_symbols": list(named.values()),
            "transitions": rules,
            "initial_state": machine.start,
            "blank_symbol": "x\ny",
            "final_states": ["Z"],
        }
    )
    Path("a\nb.json").write_text(content)
    assert main(["precision", "a\nb.json", "", "--dtype", "float16"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == r"transformer of a\nb.json, score paper, hard attention"
    assert any("s4[x\\ny] of p3" in line for line in lines)


def test_a_machine_that_halts_at_once_can_be_drawn(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plot = tmp_path / "once.SVG"
    options = ("1RZ---", "--dtype", "float16", "--max-steps", "60", "--plot", str(plot))
    rows = answer(capsys, *options)["curves"]["margin_by_step"]["paper"]
    tokens = [row["token"] for row in rows]
    assert tokens == sorted(set(tokens))
    assert "first such output" in plot.read_text()


def test_a_base_too_large_for_a_format(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("sweeper", "--on", "rnn", "--base", "131072", "--dtype", "float16")
    (row,) = answer(capsys, *options)["results"]
    assert (row["digits_held"], row["reading"]["found"]) == (None, "none over none")
    assert main(["precision", *options]) == 0
    assert "no longer a number" in capsys.readouterr().out


def test_search_is_offered_where_it_can_be_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["precision", "sweeper", "--dtype", "float64", "--max-steps", "5"]) == 0
    assert "?  not searched; --search does" in capsys.readouterr().out
    assert main(["precision", "sweeper", "--bits", "60", "--max-steps", "5"]) == 0
    assert "?" not in capsys.readouterr().out
