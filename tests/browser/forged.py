"""Certificates, and mutants of them, for two checkers that must agree."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from tests.certified import leaves, objects, replaced
from tests.fuzz.mutated import mutated_bytes, mutated_json
from tests.mutations import mutated_neural_gpu, mutated_rnn, mutated_transformer

from netwright.certificates.check import certificate, read_certificate
from netwright.errors import FormatError, InputError
from netwright.machine.library import library_machine
from netwright.network.certificate import check_written
from netwright.network.network import Network, compile_network

CHOICES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("transformer", {}),
    ("transformer", {"score": "recency"}),
    ("transformer", {"blanks": True}),
    ("rnn", {}),
    ("rnn", {"base": "29/3"}),
    ("neural-gpu", {}),
    ("pointer-transformer", {}),
    ("pointer-transformer", {"attention": "dot-product"}),
    ("pointer-transformer", {"blanks": True}),
    ("universal-transformer", {}),
    ("universal-transformer", {"attention": "dot-product"}),
    ("universal-text", {}),
    ("universal-text", {"form": "short"}),
)
"""All kinds with certificates, with their options."""
SUBJECTS = ("even-as", "busy-beaver-2", "busy-beaver-3", "binary-increment", "palindrome")


@cache
def network_of(name: str, choice: int) -> Network:
    on, options = CHOICES[choice]
    return compile_network(library_machine(name), on, **options)


@cache
def file_of(name: str, choice: int) -> bytes:
    return network_of(name, choice).certify().to_bytes()


def python_says(data: bytes) -> dict[str, Any]:
    """The verdict of Python's checker, the first obligation that fails, and the cases of others."""
    try:
        found = list(check_written(*read_certificate(data, "file")))
    except (FormatError, InputError):
        return {"verdict": "refused", "failed": None, "counts": None}
    failed = next((each.name for each in found if each.failure is not None), None)
    counts = [[each.name, None if each.failure else each.cases] for each in found]
    return {"verdict": "fails" if failed else "holds", "failed": failed, "counts": counts}


def _weight(draw: random.Random, name: str, choice: int) -> bytes:
    """A network with a weight changed, added or removed."""
    network = network_of(name, choice)
    compiled: Any = network.compiled
    on = network.kind.name
    if on == "rnn":
        compiled = replace(compiled, network=mutated_rnn(compiled.network, draw))
    elif on == "neural-gpu":
        compiled = replace(compiled, network=mutated_neural_gpu(compiled.network, draw))
    else:
        compiled = mutated_transformer(compiled, draw)
    return certificate(on, replace(network, compiled=compiled).written, [])


def _leaf(value: Any, draw: random.Random) -> object:
    """Another value of the same type."""
    if isinstance(value, bool) or value is None:
        return draw.choice([True, False, None])
    if isinstance(value, int):
        return draw.choice([value + 1, value - 1, 0, 1, -1, 2**31, 10**20])
    texts = ["0", "1", "-1", "1/2", "-1/2", "2", "2/3", "1/1", "-0", "+1", "01", "2/4", "1/0"]
    return draw.choice([*texts, f"-{value}", f"{value}0", "", "\ud800", "L", "R", "S", "given"])


def _numbers(draw: random.Random, name: str, choice: int) -> bytes:
    """Leaves with other values, or the values of other leaves."""
    whole = json.loads(file_of(name, choice))
    parts = (
        {"weights", "bias", "seed", "rules", "embedding"} if draw.random() < 0.5 else {"network"}
    )
    places = [place for place in leaves(whole["network"]) if parts & {"network", *place}]
    for _ in range(draw.choice([1, 1, 2])):
        place, source = draw.sample(places, 2)
        other = replaced(whole["network"], source, None)
        replaced(whole["network"], source, other)
        old = replaced(whole["network"], place, None)
        alike = type(other) is type(old) and draw.random() < 0.6
        replaced(whole["network"], place, other if alike else _leaf(old, draw))
    return json.dumps(whole, ensure_ascii=draw.random() < 0.5).encode(errors="surrogatepass")


def _keys(draw: random.Random, name: str, choice: int) -> bytes:
    """A key removed, given twice, renamed, or one more."""
    whole = json.loads(file_of(name, choice))
    each = draw.choice([found for found in objects(whole) if found])
    key = draw.choice(list(each))
    way = draw.randrange(4)
    if way == 0:
        del each[key]
    elif way == 1:
        each["\0twice"] = each[key]
    else:
        each[draw.choice(["__proto__", "without", "constructor", "terms", "given", "x"])] = (
            each[key] if way == 2 else each.pop(key)
        )
    return json.dumps(whole).replace('"\\u0000twice"', json.dumps(key)).encode()


def _items(draw: random.Random, name: str, choice: int) -> bytes:
    """An item of a list dropped, doubled or moved."""
    whole = json.loads(file_of(name, choice))
    lists = [found for each in objects(whole) for found in each.values() if found]
    lists = [found for found in lists if isinstance(found, list)]
    chosen = draw.choice(lists)
    while isinstance(chosen[0], list) and chosen[0] and draw.random() < 0.3:
        chosen = chosen[0]
    n, m = draw.randrange(len(chosen)), draw.randrange(len(chosen))
    way = draw.randrange(3)
    if way == 0:
        del chosen[n]
    elif way == 1:
        chosen.insert(m, json.loads(json.dumps(chosen[n])))
    else:
        chosen[n], chosen[m] = chosen[m], chosen[n]
    return json.dumps(whole).encode()


def _rules(draw: random.Random, name: str, choice: int) -> bytes:
    """A machine or a prompt with one thing in its rules changed."""
    whole = json.loads(file_of(name, choice))
    network = whole["network"]
    machines = [each for each in objects(network) if "delta" in each]
    text = network.get("rules")
    if isinstance(text, str) and draw.random() < 0.5:
        n = draw.randrange(len(text))
        network["rules"] = f"{text[:n]}{draw.choice('01ABC<>YNT!')}{text[n + draw.randrange(2) :]}"
        return json.dumps(whole).encode()
    machine = draw.choice(machines)
    rule = draw.choice(machine["delta"])
    part = draw.randrange(5)
    names = (machine["states"], machine["symbols"]) * 2 + ([*"LRS"],)
    rule[part] = draw.choice(names[part])
    if draw.random() < 0.2:
        machine["start"] = draw.choice(machine["states"])
    if draw.random() < 0.2:
        machine["accepting"] = [draw.choice(machine["states"])]
    return json.dumps(whole).encode()


def _json(draw: random.Random, name: str, choice: int) -> bytes:
    return mutated_json(file_of(name, choice), draw)


def _bytes(draw: random.Random, name: str, choice: int) -> bytes:
    other = file_of(draw.choice(SUBJECTS), draw.randrange(len(CHOICES)))
    return mutated_bytes(file_of(name, choice), draw, other)


WAYS: dict[str, Callable[[random.Random, str, int], bytes]] = {
    "weight": _weight,
    "number": _numbers,
    "key": _keys,
    "item": _items,
    "rule": _rules,
    "json": _json,
    "bytes": _bytes,
}


def mutants(count: int, first: int = 0) -> Iterator[tuple[str, bytes]]:
    """So many, and a name of each; weights and numbers more often than others."""
    for seed in range(first, first + count):
        draw = random.Random(seed)
        choice, name = draw.randrange(len(CHOICES)), draw.choice(SUBJECTS)
        way = draw.choice([*WAYS, "weight", "weight", "number", "item"])
        yield f"{seed}: {way} of {CHOICES[choice]} of {name}", WAYS[way](draw, name, choice)
