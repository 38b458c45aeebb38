"""The engine for pointers equals the definition, also on networks that were changed."""

import gc
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, product
from typing import NamedTuple
from weakref import ref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.mutations import mutated
from tests.repetition import examples, repeated
from tests.strategies import machines, words

from netwright.definitions.transformer import Transformer, dot_product, score_phi
from netwright.engine.moments import ReferenceEngine, RepeatedCodes, Watch, rows_of, watched
from netwright.engine.pointers import engine as pointer_engine
from netwright.engine.pointers import evaluation
from netwright.engine.pointers.content import _Keys
from netwright.engine.pointers.engine import PointerEngine, Tables
from netwright.engine.pointers.evaluation import Shown, evaluation_of
from netwright.engine.pointers.heads import HeadsEngine
from netwright.engine.pointers.inputs import Interned
from netwright.engine.pointers.means import MeanEngine
from netwright.exact.feed_forward import FeedForward
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector
from netwright.kind.pointer_transformer.construction import (
    Attention,
    compile_pointer_transformer,
)
from netwright.kind.record import ShownReading
from netwright.kind.universal_text import construction as universal_text
from netwright.kind.universal_transformer import construction as universal_rules
from netwright.kind.universal_transformer.codes import code_1, code_2
from netwright.machine.library import library_machine
from netwright.machine.load import load_machine
from netwright.machine.normal_form import normalize
from netwright.machine.simulate import simulate
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.network.network import network_for_word
from netwright.network.running import run as run_on
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
    engine: type[PointerEngine] = PointerEngine

    def started(self, *, accelerated: bool = False) -> PointerEngine:
        given = self.network, self.X, self.seed, self.watches
        return self.engine(*given, accelerated=accelerated)

    def by_definition(self, count: int) -> Codes:
        tokens = islice(self.network.tokens(self.X, self.seed), count)
        engine = ReferenceEngine(map(watched, tokens), self.watches)
        return np.concatenate([engine.advance(1) for _ in range(count)])

    def check(self, count: int) -> str | None:
        """Tables, and the accelerated engine, give the same; why tables were left, if they were."""
        wanted, engine = self.by_definition(count), self.started()
        for each in (self.started(accelerated=True), engine):
            found: list[Codes] = []
            while (done := sum(map(len, found))) < count:
                codes = each.advance(count - done)
                codes = codes.spelled_out() if isinstance(codes, RepeatedCodes) else codes
                found.append(rows_of(codes))
            np.testing.assert_array_equal(np.concatenate(found), wanted)
        return engine.reason


def on_universal(machine: TuringMachine, word: Sequence[str], attention: Attention) -> Run:
    normal = normalize(machine, blanks_in_input=machine.blank in word)
    network = U1[attention]
    X = [*universal_rules.compile_universal_rules(normal, attention).embed(word)]
    return Run(network, X, universal_rules.seed(network.layout), ON_U1)


def on_small(machine: TuringMachine, word: Sequence[str]) -> Run:
    """On the universal network of 16 coordinates."""
    compiled = universal_rules.compile_small_rules(
        normalize(machine, blanks_in_input=machine.blank in word)
    )
    pairs = product(range(len(compiled.prompt.states)), range(len(compiled.prompt.symbols)))
    numbers = {code_2(q) + code_1(a): n for n, (q, a) in enumerate(pairs)}
    watches = (Watch("y", "x", numbers=numbers), Watch("z", "m3", sign=True))
    return Run(compiled.network, compiled.embed(word), compiled.seed, watches)


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


def on_kind(kind: str, machine: TuringMachine, word: Sequence[str]) -> Run:
    """On a kind of the open questions, with all that is watched of it."""
    network = network_for_word(machine, kind, tuple(word))
    compiled, reading = network.compiled, network.kind.reading
    assert isinstance(reading, ShownReading)
    watches = reading.shown(compiled, tuple(word)).watches
    return Run(compiled.network, compiled.embed(word), compiled.seed, watches, ENGINES[kind])


ENGINES: dict[str, type[PointerEngine]] = {
    "positionless-transformer": MeanEngine,
    "residual-free-transformer": HeadsEngine,
}
every_question = pytest.mark.parametrize("kind", ENGINES)


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


@examples(30)
@given(machine=machines(default_input=False, max_states=3, max_symbols=3), data=st.data())
def test_random_machines_on_the_universal_network_of_16_coordinates(
    machine: TuringMachine, data: st.DataObject
) -> None:
    """Nothing ties in it, so tables also do what comes after the halt."""
    run = on_small(machine, data.draw(words(machine.symbols)))
    assert run.check(len(run.X) + 15) is None


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


@every_question
@examples(40)
@given(data=st.data())
def test_random_machines_on_the_open_questions(kind: str, data: st.DataObject) -> None:
    machine = data.draw(machines(default_input=False))
    word = data.draw(words(machine.symbols))
    on_kind(kind, machine, word).check(2 * len(word) + 25)


@every_question
def test_whole_networks_of_the_open_questions_are_not_left_to_the_definition(kind: str) -> None:
    for name in ("busy-beaver-4", "palindrome", "binary-increment"):
        machine = library_machine(name)
        word = machine.default_input
        assert on_kind(kind, machine, word).check(len(word) + min(machine.run().steps, 90)) is None


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


@every_question
def test_changed_networks_of_the_open_questions(kind: str) -> None:
    """Any number, doubled and trebled ones too: what leaves [0, 1] is not handed on as it is."""
    differs = by_tables = 0
    draw = random.Random(17)
    for name, word in (("busy-beaver-4", ()), ("palindrome", "abba"), ("copy", "ab")):
        compiled = network_for_word(library_machine(name), kind, tuple(word)).compiled
        run = on_kind(kind, library_machine(name), word)
        right = run.by_definition(20)
        for _ in range(repeated(150, 12)):
            mutant = run._replace(network=mutated(compiled, draw).network)
            by_tables += mutant.check(20) is None
            differs += not np.array_equal(mutant.by_definition(20), right)
    assert differs > repeated(90, 6)
    assert by_tables > repeated(90, 6)


def test_what_two_heads_give_is_all_of_a_layer() -> None:
    """A move was 2 and not 1 in the last layer: a connection had been left in the reduction."""
    kind = "residual-free-transformer"
    network = network_for_word(library_machine("busy-beaver-3"), kind, ())
    run = on_kind(kind, network.machine, ())
    weight = network.weights()["decoder.1.O.2"]
    for row, column in [place for place in weight.entries if place[1] in ("mL", "mR", "q2[B]")]:
        changed = network.with_weight("decoder.1.O.2", row, column, 2)
        assert run._replace(network=changed.compiled.network).check(21) is None


def test_changed_networks_of_16_coordinates() -> None:
    differs = by_tables = 0
    for name, word in (("busy-beaver-3", ()), ("even-as", "aba")):
        run = on_small(library_machine(name), word)
        right = run.by_definition(30)
        for network in mutants(run.network, repeated(40, 10), 5):
            mutant = run._replace(network=network)
            by_tables += mutant.check(30) is None
            differs += not np.array_equal(mutant.by_definition(30), right)
    assert differs > repeated(40, 8)
    assert by_tables > repeated(10, 1)


def total_machine(draw: random.Random, states: int, symbols: int) -> TuringMachine:
    """A machine with a rule for every pair, so that it never halts."""
    names, tape = [f"q{n}" for n in range(states)], [f"s{n}" for n in range(symbols)]

    def action() -> Action:
        return Action(draw.choice(names), draw.choice(tape), draw.choice([Move.L, Move.R]))

    delta = {(q, s): action() for q in names for s in tape}
    return TuringMachine(states=names, symbols=tape, blank=tape[0], start=names[0], delta=delta)


@pytest.mark.parametrize("attention", list(Attention))
def test_inputs_are_read_symbol_by_symbol(attention: Attention) -> None:
    draw = random.Random(3)
    for length in (1, 2, 7, 20):
        machine = total_machine(draw, 3, 5)
        word = draw.choices(machine.symbols[1:], k=length)
        assert on_pointers(machine, word, attention).check(2 * length + 20) is None
        assert on_universal(machine, word, attention).check(2 * length + 12) is None


@pytest.mark.parametrize("kind", ["pointer-transformer", "universal-transformer"])
def test_long_inputs_end_as_the_machine_does(kind: str) -> None:
    draw, machine = random.Random(4), library_machine("binary-increment")
    word = draw.choices("01", k=20_000)
    found, wanted = run_on(machine, word, on=kind), simulate(machine, word, 10**6)
    assert found.note is None
    assert (found.outcome, found.steps, found.tape) == (wanted.outcome, wanted.steps, wanted.tape)


@pytest.mark.parametrize("attention", list(Attention))
def test_changed_networks_with_inputs_and_runs_that_share_them(attention: Attention) -> None:
    """One network does several inputs: what is kept of it must not depend on any of them."""
    draw = random.Random(12)
    differs = 0
    for number in range(repeated(6, 2)):
        machine = total_machine(draw, 2, 3)
        run = on_pointers(machine, (), attention)
        embedded = [on_pointers(machine, [s], attention).X[0] for s in machine.symbols[1:]]
        for network in mutants(run.network, repeated(25, 8), number):
            for length in (5, 0, 2):
                X = draw.choices(embedded, k=length)
                run = run._replace(X=X, watches=WATCHES[:2])
                run._replace(network=network).check(14)
                differs += not np.array_equal(
                    run._replace(network=network).by_definition(14), run.by_definition(14)
                )
    assert differs > repeated(30, 5)
    rules = [on_universal(total_machine(draw, 2, 2), ["s1"] * n, attention) for n in (0, 2)]
    for network in mutants(rules[0].network, repeated(40, 8), 6):
        for run in (*rules, rules[0]._replace(X=rules[0].X[::-1]), rules[0]):
            run._replace(network=network).check(12)


def test_runs_of_one_network_go_side_by_side() -> None:
    draw = random.Random(5)
    runs = [on_universal(total_machine(draw, 3, 2), ["s1"], Attention.ABSOLUTE) for _ in range(4)]
    engines = [run.started() for run in runs]
    codes: list[list[Codes]] = [[] for _ in runs]
    for _ in range(30):
        for found, engine in zip(codes, engines, strict=True):
            found.append(rows_of(engine.advance(1)))
    for found, run in zip(codes, runs, strict=True):
        np.testing.assert_array_equal(np.concatenate(found), run.by_definition(30))


def test_what_a_network_is_known_by_goes_with_it() -> None:
    run = on_pointers(library_machine("busy-beaver-3"), (), Attention.ABSOLUTE)
    gc.collect()
    before = len(evaluation._kept)
    assert evaluation_of(run.network, run.watches) is evaluation_of(run.network, [*run.watches])
    assert len(evaluation._kept) == before + 1
    network = ref(run.network)
    del run
    gc.collect()
    assert network() is None
    assert len(evaluation._kept) == before


@every_question
def test_runs_of_a_network_that_is_reduced_share_what_is_known(kind: str) -> None:
    gc.collect()
    before = len(evaluation._kept), len(evaluation._reduced)
    run = on_kind(kind, library_machine("even-as"), "aba")
    trees = []
    for X in (run.X, [*run.X[:2], run.X[-1]]):
        engine = run._replace(X=X).started()
        engine.advance(1)
        assert isinstance(engine.faster, Tables)
        trees.append(engine.faster.evaluation)
    assert trees[0] is trees[1]
    del run, engine, trees
    gc.collect()
    assert (len(evaluation._kept), len(evaluation._reduced)) == before


def test_a_prompt_that_was_read_is_not_read_again() -> None:
    """Its answers are kept with the network, also for another input and for a longer run."""
    machine = total_machine(random.Random(8), 4, 3)
    run = over_eleven(machine, ["s1"])
    tree = evaluation_of(run.network, run.watches)
    assert run.check(len(run.X) + 20) is None
    nodes, answers = tree.nodes, len(tree.answers)
    assert answers > len(run.X)
    assert run.check(len(run.X) + 20) is None
    assert (tree.nodes, len(tree.answers)) == (nodes, answers)
    assert over_eleven(machine, ["s2", "s1"]).check(len(run.X) + 20) is None
    assert len(tree.answers) < answers * 5 / 4


@given(st.data(), st.booleans())
def test_the_nearest_keys_are_those_of_the_greatest_score(
    data: st.DataObject, is_dot: bool
) -> None:
    number = st.builds(Rational, st.integers(-9, 9), st.sampled_from([1, 2, 3, 4, 16]))
    vectors = st.builds(
        lambda entries: Vector(U2.layout, entries), st.dictionaries(st.integers(0, 4), number)
    )
    shown = [Shown(0, key, Interned({})) for key in data.draw(st.lists(vectors))]
    keys = _Keys()
    for each in shown:
        keys.append(each)
    query, first = data.draw(vectors), data.draw(st.integers(0, 3))
    score = dot_product if is_dot else score_phi
    scores = {each: score(query, each.key) for each in shown[first:]}
    best = [each for each in shown[first:] if scores[each] == max(scores.values())]
    assert keys.nearest(query, first, is_dot=is_dot) == best


def test_a_tree_that_is_too_large_grows_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "MOST_NODES", 5)
    monkeypatch.setattr(evaluation, "MOST_OBJECTS", 3)
    machine = total_machine(random.Random(6), 3, 3)
    for attention in Attention:
        assert on_pointers(machine, ["s1", "s2"], attention).check(40) is None
        assert on_universal(machine, ["s1", "s2"], attention).check(30) is None


@pytest.mark.parametrize("first", [1, 2, 3, 7])
def test_slots_grow_at_any_moment(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pointer_engine, "FIRST_SLOTS", first)
    draw = random.Random(first)
    for machine in (total_machine(draw, 3, 2), load_machine("1RA1RA")):
        run = on_pointers(machine, (), Attention.ABSOLUTE)
        assert run.check(50) is None
        engine, found = run.started(), list[Codes]()
        while (done := sum(map(len, found))) < 50:
            found.append(rows_of(engine.advance(min(draw.randrange(1, 9), 50 - done))))
        np.testing.assert_array_equal(np.concatenate(found), run.by_definition(50))


def test_a_slot_takes_32_bytes() -> None:
    run = on_pointers(load_machine("1RA1RA"), (), Attention.ABSOLUTE)
    tables = Tables(run.network, run.X, run.seed, run.watches)
    while tables.moments < 10_000:
        tables.advance(10_000 - tables.moments)
    assert 10_000 * 32 <= tables.slots.nbytes <= 10_000 * 32 * 1.26


def test_many_symbols() -> None:
    """Records of cases with far values lie between others."""
    machine = total_machine(random.Random(7), 5, 60)
    for kind in ("pointer-transformer", "universal-transformer"):
        found, wanted = run_on(machine, (), 5_000, on=kind), simulate(machine, (), 5_000)
        assert (found.steps, found.tape, found.note) == (wanted.steps, wanted.tape, None)


def test_a_pointer_to_a_token_that_is_gone_is_not_followed() -> None:
    """Mutants whose pointers lag behind: the slot is another token's, and the engine leaves."""
    draw, reasons = random.Random(8), set[str | None]()
    for _ in range(30):
        run = on_pointers(total_machine(draw, 2, 2), (), Attention.ABSOLUTE)
        run = run._replace(watches=WATCHES[:2])
        for network in crossed(run.network):
            reasons.add(run._replace(network=network).check(25))
        if "a pointer is to a token that was visited since" in reasons:
            return
    raise AssertionError(reasons)


def crossed(network: Transformer) -> list[Transformer]:
    """Networks whose F takes another pointer in place of one that was found."""
    assert isinstance(network.F, FeedForward)
    reads, writes = network.F.maps
    names = [("RR", "R", "R"), ("LL", "L", "L"), ("RR", "LL", "R"), ("LL", "RR", "L")]
    found = []
    for source, other, unit in names:
        row, column = network.layout.index(source), reads.output.index(unit, "found")
        weights = dict(reads.weights)
        weights[network.layout.index(other), column] = weights.pop((row, column))
        changed = replace(network.F, maps=(replace(reads, weights=weights), writes))
        found.append(replace(network, F=changed))
    return found
