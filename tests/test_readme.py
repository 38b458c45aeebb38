"""What the README shows is what happens."""

import re
import shlex
from pathlib import Path

import pytest

from netwright.cli import main

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
SESSIONS = re.findall(r"```console\n\$ netwright (.*)\n((?:.*\n)*?)```", README)
PYTHON = re.findall(r"```python\n((?:.*\n)*?)```", README)
MAKE = re.findall(r'make run ARGS="(.*?)"', README)


@pytest.mark.parametrize(("arguments", "printed"), SESSIONS)
def test_a_session_prints_what_the_readme_shows(
    arguments: str,
    printed: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("netwright.runtime.engine.REFERENCE_SECONDS", 10**9)  # names its engine
    main(shlex.split(arguments))
    shown = [line.rstrip() for line in printed.splitlines()]
    found = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    times = re.compile(r"\d+\.\d+ s")
    assert [times.sub("", line) for line in found] == [times.sub("", line) for line in shown]


def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for code in PYTHON:  # one after the other, as a reader would
        exec(code, names)
    out = capsys.readouterr().out
    for comment in re.findall(r"print\(.*\)  # (.*)", "".join(PYTHON)):
        assert comment in out


@pytest.mark.parametrize("arguments", [arguments for arguments in MAKE if "…" not in arguments])
def test_the_calls_of_the_readme_succeed(
    arguments: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(shlex.split(arguments)) == 0
    assert capsys.readouterr().out


def test_there_is_something_to_run() -> None:
    assert len(SESSIONS) >= 2
    assert len(PYTHON) >= 1
    assert len(MAKE) >= 3
