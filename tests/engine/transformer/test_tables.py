"""Tables are the network's own maps, evaluated where they are first needed: nothing else differs.

`tests/engine/transformer/test_transformer.py` compares engines with tables, in full and by the
definition, vector by vector and array by array.
"""

import random
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.transformer.test_transformer import same_state
from tests.machine_table import ORACLES
from tests.mutations import mutated_transformer
from tests.networks import WATCHES
from tests.repetition import repeated, some
from tests.strategies import machines, words

from netwright.engine.moments import IndexedCodes, rows_of
from netwright.engine.transformer import shared
from netwright.engine.transformer.decoder import FastDecoder
from netwright.engine.transformer.tables import engine, kernel
from netwright.engine.transformer.tables.engine import TableTransformer
from netwright.errors import NetworkError
from netwright.exact.snapshot import Snapshot
from netwright.machine.library import library_machine, library_names
from netwright.machine.simulate import Outcome, Run
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import Network, compile_network, network_for_word
from netwright.verify.draw import random_machine


def decoder_of(network: Network, word: str | tuple[str, ...], *, tables: bool) -> FastDecoder:
    compiled = network.compiled
    X = compiled.recognizer.embed(word)
    return FastDecoder(compiled.network, X, compiled.seed, WATCHES, tables=tables)


def tables_of(decoder: FastDecoder) -> TableTransformer:
    found = decoder.faster  # looked at from the inside
    assert isinstance(found, TableTransformer)
    return found


def advance(decoder: FastDecoder, tokens: int) -> list[list[int]]:
    codes: list[list[int]] = []
    while len(codes) < tokens:
        codes += rows_of(decoder.advance(tokens - len(codes))).tolist()
    return codes


def facts(run: Run) -> tuple[object, ...]:
    return run.outcome, run.steps, run.state, run.head, run.tape, run.network_steps


LONGEST = {machine: max(inputs, key=len) for machine, (inputs, _) in ORACLES.items()}


@pytest.mark.parametrize("score", ["paper", "recency"])
@pytest.mark.parametrize("name", some(library_names(), 5))
def test_library_machines_have_the_same_arrays_at_random_times(name: str, score: str) -> None:
    network = compile_network(library_machine(name), score=score)
    word = LONGEST.get(name, network.machine.default_input)
    quick, full = (decoder_of(network, word, tables=tables) for tables in (True, False))
    draw = random.Random(name)
    for _ in range(6):
        count = draw.randrange(1, 400)
        assert advance(quick, count) == advance(full, count)
        same_state(quick, full)
        assert quick.newest == full.newest
    tables_of(quick)


def test_three_hundred_mutated_networks_most_of_whose_runs_are_others() -> None:
    """25 in `make test`. On an input that the mutation matters for, and by tables, too."""
    whole, draw = compile_network(library_machine("palindrome")), random.Random(16)
    outputs = list(islice(whole.outputs("aba"), 20))
    count, changed, same, by_tables = repeated(300, 25), 0, 0, 0
    while changed + same < count:
        network = replace(whole, compiled=mutated_transformer(whole.compiled, draw))
        expected = list(islice(network.outputs("aba"), 20))
        if expected == outputs and same == count // 3:
            continue  # enough of those that change nothing
        changed, same = changed + (expected != outputs), same + (expected == outputs)
        quick = decoder_of(network, "aba", tables=True)
        for y in expected:
            quick.advance(1)
            assert quick.newest.y == y
        if changed % 3 == 0:
            full = decoder_of(network, "aba", tables=False)
            advance(full, 20)
            assert quick.newest == full.newest
            same_state(quick, full)
        found = quick.faster
        by_tables += isinstance(found, TableTransformer) and expected != outputs
    assert changed >= count // 2, f"{changed} of {count} mutants have other outputs"
    assert by_tables >= count // 5, f"{by_tables} of them by tables"


def test_machines_with_the_same_states_and_symbols_share_their_analysis(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And each is run as the network that it is."""
    monkeypatch.setattr(shared, "_programs", {})
    draw = random.Random(7)
    for _ in range(12):
        network = compile_network(random_machine(draw, 2, 2))
        quick = decoder_of(network, "", tables=True)
        for y in islice(network.outputs(""), 30):
            quick.advance(1)
            assert quick.newest.y == y
        tables_of(quick)
    assert 0 < len(shared._programs) < 12


def test_networks_of_one_shape_share_their_code_and_nothing_else() -> None:
    """A weight that is changed after a table was filled is seen."""
    network = compile_network(library_machine("palindrome"))
    first = decoder_of(network, "ab", tables=True)
    before = advance(first, 20)
    made = kernel.compiled.cache_info().misses
    a_to_b = network.with_weight("decoder.3.V", "s2[a]", "s4[a]", 0)
    other = a_to_b.with_weight("decoder.3.V", "s2[a]", "s4[b]", 1)
    second = decoder_of(other, "ab", tables=True)
    assert advance(second, 20) != before
    assert kernel.compiled.cache_info().misses == made
    assert advance(decoder_of(network, "ab", tables=True), 20) == before
    assert (network.accepts("ab"), other.accepts("ab")) == (False, True)


def test_few_inputs_are_evaluated_in_very_many_tokens() -> None:
    decoder = decoder_of(compile_network(library_machine("busy-beaver-5")), "", tables=True)
    advance_quickly(decoder, 1_000_000)
    found = tables_of(decoder)
    assert len(found.entries) < 40
    assert len(found.outputs) < 40


def advance_quickly(decoder: FastDecoder, tokens: int) -> None:
    while decoder.moments < tokens:
        decoder.advance(min(65536, tokens - decoder.moments))


def test_a_snapshot_of_one_engine_is_one_of_the_other() -> None:
    network = compile_network(library_machine("binary-multiplication"))
    word = network.machine.default_input
    kept: list[Snapshot] = []
    for tables in (True, False):
        decoder = decoder_of(network, word, tables=tables)
        advance_quickly(decoder, 120)
        kept.append(decoder.snapshot())
    expected = decoder_of(network, word, tables=False)
    advance_quickly(expected, 120)
    later = advance(expected, 80)
    for snapshot in kept:
        for tables in (True, False):
            resumed = decoder_of(network, word, tables=tables)
            resumed.restore(snapshot)
            assert advance(resumed, 80) == later
            same_state(resumed, expected)


def universal_with(
    monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> tuple[FastDecoder, FastDecoder]:
    """A universal machine, with tables and in full, under another bound; both have run."""
    monkeypatch.setattr(engine, name, value)
    network = compile_network(library_machine("universal-4-6"))
    word = network.machine.default_input
    quick, full = (decoder_of(network, word, tables=tables) for tables in (True, False))
    assert advance(quick, 3000) == advance(full, 3000)
    same_state(quick, full)
    return quick, full


def test_the_vectors_are_known_where_tables_stop_early() -> None:
    """A changed weight that makes the 12th token of another form; asked for in one call."""
    network = compile_network(library_machine("palindrome"))
    stopped = 0
    for row, value in (("s2[a]", 2), ("x9", 2), ("x8", 1), ("s2[b]", 3)):
        column = "s4[a]" if row.startswith("s2") else "x7"
        for matrix, changed_row, changed_column in (
            ("decoder.3.V", row, column),
            ("decoder.2.V", "x2", "x4"),
            ("decoder.3.K", "x5", "x10"),
        ):
            changed = network.with_weight(matrix, changed_row, changed_column, value)
            decoder = decoder_of(changed, "abba", tables=True)
            tokens = changed.compiled.network.tokens(
                changed.compiled.recognizer.embed("abba"), changed.compiled.seed
            )
            while decoder.moments < 24:
                before = decoder.moments
                decoder.advance(24 - before)
                stopped += decoder.moments < 24
                token = next(islice(tokens, decoder.moments - before - 1, None))
                assert decoder.newest == (token.layers[-1].z, token.y)
                if stopped and decoder.moments < 24:
                    break
    assert stopped


@pytest.mark.parametrize("value", [1, 20])
def test_entries_by_numbers_of_their_own(value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the keys together have too many values: a large alphabet."""
    quick, _ = universal_with(monkeypatch, "MOST_TOGETHER", value)
    assert not tables_of(quick).shape.direct


@pytest.mark.parametrize(("name", "value"), [("MOST_ENTRIES", 1000), ("MOST_CODES", 9)])
def test_tables_that_become_too_large_are_left(
    name: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick, _ = universal_with(monkeypatch, name, value)
    assert quick.faster is None
    assert quick.reason is not None


@given(
    data=st.data(),
    machine=machines(),
    limit=st.integers(0, 40),
)
def test_the_native_follower_follows_like_the_other(
    data: st.DataObject, machine: TuringMachine, limit: int
) -> None:
    word = data.draw(words(machine.symbols))
    network = network_for_word(machine, "transformer", word)
    quick, full, slow = (
        facts(network.run(word, limit, engine=engine)) for engine in ("fast", "full", "reference")
    )
    assert quick == full == slow


def test_what_shows_no_machine_is_said_by_both_followers() -> None:
    network = compile_network(library_machine("palindrome"))
    broken = network.with_weight("decoder.3.V", "s2[a]", "s4[a]", 0)
    for engine_name in ("fast", "full", "reference"):
        with pytest.raises(
            NetworkError, match="from output 7 on, its vectors do not show a machine"
        ):
            broken.run("abba", engine=engine_name)


def test_a_long_tape_is_followed() -> None:
    network = compile_network(library_machine("sweeper"))
    assert facts(network.run("", 200_000, engine="fast")) == facts(
        network.run("", 200_000, engine="full")
    )
    counter = compile_network(library_machine("binary-counter")).run("", 300_000, engine="fast")
    assert counter.outcome is Outcome.UNDECIDED
    assert facts(counter)[1:5] == facts(library_machine("binary-counter").run("", 300_000))[1:5]


def test_codes_are_numbers_for_rows() -> None:
    codes = IndexedCodes(np.array([1, 0, 1], dtype=np.uint16), np.array([[5, 6], [7, 8]]))
    assert (len(codes), rows_of(codes).tolist()) == (3, [[7, 8], [5, 6], [7, 8]])
