"""Certificates in which something is of another type: refused, or about a network that is right."""

import json
import random
from collections.abc import Callable, Iterator
from itertools import islice, product
from typing import Any

import pytest
from tests.certified import answers_as_its_machine, leaves, objects, replaced
from tests.conftest import COUNTED
from tests.networks import KINDS as NAMES
from tests.networks import compiled_network, networks_in, with_network, written
from tests.repetition import repeated

from netwright.certificates.check import certificate, read_certificate
from netwright.errors import FormatError
from netwright.exact.feed_forward import Affine, FeedForward
from netwright.kind.rnn.construction import compile_rnn
from netwright.kind.transformer.construction import (
    CompiledTransformer,
    to_transformer,
)
from netwright.machine.library import library_machine
from netwright.machine.turing_machine import TuringMachine
from netwright.network.certificate import check_written

KINDS = [*NAMES]
WORDS = [word for length in range(5) for word in product("ab", repeat=length)][:20]
CONFUSIONS: list[object] = [None, float("nan"), True, 0, "", [], {}, 10**30]
START_ACCEPTS = TuringMachine(
    ["yes", "no"], "ab_", "_", "yes", {("no", "a"): ("yes", "b", "R")}, accepting=["yes"]
)


def whole_certificate(on: str, machine: TuringMachine | None = None) -> dict[str, Any]:
    """A certificate as JSON."""
    network = written(compiled_network(machine or library_machine("even-as"), on))
    found = list(check_written(on, network))
    return dict(json.loads(certificate(on, network, found)))


def certified(data: bytes) -> dict[str, Any] | None:
    """The network of a file that is certified; None for one that is refused or does not hold."""
    try:
        on, network = read_certificate(data, "file")
        holds = all(each.failure is None for each in check_written(on, network))
    except FormatError:
        return None
    return dict(network) if holds else None


def renamed(value: Any, old: str, new: object) -> Any:
    """JSON with a name replaced wherever it stands."""
    if isinstance(value, dict):
        return {key: renamed(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, old, new) for item in value]
    return new if value == old and type(value) is str else value


def accepting_everything() -> CompiledTransformer:
    """The palindrome machine's Transformer, but the pair (q_init, #) leads to acceptance."""
    compiled = to_transformer(library_machine("palindrome"))
    network = networks_in(compiled)["decoder.1.O"]
    *maps, last = network.maps
    pair = next(n for n, c in enumerate(last.input.coordinates) if c.label == "'q_init', '_'")
    q_read, accept = (last.output.index("q2", state) for state in ("q_read", "accept"))
    weights = {
        (j, accept if (j, k) == (pair, q_read) else k): w for (j, k), w in last.weights.items()
    }
    assert weights != last.weights
    wrong = Affine(last.input, last.output, weights, last.bias)
    return with_network(compiled, "decoder.1.O", FeedForward((*maps, wrong)))


@pytest.mark.parametrize("name", [None, 7, True, float("nan"), [], "", "other"])
def test_no_name_of_a_state_hides_its_weights(name: object) -> None:
    """With the name null, (q_init, #) was never given to O_1: these weights accept `ab`."""
    wrong = json.loads(json.dumps(written(accepting_everything())))
    assert not answers_as_its_machine("transformer", wrong, ["ab"], 10)
    data = certificate("transformer", renamed(wrong, "q_init", name), [])
    assert certified(data) is None
    right = renamed(whole_certificate("transformer")["network"], "q_init", name)
    found = certified(certificate("transformer", right, []))
    assert (found is not None) == (name == "other")


@pytest.mark.parametrize("name", [None, 7, float("nan"), "other"])
def test_no_name_of_a_start_state_that_accepts_is_forgotten(name: object) -> None:
    """With the name NaN, a network was certified in which nothing keeps S."""
    compiled = compile_rnn(START_ACCEPTS)
    network = json.loads(json.dumps(written(compiled)))
    kept = compiled.neurons.layout.index("S", "yes")
    right = certified(certificate("rnn", renamed(network, "yes", name), []))
    assert (right is not None) == (name == "other")
    for term in network["network"]["U"]["terms"]:
        term[-1]["weights"] = [weight for weight in term[-1]["weights"] if weight[1] != kept]
    assert not answers_as_its_machine("rnn", network, ["a"], 3)
    assert certified(certificate("rnn", renamed(network, "yes", name), [])) is None


def confused(on: str, whole: dict[str, Any]) -> bool:
    """Whether a certificate is accepted although its network is wrong."""
    found = certified(json.dumps(whole).encode())
    return found is not None and not answers_as_its_machine(on, found, WORDS, 6)


@pytest.mark.parametrize("on", KINDS)
def test_every_leaf_of_a_network_of_another_type(on: str) -> None:
    """Refused, not certified, or a network that still answers as its machine.

    Of another type in eight ways; `make test` takes them in turn, one for each leaf.
    """
    network = whole_certificate(on)["network"]
    places = list(leaves(network))
    assert len(places) > 400
    for place, new in islice(product(places, CONFUSIONS), 0, None, repeated(1, 17)):
        old = replaced(network, place, new)
        if (type(new), new) != (type(old), old):
            try:
                holds = all(each.failure is None for each in check_written(on, network))
            except FormatError:
                holds = False
            assert type(new) is not float or not holds, place
            assert not holds or answers_as_its_machine(on, network, WORDS, 6), (place, new)
        replaced(network, place, old)


@pytest.mark.parametrize("on", KINDS)
def test_every_leaf_beside_the_network_of_another_type(on: str) -> None:
    """Refused, or not believed anyway; a NaN is refused wherever it stands."""
    whole = whole_certificate(on)
    network = whole["network"]
    for place, new in product([p for p in leaves(whole) if p[0] != "network"], CONFUSIONS):
        old = replaced(whole, place, new)
        found = certified(json.dumps(whole).encode())
        assert found is None or (found == network and type(new) is not float), (place, new)
        replaced(whole, place, old)


@pytest.mark.parametrize("on", KINDS)
def test_every_key_given_twice(on: str) -> None:
    whole = whole_certificate(on)
    count = 0
    for each in objects(whole):
        for key in list(each):
            each["\0twice"] = each[key]
            text = json.dumps(whole).replace('"\\u0000twice"', json.dumps(key))
            del each["\0twice"]
            count += 1
            with pytest.raises(FormatError, match=r"an object: '.*' occurs twice"):
                read_certificate(text.encode(), "file")
    assert count > 50


def pairs_at_random(on: str, count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Certificates with two leaves changed: to a confusing value, or to one from elsewhere."""
    whole, draw = whole_certificate(on), random.Random(seed)
    network = whole["network"]
    places = list(leaves(network))
    values = [replaced(network, place, None) for place in places]
    for place, value in zip(places, values, strict=True):
        replaced(network, place, value)

    def another(old: object) -> object:
        alike = [value for value in draw.sample(values, 50) if type(value) is type(old)]
        return draw.choice([*alike, old]) if draw.random() < 0.7 else draw.choice(CONFUSIONS)

    for _ in range(count):
        changed = draw.sample(range(len(places)), 2)
        for n in changed:
            replaced(network, places[n], another(values[n]))
        yield whole
        for n in changed:
            replaced(network, places[n], values[n])


def no_pair_confuses(on: str, count: int, seed: int) -> None:
    tried = 0
    for whole in pairs_at_random(on, count, seed):
        assert not confused(on, whole), whole
        tried += 1
    assert tried == count


@pytest.mark.parametrize("on", KINDS)
def test_types_confused_in_pairs(on: str) -> None:
    """2,000 in all, and 300 in `make test`."""
    no_pair_confuses(on, repeated(667, 100), seed=1)


@pytest.mark.thorough
@pytest.mark.parametrize("on", KINDS)
def test_types_confused_in_very_many_pairs(
    on: str, record_property: Callable[[str, object], None]
) -> None:
    """50,000 in all."""
    no_pair_confuses(on, 16_667, seed=2)
    record_property(
        COUNTED, f"16,667 certificates of {on}, confused in pairs: none wrong certified"
    )
