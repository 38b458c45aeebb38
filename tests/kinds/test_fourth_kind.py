"""A kind that is made in this file alone works in every verb: no other place has to know of it."""

import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from netwright.cli import main
from netwright.errors import InputError
from netwright.exact.feed_forward import Affine
from netwright.exact.layout import Layout
from netwright.exact.vector import Vector
from netwright.following.tracing import Tracing
from netwright.machine.library import library_machine
from netwright.machine.simulate import Run
from netwright.machine.turing_machine import TuringMachine
from netwright.networks.kind import Following, Kind, Option, Options
from netwright.networks.kinds import KINDS
from netwright.networks.network import compile_network
from netwright.networks.rnn import RNNKind
from netwright.networks.saved import from_bytes, to_bytes
from netwright.networks.trace import Moment
from netwright.networks.view import Says
from netwright.theorems.theorem_2_3_rnn.construction import CompiledRNN, compile_rnn
from netwright.verify.comparison import Check


class WideKind(Kind[CompiledRNN]):
    """An RNN whose stacks are in a base that is a multiple of the number of symbols."""

    name = "wide-rnn"
    statement = "Theorem 2.3"
    meanings = RNNKind.meanings
    options = (Option("factor", int, 3, "How many times as large the base is."),)
    inner = RNNKind()

    def construct(self, machine: TuringMachine, options: Options) -> CompiledRNN:
        return compile_rnn(machine, options["factor"] * len(machine.symbols))

    def run(self, compiled: CompiledRNN, word: Sequence[str], following: Following) -> Run:
        return self.inner.run(compiled, word, following)

    def outputs(self, compiled: CompiledRNN, word: Sequence[str]) -> Iterator[Vector]:
        return self.inner.outputs(compiled, word)

    def checks(self, compiled: CompiledRNN, word: Sequence[str], max_steps: int) -> Iterator[Check]:
        return self.inner.checks(compiled, word, max_steps)

    def machine_of(self, compiled: CompiledRNN) -> TuringMachine:
        return compiled.machine

    def says(self, compiled: CompiledRNN, moment: Moment) -> Says | None:
        return self.inner.says(compiled, moment)

    def written(self, compiled: CompiledRNN) -> dict[str, Any]:
        return self.inner.written(compiled)

    def rebuilt(
        self, written: Mapping[str, Any], machine: TuringMachine, options: Options
    ) -> CompiledRNN:
        return self.inner.rebuilt(written, machine, options)

    def matrices(self, compiled: CompiledRNN) -> dict[str, Affine]:
        return self.inner.matrices(compiled)

    def with_matrix(self, compiled: CompiledRNN, name: str, affine: Affine) -> CompiledRNN:
        return self.inner.with_matrix(compiled, name, affine)

    def trace(self, compiled: CompiledRNN, word: Sequence[str], max_steps: int) -> Tracing[Any]:
        return self.inner.trace(compiled, word, max_steps)

    def vectors(self, compiled: CompiledRNN) -> list[str]:
        return self.inner.vectors(compiled)

    def layout(self, compiled: CompiledRNN) -> Layout:
        return self.inner.layout(compiled)

    def facts(self, compiled: CompiledRNN) -> dict[str, Any]:
        return {"dimension": compiled.neurons.layout.dimension, "base": str(compiled.neurons.base)}

    def description(self, compiled: CompiledRNN) -> dict[str, Any]:
        return self.inner.description(compiled)


@pytest.fixture(autouse=True)
def _a_fourth_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "wide-rnn", WideKind())


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--json"]) in (0, 1)
    return dict(json.loads(capsys.readouterr().out))


def test_it_runs_is_verified_and_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "run", "palindrome", "abba", "--on", "wide-rnn")
    assert (found["on"], found["outcome"], found["steps"]) == ("wide-rnn", "accepted", 15)
    found = answer(capsys, "verify", "palindrome", "abba", "--on", "wide-rnn,rnn")
    assert [row["on"] for row in found["results"]] == ["wide-rnn", "rnn"]
    assert found["differences"] == 0
    found = answer(capsys, "verify", "palindrome", "abba", "--on", "wide-rnn", "--break", "U.S")
    assert found["results"][0]["difference"]["statement"] == "Theorem 2.3"
    found = answer(capsys, "compile", "palindrome", "--on", "wide-rnn")
    assert (found["on"], found["base"]) == ("wide-rnn", "9")
    assert found["description"]["activations"]["decoder"] == "sigma"


def test_it_is_listed_and_has_no_certificate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "copy", "--on", "abacus"]) == 2
    assert (
        "transformer, rnn, neural-gpu, wide-rnn, pointer-transformer, " in capsys.readouterr().err
    )
    assert main(["certify", "copy", "--on", "wide-rnn"]) == 2
    assert "there are no certificates for networks of kind wide-rnn" in capsys.readouterr().err
    assert main(["precision", "copy", "--on", "wide-rnn"]) == 2
    assert "there is no precision laboratory for wide-rnn" in capsys.readouterr().err


def test_it_is_saved_and_pickled(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    network = compile_network(library_machine("palindrome"), "wide-rnn", factor=5)
    assert from_bytes(to_bytes(network)) == network == pickle.loads(pickle.dumps(network))
    assert network != compile_network(library_machine("palindrome"), "wide-rnn")
    file = str(tmp_path / "wide.safetensors")
    assert main(["compile", "palindrome", "--on", "wide-rnn", "-o", file]) == 0
    capsys.readouterr()
    assert answer(capsys, "run", file, "abba")["on"] == "wide-rnn"


def test_its_options_are_read_in_one_place() -> None:
    machine = library_machine("palindrome")
    with pytest.raises(InputError, match="base is no option of wide-rnn; its options are factor"):
        compile_network(machine, "wide-rnn", base=4)
    with pytest.raises(TypeError, match="abstract"):
        type("Half", (Kind,), {"name": "half"})()
