"""The page's engine equals Python's definitions, number for number, as text.

`make test-browser` takes a tenth; `pytest -m browser tests/browser` takes all.
"""

import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.beyond_kinds import CHOICES, Choice
from tests.browser.node import Chromium, Engine, Node, entries, expected, node_process
from tests.corpora import FOLDER
from tests.repetition import repeated

from netwright.definitions.transformer import dot_product, hardmax, score_phi
from netwright.engine.attended import ListedAttention
from netwright.errors import FormatError
from netwright.exact.layout import Layout
from netwright.exact.rational import Rational, as_float, relu, sigma
from netwright.exact.vector import Vector
from netwright.explorer.explored import Explored
from netwright.explorer.moments import moment_data
from netwright.export.json_target import network_data
from netwright.machine import library
from netwright.machine.formats import bbchallenge, morphett, turingmachine_io
from netwright.machine.library import library_machine, library_names
from netwright.machine.load import machine_of_text
from netwright.machine.turing_machine import TuringMachine
from netwright.machine.written import BEHAVIOUR, machine_parts
from netwright.network.network import Network, compile_network, network_for_word
from netwright.network.trace import Moment
from netwright.network.tree import maps
from netwright.network.universal import HALTED
from netwright.network.weight import WeightPlace, flipped
from netwright.verify.draw import random_machine

TOKENS, LONG_PROMPT = 300, 1000
EVERY = {
    "paper": Choice("transformer", {}),
    "recency": Choice("transformer", {"score": "recency"}),
    **CHOICES,
    "rnn": Choice("rnn", {}),
    "rnn-base": Choice("rnn", {"base": 11}),
    "neural-gpu": Choice("neural-gpu", {}),
    "gateless": Choice("gateless-neural-gpu", {}),
    "positionless": Choice("positionless-transformer", {}),
    "residual-free": Choice("residual-free-transformer", {}),
}
"""All exact kinds with all of their options."""
NAMES = [*EVERY]
IN_THE_PAGE = [name for name in NAMES if name != "rules-16"]  # whose prompts the page cannot make


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    with node_process() as found:
        yield found


@pytest.fixture(scope="module")
def chromium(browser: Any, server: str) -> Iterator[Chromium]:
    page = browser.new_page()
    page.goto(f"{server}?machine=palindrome")
    yield Chromium(page)
    page.close()


@pytest.fixture(params=["node", "chromium"])
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.getfixturevalue(request.param)
    return found


def check(engine: Engine, network: Network, word: tuple[str, ...], count: int = TOKENS) -> None:
    """Compare every vector, winner set, score, runner-up and margin."""
    if len(network.compiled.embed(word)) > LONG_PROMPT:
        count = min(count, TOKENS // 10)  # the definition scores every symbol of the prompt
    right, found = expected(network, word, count), engine.moments(network, word, count)
    assert len(right) == len(found) == count
    for t, (one, other) in enumerate(zip(right, found, strict=True), start=1):
        for part in ("vectors", "attention"):
            assert one[part].keys() == other[part].keys()
            for name, value in one[part].items():
                assert other[part][name] == value, (repr(network), word, t, name)


def library_cases() -> list[tuple[str, str]]:
    """Every machine on every kind; or each machine on one, and each kind at least once."""
    names = [*library_names()]
    every = [(name, choice) for name in names for choice in NAMES]
    few = [(name, NAMES[n % len(NAMES)]) for n, name in enumerate(names)]
    return every if repeated(1, 0) else few


@pytest.mark.parametrize(("name", "choice"), library_cases())
def test_the_library(engine: Engine, name: str, choice: str) -> None:
    machine = library_machine(name)
    check(engine, EVERY[choice].network(machine, machine.default_input), machine.default_input)


def drawn(seed: int) -> tuple[Network, tuple[str, ...], random.Random]:
    """A random machine, which may stay, with an input that may have blanks, on one of the kinds."""
    draw = random.Random(seed)
    machine = random_machine(draw, draw.randint(1, 4), draw.randint(2, 4))
    word = tuple(draw.choices(machine.symbols, k=draw.randint(0, 6)))
    choice = EVERY[NAMES[seed % len(NAMES)]]
    return choice.network(machine, word), word, draw


@pytest.mark.parametrize("seed", range(repeated(200, 20)))
def test_random_machines(engine: Engine, seed: int) -> None:
    network, word, _ = drawn(seed)
    check(engine, network, word)


@pytest.mark.parametrize("seed", range(1000, 1000 + repeated(200, 20)))
def test_networks_with_a_flipped_weight(engine: Engine, seed: int) -> None:
    """The engine assumes nothing of the weights: a broken network stays exact."""
    network, word, draw = drawn(seed)
    leaf = draw.choice([each for each in maps(network.compiled.network) if each.part.weights])
    place = WeightPlace(leaf.path, *draw.choice([*leaf.part.weights]))
    broken = network._changed(flipped(network.compiled.network, place), f"{leaf.name} {place}")
    check(engine, broken, word)


def test_networks_without_a_part(engine: Engine) -> None:
    network = compile_network(library_machine("palindrome"))
    for part in network.parts:
        check(engine, network.without(part), tuple("abba"), 40)


def test_a_place_in_the_past_is_computed_again(node: Node) -> None:
    """Snapshots are 2^14 tokens apart; a token before them is the same as it was."""
    network = compile_network(library_machine("busy-beaver-5"), "universal-transformer")
    data = network_data(network)
    places = [1, 20_000, 16_384, 16_385, 100, 33_000, 20_000, 19_999]
    found = node.ask("seek", network=data, word=[], places=places)
    trace = network.trace((), max_steps=40_000)
    for t, y in zip(places, found, strict=True):
        assert y == entries(trace[t]["y"]), t


OPERATIONS: dict[str, Any] = {
    "plus": lambda x, y: x + y,
    "minus": lambda x, y: x - y,
    "times": lambda x, y: x * y,
    "over": lambda x, y: x / y,
    "compare": lambda x, y: (x > y) - (x < y),
    "negative": lambda x: -x,
    "absolute": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "sigma": sigma,
    "relu": relu,
}
UNARY = ("negative", "absolute", "sign", "sigma", "relu")


def number_near(draw: random.Random) -> Rational:
    """A rational whose parts are near 0, a power of 2 up to 2^53, its square root, or beyond."""

    def whole() -> int:
        bits = draw.choice([1, 4, 26, 27, 31, 32, 52, 53, 53, 53, 54, 64, 106, 300])
        return (
            max(1, 2**bits + draw.randint(-3, 3))
            if draw.random() < 0.7
            else draw.getrandbits(bits) + 1
        )

    sign = draw.choice([-1, 1])
    return Rational(
        0 if draw.random() < 0.05 else sign * whole(), whole() if draw.random() < 0.7 else 1
    )


def test_rationals_round_2_to_the_53(node: Node) -> None:
    draw = random.Random(53)
    for _ in range(repeated(100, 5)):
        rows, right = [], []
        for _ in range(10_000):
            name = draw.choice([*OPERATIONS])
            x, y = number_near(draw), number_near(draw)
            if draw.random() < 0.1:
                y = draw.choice([x, -x, 1 / x if x else x])
            if name == "over" and not y:
                continue
            numbers = [x] if name in UNARY else [x, y]
            rows.append([name, *map(str, numbers)])
            value = OPERATIONS[name](*numbers)
            right.append(value if isinstance(value, int) else str(value))
        found = node.ask("arithmetic", rows=rows)
        for row, one, other in zip(rows, right, found, strict=True):
            assert one == other, row


def test_doubles_are_within_the_bound_of_the_proof(node: Node) -> None:
    """`approximate` is within 4 u |x|, also of BigInts; NaN outside of its range."""
    draw = random.Random(4)
    numbers = [number_near(draw) for _ in range(20_000)]
    numbers += [Rational(3**n, 7 ** draw.randint(1, 400)) for n in range(400)]
    found = node.ask("arithmetic", rows=[["approximate", str(x)] for x in numbers])
    assert None in found  # JSON's NaN
    for x, double in zip(numbers, found, strict=True):
        if double is None:
            assert not 2.0**-399 < abs(as_float(x)) < 2.0**399
        else:
            top, bottom = double.as_integer_ratio() if isinstance(double, float) else (double, 1)
            assert abs(Rational(top, bottom) - x) * 2**51 <= abs(x), x


PLACES = Layout.of(a="", b="", c="", d="")


def near_ties(draw: random.Random, count: int) -> tuple[list[Vector], Vector]:
    """Keys whose products with a query differ by about the rounding of a double, or not at all."""
    q = Vector(PLACES, {n: number_near(draw) for n in range(4)})
    a, b = (q.entries.get(n, Rational(0)) for n in (0, 1))
    keys = []
    for _ in range(count):
        x = Rational(draw.randint(-9, 9) or 1, draw.randint(1, 9))
        tiny = Rational(draw.randint(-2, 2), 2 ** draw.choice([50, 52, 53, 60, 200]))
        # a·x + b·y is near 0, or near one of two numbers.
        y = -a * x / b if b else x
        y += draw.choice([0, 0, 1]) * (y or 1) * tiny
        keys.append(Vector(PLACES, {0: x, 1: y, 2: Rational(draw.choice([0, 0, 0, 1]), 2**60)}))
    return keys, q


@pytest.mark.parametrize("score", [score_phi, dot_product])
def test_screening_equals_a_full_exact_scan(node: Node, score: Any) -> None:
    """10⁴ queries with near ties, over any number of keys so far."""
    draw = random.Random(score.__name__)
    dropped = 0
    for _ in range(repeated(500, 50)):
        keys, q = near_ties(draw, draw.choice([1, 7, 8, 9, 64, 65, 130]))
        queries = [q, *(Vector(PLACES, {n: number_near(draw) for n in range(4)}) for _ in range(4))]
        queries += [Vector(PLACES, {n: draw.choice([0, 1, -1]) * x for n, x in q.entries.items()})]
        queries += [Vector(PLACES, {1: x}) for x in (Rational(1), Rational(-2, 3))]
        queries += [Vector(PLACES, {}), q * Rational(-1)]
        asked = [(each, draw.randint(1, len(keys))) for each in queries]
        found = node.ask(
            "winners",
            score=score.__name__,
            places=[0, 1, 2, 3],
            keys=[*map(entries, keys)],
            queries=[[entries(each), length] for each, length in asked],
        )
        for (each, length), (winners, kept, scanned) in zip(asked, found, strict=True):
            listed = ListedAttention(each, keys[:length], score, hardmax)
            right = [token - 1 for token in listed.winners]
            assert scanned == right
            assert winners == (right if winners is not None else None)
            assert winners is not None or len(right) == length
            dropped += length - kept
    assert dropped > 1000


def machines() -> list[TuringMachine]:
    """The library, and random machines, of which half may stay."""
    draw = random.Random(21)
    sizes = [(draw.randint(1, 5), draw.randint(2, 4)) for _ in range(repeated(1000, 200))]
    drawn = [random_machine(draw, *size) for size in sizes]
    return [*map(library_machine, library_names()), *drawn]


@pytest.mark.parametrize("attention", ["absolute", "dot-product"])
def test_the_prompt_of_any_machine_is_pythons(node: Node, attention: str) -> None:
    """Normal form, stays removed, and every token, for a network that was another machine's."""
    some = compile_network(HALTED, "universal-transformer", attention=attention)
    data, stays = network_data(some), 0
    for n, machine in enumerate(machines()):
        blanks = bool(n % 3 == 0)
        network = compile_network(
            machine, "universal-transformer", attention=attention, blanks=blanks
        )
        asked = {"network": data, "machine": machine_parts(machine), "blanks": blanks}
        found, written = node.ask("prompt", **asked), network.written
        assert found["symbols"] == written["symbols"]
        assert found["rules"] == written["rules"]
        normal = written["normal"]["machine"]
        parts = {**found["normal"], "delta": found["normal"]["rules"]}
        assert {name: parts[name] for name in normal} == normal
        stays += len(written["normal"]["pauses"])
    assert stays > 50


def test_machines_are_read_from_text_as_python_reads_them(node: Node) -> None:
    """bbchallenge text, YAML and lines of rules, with wildcards, comments and directives."""
    texts = [morphett.write(machine) for machine in machines() if fits(morphett, machine)]
    texts += [bbchallenge.write(machine) for machine in machines() if fits(bbchallenge, machine)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # machines that stay
        texts += [
            turingmachine_io.write(each) for each in machines() if fits(turingmachine_io, each)
        ]
    assert len(texts) > 150
    files = [*Path(library.__file__).parent.glob("*.yaml")]
    assert len(files) == len(library_names())
    texts += [path.read_text() for path in (*files, *FOLDER.glob("turingmachine_io/*.yaml"))]
    texts += [
        "blank: _\nstart state: a\ntable: {a: {[_, ',,']: R, '1,2': N}}",
        "name: x\nsource code: |\n  blank: ' '\n\n  start state: a # here\n"
        "  synonyms:\n    go: {write: '''', R: b}\n  table:\n    a:\n      ' ': go\n"
        "      1,2,,,: N\n    b:\npositions:\n  a: {x: 1, y: 2}\n",
        '---\ntable:\n  "a\\u0062":\n    "\\t": {L}\nblank: "\\t"\nstart state: ab\n',
        "blank: _\nstart state: a\ntable:\n  a:\n    _: {\n      write: 1,\n      L: b,\n    }\n"
        '  b:\n# $ACCEPT: ["a"]\n# $SYMBOLS: ["7"]\n',
        "--- # a document\nblank: _\nstart state: a\ntable: {a: {_: {R: ''}, x: {N: ~}}}\n...\n",
        "input: |\n  10\nblank: _\nstart state: a\ntable:\n  a: {_: R}\n",
        "input: |- # no line end\n  10\nblank: _\nstart state: a\ntable:\n  a: {_: R}\n",
        "blank: _\nstart state: constructor\nsynonyms: {toString: R}\n"
        "table: {constructor: {_: toString, a: {L: constructor}}}\n",
    ]
    texts += [
        "0 * * r 0 ; to the end\n0 _ a * halt\n\n* a b l stop\n",
        "q0 a b d q0\nq0 _ _ g stop-here !\n; $INITIAL_TAPE: aa a\n",
        's 0 1 r t\ns 0 0 l s\nt * * * accept\nt 1 1 l *\n; $SYMBOLS: ["x"]',
        "---0LB_0RB1LA",
        "# a comment\n1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA\n",
    ]
    for text in texts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # doubts, which the page does not show
            parts = machine_parts(machine_of_text(text))
        found = node.ask("machine", text=text)
        right = {"rules": parts["delta"], **{name: parts[name] for name in BEHAVIOUR[:4]}}
        right |= {"accepting": parts["accepting"], "default_input": parts["default_input"]}
        assert {name: found.get(name) for name in right} == right, text


@pytest.mark.parametrize(
    ("text", "lines", "words"),
    [
        ("", [1], "no machine"),
        ("0 1 0 r\n0 1 1 x 0\n0 12 1 r 0", [1, 2, 3], "five fields"),
        ("1RB1LB_1LA", [1], "row B: 1 rules, but row A has 2"),
        ("1RB2LB_1LA1RZ", [1], "writes 2, but the highest symbol is 1"),
        ("\n# two\n0RB_0LA\n0RA", [4], "expected one machine"),
        ("0 1 1 r 0\n; $ACCEPT: 5", [2], "expected JSON"),
        ("blank: _\nstart state: a\ntable:\n  a: {_: Q}\n", [4], "neither a move"),
        ("blank: _\nstart state: a\ntable:\n  a: {_: {L: b}}\n", [4], "not a key of the table"),
        ("blank: _\nstart state: a\ntable:\n  a: {_: L\n", [4], "there is no } for this"),
        ("blank: _\nstart state: a\ntable:\n  a:\n    *: R\n", [5], "put it in quotes"),
        ("blank: _\ntable:\n  a: {_: L, _: R}\n   b:\n", [4], "further in"),
        ("blank: __\nstart state: b\ntable:\n a: 5\n", [1, 4, 2], "one character"),
        ("table:\n a:\n", [1, 1], "no blank"),
        ("blank: _\nstart state: a\ntable:\n  a: {_: toString}\n", [4], "neither a move"),
        ('blank: "\\xZZ"\nstart state: a\ntable:\n  a:\n', [1], "is not read"),
        ('blank: "\\UFFFFFFFF"\nstart state: a\ntable:\n  a:\n', [1], "is not read"),
        ("blank: _\nstart state: a\ntable: " + "[" * 50_000, [1], "too deeply"),
        ("input: >-\n  1\n  0\nblank: _\nstart state: a\ntable:\n  a:\n", [1], "folded"),
        ("tapes: 2\nblank: _\nstart state: a\ntable:\n  a:\n", [1], "one tape"),
        ("blank: _\nstart state: a\ntable:\n  'a':{_: R}\n", [4], "a space after"),
        ("blank: _\nstart state: a\ntable:\n  a: {#: R}\n", [4], "put it in quotes"),
    ],
)
def test_faults_have_their_lines(node: Node, text: str, lines: list[int], words: str) -> None:
    found = node.ask("machine", text=text)["faults"]
    assert [line for line, _ in found] == lines
    assert words in found[0][1]


def test_long_yaml_is_read_in_linear_time(node: Node) -> None:
    """300,000 characters, as Python reads: the editor reads them at every key."""
    rows = [f"  s{n}: {{0: {{write: 1, R: s{(n + 1) % 6000}}}, 1: L}}\n" for n in range(6000)]
    text = f"blank: '0'\nstart state: s0\ntable:\n{''.join(rows)}"
    assert len(text) > 200_000
    assert len(node.ask("machine", text=text)["rules"]) == 12_000


def fits(format_module: Any, machine: TuringMachine) -> bool:
    try:
        format_module.write(machine)
    except FormatError:
        return False
    return True


@pytest.mark.parametrize("attention", ["absolute", "dot-product"])
def test_a_file_answers_as_the_server_does(node: Node, attention: str) -> None:
    """For machines that stay, that halt or not, and inputs with blanks; all but their names."""
    options = {"attention": attention}
    some = compile_network(HALTED, "universal-transformer", **options)
    recorded = {"network": network_data(some), "run": {}, "statements": {}}
    draw = random.Random(attention)
    texts = ["1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA", morphett.write(library_machine("palindrome"))]
    drawn = [machine for machine in machines() if fits(morphett, machine)]
    texts += [morphett.write(machine) for machine in draw.sample(drawn, repeated(100, 12))]
    for text in texts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            machine = machine_of_text(text)
        word = tuple(draw.choices(machine.symbols, k=draw.randint(0, 5)))
        network = network_for_word(machine, "universal-transformer", word, **options)
        explored = Explored(network, word, 100_000)
        explored.explore(lambda _: True)
        _, ended = explored.last
        asked = {"machine": text, "input": "".join(word), **moments_of(explored)}
        found = node.ask("source", recorded=recorded, **asked)
        assert found["found"] == found["wanted"]
        right = explored.description()
        left_out = {"name", "about", *([] if ended else ["last", "steps", "cells"])}
        assert {n: v for n, v in found["run"].items() if n in right and n not in left_out} == {
            n: v for n, v in right.items() if n not in left_out
        }


def moments_of(explored: Explored) -> dict[str, Any]:
    """Some times of a run, and what the server says of them."""
    last, _ = explored.last
    start = explored.lead
    some = {1, 2, 5, 20, 90, start - 1, start, start + 1, start + 9, last - 1, last}
    times = sorted(some & {*range(1, min(last, 3000) + 1)})
    moments = [moment_data(explored, Moment(explored.tracing, t)) for t in times]
    return {"times": times, "moments": moments}


@pytest.mark.parametrize("name", IN_THE_PAGE)
def test_a_file_of_any_kind_answers_as_the_server_does(node: Node, name: str) -> None:
    """The rule that the vectors show, every lemma, and the rest of a moment."""
    draw = random.Random(name)
    chosen = draw.sample(machines(), repeated(100, 12))
    lemmas = 0
    for machine in [*map(library_machine, ("palindrome", "busy-beaver-5")), *chosen]:
        word = tuple(draw.choices(machine.symbols, k=draw.randint(0, 5)))
        explored = Explored(EVERY[name].network(machine, word), word, 100_000)
        explored.explore(lambda _: True)
        run, data = explored.description(), network_data(explored.network)
        recorded = {"network": data, "run": run, "statements": {}}
        found = node.ask("source", recorded=recorded, machine="", **moments_of(explored))
        assert found["found"] == found["wanted"]
        lemmas += sum(len(moment["lemmas"]) for moment in found["found"])
    assert lemmas > 100 or name not in ("paper", "recency")


def test_a_lemma_that_fails_is_found_in_the_file(node: Node) -> None:
    """A flipped weight: the same lemmas hold and fail as in Python."""
    network = compile_network(library_machine("palindrome"))
    explored = Explored(network, tuple("abba"))
    broken = network.with_weight("decoder.3.V", "s2[a]", "s4[a]", -1)
    there = Explored(broken, tuple("abba"))
    recorded = {"network": network_data(broken), "run": explored.description(), "statements": {}}
    times = [*range(1, 27)]
    wanted = [moment_data(there, Moment(there.tracing, t))["lemmas"] for t in times]
    asked = {"machine": "", "times": times, "moments": []}
    found = [each["lemmas"] for each in node.ask("source", recorded=recorded, **asked)["found"]]
    assert [[lemma["holds"] for lemma in each] for each in found] == [
        [lemma["holds"] for lemma in each] for each in wanted
    ]
    assert not all(lemma["holds"] for each in found for lemma in each)
