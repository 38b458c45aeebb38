"""Vector code finds the same as the comparison step by step, or refuses."""

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from tests.mutations import mutated_transformer
from tests.repetition import repeated

from netwright.cli import main
from netwright.engine.moments import UnsuitableError
from netwright.errors import InputError
from netwright.exact.rational import ONE
from netwright.exact.vector import Vector
from netwright.machine.library import library_machine
from netwright.machine.simulate import configurations
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.network import network as network_module
from netwright.network.network import Network, compile_network, network_for_word
from netwright.verify.at_scale import compare_at_scale
from netwright.verify.comparison import Comparison, compare
from netwright.verify.draw import random_machine

KINDS: list[tuple[str, dict[str, str]]] = [
    ("transformer", {}),
    ("transformer", {"score": "recency"}),
    ("pointer-transformer", {}),
    ("pointer-transformer", {"attention": "dot-product"}),
    ("universal-transformer", {}),
    ("universal-transformer", {"attention": "dot-product"}),
    ("universal-transformer", {"size": "16"}),
]
PLACES = ("netwright.verify.at_scale.CHUNK", "netwright.engine.full.checked.CHUNK")


def in_chunks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Set the number of tokens in a chunk."""
    for place in PLACES:
        monkeypatch.setattr(place, size)


def at_scale(net: Network, word: Sequence[str], steps: int) -> Comparison:
    proposal = net.kind.proof.proposal(net.compiled, word)
    assert proposal is not None
    return compare_at_scale(net.kind.name, proposal, steps)


def step_by_step(net: Network, word: Sequence[str], steps: int) -> Comparison:
    checks = net.kind.proof.checks(net.compiled, word, steps)
    return compare(net.kind.name, net.kind.statement, word, checks)


def never_more(net: Network, word: Sequence[str] = (), steps: int = 60) -> Comparison | None:
    """The result of both; None if vector code refuses."""
    try:
        found = at_scale(net, word, steps)
    except UnsuitableError:
        return None
    assert found == step_by_step(net, word, steps)
    return found


def drawn(draw: random.Random, kind: str, options: dict[str, str]) -> tuple[Network, Any]:
    """A network of a machine, and a word."""
    names = ("palindrome", "busy-beaver-3", "copy", "matching-brackets", "binary-counter")
    machine = library_machine(draw.choice(names))
    if draw.random() < 0.5:
        machine = random_machine(draw, draw.randint(1, 4), draw.randint(1, 6))
    word = tuple(draw.choices(machine.symbols, k=draw.choice([0, 0, 1, 2, 3, 9])))
    return network_for_word(machine, kind, word, **options), word


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_both_agree_on_networks_as_compiled(
    kind: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(repeated(60, 1)):
        draw = random.Random(seed)
        in_chunks(monkeypatch, draw.choice([1, 7, 16, 33, 1 << 14]))
        net, word = drawn(draw, kind, options)
        found = never_more(net, word, draw.choice([0, 1, 30, 60]))
        assert found is not None
        assert found.difference is None


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_both_agree_on_damaged_networks(
    kind: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(repeated(150, 2)):
        draw = random.Random(seed)
        in_chunks(monkeypatch, draw.choice([1, 7, 16, 33, 1 << 14]))
        net, word = drawn(draw, kind, options)
        compiled = net.compiled
        for _ in range(draw.choice([1, 1, 2, 3])):
            compiled = mutated_transformer(compiled, draw)
        never_more(replace(net, compiled=compiled), word, draw.choice([1, 20, 60]))


# Numbers that do not fit.

BEYOND = (1 << 64) + 1
"""LLVM cuts it off to 1 in 64 bits."""


def changed(net: Network, *changes: tuple[str, str, str, int | Fraction]) -> Network:
    for change in changes:
        net = net.with_weight(*change)
    return net


def busy_beaver(kind: str = "transformer", **options: str) -> Network:
    return compile_network(library_machine("busy-beaver-4"), kind, **options)


@pytest.mark.parametrize(
    "change",
    [
        ("decoder.3.K", "x5", "x10", Fraction(-1, BEYOND)),
        ("decoder.3.Q", "x4", "x9", Fraction(1, BEYOND)),
        ("decoder.3.K", "x5", "x10", Fraction(-1, 1 << 70)),
    ],
)
def test_a_denominator_beyond_64_bits_is_refused(
    change: tuple[str, str, str, Fraction],
) -> None:
    net = changed(busy_beaver(), change)
    with pytest.raises(UnsuitableError, match="too large for 64 bits"):
        at_scale(net, (), 60)
    assert step_by_step(net, (), 60).difference is not None


def test_a_denominator_beyond_32_bits_does_not_cut_off_what_is_below_it() -> None:
    """σ(2/B) is 2/B, not 1/B, for B = 2^32 + 1."""
    bound, net = (1 << 32) + 1, busy_beaver()
    first, second = (net.weights()[f"decoder.1.O.{n}"] for n in (1, 2))
    pair = "qs['A', '1']"
    changes: list[tuple[str, str, str, int | Fraction]] = [
        ("decoder.1.O.1", "bias", pair, Fraction(-2, bound))
    ]
    changes += [
        ("decoder.1.O.1", row, pair, Fraction(2, bound))
        for row, column in first.entries
        if column == pair
    ]
    changes += [
        ("decoder.1.O.2", pair, column, int(value.p) * bound)
        for (row, column), value in second.entries.items()
        if row == pair
    ]
    found = never_more(changed(net, *changes))
    assert found is not None
    assert found.difference is not None
    assert found.difference.statement == "Lemma B.2"


@pytest.mark.parametrize(
    ("net", "change", "message"),
    [
        (
            network_for_word(library_machine("palindrome"), "transformer", "ab"),
            ("encoder.V", "x9", "x6", 1 << 63),
            "a value of the encoder is too large",
        ),
        (
            compile_network(library_machine("palindrome"), "universal-transformer"),
            ("encoder.V", "r2", "r2", 1 << 64),
            "a value of the encoder is too large",
        ),
        (
            busy_beaver(),
            ("decoder.3.K", "x5", "x10", -(1 << 24)),
            "cells are too far apart",
        ),
    ],
)
def test_numbers_that_are_too_large_are_refused(
    net: Network, change: tuple[str, str, str, int], message: str
) -> None:
    with pytest.raises(UnsuitableError, match=message):
        at_scale(changed(net, change), "ab" if "a" in net.machine.symbols else (), 60)


@pytest.mark.parametrize(
    "changes",
    [
        [("decoder.3.K", "x9", "x12", 0), ("decoder.3.K", "x8", "x12", 1)],
        [("decoder.3.K", "x9", "x11", 1), ("decoder.3.K", "x8", "x11", -1)],
    ],
)
def test_keys_of_a_last_visit_need_both_a_one_and_the_time(
    changes: list[tuple[str, str, str, int | Fraction]],
) -> None:
    """With two of either, all visits of a cell tie, or the first wins."""
    net = changed(busy_beaver(score="recency"), *changes)
    assert never_more(net) is None
    assert step_by_step(net, (), 60).difference is not None


@pytest.mark.parametrize("value", [-1, 1])
def test_a_query_for_the_next_token_has_no_other_part(value: int) -> None:
    """κ(−ε_j² + 2εε_j) + εε_j² is greatest at another token of the input."""
    machine = library_machine("palindrome")
    net = network_for_word(machine, "universal-transformer", "ab", attention="dot-product")
    damaged = net.with_weight("encoder.K", "e2", "e_", value)
    assert never_more(damaged, "ab") is None
    assert step_by_step(damaged, "ab", 60).difference is not None


# What else a proposal rests on.


@pytest.mark.parametrize("kind", ["transformer", "pointer-transformer", "universal-transformer"])
def test_another_seed_is_noticed(kind: str) -> None:
    net = busy_beaver(kind)
    seed = net.compiled.seed
    place = max(seed.entries)
    other = Vector(seed.layout, {**seed.entries, place: seed.entries[place] + ONE})
    with pytest.raises(UnsuitableError, match="the seed is not as proposed"):
        at_scale(replace(net, compiled=replace(net.compiled, seed=other)), (), 60)


@pytest.mark.parametrize(
    ("attention", "word", "change"),
    [
        ("dot-product", "xb", ("r", "on", 1)),
        ("dot-product", "aab", ("r", "on", 0)),
        ("absolute", "aab", ("on", "s", -3)),
    ],
)
def test_several_tokens_that_tie_are_not_shown_as_one(
    attention: str, word: str, change: tuple[str, str, int]
) -> None:
    machine = library_machine("more-as")
    net = network_for_word(machine, "universal-transformer", word, attention=attention)
    assert never_more(net.with_weight("encoder.K", *change), word) is None


def test_a_sigma_that_its_bounds_do_not_decide_is_not_taken_for_the_identity() -> None:
    net = compile_network(library_machine("sweeper"), "pointer-transformer")
    damaged = net.with_weight("decoder.1.O.1", "bias", "sel['left', '1']", Fraction(-5, 2))
    assert never_more(damaged) is None


# Long runs.


LATE = TuringMachine(
    states=["go", "rare", "back", "end"],
    symbols=["_", "x", "y"],
    blank="_",
    start="go",
    delta={
        ("go", "x"): Action("go", "x", Move.R),
        ("go", "_"): Action("rare", "_", Move.L),
        ("rare", "x"): Action("back", "y", Move.L),
        ("back", "x"): Action("back", "x", Move.L),
        ("back", "_"): Action("end", "_", Move.R),
    },
)
"""It walks over a word of x and back; it turns in a state that it has only there."""


def first_in(net: Network, word: str, state: str) -> int:
    """The number of the first token in a state."""
    machine = net.compiled.normal.machine
    states = (each.state for each in configurations(machine, word, head=-1))
    return next(time for time, each in enumerate(states) if each == state)


@pytest.mark.parametrize(
    ("kind", "damage", "statement"),
    [
        ("transformer", ("decoder.1.O.2", "qs['rare', 'x']", "x2", 1), "Lemma B.2"),
        ("pointer-transformer", ("decoder.1.O.2", "rule['rare', 'x']", "w[y]", 0), "The rule"),
        ("universal-transformer", None, ""),
    ],
)
def test_a_difference_beyond_the_first_chunk_is_found_where_it_is(
    kind: str, damage: tuple[str, str, str, int] | None, statement: str
) -> None:
    net, word = compile_network(LATE, kind), "x" * 6000
    whole = at_scale(net, word, 50_000)
    run = LATE.run(word)
    assert (whole.steps, whole.difference) == (run.steps, None)
    if damage is None:
        return
    found = at_scale(net.with_weight(*damage), word, 50_000)
    time = first_in(net, word, "rare")
    assert time > 1 << 14
    assert found.difference is not None
    assert (found.difference.time, found.difference.statement) == (time, statement)


@pytest.mark.parametrize("size", [1, 15, 16, 17, 100])
@pytest.mark.parametrize("kind", ["transformer", "pointer-transformer"])
def test_chunks_of_any_size_say_the_same(
    kind: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, word = compile_network(LATE, kind), "x" * 9
    row = {"transformer": "qs['rare', 'x']", "pointer-transformer": "rule['rare', 'x']"}[kind]
    column = {"transformer": "s2[y]", "pointer-transformer": "w[y]"}[kind]
    damaged = net.with_weight("decoder.1.O.2", row, column, 0)
    in_chunks(monkeypatch, size)
    if size == 17:  # codes as rows, as for machines with very many states
        monkeypatch.setattr("netwright.verify.at_scale.MOST_CODES", 1)
    for each in (net, damaged):
        found = never_more(each, word, 100)
        assert found is not None
        assert (found.difference is None) == (each is net)


# The comparison that users call.


def test_beyond_a_few_steps_vector_code_compares(monkeypatch: pytest.MonkeyPatch) -> None:
    net, word = compile_network(LATE), "x" * 40
    monkeypatch.setattr(network_module, "FEW_STEPS", 10)
    assert net.compare(word, 1000) == at_scale(net, word, 1000)
    damaged = net.with_weight("decoder.1.O.2", "qs['rare', 'x']", "s2[y]", 0)
    found = damaged.compare(word, 1000)
    assert found == step_by_step(damaged, word, 1000)
    assert found.difference is not None


def test_what_vector_code_does_not_follow_is_compared_step_by_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cells of the last visit in units of 2^-25: the same attention, but larger numbers."""
    monkeypatch.setattr(network_module, "FEW_STEPS", 10)
    net = changed(
        busy_beaver(),
        ("decoder.3.K", "x5", "x10", -(1 << 25)),
        ("decoder.3.Q", "x4", "x9", 1 << 25),
    )
    assert net.compare("", 60) == step_by_step(net, (), 60)
    message = "vector code does not follow this transformer .* at most 1,000,000 steps"
    with pytest.raises(InputError, match=message):
        net.compare("", 10_000_000)


def test_a_network_without_positions_has_no_proposal(monkeypatch: pytest.MonkeyPatch) -> None:
    net = busy_beaver().without("positions")
    with pytest.raises(UnsuitableError, match="it has no positions"):
        at_scale(net, (), 60)
    assert net.compare("", 300).difference is not None


def test_kinds_that_are_compared_step_by_step_have_a_limit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = ["verify", "palindrome", "abba", "--on", "rnn,transformer", "--max-steps", "10000000"]
    assert main(call) == 2
    message = capsys.readouterr().err
    assert "and rnn can be compared for at most 1,000,000" in " ".join(message.split())
    assert main(["verify", "palindrome", "abba", "--on", "transformer", *call[-2:]]) == 0
    assert "no difference" in capsys.readouterr().out
