"""How a trace is used: times, names, slices, arrays, ends, limits, Ctrl-C and threads."""

import random
import sys
from itertools import islice
from typing import Any

import numpy as np
import pytest
from tests.network.test_trace import MOMENTS
from tests.networks import KINDS, facts
from tests.repetition import repeated
from tests.threads import in_threads

from netwright.engine.following.tracing import EndedError
from netwright.errors import InputError, NetworkError, NetwrightError
from netwright.machine import bookmarks
from netwright.machine.library import library_machine
from netwright.machine.simulate import Outcome, configurations
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import compile_network


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
        with pytest.raises(IndexError, match=message):
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
    with pytest.raises(TypeError, match="the run has not ended after 40 steps"):
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
    with pytest.raises(NetworkError, match="from output 1 on, its vectors do not show a machine"):
        _ = trace[1].configuration
    with pytest.raises(NetworkError, match=r"from output 1 on, .* so its trace has no length"):
        len(trace)
    with pytest.raises(NetworkError, match="from output 1 on, its vectors do not show a machine"):
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
    monkeypatch.setattr("netwright.network.trace.LARGEST_ARRAY", 26 * 26 - 1)
    with pytest.raises(InputError, match="26 × 26 numbers are too many; take a smaller slice"):
        trace.attention_array("decoder.3.self")


def test_going_anywhere_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bookmarks are thinned out, and an interrupted move is begun again."""
    monkeypatch.setattr(bookmarks, "FIRST_DISTANCE", 16)
    monkeypatch.setattr(bookmarks, "MOST_BOOKMARKS", 5)
    monkeypatch.setattr(bookmarks, "BEHIND", (20, 4))
    draw = random.Random(3)
    for on in KINDS:
        network = compile_network(library_machine("binary-counter"), on)
        last = repeated(900, 250)
        times = draw.sample(range(1, last), 30)
        trace, name = network.trace(), {"rnn": "g", "neural-gpu": "cell"}.get(on, "y")
        inner: Any = trace._tracing  # looked at from the inside
        expected = dict(enumerate(islice(MOMENTS[on](network, ""), last), start=1))
        for t in times:
            if draw.random() < 0.2:  # Ctrl-C at an unfortunate moment
                inner.seeker.ongoing.moments.advance(3)
                inner.seeker._moving = True
            assert trace[t][name] == expected[t][name], (on, t)
            assert len(inner.seeker._marks._marks) <= 6


def test_the_end_stays_the_end() -> None:
    """A look past the end, or a bookmark at the end, changes nothing."""
    word = "ab" * 12 + "ba" * 12
    trace = compile_network(library_machine("palindrome")).trace(word)
    for t in (1324 + 33, 10**7, 1325, 1324 + 1024, 1325):
        with pytest.raises(EndedError, match="this run ends at time 1,324"):
            trace[t]
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
        assert facts(own) == facts(run)


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
    trace, expected = network.trace(), list(islice(MOMENTS[on](network, ""), 60))
    name = {"rnn": "g", "neural-gpu": "cell"}.get(on, "y")
    wrong: list[int] = []

    def look(seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(60):
            t = draw.randrange(1, 60)
            if trace[t][name] != expected[t - 1][name]:
                wrong.append(t)

    in_threads(look)
    assert not wrong


def test_a_notebook_shows_what_matters_and_says_how_much() -> None:
    network = compile_network(library_machine("palindrome"))
    trace, weights = network.trace("abba"), network.weights()
    shown = trace._repr_html_()
    assert "; 16 of 26 moments shown" in shown  # the others read the input
    assert shown.count("<tr>") == 17
    long = compile_network(library_machine("busy-beaver-5")).trace("")._repr_html_()
    assert "; 38 of the first 40 moments shown, and more follow" in long
    assert "; 10 of 25 vectors shown" in trace[18]._repr_html_()
    listed = weights._repr_html_()
    nonzero = [each for each in weights.values() if each.entries or each.bias.entries]
    assert f"; {len(nonzero)} of {len(weights)} weights shown" in listed
    assert listed.count("<tr>") == len(nonzero) + 1
    assert "x9 → x7" in listed
    large = weights["decoder.1.O.2"]
    assert "; 60 of 93 entries shown" in large._repr_html_()
    small = weights["decoder.3.V"]._repr_html_()
    assert "shown" not in small
    assert small.count("<tr>") == 5  # no grid
    array = network.trace("abbaabbaabba").array("y")
    assert f"; 60 of {array.shape[0]} rows shown" in array._repr_html_()
