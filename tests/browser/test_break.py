"""Breaking a network in the page: clicks, what fails first, bits, two at once, the address."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.browser.conftest import Opened
from tests.browser.looking import PALINDROME, at, text, until
from tests.browser.test_accessible import violations
from tests.browser.test_explorer import SIZES

import netwright as nw

FLIPPED = ["weight", "decoder.3.V", "s2[a]", "s4[a]"]


def broken(*breaks: list[Any]) -> str:
    return urlencode({"break": json.dumps(breaks)})


def said(page: Any, words: str) -> str:
    until(page, f"document.getElementById('difference').innerText.includes({json.dumps(words)})")
    return text(page, "#difference")


def test_a_weight_is_flipped_and_mended(look: Opened) -> None:
    page = look(PALINDROME, 18)
    page.click("#breaking summary")
    page.wait_for_selector("#matrix option[value='decoder.3.V']", state="attached")
    page.select_option("#matrix", "decoder.3.V")
    page.click("#weights >> text=s2[a] → s4[a]: 1")
    words = said(page, "Wrong machine")
    assert "token 2: decoder.3.p s4[a] is −1, expected 1. Lemma B.4 fails." in words
    # What Python says of the same network.
    net = nw.compile("palindrome").with_weight("decoder.3.V", "s2[a]", "s4[a]", -1)
    assert net.verify("abba").differences[0].statement == "Lemma B.4"
    page.wait_for_selector("#twin td.differs")
    assert page.locator("#twin .chips .fails").count() > 0
    assert page.locator("#lemmas .fails").count() == 0  # the network itself is whole
    until(page, "location.search.includes('break=')")
    again = look(page.url.split("?")[1])
    said(again, "Lemma B.4 fails")
    page.click("#broken button")
    until(page, "!document.getElementById('twin').innerText")
    assert text(page, "#difference") == ""
    assert page.is_hidden("#mend")


def test_numbers_of_the_table_are_flipped_and_several_at_once(look: Opened) -> None:
    page = look(PALINDROME, 18)
    page.click("#breaking summary")
    page.wait_for_selector("#matrix option[value='F.1']", state="attached")
    page.locator("#table td[data-flip]").filter(has_text="1/9").first.click()
    assert "token 18: decoder.2.p x4 is −1/9, expected 1/9. Lemma B.3 fails." in said(page, "B.3")
    page.select_option("#left-out", "residual:decoder.1.O")
    assert "token 1: decoder.1.z" in said(page, "token 1:")
    assert page.locator("#broken li").count() == 2
    page.click("#mend")
    until(page, "!document.getElementById('broken').innerText")


def test_bits_show_the_first_wrong_attention(look: Opened) -> None:
    """Float32's precision: token 144 counted from 0 attends to 133, and right is 135."""
    page = look("machine=busy-beaver-5&bits=24", 145)
    words = said(page, "Wrong attention")
    assert "token 145, decoder.3.self: it selects token 134, right is token 136." in words
    page.wait_for_selector("#twin td.differs")
    until(page, "document.getElementById('bits-said').innerText === '24 bits'")
    page.click("#difference button >> text=token 3")
    at(page, 3)


def test_what_breaks_first(look: Opened) -> None:
    page = look(PALINDROME + "&kind=universal-transformer", 18)
    page.click("#breaking summary")
    page.click("#what-first")
    page.wait_for_selector("#strip:not([hidden])")
    words = text(page, "#strip-said")
    net = nw.compile("palindrome", to="universal-transformer")
    numbers = sum(
        len(each.entries) + len(each.bias.entries)
        for name, each in net.weights().items()
        if name != "positions"
    )
    assert f"of {numbers} flipped signs show within 26 tokens" in words
    box = page.locator("#strip").bounding_box()
    page.mouse.click(box["x"] + 2, box["y"] + box["height"] / 2)
    page.wait_for_selector("#broken .fails")


def test_another_kind_at_the_same_step(look: Opened) -> None:
    page = look(PALINDROME + "&beside=rnn", 18)
    page.click("#breaking summary")
    until(page, "document.getElementById('other').innerText.includes('rnn')")
    assert "rnn at t = 11" in text(page, "#other")
    assert "The same after 6 steps: in back reading b, head on cell 2." in text(page, "#other")
    page.select_option("#beside", "language-model")
    until(page, "document.getElementById('other').innerText.includes('language-model at')")
    assert "The same after 6 steps" in text(page, "#other")


@pytest.mark.parametrize("kind", ["transformer", "pointer-transformer"])
def test_all_scores_of_an_attention_are_pythons(look: Opened, kind: str) -> None:
    page = look(f"{PALINDROME}&kind={kind}", 18)
    page.click("text=all scores")
    page.wait_for_selector("#dialog[open] .all-scores")
    found = page.eval_on_selector_all(
        ".all-scores tr",
        "all => all.map((each) => [each.children[0].innerText, each.children[1].title])",
    )
    net = nw.compile("palindrome", to=kind)
    trace, layer = net.trace("abba"), net.kind.look.view.drawn
    q = trace[18][f"{layer}.q"]
    inner = net.compiled.network
    scores = [(inner.score(q, trace[t][f"{layer}.k"]), t) for t in range(1, 19)]
    right = sorted(scores, key=lambda each: (-each[0], each[1]))
    assert found == [[f"token {t}", str(score)] for score, t in right]
    assert violations(page) == []


@pytest.mark.parametrize("kind", ["transformer", "rnn", "universal-text"])
def test_in_a_file(watched: Opened, tmp_path: Path, kind: str) -> None:
    """The address has what is broken; nothing is asked of anybody."""
    nw.explore("palindrome", "abba", to=kind, t=5).save(tmp_path / "page.html")
    net = nw.compile("palindrome", to=kind)
    name = {"transformer": "decoder.3.V", "rnn": "U.2", "universal-text": "decoder.3.V"}[kind]
    row, column = next(iter(net.weights()[name].entries))
    flip = broken(["weight", name, row, column])
    page = watched(f"file://{tmp_path}/page.html#t=5&{flip}")
    at(page, 5)
    until(page, "document.getElementById('difference').innerText.length > 20")
    page.wait_for_selector("#twin table")
    if kind == "transformer":  # the same words as from the server's page
        assert "Lemma B.4 fails" in text(page, "#difference")
    page.click("#edit-button")
    page.fill(
        "#dialog textarea", "blank: _\nstart state: a\ntable:\n  a: {_: {write: 1, R: b}}\n  b:"
    )
    page.click("#dialog p button")
    page.wait_for_selector("body:not(.loading)[data-shown='1']")
    assert "halted after 1 step" in text(page, "#about")
    assert "universal-transformer" in text(page, "#about")
    assert page.locator("#broken li").count() == 0


def test_changing_the_run_while_something_is_computed(look: Opened) -> None:
    """Nothing of the old run stays, and nothing waits for an answer that cannot come."""
    query = "machine=palindrome&input=abbaabbaabba&kind=neural-gpu"
    page = look(f"{query}&{broken(['part', 'gate:update'])}", 10)
    page.wait_for_selector("#twin table")
    page.click("#what-first")
    page.select_option("#kind", "rnn")
    until(page, "document.querySelector('#about').innerText.includes('rnn')")
    page.wait_for_selector("body:not(.loading)")
    assert page.locator("#broken li").count() == 0
    assert page.is_hidden("#mend")
    until(page, "!document.getElementById('what-first').disabled")


def test_a_stay_is_between_two_steps_of_another_kind(look: Opened) -> None:
    """Two tokens of a Transformer are one step of a machine that stays."""
    page = look(PALINDROME, 1)
    page.click("#edit-button")
    page.fill(
        "textarea",
        "blank: _\nstart state: a\ninput: '11'\ntable:\n"
        "  a: {1: {write: 0, N: b}}\n  b: {0: {R: a}}\n",
    )
    page.click("text=Run it")
    until(page, "location.search.includes('posted')")
    page.wait_for_selector("body:not(.loading)[data-shown='1']")
    page.click("#breaking summary")
    page.select_option("#beside", "rnn")
    words = []
    for t in range(8, 13):
        page.fill("#t", str(t))
        page.keyboard.press("Enter")
        at(page, t)
        until(page, "document.getElementById('other').innerText.includes('step')")
        page.wait_for_timeout(150)
        words.append(page.inner_text("#other p"))
    assert any(each.startswith("The same after") for each in words)
    assert "Between two steps of the machine." in words
    assert not any(each.startswith("Different") for each in words)


def test_a_wrong_rule_for_the_right_state_is_told_apart(look: Opened) -> None:
    page = look(f"{PALINDROME}&{broken(['number', 18, 'decoder.1.z', 'q2[back]'])}", 18)
    words = said(page, "Wrong rule")
    assert "no next state, instead of write b, move L, go to back." in words


def test_a_break_that_this_network_does_not_have_is_said(look: Opened) -> None:
    page = look(f"{PALINDROME}&kind=rnn&{broken(FLIPPED)}", 5)
    assert said(page, "no weight") == "this network has no weight decoder.3.V at s2[a], s4[a]"


def test_a_language_model_has_no_twin(look: Opened) -> None:
    page = look(f"{PALINDROME}&kind=language-model", 10)
    assert page.is_hidden("#breaking")
    assert "all scores" not in text(page, ".scores")


@pytest.mark.parametrize(("width", "height", "more"), SIZES)
def test_axe_finds_nothing_in_what_is_broken(
    look: Opened, width: int, height: int, more: str
) -> None:
    query = f"{PALINDROME}&beside=rnn&{broken(FLIPPED)}{more}"
    page = look(query, 18, width=width, height=height)
    page.wait_for_selector("#twin table")
    page.wait_for_selector("#other table")
    page.select_option("#matrix", "decoder.3.V")
    page.click("#what-first")
    page.wait_for_selector("#strip:not([hidden])")
    assert violations(page) == []
    page.click("#theme")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.click("#edit-button")
    page.fill("#dialog textarea", "0 1 0 q 0\n1 1 1 r")
    assert violations(page) == []
