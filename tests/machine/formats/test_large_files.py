"""Any file up to the limit is read or refused soon: the time grows no faster than the file."""

import json
from collections.abc import Callable
from contextlib import suppress
from time import process_time

import pytest

from netwright.errors import FormatError
from netwright.machine.formats import FORMATS, bbchallenge, read_text, turingmachine_io
from netwright.machine.formats.draft import Source


def seconds(name: str, size: int, times: int) -> float:
    """The CPU's time to read or refuse a text; the best of some."""
    text, found = TEXTS[name](size), []
    for _ in range(times):
        started = process_time()
        with suppress(FormatError):
            read_text(text, Source("file"))
        found.append(process_time() - started)
    return min(found)


def letter(n: int) -> str:
    return chr(0x4E00 + n)


def jflap(transitions: str, states: str = "") -> str:
    start = '<state id="0"><initial/></state>'
    return f"<structure><type>turing</type>{start}{states}{transitions}</structure>"


def transition(read: str, write: str = "a", target: str = "0") -> str:
    ends = f"<from>0</from><to>{target}</to>"
    return f"<transition>{ends}<read>{read}</read><write>{write}</write></transition>"


def automata_lib(rows: str) -> str:
    return f'{{"transitions": {{{rows}}}}}'


TEXTS: dict[str, Callable[[int], str]] = {
    "automata-lib: a key twice": lambda n: automata_lib(
        ",".join([*(f'"q{i}": 1' for i in range(n)), f'"q{n - 1}": 1'])
    ),
    "automata-lib: states": lambda n: json.dumps(
        {
            "states": [f"q{i}" for i in range(n)],
            "tape_symbols": ["0"],
            "blank_symbol": "0",
            "initial_state": "q0",
            "final_states": [],
            "transitions": {f"q{i}": {"0": ["q0", "0", "R"]} for i in range(n)},
        }
    ),
    "jflap: one state, many symbols": lambda n: jflap(
        "".join(transition(letter(i)) for i in range(n))
    ),
    "jflap: many states": lambda n: jflap(
        transition("a"), "".join(f'<state id="{i + 1}" name="q"/>' for i in range(n))
    ),
    "jflap: ~ between": lambda n: jflap(
        "".join(transition(letter(i)) + transition("~", "~") for i in range(n))
    ),
    "jflap: many exceptions": lambda n: jflap(
        "".join(transition(f"!{letter(i)}", letter(i)) for i in range(n))
    ),
    "morphett": lambda n: "".join(f"{i} a b r {i + 1}\n" for i in range(n)),
    "morphett: symbols": lambda n: "".join(f"0 {letter(i)} * r 0\n" for i in range(n)),
    "turingmachinesimulator": lambda n: (
        "init: 0\n" + "".join(f"{i},a\n{i + 1},b,>\n" for i in range(n))
    ),
    "turingmachine.io": lambda n: (
        "blank: _\nstart state: q0\ntable:\n"
        + "".join(f"  q{i}: {{a: {{write: b, L: q0}}}}\n" for i in range(n))
    ),
    "turingmachine.io: one state": lambda n: (
        "blank: _\nstart state: q\ntable:\n  q:\n"
        + "".join(f"    {letter(i)}: {{write: {letter(i + 1)}, R}}\n" for i in range(n))
    ),
    "bbchallenge": lambda n: "1RB1LB_1LA1RZ\n" * n,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TEXTS)
def test_the_time_grows_with_the_file_and_not_with_its_square(name: str) -> None:
    """Sixteen times the file would take 256 times as long."""
    seconds(name, 2, 1)  # imports
    assert seconds(name, 3200, 2) < 80 * seconds(name, 200, 5)


def test_each_format_has_a_limit() -> None:
    assert FORMATS["turingmachine.io"].largest == turingmachine_io.LARGEST == 300_000
    text = TEXTS["turingmachine.io"](10_000)
    with pytest.raises(
        FormatError, match=r"has \d+,\d+ characters; netwright reads turingmach.* 300"
    ):
        read_text(text, Source("file"))
    text = TEXTS["morphett"](400_000)
    with pytest.raises(FormatError, match=r"netwright reads morphett files of at most 5,000,000"):
        read_text(text, Source("file"))


def test_a_list_that_is_read_whole_has_a_limit() -> None:
    assert len(list(bbchallenge.read_list("1RZ---\n" * 3, "list"))) == 3
    with pytest.raises(FormatError, match="list holds 100,001 machines; at most 100,000 of a list"):
        list(bbchallenge.read_list("1RZ---\n" * 100_001, "list"))


def test_wildcards_that_mean_very_many_rules_are_refused() -> None:
    states = "".join(f'<state id="{i + 1}"/>' for i in range(1100))
    rules = "".join(
        f"<transition><from>{i}</from><to>0</to><read>~</read></transition>" for i in range(1100)
    )
    rules += "".join(transition(letter(i)) for i in range(1000))
    with pytest.raises(FormatError, match=r"~ and ! stand for 1,\d+,\d+ rules; at most 1,000,000"):
        read_text(jflap(rules, states), Source("file"))


@pytest.mark.parametrize("depth", [100, 900, 950, 974, 980, 990, 1000, 5000])
def test_a_deep_list_is_refused_whatever_its_depth(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    whole = automata_lib(f'"a": {{"0": {deep}}}')[:-1] + (
        ', "states": ["a"], "tape_symbols": ["0"], "blank_symbol": "0", "initial_state": "a", '
        '"final_states": []}'
    )
    with pytest.raises(FormatError, match=r"nested too deeply|a list of alternatives"):
        read_text(whole, Source("file"))
    for name in ('"blank_symbol": "0"', '"states": ["a"]', '"initial_state": "a"'):
        key = name.split(":")[0]
        with pytest.raises(FormatError, match=r"nested too deeply|got \["):
            read_text(whole.replace(name, f"{key}: {deep}"), Source("file"))
