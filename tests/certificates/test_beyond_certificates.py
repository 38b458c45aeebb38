"""Certificates of pointer and universal Transformers: mutants and forged prompts are noticed."""

import json
import random
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flint import fmpq
from hypothesis import given
from tests.beyond_kinds import CHOICES, Choice, every_choice
from tests.mutations import mutated
from tests.networks import facts
from tests.repetition import examples, repeated, some
from tests.strategies import machines

import netwright as nw
from netwright.errors import FormatError, InputError, NetworkError, OutputError
from netwright.machine.library import library_machine, library_names
from netwright.machine.simulate import simulate
from netwright.machine.turing_machine import TuringMachine
from netwright.network.certificate import check_written
from netwright.network.network import Network
from netwright.network.weight import Weight
from netwright.verify.draw import random_words

SUBJECTS = ("even-as", "busy-beaver-3", "binary-increment")


def failure(network: Network) -> str | None:
    """The first obligation that does not hold."""
    return failed(network.kind.name, network.written)


def failed(on: str, written: dict[str, Any]) -> str | None:
    found = check_written(on, json.loads(json.dumps(written)))
    return next((each.name for each in found if each.failure is not None), None)


@every_choice
@pytest.mark.parametrize("name", some(library_names(), 5))
def test_the_library_is_certified(name: str, choice: Choice) -> None:
    network = choice.network(library_machine(name))
    assert failure(network) is None


@every_choice
@examples(30)
@given(machine=machines())
def test_random_machines_are_certified(choice: Choice, machine: TuringMachine) -> None:
    assert failure(choice.network(machine)) is None
    assert failure(choice.network(machine, (machine.blank,))) is None


def still_right(network: Network, draw: random.Random, runs: int) -> None:
    """A mutant that is certified does what the machine does."""
    for word in random_words(draw, network.machine, runs, 4):
        limit = draw.randint(0, 25)
        wanted = simulate(network.machine, word, limit)
        found = network.run(word, limit, engine="fast")
        if found.before_end:
            assert (found.outcome, found.steps) == (wanted.outcome, wanted.steps)
        else:
            assert facts(found) == facts(wanted)


def mutants_noticed(choice: Choice, count: int, runs: int) -> int:
    """How many of so many mutants are refused; the others are run."""
    noticed = 0
    for seed in range(count):
        draw = random.Random(seed)
        network = choice.network(library_machine(draw.choice(SUBJECTS)))
        changed = replace(network, compiled=mutated(network.compiled, draw))
        if failure(changed) is not None:
            noticed += 1
        else:
            still_right(changed, draw, runs)
    return noticed


@every_choice
def test_mutants_are_refused_or_right(choice: Choice) -> None:
    is_whole = choice.kind.startswith("universal")  # a prompt for each machine takes longer
    count = repeated(300 if is_whole else 1000, 20)
    assert mutants_noticed(choice, count, 3) >= count // 3


@pytest.mark.thorough
@every_choice
def test_mutants_are_refused_or_right_in_50_runs(choice: Choice) -> None:
    assert mutants_noticed(choice, 300, 50) >= 180


def changeable(network: Network) -> dict[str, Weight]:
    """All weights but the positions, which are powers of i."""
    return {name: each for name, each in network.weights().items() if name != "positions"}


@every_choice
def test_every_weight_flipped_is_refused_or_right(choice: Choice) -> None:
    network = choice.network(library_machine("even-as"))
    refused = flipped = 0
    for name, weight in changeable(network).items():
        for (row, column), value in [*weight.entries.items()][:: repeated(1, 3)]:
            changed = network.with_weight(name, row, column, -value)
            flipped += 1
            if failure(changed) is not None:
                refused += 1
            else:
                still_right(changed, random.Random(flipped), 3)
    assert refused >= flipped - 6


HOLES = (
    ("pointer", "F.1", "w[_]", "v[_]", -1, "aa"),
    ("pointer", "F.1", "w[a]", "alpha[_]", 1, "aa"),
    ("text", "F.1", "w3", "state", -2, "ab"),
    ("text", "F.1", "w3", "symbol", 1, "ab"),
)


@pytest.mark.parametrize(("name", "weight", "row", "column", "value", "word"), HOLES)
def test_what_a_network_reads_is_never_taken_for_0(
    name: str, weight: str, row: str, column: str, value: int, word: str
) -> None:
    """Coordinates that a case did not set were: such networks were certified, and wrong."""
    network = CHOICES[name].network(library_machine("palindrome"))
    changed = network.with_weight(weight, row, column, value)
    assert failure(changed) is not None
    assert changed.compare(word, 40).difference is not None


@every_choice
def test_a_weight_added_anywhere_is_refused_or_right(choice: Choice) -> None:
    """From every coordinate to every hidden unit that has another weight, and out of it."""
    network = choice.network(library_machine("busy-beaver-2"))
    draw = random.Random(4)
    refused = count = 0
    for name, weight in changeable(network).items():
        rows, columns = weight.labels
        no_bias = name == "embedding" or choice.kind == "gateless-neural-gpu"  # has matrices
        rows = rows if no_bias else [*rows, "bias"]
        for row in draw.sample(rows, min(len(rows), repeated(10**6, 2))):
            column = draw.choice(columns)
            there = weight.entries.get((row, column), fmpq(0))
            changed = network.with_weight(name, row, column, there + draw.choice([-2, -1, 1]))
            count += 1
            if failure(changed) is not None:
                refused += 1
            else:
                still_right(changed, draw, 2)
    assert refused > count // 2


@pytest.mark.parametrize("name", ["rules", "rules-16", "rules-dot"])
def test_a_forged_rule_is_refused_and_named(name: str) -> None:
    """Every number of every token of a prompt, changed; and tokens dropped, doubled, exchanged."""
    network = CHOICES[name].network(library_machine("even-as"))
    written = json.loads(json.dumps(network.written))
    for n, (_, _, vector) in [*enumerate(written["rules"])][:: repeated(1, 3)]:
        for k, (_, number) in enumerate(vector):
            for other in {"0", "1/2", "1", "-1", "1/8"} - {number}:
                forged = deepcopy(written)
                forged["rules"][n][2][k][1] = other
                found = failed(network.kind.name, forged)
                assert found is not None
                assert found.startswith("prompt: ")
    for n in range(len(written["rules"])):
        forged = deepcopy(written)
        del forged["rules"][n]
        found = failed(network.kind.name, forged)
        assert found == "prompt: every pair of a state and a symbol has a rule"
    forged = deepcopy(written)
    first, second = forged["rules"][2:4]
    first[2], second[2] = second[2], first[2]
    assert failed(network.kind.name, forged) == "prompt: every rule is the machine's"
    forged = deepcopy(written)
    forged["rules"][1][2] = forged["rules"][0][2]
    assert failed(network.kind.name, forged) == "prompt: the codes of pairs differ"


def test_the_dead_state_and_the_accepted_token_are_obligations() -> None:
    network = CHOICES["rules-16"].network(library_machine("even-as"))
    kind, written = network.kind.name, json.loads(json.dumps(network.written))
    for n, (_, number) in enumerate(written["accepted"]):
        for other in {"0", "1/2", "1", "-1"} - {number}:
            forged = deepcopy(written)
            forged["accepted"][n][1] = other
            assert failed(kind, forged) == "prompt: every rule is the machine's"
    for dead in ("even", "another"):
        found = failed(kind, {**written, "dead": dead})
        assert found == "prompt: every pair of a state and a symbol has a rule"


def test_a_prompt_of_the_other_network_is_refused() -> None:
    large, small = (CHOICES[n].network(library_machine("even-as")) for n in ("rules", "rules-16"))
    kind = large.kind.name
    for own, other in ((large.written, small.written), (small.written, large.written)):
        constant = {name: other[name] for name in ("layouts", "network", "seed")}
        with pytest.raises(FormatError, match="the prompt is not one for this network"):
            failed(kind, {**own, **constant})
    without = {name: part for name, part in small.written.items() if name != "accepted"}
    with pytest.raises(FormatError, match="an object with"):
        failed(kind, without)


MAY_GROW = {("decoder.1.O.1", "m2", "move")}
"""m2 is 0 or 1, and σ ends at 1."""
MAY_FALL = {("decoder.1.O.1", "m2", "follow L"), ("F.1", "m3", "R new"), ("F.1", "m3", "L found")}
"""These are −1 and make what is at most 1 vanish, where m2 or m3 is 1."""


@pytest.mark.parametrize("by", [fmpq(1, 1000), fmpq(-1, 1000), fmpq(1), fmpq(-1), None])
def test_every_number_of_the_network_of_16_coordinates_counts(by: fmpq | None) -> None:
    """Each of its 49 weights and 3 numbers of the seed, moved or set to 0."""
    network = CHOICES["rules-16"].network(library_machine("busy-beaver-2"))
    certified, count = set(), 0
    for name, weight in changeable(network).items():
        biases = {("bias", weight.labels[1][k]): x for k, x in weight.bias.entries.items()}
        for (row, column), value in {**weight.entries, **biases}.items():
            changed = network.with_weight(name, row, column, 0 if by is None else value + by)
            count += 1
            if failure(changed) is None:
                certified.add((name, row, column))
                still_right(changed, random.Random(count), 20)
    assert count == 52
    assert certified == (set() if by is None else MAY_GROW if by > 0 else MAY_FALL)


@pytest.mark.parametrize("name", ["text", "text-short"])
def test_a_forged_word_is_refused_and_named(name: str) -> None:
    """Every symbol of a prompt, changed or dropped."""
    network = CHOICES[name].network(library_machine("busy-beaver-3"))
    written = json.loads(json.dumps(network.written))
    text = written["rules"]
    for n, symbol in enumerate(text):
        for other in (*(set("01ABC<>YNT!") - {symbol}), ""):
            forged = {**written, "rules": f"{text[:n]}{other}{text[n + 1 :]}"}
            found = failed(network.kind.name, forged)
            assert found is not None
            assert found.startswith("prompt: ")
    assert failed(network.kind.name, {**written, "rules": text * 2}) is not None


def test_a_file_with_a_forged_prompt_is_refused(tmp_path: Path) -> None:
    """It is whole, its digest is right, and its prompt is not the machine's."""
    by_rules = CHOICES["rules"].network(library_machine("even-as"))
    rules = dict(by_rules.compiled.rules)
    pairs = list(rules)
    rules[pairs[4]], rules[pairs[5]] = rules[pairs[5]], rules[pairs[4]]
    by_text = CHOICES["text"].network(library_machine("even-as"))
    text = by_text.compiled.rules.replace("N", "Y", 1)
    path = tmp_path / "forged.safetensors"
    forged = replace(by_rules, compiled=replace(by_rules.compiled, rules=rules))
    forged.save(path, force=True)
    with pytest.raises(FormatError, match="prompt: every rule is the machine's"):
        nw.load(path)
    # Another number of rules, or another text, is none that the machine gives.
    for network, change in (
        (by_rules, {"rules": {pairs[0]: rules[pairs[0]]}}),
        (by_text, {"rules": text}),
    ):
        forged = replace(network, compiled=replace(network.compiled, **change))
        with pytest.raises(OutputError, match="it cannot be saved: rules is "):
            forged.save(path, force=True)


def _machine(written: dict[str, Any], place: str) -> dict[str, Any]:
    """The given machine, or another one in a place, if there is one."""
    if place == "given":
        return dict(written["given"])
    found = written.get(place, {}).get("machine")
    return found if isinstance(found, dict) else {}


@every_choice
def test_another_machine_is_refused(choice: Choice) -> None:
    """A rule of the given machine, or of its normal form, that the network does not have."""
    network = choice.network(library_machine("even-as"))
    for place in ("given", "normal", "prompt"):
        machine = _machine(network.written, place)
        for n in range(len(machine["delta"]) if machine else 0):
            forged = json.loads(json.dumps(network.written))
            rule = _machine(forged, place)["delta"][n]
            rule[4] = {"L": "R", "R": "L"}[rule[4]]
            if choice.shows_the_end or rule[2] not in forged["given"]["accepting"]:
                assert failed(network.kind.name, forged) is not None


def other_parts(net: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Changes of what is no weight: positions, scores, layers, gates."""
    if pos := net.get("pos"):
        yield {"pos": {**pos, "powers": pos["powers"][::-1]}}
        for b, _ in pos["powers"]:
            yield {"pos": {**pos, "powers": [[name, n + (name == b)] for name, n in pos["powers"]]}}
    if "score" in net:
        yield from ({"rho": "another"}, {"score": "another"}, {"decoder": net["decoder"][:1]})
        yield {"score": {"score_phi": "dot_product"}.get(net["score"], "score_phi")}
    if "encoder" in net:
        yield {"encoder": [] if net["encoder"] else net["decoder"][:1]}
    if "masked" in net:
        yield {"masked": False}
    for gate in "URF" if "U" in net else "":
        yield {gate: {**net[gate], "f": "relu"}}
        yield {gate: {**net[gate], "kernels": net[gate]["kernels"][::-1]}}
        yield {gate: {**net[gate], "bias": None if gate == "R" else net["R"]["bias"]}}
        yield from ({"circular": True}, {"width": 2})


@every_choice
def test_what_is_no_weight_is_an_obligation_too(choice: Choice) -> None:
    network = choice.network(library_machine("even-as"))
    kind, written = network.kind.name, network.written
    net = written["network"]
    for change in other_parts(net):
        is_same = all(net[name] == part for name, part in change.items())
        found = failed(kind, {**written, "network": {**net, **change}})
        assert is_same == (found is None), change
    seeds: list[Any] = [[], written["seed"][:-1]] if "seed" in written else []
    for seed in seeds:
        assert failed(kind, {**written, "seed": seed}) is not None


def test_the_network_is_certified_once_for_all(tmp_path: Path) -> None:
    """Its part is the same for all machines, and is a certificate of its own."""
    for prompt, options in (
        ("rules", {}),
        ("rules", {"attention": "dot-product"}),
        ("rules", {"size": 16}),
        ("text", {}),
    ):
        universal = nw.universal(prompt, **options)
        own = universal.certify()
        assert own.holds
        assert all(each.name.startswith("network: ") for each in own.obligations)
        for name in ("palindrome", "busy-beaver-5"):
            whole = universal.of(name).certify()
            assert whole.obligations[: len(own.obligations)] == own.obligations
            others = whole.obligations[len(own.obligations) :]
            assert all(each.name.startswith("prompt: ") for each in others)
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        own.save(path)
        again = nw.check_certificate(path)
        assert again.holds
        assert again.obligations == own.obligations
        with pytest.raises(InputError, match="of a universal network, for all machines"):
            _ = again.machine
        content = path.read_text()
        changed = (
            content.replace('["0", [[', '["0", [[1, "1"], [')
            if "embedding" in content
            else re.sub(r'("bias": \[.*?\b1[15], )"1"', r'\1"2"', content, count=1)
        )
        assert changed != content
        path.write_text(changed)
        assert not nw.check_certificate(path).holds


def test_a_mutant_shows_no_machine_or_another_run() -> None:
    """A weight of the universal network that matters is refused, and changes what is shown."""
    network = nw.compile("even-as", to="universal-transformer")
    changed = network.with_weight("decoder.1.O.1", "r2", "state", fmpq(1, 2))
    assert failure(changed) == "network: O1 while the machine runs"
    with pytest.raises(NetworkError, match="do not show a machine"):
        changed.run("ab")
