"""Every claim of the paper holds, and each can fail: its subject is broken and that is reported."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import pytest

from netwright.claims import beyond, cases
from netwright.claims import experiments as claims
from netwright.claims.experiments import EXPERIMENTS, claim_names, run_claim
from netwright.claims.paper import statements
from netwright.cli import main
from netwright.definitions.neural_gpu import NeuralGPU
from netwright.definitions.transformer import Layer, Transformer
from netwright.definitions.without import TransformerWithout
from netwright.exact.feed_forward import affine_network
from netwright.exact.vector import Vector
from netwright.kind.pointer_transformer.linked_visits import LinkedVisits
from netwright.kind.transformer.construction import to_transformer
from netwright.kind.transformer.lemma_b6_if import if_maps
from netwright.machine.library import library_machine
from netwright.network.network import Network, network_for_word
from netwright.statements.proposition_3_3_majority import majority_recognizer

WORD = tuple("abba")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_claim_holds(name: str) -> None:
    claim = run_claim(name)
    assert claim.failure is None
    assert claim.cases >= 10


def test_every_theorem_and_lemma_of_the_paper_has_an_experiment() -> None:
    numbered = [
        name
        for name in statements()
        if name.split()[0] in ("Definition", "Theorem", "Proposition", "Corollary", "Lemma")
    ]
    assert set(numbered) <= set(EXPERIMENTS) <= set(statements())
    assert [name for name in statements() if name in EXPERIMENTS] == list(EXPERIMENTS)


@dataclass(frozen=True)
class LengthSeeing(Transformer):
    """A network that cheats: what its encoder gives depends on the length of the input."""

    def encode(self, X: Sequence[Vector]) -> tuple[list[Vector], list[Vector]]:
        keys, values = super().encode(X)
        return keys, [value + Vector.of(value.layout, x=len(X)) for value in values]


@dataclass(frozen=True)
class LengthSeeingGPU(NeuralGPU):
    """Likewise."""

    def outputs(self, X: Sequence[Vector], seed: Vector | None = None) -> Iterator[Vector]:
        return (y + Vector.of(y.layout, x=len(X)) for y in super().outputs(X, seed))


HONEST_TRANSFORMER, HONEST_GPU = claims.random_transformer, claims.random_neural_gpu


def cheating_transformer(draw: Any) -> Transformer:
    """Its outputs are what the encoder gives, and the output before."""
    honest = HONEST_TRANSFORMER(draw)
    same = affine_network(honest.layout, {(block, block): 1 for block, _ in honest.layout.blocks})
    nothing = affine_network(honest.layout)
    decoder = (Layer(Q=nothing, K=nothing, V=nothing, O=nothing),)
    fields = {name: getattr(honest, name) for name in honest.__dataclass_fields__}
    return LengthSeeing(**{**fields, "decoder": decoder, "F": same, "V": same})


def cheating_gpu(draw: Any, shape: tuple[int, int], *, circular: bool) -> NeuralGPU:
    honest = HONEST_GPU(draw, shape, circular=circular)
    fields = {name: getattr(honest, name) for name in honest.__dataclass_fields__}
    return LengthSeeingGPU(**fields)


def broken_network(on: str, place: str) -> Callable[..., Any]:
    def compiled(*_: Any) -> Any:
        return palindromes(on).broken(place, word=WORD, max_steps=40)

    return compiled


def palindromes(on: str) -> Network:
    return network_for_word(library_machine("palindrome"), on, WORD)


def wrong_if(*arguments: Any, **names: Any) -> Any:
    names["y"], names["z"] = names["z"], names["y"]
    return if_maps(*arguments, **names)


def minority(*arguments: Any) -> Any:
    return replace(majority_recognizer(*arguments), final=lambda y: y.number("x") < 0)


def broken_beyond(place: str) -> Callable[..., Any]:
    """A network of any of the kinds past the paper, with a weight broken."""
    return lambda machine, on, word, **options: network_for_word(
        library_machine("even-as"), on, ("a",), **options
    ).broken(place, word=("a",), max_steps=20)


class ForgetfulVisits(LinkedVisits):
    """Its R is always that of the time before."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.R = [0, *self.R[:-1]]


class Keeping(TransformerWithout):
    """It has the residual connections that it says are left out."""

    def _around(self, name: str, image: Vector, x: Vector) -> Vector:
        return image + x


def cheating(network: Transformer, layer: int) -> Transformer:
    honest = TransformerWithout.of(network, f"residual:decoder.{layer}.external")
    return Keeping(**{name: getattr(honest, name) for name in honest.__dataclass_fields__})


BROKEN: dict[str, tuple[str, Any]] = {
    "Definition 2.1": ("to_transformer", lambda _: to_transformer(library_machine("palindrome"))),
    "Theorem 2.3": ("network_for_word", broken_network("rnn", "U.S")),
    "Proposition 3.1": ("random_transformer", cheating_transformer),
    "Corollary 3.2": ("random_transformer", cheating_transformer),
    "Proposition 3.3": ("majority_recognizer", minority),
    "Theorem 3.4": ("network_for_word", broken_network("transformer", "F.q1")),
    "Section 3.3": ("first_collision", lambda _: (1, 2)),
    "Lemma B.1": ("network_for_word", broken_network("transformer", "encoder.V.s3")),
    "Lemma B.2": ("network_for_word", broken_network("transformer", "decoder.1.O.q2")),
    "Lemma B.3": ("network_for_word", broken_network("transformer", "decoder.2.V.x4")),
    "Lemma B.4": ("network_for_word", broken_network("transformer", "decoder.3.K.x10")),
    "Lemma B.5": ("network_for_word", broken_network("transformer", "F.s1")),
    "Lemma B.6": ("if_maps", wrong_if),
    "Theorem 4.1": ("network_for_word", broken_network("neural-gpu", "F.2.D S")),
    "Kernels (1, 1)": ("random_neural_gpu", cheating_gpu),
    "Proposition 4.2": ("random_neural_gpu", cheating_gpu),
    "Linked visits": ("LinkedVisits", ForgetfulVisits),
    "Pointer Transformer": ("network_for_word", broken_beyond("F.R")),
    "Universal Transformer": ("network_for_word", broken_beyond("F.r")),
    "Smaller universal Transformer": ("network_for_word", broken_beyond("F.x")),
    "Residual around cross-attention": ("without_residual", lambda *given: cheating(*given)),
    "Open question: are residual connections essential?": (
        "network_for_word",
        broken_beyond("F.R"),
    ),
    "Open question: are gates essential?": ("network_for_word", broken_beyond("F.2.S")),
    "Open question: are positional encodings essential?": (
        "network_for_word",
        broken_beyond("encoder.1.V.e"),
    ),
}


def test_every_claim_is_broken_once() -> None:
    assert BROKEN.keys() == EXPERIMENTS.keys()


@pytest.mark.parametrize("name", BROKEN)
def test_a_claim_whose_subject_is_broken_fails(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    attribute, replacement = BROKEN[name]
    for module in (cases, beyond, claims):
        if hasattr(module, attribute):
            monkeypatch.setattr(module, attribute, replacement)
    assert main(["claims", name]) == 1
    out = capsys.readouterr().out
    assert "FAILS" in out
    assert f"{name} ({statements()[name]['title']}) fails:" in " ".join(out.split())


def test_labels_names_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "lem:if", "Proposition 3.3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["statement"] for row in found["claims"]] == ["Proposition 3.3", "Lemma B.6"]
    assert found["failed"] == 0
    assert all(row["holds"] and row["cases"] > 50 for row in found["claims"])
    assert main(["claims", "Theorem 9.9"]) == 2
    assert "no claim 'Theorem 9.9'; there are Definition 2.1" in capsys.readouterr().err


def test_deviations_are_told_with_their_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "sec:diff", "--deviations"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "has a gap" in " ".join(lines)
    assert max(map(len, lines)) <= 80


def test_thorough_does_more() -> None:
    assert claim_names([]) == list(EXPERIMENTS)
    for name in ("Lemma B.6", "Proposition 3.3"):
        assert run_claim(name, thorough=True).cases > run_claim(name).cases


def test_claims_say_what_they_were_checked_on(capsys: pytest.CaptureFixture[str]) -> None:
    for label in ("B.4", "lemma b.4", "Lemma B.4"):
        assert claim_names([label]) == ["Lemma B.4"]
    assert main(["claims", "b.4", "2.1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["version"] == version("netwright")
    on = {row["statement"]: row["on"] for row in found["claims"]}
    assert "palindrome on 'abba'" in on["Lemma B.4"]
    assert "'ab'" in on["Definition 2.1"]
    assert main(["claims", "b.4"]) == 0
    assert "(5: palindrome on" in capsys.readouterr().out
