"""The static site in Chromium, from file:// and from a static host: it works, and asks nobody."""

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.chromium import hosted, watched_page
from tests.browser.looking import at, press, text, until
from tests.repetition import some

from netwright.errors import FormatWarning
from netwright.explorer.explored import Explored
from netwright.explorer.moments import moment_data
from netwright.explorer.site import write_site
from netwright.machine.library import library_machine
from netwright.machine.load import machine_of_text
from netwright.network.network import network_for_word

Visit = Callable[..., Any]
SCREENS = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("built") / "site"
    write_site(place)
    return place


@pytest.fixture(scope="module")
def host(folder: Path) -> Iterator[str]:
    with hosted(folder) as address:
        yield address


@pytest.fixture
def visit(browser: Any, folder: Path, host: str) -> Iterator[Visit]:
    """Open a page of the site; in the end nothing was asked but the site, and no error said."""
    pages = []

    def opened(name: str, where: str = "file", size: tuple[int, int] = (1280, 800)) -> Any:
        base = host if where == "http" else f"file://{folder}/"
        page = watched_page(browser, (base, "data:", "blob:"), *size)
        pages.append(page)
        page.goto(base + name)
        return page

    yield opened
    for page in pages:
        assert page.troubles == []
        page.close()


def on_screen(page: Any, number: int) -> None:
    page.wait_for_selector(f"body[data-shown='{number}']")


@pytest.mark.parametrize("where", ["file", "http"])
def test_from_the_gallery_to_a_network_at_work(visit: Visit, where: str) -> None:
    page = visit("index.html", where)
    until(page, "[...document.images].every((i) => i.loading === 'lazy' || i.complete)")
    page.locator("#prime img").first.scroll_into_view_if_needed()
    until(page, "[...document.querySelectorAll('#prime img')].every((i) => i.naturalWidth > 50)")
    link = page.locator("#busy-beaver-4 a[href*='kind=rnn']")
    t = int(link.get_attribute("href").rpartition("=")[2])
    link.click()
    at(page, t)
    assert text(page, "#about").startswith("The busy beaver of 4 states")
    assert page.input_value("#machine") == "busy-beaver-4"
    press(page, "ArrowRight", t + 1)
    page.select_option("#kind", "pointer-transformer")
    at(page, t + 1)
    assert "pointer-transformer" in text(page, "#about")
    page.wait_for_timeout(400)
    assert {"machine=busy-beaver-4", "kind=pointer-transformer", f"t={t + 1}"} <= set(
        page.url.partition("#")[2].split("&")
    )
    page.fill("#machine", "palindrome")
    page.keyboard.press("Enter")
    at(page, 1)
    assert "accepted after 15 steps" in text(page, "#about")
    page.fill("#input", "abab")
    page.keyboard.press("Enter")
    page.wait_for_selector("#trouble:not([hidden])")
    assert "another input runs on universal-transformer" in text(page, "#trouble")
    page.select_option("#kind", "universal-transformer")
    page.wait_for_selector("body:not(.empty)")
    steps = library_machine("palindrome").run("abab").steps
    until(page, f"document.querySelector('#about').textContent.includes('{steps} steps')")
    assert "rejected" in text(page, "#about")


def shown_numbers(page: Any) -> dict[tuple[str, str], str]:
    """Every number of the table, by vector and coordinate."""
    rows = page.eval_on_selector_all(
        "#table td[data-flip]", "all => all.map((td) => [JSON.parse(td.dataset.flip), td.title])"
    )
    found = {}
    for names, title in rows:
        numbers = [part.split(": ")[-1] for part in re.split(r", (?![^\[]*\])", title)]
        assert len(numbers) == len(names), title
        found.update({tuple(n): x for n, x in zip(names, numbers, strict=True)})
    return found


def test_a_live_page_has_the_numbers_of_python_at_50_random_times(visit: Visit) -> None:
    machine, draw = library_machine("binary-addition"), random.Random(39)
    word = machine.default_input
    network = network_for_word(machine, "transformer", word)
    explored = Explored(network, word)
    page = visit("page.html#machine=binary-addition&kind=transformer&t=1")
    at(page, 1)
    names = [str(coordinate) for coordinate in network.layout.coordinates]
    for t in draw.sample(range(1, explored.last[0] + 1), 50):
        moment = explored.moment(t)
        assert moment is not None
        now: dict[int, str] = {}
        vectors = {}
        for each in moment_data(explored, moment)["vectors"]:
            now = {k: x for k, x in {**now, **dict(each["entries"])}.items() if x != "0"}
            vectors[each["name"]] = {names[k]: x.replace("-", "−") for k, x in now.items()}
        page.fill("#t", str(t))
        page.keyboard.press("Enter")
        at(page, t)
        found = shown_numbers(page)
        columns = {vector for vector, _ in found}
        assert len(columns) == 6
        assert found == {
            (vector, coordinate): x
            for vector in columns
            for coordinate, x in vectors[vector].items()
        }


@pytest.mark.parametrize("where", ["file", "http"])
def test_the_walk_can_be_walked_to_its_end(visit: Visit, where: str) -> None:
    page = visit("walk.html", where)
    for number in range(1, SCREENS + 1):
        on_screen(page, number)
        assert text(page, "#title").startswith(f"{number} of {SCREENS}")
        assert not page.locator("#question p").is_visible()
        page.click("#question summary")
        assert len(text(page, "#question p")) > 40
        if number < SCREENS:
            page.click("#after")
    assert not page.locator("#after").is_visible()
    until(page, "document.body.dataset.ran === 'halted 8'")
    assert "On the tape: 1100." in text(page, "#figure .said")
    page.fill("#figure input", "111")
    page.click("#figure button")
    until(page, "document.body.dataset.ran === 'halted 8'")
    until(page, "document.querySelector('#figure .said')?.textContent.includes('1000')")
    rules = "a _ x r b\na x y l a\nb _ x l a\nb y x r b"
    with pytest.warns(FormatWarning, match="starting with the first"):
        steps = machine_of_text(rules).run("", max_steps=10_000)
    page.fill("#figure textarea", rules)
    page.fill("#figure input", "")
    page.click("#figure button")
    until(page, f"document.body.dataset.ran === 'halted {steps.steps}'")
    page.click("text=See every number")
    at(page, 1)
    assert f"halted after {steps.steps} steps" in text(page, "#about")


def test_the_walk_says_what_the_network_does(visit: Visit) -> None:
    """Its claims in words are those of the run."""
    machine = library_machine("palindrome")
    network = network_for_word(machine, "transformer", tuple("abba"))
    explored = Explored(network, tuple("abba"))
    page = visit("walk.html#screen=2&t=26")
    on_screen(page, 2)
    assert page.locator(".tokens .token").count() == explored.last[0] == 26
    assert page.locator(".tokens .early").count() == 11
    assert page.locator(".numbers li").count() == network.dimension
    for t in range(1, 27):
        moment = explored.moment(t)
        assert moment is not None
        rule = moment_data(explored, moment)["rule"]
        card = text(page, f".token >> nth={t - 1}").split("\n")
        read = "empty" if rule["symbol"] == machine.blank else rule["symbol"]
        assert card[:3] == [f"token {t}", rule["state"], f"reads {read}"]
    page = visit("walk.html#screen=3&t=18")
    on_screen(page, 3)
    assert page.locator(".detectors tbody td").count() == 33
    assert page.locator(".detectors .lit").count() == 1
    page = visit("walk.html#screen=4&t=10")
    on_screen(page, 4)
    assert "10 numbers is 0" in text(page, "#figure")
    page = visit("walk.html#screen=5&t=18")
    on_screen(page, 5)
    assert "It was token 13, 5 tokens ago, and it wrote b" in text(page, "#figure")
    page = visit("walk.html#screen=6")
    on_screen(page, 6)
    for place, wrong, answer in (("1", "7", ""), ("2", "7", "9"), ("3", "13", "15")):
        page.select_option("#figure select", place)
        until(page, f"document.body.dataset.broken === '{place} {wrong}'")
        assert f"Token {wrong} is the first that is wrong" in text(page, "#figure")
        assert page.locator(".token.wrong").count() == 27 - int(wrong)
        stops = f"At token {answer} it stops, with the answer accept"
        assert (stops in text(page, "#figure")) == bool(answer)
    page = visit("walk.html#screen=7")
    on_screen(page, 7)
    assert "It looks back 1,627 tokens, to token 23,455,162" in text(page, "#figure")
    assert "73 weights" in text(page, "#figure")


def test_the_playground_begins_with_the_editor_and_runs_what_is_typed(visit: Visit) -> None:
    page = visit("playground.html")
    page.wait_for_selector("#dialog textarea")
    page.fill("#dialog textarea", "0 1 0 r 0\n0 _ 1 r halt")
    page.fill("#dialog p input", "11")
    page.click("#dialog p button")
    until(page, "document.querySelector('#about').textContent.includes('halted after 3 steps')")
    assert "universal-transformer" in text(page, "#about")
    page.wait_for_timeout(400)
    again = visit(page.url.rpartition("/")[2])
    until(again, "document.querySelector('#about').textContent.includes('halted after 3 steps')")
    assert not again.locator("#dialog").is_visible()


PAGES = {
    "index.html#x": "body.reading",
    "playground.html#x": "#dialog textarea",
    "page.html#machine=reverse&kind=neural-gpu&t=9": "body[data-shown='9']",
    **{f"walk.html#screen={n}": f"body[data-shown='{n}']" for n in range(1, SCREENS + 1)},
}


@pytest.mark.parametrize("theme", some(["dark", "light"], 1))
def test_every_page_is_accessible_and_fits_a_phone(visit: Visit, theme: str) -> None:
    reason = "axe-playwright-python is not installed"
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason=reason)
    for name, ready in PAGES.items():
        page = visit(f"{name}&theme={theme}", size=(390, 844))
        page.wait_for_selector(ready)
        assert page.get_attribute("html", "data-theme") == theme
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
        found = axe.Axe().run(page, options={"preload": False}).response["violations"]
        assert found == [], name
        page.set_viewport_size({"width": 1440, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= 1440, name
        small = page.eval_on_selector_all(
            "button, select, input, a[href]",
            "all => all.filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 24)"
            ".map((e) => e.outerHTML)",
        )
        assert small == [] or name == "index.html#x", name


def test_the_server_has_the_walk(server: str, watched: Visit) -> None:
    page = watched(f"{server}walk.html#screen=5&t=18")
    on_screen(page, 5)
    assert "It was token 13" in text(page, "#figure")
    page.click("#screens button >> nth=7")
    until(page, "document.body.dataset.ran === 'halted 8'")
    page.click("#to-page")
    at(page, 18)
