"""The figures of a moment on the page, compared with Python's; pictures; the projector's page."""

import re
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.browser.conftest import Opened
from tests.browser.looking import PALINDROME, at, text, until
from tests.explorer.serving import base
from tests.repetition import some

from netwright.explorer.explored import Explored
from netwright.explorer.figures import Shown, rows_of
from netwright.explorer.moments import moment_data
from netwright.explorer.page import page_file
from netwright.kind.registry import REGISTRY
from netwright.machine.library import library_machine
from netwright.network.network import compile_network
from netwright.network.view import View
from netwright.text import shortened

# What each figure says, read off the page: rows of [about, words]; a word that is lit has a star.
READ = """async ([query, times]) => {
    const load = (path) => import(new URL(path, location.href));
    const { drawFigures } = await load("figures.js"), { unfold } = await load("source.js");
    const ask = async (path) => {
        for (;;) {
            const answer = await fetch(`api/${path}&${query}`);
            if (answer.status === 200) return answer.json();
            await new Promise((wake) => setTimeout(wake, 30));
        }
    };
    const run = await ask("run?"), place = document.createElement("section");
    place.style.width = "2000px";
    document.body.append(place);
    const words = (all) => [...all].map((each) => each.textContent);
    const says = (place) => [...place.querySelectorAll(".says")].map((row) => [
        row.firstChild.textContent,
        [...row.querySelectorAll(".fact")].map((fact) => (fact.classList.contains("on") ? "*" : "")
            + words(fact.querySelectorAll("small, b")).join(" ")),
    ]);
    const READERS = {
        decoded: says, neurons: says, blocks: says,
        cards: (place) => [["", [...place.querySelectorAll(".card")].map((card) =>
            (card.classList.contains("lit") ? "*" : "")
                + card.title.split(": ")[1].split(", written")[0])]],
        links: (place) => words(place.querySelectorAll("path")),
        stacks: (place) => {
            const said = place.querySelector("svg").getAttribute("aria-label").split(": ")[1];
            return said === "all are 0" ? [] : said.split("; ").map((stack) => stack.split(" "));
        },
        cells: (place) => [...place.querySelectorAll("tbody tr")].map((row) => words(row.children)),
    };
    const found = [];
    for (const t of times) {
        const [moment] = await ask(`moments?from=${t}&count=1`);
        drawFigures(place, run, unfold(moment, run));
        found.push([...place.children].map((each, n) => READERS[run.view.figures[n].draw](each)));
    }
    place.remove();
    return found;
}"""


def wanted(shown: Shown, figure: Any) -> list[Any]:
    """The same by Python."""
    rows, draw = rows_of(shown, figure), figure["draw"]
    if draw == "links":
        head = shown.data["head"]
        return [
            f"{row.about} {word.text}"
            for row in rows
            for word in row.words
            if abs(int(word.text.split()[1].replace(",", "")) - head) <= 7
        ]
    if draw == "stacks":
        return [[row.about.split(" ")[0], *(word.text for word in row.words)] for row in rows]
    if draw == "cells":
        return [
            [
                row.about,
                *(shortened(word.text, 24) for word in row.words),
                *[""] * (5 - len(row.words)),
            ]
            for row in rows
        ]
    if draw == "cards":
        return [["", ["*" * lit + card_title(word) for word, lit in rows[0].words]]]
    return [[row.about, ["*" * lit + word for word, lit in row.words]] for row in rows]


def card_title(word: str) -> str:
    read, done = word.split(" → ")
    without = done in ("no rule", "accepted")
    return f"{', '.join(read.split(' '))} → {done if without else ', '.join(done.split(' '))}"


@pytest.mark.parametrize("kind", [kind for kind in REGISTRY if kind != "transformer"])
def test_figures_say_what_python_says(server: str, watched: Opened, kind: str) -> None:
    """At 50 random times, of three machines; the page draws what the server answers."""
    page = watched(f"{base(server)}?{PALINDROME}")
    page.wait_for_selector("body[data-shown]")
    count = 0
    for name, word, many in (
        ("palindrome", "abba", 15),
        ("busy-beaver-4", "", 20),
        ("even-as", "ab", 15),
    ):
        options: dict[str, Any] = {"context": 512} if kind == "language-model" else {}
        explored = Explored(compile_network(library_machine(name), kind, **options), tuple(word))
        explored.explore(lambda done: True)
        draw, last = Random(name), explored.last[0]
        times = [draw.randint(max(1, explored.lead - 3), last) for _ in range(many)]
        query = f"machine={name}&input={word}&kind={kind}"
        query += "".join(f"&{option}={value}" for option, value in options.items())
        found = page.evaluate(READ, [query, times])
        for t, each in zip(times, found, strict=True):
            moment = explored.moment(t)
            assert moment is not None
            shown = Shown(explored, moment, moment_data(explored, moment))
            right = [wanted(shown, figure) for figure in explored.view.figures]
            blank = shown.symbols[0]
            assert said(each, blank) == said(right, blank), (name, t)
            count += 1
    assert count == 50


def said(found: Any, blank: str) -> Any:
    """With one sign for minus and for the blank, and without spaces at the ends of words."""
    if isinstance(found, list):
        return [said(each, blank) for each in found]
    return re.sub(rf"(?<![\w-]){re.escape(blank)}(?![\w-])", "␣", found.replace("−", "-")).strip()


def test_a_kind_without_a_view_has_its_blocks(watched: Opened, tmp_path: Path) -> None:
    """Recorded in a file: by name, with their meanings, and what each attention attends to."""
    explored = Explored(
        compile_network(library_machine("palindrome"), "transformer"), tuple("abba")
    )
    explored.view = View()
    (tmp_path / "page.html").write_text(page_file(explored, "1:26"), encoding="utf-8")
    page = watched(f"file://{tmp_path}/page.html#t=18")
    at(page, 18)
    facts = page.locator("#figures .fact")
    assert "q1 back" in facts.all_inner_texts()
    assert "decoder.3.self → 13" in facts.all_inner_texts()
    assert "decoder.2.self 18 alike" in facts.all_inner_texts()
    title = facts.filter(has_text="q1 back").first.get_attribute("title")
    assert "state" in title


@pytest.mark.parametrize("kind", some([*REGISTRY], 4))
def test_any_part_is_saved_as_a_picture(look: Opened, kind: str, tmp_path: Path) -> None:
    page = look(f"{PALINDROME}&kind={kind}", 12)
    until(page, "document.querySelector('#picture canvas').width > 300")
    page.click("#save-button")
    for number, ending in ((0, "svg"), (1, "png")):
        with page.expect_download() as waiting:
            page.locator(".saves button").nth(number).click()
        assert waiting.value.suggested_filename == f"palindrome-{kind}-12-page.{ending}"
        waiting.value.save_as(tmp_path / f"page.{ending}")
    picture = (tmp_path / "page.svg").read_text(encoding="utf-8")
    texts = "".join(ElementTree.fromstring(picture).itertext())
    for shown in text(page, "#sentence"), text(page, "#picture h2"), text(page, "#rule h2"):
        for word in shown.split():
            assert word in texts
    for word in page.locator("#figures .fact b").all_inner_texts():
        assert word.split()[0][:12] in texts
    assert "<image" in picture
    assert "http" not in picture.replace("http://www.w3.org/", "")
    assert (tmp_path / "page.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert (tmp_path / "page.png").stat().st_size > 20_000


def test_the_projector_has_the_table_above_the_fold(look: Opened) -> None:
    page = look(PALINDROME, 18, width=1024, height=768)
    small = page.evaluate("getComputedStyle(document.body).fontSize")
    page.click("#big-button")
    page.wait_for_selector("body.big")
    assert page.get_attribute("#big-button", "aria-pressed") == "true"
    assert float(page.evaluate("getComputedStyle(document.body).fontSize")[:-2]) > float(small[:-2])
    fold = page.locator("footer").bounding_box()["y"]
    for place in range(9):  # the blocks of the state, of the rule and of the head's cell
        row = page.locator("table.stream tbody tr").nth(place).bounding_box()
        assert row["y"] + row["height"] <= fold
    until(page, "location.search.includes('big=1')")
    page.click("#big-button")
    page.wait_for_selector("body:not(.big)")


def test_a_cell_shows_its_channels_and_gates(look: Opened) -> None:
    page = look(f"{PALINDROME}&kind=neural-gpu", 2)
    page.locator(".lines button").nth(1).click()
    found = text(page, ".detail")
    assert "E S[start] = 1" in found
    assert "update gate u is 1 in all of D, c" in found
    assert "reset gate r is 1 in every block." in found
    page.keyboard.press("ArrowRight")  # the cell stays open
    at(page, 3)
    assert "Channels of cell 2" in text(page, ".detail")


def test_chips_say_what_they_mean(look: Opened) -> None:
    page = look(PALINDROME, 18)
    page.wait_for_selector("#lemmas >> text=certificate")
    chip = page.locator("#lemmas button", has_text="B.4 ℓ").first
    assert "the token that layer 3 attends to" in chip.get_attribute("title")
    chip = page.locator("#lemmas button", has_text="B.3 p²").first
    assert "p² = Att(Q₂(z¹), K₂, V₂) + z¹" in chip.get_attribute("title")
    page = look(f"{PALINDROME}&kind=rnn", 10)
    page.wait_for_selector("#lemmas >> text=encoder")
    chips = page.locator("#lemmas button.holds").all_inner_texts()
    assert chips[0] == "✓ the machine's state and symbol"
    page.locator("#lemmas button", has_text="encoder").click()
    assert "every other token" in text(page, "#dialog")
