"""`netwright export`: what it prints, its exit codes, and what it refuses."""

import json
from pathlib import Path

import pytest

from netwright.cli import main
from netwright.export import check, subject


def test_a_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    call = ["export", "palindrome", "--to", "numpy", "-o", str(tmp_path / "out")]
    assert main([*call, "--input", "abba", "--input", "", "--input", "ab"]) == 0
    wrote, first, *lines = capsys.readouterr().out.splitlines()
    assert wrote == f"wrote {tmp_path / 'out'}"
    assert first == "for numpy in float64: transformer of palindrome, dimension 45"
    assert [line.split()[0] for line in lines] == ["input", "abba", "(empty)", "ab"]
    assert "checked to 26 outputs, the end; largest error 0" in lines[1]
    assert all(len(line) <= 80 for line in lines)
    assert main(call) == 2
    assert "exists; name another folder, or overwrite it: --force" in capsys.readouterr().err
    assert main([*call, "--force", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["folder"] == str(tmp_path / "out")
    assert found["holds"]
    assert found["checks"][0]["outputs"] == 26


def test_machines_are_compiled_for_floats_and_networks_taken_as_they_are(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    assert main(["export", "sweeper", "--on", "rnn", "--check", "99", "-o", out]) == 0
    assert "base=4" in capsys.readouterr().out
    saved = str(tmp_path / "rnn.safetensors")
    assert main(["compile", "sweeper", "--on", "rnn", "-o", saved]) == 0
    capsys.readouterr()
    assert main(["export", saved, "--check", "99", "-o", f"{out}2"]) == 1
    message = capsys.readouterr().err
    assert message.startswith("netwright: numpy in float64 is right only up to ")
    assert "try --base 4" in message
    assert not Path(f"{out}2").exists()
    assert main(["export", saved, "--check", "99", "-o", f"{out}2", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["folder"], found["holds"]) == (None, False)
    assert main(["export", saved, "--check", "99", "-o", f"{out}2", "--keep-failed"]) == 1
    assert "predicts the first wrong" in capsys.readouterr().out
    assert Path(f"{out}2").is_dir()


def test_a_word_with_blanks_gets_a_network_that_takes_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    call = ["export", "binary-increment", "--input", "1_1", "--input", "1"]
    assert main([*call, "-o", str(tmp_path / "out")]) == 0
    assert "blanks=True" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "say which folder to write: -o DIR"),
        (["-o", "x"], "say which machine to export, or --zoo"),
        (["palindrome", "-o", "x", "--to", "tensorflow"], "--to: no value 'tensorflow'"),
        (["palindrome", "-o", "x", "--dtype", "float8"], "--dtype: no value 'float8'"),
        (["palindrome", "-o", "x", "--dtype", "float16"], "no dtype for numpy 'float16'"),
        (["palindrome", "-o", "x", "--check", "many"], "--check is many; expected a number of"),
        (["palindrome", "-o", "x", "--input", "xyz"], "input symbol 'x' at position 1"),
        (["palindrome", "-o", "x", "--input", "a b"], "--separator ' '"),
        (["palindrom", "-o", "x"], "palindrome"),
        (["palindrome", "-o", "x", "--base", "4"], "base is not an option of transformer"),
        (["palindrome", "-o", "no/x"], "No such file or directory"),
        (["palindrome", "-o", "."], "not a name for a new folder"),
        (["palindrome", "--zoo", "-o", "x"], "--zoo takes all machines of the library"),
        (["--zoo", "-o", "no/x"], "No such file or directory"),
    ],
)
def test_bad_input(
    arguments: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("netwright: ")
    assert said in captured.err
    assert [*tmp_path.iterdir()] == []


def test_a_missing_extra_names_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert main(["export", "palindrome", "--to", "hf", "-o", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert "hf needs torch and transformers: pip install 'netwright[hf]'" in message


def test_ctrl_c(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls = 0

    def some(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls > 4:
            raise KeyboardInterrupt
        return check.check_outputs(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(subject, "check_outputs", some)
    zoo = ["export", "--zoo", "--check", "5", "-o", str(tmp_path / "zoo")]
    assert main(zoo) == 130
    captured = capsys.readouterr()
    assert captured.err == (
        "netwright: interrupted after 4 networks; the same command resumes it\n"
    )
    assert captured.out.count("checked to 5") == 4
    assert len([*(tmp_path / "zoo").iterdir()]) == 4 + 2
    calls = 5
    assert main(["export", "palindrome", "-o", str(tmp_path / "out")]) == 130
    assert "was not written" in capsys.readouterr().err
    calls = -1000
    assert main([*zoo, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["fresh"] for each in found["networks"][:5]] == [False] * 4 + [True]
