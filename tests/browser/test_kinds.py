"""Every kind of network on the page: its options, its words, and what is shown first."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import Opened
from tests.browser.looking import PALINDROME, at, text, until
from tests.explorer.serving import base, ended, started
from tests.repetition import some

from netwright.kind.record import Option
from netwright.kind.registry import REGISTRY, exact_kinds, kind_named, kinds
from netwright.machine.library import library_machine
from netwright.network.network import compile_network

FAR = 23_456_789


def other_value(option: Option) -> str:
    """A value that is not the option's default."""
    if option.choices:
        return option.choices[-1]
    return str(option.default // 2) if option.default else "9"


@pytest.mark.parametrize("kind", REGISTRY)
def test_every_option_of_a_kind_is_in_the_form_and_reloads(look: Opened, kind: str) -> None:
    page = look(f"{PALINDROME}&kind={kind}")
    page.wait_for_selector("#kind option", state="attached")
    assert page.input_value("#kind") == kind
    names = page.eval_on_selector_all("#kind option", "all => all.map(each => each.value)")
    assert names == list(kinds())
    found = kind_named(kind)
    aliases = {name for name, _ in found.construction.aliases}
    options = [option for option in found.options if option.name not in aliases]
    if engines := found.reading.traced_by[1:]:
        options.append(Option("engine", str, "auto", "", choices=("auto", *engines)))
    fields = page.eval_on_selector_all("#options [name]", "all => all.map(each => each.name)")
    assert fields == [option.name for option in options]
    assert page.is_visible("#choices") == bool(options)
    if options:
        page.click("#choices summary")
    for option in options:
        if option.name == "attention" and kind == "universal-transformer":
            page.select_option("#options [name=size]", "21")  # 16 has no dot products
        field, value = f"#options [name={option.name}]", other_value(option)
        with page.expect_request(
            lambda r, option=option: "/api/run" in r.url and f"{option.name}=" in r.url
        ):
            if option.is_flag:
                page.check(field)
            elif option.choices:
                page.select_option(field, value)
            else:
                page.fill(field, value)
                page.keyboard.press("Tab")
        page.wait_for_selector("body:not(.loading)")
        if option.is_flag:
            assert page.is_checked(field)
        else:
            assert page.input_value(field) == value
        assert page.input_value("#kind") == kind
    page.click("#go")
    assert page.input_value("#kind") == kind


@pytest.mark.parametrize("kind", exact_kinds())
def test_the_machines_part_is_there_before_the_vectors(
    server: str, watched: Opened, kind: str
) -> None:
    """Tape, sentence, rule and diagram do not wait for the network."""
    page = watched("about:blank")
    page.route("**/api/moments**", lambda route: None)  # held for ever
    page.goto(f"{server}?machine=busy-beaver-5&kind={kind}&t={FAR}")
    page.wait_for_selector(f"body[data-pictured='{FAR}']")
    shown = kind_named(kind).look.history(
        compile_network(library_machine("busy-beaver-5"), kind).compiled, (), FAR
    )
    now = shown.timeline.at(FAR - shown.lead)
    assert now is not None
    assert text(page, "#sentence").startswith(f"In {now.state} reading {now.symbol}: write")
    assert text(page, "#rule h2").startswith(f"δ({now.state}, {now.symbol}) = (")
    assert page.inner_text("#tape .head b") == now.symbol
    assert f"the head is at {now.head:,}".replace("-", "−") in page.get_attribute(
        "#tape", "aria-label"
    )
    until(page, "document.querySelector('#picture canvas').width > 300")
    assert "are being computed" in text(page, "#table")
    assert page.locator("#lemmas li").count() == 0
    page.unroute("**/api/moments**")


def cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


@pytest.mark.parametrize("kind", some([*exact_kinds()], 4))
def test_the_first_picture_of_a_far_moment_takes_little(watched: Opened, kind: str) -> None:
    """In seconds of the server's processor, as this machine may be busy; the server is new."""
    process, line = started("palindrome", "abba", "--port", "0")
    try:
        before = cpu_seconds(process.pid)
        page = watched(f"{base(line)}?machine=busy-beaver-5&kind={kind}&t={FAR}")
        page.wait_for_selector(f"body[data-pictured='{FAR}']")
        assert cpu_seconds(process.pid) - before < 1.5
        at(page, FAR)
    finally:
        ended(process)


def test_an_rnn_that_reads_moves_over_its_input(look: Opened) -> None:
    page = look(f"{PALINDROME}&kind=rnn", 1)
    for t, symbol in enumerate("abba", start=1):
        at(page, t)
        assert page.inner_text("#tape .head b") == symbol
        assert page.get_attribute("#tape .head", "title").startswith(f"cell {t - 1}:")
        assert (
            text(page, "#sentence") == f"The network reads its input: symbol {t} of 4 is {symbol}."
        )
        assert "from t = 5 on, when the machine starts" in text(page, "#picture h2")
        page.keyboard.press("ArrowRight")
    at(page, 5)
    assert text(page, "#sentence").startswith("In start reading a:")


def test_a_prompt_is_read_symbol_by_symbol(look: Opened) -> None:
    prompt = compile_network(library_machine("palindrome"), "universal-text").compiled.text(
        tuple("abba")
    )
    page = look(f"{PALINDROME}&kind=universal-text", 18)
    assert text(page, "#sentence").startswith("The network reads its prompt")
    assert text(page, "#sentence").endswith(f": symbol 18 of 262 is {prompt[17]}.")
    assert page.locator(".card.read small").inner_text() in "".join(prompt[:40])
    cells = page.eval_on_selector_all("#tape .cell b", "all => all.map(each => each.textContent)")
    middle = len(cells) // 2
    assert cells[middle - 5 : middle + 6] == list(prompt[12:23])
    assert "undefined" not in text(page, "main")
    assert "token 0" not in text(page, "#picture")


@pytest.mark.parametrize("kind", ["universal-transformer", "universal-text"])
def test_a_universal_network_shows_its_output(look: Opened, kind: str) -> None:
    page = look(f"{PALINDROME}&kind={kind}", 18)
    y = compile_network(library_machine("palindrome"), kind).trace("abba")[18]["y"]
    cells = page.eval_on_selector_all(
        "table.stream tbody tr",
        """all => all.map(row => [row.querySelector("th b").textContent, row.lastChild.title])""",
    )
    found = {name: title for name, title in cells if title}
    assert found == {str(y.layout.coordinates[k]): str(x) for k, x in y.entries.items()}


def test_a_language_model_shows_its_text(look: Opened) -> None:
    subject = f"{PALINDROME}&kind=language-model&context=64"
    page = look(subject, 2)
    assert page.locator("#text code").all_inner_texts()[:7] == [
        *"abba",
        "<run>",
        "R:start:a>_",
        "@1",
    ]
    written = page.inner_text("#text mark")
    page.keyboard.press("ArrowRight")
    at(page, 3)
    assert written in page.locator("#text code").all_inner_texts()[-2:]
    page = look(subject, 12)  # the visits that are looked up are lit, with their addresses
    assert page.locator("#text .pointed").all_inner_texts() == [
        "R R:have-a:_>_ @4",
        "L R:have-b:b>b @16",
    ]
    assert "addresses right 13 left 25" in " ".join(text(page, "#figures").split())


def test_the_last_moment_of_a_language_model(look: Opened) -> None:
    page = look("machine=busy-beaver-5&kind=language-model&context=64", 5)
    page.keyboard.press("End")
    last = int(re.findall(r"\d+", text(page, "#of"))[0])
    at(page, last)
    assert "!" not in text(page, "#sentence")
    assert "The run is shown only up to here." in text(page, "#sentence")
    page = look(f"{PALINDROME}&kind=language-model&context=64", 16)
    assert "has halted" in text(page, "#picture h2")
    assert "fresh" not in text(page, "main")


def test_a_machine_on_one_line(look: Opened) -> None:
    machine = {
        "states": ["p", "halt"],
        "input_symbols": ["a"],
        "tape_symbols": ["a", "."],
        "initial_state": "p",
        "blank_symbol": ".",
        "final_states": ["halt"],
        "transitions": {"p": {"a": ["p", "a", "R"], ".": ["halt", "a", "R"]}},
    }
    page = look(PALINDROME, 1)
    page.click("#edit-button")
    page.fill("textarea", json.dumps(machine))
    page.click("text=Run it")
    until(page, "location.search.includes('posted')")
    page.wait_for_selector("body:not(.loading)[data-shown='1']")
    assert "accepted after 1 step" in text(page, "#about")


def long_named(length: int) -> str:
    state, symbol = "q" * length, "s" * length
    rules = {state: {"_": [f"{state}2", symbol, "R"]}, f"{state}2": {"_": [state, symbol, "R"]}}
    return json.dumps(
        {
            "states": [state, f"{state}2"],
            "input_symbols": [symbol],
            "tape_symbols": [symbol, "_"],
            "initial_state": state,
            "blank_symbol": "_",
            "final_states": [],
            "transitions": rules,
        }
    )


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_long_names_push_nothing_away(look: Opened, width: int, height: int) -> None:
    page = look(PALINDROME, 1, width=width, height=height)
    page.click("#edit-button")
    page.fill("textarea", long_named(90))
    page.click("text=Run it")
    until(page, "location.search.includes('posted')")
    page.wait_for_selector("body:not(.loading)[data-shown='1']")
    page.keyboard.press("PageDown")
    at(page, 1001)
    assert page.evaluate("document.querySelector('main').scrollWidth") <= width
    assert page.locator("#tape .cell").count() >= 3
    assert page.locator("#sentence").bounding_box()["height"] < 120
    fold = page.locator("footer").bounding_box()["y"]
    box = page.locator("#picture canvas").bounding_box()
    assert box["y"] + box["height"] <= fold


def test_a_time_that_is_not_there_is_said(server: str, watched: Opened) -> None:
    page: Any = watched(f"{server}?{PALINDROME}&t=99")
    at(page, 26)
    assert text(page, "#note") == "There is no t = 99: this run has t = 1 to 26."
    page.keyboard.press("ArrowLeft")
    at(page, 25)
    assert text(page, "#note") == ""
