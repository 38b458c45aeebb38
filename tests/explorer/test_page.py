"""The page as one file: everything in it, nothing fetched, nothing overwritten."""

import gzip
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

import netwright as nw
from netwright.cli import main
from netwright.errors import InputError, OutputError
from netwright.explorer.page import ASSETS, CHECKER, ENGINE, FIGURES, IN_A_FILE, explore, unpacked
from netwright.kind.registry import exact_kinds, kind_named


def recorded(page: str, name: str = "recorded") -> dict[str, Any]:
    packed = re.search(rf'id="{name}">([^<]+)<', page)
    assert packed is not None
    return dict(unpacked(packed[1]))


@pytest.mark.parametrize("kind", [each for each in exact_kinds() if kind_named(each).look.reader])
def test_a_file_has_the_network_and_names_no_address(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "page.html"
    assert main(["explore", "palindrome", "abba", "--on", kind, "-o", str(file)]) == 0
    page = file.read_text(encoding="utf-8")
    assert len(page) < 150_000
    found = recorded(page)
    assert "moments" not in found
    assert found["network"]["written"] == nw.compile("palindrome", to=kind).written
    assert found["run"]["outcome"] == "accepted"
    for attribute in re.findall(r'(?:src|href)="([^"]*)"', page):
        assert attribute.startswith("data:"), attribute
    assert "default-src 'none'" in page
    addresses = set(re.findall(r"https?://[^\"' <)]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}


def test_modules_import_each_other_by_names_that_the_file_has() -> None:
    text = explore("even-as", "ab", to="language-model").html
    for page, assets in ((text, ASSETS | FIGURES), (explore("even-as", "ab").html, IN_A_FILE)):
        _check_modules(page, {f"netwright{path}" for path in assets if path.endswith(".js")})


def _check_modules(page: str, names: set[str]) -> None:
    modules = recorded(page, "modules")
    assert set(modules) == names
    for text in modules.values():
        assert 'from ".' not in text
        for name in re.findall(r'(?:from |import\()"(netwright/[^"]+)"', text):
            # What a file has not is loaded by what it does not show.
            lacking = ("netwright/engine/", "netwright/checker/", "netwright/site/")
            assert name in modules or name.startswith(lacking)


def test_the_worker_has_every_module_of_the_engine_that_it_needs() -> None:
    """In a file it is one text, in this order, without imports: no name occurs twice."""
    order = re.search(r"const ORDER = \[(.*?)\];", ENGINE["/engine/remote.js"].body.decode())
    assert order is not None
    names = json.loads(f"[{order[1]}]")
    seen: set[str] = set()
    defined: list[str] = []
    for name in names:
        text = ENGINE[f"/engine/{name}.js"].body.decode()
        assert set(re.findall(r'^import .* from "\./(\w+)\.js";$', text, re.M)) <= seen
        assert text.count("import ") == len(re.findall(r"^import .*;$", text, re.M))
        seen.add(name)
        pattern = r"^(?:export )?(?:async )?(?:const|let|class|function) (\w+)"
        defined += re.findall(pattern, text, re.M)
    assert len(defined) == len(set(defined))


def test_some_tokens_of_a_long_run(tmp_path: Path) -> None:
    file = tmp_path / "bb5.html"
    arguments = ["explore", "busy-beaver-5", "--t", "145", "-o", str(file)]
    assert main([*arguments, "--tokens", "100:200"]) == 0
    found = recorded(file.read_text(encoding="utf-8"))
    assert [moment["t"] for moment in found["moments"]] == list(range(100, 201))
    assert found["query"]["t"] == "145"
    # Without --tokens the file has the network, up to the time to which the page runs it.
    assert main([*arguments, "--force"]) == 0
    assert "moments" not in recorded(file.read_text(encoding="utf-8"))
    arguments[3] = "1000000"
    assert main([*arguments, "--force"]) == 0
    moments = recorded(file.read_text(encoding="utf-8"))["moments"]
    assert len(moments) == 200
    assert 10**6 in [moment["t"] for moment in moments]


def test_what_the_page_cannot_run_is_recorded() -> None:
    found = recorded(explore("even-as", "abab", to="language-model").html)
    assert found["run"]["kind"] == "language-model"
    assert len(found["moments"]) == found["run"]["last"]
    assert found["moments"][-1]["vectors"]


def test_in_a_notebook_it_is_a_frame_that_can_do_little() -> None:
    network = nw.compile("palindrome")
    page = network.explore("abba", t=18)
    shown = page._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts" srcdoc="')
    inside = re.search(r'srcdoc="([^"]*)"', shown)
    assert inside is not None
    assert html.unescape(inside[1]) == page.html
    assert recorded(page.html)["query"]["t"] == "18"
    assert nw.explore("palindrome", "abba", t=18).html == page.html
    assert "page of transformer of palindrome" in repr(page)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("mine")
    page = nw.explore("even-as", "a")
    with pytest.raises(OutputError, match="exists"):
        page.save(file)
    assert main(["explore", "even-as", "a", "-o", str(file)]) == 2
    assert file.read_text() == "mine"
    page.save(file, force=True)
    assert file.read_text(encoding="utf-8") == page.html


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["palindrome", "abba", "--t", "27", "-o", "x.html"], "there is no time 27"),
        (["palindrome", "abba", "--tokens", "5:99", "-o", "x.html"], "the times 1 to 26"),
        (["palindrome", "abba", "--tokens", "5", "-o", "x.html"], "expected A:B"),
        (["palindrome", "abba", "--tokens", "9:5", "-o", "x.html"], "the times 1 to 26"),
        (["busy-beaver-5", "--tokens", "1:50000", "-o", "x.html"], "a file has at most 20,000"),
        (["palindrome", "abba", "--tokens", "1:5"], "add -o FILE.html"),
        (["palindrome", "abba", "--tokens", "1:5", "--t", "9", "-o", "x.html"], "the times 1 to 5"),
        (["palindrome", "abba", "--t", "99999"], "there is no time 99,999"),
        (
            ["palindrome", "abba", "--on", "rnn", "--engine", "accelerated", "-o", "x.html"],
            "a file runs the machine step by step",
        ),
        (["palindrome", "--engine", "accelerated"], "no engine for a page of transformer"),
        (["palindrome", "abba", "--max-steps", "0", "-o", "x.html"], "from 1 to 1,000,000,000"),
        (["busy-beaver-5", "--tokens", "1:20000", "-o", "none/x.html"], "none"),
        (["palindrome", "abc", "-o", "x.html"], "'c'"),
        (["palindrom", "-o", "x.html"], "did you mean palindrome?"),
    ],
)
def test_bad_arguments(
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["explore", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "Traceback" not in error
    assert not (tmp_path / "x.html").exists()


def test_a_time_that_is_not_there() -> None:
    with pytest.raises(InputError, match="there is no time 99"):
        nw.explore("palindrome", "abba", t=99)


def test_without_the_extra_the_server_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "starlette.applications", None)
    assert main(["explore", "even-as", "--no-browser", "--port", "0"]) == 2
    assert "pip install 'netwright[explore]'" in capsys.readouterr().err


def test_the_page_is_small() -> None:
    files = {path: each.body for path, each in ASSETS.items() if path != "/"}
    assert sum(map(len, files.values())) < 120_000
    assert len(gzip.compress(b"".join(files.values()), 9)) < 37_000
    assert len(gzip.compress(b"".join(each.body for each in FIGURES.values()), 9)) < 9_000
    page = explore("busy-beaver-5", to="universal-transformer").html
    assert len(gzip.compress(page.encode(), 9)) < 120_000


def test_a_file_of_the_universal_network_has_the_network_and_no_moments() -> None:
    page = explore("busy-beaver-5", to="universal-transformer", t=99_999).html
    found = recorded(page)
    assert "moments" not in found
    assert found["network"]["written"] == nw.compile("busy-beaver-5", to="universal").written
    assert found["query"]["t"] == "99999"
    # Beyond what the page computes, and of a changed network, there are moments as ever.
    assert len(recorded(explore("busy-beaver-5", to="universal", t=10**7).html)["moments"]) == 200
    net = nw.compile("palindrome", to="universal").with_weight("F.1", "v", "symbol", "-1")
    assert "network" not in recorded(net.explore("ab", tokens="1:3").html)
    small = nw.compile("palindrome", to="universal", size=16)
    assert "network" not in recorded(small.explore("ab").html)
    checker = b"".join(each.body for each in CHECKER.values())
    assert len(gzip.compress(checker, 9)) < 35_000


def test_the_checker_shares_nothing_with_the_page() -> None:
    """Its dialog alone uses the page's; no module builds code from text."""
    for path, each in CHECKER.items():
        module = each.body.decode()
        assert not re.search(r"\beval\b|\bFunction\(", module)
        if path != "/checker/panel.js":
            assert all(
                name.startswith("./")
                for name in re.findall(r'(?:from|import\() ?"([^"]+)"', module)
            )
