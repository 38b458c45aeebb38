"""Everything of a network is in `net.weights()`: a step computed from it alone is the network's."""

from collections.abc import Callable, Mapping
from itertools import islice

import pytest
from flint import fmpq

import netwright as nw
from netwright.errors import InputError
from netwright.network.weight import Weight

Numbers = dict[str, fmpq]
"""A vector by the names of its coordinates, without zeros."""
ONE = fmpq(1)


def times(weight: Weight, x: Numbers) -> Numbers:
    """x·A + b, from what a weight shows."""
    _, columns = weight.labels
    found = {columns[k]: value for k, value in weight.bias.entries.items()}
    for (row, column), value in weight.entries.items():
        if row in x:
            found[column] = found.get(column, fmpq(0)) + x[row] * value
    return {name: value for name, value in found.items() if value}


def plus(*vectors: Numbers) -> Numbers:
    found: Numbers = {}
    for vector in vectors:
        for name, value in vector.items():
            found[name] = found.get(name, fmpq(0)) + value
    return {name: value for name, value in found.items() if value}


def sigma(x: Numbers) -> Numbers:
    return {name: min(max(value, fmpq(0)), ONE) for name, value in x.items() if value > 0}


def hadamard(x: Numbers, y: Numbers) -> Numbers:
    return {name: x[name] * y[name] for name in x if name in y}


def shown(vector: object) -> Numbers:
    names = vector.layout.coordinates  # type: ignore[attr-defined]
    return {str(names[k]): value for k, value in vector.entries.items()}  # type: ignore[attr-defined]


def children(weights: Mapping[str, Weight], name: str) -> list[str]:
    """The numbered names below a name."""
    return [each for n in range(1, 9) if any(w.startswith(each := f"{name}.{n}") for w in weights)]


def matrix(weights: Mapping[str, Weight], name: str, x: Numbers, *, is_sum: bool) -> Numbers:
    """A matrix: a sum of products of factors, by turns."""
    if name in weights:
        return times(weights[name], x)
    if is_sum:
        terms = [matrix(weights, each, x, is_sum=False) for each in children(weights, name)]
        return plus(*terms)
    for each in children(weights, name):
        x = times(weights[each], x)
    return x


def network(weights: Mapping[str, Weight], name: str, x: Numbers) -> Numbers:
    """A feed-forward network: maps with σ between each two."""
    first, *others = [name] if name in weights else children(weights, name)
    x = times(weights[first], x)
    for each in others:
        x = times(weights[each], sigma(x))
    return x


def attend(q: Numbers, keys: list[Numbers], values: list[Numbers]) -> Numbers:
    """Hard attention with the score −|⟨q, k⟩|."""
    if not keys:
        return {}
    scores = [-abs(sum(hadamard(q, key).values(), fmpq(0))) for key in keys]
    best = [value for score, value in zip(scores, values, strict=True) if score == max(scores)]
    return {name: value / len(best) for name, value in plus(*best).items()}


def positions(weights: Mapping[str, Weight], i: int) -> Numbers:
    rows = weights["positions"].labels[0]
    powers = {row: fmpq(i) ** int(row.removeprefix("power[i^").removesuffix("]")) for row in rows}
    return times(weights["positions"], powers)


def transformer(weights: Mapping[str, Weight], word: str, layers: int) -> Callable[[], Numbers]:
    """The outputs y_1, y_2, … of a Transformer with one encoder layer, from its numbers alone."""
    X = [
        plus(times(weights["embedding"], {f"symbol[{s}]": ONE}), positions(weights, i))
        for i, s in enumerate(word, 1)
    ]
    Q, K, V = ([network(weights, f"encoder.1.{a}", x) for x in X] for a in "QKV")
    A = [plus(attend(q, K, V), x) for q, x in zip(Q, X, strict=True)]
    X = [plus(network(weights, "encoder.1.O", a), a) for a in A]
    external = tuple([network(weights, f"encoder.{a}", x) for x in X] for a in "KV")
    kept: dict[str, list[Numbers]] = {}
    y, i = times(weights["seed"], {}), 0

    def step() -> Numbers:
        nonlocal y, i
        i += 1
        z = plus(y, positions(weights, i))
        for n in range(1, layers + 1):
            for a in "KV":
                kept.setdefault(f"{n}{a}", []).append(network(weights, f"decoder.{n}.{a}", z))
            q = network(weights, f"decoder.{n}.Q", z)
            p = plus(attend(q, kept[f"{n}K"], kept[f"{n}V"]), z)
            a_ = plus(attend(p, *external), p)
            z = plus(network(weights, f"decoder.{n}.O", a_), a_)
        y = network(weights, "F", z)
        return y

    return step


def test_a_transformers_outputs_from_its_numbers_alone() -> None:
    net = nw.compile("palindrome")
    step = transformer(net.weights(), "abba", 3)
    for y in islice(net.outputs("abba"), 14):
        assert step() == shown(y)


def test_an_rnns_vectors_from_its_numbers_alone() -> None:
    net = nw.compile("palindrome", to="rnn")
    weights, h = net.weights(), dict[str, fmpq]()
    for symbol in "abba_":
        x = times(weights["embedding"], {f"symbol[{symbol}]": ONE})
        fed = [matrix(weights, name, v, is_sum=True) for name, v in (("W", x), ("V", h))]
        h = sigma(plus(*fed))
    for g in islice(net.outputs("abba"), 12):
        h = sigma(matrix(weights, "U", h, is_sum=False))
        assert h == shown(g)


def test_a_neural_gpus_cells_from_its_numbers_alone() -> None:
    net = nw.compile("even-as", to="neural-gpu")
    weights, blank = net.weights(), net.machine.blank
    cells = [times(weights["embedding"], {f"symbol[{s}]": ONE}) for s in ("a", "b", "a", blank)]

    def convolved(letter: str, S: list[Numbers], i: int) -> Numbers:
        """Kernels of shape (2, 1): the cell above, and this one."""
        terms = [times(weights[f"{letter}.bias"], {})] if f"{letter}.bias" in weights else []
        for u in (1, 2):
            above = i + u - 2
            has_kernel = any(name.startswith(f"{letter}.{u}") for name in weights)
            if above >= 0 and has_kernel:
                terms.append(matrix(weights, f"{letter}.{u}", S[above], is_sum=True))
        return sigma(plus(*terms))

    trace = net.trace("aba")
    ones = dict.fromkeys(map(str, net.layout.coordinates), ONE)
    for t in range(1, 8):
        U, R = ([convolved(a, cells, i) for i in range(4)] for a in "UR")
        gated = [hadamard(r, s) for r, s in zip(R, cells, strict=True)]
        F = [convolved("F", gated, i) for i in range(4)]
        cells = [
            plus(hadamard(u, s), hadamard(plus(ones, {k: -v for k, v in u.items()}), f))
            for u, s, f in zip(U, cells, F, strict=True)
        ]
        assert cells == [shown(trace[t][f"cell.{n}"]) for n in range(1, 5)]


def test_what_enters_a_network_can_be_changed_like_a_weight() -> None:
    net = nw.compile("palindrome")
    changed = net.with_weight("embedding", "symbol[a]", "s1[a]", 2)
    assert changed.weights()["embedding"]["symbol[a]", "s1[a]"] == 2
    assert not changed.certify().holds
    assert not net.with_weight("seed", "bias", "x1", 3).certify().holds
    gpu = nw.compile("palindrome", to="neural-gpu")
    bias = gpu.weights()["R.bias"].bias
    name = str(bias.layout.coordinates[next(iter(bias.entries))])
    broken = gpu.with_weight("R.bias", "bias", name, "1/2")
    assert broken.weights()["R.bias"]["bias", name] == fmpq(1, 2)
    assert not broken.certify().holds
    with pytest.raises(InputError, match="positions are powers of i"):
        net.with_weight("positions", "power[i^0]", "x8", 2)
    with pytest.raises(InputError, match="a row for each symbol, and no bias"):
        net.with_weight("embedding", "bias", "x1", 1)
