"""Broken and rounded twins in the page's engine, against networks that Python broke and rounded."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.browser.node import Node, entries, expected, node_process
from tests.browser.test_engine import EVERY, NAMES, near_ties
from tests.repetition import repeated

from netwright.definitions.transformer import dot_product, score_phi
from netwright.exact.rational import ONE, Rational
from netwright.explorer.explored import Explored
from netwright.export.json_target import network_data
from netwright.machine.library import library_machine
from netwright.network.network import Network, compile_network
from netwright.verify.draw import random_machine

Word = tuple[str, ...]


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    with node_process() as found:
        yield found


def ask(node: Node, network: Network, word: Word, *questions: Any) -> Any:
    """Answers about the whole network and its twins."""
    explored = Explored(network, word, 10_000)
    run = explored.description()
    return node.ask(
        "lab",
        network=network_data(network),
        word=list(word),
        machine=run["machine"],
        last=run["last"] + 1,
        questions=questions,
    )


CLAIMED = ("p", "a", "z")


def first_difference(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> Any:
    """The first number, of those that are claimed, in which two runs differ."""
    for t, (right, wrong) in enumerate(zip(one, other, strict=True), start=1):
        names = [
            *(name for name in right["vectors"] if name.split(".")[-1] in CLAIMED),
            *(name for name in right["vectors"] if name.split(".")[0] in ("y", "h", "g", "cell")),
        ]
        # By layer, and in a layer as it is computed; the output of a Transformer is the last.
        order = {"p": 0, "a": 1, "z": 2}
        if right["attention"]:
            names.sort(key=lambda name: (name == "y", name.split(".")[1:2], order.get(name[-1])))
        for name in names:
            left, found = dict(right["vectors"][name]), dict(wrong["vectors"][name])
            places = {k for k in {*left, *found} if left.get(k) != found.get(k)}
            if places:
                place = min(places)
                return t, name, place, left.get(place, "0"), found.get(place, "0")
    return None


@pytest.mark.parametrize("seed", range(repeated(100, 16)))
def test_the_first_number_that_differs_is_pythons(node: Node, seed: int) -> None:
    """Some flipped weights at once, on every kind; both networks by the definition in Python."""
    draw = random.Random(seed)
    machine = random_machine(draw, draw.randint(1, 3), draw.randint(2, 3))
    word = tuple(draw.choices(machine.symbols, k=draw.randint(0, 4)))
    network = EVERY[NAMES[seed % len(NAMES)]].network(machine, word)
    broken, breaks = network, []
    maps = sorted(name for name, _ in network_data(network)["maps"])
    for _ in range(draw.randint(1, 2)):
        weights = network.weights()
        name = draw.choice([name for name in maps if weights[name].entries])
        (row, column), value = draw.choice([*weights[name].entries.items()])
        if ["weight", name, row, column] in breaks:
            continue
        broken = broken.with_weight(name, row, column, -value)
        breaks.append(["weight", name, row, column])
    count = min(60, Explored(network, word, 10_000).last[0])
    (found,) = ask(node, network, word, ["compare", {"breaks": breaks, "bits": 0}, count])
    runs = [expected(each, word, count) for each in (network, broken)]
    right = first_difference(*runs)
    if right is None or right[0] > found["compared"]:
        assert found["number"] is None
        return
    labels = [*map(str, network.layout.coordinates)]
    said = found["number"]
    assert said == {
        **dict(zip(("t", "vector"), right[:2], strict=True)),
        "coordinate": labels[right[2]],
        **dict(zip(("expected", "found"), right[3:], strict=True)),
        "statement": said["statement"],
    }
    assert said["statement"] in network_data(network)["lemmas"]
    report = broken.verify(word, max_steps=count)
    first = report.differences[0] if report.differences else None
    if first is None or network.machine.blank in word:
        return
    if network.kind.name == "universal-text" and first.time > said["t"]:
        return  # nothing is claimed of what pointers find while a text is read
    assert said["statement"] == first.statement


@pytest.mark.parametrize("kind", ["transformer", "universal-transformer", "neural-gpu"])
def test_what_is_left_out(node: Node, kind: str) -> None:
    network, word = compile_network(library_machine("palindrome"), kind), tuple("abba")
    count = Explored(network, word).last[0]
    whole = expected(network, word, count)
    for part in network.parts:
        changes = {"breaks": [["part", part]], "bits": 0}
        (found,) = ask(node, network, word, ["compare", changes, count])
        right = first_difference(whole, expected(network.without(part), word, count))
        said = found["number"]
        assert (said and [said["t"], said["vector"]]) == (right and [*right[:2]]), part


def test_a_flipped_number_of_the_run_and_the_lemma_that_goes(node: Node) -> None:
    """Token 5's rule is turned: that token's claims fail from layer 1 on, and then the run."""
    network, word = compile_network(library_machine("palindrome")), tuple("abba")
    changes = {"breaks": [["number", 5, "decoder.1.z", "s2[b]"]], "bits": 0}
    questions = [["compare", changes, 26], *(["momentOfTwin", changes, t] for t in (4, 5))]
    # At token 5 the machine writes the a or the b that it reads; the other one is 0.
    z = network.trace(word)[5]["decoder.1.z"]
    wrote = next(symbol for symbol in "ab" if z["s2"].get(symbol))
    changes["breaks"] = [["number", 5, "decoder.1.z", f"s2[{wrote}]"]]
    compared, before, at = ask(node, network, word, *questions)
    number = compared["number"]
    assert (number["t"], number["vector"], number["coordinate"]) == (
        5,
        "decoder.1.z",
        f"s2[{wrote}]",
    )
    assert (number["expected"], number["found"], number["statement"]) == ("1", "-1", "Lemma B.2")
    assert all(lemma["holds"] for lemma in before["lemmas"])
    fails = [
        f"{lemma['statement']} {lemma['name']}" for lemma in at["lemmas"] if not lemma["holds"]
    ]
    assert fails[0] == "Lemma B.2 z1"
    assert at["lemmas"][0]["holds"]


def test_what_breaks_first_is_every_weight_in_turn(node: Node) -> None:
    """The strip says of each weight what a twin with it alone says."""
    draw = random.Random(7)
    for kind in ("transformer", "rnn", "neural-gpu", "pointer-transformer", "universal-text"):
        network, word = compile_network(library_machine("even-as"), kind), tuple("aba")
        count = Explored(network, word).last[0]
        (strip,) = ask(node, network, word, ["strip", count])
        weights = network.weights()
        maps = [weights[name] for name, _ in network_data(network)["maps"]]
        numbers = sum(len(each.entries) + len(each.bias.entries) for each in maps)
        others = [each for each in strip if each["name"] in ("embedding", "seed")]
        assert len(strip) == numbers + len(others)
        assert any(each["first"] for each in strip)
        assert kind == "transformer" or not all(each["first"] for each in strip)
        chosen = draw.sample(strip, 12)
        changes = [
            {"breaks": [["weight", each["name"], each["row"], each["column"]]], "bits": 0}
            for each in chosen
        ]
        found = ask(node, network, word, *(["compare", each, count] for each in changes))
        assert [each["number"] for each in found] == [each["first"] for each in chosen]


@pytest.mark.parametrize(("bits", "number"), [(24, np.float32), (53, np.float64), (11, np.float16)])
def test_rounded_operations_are_those_of_floats(node: Node, bits: int, number: Any) -> None:
    """Round to nearest, ties to even, as numpy's floats of so many bits."""
    draw = random.Random(bits)

    def some() -> Any:
        scale = 2.0 ** draw.randint(-4, 4) if bits == 11 else 2.0 ** draw.randint(-20, 20)
        return number(draw.choice([-1, 1]) * draw.uniform(1, 2) * scale)

    rows, right = [], []
    for _ in range(repeated(100_000, 10_000)):
        x, y, name = some(), some(), draw.choice(["plus", "minus", "times", "over"])
        if draw.random() < 0.2 and name in ("plus", "minus"):  # near a tie
            y = number(x * 2.0 ** -draw.choice([bits, bits - 1, bits + 1]))
        found = {"plus": x + y, "minus": x - y, "times": x * y, "over": x / y}[name]
        if bits == 11 and not 2.0**-14 <= abs(float(found)) < 2.0**15:
            continue  # below its normal numbers
        rows.append([name, *(str(Rational(*float(each).as_integer_ratio())) for each in (x, y))])
        right.append(str(Rational(*float(found).as_integer_ratio())))
    assert node.ask("rounded", rows=rows, bits=bits) == right


@pytest.mark.parametrize("name", ["busy-beaver-5", "palindrome", "binary-counter", "sweeper"])
@pytest.mark.parametrize("bits", [5, 8, 11, 17, 24])
def test_the_first_wrong_attention_is_the_laboratorys(node: Node, name: str, bits: int) -> None:
    """In floats of so many bits: the same token, the right one and the wrong one."""
    machine = library_machine(name)
    network, word = compile_network(machine), machine.default_input
    count = min(300, Explored(network, word, 10_000).last[0])
    (found,) = ask(node, network, word, ["compare", {"breaks": [], "bits": bits}, count])
    row = next(network.precision(word, formats=[bits], steps=count - 1))
    index, said = row["index"], found["attention"]
    if index is None:  # it may end before, at an output that decodes wrongly
        assert said is None or said["t"] > row["outputs"]
        return
    assert [said["t"], said["expected"]] == [index["token"] + 1, [index["right"] + 1]]
    assert said["found"] == "all" or said["found"][:3] == [n + 1 for n in index["attended"][:3]]


@pytest.mark.parametrize("bits", [4, 11, 24, 53])
@pytest.mark.parametrize("score", [score_phi, dot_product])
def test_screening_of_rounded_scores_loses_no_winner(node: Node, score: Any, bits: int) -> None:
    draw = random.Random(f"{score.__name__} {bits}")
    dropped = 0
    for _ in range(repeated(200, 20)):
        keys, q = near_ties(draw, draw.choice([7, 64, 130]))
        queries = [(entries(q), len(keys)), (entries(q * -ONE), draw.randint(1, len(keys)))]
        found = node.ask(
            "winners",
            score=score.__name__,
            places=[0, 1, 2, 3],
            keys=[*map(entries, keys)],
            queries=queries,
            bits=bits,
        )
        for (_, length), (winners, kept, scanned) in zip(queries, found, strict=True):
            assert winners == scanned
            dropped += length - kept
    assert dropped > 0 or bits == 4


@pytest.mark.parametrize("kind", ["rnn", "transformer", "neural-gpu"])
def test_a_change_that_is_none_of_the_networks_is_said(node: Node, kind: str) -> None:
    network = compile_network(library_machine("palindrome"), kind)
    coordinate = str(network.layout.coordinates[0])
    for change in (
        ["weight", "decoder.9.V", "s2[a]", "s4[a]"],
        ["weight", 1, 2, 3],
        ["number", 1, "h" if kind == "rnn" else "y", "nothing"],
        ["number", 1, "h" if kind == "transformer" else "decoder.1.z", coordinate],
        ["number", 1, "decoder.4.z", coordinate],
        ["number", 0, "g", coordinate],
        ["number", "x", "cell", coordinate],
        ["part", "residual:decoder.7.self"],
        ["part"],
        [],
    ):
        with pytest.raises(AssertionError, match=r"this network (has no weight|cannot be changed)"):
            ask(node, network, (), ["compare", {"breaks": [change], "bits": 0}, 5])
