"""What the README and the pages show is what happens."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from netwright.cli import main
from netwright.engine.transformer.tables import kernel

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    path.name: path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
}
SESSIONS = [
    pytest.param(*session, id=f"{name}: {session[0]}")
    for name, text in PAGES.items()
    for session in re.findall(r"```console\n\$ netwright (.*)\n((?:.*\n)*?)```", text)
]
PYTHON = {name: re.findall(r"```python\n((?:.*\n)*?)```", text) for name, text in PAGES.items()}
MAKE = re.findall(r'make run ARGS="(.*?)"', PAGES["README.md"])


@pytest.mark.parametrize(("arguments", "printed"), SESSIONS)
def test_a_session_prints_what_a_page_shows(
    arguments: str,
    printed: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("netwright.engine.moments.REFERENCE_SECONDS", 10**9)  # names its engine
    kernel.compiled.cache_clear()
    monkeypatch.setattr("netwright.engine.pointers.engine.has_code", lambda: False)
    main(shlex.split(arguments))
    shown = [line.rstrip() for line in printed.splitlines()]
    found = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    times = re.compile(r"\d+\.\d+ s")
    assert [times.sub("", line) for line in found] == [times.sub("", line) for line in shown]


@pytest.mark.parametrize("name", [name for name, blocks in PYTHON.items() if blocks])
def test_the_python_of_a_page_prints_what_it_says(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in PYTHON[name]:  # one after the other, as a reader would
        exec(code, names)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    for comment in re.findall(r"^print\(.*\)  # (.*)$", "".join(PYTHON[name]), re.MULTILINE):
        assert comment in lines


# `explore` starts a server, which tests/explorer/test_server.py does.
CALLS = [each for each in MAKE if "…" not in each and not each.startswith("explore")]


@pytest.mark.parametrize("arguments", CALLS)
def test_the_calls_of_the_readme_succeed(
    arguments: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(shlex.split(arguments)) == 0
    assert capsys.readouterr().out


def test_the_tables_of_blocks_are_those_of_the_networks() -> None:
    specification = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    assert specification is not None
    assert specification.loader is not None
    tables = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tables)
    page = PAGES["networks.md"]
    assert tables.page(page) == page, "run: python docs/tables.py"


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    folder = ROOT if name == "README.md" else ROOT / "docs"
    for target in re.findall(r"\]\(([^)#]+)\)", PAGES[name]):
        assert target.startswith("https://") or (folder / target).exists(), target


def test_the_readme_is_short_and_has_something_to_run() -> None:
    assert len(PAGES["README.md"].splitlines()) <= 120
    # One session is run here, and one with transformers in tests/export.
    assert sum(str(session.id).startswith("README") for session in SESSIONS) >= 1
    assert PAGES["README.md"].count("```py\n") == 1
    assert PYTHON["README.md"]
    assert len(MAKE) >= 3
