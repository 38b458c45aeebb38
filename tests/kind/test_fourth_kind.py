"""A kind in a package of its own works in every verb: nothing here had to know of it."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.explorer.test_page import recorded
from tests.networks import facts
from tests.repetition import examples

import netwright as nw
from netwright.cli import main
from netwright.errors import FormatError, InputError
from netwright.machine.simulate import configurations, simulate
from netwright.machine.turing_machine import Action, Move, TuringMachine

ROOT = Path(__file__).parents[2]
ON = ("--on", "finite-state")


@pytest.fixture(autouse=True)
def _a_package_with_a_kind(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Installed as pip would: a folder with its metadata."""
    place = tmp_path_factory.mktemp("installed")
    about = place / "finite_state-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: finite-state\nVersion: 1\n")
    points = "[netwright.kinds]\nfinite-state = tests.kind.finite_state\n"
    (about / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setenv("PYTHONPATH", f"{place}:{ROOT}")


@pytest.fixture
def even(tmp_path: Path) -> str:
    """Words with an even number of a's."""
    path = tmp_path / "even.yaml"
    path.write_text(
        "input: abab\nblank: ' '\nstart state: even\ntable:\n"
        "  even: {a: {R: odd}, b: R, ' ': {R: yes}}\n  odd: {a: {R: even}, b: R}\n  yes:\n"
    )
    return str(path)


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == code
    return dict(json.loads(capsys.readouterr().out))


@st.composite
def automata(draw: st.DrawFn) -> TuringMachine:
    states, symbols = ["p", "q", "r"], ["_", "a", "b"]
    pairs = [(q, s) for q in states for s in symbols]
    chosen = draw(st.dictionaries(st.sampled_from(pairs), st.sampled_from(states)))
    delta = {(q, s): Action(target, s, Move.R) for (q, s), target in chosen.items()}
    accepting = draw(st.frozensets(st.sampled_from(states)))
    return TuringMachine(states, symbols, "_", "p", delta, accepting)


@examples(60)
@given(automata(), st.text("ab_"), st.integers(1, 9))
def test_it_does_what_its_machine_does(machine: TuringMachine, word: str, sharpness: int) -> None:
    network = nw.compile(machine, to="finite-state", sharpness=sharpness)
    assert facts(network.run(word, 12)) == facts(simulate(machine, word, 12))
    assert network.compare(word, 12).difference is None
    trace = network.trace(word, 12)
    assert trace[1]["y"] == next(network.outputs(word))


def test_it_runs_and_is_verified(even: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "run", even, *ON)
    assert (found["on"], found["outcome"], found["steps"]) == ("finite-state", "accepted", 5)
    assert answer(capsys, "run", even, "a", *ON, code=1)["outcome"] == "rejected"
    found = answer(capsys, "verify", even, "abba", "--on", "finite-state,rnn")
    assert [row["on"] for row in found["results"]] == ["finite-state", "rnn"]
    assert found["differences"] == 0
    broken = answer(capsys, "verify", even, "ab", *ON, "--break", "F.q", code=1)
    assert broken["results"][0]["difference"]["statement"] == "A finite automaton"
    without = answer(capsys, "verify", even, "aa", *ON, "--without", "memory", code=1)
    assert without["results"][0]["difference"] is not None
    assert main(["run", even, *ON, "--without", "memory"]) == 1
    assert capsys.readouterr().out.startswith("rejected after 0 steps")
    assert main(["run", "palindrome", *ON]) == 2
    assert "takes machines that move right" in capsys.readouterr().err
    assert main(["run", even, "--checkpoint", f"{even}.kept", *ON, "--max-steps", "2"]) == 3
    assert main(["run", even, "--resume", f"{even}.kept", *ON]) == 0


def test_its_trace_goes_anywhere(even: str) -> None:
    trace = nw.compile(even, to="finite-state").trace("abab")
    assert len(trace) == 6
    *_, last = configurations(nw.load_machine(even), "abab")
    assert trace[-1].configuration == last
    assert [trace[t]["y"].label("q") for t in (5, 1, 3)] == ["even", "even", "odd"]
    assert trace.array("y").shape == (6, len(trace[1]["y"].layout.coordinates))
    with pytest.raises(IndexError, match="this run ends at time 6"):
        trace[7]
    inner: Any = trace._tracing  # looked at from the inside
    inner.seeker.ongoing.moments.vectors.close()  # as an exception, such as Ctrl-C, leaves it
    inner.seeker._moving = True
    assert [moment["y"].label("q") for moment in trace][2:4] == ["odd", "even"]


def test_its_weights_and_its_shape(even: str, capsys: pytest.CaptureFixture[str]) -> None:
    network = nw.compile(even, to="finite-state", sharpness="3")
    assert list(network.weights()) == ["F.1", "F.2", "embedding", "seed"]
    assert network.weights()["F.1"]["q[odd]", "rule[odd a]"] == 3
    deaf = network.with_weight("F.1", "q[odd]", "rule[odd a]", 0)
    assert deaf != network
    assert deaf.compare("aa").difference is not None
    found = answer(capsys, "compile", even, *ON, "--weights", "F.2", "--explain")
    assert found["meanings"]["blocks"]["q"] == "the state"
    found = answer(capsys, "compile", even, *ON)
    assert found["description"]["F"] == {"maps": [[11, 6], [6, 11]], "activation": "sigma"}
    assert (found["parameters"], found["vectors"]) == (12 * 6 + 7 * 11, ["y"])
    assert main(["help", "networks"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "--on finite-state:" in told
    assert "How steep its units are." in told


def test_it_is_saved_loaded_and_audited(
    even: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    network = nw.compile(even, to="finite-state", sharpness=5)
    file = str(tmp_path / "even.safetensors")
    for each in (network, network.broken("F.q", word="ab"), network.without("memory")):
        each.save(file, force=True)
        assert nw.load(file) == each == pickle.loads(pickle.dumps(each))
    assert network != nw.compile(even, to="finite-state")
    assert main(["compile", even, *ON, "-o", file, "--force"]) == 0
    assert main(["run", file, "abba"]) == 0
    capsys.readouterr()
    assert answer(capsys, "audit", file)["holds"]
    damaged = bytearray(Path(file).read_bytes())
    damaged[-9] ^= 1
    Path(file).write_bytes(damaged)
    assert main(["audit", file]) == 1
    with pytest.raises(FormatError, match="is not an intact netwright network"):
        nw.load(file)


def test_it_has_a_page(even: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["explore", even, "abab", *ON, "-o", str(page)]) == 0
    data = recorded(page.read_text(encoding="utf-8"))
    assert (data["run"]["kind"], data["run"]["outcome"]) == ("finite-state", "accepted")
    rule = [moment["rule"]["state"] for moment in data["moments"]]
    assert rule == ["even", "odd", "odd", "even", "even", "yes"]
    assert nw.compile(even, to="finite-state").explore("aa", t=2) is not None


def test_campaigns_take_it(even: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = str(tmp_path / "found")
    call = ["campaign", even, "--on", "machine,finite-state", "--do", "run,verify", "-o", folder]
    assert main([*call, "--workers", "1"]) == 0
    capsys.readouterr()
    found = answer(capsys, "campaign", "show", folder)
    assert found["networks"]["finite-state"]["agree"] == 1
    assert main(["audit", folder]) == 0
    assert [run.steps for run in nw.run_many([even], to="finite-state")] == [5]


def test_what_it_has_not_is_said(even: str, capsys: pytest.CaptureFixture[str]) -> None:
    for call, message in (
        (("run", even, "--on", "abacus"), "residual-free-transformer, finite-state, machine"),
        (("certify", even, *ON), "no certificates for networks of kind finite-state: nothing is"),
        (("precision", even, *ON), "there is no precision laboratory for finite-state"),
        (("export", even, *ON, "-o", "x"), "finite-state has no code for numpy"),
        (("run", even, *ON, "--engine", "fast"), "no engine for finite-state 'fast'"),
        (("run", even, *ON, "--score", "paper"), "score is not an option of finite-state; its opt"),
        (("run", even, *ON, "--sharpness", "0"), "sharpness is '0'; expected"),
        (("compile", even, *ON, "--prompt"), "--prompt only prints"),
    ):
        assert main(list(call)) == 2
        assert message in capsys.readouterr().err
    with pytest.raises(InputError, match="no part 'x'; there are memory"):
        nw.compile(even, to="finite-state").without("x")
