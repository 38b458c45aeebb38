"""The universal Transformer over eleven symbols: machine and input are a word."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples, repeated
from tests.strategies import machines, words

from netwright.definitions.transformer import Transformer
from netwright.kind.universal_text.construction import (
    ALPHABET,
    TextPrompt,
    embedding,
    seed,
    universal_text_transformer,
)
from netwright.kind.universal_transformer.codes import code_1, code_2
from netwright.machine.library import library_machine, library_names
from netwright.machine.simulate import configurations
from netwright.machine.turing_machine import TuringMachine
from netwright.verify.draw import random_machine

NETWORK = universal_text_transformer()
EMBEDDING = embedding(NETWORK.layout)
BB4 = "AB1C>A1BN1AB10C1>1A1B10C1<10AB1C1<10A1B11C<11ABY11A1B100C1<100AB100C1>100A1B1C>!"


def check(
    network: Transformer, machine: TuringMachine, word: Sequence[str], steps: int, *, long: bool
) -> None:
    """Compare the configurations that y shows with the machine's, to its end and beyond."""
    prompt = TextPrompt.of(machine, long=long)
    text = prompt.text(word)
    X = [EMBEDDING[symbol] for symbol in text]
    tokens = network.tokens(X, seed(network.layout))
    loading = list(islice(tokens, len(text)))  # y_1 to y_{|prompt|}
    for token in loading[:-2]:
        assert token.y.number("r") == 0
        assert token.y.number("on") == 1
    if len(loading) > 1:  # _start over #
        assert loading[-2].y.number("r") == loading[-2].y.number("s") == 0
    y = loading[-1].y
    moving = prompt.machine
    run = configurations(moving, word)
    accepting = prompt.accepting
    ended = False
    for _ in range(steps + 1):
        now = next(run, None)
        if ended or now is None:
            assert y.number("on") == 0
            assert y.number("r") == 0 or not ended
        else:
            accepted = now.state in accepting
            known = now.state in prompt.states
            pausing = moving.action(now.state, moving.blank) if now.state in prompt.pauses else None
            staying = pausing is not None and pausing.state in accepting
            if (accepted and not known) or (staying and not long):  # the short form
                assert y.number("r") == 1
                ended = True
            else:
                assert y.number("r") == code_2(prompt.states[now.state])
                assert y.number("s") == code_1(prompt.symbols[now.symbol])
                assert y.number("on") == 1
            halts = moving.action(now.state, now.symbol) is None
            if halts and not ended:
                y = next(tokens).y
                assert y.number("r") == int(accepted)
                assert y.number("on") == 0
                ended = True
                y = next(tokens).y
                continue
        token = next(tokens)
        if not ended:
            second, third = token.layers[1:]
            assert sum(weight != 0 for weight in second.self_weights) == 1
            assert third.self_weights.count(fmpq(1)) == 1
        y = token.y


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("name", library_names())
def test_the_library(name: str, long: bool) -> None:
    machine = library_machine(name)
    word = machine.default_input
    if len(TextPrompt.of(machine, long=long).text(word)) <= repeated(700, 100):
        check(NETWORK, machine, word, 20, long=long)


@pytest.mark.parametrize("long", [False, True])
@examples(25)
@given(machine=machines(default_input=False, max_states=3, max_symbols=3), data=st.data())
def test_random_machines(long: bool, machine: TuringMachine, data: st.DataObject) -> None:
    check(NETWORK, machine, data.draw(words(machine.symbols)), 15, long=long)


def test_the_prompt_of_a_busy_beaver() -> None:
    prompt = TextPrompt.of(library_machine("busy-beaver-4"))
    assert prompt.text("") == BB4
    assert set(BB4) <= set(ALPHABET)


def test_the_4_state_busy_beaver_to_its_end() -> None:
    machine = library_machine("busy-beaver-4")
    steps = machine.run().steps
    assert steps == 107
    check(NETWORK, machine, (), steps + 2, long=False)


def test_what_it_is_made_of() -> None:
    assert NETWORK.layout.dimension == 37
    widths = [layer.O.hidden_widths for layer in NETWORK.decoder]  # type: ignore[union-attr]
    assert widths == [(6,), (11,), ()]
    assert NETWORK.F.hidden_widths == (12,)  # type: ignore[union-attr]


@pytest.mark.thorough
def test_every_unit_is_needed() -> None:
    draw = random.Random(5)
    subjects = [random_machine(draw, 3, 2) for _ in range(6)]
    subjects += [library_machine(name) for name in ("palindrome", "busy-beaver-4")]
    first, second, third = NETWORK.decoder
    changed = []
    for place, net in (("1", first.O), ("2", second.O), ("F", NETWORK.F)):
        reads, writes = net.maps  # type: ignore[union-attr]
        for unit in range(reads.output.dimension):
            weights = {key: w for key, w in writes.weights.items() if key[0] != unit}
            new = replace(net, maps=(reads, replace(writes, weights=weights)))  # type: ignore[type-var]
            name = f"{place}: {reads.output.coordinates[unit]}"
            if place == "F":
                changed.append((name, replace(NETWORK, F=new)))
            else:
                layers = [first, second, third]
                layers[int(place) - 1] = replace(layers[int(place) - 1], O=new)
                changed.append((name, replace(NETWORK, decoder=tuple(layers))))
    assert len(changed) == 29
    for name, mutant in changed:
        wrong = 0
        for machine in subjects:
            letters = [s for s in machine.symbols if s != machine.blank]
            try:
                check(mutant, machine, draw.choices(letters, k=3), 25, long=False)
            except AssertionError:
                wrong += 1
        assert wrong, name
