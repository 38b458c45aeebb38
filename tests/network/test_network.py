"""The object that users hold."""

import ast
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.networks import KINDS, facts
from tests.repetition import examples
from tests.strategies import machines, words

import netwright
from netwright.cli import main
from netwright.errors import InputError, NetworkError
from netwright.machine.library import library_machine
from netwright.machine.simulate import Engine, simulate
from netwright.network.network import compile_network, network_for_word

SOURCE = Path(netwright.__file__).parent


@examples(30)
@given(st.data(), st.sampled_from([*KINDS]))
def test_a_network_answers_as_its_machine(data: st.DataObject, on: str) -> None:
    machine = data.draw(machines(max_states=3, max_symbols=3))
    word = data.draw(words(machine.symbols))
    network = network_for_word(machine, on, tuple(word))
    assert facts(network.run(word, 12)) == facts(simulate(machine, word, 12))
    assert network.compare(word, 12).difference is None


@pytest.mark.parametrize("on", KINDS)
def test_it_runs_verifies_certifies_and_shows_itself_shortly(on: str) -> None:
    network = compile_network(library_machine("palindrome"), on)
    assert network.accepts("abba")
    assert not network.accepts("ab")
    assert all(found.difference is None for found in network.verify("abba", random=3))
    assert network.certify().holds
    assert repr(network).startswith(f"<{on} of palindrome, dimension ")
    assert len(repr(network)) < 80
    with pytest.raises(InputError, match="undecided after 3 steps; raise max_steps"):
        network.accepts("abba", 3)
    with pytest.raises(InputError, match="input symbol 'c'"):
        network.run("abc")
    rows = list(network.precision("ab", formats=[], steps=5))
    assert rows == []


@pytest.mark.parametrize("on", KINDS)
def test_a_changed_weight_changes_the_answer(on: str) -> None:
    """The answer comes from the weights, and each has a name."""
    network = compile_network(library_machine("even-as"), on)
    weights = network.weights()
    assert len(weights) > 2
    name, weight = max(weights.items(), key=lambda item: len(item[1].affine.weights))
    rows, columns = weight.labels
    assert weight.to_numpy().shape == (len(rows), len(columns))
    changed = 0
    for (j, k), value in list(weight.affine.weights.items())[:20]:
        other = network.with_weight(name, rows[j], columns[k], -value)
        assert other != network
        assert other.weights()[name].affine.weights[j, k] == -value
        changed += other.compare("abab", 20).difference is not None
    assert changed
    with pytest.raises(InputError, match=r"no weight 'decoder.9.V'"):
        network.with_weight("decoder.9.V", "a", "b", 1)
    with pytest.raises(InputError, match=r"no coordinate of .* 'nowhere'"):
        network.with_weight(name, "nowhere", columns[0], 1)


def test_ablated_networks_run_and_answer_what_they_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    network = compile_network(library_machine("palindrome"), "transformer")
    trivial = network.without("attention:decoder.1.self", "attention:encoder.1.self")
    assert facts(trivial.run("abba")) == facts(network.run("abba"))
    assert trivial.run("abba", engine="fast").engine == "reference"  # engines know whole networks
    assert "attention:encoder.1.self are left out" in str(trivial.certify().first_failure)
    lame = network.without("residual:decoder.2.self")
    with pytest.raises(NetworkError, match="from output 1 on, its vectors do not show a machine"):
        lame.run("abba")
    assert len(list(islice(lame.outputs("abba"), 5))) == 5  # and they are there to look at
    call = ["run", "palindrome", "abba", "--without", "residual:decoder.2.self"]
    assert main(call) == 1
    out = capsys.readouterr().out
    assert out.startswith("no answer: without residual:decoder.2.self\n")
    assert "from output 1 on, its vectors do not show a machine" in out
    both = ["--without", "attention:decoder.1.self", "--without", "attention:encoder.1.self"]
    assert main(["run", "palindrome", "abba", *both]) == 0
    assert capsys.readouterr().out.startswith("accepted after 15 steps")
    assert main([*call, "--json"]) == 1
    assert '"outcome": null' in capsys.readouterr().out


def test_an_engine_that_a_kind_has_not_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    network = compile_network(library_machine("even-as"), "rnn")
    monkeypatch.setattr(type(network.kind.reading), "engines", (Engine.REFERENCE,))
    assert network.run("a", engine="reference").steps == 2
    with pytest.raises(InputError, match="no engine for rnn 'fast'; there are reference"):
        network.run("a", engine="fast")
    with pytest.raises(InputError, match=r"; accelerated is for neural-gpu, pointer-transf"):
        network.run("a", engine="accelerated")


def test_broken_networks_run_too(capsys: pytest.CaptureFixture[str]) -> None:
    for on, place in (("transformer", "F.q1"), ("rnn", "U.S"), ("neural-gpu", "F.2.D S")):
        assert main(["run", "palindrome", "abba", "--on", on, "--break", place]) in (0, 1)
        assert capsys.readouterr().out
    gates = compile_network(library_machine("palindrome"), "neural-gpu").without("gate:update")
    with pytest.raises(NetworkError, match="shows no"):
        gates.run("abba")


def test_there_is_one_list_of_kinds() -> None:
    """Only kinds ask for the type of a compiled network."""
    for path in SOURCE.rglob("*.py"):
        if (SOURCE / "kind") in path.parents:
            continue
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                assert "Compiled" not in ast.unparse(node.args[1]), path
            names = {"transformer", "rnn", "neural-gpu"}
            if isinstance(node, ast.List | ast.Tuple | ast.Set):
                values = {e.value for e in node.elts if isinstance(e, ast.Constant)}
                assert not names <= values, path
            if isinstance(node, ast.Dict):
                keys = {e.value for e in node.keys if isinstance(e, ast.Constant)}
                assert not names <= keys, path


@pytest.mark.parametrize("on", KINDS)
def test_a_saved_network_is_verified_as_it_is(
    on: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "file.safetensors"
    network = compile_network(library_machine("even-as"), on)
    place = {"transformer": "F.q1", "rnn": "U.S", "neural-gpu": "F.2.D S"}[on]
    for saved, code in ((network, 0), (network.broken(place, word="abab"), 1)):
        saved.save(file, force=True)
        assert main(["verify", str(file), "abab"]) == code
        assert f" {on} " in capsys.readouterr().out
    assert main(["verify", str(file), "abab", "--score", "paper"]) == 2


def test_the_laboratory_takes_the_network_that_it_is_given() -> None:
    network = compile_network(library_machine("palindrome"), "transformer", blanks=True)
    assert len(list(network.precision("ab", steps=3))) == 4  # all formats
    with pytest.raises(InputError, match="precision takes networks as compiled; this is without"):
        network.without("positions").precision("ab")
    for call in (lambda: network.compare("ab", -1), lambda: network.verify(random=-1)):
        with pytest.raises(InputError, match="0 or more"):
            call()
    with pytest.raises(InputError, match=r"a weight is an exact number, .* got 0\.5"):
        network.with_weight("decoder.2.V", "x2", "x4", 0.5)  # type: ignore[arg-type]


def test_an_answer_of_a_changed_network_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    call = ["run", "palindrome", "abba", "--without", "attention:decoder.1.self"]
    assert main(call) == 0
    assert "changed: without attention:decoder.1.self" in capsys.readouterr().out
    assert main([*call, "--json"]) == 0
    assert '"changes": ["without attention:decoder.1.self"]' in capsys.readouterr().out
