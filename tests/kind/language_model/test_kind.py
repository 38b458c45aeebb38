"""The kind `language-model` as users hold it: run, trace, verify, weights, files."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples
from tests.strategies import machines, words

import netwright as nw
from netwright import campaign
from netwright.cli import main
from netwright.engine.following.tracing import EndedError
from netwright.errors import InputError, NetworkError
from netwright.machine.library import library_machine
from netwright.machine.simulate import simulate
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import Network, compile_network
from netwright.network.saved import from_bytes, to_bytes


def language_model(name: str = "palindrome", **options: Any) -> Network:
    return compile_network(library_machine(name), "language-model", **{"context": 96, **options})


def test_engines_and_types_agree() -> None:
    expected = library_machine("busy-beaver-4").run()
    for dtype in ("float32", "float16", "bfloat16"):
        net = language_model("busy-beaver-4", dtype=dtype)
        for engine in ("auto", "fast", "reference"):
            run = net.run(engine=engine)
            assert (run.outcome, run.steps, run.tape) == (
                expected.outcome,
                expected.steps,
                expected.tape,
            )
    net = language_model()
    assert net.accepts("abba")
    assert not net.accepts("ab")
    with pytest.raises(InputError, match="no engine for language-model 'full'"):
        net.run("ab", engine="full")


def test_limits() -> None:
    net = language_model("busy-beaver-4")
    for limit in (0, 1, 50, 106, 107, 108):
        run = net.run(max_steps=limit)
        expected = library_machine("busy-beaver-4").run(max_steps=limit)
        assert (run.outcome, run.steps, run.state, run.head) == (
            expected.outcome,
            expected.steps,
            expected.state,
            expected.head,
        )


def test_a_trace_has_every_token() -> None:
    trace = language_model().trace("abba")
    assert len(trace) == 37
    tokens = [moment.configuration for moment in trace]
    shown = [c for c in tokens if c is not None]
    expected = library_machine("palindrome").configurations("abba")
    assert [(c.state, c.head, c.tape) for c in shown] == [
        (c.state, c.head, c.tape) for c in expected
    ]
    moment = trace[7]  # the first address token
    assert moment["block.0.middle"].label("q1") == "start"
    assert moment["block.1.input"].label("q2") == "have-a"
    assert moment["output"].label("Ys") == "b"
    assert moment.attention["block.1.head.0"].winner == 2  # the letter to the right
    assert moment.attention["block.1.head.1"].winner == 5  # nothing to the left: <run>
    with pytest.raises(EndedError, match="it ends at time 37"):
        trace[38]
    with pytest.raises(EndedError, match="the context of 96 tokens is full"):
        language_model("busy-beaver-5").trace()[97]
    assert trace.run.accepted


def test_every_damage_to_a_rule_is_noticed() -> None:
    net = language_model()
    changed = net.with_weight("block.0.units.B", "unit[rule 'start', 'a']", "q2[have-a]", 0)
    difference = changed.verify("abba").differences[0]
    assert difference.statement == "the machine's text"
    assert net.verify("bb").holds
    assert changed.verify("bb").holds
    assert changed.run("abba", max_steps=9) != net.run("abba", max_steps=9)
    reading = net.with_weight("block.1.units.B", "unit[read 'b', R]", "Ys[b]", 0)
    with pytest.raises(NetworkError, match="reads '_' in cell 1, which has 'b'"):
        reading.run("abba")
    pointer = net.with_weight("block.1.head.0.Q", "R[b0]", "bit[b0]", 0)
    assert not pointer.verify("abba").holds
    with pytest.raises(InputError, match="are whole numbers"):
        net.with_weight("U", "acc", "token[<accept>]", "1/2")
    with pytest.raises(InputError, match="only the units of a language model have a bias"):
        net.with_weight("U", "bias", "token[<accept>]", 1)
    bias = net.with_weight("block.0.units.A", "bias", "unit[rule 'start', 'a']", -3)
    assert not bias.verify("abba").holds


def test_files_and_pickles(tmp_path: Path) -> None:
    for net in (
        language_model(),
        language_model("copy", dtype="bfloat16"),
        language_model().with_weight("block.0.units.B", "unit[rule 'start', 'a']", "w[_]", 0),
    ):
        again = from_bytes(to_bytes(net))
        assert again == net == pickle.loads(pickle.dumps(net))
    net = language_model()
    net.save(tmp_path / "net.safetensors")
    assert nw.load(tmp_path / "net.safetensors").run("abba").accepted


def test_options() -> None:
    with pytest.raises(InputError, match="context is 'many'; expected a number of tokens"):
        language_model(context="many")
    with pytest.raises(InputError, match="expected 8 to 65,536 tokens"):
        language_model(context=3)
    with pytest.raises(InputError, match="no dtype 'float8'"):
        language_model(dtype="float8")
    assert repr(language_model()) == ("<language-model of palindrome, dimension 114, context=96>")
    with pytest.raises(InputError, match="netwright certify proves its checkpoint there"):
        language_model().certify()
    with pytest.raises(InputError, match="there is no precision laboratory for language-model"):
        language_model().precision("ab")
    note = language_model("binary-counter", context=16).run("", 10**4).note
    assert "no longer fits into a context of 16 tokens" in str(note)


def test_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    call = ["palindrome", "abba", "--on", "language-model", "--context", "64"]
    assert main(["run", *call, "--dtype", "float16", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["outcome"], found["steps"], found["network_steps"]) == ("accepted", 15, 32)
    assert main(["verify", *call]) == 0
    assert "no difference" in capsys.readouterr().out
    assert main(["certify", "palindrome", "--on", "llama", "--context", "64"]) == 0
    assert "bfloat16  certified" in capsys.readouterr().out
    assert main(["run", *call, "--checkpoint", str(tmp_path / "kept")]) == 2
    assert "keeps no checkpoints" in capsys.readouterr().err
    assert main(["compile", "palindrome", "--on", "language-model"]) == 0
    assert "parameters        941,043" in capsys.readouterr().out
    assert main(["run", "palindrome", "--engine", "torch"]) == 2
    assert "no engine for transformer 'torch'" in capsys.readouterr().err
    assert main(["run", "palindrome", "--on", "machine", "--engine", "torch"]) == 2
    assert "engine torch is for language models" in capsys.readouterr().err


def test_a_tape_that_outgrows_its_context_is_undecided(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The run was thrown away: exit code 2, and a campaign's row without an answer."""
    call = ["run", "sweeper", "--on", "language-model", "--context", "64", "--max-steps", "4000"]
    assert main([*call, "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert found["outcome"] == "undecided"
    assert 0 < found["steps"] < 4000
    assert "no longer fits into a context of 64 tokens" in found["note"]
    wanted = simulate(library_machine("sweeper"), (), found["steps"])
    assert (found["state"], found["head"]) == (wanted.state, wanted.head)
    assert found["tape"] == str(wanted.tape)
    assert main(call) == 3
    out = capsys.readouterr().out
    assert "(the limit" not in out
    assert "note   a tape of" in out
    assert "slower" not in out
    plan = campaign.Plan(on="language-model", max_steps=4000, options={"context": 64})
    assert campaign.run("sweeper", plan, tmp_path / "c", campaign.Local(1)).exit_code == 0
    (row,) = campaign.rows(tmp_path / "c")
    assert (row["outcome"], row["agrees"]) == ("undecided", True)
    assert "no longer fits into a context of 64 tokens" in row["note"]


@examples(20)
@given(machine=machines(), data=st.data())
def test_what_is_reached_then_is_the_machines(machine: TuringMachine, data: st.DataObject) -> None:
    """In the middle of a stay, too."""
    network = compile_network(machine, "language-model", context=24)
    word = data.draw(words(machine.symbols))
    found = network.run(word, 200)
    wanted = simulate(machine, word, found.steps)
    assert (found.state, found.head, found.tape) == (wanted.state, wanted.head, wanted.tape)
