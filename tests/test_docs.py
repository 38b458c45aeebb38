"""What the README and the pages show is what happens."""

import importlib.util
import json
import re
import shlex
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from tests.notebooks import assert_prints_what_it_shows

from netwright.cli import app, main
from netwright.cli.verb import HELP, VERBS, SubVerbs
from netwright.engine.transformer.tables import kernel

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS if path.is_relative_to(DOCS) else ROOT).as_posix(): path.read_text(
        "utf-8"
    )
    for path in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted(DOCS.glob("*.md")),
        *sorted(DOCS.glob("how-to/*.md")),
        *sorted(DOCS.glob("lecture/*.md")),
    ]
}
FENCE = re.compile(
    r"(?:Save this as `(?P<file>[^`]+)`:\n\n)?"
    r"^(?P<margin> *)```(?P<language>\w+)\n(?P<text>.*?)^(?P=margin)```$",
    re.M | re.S,
)
BLOCKS = {
    name: [
        (found["file"], found["language"], textwrap.dedent(found["text"]))
        for found in FENCE.finditer(text)
    ]
    for name, text in PAGES.items()
}
FOLLOWED = re.compile(r"(tutorial|formats)\.md|(how-to|lecture)/.*")
"""Pages whose blocks need those before them."""
SESSIONS = [
    pytest.param(*block.removeprefix("$ netwright ").split("\n", 1), id=f"{name}: {block[:40]}")
    for name, blocks in BLOCKS.items()
    for file, language, block in blocks
    if language == "console" and not FOLLOWED.fullmatch(name)
]
PYTHON = {
    name: [text for _, language, text in blocks if language == "python"]
    for name, blocks in BLOCKS.items()
}
MAKE = re.findall(r'make run ARGS="(.*?)"', PAGES["README.md"])
TIMES = re.compile(r"\d+(\.\d+)? (s of CPU|s\b|KB\b)")


def printed_by_blocks(
    code: str, names: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    """Run Python of a page; each comment after a print is what it prints."""
    capsys.readouterr()
    exec(code, names)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    for comment in re.findall(r"^ *print\(.*\)  # (.*)$", code, re.MULTILINE):
        assert comment in lines


def assert_session(call: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The call prints what is shown; times are any, and … is any lines."""
    capsys.readouterr()
    main(shlex.split(call))
    found, shown = (
        "\n".join(TIMES.sub("", line.rstrip()) for line in text.strip().splitlines())
        for text in (capsys.readouterr().out, printed)
    )
    pieces = [re.escape(piece) for piece in re.split(r"\n *…(?=\n|$)", shown)]
    if len(pieces) > 1:
        assert re.fullmatch("(?s:\\n.*)".join(pieces), found), found
    else:
        assert found == shown


@pytest.fixture(autouse=True)
def as_on_a_slow_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a folder of its own. A session names its engine, however fast the machine; no torch."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("netwright.engine.moments.REFERENCE_SECONDS", 10**9)
    kernel.compiled.cache_clear()
    monkeypatch.setattr("netwright.engine.pointers.engine.has_code", lambda: False)
    monkeypatch.setattr(
        "netwright.engine.stack_moments.StackEngine.is_warm", staticmethod(lambda: False)
    )
    monkeypatch.setattr("netwright.export.checkpoint.CheckpointTarget.runtime", ())


@pytest.mark.parametrize(("call", "printed"), SESSIONS)
def test_a_session_prints_what_a_page_shows(
    call: str, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_session(call, printed, capsys)


@pytest.mark.parametrize("name", [name for name in BLOCKS if FOLLOWED.fullmatch(name)])
def test_a_page_can_be_followed_word_for_word(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """All its files, sessions and Python, one after the other in one folder, as a reader would."""
    names: dict[str, object] = {}
    for file, language, text in BLOCKS[name]:
        if file is not None:
            Path(file).write_text(text, encoding="utf-8")
        elif language == "console":
            call, printed = text.removeprefix("$ netwright ").split("\n", 1)
            assert_session(call, printed, capsys)
        elif language == "python":
            printed_by_blocks(text, names, capsys)


@pytest.mark.parametrize(
    "name", [name for name, found in PYTHON.items() if found and not FOLLOWED.fullmatch(name)]
)
def test_the_python_of_a_page_prints_what_it_says(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, object] = {}
    for code in PYTHON[name]:  # one after the other, as a reader would
        printed_by_blocks(code, names, capsys)


TOO_LONG = {
    "$ netwright precision busy-beaver-5 --dtype float64 --max-steps 200010 --score recency": (
        "minutes; docs/results.py measures it"
    )
}
"""Sessions that are shown and not run, and why."""


def test_no_block_is_left_out() -> None:
    """A `console` block is one call of netwright; the marks of code are those that tests know.

    Not run here: `py` needs torch, and tests/export/test_pages.py runs it; `sh` starts servers,
    installs, fetches, or takes minutes. The other marks are not of code in Python. A session that
    is `text` is one of `TOO_LONG`.
    """
    for name, blocks in BLOCKS.items():
        assert PAGES[name].count("```python\n") == len(PYTHON[name]), name
        for _, language, text in blocks:
            known = {"console", "python", "py", "sh", "text", "yaml", "coq", "toml", "bibtex"}
            assert language in known, (name, language)
            if language == "text" and text.startswith("$ "):
                assert text.partition("\n")[0] in TOO_LONG, name
            if language == "console":
                assert re.fullmatch(r"\$ netwright [^\n]*\n(?!.*^\$ ).*", text, re.S | re.M), name


# `explore` starts a server, which tests/explorer/test_server.py does.
CALLS = [each for each in MAKE if "…" not in each and not each.startswith("explore")]


@pytest.mark.parametrize("arguments", CALLS)
def test_the_calls_of_the_readme_succeed(
    arguments: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(shlex.split(arguments)) == 0
    assert capsys.readouterr().out


def calls_in(name: str) -> list[str]:
    """What a page calls netwright with, in its text and in its blocks."""
    prose = FENCE.sub("", PAGES[name])
    inline = re.findall(r"`netwright ([^`\n]+)`|^    (?:\$ )?netwright (.+)$", prose, re.M)
    blocks = "".join(text for _, language, text in BLOCKS[name] if language != "py")
    return [a or b for a, b in inline] + re.findall(r"^ *(?:\$ )?netwright (.+)$", blocks, re.M)


@pytest.mark.parametrize("name", PAGES)
def test_every_call_in_a_page_is_one_that_netwright_takes(name: str) -> None:
    """Also those that are not run: their verbs and options are there."""
    verbs: Any = typer.main.get_command(app)
    for call in calls_in(name):
        verb, *words = shlex.split(re.split(r" [|>&#;] ?", call)[0])
        if verb in ("VERB", "--version", "--help"):
            continue
        assert verb in VERBS, call
        command = verbs.get_command(None, verb)
        if isinstance(command, SubVerbs):
            named = words and words[0] in command.verbs
            command = command.get_command(None, words[0] if named else command.module.DEFAULT)
        options = {option for each in command.params for option in each.opts}
        options |= {option for each in command.params for option in each.secondary_opts}
        for word in words:
            if re.match(r"--?[a-z]", word):
                assert word.partition("=")[0] in {*options, *HELP}, call


def module_of(name: str) -> ModuleType:
    """A script of docs/."""
    specification = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    found = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(found)
    return found


def test_the_tables_of_blocks_are_those_of_the_networks() -> None:
    page = PAGES["networks.md"]
    assert module_of("tables").page(page) == page, "run: python docs/tables.py"


def test_the_results_are_those_that_were_measured() -> None:
    results = module_of("results")
    data = json.loads(results.DATA.read_text(encoding="utf-8"))
    assert results.page(data) == PAGES["results.md"], "run: python docs/results.py NAME"
    assert data.keys() >= results.QUICK.keys()
    scripts = re.findall(r"\bpython (?:-P )?(\S+\.py)", PAGES["results.md"])
    assert len(scripts) > 5
    assert all((ROOT / script).is_file() for script in scripts), scripts


@pytest.mark.parametrize(
    "figure", ["47,176,870 steps", "token 31,542", "200,010", "dimension 45", "dimension 16"]
)
def test_a_figure_of_the_readme_was_measured(figure: str) -> None:
    assert figure.split()[-1] in PAGES["README.md"] or figure in PAGES["README.md"]
    assert figure in PAGES["results.md"]


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    folder = ROOT if (ROOT / name).is_file() else (DOCS / name).parent
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", PAGES[name]):
        made = (
            "generated/" in target or "live/" in target
        )  # `make docs` makes these and follows them
        assert made or target.startswith("https://") or (folder / target).exists(), target


def test_the_readme_is_short_and_has_something_to_run() -> None:
    assert len(PAGES["README.md"].splitlines()) <= 110
    # One session is run here, and one with transformers in tests/export.
    assert sum(str(session.id).startswith("README") for session in SESSIONS) >= 1
    assert PAGES["README.md"].count("```py\n") == 1
    assert PYTHON["README.md"]
    assert len(MAKE) >= 3


def test_the_notebook_of_the_lecture_prints_what_it_shows() -> None:
    assert_prints_what_it_shows(DOCS / "lecture" / "notebook.ipynb")


def test_the_citation_is_of_this_version() -> None:
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.M)
    assert version is not None
    assert f"version: {version[1]}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"version = {{{version[1]}}}" in PAGES["cite.md"]
    assert re.search(
        rf"^## {re.escape(version[1])}\b", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M
    )
