"""A trace is the definition's run: every vector, every attention, at every time."""

import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from threading import Thread
from typing import Any

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tests.machine_table import ORACLES, TABLE, Case
from tests.mutations import mutated_neural_gpu, mutated_rnn, mutated_transformer
from tests.strategies import machines, words

from netwright.errors import InputError, NetworkError, NetwrightError
from netwright.exact.vector import Vector
from netwright.following import seek
from netwright.following.tracing import EndedError
from netwright.machine.library import library_machine
from netwright.machine.simulate import Outcome, configurations
from netwright.machine.turing_machine import TuringMachine
from netwright.nets.attention import attention_weights
from netwright.nets.neural_gpu import Grid
from netwright.nets.transformer import Transformer
from netwright.networks.kinds import KINDS
from netwright.networks.network import Network, compile_network, network_for_word
from netwright.networks.trace import Moment
from netwright.runtime.transformer import tokens
from netwright.theorems.theorem_3_4_transformer.proof_values import ProofValues

Vectors = dict[str, Vector]


def transformer_moments(network: Network, word: str) -> Iterator[Vectors]:
    """Every vector of every token by Equations 9 to 13, and the weights of the attentions."""
    compiled = network.compiled
    net: Transformer = compiled.network
    x = compiled.recognizer.embed(word)
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
    "transformer": transformer_moments,
    "rnn": rnn_moments,
    "neural-gpu": neural_gpu_moments,
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


def check_trace(network: Network, word: str, most: int) -> None:
    """All moments in order; then some of them again, in another order."""
    trace = network.trace(word)
    expected = list(islice(MOMENTS[network.kind.name](network, word), most))
    seen = 0
    for moment, vectors in zip(trace, expected, strict=False):
        check_moment(moment, vectors)
        seen = moment.t
    if not network.changes:
        assert seen == min(most, len(trace)), "the trace ends before its run"
    for t in random.Random(seen).sample(range(1, seen + 1), min(seen, 5)):
        check_moment(trace[t], expected[t - 1])


@pytest.fixture(params=["kept tokens", "integers from token 3 on"])
def _first_tokens(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "kept tokens":
        monkeypatch.setattr(tokens, "FIRST_TOKENS", 3)


LONGEST = {machine: max(words, key=len) for machine, (words, _) in ORACLES.items()}


@pytest.mark.usefixtures("_first_tokens")
@pytest.mark.parametrize("machine", ORACLES)
def test_every_moment_of_a_transformer_is_the_definitions(machine: str) -> None:
    check_trace(compile_network(library_machine(machine)), LONGEST[machine], 60)
    check_trace(compile_network(library_machine(machine), score="recency"), LONGEST[machine], 60)


@pytest.mark.parametrize("on", ["rnn", "neural-gpu"])
@pytest.mark.parametrize("machine", ORACLES)
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
    """Fifty of them, each with outputs that the whole network has not."""
    draw = random.Random(15)
    whole = compile_network(library_machine("palindrome"), on)
    outputs = list(islice(whole.outputs("aba"), 20))
    changed = 0
    while changed < 50:
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
    "part", KINDS["transformer"].parts(compile_network(library_machine("palindrome")).compiled)
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
    assert (trace.run.outcome, trace.run.steps, trace.run.tape) == (
        run.outcome,
        run.steps,
        run.tape,
    )
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


# Bad input, ends and limits.


def test_times_are_the_networks() -> None:
    trace = compile_network(library_machine("palindrome")).trace("abba")
    assert len(trace) == 26
    assert (trace[-1].t, trace[26].t, trace[-26].t) == (26, 26, 1)
    assert [moment.t for moment in trace[24:]] == [24, 25, 26]
    assert [moment.t for moment in trace[:3]] == [1, 2]
    assert [moment.t for moment in trace[-2:]] == [25, 26]
    assert [moment.t for moment in trace[20:100:3]] == [20, 23, 26]
    assert [moment.t for moment in trace[5:15][8:]] == [8, 9, 10, 11, 12, 13, 14]
    assert len(trace[5:15]) == 10
    assert not trace[9:9]
    last = trace[26].configuration
    assert last is not None
    assert (last.state, last.head, list(trace[26]["y"]["q1"])) == ("accept", 3, ["accept"])
    assert repr(trace) == "<trace of <transformer of palindrome, dimension 45> on a b b a>"
    assert repr(trace[3]) == "<moment 3: 25 vectors>"


@pytest.mark.parametrize("on", KINDS)
def test_a_time_that_is_not_there(on: str) -> None:
    trace = compile_network(library_machine("palindrome"), on).trace("abba")
    end = len(trace)
    for t, message in (
        (end + 1, f"there is no time {end + 1}; this run ends at time {end}"),
        (0, "there is no time 0; times begin at 1"),
        (-end - 1, "there is no time"),
    ):
        with pytest.raises(EndedError, match=message):
            trace[t]
        with pytest.raises(IndexError):
            trace[t]
    for bad in (1.0, "1", None, True):
        with pytest.raises(InputError, match="a time is a whole number; got"):
            trace[bad]  # type: ignore[index]
    with pytest.raises(InputError, match="expected 1 or more"):
        trace[5:1:-1]
    with pytest.raises(EndedError, match="there is no time 5; here are times 3 to 4"):
        trace[3:5][5]


def test_a_name_that_is_not_there() -> None:
    trace = compile_network(library_machine("palindrome")).trace("abba")
    for name, message in (
        ("decoder.3.zz", "at time 3: no vector 'decoder.3.zz'; did you mean decoder.3.z?"),
        ("decoder.3.self.scores", r".attention\['decoder.3.self'\].scores"),
        ("decoder.3.self.pattern", r".attention\['decoder.3.self'\].weights"),
        ("encoder.K", r"the same at every time: trace.encoder\['encoder.K'\]"),
    ):
        with pytest.raises(InputError, match=message):
            trace[3][name]
    with pytest.raises(InputError, match=r"no attention 'decoder.4.self'"):
        trace[3].attention["decoder.4.self"]
    with pytest.raises(InputError, match="at time 1: no vector 'q'; there are decoder"):
        trace.array("q")
    with pytest.raises(
        InputError, match="no row of an attention 'keys'; there are weights, scores"
    ):
        trace.attention_array("decoder.3.self", what="keys")
    rnn = compile_network(library_machine("palindrome"), "rnn").trace("abba")
    with pytest.raises(InputError, match="at time 9: no vector 'h'; there are g"):
        rnn[9]["h"]
    with pytest.raises(InputError, match="this network has none"):
        rnn[9].attention["decoder.1.self"]


@pytest.mark.parametrize("on", KINDS)
def test_a_run_without_an_end_has_no_length(on: str) -> None:
    trace = compile_network(library_machine("binary-counter"), on).trace(max_steps=40)
    with pytest.raises(NetwrightError, match="the run has not ended after 40 steps"):
        len(trace)
    with pytest.raises(TypeError):
        len(trace)
    moments = list(trace)
    last = moments[-1].configuration
    assert last == list(islice(configurations(library_machine("binary-counter")), 41))[-1]
    assert trace.run.outcome is Outcome.UNDECIDED
    assert len(trace[5:10]) == 5
    with pytest.raises(
        EndedError, match=r"time 10,000 is beyond the limit of 40 steps; trace with"
    ):
        trace[10_000]


def test_a_network_that_shows_no_machine_has_vectors_all_the_same() -> None:
    network = compile_network(library_machine("palindrome")).without("residual:decoder.2.self")
    trace = network.trace("abba")
    assert trace[20]["y"] == next(islice(network.outputs("abba"), 19, None))
    with pytest.raises(NetworkError, match="from output 1 on its vectors show no machine"):
        _ = trace[1].configuration
    with pytest.raises(NetworkError, match=r"from output 1 on .* so its trace has no length"):
        len(trace)
    with pytest.raises(NetworkError, match="from output 1 on its vectors show no machine"):
        _ = trace.run
    assert [moment.t for moment in network.trace("ab", max_steps=2)] == [*range(1, 14)]
    assert trace[:9].array("y").shape == (8, 45)
    assert "shows no machine" in trace._repr_html_()


def test_what_never_shows_an_end_is_bounded_by_the_limit() -> None:
    """A network whose machine goes round in states that normalising added."""
    network = compile_network(library_machine("palindrome")).without("positions")
    trace = network.trace("aba", max_steps=5)
    assert len(list(trace)) <= 2 * 3 + 3 + 2 * 5 + 1 + 1


def test_arrays_have_the_names_of_their_coordinates(monkeypatch: pytest.MonkeyPatch) -> None:
    network = compile_network(library_machine("palindrome"))
    trace = network.trace("abba")
    found = trace.array("decoder.3.z")
    times, names = found.labels
    assert (found.shape, times[0], times[-1]) == ((26, 45), 1, 26)
    column = names.index("x10")
    assert np.asarray(found)[:, column].tolist() == [1 / t for t in times]
    assert trace[5:9].array("y").labels[0] == [5, 6, 7, 8]
    keys = trace.array("encoder.K")
    assert keys.shape == (4, 45)
    assert list(trace.encoder) == [
        *(f"encoder.1.{x}" for x in ("input", "self.q", "self.k", "self.v", "a", "z")),
        *("encoder.K", "encoder.V"),
    ]
    encoded = network.compiled.network.encode(network.compiled.recognizer.embed("abba"))
    assert (trace.encoder["encoder.K"], trace.encoder["encoder.V"]) == encoded
    weights = trace.attention_array("decoder.3.self")
    assert weights.shape == (26, 26)
    assert np.asarray(weights).sum(axis=1).tolist() == [1.0] * 26
    winner = trace[26].attention["decoder.3.self"].winner
    assert winner is not None
    assert np.asarray(weights)[25, winner - 1] == 1
    scores = np.asarray(trace.attention_array("decoder.3.self", "scores"))
    assert np.isnan(scores[4, 5:]).all()
    assert np.nanargmax(scores, axis=1).tolist() == np.asarray(weights).argmax(axis=1).tolist()
    assert np.asarray(trace.attention_array("decoder.1.self"))[3, :4].tolist() == [0.25] * 4
    assert trace.attention_array("decoder.1.external").shape == (26, 4)
    rnn = compile_network(library_machine("palindrome"), "rnn").trace("abba")
    assert rnn.array("h").labels[0] == [1, 2, 3, 4, 5]
    assert rnn.array("g").labels[0] == [*range(5, 21)]
    monkeypatch.setattr("netwright.networks.trace.LARGEST_ARRAY", 26 * 26 - 1)
    with pytest.raises(InputError, match="26 × 26 numbers are too many; take a smaller slice"):
        trace.attention_array("decoder.3.self")


def test_going_anywhere_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bookmarks are thinned out, and an interrupted move is begun again."""
    monkeypatch.setattr(seek, "FIRST_DISTANCE", 16)
    monkeypatch.setattr(seek, "MOST_BOOKMARKS", 5)
    monkeypatch.setattr(seek, "BEHIND", (20, 4))
    draw = random.Random(3)
    for on in KINDS:
        network = compile_network(library_machine("binary-counter"), on)
        times = draw.sample(range(1, 900), 30)
        trace, name = network.trace(), {"rnn": "g", "neural-gpu": "cell"}.get(on, "y")
        inner: Any = trace._tracing  # looked at from the inside
        expected = dict(enumerate(islice(MOMENTS[on](network, ""), 900), start=1))
        for t in times:
            if draw.random() < 0.2:  # Ctrl-C at an unfortunate moment
                inner.seeker.course.moments.advance(3)
                inner.seeker._moving = True
            assert trace[t][name] == expected[t][name], (on, t)
            assert len(inner.seeker._marks) <= 6


def test_the_end_stays_the_end() -> None:
    """Looking behind it, and a bookmark that would stand on it, change nothing."""
    word = "ab" * 12 + "ba" * 12
    trace = compile_network(library_machine("palindrome")).trace(word)
    for t in (1324 + 33, 1, 1325, 1324 + 1024, 1325):
        with pytest.raises(EndedError):
            trace[t if t > 1324 else 10**7]
        assert trace[1].t == 1
        assert trace.run.outcome is Outcome.ACCEPTED
    assert len(trace) == 1324


@pytest.mark.parametrize("on", KINDS)
def test_the_run_of_a_trace_is_the_networks(on: str) -> None:
    """At the limit too, whatever engine is at work."""
    network = compile_network(library_machine("binary-counter"), on)
    for limit in (40, 41, 400):
        network.run(None, limit, engine="fast")
        run, own = network.run(None, limit), network.trace(None, max_steps=limit).run
        assert (own.outcome, own.steps, own.state, own.head, own.tape) == (
            run.outcome,
            run.steps,
            run.state,
            run.head,
            run.tape,
        )


def test_a_slice_of_nothing_is_nothing() -> None:
    trace = compile_network(library_machine("palindrome")).trace("abba")
    assert list(trace[9:9][:5]) == []
    assert list(trace[20:10][:]) == []


class InterruptAt:
    """A trace function that raises KeyboardInterrupt at the n-th line of some functions."""

    def __init__(self, lines: int) -> None:
        self.left = lines

    def __call__(self, frame: Any, event: str, _: object) -> Any:
        if event == "line" and frame.f_code.co_name in ("_remembered", "_keeping", "_take"):
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt
        return self


def test_a_token_that_ctrl_c_interrupts_is_computed_again() -> None:
    network = compile_network(library_machine("palindrome"))
    expected = list(islice(network.outputs("abba"), 26))
    for lines in range(1, 60):
        trace, before = network.trace("abba"), sys.gettrace()
        try:
            sys.settrace(InterruptAt(lines))
            _ = len(trace)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        assert [moment["y"] for moment in trace] == expected
        assert (len(trace), trace.run.outcome) == (26, Outcome.ACCEPTED)


def test_a_trace_goes_back_in_a_network_that_takes_longer_than_its_machine() -> None:
    changed = compile_network(library_machine("palindrome")).with_weight(
        "decoder.3.V", "x9", "x7", 0
    )
    trace = changed.trace("aba")
    assert (trace[1500].t, trace[1].t, trace[1495].t) == (1500, 1, 1495)


def test_a_machine_with_one_state_and_one_symbol() -> None:
    machine = TuringMachine(["q"], ["_"], "_", "q", {("q", "_"): ("q", "_", "R")})
    changed = compile_network(machine, "rnn").with_weight("W", "u", "S[q]", "1/3")
    assert str(changed.trace(())[5]["g"].number("u")) == "1"
    with pytest.raises(NetworkError, match="shows no pair"):
        changed.run(())


@pytest.mark.parametrize("on", KINDS)
def test_one_trace_in_several_threads(on: str) -> None:
    network = compile_network(library_machine("busy-beaver-4"), on)
    trace, expected = network.trace(), list(islice(network.outputs(()), 60))
    wrong: list[int] = []

    def look(seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(60):
            t = draw.randrange(1, 60)
            name = {"rnn": "g", "neural-gpu": "cell"}.get(on, "y")
            # y_t is g_t, one later as a blank is read first; S^t has it at t.
            if trace[t][name] != expected[t - 1] and on != "rnn":
                wrong.append(t)

    threads = [Thread(target=look, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
