"""The page for all eyes and hands: axe, contrast of what is drawn, sizes, keys and words."""

from typing import Any

import pytest
from tests.browser.conftest import Opened
from tests.browser.looking import PALINDROME, at, text
from tests.browser.test_explorer import SIZES
from tests.repetition import some

from netwright.kind.registry import REGISTRY

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def violations(page: Any) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"runOnly": RULES, "resultTypes": ["violations"]})
    return [
        f"{rule['id']}: {node['target']}"
        for rule in found.response["violations"]
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize(
    "case", some([(kind, *size) for kind in REGISTRY for size in SIZES], 11), ids=str
)
def test_axe_finds_nothing(look: Opened, case: tuple[str, int, int, str]) -> None:
    kind, width, height, more = case
    page = look(f"{PALINDROME}&kind={kind}{more}", 10, width=width, height=height)
    page.wait_for_selector("#kind option", state="attached")
    assert violations(page) == []
    page.click("#theme")
    assert violations(page) == []
    for button in (
        "#edit-button",
        "#demos-button",
        "#check-button",
        "#help-button",
        "#save-button",
        "#lemmas button",
    ):
        if not page.locator(button).first.is_visible():  # not every kind has lemmas to open
            assert button == "#lemmas button"
            continue
        page.locator(button).first.click()
        page.wait_for_selector("#dialog[open] h2")
        assert violations(page) == []
        page.keyboard.press("Escape")


# For every pixel that has exactly a mark's colour: the largest contrast with a pixel close to it,
# by the formula of WCAG; in colours, and as greys.
CONTRAST = """(selector) => {
    const canvas = document.querySelector(selector), { width, height } = canvas;
    const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
    const style = getComputedStyle(document.documentElement);
    const linear = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    const light = {
        colours: (r, g, b) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b),
        greys: (r, g, b) => linear(0.2126 * r + 0.7152 * g + 0.0722 * b),
    };
    const worst = {};
    for (const name of ["--head", "--layer-3", "--second", "--bad"]) {
        const hex = style.getPropertyValue(name).trim();
        const mark = [1, 3, 5].map((n) => parseInt(hex.slice(n, n + 2), 16));
        for (const [how, measure] of Object.entries(light)) {
            const at = (x, y) => {
                const n = 4 * (y * width + x);
                return measure(data[n] / 255, data[n + 1] / 255, data[n + 2] / 255);
            };
            const own = measure(...mark.map((c) => c / 255));
            for (let y = 7; y < height - 7; y++) for (let x = 7; x < width - 7; x++) {
                const n = 4 * (y * width + x);
                if (data[n + 3] < 255 || mark.some((c, k) => data[n + k] !== c)) continue;
                let best = 1;
                for (let dy = -7; dy <= 7; dy++) for (let dx = -7; dx <= 7; dx++) {
                    if (data[4 * ((y + dy) * width + x + dx) + 3] < 255) continue;
                    const other = at(x + dx, y + dy);
                    const [less, more] = [Math.min(own, other), Math.max(own, other)];
                    best = Math.max(best, (more + 0.05) / (less + 0.05));
                }
                const key = `${name} ${how}`;
                worst[key] = Math.min(worst[key] ?? 99, best);
            }
        }
    }
    return worst; }"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    ("query", "t"),
    [
        (PALINDROME, 18),
        ("machine=busy-beaver-5", 23_456_789),
        ("machine=universal-4-6", 200),  # six shades of grey
        ("machine=busy-beaver-4&kind=pointer-transformer", 60),
        ("machine=busy-beaver-5&bits=24", 145),  # the wrong attention beside the right one
    ],
)
def test_marks_stand_out_from_the_tape(look: Opened, query: str, t: int, theme: str) -> None:
    page = look(f"{query}&theme={theme}", t)
    is_twin = "bits" in query  # whose time is at the very edge of the overview
    for selector in ("#picture canvas",) if is_twin else ("#picture canvas", "#overview"):
        for _ in range(100):  # drawn after the moment is
            worst = page.evaluate(CONTRAST, selector)
            if "--layer-3 colours" in worst and ("--bad colours" in worst) == is_twin:
                break
            page.wait_for_timeout(100)
        assert {"--layer-3 colours", "--layer-3 greys", "--head colours"} <= set(worst)
        assert ("--bad greys" in worst) == is_twin
        assert all(contrast >= 3 for contrast in worst.values()), (selector, worst)


def test_layers_differ_by_more_than_their_colours(look: Opened) -> None:
    page = look(PALINDROME, 18)
    read = """(selector) => [1, 2, 3].map((n) => getComputedStyle(
        document.querySelector(selector.replace("N", n))).borderLeftStyle)"""
    for selector in ("th.layer-N", "td.new.layer-N", ".part.layer-N"):
        assert page.evaluate(read, selector) == ["solid", "dashed", "double"]


@pytest.mark.parametrize("kind", some([*REGISTRY], 5))
def test_targets_on_a_phone_are_large_enough(look: Opened, kind: str) -> None:
    page = look(f"{PALINDROME}&kind={kind}", 10, width=390, height=844)
    page.wait_for_selector("#kind option", state="attached")
    small = page.eval_on_selector_all(
        "button, select, input",
        """all => all.filter((each) => each.checkVisibility()).map((each) => {
            const { width, height } = each.getBoundingClientRect();
            return [each.id || each.textContent, width, height]; })
            .filter(([, width, height]) => width < 24 || height < 24)""",
    )
    assert small == []


def test_zoomed_to_200_percent_most_of_the_window_is_the_page(look: Opened) -> None:
    """A window of 1280 × 800 then has 640 × 400 pixels of CSS."""
    page = look(PALINDROME, 18, width=640, height=400)
    page.evaluate("window.scrollTo(0, 300)")
    page.wait_for_timeout(50)
    top = max(
        0,
        page.locator("header").bounding_box()["y"]
        + page.locator("header").bounding_box()["height"],
    )
    assert page.locator("footer").bounding_box()["y"] - top >= 280
    assert page.evaluate("document.documentElement.scrollWidth") <= 640
    # Everything can be scrolled to.
    page.locator("table.stream tr").last.scroll_into_view_if_needed()
    box = page.locator("table.stream tr").last.bounding_box()
    assert box["y"] + box["height"] <= page.locator("footer").bounding_box()["y"] + 1


def test_the_tape_has_words(look: Opened) -> None:
    page = look(PALINDROME, 18)
    words = page.get_attribute("#tape", "aria-label")
    assert "blank, b, head on b, " in words
    assert words.endswith("the head is at 2, next at 1")


def test_marked_tokens_can_be_reached_by_keys(look: Opened) -> None:
    page = look(PALINDROME, 18)
    for place, t in ((1, 9), (0, 13)):
        page = look(PALINDROME, 18)
        page.locator(".scores button").nth(place).focus()
        page.keyboard.press("Enter")
        at(page, t)
        assert f"token {t}" in text(page, "#stream h2")


def test_regions_that_scroll_take_keys(look: Opened) -> None:
    page = look("machine=busy-beaver-5&kind=neural-gpu", 10, width=390, height=844)
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.localName"))
    assert {"main", "table", "overview", "t", "machine", "kind"} <= reached
