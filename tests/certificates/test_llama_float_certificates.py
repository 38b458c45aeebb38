"""Llama proved in floats: sound on what runs compute, and against damage."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_mat, ctx
from hypothesis import given
from tests.certificates.float_streams import damaged
from tests.certificates.llama_streams import Proved, Recorded, model_of, names_of, texts
from tests.certificates.test_float_certificates import other_rules
from tests.repetition import examples, repeated, some
from tests.strategies import machines

from netwright.certificates.language_model.llama.forward import LlamaModel, prove_llama
from netwright.certificates.language_model.llama.waves import Waves
from netwright.certificates.language_model.rounding import EXACT, FORMATS
from netwright.kind.language_model.llama.construction import CompiledLlama, compile_llama
from netwright.kind.language_model.llama.parts import look_back
from netwright.kind.language_model.llama.phases import Phases
from netwright.kind.language_model.text import Start
from netwright.machine.library import library_machine, library_names
from netwright.machine.turing_machine import TuringMachine


def compared(machine: TuringMachine, context: int, dtype: str) -> tuple[int, list[str]]:
    """How many tokens were compared, and what is not as it is proved."""
    model = model_of(machine, context)
    proved = Proved(model, names_of(machine), FORMATS[dtype])
    assert proved.proof.holds, proved.proof.tightest
    evaluator, count, wrong = Recorded(model, dtype), 0, list[str]()
    for text in texts(machine, context):
        streams, logits = evaluator.all_of(text.tokens[:-1])
        wrong += proved.outside(text.tokens[:-1], streams)
        wrong += proved.too_small(text, logits)
        count += len(text.tokens)
    return count, wrong


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("name", some(["palindrome", "busy-beaver-4", *library_names()], 2))
def test_every_coordinate_of_every_stream_is_in_its_interval(name: str, dtype: str) -> None:
    count, wrong = compared(library_machine(name), repeated(512, 64), dtype)
    assert count > 20
    assert not wrong


@given(machines())
@examples(30)
def test_so_it_is_for_random_machines(machine: TuringMachine) -> None:
    assert not compared(machine, 56, "float16")[1]


def test_smaller_intervals_would_not_do() -> None:
    """The comparison can fail: a hundredth of a radius is too small for what floats do."""
    machine = library_machine("busy-beaver-2")
    model = model_of(machine, 64)
    proved = Proved(model, names_of(machine), FORMATS["bfloat16"])
    for own in proved.boxes.values():
        for key, (box, n) in own.items():
            own[key] = replace(box, r=box.r / 100), n
    text = next(texts(machine, 64, [Start(())]))
    streams, _ = Recorded(model, "bfloat16").all_of(text.tokens)
    assert list(proved.outside(text.tokens, streams))


@pytest.mark.parametrize("name", some(library_names(), 3))
def test_the_library_is_certified_in_all_formats(name: str) -> None:
    machine = library_machine(name)
    model, names = model_of(machine, repeated(2048, 128)), names_of(machine)
    for format in (EXACT, *FORMATS.values()):
        found = prove_llama(model, names, format)
        assert found.holds, found.tightest
        assert found.leads["address"].least > 0.8
        assert found.leads["step"].least > 1.9


@pytest.mark.thorough
def test_a_context_of_65536_in_all_formats() -> None:
    machine = library_machine("busy-beaver-5")
    model, names = model_of(machine, 1 << 16), names_of(machine)
    assert all(prove_llama(model, names, format).holds for format in FORMATS.values())


def test_without_rounding_hardly_any_lead_is_lost() -> None:
    """2 between steps and between addresses, 4 for the end; attention is soft, and norms norms."""
    machine = library_machine("palindrome")
    found = prove_llama(model_of(machine, 256), names_of(machine), EXACT)
    leads = {sort: lead.least for sort, lead in found.leads.items()}
    least = {"step": 1.99, "address": 1.98, "end": 3.94}
    assert all(leads[sort] >= least[sort] for sort in least), leads


# -- float64 itself -------------------------------------------------------------------------------


class Balls:
    """A Llama in real numbers, as balls of 200 bits: no rounding but the balls' own."""

    def __init__(self, model: LlamaModel) -> None:
        self.model = model
        self.streams: dict[str, Any] = {}

    def affine(self, x: arb_mat, name: str) -> arb_mat:
        weight = self.model.tensors[f"{name}.weight"].astype(float)
        read = np.flatnonzero(weight.any(axis=0)) if weight.any() else np.zeros(1, int)
        rows = arb_mat([[row[d] for d in read] for row in x.table()])
        return rows * arb_mat(weight[:, read].T.tolist())

    def norm(self, x: arb_mat, name: str) -> arb_mat:
        self.streams[name] = np.array([[float(a.mid()) for a in row] for row in x.table()])
        weight, found = self.model.tensors[f"{name}.weight"].astype(float).tolist(), []
        for row in x.table():
            squares = sum((a * a for a in row), arb(0)) / len(row)
            scale = 1 / (squares + arb(self.model.epsilon)).sqrt()
            found.append([a * scale * w for a, w in zip(row, weight, strict=True)])
        return arb_mat(found)

    def turned(self, x: arb_mat) -> arb_mat:
        found = []
        for i, row in enumerate(x.table()):
            new = list(row)
            for j in range(32):
                angle = i * (arb(self.model.theta).log() * -j / 32).exp()
                a, b = row[j], row[j + 32]
                new[j] = a * angle.cos() - b * angle.sin()
                new[j + 32] = b * angle.cos() + a * angle.sin()
            found.append(new)
        return arb_mat(found)

    def run(self, tokens: list[int]) -> dict[str, Any]:
        rows = self.model.tensors["model.embed_tokens.weight"][tokens].astype(float)
        x = arb_mat(rows.tolist())
        for n in range(self.model.blocks):
            place = f"model.layers.{n}"
            y = self.norm(x, f"{place}.input_layernorm")
            q, k, v = (self.affine(y, f"{place}.self_attn.{part}_proj") for part in "qkv")
            scores, out = self.turned(q) * self.turned(k).transpose(), []
            for i in range(len(tokens)):
                weights = [(scores[i, j] / 8).exp() for j in range(i + 1)]
                total, values = sum(weights, arb(0)), v.table()
                out.append([
                    sum((w * values[j][d] for j, w in enumerate(weights)), arb(0)) / total
                    for d in range(v.ncols())
                ])  # fmt: skip
            x = x + self.affine(arb_mat(out), f"{place}.self_attn.o_proj")
            y = self.norm(x, f"{place}.post_attention_layernorm")
            gate, up = (self.affine(y, f"{place}.mlp.{part}_proj") for part in ("gate", "up"))
            hidden = [
                [g / (1 + (-g).exp()) * u for g, u in zip(*both, strict=True)]
                for both in zip(gate.table(), up.table(), strict=True)
            ]
            x = x + self.affine(arb_mat(hidden), f"{place}.mlp.down_proj")
        self.norm(x, "model.norm")
        return self.streams


def test_float64_and_balls_agree() -> None:
    """With no rounding but its own, the checker's intervals have the model in real numbers."""
    machine = library_machine("busy-beaver-2")
    model, before = model_of(machine, 64), ctx.prec
    proved = Proved(model, names_of(machine), EXACT)
    assert proved.proof.holds
    try:
        ctx.prec = 200
        for text in texts(machine, 64, [Start(("1",), ("0",), "B")]):
            tokens = text.tokens[: repeated(40, 9)]
            assert not list(proved.outside(tokens, Balls(model).run(tokens)))
    finally:
        ctx.prec = before


# -- damage ---------------------------------------------------------------------------------------


def first_wrong(model: LlamaModel, machine: TuringMachine, dtype: str) -> str | None:
    """The first wrong token of texts from words, and of resumed ones; None if all are right."""
    letters, states = machine.symbols, machine.states
    words = [Start((a, b)) for a in letters for b in letters]
    more = [Start((a,), (letters[0], a), q) for q in states for a in letters]
    evaluator, often = Recorded(model, dtype), repeated(1, 4)
    starts = [Start(()), *words[1::often], *more[::often]]
    for text in texts(machine, model.context, starts):
        _, logits = evaluator.all_of(text.tokens[:-1])
        for n in range(text.prompt, len(text.tokens)):
            if int(logits[n - 1].argmax()) != text.tokens[n]:
                return f"token {n} of {text.tokens}"
    return None


@pytest.mark.parametrize("dtype", some([*FORMATS][::-1], 1))
def test_no_damaged_model_is_certified_and_wrong(dtype: str) -> None:
    machine = library_machine("busy-beaver-4" if repeated(1, 0) else "busy-beaver-2")
    model, names = model_of(machine, repeated(256, 48)), names_of(machine)
    draw, certified = random.Random(dtype), 0
    count = repeated(300, 8)
    for _ in range(count):
        change, other = damaged(model, draw)
        with np.errstate(all="ignore"):
            if prove_llama(other, names, FORMATS[dtype]).holds:
                certified += 1
                assert first_wrong(other, machine, dtype) is None, change
    assert count / 10 < certified < count


Wiring = Callable[[CompiledLlama, Phases], dict[int, Any]]
WIRINGS: dict[str, tuple[int, dict[str, str], int | str]] = {
    "two back in block 0": (0, {"q1": "Q1", "s1": "S1", "m1": "M1"}, 2),
    "OPP for SEL": (2, {"w": "Ys", "OPP": "OP"}, "OPP"),
    "R for SEL": (2, {"w": "Ys", "OPP": "OP"}, "R"),
    "L for SEL": (2, {"w": "Ys", "OPP": "OP"}, "L"),
    "one back for SEL": (2, {"w": "Ys", "OPP": "OP"}, 1),
    "SEL for what is found": (2, {"w": "Ys", "SEL": "OP"}, "SEL"),
    "R for what is found": (2, {"w": "Ys", "R": "OP"}, "SEL"),
    "L for what is found": (2, {"w": "Ys", "L": "OP"}, "SEL"),
    "s1 for w": (2, {"S1": "Ys", "OPP": "OP"}, "SEL"),
    "SEL for FAR": (3, {"SEL": "FAR"}, 1),
    "OP for FAR": (3, {"OP": "FAR"}, 1),
    "two back in block 3": (3, {"FAR": "FAR"}, 2),
}


@pytest.mark.parametrize("wiring", some(list(WIRINGS), 4))
def test_heads_with_wrong_wires_are_refused(wiring: str) -> None:
    n, carried, offset = WIRINGS[wiring]
    machine = library_machine("busy-beaver-2")
    compiled = compile_llama(machine, 64)
    network, phases = compiled.network, Phases(64)
    blocks = list(network.blocks)
    head = look_back(network.stream, f"block.{n}.head.0", phases, carried, offset)
    blocks[n] = replace(blocks[n], heads=(head,))
    other = replace(compiled, network=replace(network, blocks=tuple(blocks)))
    model = replace(model_of(machine, 64), tensors=other.weights().tensors)
    for format in (EXACT, FORMATS["float32"]):
        assert not prove_llama(model, names_of(machine), format).holds


def test_other_machines_are_refused() -> None:
    machine = library_machine("busy-beaver-4")
    model, count = model_of(machine, 64), 0
    for other in list(other_rules(machine))[: repeated(30, 5)]:
        names = names_of(other)
        if not {*names.texts} <= {*model.tokens}:
            continue
        count += 1
        assert not prove_llama(model, names, EXACT).holds
        assert not prove_llama(model, names, FORMATS["float32"]).holds
    assert count >= 3


def test_partners_need_not_be_exact_nor_alike() -> None:
    """A product of two units that are not quite each other's negatives has a wider interval."""
    machine = library_machine("busy-beaver-2")
    model = model_of(machine, 64)
    tensors = dict(model.tensors)
    name = "model.layers.2.mlp.gate_proj.weight"
    gate = tensors[name].copy()
    unit = int(np.flatnonzero(gate.any(axis=1))[-1])
    gate[unit] *= np.float32(1.01)
    near = replace(model, tensors=tensors | {name: gate})
    leads = [
        prove_llama(each, names_of(machine), FORMATS["float32"]).leads["address"].least
        for each in (model, near)
    ]
    assert 0 < leads[1] < leads[0]


def test_stored_partial_sums_cost_leads() -> None:
    machine = library_machine("busy-beaver-5")
    model, names = model_of(machine, 128), names_of(machine)
    found = [prove_llama(model, names, FORMATS["float16"], parts) for parts in (0, 1, 2, 4)]
    leads = [each.leads["address"].least for each in found]
    assert leads == sorted(leads, reverse=True)
    assert found[1].holds
    assert not prove_llama(model, names, FORMATS["bfloat16"], 64).holds


def test_waves_of_constants_are_read_as_they_are() -> None:
    rows = np.array([[1.0, -2.0]])
    assert (Waves.constant(rows).size == np.abs(rows)).all()
