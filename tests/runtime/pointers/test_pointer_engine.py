"""The engine for pointers equals the definition, also on networks that were changed."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.repetition import examples, repeated
from tests.strategies import machines, words

from netwright.engine.moments import ReferenceEngine, Watch, rows_of, watched
from netwright.exact.feed_forward import FeedForward
from netwright.exact.vector import Vector
from netwright.machine.library import library_machine
from netwright.machine.normal_form import normalize
from netwright.machine.turing_machine import TuringMachine
from netwright.nets.transformer import Transformer
from netwright.runtime.pointers.engine import PointerEngine
from netwright.theorems.beyond.pointers import universal_rules, universal_text
from netwright.theorems.beyond.pointers.pointer_transformer import (
    Attention,
    compile_pointer_transformer,
)
from netwright.verify.draw import random_machine

WATCHES = (Watch("y", "q1"), Watch("z", "w"), Watch("z", "m", sign=True))
U1 = {attention: universal_rules.universal_transformer(attention) for attention in Attention}
U2 = universal_text.universal_text_transformer()
ON_U1 = (Watch("y", "on", sign=True), Watch("z", "m3", sign=True), Watch("y", "r", sign=True))


Codes = NDArray[np.int64]


class Run(NamedTuple):
    """A network on an input, as watches see it."""

    network: Transformer
    X: Sequence[Vector]
    seed: Vector
    watches: Sequence[Watch]

    def by_definition(self, count: int) -> Codes:
        tokens = islice(self.network.tokens(self.X, self.seed), count)
        engine = ReferenceEngine(map(watched, tokens), self.watches)
        return np.concatenate([engine.advance(1) for _ in range(count)])

    def check(self, count: int) -> str | None:
        """The engine gives the same; why it left its tables, if it did."""
        engine = PointerEngine(*self)
        found: list[Codes] = []
        while (done := sum(map(len, found))) < count:
            found.append(rows_of(engine.advance(count - done)))
        np.testing.assert_array_equal(np.concatenate(found), self.by_definition(count))
        return engine.reason


def on_universal(machine: TuringMachine, word: Sequence[str], attention: Attention) -> Run:
    normal = normalize(machine, blanks_in_input=machine.blank in word)
    network = U1[attention]
    X = [*universal_rules.compile_universal_rules(normal, attention).embed(word)]
    return Run(network, X, universal_rules.seed(network.layout), ON_U1)


def over_eleven(machine: TuringMachine, word: Sequence[str], *, long: bool = False) -> Run:
    embedding = universal_text.embedding(U2.layout)
    X = [
        embedding[symbol] for symbol in universal_text.TextPrompt.of(machine, long=long).text(word)
    ]
    return Run(U2, X, universal_text.seed(U2.layout), (Watch("y", "on", sign=True), *ON_U1[1:]))


def on_pointers(
    machine: TuringMachine, word: Sequence[str], attention: Attention, *, keep_stays: bool = False
) -> Run:
    normal = normalize(machine, blanks_in_input=machine.blank in word, keep_stays=keep_stays)
    compiled = compile_pointer_transformer(normal, attention)
    X = [compiled.embedding[symbol] for symbol in word]
    watches = [watch for watch in WATCHES if not compiled.stays or watch.block != "m"]
    return Run(compiled.network, X, compiled.seed, watches)


@pytest.mark.parametrize("attention", list(Attention))
@pytest.mark.parametrize("keep_stays", [False, True])
@examples(40)
@given(data=st.data())
def test_random_machines(attention: Attention, keep_stays: bool, data: st.DataObject) -> None:
    machine = data.draw(machines(default_input=False))
    word = data.draw(words(machine.symbols))
    run = on_pointers(machine, word, attention, keep_stays=keep_stays)
    run.check(2 * len(word) + 25)


@pytest.mark.parametrize("attention", list(Attention))
@examples(30)
@given(machine=machines(default_input=False, max_states=3, max_symbols=3), data=st.data())
def test_random_machines_on_the_universal_network(
    attention: Attention, machine: TuringMachine, data: st.DataObject
) -> None:
    word = data.draw(words(machine.symbols))
    run = on_universal(machine, word, attention)
    run.check(len(run.X) + 15)


@pytest.mark.parametrize("long", [False, True])
@examples(12)
@given(machine=machines(default_input=False, max_states=2, max_symbols=2), data=st.data())
def test_random_machines_on_the_universal_network_over_eleven_symbols(
    long: bool, machine: TuringMachine, data: st.DataObject
) -> None:
    run = over_eleven(machine, data.draw(words(machine.symbols)), long=long)
    run.check(len(run.X) + 12)


def test_the_4_state_busy_beaver_over_eleven_symbols() -> None:
    run = over_eleven(library_machine("busy-beaver-4"), ())
    assert run.check(len(run.X) + 107) is None


@pytest.mark.parametrize("name", ["busy-beaver-4", "palindrome", "binary-increment"])
@pytest.mark.parametrize("attention", list(Attention))
def test_whole_networks_are_not_left_to_the_definition(name: str, attention: Attention) -> None:
    machine = library_machine(name)
    word = machine.default_input
    alive = 2 * len(word) + 3 + min(machine.run().steps, 100)
    assert on_pointers(machine, word, attention).check(alive) is None
    assert on_universal(machine, word, attention).check(alive) is None


def mutants(network: Transformer, count: int, seed: int) -> list[Transformer]:
    """Networks with one weight or bias that is another one, or is gone."""
    draw = random.Random(seed)
    found: list[Transformer] = []
    places: list[tuple[str, int]] = [("K", 0), ("V", 0), ("F", 0)]
    places += [(letter, n) for n in range(len(network.decoder)) for letter in "qkvo"]
    while len(found) < count:
        letter, number = draw.choice(places)
        layer = network.decoder[number]
        net = getattr(network, letter) if letter.isupper() else getattr(layer, letter.upper())
        assert isinstance(net, FeedForward)
        maps = list(net.maps)
        which = draw.randrange(len(maps))
        affine = maps[which]
        if not affine.weights:
            continue
        weights = dict(affine.weights)
        place = draw.choice(list(weights))
        weights[place] *= draw.choice([0, -1, 2, 3])
        maps[which] = replace(affine, weights=weights)
        changed = replace(net, maps=tuple(maps))
        if letter.isupper():
            found.append(replace(network, **{letter: changed}))  # type: ignore[arg-type]
        else:
            layers = list(network.decoder)
            layers[number] = replace(layer, **{letter.upper(): changed})
            found.append(replace(network, decoder=tuple(layers)))
    return found


@pytest.mark.parametrize("attention", list(Attention))
def test_changed_networks(attention: Attention) -> None:
    draw = random.Random(11)
    differs = by_tables = 0
    for number in range(4):
        machine = random_machine(draw, 3, 2)
        word = draw.choices([s for s in machine.symbols if s != machine.blank], k=2)
        run = on_pointers(machine, word, attention, keep_stays=number % 2 == 0)
        run = run._replace(watches=WATCHES[:2])
        right = run.by_definition(25)
        for network in mutants(run.network, repeated(30, 6), number):
            mutant = run._replace(network=network)
            by_tables += mutant.check(25) is None
            differs += not np.array_equal(mutant.by_definition(25), right)
    assert differs > repeated(20, 3)
    assert by_tables > repeated(3, 0)
    run = on_universal(library_machine("busy-beaver-3"), (), attention)
    for network in mutants(run.network, repeated(40, 10), 5):
        run._replace(network=network).check(30)
