"""A trace is the definition's run: every vector, every attention, at every time."""

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tests.beyond_kinds import CHOICES, Choice, every_choice
from tests.machine_table import ORACLES, TABLE, Case
from tests.mutations import mutated_neural_gpu, mutated_rnn, mutated_transformer
from tests.networks import KINDS, facts
from tests.repetition import examples, repeated, some
from tests.strategies import machines, words

from netwright.definitions.neural_gpu import Grid
from netwright.definitions.residual_free import ResidualFree
from netwright.definitions.transformer import Transformer, attention_weights
from netwright.engine.transformer import tokens
from netwright.exact.vector import Vector
from netwright.kind.transformer.proof_values import ProofValues
from netwright.machine.library import library_machine
from netwright.machine.simulate import Outcome, configurations
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import Network, compile_network, network_for_word
from netwright.network.trace import Moment

Vectors = dict[str, Vector]


def transformer_moments(network: Network, word: str) -> Iterator[Vectors]:
    """Every vector of every token by Equations 9 to 13, and the weights of the attentions."""
    compiled = network.compiled
    net: Transformer = compiled.network
    x = compiled.embed(word)
    inputs: list[list[Vector]] = [[] for _ in net.decoder]
    for token in net.tokens(x, compiled.seed):
        found = {"y": token.y}
        z = token.input
        for n, layer in enumerate(net.decoder):
            name = f"decoder.{n + 1}"
            inputs[n].append(z)
            p, a = token.layers[n].p, token.layers[n].a
            found |= {f"{name}.input": z, f"{name}.p": p, f"{name}.a": a, f"{name}.external.q": p}
            found |= {f"{name}.self.{x}": getattr(layer, x.upper())(z) for x in "qkv"}
            weights = attention_weights(layer.Q(z), [*map(layer.K, inputs[n])], net.score, net.rho)
            assert weights == token.layers[n].self_weights
            found[f"{name}.self"] = weights  # type: ignore[assignment]  # a row of numbers
            found[f"{name}.external"] = token.layers[n].external_weights  # type: ignore[assignment]
            found[f"{name}.z"] = z = token.layers[n].z
        yield found


def heads_moments(network: Network, word: str) -> Iterator[Vectors]:
    """Every vector of every token without residual connections, and the weights of its heads."""
    compiled = network.compiled
    net: ResidualFree = compiled.network
    inputs: list[list[Vector]] = [[] for _ in net.decoder]
    for token in net.tokens(compiled.embed(word), compiled.seed):
        found: Any = {"y": token.y}
        z = token.input
        for n, (layer, seen) in enumerate(zip(net.decoder, inputs, strict=True)):
            seen.append(z)
            name = f"decoder.{n + 1}"
            found[f"{name}.input"] = z
            for h, head in enumerate(layer.heads):
                of_head = f"{name}.head.{h + 1}"
                found |= {f"{of_head}.{x}": getattr(head, x.upper())(z) for x in "qkv"}
                weights = attention_weights(head.Q(z), [*map(head.K, seen)], net.score, net.rho)
                assert weights == token.layers[n].weights[h]
                found[of_head] = weights
            z = token.layers[n].z
            found |= {f"{name}.a": token.layers[n].a, f"{name}.z": z}
        yield found


def rnn_moments(network: Network, word: str) -> Iterator[Vectors]:
    compiled = network.compiled
    x = compiled.embed(word)
    h = list(compiled.network.encoder_states(x))
    yield from ({"h": each} for each in h[1:-1])
    states = compiled.network.decoder_states(x, Vector.zero(compiled.network.layout))
    yield {"h": h[-1], "g": next(states)}
    yield from ({"g": g} for g in states)


def neural_gpu_moments(network: Network, word: str) -> Iterator[Vectors]:
    gpu = network.compiled.network

    def column(letter: str, grid: Grid) -> Vectors:
        cells = [row[0] for row in grid]
        return {letter: cells[-1]} | {f"{letter}.{n}": c for n, c in enumerate(cells, start=1)}

    before = None
    for grid in gpu.tensors(network.compiled.embed(word)):
        if before is not None:
            gates = {x.lower(): getattr(gpu, x)(before, gpu.layout, gpu.circular) for x in "UR"}
            yield column("cell", grid) | column("u", gates["u"]) | column("r", gates["r"])
        before = grid


MOMENTS = {
    **dict.fromkeys(
        ["transformer", *(choice.kind for choice in CHOICES.values())], transformer_moments
    ),
    "rnn": rnn_moments,
    "neural-gpu": neural_gpu_moments,
    "gateless-neural-gpu": neural_gpu_moments,
    "residual-free-transformer": heads_moments,
}


def check_moment(moment: Moment, expected: Vectors) -> None:
    rows = {name for name in expected if name in moment.attention}
    assert set(moment) == set(expected) - rows
    for name in moment:
        assert moment[name] == expected[name], (moment.t, name)
    for name in rows:
        seen = moment.attention[name]
        assert list(seen.weights) == expected[name]
        check_attention(moment, name)


def check_attention(moment: Moment, name: str) -> None:
    """Winner, runner-up and margin are those of the scores."""
    seen = moment.attention[name]
    scores = list(seen.scores)
    assert len(scores) == len(seen)
    best = max(scores, default=None)
    assert seen.score == best
    assert list(seen.winners) == [j for j, x in enumerate(scores, start=1) if x == best]
    ordered = sorted(scores, reverse=True)
    assert seen.margin == (ordered[0] - ordered[1] if len(ordered) > 1 else None)
    if seen.winner is not None and len(scores) > 1:
        assert seen.runner_up is not None
        assert seen.runner_up != seen.winner
        assert scores[seen.runner_up - 1] == ordered[1]


def check_trace(network: Network, word: str, most: int, limit: int = 10**7) -> None:
    """All moments in order; then some of them again, in another order."""
    trace = network.trace(word, limit)
    expected = list(islice(MOMENTS[network.kind.name](network, word), most))
    seen = 0
    for moment, vectors in zip(trace, expected, strict=False):
        check_moment(moment, vectors)
        seen = moment.t
    if not network.changes and limit == 10**7:
        assert seen == min(most, len(trace)), "the trace ends before its run"
    for t in random.Random(seen).sample(range(1, seen + 1), min(seen, 5)):
        check_moment(trace[t], expected[t - 1])


@pytest.fixture(params=["kept tokens", "tables from token 3 on"])
def _first_tokens(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "kept tokens":
        use_tables_from(3, monkeypatch)


def use_tables_from(token: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "FIRST_TOKENS", token)
    monkeypatch.setattr(tokens, "LATER", 1)


LONGEST = {machine: max(words, key=len) for machine, (words, _) in ORACLES.items()}


@pytest.mark.usefixtures("_first_tokens")
@pytest.mark.parametrize("machine", some([*ORACLES], 4))
def test_every_moment_of_a_transformer_is_the_definitions(machine: str) -> None:
    check_trace(compile_network(library_machine(machine)), LONGEST[machine], 60)
    check_trace(compile_network(library_machine(machine), score="recency"), LONGEST[machine], 60)


@pytest.mark.usefixtures("_first_tokens")
@every_choice
@pytest.mark.parametrize("machine", some(["even-as", "palindrome", "binary-increment"], 1))
def test_every_moment_of_a_pointer_network_is_the_definitions(machine: str, choice: Choice) -> None:
    check_trace(choice.network(library_machine(machine)), LONGEST[machine][:3], 40)


@examples(30)
@given(data=st.data(), choice=st.sampled_from([*CHOICES.values()]))
def test_moments_of_pointer_networks_of_random_machines(
    data: st.DataObject, choice: Choice
) -> None:
    machine = data.draw(machines(default_input=False, max_states=3, max_symbols=3))
    word = data.draw(words(machine.symbols))
    with pytest.MonkeyPatch.context() as patch:
        use_tables_from(data.draw(st.integers(1, 30)), patch)
        network = choice.network(machine, tuple(word))
        check_trace(network, "".join(word), 25 if choice.kind != "universal-text" else 8, 8)


@pytest.mark.parametrize(
    "name",
    ["pointer", "pointer-dot", "rules", "rules-16", "rules-dot", "positionless", "residual-free"],
)
def test_moments_of_damaged_pointer_networks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_tables_from(3, monkeypatch)
    whole = CHOICES[name].network(library_machine("even-as"))
    outputs = list(islice(whole.outputs("aba"), 20))
    changed = 0
    for seed in range(repeated(40, 6)):
        compiled = mutated_transformer(whole.compiled, random.Random(seed))
        mutated = replace(whole, compiled=compiled, changes=("mutated",))
        if list(islice(mutated.outputs("aba"), 20)) != outputs:
            changed += 1
            check_trace(mutated, "aba", 20)
    assert changed


@pytest.mark.parametrize("name", ["pointer", "rules", "rules-16"])
def test_scores_that_differ_are_seen_though_no_value_is_taken(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A layer whose values are 0 adds nothing, whatever its queries and keys are."""
    use_tables_from(3, monkeypatch)
    network = CHOICES[name].network(library_machine("even-as"))
    for part in ("Q", "K"):
        network = network.with_weight(f"decoder.1.{part}", "e", "e", 1)
    check_trace(network, "ab", 12)


@pytest.mark.parametrize(
    "name", ["pointer", "pointer-dot", "rules", "rules-16", "rules-dot", "text"]
)
def test_a_far_moment_of_a_pointer_network(name: str) -> None:
    """What token t makes of y_{t−1} is y_t, whose pointer is to where the machine was before."""
    beaver = library_machine("busy-beaver-5")
    network = CHOICES[name].network(beaver)
    history = network.kind.look.history(network.compiled, (), 2 * 10**6)
    trace, layer = network.trace("", 10**7), len(network.compiled.network.decoder)
    for t in (10**6, 70_000, 10**6 + 1):
        moment, time = trace[t], t - history.lead
        assert trace[t - 1]["y"] == moment["decoder.1.input"] - network.compiled.network.pos(t)
        now, after = history.timeline.at(time), history.timeline.at(time + 1)
        rule = network.kind.look.rule(network.compiled, moment)
        assert now is not None
        assert after is not None
        assert rule is not None
        assert (rule.state, rule.symbol) == (now.state, now.symbol)
        ((last, _),) = history.timeline.visits(time, after.head, after.head)
        attention = moment.attention[f"decoder.{layer}.self"]
        assert last is not None
        assert attention.winner == last + history.lead
        assert attention.margin is not None
        assert attention.margin > 0


@pytest.mark.parametrize("on", ["rnn", "neural-gpu"])
@pytest.mark.parametrize("machine", some([*ORACLES], 6))
def test_every_moment_is_the_definitions(machine: str, on: str) -> None:
    check_trace(compile_network(library_machine(machine), on), LONGEST[machine], 25)


@pytest.mark.thorough
@pytest.mark.parametrize("on", KINDS)
@pytest.mark.parametrize("case", TABLE, ids=lambda case: f"{case.machine} {case.word}")
def test_every_moment_of_the_whole_table(case: Case, on: str) -> None:
    check_trace(compile_network(library_machine(case.machine), on), case.word, 100)


@pytest.mark.usefixtures("_first_tokens")
@pytest.mark.parametrize("on", KINDS)
def test_mutated_networks_have_the_traces_of_the_networks_they_are(on: str) -> None:
    """Fifty of them, eight in `make test`, each with outputs that the whole network has not."""
    draw = random.Random(15)
    whole = compile_network(library_machine("palindrome"), on)
    outputs = list(islice(whole.outputs("aba"), 20))
    changed = 0
    while changed < repeated(50, 8):
        compiled: Any = whole.compiled
        if on == "transformer":
            compiled = mutated_transformer(compiled, draw)
        else:
            mutate: Any = mutated_rnn if on == "rnn" else mutated_neural_gpu
            compiled = replace(compiled, network=mutate(compiled.network, draw))
        mutated = replace(whole, compiled=compiled, changes=("mutated",))
        if list(islice(mutated.outputs("aba"), 20)) != outputs:
            changed += 1
            check_trace(mutated, "aba", 20)


@pytest.mark.parametrize(
    "part",
    KINDS["transformer"].construction.parts(
        compile_network(library_machine("palindrome")).compiled
    ),
)
def test_without_a_part(part: str) -> None:
    network = compile_network(library_machine("palindrome")).without(part)
    check_trace(network, "aba", 12)


@given(data=st.data(), machine=machines(), on=st.sampled_from(list(KINDS)))
def test_configurations_of_random_machines(
    data: st.DataObject, machine: TuringMachine, on: str
) -> None:
    word = data.draw(words(machine.symbols))
    network = network_for_word(machine, on, word)
    trace = network.trace(word, max_steps=20)
    found = [each for m in trace if (each := m.configuration) is not None]
    expected = list(islice(configurations(machine, word), 21))
    assert found == expected
    run = network.run(word, 20)
    assert facts(trace.run) == facts(run)
    if run.outcome is not Outcome.UNDECIDED:
        assert len(trace) == run.network_steps


def proof_around(normal: TuringMachine, time: int) -> dict[str, dict[int, Any]]:
    """q, s, v, m, c and ℓ of the proof around a time, by a loop of its own on a blank tape."""
    tape: dict[int, str] = {}
    visits: dict[int, int] = {}
    state, cell = normal.start, 0  # the paper's cells: the input would begin in cell 1
    rules = {key: (*action[:2], action.move.offset) for key, action in normal.delta.items()}
    found: dict[str, dict[int, Any]] = {name: {} for name in ("q", "s", "v", "m", "c", "ell")}
    for i in range(time + 3):
        symbol = tape.get(cell, normal.blank)
        target, write, move = rules[state, symbol]
        visits[cell] = i
        if i >= time - 1:
            last = visits.get(cell + move, i)
            now = {"q": state, "s": symbol, "v": write, "m": move, "c": cell}
            for name, value in now.items():
                found[name][i] = value
            found["ell"][i + 1] = last
            if last != i:
                found["v"][last] = tape[cell + move]
        tape[cell] = write
        state, cell = target, cell + move
    return found


def test_far_along_the_busy_beaver_of_five_states() -> None:
    """At t = 10⁷ the token is that of the proof, and so are its neighbours."""
    network = compile_network(library_machine("busy-beaver-5"))
    trace, t = network.trace(), 10**7
    values = ProofValues.of(network.compiled, (), 0)
    for name, entries in proof_around(network.compiled.normal.machine, t - 1).items():
        setattr(values, name, entries)
    for i in (t, t - 1):
        moment = trace[i + 1]
        proof = {"decoder.1.a": values.a1, "decoder.1.z": values.z1, "decoder.2.p": values.p2}
        proof |= {"decoder.2.z": values.p2, "decoder.3.p": values.p3, "decoder.3.z": values.p3}
        for name, value in proof.items():
            assert moment[name] == value(i), name
        assert moment["y"] == values.y(i + 1)
        assert moment.attention["decoder.3.self"].winner == values.ell[i + 1] + 1


def test_the_margin_of_a_visit_before_the_last() -> None:
    """Token 145 of the busy beaver: what comes second is an older visit, not the newest token."""
    seen = compile_network(library_machine("busy-beaver-5")).trace()[145]
    attention = seen.attention["decoder.3.self"]
    assert (attention.winner, attention.runner_up) == (136, 134)
    assert attention.margin == fmpq(9, 349135027520)
