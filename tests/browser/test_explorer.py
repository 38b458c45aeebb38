"""The page in a real browser: what it shows is what the network has."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import Opened
from tests.browser.looking import PALINDROME, at, press, text, until

from netwright.explorer.explored import Explored
from netwright.kind.transformer.proof_values import ProofValuesOf
from netwright.machine.library import library_machine
from netwright.machine.timeline import normal_timeline
from netwright.network.network import compile_network

SIZES = [(1280, 800, ""), (1024, 768, "&big=1"), (390, 844, "")]


def test_every_token_of_a_palindrome(look: Opened) -> None:
    network = compile_network(library_machine("palindrome"))
    compiled = network.compiled
    tokens = compiled.network.tokens(compiled.recognizer.embed("abba"), compiled.seed)
    page = look(PALINDROME, 1)
    read = """() => [...document.querySelectorAll("table.stream tbody tr")].map(row => [
        row.querySelector("th b").textContent,
        ...[...row.querySelectorAll("td")].map(cell => cell.title)])"""
    for t, token in zip(range(1, 27), tokens, strict=False):
        at(page, t)
        first, second, third = token.layers
        columns = [token.input, first.a, first.z, second.p, third.p, token.y]
        rows = page.evaluate(read)
        seen = 0
        for block, *cells in rows:
            for vector, cell in zip(columns, cells, strict=True):
                wanted = ", ".join(
                    f"{label}: {value}" if label else str(value).replace("-", "−")
                    for label, value in vector[block].items()
                )
                assert cell == wanted, (t, block)
                seen += len(vector[block])
        assert seen == sum(len(vector.entries) for vector in columns)
        chips = page.query_selector_all("#lemmas button")
        chips = [chip for chip in chips if "certificate" not in chip.inner_text()]
        assert len(chips) == 8
        assert all(chip.get_attribute("class") == "holds" for chip in chips)
        rule = compiled.normal.machine.action(token.input.label("q1"), token.input.label("s1"))
        assert rule is not None
        assert f"go to {rule.state}." in text(page, "#sentence")
        assert text(page, "#rule h2").endswith(
            f"= ({rule.state}, {rule.write.replace('_', '␣')}, {rule.move})"
        )
        page.keyboard.press("ArrowRight")
    assert "The machine accepts, after 15 steps." in text(page, "#sentence")


@pytest.mark.parametrize("kind", ["transformer", "rnn", "neural-gpu"])
def test_every_kind_is_drawn_and_asks_nobody(look: Opened, kind: str) -> None:
    page = look(f"{PALINDROME}&kind={kind}", 9)
    assert text(page, "#sentence").startswith(
        ("In ", "Before the machine begins: in", "The network reads")
    )
    assert page.query_selector("#table table") is not None
    page.click("#demos-button")
    page.wait_for_selector("#dialog[open] .demos")
    assert "Busy beaver" in text(page, "#dialog")
    page.keyboard.press("Escape")
    page.click("#theme")
    page.keyboard.press("?")
    assert "One number rules" in text(page, "#dialog")


def test_a_place_far_inside_the_busy_beaver(look: Opened) -> None:
    page = look("machine=busy-beaver-5", 10_000_000)
    there = text(page, "#sentence"), text(page, "#table")
    normal = compile_network(library_machine("busy-beaver-5")).compiled.normal
    values = ProofValuesOf(normal, (), normal_timeline(normal, ()))
    visit = values.ell[10_000_000] + 1
    assert f"last visited by token {visit:,}, {10**7 - visit:,} back" in there[0]
    press(page, "ArrowRight", 10_000_001)
    assert text(page, "#table") != there[1]
    press(page, "ArrowLeft", 10_000_000)
    assert (text(page, "#sentence"), text(page, "#table")) == there


def test_the_end_of_the_busy_beaver(look: Opened) -> None:
    page = look("machine=busy-beaver-5", 1)
    press(page, "End", 47_176_873)
    assert "The machine halts, after 47,176,870 steps." in text(page, "#sentence")
    assert "go to Z" in text(page, "#sentence")
    press(page, "Home", 1)


def test_a_hundred_quick_presses_move_a_hundred_tokens(look: Opened) -> None:
    page = look("machine=busy-beaver-5", 1000)
    quick = """() => { for (let n = 0; n < 100; n++) document.body.dispatchEvent(
        new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true })); }"""
    page.evaluate(quick)
    at(page, 1100)
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    at(page, 1130)
    assert page.input_value("#t") == "1,130"


def test_margin_and_second_best_at_token_145(look: Opened) -> None:
    page = look("machine=busy-beaver-5", 145)
    scores = text(page, ".scores")
    assert "token 136" in scores
    assert "second, token 134" in scores
    titles = page.eval_on_selector_all(".scores .number", "all => all.map(each => each.title)")
    assert titles[-1] == "exactly 9/349135027520"


def test_a_click_on_the_overview_goes_there(look: Opened) -> None:
    page = look("machine=busy-beaver-5", 1)
    box = page.locator("#overview").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 20)
    page.wait_for_selector("body:not([data-shown='1'])")
    t = int(page.evaluate("document.body.dataset.shown"))
    assert abs(t / 47_176_873 - 0.5) < 1 / box["width"]
    # The picture has t in it, and what the token looks back to.
    assert f"{t:,}" in text(page, "#picture h2")


@pytest.mark.parametrize("size", [100, 10_000, 1_000_000])
def test_a_zoomed_overview_has_t_in_it(look: Opened, size: int) -> None:
    page = look("machine=busy-beaver-5", 10_000_000)
    page.select_option("#zoom", str(size))
    box = page.locator("#overview").bounding_box()
    # Its middle is t, or close to it; a click near its end goes that far.
    page.mouse.click(box["x"] + box["width"] * 0.75, box["y"] + 20)
    page.wait_for_selector("body:not([data-shown='10000000'])")
    t = int(page.evaluate("document.body.dataset.shown"))
    assert abs(t - (10_000_000 + size // 4)) <= size / box["width"] + 1
    press(page, "PageDown", t + 1000)
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 20)
    page.wait_for_selector(f"body:not([data-shown='{t + 1000}'])")
    there = int(page.evaluate("document.body.dataset.shown"))
    assert abs(there - (t + 1000)) <= size
    assert f"zoom={size}" in page.evaluate(
        "new Promise((wake) => setTimeout(() => wake(location.search), 500))"
    )


def test_pixels_are_the_tape(look: Opened) -> None:
    page = look(PALINDROME, 18)
    page.wait_for_timeout(300)
    explored = Explored(compile_network(library_machine("palindrome")), tuple("abba"))
    timeline = explored.history.timeline
    timeline.explore(100)
    first, last = timeline.lowest, timeline.highest
    read = """([x, y]) => { const c = document.getElementById("overview");
        return [...c.getContext("2d").getImageData(x * c.width, y * c.height, 1, 1).data]; }"""
    shades: dict[str, set[tuple[int, ...]]] = {}
    for t in (3, 9, 20, 25):
        now = timeline.at(t - 1)
        assert now is not None
        for cell in range(first, last + 1):
            if abs(cell - now.head) < 2:
                continue  # the head's path
            place = [(t - 0.5) / 26, (cell - first + 0.5) / (last - first + 1)]
            pixel = tuple(page.evaluate(read, place))
            shades.setdefault(timeline.cells(now.time, cell, cell)[0], set()).add(pixel)
    assert set(shades) == {"_", "a", "b"}
    assert all(len(each) == 1 for each in shades.values()), shades
    assert len(set.union(*shades.values())) == 3


def test_fresh_cells_blanks_in_the_input_and_no_input(look: Opened) -> None:
    assert "fresh, so token 5 attends to itself" in text(look(PALINDROME, 5), "#sentence")
    # A blank in the input is read as a symbol, and the walk over the input goes on.
    page = look("machine=palindrome&input=a_b", 3)
    assert "in q_read reading _: write _, move R, go to q_read." in text(page, "#sentence")
    page = look("machine=palindrome&input=", 1)
    press(page, "End", 4)
    assert "accepts" in text(page, "#sentence")
    # Not the machine's default input.
    assert page.input_value("#input") == ""


def test_inside_one_token(look: Opened) -> None:
    page = look(PALINDROME, 18)
    page.keyboard.press(".")
    assert "The last output comes back" in text(page, "#inside")
    for _ in range(3):
        page.keyboard.press(".")
    assert "x2 = −1" in text(page, "#inside")
    for _ in range(7):
        page.keyboard.press(".")
    page.keyboard.press(".")
    at(page, 19)
    page.keyboard.press(",")
    at(page, 18)
    assert "F(z³)" in text(page, "#inside")


def test_a_machine_of_ones_own(look: Opened) -> None:
    page = look(PALINDROME, 18)
    page.click("#edit-button")
    page.fill("textarea", "0 _ x r 1\n1 _ y l halt\n")
    page.click("text=Run it")
    page.wait_for_selector("body:not(.loading)[data-shown='1']")
    assert "halted after 2 steps" in text(page, "#about")
    press(page, "End", 5)
    assert "The machine halts, after 2 steps." in text(page, "#sentence")


def test_a_text_that_is_no_machine(server: str, browser: Any) -> None:
    page = browser.new_page()
    page.goto(f"{server}?{PALINDROME}")
    page.wait_for_selector("body[data-shown]")  # before that a click is not heard
    page.click("#edit-button")
    page.fill("textarea", "this is\nno machine at all")
    page.click("text=Run it")
    page.wait_for_selector("#dialog [role=alert]:not(:empty)")
    page.close()


def test_a_lemma_opens_its_statement(look: Opened) -> None:
    page = look(PALINDROME, 18)
    page.click("#lemmas li:nth-child(5) button")
    page.wait_for_selector("#dialog[open]")
    assert "Lemma B.4" in text(page, "#dialog")
    assert "exactly the value of the proof" in text(page, "#dialog")


def test_playing_and_pausing(look: Opened) -> None:
    page = look(PALINDROME, 1)
    page.select_option("#speed", "60")
    page.click("[data-go=play]")
    at(page, 26)
    assert page.evaluate("document.body.classList.contains('playing')") is False


def test_playing_skips_what_is_too_fast_to_draw(look: Opened) -> None:
    """Ten seconds of a clock that the test moves: half of a whole run, and 600 tokens at 60/s."""
    for query, speed, goal in (
        (PALINDROME, "whole", 1 + 25 * 10 // 20),
        ("machine=busy-beaver-5", "whole", 1 + 47_176_872 * 10 // 20),
        ("machine=busy-beaver-5", "60", 601),
    ):
        page = look(query, 1)
        page.select_option("#speed", speed)
        page.clock.install()
        page.click("[data-go=play]")
        page.clock.fast_forward(10_000)
        until(page, f"document.querySelector('#t').value.replaceAll(',', '') >= {goal}")
        page.click("[data-go=play]")
        page.close()


@pytest.mark.parametrize(("width", "height", "more"), SIZES)
@pytest.mark.parametrize(("query", "t"), [(PALINDROME, 18), ("machine=busy-beaver-5", 23_456_789)])
def test_everything_that_matters_is_above_the_fold(
    look: Opened, query: str, t: int, width: int, height: int, more: str
) -> None:
    page = look(query + more, t, width=width, height=height)
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelector('main').scrollWidth") <= width
    fold = page.locator("footer").bounding_box()["y"]
    for selector in ("#tape", "#sentence", "#picture canvas", "#lemmas"):
        box = page.locator(selector).bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= fold, selector
    for button in page.query_selector_all("header button, footer button"):
        box = button.bounding_box()  # None if it is hidden
        assert box is None or box["x"] < width


def test_another_score_keeps_the_time(look: Opened) -> None:
    page = look("machine=busy-beaver-5", 145)
    page.click("#choices summary")
    page.select_option("#options select", "recency")
    page.wait_for_selector("body:not(.loading)")
    page.wait_for_timeout(300)
    assert "about 12 bits" in text(page, ".scores")
    assert text(page, "#choices summary") == "options · score recency"
    assert page.input_value("#t") == "145"


def test_keys_work_after_a_number_was_typed(look: Opened) -> None:
    page = look(PALINDROME, 1)
    page.fill("#t", "12")
    page.keyboard.press("Enter")
    at(page, 12)
    press(page, "ArrowRight", 13)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("machine=nothing-like-it", "not a machine of the library"),
        ("machine=palindrome&input=abc", "'c'"),
        ("machine=palindrome&kind=perceptron", "transformer, rnn, neural-gpu"),
    ],
)
def test_bad_addresses_get_a_sentence(server: str, browser: Any, query: str, words: str) -> None:
    page = browser.new_page()
    page.goto(f"{server}?{query}")
    page.wait_for_selector("#trouble:not([hidden])")
    assert words in text(page, "#trouble")
    # And from there to a machine that there is.
    page.fill("#machine", "even-as")
    page.fill("#input", "ab")
    if "perceptron" not in query:
        page.click("#go")
        page.wait_for_selector("body[data-shown]")
        assert page.is_hidden("#trouble")
    page.close()


@pytest.mark.parametrize("t", ["99999999999", "-3", "abc", "1.5"])
def test_times_that_are_none_are_clipped(server: str, watched: Opened, t: str) -> None:
    page = watched(f"{server}?{PALINDROME}&t={t}")
    page.wait_for_selector("body[data-shown]")
    assert 1 <= int(page.evaluate("document.body.dataset.shown")) <= 26


def test_two_tabs(look: Opened) -> None:
    one, two = look("machine=busy-beaver-5", 5_000_000), look("machine=busy-beaver-5", 9_000_000)
    press(one, "ArrowRight", 5_000_001)
    press(two, "ArrowLeft", 8_999_999)
    assert "8,999,999" in text(two, "#stream h2")


def test_a_run_that_never_halts(look: Opened) -> None:
    page = look("machine=1RB1LB_1LA1RA", 1)
    assert "does not halt within" in text(page, "#about")


STOP = """() => {
  const [stop, busy] = [document.querySelector("#stop"), document.querySelector("#busy")];
  if (stop.hidden || !/own run: \\d+ %/.test(busy.textContent)) return false;
  stop.click();
  return true;
}"""


def test_work_that_takes_long_says_how_far_it_is_and_can_be_stopped(look: Opened) -> None:
    page = look("machine=1RB1LA_1LA1RB&kind=rnn", 5)
    page.keyboard.press("End")
    # At once, as a quick computer may be done before the next call.
    page.wait_for_function(STOP, polling=20)
    page.wait_for_selector("#stop", state="hidden")
    assert page.input_value("#t") == "5"
    press(page, "ArrowRight", 6)


TEACHING = (Path(__file__).parents[2] / "docs" / "teaching.md").read_text(encoding="utf-8")
PROMISES = re.findall(r'- At `([^`]+)`: "([^"]+)"', TEACHING)


@pytest.mark.parametrize(("query", "words"), PROMISES)
def test_what_teaching_promises(server: str, watched: Opened, query: str, words: str) -> None:
    page = watched(f"{server}?{query}")
    at(page, int(query.rpartition("&t=")[2].partition("&")[0]))
    page.wait_for_selector(".scores:not(:empty)")
    assert words in text(page, "#sentence") + text(page, ".scores")


def test_teaching_promises_something() -> None:
    assert len(PROMISES) == 8


def test_a_moment_after_ten_to_the_twelve_steps(look: Opened) -> None:
    """An accelerated run: its tape without last visits, its vectors, its times in full."""
    query = "machine=1RB1LA_1LA1RB&kind=rnn&engine=accelerated"
    page = look(query, t=10**12)
    assert text(page, "#sentence") == "In A reading 1: write 1, move L, go to A."
    assert page.input_value("#t") == "1,000,000,000,000"
    assert "of 1,000,000,000,002 shown" in text(page, "footer, body")
    assert page.get_attribute("#tape .head", "title").startswith("cell 618,899")
    assert "visited" not in page.inner_html("#tape")
    assert page.input_value("#options [name=engine]") == "accelerated"
    assert "≈ 0.5" in text(page, "#stream, body")
    press(page, "ArrowRight", 10**12 + 1)
    press(page, "Home", 1)
    press(page, "End", 10**12 + 2)
