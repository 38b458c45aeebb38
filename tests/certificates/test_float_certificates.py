"""Language models proved in floats: sound on what runs compute, and against damage."""

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import ctx
from hypothesis import given
from tests.certificates.float_streams import (
    UNROUNDED,
    Balls,
    Proved,
    Recorded,
    damaged,
    model_of,
    names_of,
    prompt_length,
    starts_of,
    swapped,
    texts_of,
    written_by_model,
)
from tests.repetition import examples, repeated, some
from tests.strategies import machines

import netwright
from netwright.certificates.language_model.boxes import Stream
from netwright.certificates.language_model.checker import Model, prove
from netwright.certificates.language_model.rounding import EXACT, FORMATS
from netwright.kind.language_model.construction import compile_language_model
from netwright.kind.language_model.text import Start
from netwright.kind.language_model.vocabulary import Vocabulary
from netwright.machine.library import library_machine, library_names
from netwright.machine.turing_machine import Action, TuringMachine


def compared(machine: TuringMachine, context: int, dtype: str) -> tuple[int, list[str]]:
    """How many tokens were compared, and what is not as it is proved."""
    model = model_of(machine, context)
    proved = Proved(model, names_of(machine), FORMATS[dtype])
    assert proved.proof.holds, proved.proof.tightest
    evaluator, count, wrong = Recorded(model, dtype), 0, list[str]()
    for tokens in texts_of(Vocabulary.of(machine, context), starts_of(machine, context)):
        streams, logits = evaluator.all_of(tokens[:-1])
        wrong += proved.outside(tokens[:-1], streams)
        wrong += proved.too_small(tokens, written_by_model(proved, tokens), logits)
        count += len(tokens)
    return count, wrong


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("name", some(["palindrome", "busy-beaver-4", *library_names()], 2))
def test_every_coordinate_of_every_stream_is_in_its_interval(name: str, dtype: str) -> None:
    count, wrong = compared(library_machine(name), repeated(512, 64), dtype)
    assert count > 20
    assert not wrong


@given(machines())
@examples(40)
def test_so_it_is_for_random_machines(machine: TuringMachine) -> None:
    assert not compared(machine, 24, "float16")[1]


def test_smaller_intervals_would_not_do() -> None:
    """The comparison can fail: a hundredth of a radius is too small for what floats do."""
    machine = library_machine("busy-beaver-2")
    model = model_of(machine, 64)
    proved = Proved(model, names_of(machine), FORMATS["bfloat16"])
    for own in proved.boxes.values():
        for key, (stream, n) in own.items():
            box = replace(stream.box, r=stream.box.r / 100)
            own[key] = Stream(box, stream.total / 100, stream.off), n
    tokens = next(texts_of(Vocabulary.of(machine, 64), [Start(())]))
    streams, _ = Recorded(model, "bfloat16").all_of(tokens)
    assert list(proved.outside(tokens, streams))


@pytest.mark.parametrize("name", some(library_names(), 3))
def test_the_library_is_certified_in_all_formats(name: str) -> None:
    machine = library_machine(name)
    model, names = model_of(machine, repeated(2048, 128)), names_of(machine)
    for format in FORMATS.values():
        found = prove(model, names, format)
        assert found.holds, found.tightest
        assert found.leads["address"].least > 1
        assert found.leads["step"].least > 1


@pytest.mark.thorough
def test_a_context_of_65536_in_all_formats() -> None:
    machine = library_machine("busy-beaver-5")
    model, names = model_of(machine, 1 << 16), names_of(machine)
    assert all(prove(model, names, format).holds for format in FORMATS.values())


# -- the exact half -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", some(library_names(), 3))
def test_without_rounding_leads_are_what_the_construction_says(name: str) -> None:
    machine, context = library_machine(name), repeated(2048, 100)
    found = prove(model_of(machine, context), names_of(machine), EXACT)
    b = (context - 1).bit_length()
    assert {sort: lead.least for sort, lead in found.leads.items()} == {
        "step": 2,
        "address": 2,
        **({"end": 2 * b - 2} if "end" in found.leads else {}),
    }
    assert found.leak == 0


@given(machines())
@examples(40)
def test_hard_attention_computes_the_exact_streams(machine: TuringMachine) -> None:
    """Every coordinate by the definition, with radius 0 wherever the next token depends on it."""
    context = 24
    proved = Proved(model_of(machine, context), names_of(machine), EXACT)
    assert proved.proof.holds
    network = compile_language_model(machine, context).network
    parts = {"input": "ln_1", "middle": "ln_2"}
    for tokens in texts_of(Vocabulary.of(machine, context), starts_of(machine, context)):
        streams: dict[str, Any] = {}
        width = proved.model.width
        for name, rows in network.streams(tokens).items():
            full = np.zeros((len(rows), width))
            full[:, : rows.shape[1]], full[:, -3] = rows, -rows.sum(axis=1)
            steady = proved.model.tensors["transformer.wpe.weight"][0, -2:]
            full[:, -2:] = steady
            _, n, part = name.split(".") if "." in name else ("", "", "")
            streams[f"transformer.h.{n}.{parts[part]}" if part else "transformer.ln_f"] = full
        assert not list(proved.outside(tokens, streams))


# -- float64 itself -------------------------------------------------------------------------------


def test_float64_and_balls_agree() -> None:
    """With no rounding but its own, the checker's intervals have the model in real numbers."""
    machine = library_machine("busy-beaver-2")
    model, before = model_of(machine, 16), ctx.prec
    proved = Proved(model, names_of(machine), UNROUNDED)
    assert proved.proof.holds
    try:
        ctx.prec = 200
        starts = [Start(()), Start(("1",), ("0",), "B")]
        for tokens in texts_of(Vocabulary.of(machine, 16), starts):
            assert not list(proved.outside(tokens, Balls(model).run(tokens)))
    finally:
        ctx.prec = before
    # How much of the intervals is the checker's own: layer norms leave some 10⁻³, sums 10⁻¹⁰.
    stream, n = proved.boxes["transformer.h.0.ln_1"]["step", "R", "A", "0"]
    assert stream.box.r[n, :-3].max() < 1e-9


# -- damage ---------------------------------------------------------------------------------------


def first_wrong(model: Model, machine: TuringMachine, dtype: str) -> str | None:
    """The first wrong token of texts from words, and of resumed ones; None if all are right."""
    vocabulary = Vocabulary.of(machine, model.context)
    words = [Start((a, b)) for a in vocabulary.symbols for b in vocabulary.symbols]
    more = [
        Start((a,), (vocabulary.symbols[0], a), q)
        for q in vocabulary.machine.states
        for a in vocabulary.symbols
    ]
    evaluator = Recorded(model, dtype)
    texts = {number: text for text, number in model.tokens.items()}
    often = repeated(1, 4)
    for tokens in texts_of(vocabulary, [Start(()), *words[1::often], *more[::often]]):
        _, logits = evaluator.all_of(tokens[:-1])
        first = prompt_length([texts[token] for token in tokens])
        for n in range(first, len(tokens)):
            if int(logits[n - 1].argmax()) != tokens[n]:
                return f"token {n}: {texts[tokens[n]]}"
    return None


@pytest.mark.parametrize("dtype", some([*FORMATS][::-1], 1))
def test_no_damaged_model_is_certified_and_wrong(dtype: str) -> None:
    machine = library_machine("busy-beaver-4" if repeated(1, 0) else "busy-beaver-2")
    model, names = model_of(machine, repeated(256, 24)), names_of(machine)
    draw, certified = random.Random(dtype), 0
    count = repeated(300, 30)
    for _ in range(count):
        change, other = damaged(model, draw)
        with np.errstate(all="ignore"):
            if prove(other, names, FORMATS[dtype]).holds:
                certified += 1
                assert first_wrong(other, machine, dtype) is None, change
    assert count / 10 < certified < count


WIRINGS = [
    (0, 0, "Q", "A", "T"), (0, 0, "Q", "A", "N"), (0, 0, "K", "T", "A"), (0, 0, "K", "T", "N"),
    (0, 0, "Q", "A", "far"), (1, 0, "Q", "R", "L"), (1, 0, "Q", "R", "A"), (1, 0, "Q", "R", "N"),
    (1, 0, "Q", "R", "far"), (1, 0, "K", "A", "T"), (1, 0, "K", "A", "N"), (1, 0, "V", "R", "T"),
    (1, 0, "V", "R", "A"), (1, 0, "V", "R", "N"), (1, 0, "V", "R", "far"), (1, 0, "V", "R", "L"),
    (1, 1, "Q", "L", "R"), (1, 1, "Q", "L", "A"), (1, 1, "V", "L", "R"), (1, 1, "V", "L", "N"),
    (1, 1, "V", "L", "far"), (1, 1, "K", "A", "T"), (2, 0, "V", "FAR", "R"),
    (2, 0, "V", "FAR", "L"), (2, 0, "V", "FAR", "far"), (2, 0, "V", "FAR", "A"),
    (2, 0, "Q", "A", "N"), (2, 0, "K", "T", "A"),
]  # fmt: skip


@pytest.mark.parametrize("wiring", some(WIRINGS, 9), ids=str)
def test_heads_with_wrong_wires_are_refused(wiring: tuple[int, int, str, str, str]) -> None:
    n, h, part, old, new = wiring
    machine = library_machine("busy-beaver-2")
    compiled = compile_language_model(machine, 32)
    blocks = list(compiled.network.blocks)
    heads = list(blocks[n].heads)
    heads[h] = swapped(heads[h], part, old, new)
    blocks[n] = replace(blocks[n], heads=tuple(heads))
    other = replace(compiled, network=replace(compiled.network, blocks=tuple(blocks)))
    model = replace(model_of(machine, 32), tensors=other.weights().tensors)
    for format in (EXACT, FORMATS["float32"]):
        assert not prove(model, names_of(machine), format).holds


def other_rules(machine: TuringMachine) -> Iterator[TuringMachine]:
    """The machine with one rule changed, but with the same tokens."""
    for (q, a), action in machine.delta.items():
        for state in machine.states:
            changed = Action(state, action.write, action.move)
            if state != action.state and any(
                (each.state, each.move) == (state, action.move) for each in machine.delta.values()
            ):
                yield replace(machine, delta={**machine.delta, (q, a): changed})


@pytest.mark.parametrize("exact", [True, False])
def test_other_machines_are_refused(exact: bool) -> None:
    machine = library_machine("busy-beaver-4")
    model, count = model_of(machine, 64), 0
    for other in list(other_rules(machine))[: repeated(30, 5)]:
        names = names_of(other)
        if not {*names.texts} <= {*model.tokens}:
            continue
        count += 1
        assert not prove(model, names, EXACT if exact else FORMATS["float32"]).holds
    assert count >= 3


def test_stored_partial_sums_cost_leads() -> None:
    machine = library_machine("busy-beaver-5")
    model, names = model_of(machine, repeated(1024, 128)), names_of(machine)
    found = [prove(model, names, FORMATS["float16"], parts) for parts in (0, 1, 2, 4)]
    leads = [each.leads["address"].least for each in found]
    assert leads == sorted(leads, reverse=True)
    assert found[2].holds
    assert not prove(model, names, FORMATS["bfloat16"], 64).holds


# -- what it is independent of --------------------------------------------------------------------


def test_the_checker_imports_nothing_of_the_construction_or_the_export() -> None:
    folder = Path(netwright.__file__).parent / "certificates"
    allowed = {"certificates", "errors", "files", "text"}
    for path in (folder / "language_model").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        found = set(re.findall(r"^(?:from|import) netwright\.(\w+)", text, re.M))
        assert found <= allowed, path
