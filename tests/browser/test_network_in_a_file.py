"""A file with a network: it runs there; the universal one with any machine as its prompt."""

from pathlib import Path

import pytest
from tests.browser.conftest import Opened
from tests.browser.looking import at, press, text

import netwright as nw
from netwright.machine.load import machine_of_text

SELECTORS = ("#sentence", "#table", "#tape", "#rule", ".scores", "#picture h2")
RULES = "0 1 0 r 0\n0 _ 1 * halt"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "page.html"
    nw.explore("busy-beaver-5", to="universal-transformer", t=18).save(path)
    return f"file://{path}"


def test_a_file_shows_what_the_server_shows(look: Opened, watched: Opened, file: str) -> None:
    """At the beginning, and at a time that no file could have recorded."""
    page = watched(file)
    for t in (18, 1000, 30_000):
        served = look("machine=busy-beaver-5&kind=universal-transformer", t)
        page.fill("#t", str(t))
        page.keyboard.press("Enter")
        at(page, t)
        page.wait_for_selector("#picture canvas")
        assert {each: text(page, each) for each in SELECTORS} == {
            each: text(served, each) for each in SELECTORS
        }
        served.close()
    assert len(page.workers) == 1
    press(page, "ArrowRight", 30_001)
    press(page, "Home", 1)


@pytest.mark.parametrize("kind", ["transformer", "pointer-transformer"])
def test_a_long_run_of_another_kind(
    look: Opened, watched: Opened, tmp_path: Path, kind: str
) -> None:
    """The lemmas too."""
    nw.explore("busy-beaver-5", to=kind, t=4000).save(tmp_path / "page.html")
    page = watched(f"file://{tmp_path}/page.html")
    at(page, 4000)
    served = look(f"machine=busy-beaver-5&kind={kind}", 4000)
    selectors = (*SELECTORS, "#lemmas")
    last = "certificate" if kind == "transformer" else "after the halt"
    for each in (page, served):  # what was checked of the weights is there last
        each.wait_for_selector(f"#lemmas >> text={last}")
    assert {each: text(page, each) for each in selectors} == {
        each: text(served, each) for each in selectors
    }
    chips = page.locator("#lemmas button").all_inner_texts()
    assert all(chip.startswith("✓ ") for chip in chips)
    assert sum(chip.startswith("✓ B.") for chip in chips) == (8 if kind == "transformer" else 0)


def test_a_typed_machine_runs_at_once_and_stays_in_the_address(watched: Opened, file: str) -> None:
    page = watched(file)
    at(page, 18)
    page.click("#edit-button")
    page.fill("#dialog textarea", "0 1 0 r 0\n0 _ 1 x halt")
    assert text(page, ".faults") == "line 2 direction x; expected l, r, * (or g, d)"
    assert page.is_disabled("#dialog p button")
    page.fill("#dialog textarea", RULES)
    page.fill("#dialog p input", "11x")
    assert text(page, ".faults") == "the input has x; the symbols are _ 1 0"
    page.fill("#dialog p input", "111")
    assert text(page, ".written").split("\n")[0].split() == ["_", "1", "0"]
    page.click("#dialog p button")
    at(page, 1)
    machine = machine_of_text(RULES)
    steps = machine.run("111").steps
    assert f"halted after {steps} steps" in text(page, "#about")
    press(page, "End", 2 * 3 + 3 + steps + 1)  # the stay is two steps of the normal form
    assert f"The machine halts, after {steps} steps." in text(page, "#sentence")
    page.wait_for_timeout(500)
    again = watched(page.url)
    at(again, 14)
    assert text(again, "#sentence") == text(page, "#sentence")


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_the_editor_is_accessible(watched: Opened, file: str, size: tuple[int, int]) -> None:
    reason = "axe-playwright-python is not installed"
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason=reason)
    page = watched(file, width=size[0], height=size[1])
    at(page, 18)
    page.click("#edit-button")
    for rules in ("0 1 0 q 0\n1 1 1 r", RULES):
        page.fill("#dialog textarea", rules)
        assert axe.Axe().run(page).response["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth") == size[0]


def test_an_address_with_a_bad_machine_says_where(watched: Opened, file: str) -> None:
    page = watched(f"{file}#machine=1RB1LX_1L")
    page.wait_for_selector("#trouble:not([hidden])")
    assert "line 1: row B: 1L is not made of groups of three" in text(page, "#trouble")


def test_in_a_frame_of_a_notebook(watched: Opened, tmp_path: Path) -> None:
    page = nw.explore("palindrome", "abba", to="universal-transformer", t=9)
    frame = f"<!doctype html><title>a notebook</title>{page._repr_html_()}"
    (tmp_path / "frame.html").write_text(frame, encoding="utf-8")
    inside = watched(f"file://{tmp_path}/frame.html", width=1300).frames[1]
    inside.wait_for_selector("body[data-shown='9']")
    assert "in q_rewind reading b" in inside.inner_text("#sentence")
