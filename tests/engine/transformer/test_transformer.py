"""The faster decoders equal the definition on everything, and give way where they must."""

import random
from itertools import islice

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tests.machine_table import TABLE
from tests.mutations import mutated_transformer
from tests.networks import WATCHES, facts, networks_in, with_network
from tests.repetition import examples, repeated, some
from tests.strategies import D, machines, transformers, vectors
from tests.strategies import words as random_words

from netwright.definitions.transformer import (
    Layer,
    Normalizer,
    Transformer,
    dot_product,
    hardmax,
    square_plus_one,
)
from netwright.engine.moments import NEITHER, ReferenceEngine, Watch, rows_of, watched
from netwright.engine.rnn import FastRNN
from netwright.engine.transformer.arrays import CELLS, FIRST_CELL, TOKENS
from netwright.engine.transformer.attention import AttentionCache
from netwright.engine.transformer.decoder import FastDecoder, fast_tokens
from netwright.engine.transformer.tables import kernel
from netwright.errors import NetworkError
from netwright.exact.feed_forward import Affine, FeedForward, affine_network
from netwright.exact.layout import Layout
from netwright.exact.vector import Vector
from netwright.kind.rnn.construction import compile_rnn
from netwright.kind.transformer.construction import (
    CompiledTransformer,
    compile_transformer,
)
from netwright.machine.library import library_machine
from netwright.machine.normal_form import normalize
from netwright.machine.simulate import simulate
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.network.running import run
from netwright.statements.proposition_3_3_majority import majority_recognizer


def agree(
    network: Transformer, X: list[Vector] | tuple[Vector, ...], seed: Vector, n: int
) -> FastDecoder:
    """Every vector z and y of all fast engines is the definition's; the one with tables."""
    slow = islice(network.tokens(X, seed), n)
    decoder, full = FastDecoder(network, X, seed), FastDecoder(network, X, seed, tables=False)
    for token, rational in zip(slow, fast_tokens(network, X, seed), strict=False):
        decoder.advance(1)
        full.advance(1)
        z = token.layers[-1].z
        assert (rational.input, rational.y) == (token.input, token.y)
        assert list(rational.layers) == [(layer.p, layer.a, layer.z) for layer in token.layers]
        assert (decoder.newest.y, decoder.newest.z) == (token.y, z), decoder.moments
        assert (full.newest.y, full.newest.z) == (token.y, z), full.moments
        same_state(decoder, full)
    # And the same in one go, as far as it goes.
    if n:
        at_once = FastDecoder(network, X, seed)
        while at_once.moments < n:
            at_once.advance(n - at_once.moments)
        assert at_once.newest == decoder.newest
    return decoder


def same_state(decoder: FastDecoder, full: FastDecoder) -> None:
    """With tables, or in full: the same arrays, where both are fast."""
    if decoder.reason is not None or full.reason is not None:
        return
    found, expected = decoder.snapshot(), full.snapshot()
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        if name == "clock":  # which also says why an engine stopped last
            array, found = array[CLOCK], {**found, name: found[name][CLOCK]}
        assert (found[name] == array).all(), (decoder.moments, name)


CLOCK = [TOKENS, FIRST_CELL, CELLS]


def compiled_for(machine: TuringMachine, word: tuple[str, ...] | str) -> CompiledTransformer:
    return compile_transformer(normalize(machine, blanks_in_input=machine.blank in word))


def agree_on(compiled: CompiledTransformer, word: tuple[str, ...] | str, n: int) -> FastDecoder:
    return agree(compiled.network, compiled.recognizer.embed(word), compiled.seed, n)


@pytest.mark.parametrize("case", some([case for case in TABLE if len(case.word) <= 4][::9], 5))
def test_every_vector_on_the_machine_table(case: tuple[str, str, object]) -> None:
    name, word, _ = case
    decoder = agree_on(compiled_for(library_machine(name), word), word, 60)
    assert decoder.reason is None  # in 64-bit integers to the end


@given(st.data())
def test_every_vector_on_random_machines(data: st.DataObject) -> None:
    machine = data.draw(machines())
    word = data.draw(random_words(machine.symbols))
    assert agree_on(compiled_for(machine, word), word, 40).reason is None


@examples(60)
@given(transformers(positions=True) | transformers(), st.lists(vectors(), max_size=3), vectors())
def test_every_vector_of_random_networks(
    network: Transformer, X: list[Vector], seed: Vector
) -> None:
    agree(network, X, seed, 3)


@pytest.mark.parametrize("rho", [hardmax, square_plus_one])
def test_the_majority_recognizer(rho: object) -> None:
    recognizer = majority_recognizer(rho=rho)  # type: ignore[arg-type]  # one of the two
    for word in ("", "a", "abb", "aabab"):
        network = recognizer.network
        assert isinstance(network, Transformer)
        decoder = agree(network, recognizer.embed(word), recognizer.seed, 100)
        assert (decoder.reason is None) == (rho is hardmax)


def run_a_mutated_network(seed: int, tokens: int) -> FastDecoder:
    draw = random.Random(seed)
    name, word = draw.choice(
        [("palindrome", "aba"), ("busy-beaver-3", ""), ("copy", "ab"), ("binary-increment", "11")]
    )
    return agree_on(
        mutated_transformer(compiled_for(library_machine(name), word), draw), word, tokens
    )


def test_mutated_networks_are_run_as_the_networks_they_are() -> None:
    count = repeated(40, 6)
    fast = sum(run_a_mutated_network(seed, 40).reason is None for seed in range(count))
    assert fast > count // 2  # in 64-bit integers to the end


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(400))
def test_many_mutated_networks_for_a_hundred_steps(seed: int) -> None:
    run_a_mutated_network(seed, 100)


LINE = Layout.of(x="", y="")


def repeating(F: FeedForward) -> Transformer:
    """y_{t+1} = F(y_t)."""
    nothing = affine_network(LINE)
    layer = Layer(Q=nothing, K=nothing, V=nothing, O=nothing)
    return Transformer(LINE, (), nothing, nothing, (layer,), F)


def test_outputs_that_outgrow_64_bits_go_on_in_big_integers() -> None:
    doubling = repeating(affine_network(LINE, {("x", "x"): -2}))
    decoder = agree(doubling, [], Vector.of(LINE, x=3), 100)
    assert decoder.reason is not None
    assert decoder.newest.y.number("x") == 3 * fmpq(2) ** 100


def test_weights_that_are_too_large_are_refused_before_the_first_token() -> None:
    large = repeating(affine_network(LINE, {("x", "y"): 1 << 62}))
    decoder = agree(large, [], Vector.of(LINE, x=1), 3)
    assert decoder.reason == "numbers become too large for 64 bits"


@pytest.mark.parametrize("start", [2**61, 2**70])
def test_a_seed_that_is_too_large_is_for_rationals(start: int) -> None:
    growing = repeating(affine_network(LINE, {("x", "x"): 8}))
    decoder = agree(growing, [], Vector.of(LINE, x=start), 3)
    assert decoder.reason == "the seed is too large for 64 bits"


def test_denominators_that_grow_are_for_rationals() -> None:
    halving = repeating(affine_network(LINE, {("x", "x"): fmpq(1, 2)}))
    decoder = agree(halving, [], Vector.of(LINE, x=1), 70)
    assert decoder.reason == "a denominator grows from token to token"


def test_a_denominator_of_more_than_64_bits_is_for_rationals() -> None:
    tiny = fmpq(1, 2**64 + 1)
    network = repeating(affine_network(LINE, {("x", "x"): 1}, {"y": tiny}))
    decoder = agree(network, [], Vector.of(LINE, x=1), 3)
    assert decoder.reason == "a denominator is too large, or grows from token to token"
    watched = FastDecoder(network, [], Vector.of(LINE, x=1), [Watch("y", "y")])
    assert rows_of(watched.advance(1)).tolist() == [[NEITHER]]


def test_a_watch_through_a_map_is_for_rationals() -> None:
    swapping = repeating(affine_network(LINE, {("x", "y"): 1, ("y", "x"): 1}))
    watch = Watch("y", "x", through=Affine.of(LINE, LINE, {("y", "x"): 1}))
    start = Vector.of(LINE, x=1)
    decoder = FastDecoder(swapping, [], start, [watch])
    slow = ReferenceEngine(map(watched, swapping.tokens([], start)), [watch])
    assert [rows_of(decoder.advance(1)).tolist() for _ in range(4)] == [
        slow.advance(1).tolist() for _ in range(4)
    ]


def test_a_normaliser_that_refuses_every_score_is_heard() -> None:
    never = Normalizer("never", lambda _: lambda _value: fmpq(0))
    cache = AttentionCache(affine_network(D), dot_product, never)
    cache.append(Vector.zero(D), Vector.of(D, x=1))
    with pytest.raises(NetworkError, match="f is 0 for every score"):
        cache.attend(Vector.of(D, x=1))


def test_a_denominator_that_does_not_grow_stays() -> None:
    thirds = repeating(affine_network(LINE, {("x", "y"): fmpq(1, 3), ("y", "x"): 3}))
    assert agree(thirds, [], Vector.of(LINE, x=1), 20).reason is None


def test_a_form_that_ends_in_the_middle_of_a_run() -> None:
    """In a state that comes late, the queries ask for a cell far away."""
    compiled = compiled_for(library_machine("palindrome"), "aba")
    (affine,) = networks_in(compiled)["decoder.3.Q"].maps
    place = compiled.layout.index("q2", "back"), compiled.layout.index("x9")
    changed = Affine(affine.input, affine.output, {**affine.weights, place: fmpq(1)}, affine.bias)
    damaged = with_network(compiled, "decoder.3.Q", FeedForward((changed,)))
    decoder = agree_on(damaged, "aba", 30)
    assert decoder.reason == "token 14: no form of attention fits"


def test_a_long_input_or_half_a_second_ends_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compiled_for(library_machine("palindrome"), "a")
    X = compiled.recognizer.embed("ab" * 40)
    assert FastDecoder(compiled.network, X, compiled.seed, reference_steps=64).fast
    monkeypatch.setattr("netwright.engine.moments.REFERENCE_SECONDS", -1)
    decoder = FastDecoder(compiled.network, X[:2], compiled.seed, reference_steps=64)
    decoder.advance(1)
    assert decoder.fast
    rnn = compile_rnn(library_machine("palindrome"))
    monkeypatch.setattr(FastRNN, "is_warm", staticmethod(lambda: False))
    moments = FastRNN(
        rnn.network, rnn.embed("ab"), Vector.zero(rnn.neurons.layout), reference_steps=99
    )
    moments.advance(1)
    moments.advance(1)
    assert moments.fast


def walker(move: Move) -> TuringMachine:
    """It walks and writes for ever."""
    return TuringMachine(
        states=["w"],
        symbols=["_", "a"],
        blank="_",
        start="w",
        delta={("w", "_"): Action("w", "a", move), ("w", "a"): Action("w", "_", move)},
    )


@pytest.mark.parametrize("move", [Move.L, Move.R])
def test_there_is_room_for_cells_on_both_sides(move: Move) -> None:
    machine = walker(move)
    assert facts(run(machine, "aa", 5000)) == facts(simulate(machine, "aa", 5000))


def test_a_cell_out_of_reach_is_for_rationals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netwright.engine.transformer.arrays.MOST_CELLS", 1024)
    machine = walker(Move.R)
    assert facts(run(machine, "", 700)) == facts(simulate(machine, "", 700))


def test_the_memory_grows_with_the_cells_and_not_with_the_tokens() -> None:
    """The 5-state busy beaver visits some 500 cells in 60,000 steps: so many keys are kept."""
    compiled = compiled_for(library_machine("busy-beaver-5"), "")
    decoder = FastDecoder(compiled.network, (), compiled.seed)
    while decoder.moments < 60_000:
        decoder.advance(60_000 - decoder.moments)
    state = decoder.snapshot()
    cells = np.count_nonzero(state["kept"][:, :, 0])
    assert 100 < cells < 1000
    assert sum(array.nbytes for array in state.values()) < 200_000


def test_a_run_goes_on_from_a_snapshot() -> None:
    compiled = compiled_for(library_machine("palindrome"), "abba")
    X = compiled.recognizer.embed("abba")
    first = FastDecoder(compiled.network, X, compiled.seed)
    while first.moments < 12:
        first.advance(12 - first.moments)
    second = FastDecoder(compiled.network, X, compiled.seed, reference_steps=5)
    kept = first.snapshot()
    first.advance(1)  # which a snapshot does not follow
    second.restore(kept)
    second.advance(1)
    assert first.newest == second.newest
    for _ in range(14):
        first.advance(1)
        second.advance(1)
        assert first.newest == second.newest


@pytest.mark.parametrize("reference_steps", [0, 1, 7, 100])
def test_codes_are_the_same_whatever_comes_first(
    reference_steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netwright.engine.moments.REFERENCE_SECONDS", 10**9)
    kernel.compiled.cache_clear()  # else tables would be used at once
    compiled = compiled_for(library_machine("copy"), "ab")
    X = compiled.recognizer.embed("ab")
    decoder = FastDecoder(
        compiled.network, X, compiled.seed, WATCHES, reference_steps=reference_steps
    )
    slow = ReferenceEngine(map(watched, compiled.network.tokens(X, compiled.seed)), WATCHES)
    found: list[list[int]] = []
    while len(found) < 50:
        found += rows_of(decoder.advance(50 - len(found))).tolist()
    assert found == [slow.advance(1)[0].tolist() for _ in range(50)]
    assert decoder.fast == (reference_steps < 50)


def test_a_compiled_network_never_needs_a_look_at_all_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[AttentionCache] = []
    original = AttentionCache.__init__

    def remember(self: AttentionCache, *arguments: object) -> None:
        original(self, *arguments)  # type: ignore[arg-type]  # passed on
        made.append(self)

    monkeypatch.setattr(AttentionCache, "__init__", remember)
    compiled = compiled_for(library_machine("palindrome"), "abba")
    tokens = fast_tokens(compiled.network, compiled.recognizer.embed("abba"), compiled.seed)
    assert len(list(islice(tokens, 26))) == 26
    assert [cache.scans for cache in made] == [0] * 3  # those of three layers


def test_ten_thousand_steps_of_the_busy_beaver_of_five_states() -> None:
    machine = library_machine("busy-beaver-5")
    assert facts(run(machine, (), 10_000)) == facts(simulate(machine, (), 10_000))
