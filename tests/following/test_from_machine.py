"""The decoder's state from the machine's run is the state of the network's own run."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.machine_table import ORACLES
from tests.repetition import examples, some
from tests.strategies import machines, words

from netwright.errors import InputError
from netwright.following.from_machine import decoder_state
from netwright.machine.library import library_machine, library_names
from netwright.machine.turing_machine import TuringMachine
from netwright.networks.network import compile_network, network_for_word
from netwright.runtime.transformer import tokens
from netwright.runtime.transformer.arrays import CELLS, FIRST_CELL, TOKENS

LONGEST = {machine: max(each, key=len) for machine, (each, _) in ORACLES.items()}


@pytest.fixture(autouse=True)
def _first_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "FIRST_TOKENS", 1)


def agree(
    machine: TuringMachine, word: Sequence[str], draw: random.Random, most: int, **options: str
) -> int:
    network = network_for_word(machine, "transformer", tuple(word), **options)
    compiled = network.compiled
    history = network.kind.look.history(compiled, tuple(word), 10**6)
    history.timeline.explore(most)
    engine = network.kind.reading.trace(compiled, tuple(word), 10**6).seeker.course.moments
    program = engine.program
    assert program is not None
    compared = 0
    times = range(1, min(most, history.timeline.reached) + 1)
    for t in sorted(draw.sample(times, min(8, len(times)))):
        while engine.moments < t:
            engine.advance(t - engine.moments)
        own = engine.place().state
        assert own is not None
        found = decoder_state(compiled, program, history.timeline, t)
        for name in ("stream", "output", "total", "visits"):
            assert np.array_equal(found[name], own[name]), (name, t)
        assert found["clock"][TOKENS] == own["clock"][TOKENS] == t
        # The run has room for more cells, which are 0.
        offset = int(found["clock"][FIRST_CELL] - own["clock"][FIRST_CELL])
        cells = slice(offset, offset + int(found["clock"][CELLS]))
        assert np.array_equal(found["kept"], own["kept"][:, cells])
        assert np.count_nonzero(own["kept"]) == np.count_nonzero(found["kept"])
        compared += 1
    return compared


@pytest.mark.parametrize("score", ["paper", "recency"])
@pytest.mark.parametrize("name", some(library_names(), 5))
def test_library_machines(name: str, score: str) -> None:
    machine = library_machine(name)
    word = LONGEST.get(name, machine.default_input)
    assert agree(machine, tuple(word), random.Random(name), 300, score=score)


@examples(60)
@given(st.data())
def test_random_machines_with_stays_and_blanks(data: st.DataObject) -> None:
    machine = data.draw(machines())
    word = data.draw(words(machine.symbols))
    agree(machine, word, random.Random(data.draw(st.integers(0, 99))), 60)


@pytest.mark.parametrize("t", [10**6, 2_345_678])
def test_a_jump_shows_what_the_own_run_has(t: int) -> None:
    network = compile_network(library_machine("busy-beaver-5"))
    history = network.kind.look.history(network.compiled, (), 10**7)
    jumping = network.kind.proof.jumping(network.compiled, history, (), 10**7)
    assert jumping is not None
    own = network.trace("", 10**7)[t]
    found = jumping.vectors(t)
    assert {name: found[name] for name in found} == dict(own)
    for name, attention in jumping.attention(t).items():
        other = own.attention[name]
        assert (attention.winner, attention.score) == (other.winner, other.score)
    last = jumping.attention(t)["decoder.3.self"]
    assert last.margin == own.attention["decoder.3.self"].margin
    # From there on, back, to the end, and among the first tokens.
    for near in (t + 1, t - 1, 5_000_000, 70, 3):
        assert jumping.vectors(near)["y"] == network.trace("", 10**7)[near]["y"]


def test_behind_the_end_there_is_no_state() -> None:
    network = compile_network(library_machine("even-as"))
    history = network.kind.look.history(network.compiled, tuple("a"), 1000)
    engine = network.kind.reading.trace(network.compiled, tuple("a"), 1000).seeker.course.moments
    assert engine.program is not None
    with pytest.raises(InputError, match="no time 900"):
        decoder_state(network.compiled, engine.program, history.timeline, 900)
