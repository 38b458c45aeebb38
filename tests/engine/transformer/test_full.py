"""`--engine full`: tables propose, vector code checks; either goes on where the other stopped."""

import random
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.transformer.test_tables import advance
from tests.mutations import mutated_transformer
from tests.networks import WATCHES, facts
from tests.repetition import examples, repeated
from tests.strategies import machines
from tests.strategies import words as random_words

from netwright.engine.full.forms import LONGEST
from netwright.engine.moments import UnsuitableError
from netwright.engine.transformer.decoder import FastDecoder
from netwright.engine.transformer.full import FullTransformer
from netwright.exact.vector import Vector
from netwright.kind.transformer.construction import CompiledTransformer
from netwright.machine.library import library_machine
from netwright.network.network import Network, compile_network, network_for_word

CHUNKS = ("netwright.engine.full.run.CHUNK", "netwright.engine.full.checked.CHUNK")


def engine(compiled: CompiledTransformer, word: object, *, tables: bool) -> FastDecoder:
    X = compiled.recognizer.embed(word)  # type: ignore[arg-type]  # a word
    return FastDecoder(compiled.network, X, compiled.seed, WATCHES, tables=tables)


def goes_on(net: Network, word: object, kept_at: int, tokens: int) -> None:
    """From a snapshot of one way, the other gives the same codes and the same vectors."""
    whole = engine(net.compiled, word, tables=True)
    codes = advance(whole, kept_at + tokens)
    for by_tables in (True, False):
        first = engine(net.compiled, word, tables=by_tables)
        assert advance(first, kept_at) == codes[:kept_at]
        second = engine(net.compiled, word, tables=not by_tables)
        second.restore(first.snapshot())
        assert advance(second, tokens) == codes[kept_at:]
        assert (second.newest, second.reason) == (whole.newest, None)


@examples(40)
@given(st.data())
def test_either_way_goes_on_from_the_others_snapshot(data: st.DataObject) -> None:
    machine = data.draw(machines())
    word = data.draw(random_words(machine.symbols))
    score = data.draw(st.sampled_from(["paper", "recency"]))
    net = network_for_word(machine, "transformer", word, score=score)
    goes_on(net, word, data.draw(st.integers(0, 40)), data.draw(st.integers(1, 40)))


@pytest.mark.parametrize(
    ("name", "word", "kept_at"),
    [
        ("binary-counter", "", 16_385),
        ("sweeper", "", 40_001),
        ("binary-multiplication", "1101*1011", 333),
        ("copy", "ab" * 40, 161),
    ],
)
def test_snapshots_at_odd_places_of_long_runs(name: str, word: str, kept_at: int) -> None:
    goes_on(compile_network(library_machine(name)), word, kept_at, 20_000)


def test_small_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    net = compile_network(library_machine("copy"))
    wanted = advance(engine(net.compiled, "abba", tables=True), 150)
    for size in (1, 7, 16, 17, 50):
        for place in CHUNKS:
            monkeypatch.setattr(place, size)
        full = engine(net.compiled, "abba", tables=False)
        assert advance(full, 150) == wanted
        assert full.reason is None


def test_means_in_two_layers_are_kept_apart() -> None:
    """c(i)/p is the mean of the moves before, and m(i)/p that of their differences."""
    net = compile_network(library_machine("binary-counter"))
    for change in (
        ("decoder.1.V", "x1", "x4", 1),
        ("decoder.1.V", "x1", "x5", 1),
        ("decoder.2.V", "x3", "x4", -1),
        ("decoder.2.V", "x3", "x5", 0),
    ):
        net = net.with_weight(*change)
    assert facts(net.run("", 300, engine="full")) == facts(
        compile_network(library_machine("binary-counter")).run("", 300)
    )
    goes_on(net, "", 77, 100)


def test_full_goes_on_by_rationals_where_only_tables_follow_a_network() -> None:
    """Its encoder attends, which vector code refuses; the snapshot is as good as any."""
    net = compile_network(library_machine("copy")).with_weight("encoder.1.V", "x8", "x7", 1)
    fast, full = (engine(net.compiled, "ab", tables=tables) for tables in (True, False))
    codes = advance(engine(net.compiled, "ab", tables=True), 40)
    advance(fast, 17)
    assert fast.reason is None
    full.restore(fast.snapshot())
    assert full.reason == "the encoder attends"
    assert advance(full, 23) == codes[17:]


def twofold(state: str) -> CompiledTransformer:
    """A network that shows a state by a 2: not by one 1, as vector code has it."""
    net = compile_network(library_machine("copy"))
    changed = net.with_weight("F.4", f"q[{state}]", f"q1[{state}]", 2)
    return changed.compiled  # type: ignore[no-any-return]


def newest_is_the_last_given(
    compiled: CompiledTransformer, word: str, tokens_at_once: int
) -> FastDecoder:
    """After each call, also where vector code ends; a snapshot there is of that token too."""
    full = engine(compiled, word, tables=False)
    for _ in range(3):
        full.advance(tokens_at_once)
        tokens = compiled.network.tokens(compiled.recognizer.embed(word), compiled.seed)
        token = next(islice(tokens, full.moments - 1, None))
        assert (full.newest.y, full.newest.z) == (token.y, token.layers[-1].z)
        kept, again = full.snapshot(), engine(compiled, word, tables=False)
        again.restore(kept)
        assert (again.moments, again.newest) == (full.moments, full.newest)
    return full


def test_where_vector_code_ends_the_newest_token_is_the_last_one_given() -> None:
    """The tables are further by then, and what they have is of another token."""
    full = newest_is_the_last_given(twofold("return"), "ab", 18)
    assert full.reason is not None


def test_the_newest_token_of_mutated_networks_is_the_last_one_given() -> None:
    compiled = compile_network(library_machine("copy")).compiled
    for seed in range(repeated(200, 5)):
        draw = random.Random(seed)
        mutant = mutated_transformer(compiled, draw)
        newest_is_the_last_given(mutant, "ab", draw.randint(5, 40))


def test_a_seed_that_is_not_made_of_ones_is_for_rationals() -> None:
    compiled = compile_network(library_machine("copy")).compiled
    seed = {place: 2 * number for place, number in compiled.seed.entries.items()}
    full = FastDecoder(compiled.network, (), Vector(compiled.layout, seed), WATCHES, tables=False)
    full.advance(10)
    assert full.reason == "an output is not made of ones, numbers and pointers"


def test_no_more_tokens_than_the_bounds_are_for() -> None:
    full = engine(compile_network(library_machine("copy")).compiled, "", tables=False)
    full.advance(5)
    assert isinstance(full.faster, FullTransformer)
    full.faster.checked.tokens = LONGEST - 1
    with pytest.raises(UnsuitableError, match="a run of more than 68,719,476,736 tokens"):
        full.faster.checked.advance(2)
