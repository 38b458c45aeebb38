"""The page as a file, in a frame and in the wheel, and the machine that draws in it."""

import random
import zipfile
from pathlib import Path
from subprocess import run
from sys import executable
from typing import Any

import numpy as np
import pytest
from tests.browser.conftest import Opened
from tests.browser.looking import PALINDROME, at, press, text, until
from tests.repetition import some

from netwright.kind.registry import REGISTRY
from netwright.machine.library import library_machine, library_names
from netwright.machine.timeline import Timeline
from netwright.verify.draw import random_machine


def test_a_file_and_a_frame_show_the_same(look: Opened, watched: Opened, tmp_path: Path) -> None:
    import netwright as nw

    served = look(PALINDROME, 18)
    selectors = ("#sentence", "#table", "#lemmas", "#tape", "#rule", ".scores", "#picture h2")
    expected = {selector: text(served, selector) for selector in selectors}
    page = nw.explore("palindrome", "abba", t=18)
    (tmp_path / "page.html").write_text(page.html, encoding="utf-8")
    frame = f"<!doctype html><title>a notebook</title>{page._repr_html_()}"
    (tmp_path / "frame.html").write_text(frame, encoding="utf-8")
    from_file = watched(f"file://{tmp_path}/page.html")
    at(from_file, 18)
    assert {selector: text(from_file, selector) for selector in selectors} == expected
    press(from_file, "ArrowRight", 19)
    framed = watched(f"file://{tmp_path}/frame.html", width=1300)
    inside = framed.frames[1]
    inside.wait_for_selector("body[data-shown='18']")
    for selector in ("#sentence", "#lemmas", "#rule", ".scores"):
        assert inside.inner_text(selector).strip() == expected[selector]


@pytest.mark.parametrize("kind", some([*REGISTRY], 4))
def test_a_cell_of_a_notebook_shows_any_kind_without_its_kernel(
    look: Opened, watched: Opened, tmp_path: Path, kind: str
) -> None:
    """The output of a cell is all that is left: in a frame it shows what the server shows."""
    import netwright as nw

    options: dict[str, Any] = {"context": 64} if kind == "language-model" else {}
    shown = nw.compile("palindrome", to=kind, **options).explore("abba", t=12)._repr_html_()
    query = "".join(f"&{name}={value}" for name, value in options.items())
    served = look(f"{PALINDROME}&kind={kind}{query}", 12)
    (tmp_path / "frame.html").write_text(f"<!doctype html>{shown}", encoding="utf-8")
    framed = watched(f"file://{tmp_path}/frame.html", width=1300)
    inside = framed.frames[1]
    inside.wait_for_selector("body[data-shown='12']")
    for page in (served, inside):
        page.wait_for_selector("#lemmas :is(button, .quiet)")
    for selector in ("#sentence", "#rule h2", "#figures", "#table"):
        assert inside.inner_text(selector) == served.inner_text(selector), selector
    inside.click("[data-go=on]")
    inside.wait_for_selector("body[data-shown='13']")


def test_a_file_of_a_long_run_stays_within_what_it_has(watched: Opened, tmp_path: Path) -> None:
    import netwright as nw

    nw.explore("busy-beaver-5", tokens="100:150", t=145).save(tmp_path / "bb5.html")
    page = watched(f"file://{tmp_path}/bb5.html")
    at(page, 145)
    assert text(page, "#of") == "of 100 to 150 in this file"
    press(page, "PageDown", 150)
    press(page, "Home", 100)
    press(page, "ArrowRight", 101)
    page.wait_for_timeout(400)
    assert page.url.endswith("#t=101")
    page.reload()
    at(page, 101)


def test_a_language_model_shows_where_its_pointers_lead(watched: Opened, tmp_path: Path) -> None:
    import netwright as nw

    net = nw.compile("busy-beaver-5", to="language-model", context=256)
    net.explore("", t=100).save(tmp_path / "page.html")
    page = watched(f"file://{tmp_path}/page.html")
    at(page, 100)
    heading = "Pointer head: step token 100 attends to step token 77, the last on cell 2"
    assert text(page, "#picture h2").startswith(heading)
    assert "last visited by step token 77" in text(page, "#sentence")
    assert "the address of the last visit" in text(page, "#table")
    press(page, "ArrowRight", 101)


def check_machine(page: Any, machine: Any, word: tuple[str, ...], steps: int) -> None:
    """The page's machine against the timeline: where it ends, and a diagram."""
    rules = [
        [state, symbol, *action]
        for state, symbol in machine.delta
        if (action := machine.action(state, symbol))
    ]
    given = {
        "states": machine.states,
        "symbols": machine.symbols,
        "blank": machine.blank,
        "start": machine.start,
        "rules": rules,
    }
    found = page.evaluate(
        """async ([machine, word, steps]) => {
            const { MachineRun } = await import("./machine.js");
            const run = new MachineRun(machine, word, 0);
            run.steps(steps);
            const end = run.configuration();
            const cells = { columns: 9, first: -6, last: 6, rows: 5 };
            const drawn = await run.diagram({ from: 0, to: end.time + 1, lead: 0, ...cells });
            return [end, [...drawn.low], [...drawn.high], [...drawn.image]]; }""",
        [given, list(word), steps],
    )
    timeline = Timeline(machine, word, limit=steps)
    timeline.explore(steps)
    last = timeline.at(timeline.reached)
    assert last is not None
    end = found[0]
    assert (machine.states[end["state"]], end["head"], end["time"]) == (
        last.state,
        last.head,
        last.time,
    )
    columns = min(9, last.time + 1)
    expected = timeline.diagram(0, last.time + 1, columns, -6, 6, 5)
    assert found[1] == expected.lowest.tolist()
    assert found[2] == expected.highest.tolist()
    assert np.array(found[3]).reshape(columns, 5).tolist() == expected.image.tolist()


def test_the_machine_in_the_page_is_the_machine(look: Opened) -> None:
    page = look(PALINDROME, 1)
    for name in library_names():
        machine = library_machine(name)
        check_machine(page, machine, machine.default_input, 3000)
    draw = random.Random(17)
    for _ in range(200):
        machine = random_machine(draw, draw.randrange(1, 5), draw.randrange(2, 5))
        word = tuple(draw.choices(machine.symbols, k=draw.randrange(5)))
        check_machine(page, machine, word, 500)


def test_the_wheel_has_the_page(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    pip = [executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    run([*pip, "wheel", "--no-deps", "-w", str(tmp_path), str(root)], check=True)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as found:
        names = found.namelist()
    for name in ("index.html", "main.js", "style.css", "machine.js", "site/walk.js"):
        assert f"netwright/explorer/web/{name}" in names
    place = tmp_path / "installed"
    run([*pip, "install", "--no-deps", "--target", str(place), str(wheel)], check=True)
    page = tmp_path / "page.html"
    lines = [
        "import sys",
        f"sys.path.insert(0, {str(place)!r})",
        "import netwright",
        f"assert netwright.__file__.startswith({str(place)!r})",
        f"netwright.explore('palindrome', 'abba').save({str(page)!r})",
    ]
    code = "\n".join(lines)
    run([executable, "-c", code], check=True, cwd=tmp_path)
    assert 'id="recorded"' in page.read_text(encoding="utf-8")


def test_a_frame_without_a_size_at_first(watched: Opened, tmp_path: Path) -> None:
    """As a notebook makes it: the page is loaded, and laid out only later."""
    import netwright as nw

    frame = nw.explore("palindrome", "abba", t=18)._repr_html_()
    hidden = f"<!doctype html><title>a notebook</title><div id=x style='display:none'>{frame}</div>"
    (tmp_path / "frame.html").write_text(hidden, encoding="utf-8")
    page = watched(f"file://{tmp_path}/frame.html")
    inside = page.frames[1]
    inside.wait_for_selector("body[data-shown='18']", state="attached")
    page.evaluate("document.getElementById('x').style.display = ''")
    columns = """(selector) => { const c = document.querySelector(selector);
        if (c.width < 300) return 0;
        const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height);
        const seen = new Set();
        for (let x = 0; x < c.width; x++) {
            let key = "";
            for (let y = 0; y < c.height; y++) key += data[4 * (y * c.width + x)] + " ";
            seen.add(key);
        }
        return seen.size; }"""
    for selector in ("#picture canvas", "#overview"):
        until(inside, f"({columns})({selector!r}) > 20")
    assert inside.locator("#tape .cell").count() > 20


def test_a_file_says_which_times_it_has(watched: Opened, tmp_path: Path) -> None:
    import netwright as nw

    nw.explore("busy-beaver-5", tokens="100:150").save(tmp_path / "bb5.html")
    page = watched(f"file://{tmp_path}/bb5.html#t=9999")
    at(page, 150)
    said = "This file has t = 100 to 150 of 47,176,873; netwright explore shows all of them."
    assert text(page, "#note") == said
    press(page, "ArrowLeft", 149)
    assert text(page, "#note") == ""
    page.fill("#t", "7")
    page.keyboard.press("Enter")
    at(page, 100)
    assert text(page, "#note") == said
    assert page.input_value("#t") == "100"
