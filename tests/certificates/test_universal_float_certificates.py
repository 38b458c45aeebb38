"""The universal language model proved in floats: one certificate for every machine."""

import random
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from flint import ctx
from hypothesis import given
from hypothesis import strategies as st
from tests.certificates.float_streams import UNROUNDED, Balls, Recorded, damaged, swapped
from tests.certificates.universal_streams import (
    ProvedUniversal,
    argument_of,
    refused_of,
    text_of,
    universal_of,
    with_heads,
)
from tests.repetition import examples, repeated, some
from tests.strategies import machines, words

from netwright.certificates.language_model.boxes import Stream
from netwright.certificates.language_model.checker import Model, prove
from netwright.certificates.language_model.rounding import EXACT, FORMATS
from netwright.certificates.language_model.universal import Universal, prompt_obligations
from netwright.errors import FormatError, InputError
from netwright.exact.layout import Layout
from netwright.kind.language_model.definition import Matrix
from netwright.kind.language_model.universal import UniversalModel, universal_model
from netwright.machine.library import library_machine, library_names
from netwright.machine.turing_machine import Action, Move, TuringMachine

SMALL = universal_model(8, 4, 64)
TINY = universal_model(4, 2, 24)
ONE_STEP = TuringMachine(
    ["s", "t"], ["_", "1"], "_", "s", {("s", "_"): Action("t", "1", Move.R)}, ["t"]
)


def proved_of(model: UniversalModel, dtype: str) -> ProvedUniversal:
    return ProvedUniversal(universal_of(model), argument_of(model), FORMATS[dtype])


def compared(
    proved: ProvedUniversal, model: UniversalModel, dtype: str, tokens: list[int]
) -> list[str]:
    """What of a text and of one with an unknown word is not as it is proved."""
    evaluator, found = Recorded(proved.model, dtype), list[str]()
    run = model.vocabulary.number["<run>"]
    for text in (tokens, *(refused_of(tokens, model, place) for place in (0, 3, -1))):
        streams, logits = evaluator.all_of(text[:-1])
        found += proved.outside(text[:-1], streams)
        found += proved.too_small(text, text.index(run) + 1, logits)
    return found


@pytest.mark.parametrize("dtype", some([*FORMATS][::-1], 1))
def test_every_coordinate_of_every_stream_is_in_its_interval(dtype: str) -> None:
    model = universal_model(16, 8, repeated(1024, 160))
    proved, count = proved_of(model, dtype), 0
    assert proved.proof.holds, proved.proof.tightest
    for name in library_names():
        machine = library_machine(name)
        try:
            tokens = text_of(model, machine, machine.default_input)
        except InputError:
            continue
        count += 1
        assert not compared(proved, model, dtype, tokens), name
    assert count >= 10


PROVED = {dtype: proved_of(SMALL, dtype) for dtype in FORMATS}


@given(st.data(), machines(max_states=6, max_symbols=4), st.sampled_from([*FORMATS]))
@examples(120)
def test_so_it_is_for_random_machines(
    data: st.DataObject, machine: TuringMachine, dtype: str
) -> None:
    try:
        tokens = text_of(SMALL, machine, data.draw(words(machine.symbols)))
    except InputError:
        return
    assert not compared(PROVED[dtype], SMALL, dtype, tokens)


def test_smaller_intervals_would_not_do() -> None:
    """The comparison can fail: a hundredth of a radius is too small for what floats do."""
    proved = proved_of(TINY, "bfloat16")
    for own in proved.boxes.values():
        for key, (stream, n) in own.items():
            box = replace(stream.box, r=stream.box.r / 100)
            own[key] = Stream(box, stream.total / 100, stream.off), n
    tokens = text_of(TINY, ONE_STEP, ())
    streams, _ = Recorded(proved.model, "bfloat16").all_of(tokens[:-1])
    assert list(proved.outside(tokens[:-1], streams))


SIZES = [(16, 8, 2048), (2, 2, 8), (4, 2, 33), (64, 32, 2048), (256, 16, 1024), (16, 8, 65536)]


@pytest.mark.parametrize("size", some(SIZES, 2), ids=str)
def test_models_of_every_size_are_certified_in_all_formats(size: tuple[int, int, int]) -> None:
    model = universal_model(*size)
    for format in FORMATS.values():
        found = prove(universal_of(model), argument_of(model), format)
        assert found.holds, found.tightest
        assert min(each.least for each in found.leads.values()) > 0.4


# -- the exact half -------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(16, 8, 2048), (2, 4, 100), (64, 2, 16)])
def test_without_rounding_leads_are_what_the_construction_says(size: tuple[int, int, int]) -> None:
    model = universal_model(*size)
    about = model.vocabulary
    found = prove(universal_of(model), argument_of(model), EXACT)
    b, steps = (size[2] - 1).bit_length(), about.aq + 8 * about.a_s
    refused = max(5 * b, steps) + 13 - max(4 * b + 1, steps + 3)
    leads = {sort: lead.least for sort, lead in found.leads.items()}
    assert leads == {"step": 2, "address": 2, "end": min(2 * b + 2, refused)}
    assert found.leak == 0


@given(st.data(), machines(max_states=6, max_symbols=4))
@examples(60)
def test_hard_attention_computes_the_exact_streams(
    data: st.DataObject, machine: TuringMachine
) -> None:
    """Every coordinate by the definition, with radius 0 wherever the next token depends on it."""
    proved = ProvedUniversal(universal_of(SMALL), argument_of(SMALL), EXACT)
    assert proved.proof.holds
    try:
        tokens = text_of(SMALL, machine, data.draw(words(machine.symbols)))
    except InputError:
        return
    parts = {"input": "ln_1", "middle": "ln_2"}
    for text in (tokens, refused_of(tokens, SMALL, data.draw(st.integers(0, 50)))):
        streams: dict[str, Any] = {}
        for name, rows in SMALL.network.streams(text).items():
            full = np.zeros((len(rows), proved.model.width))
            full[:, : rows.shape[1]], full[:, -3] = rows, -rows.sum(axis=1)
            full[:, -2:] = proved.model.tensors["transformer.wpe.weight"][0, -2:]
            _, n, part = name.split(".") if "." in name else ("", "", "")
            streams[f"transformer.h.{n}.{parts[part]}" if part else "transformer.ln_f"] = full
        assert not list(proved.outside(text, streams))


def test_float64_and_balls_agree() -> None:
    """With no rounding but its own, the checker's intervals have the model in real numbers."""
    before = ctx.prec
    proved = ProvedUniversal(universal_of(TINY), argument_of(TINY), UNROUNDED)
    assert proved.proof.holds
    try:
        ctx.prec = 200
        for word in ((), ("1",), ("_", "1")):
            tokens = text_of(TINY, ONE_STEP, word)
            for text in (tokens, refused_of(tokens, TINY, 1)):
                assert not list(proved.outside(text[:-1], Balls(proved.model).run(text[:-1])))
    finally:
        ctx.prec = before


# -- damage ---------------------------------------------------------------------------------------


def machine_of(draw: random.Random, states: int, symbols: tuple[str, ...]) -> TuringMachine:
    """A machine with most rules."""
    names = [f"s{n}" for n in range(states)]
    delta = {
        (q, a): Action(draw.choice(names), draw.choice(symbols), draw.choice([Move.L, Move.R]))
        for q in names[:-1]
        for a in symbols
        if draw.random() < 0.8
    }
    return TuringMachine(names, symbols, symbols[0], names[0], delta, names[-1:])


def damage_texts() -> list[list[int]]:
    """Texts of many machines: with halts, ends, empty words, and unknown words."""
    draw, symbols = random.Random(3), SMALL.vocabulary.symbols
    found = []
    for n in range(repeated(24, 5)):
        machine = machine_of(draw, 3 + n % 4, symbols[: 2 + n % 3])
        word = draw.choices(machine.symbols, k=n % 5)
        found.append(text_of(SMALL, machine, word))
    return [*found, *(refused_of(tokens, SMALL, 7 * n) for n, tokens in enumerate(found[:4]))]


TEXTS = damage_texts()


def first_wrong(model: Model, dtype: str) -> str | None:
    """The first wrong token of some texts; None if all are right."""
    evaluator, run = Recorded(model, dtype), SMALL.vocabulary.number["<run>"]
    for tokens in TEXTS:
        _, logits = evaluator.all_of(tokens[:-1])
        for n in range(tokens.index(run) + 1, len(tokens)):
            if int(logits[n - 1].argmax()) != tokens[n]:
                return f"token {n}: {SMALL.vocabulary.texts[tokens[n]]}"
    return None


@pytest.mark.parametrize("dtype", some([*FORMATS][::-1], 1))
def test_no_damaged_model_is_certified_and_wrong(dtype: str) -> None:
    model, about = universal_of(SMALL), argument_of(SMALL)
    assert first_wrong(model, dtype) is None
    draw, certified, wrong = random.Random(f"universal {dtype}"), 0, 0
    count = repeated(300, 24)
    for _ in range(count):
        change, other = damaged(model, draw)
        with np.errstate(all="ignore"):
            holds, first = prove(other, about, FORMATS[dtype]).holds, first_wrong(other, dtype)
        certified, wrong = certified + holds, wrong + (first is not None)
        assert not holds or first is None, change
    assert count / 10 < certified < count
    assert wrong >= repeated(1, 0)


WIRINGS = [
    (0, 0, "Q", "A", "N"), (0, 0, "K", "T", "A"), (0, 0, "V", "s1", "w"),
    (0, 0, "V", "isTape", "isX"), (0, 0, "V", "q1", "VQ"), (0, 0, "V", "m1", "VM"),
    (1, 0, "Q", "q1", "q2"), (1, 0, "Q", "s1", "w"), (1, 0, "K", "s1", "VW"),
    (1, 0, "K", "q1", "VQ"), (1, 0, "V", "VQ", "q1"), (1, 0, "V", "VW", "s1"),
    (1, 0, "V", "VM", "m1"), (1, 0, "V", "isBOS", "isTape"), (1, 0, "K", "isAct", "isS"),
    (1, 0, "K", "isBOS", "isTape"), (1, 0, "Q", "isP", "isS"), (1, 0, "Q", "isTape", "isBOS"),
    (2, 0, "Q", "R", "L"), (2, 0, "Q", "R", "far"), (2, 0, "Q", "R", "N"), (2, 0, "K", "A", "T"),
    (2, 0, "V", "w", "s1"), (2, 0, "V", "w", "VW"), (2, 0, "V", "R", "T"), (2, 0, "V", "R", "L"),
    (2, 0, "V", "R", "far"), (2, 0, "K", "first", "isX"), (2, 0, "K", "first", "isTape"),
    (2, 1, "Q", "L", "R"), (2, 1, "V", "L", "N"), (2, 1, "V", "L", "R"), (2, 1, "V", "w", "s1"),
    (2, 1, "K", "A", "T"), (2, 1, "V", "isUNK", "isX"), (3, 0, "Q", "A", "N"),
    (3, 0, "K", "T", "A"), (3, 0, "V", "FAR", "far"), (3, 0, "V", "FAR", "R"),
    (3, 0, "V", "FAR", "L"),
]  # fmt: skip


@pytest.mark.parametrize("wiring", some(WIRINGS, 13), ids=str)
def test_heads_with_wrong_wires_are_refused(wiring: tuple[int, int, str, str, str]) -> None:
    n, h, part, old, new = wiring
    other = with_heads(SMALL, n, h, swapped(SMALL.network.blocks[n].heads[h], part, old, new))
    for format in (EXACT, FORMATS["float32"]):
        assert not prove(universal_of(other), argument_of(SMALL), format).holds


@pytest.mark.parametrize("block", ["A", "T", "N"])
def test_a_rule_that_is_also_looked_up_by_a_position_is_refused(block: str) -> None:
    """Two tokens have positions of their own: their bits are not the same, as those of keys are."""
    head = SMALL.network.blocks[1].heads[0]
    labels = SMALL.network.stream.labels(block)[:3]
    slots = Layout.of({**dict(head.Q.columns.blocks), "more": labels})
    Q, K = (
        Matrix(each.rows, slots, {**each.entries, **{
            (each.rows.index(block, k), slots.index("more", k)): 1 for k in labels}})
        for each in (head.Q, head.K)
    )  # fmt: skip
    other = with_heads(SMALL, 1, 0, replace(head, Q=Q, K=K))
    for format in (EXACT, FORMATS["float32"]):
        assert not prove(universal_of(other), argument_of(SMALL), format).holds


EXCHANGED = [
    ("wte", "a", "0"), ("wte", "q0:a", "q1:a"), ("wte", "q2:0", "q2:1"),
    ("wte", "0:R:q1", "0:L:q1"), ("wte", "0:R:q1", "1:R:q1"), ("wte", "0:R:q1", "0:R:acc"),
    ("wte", "R:q0:0", "L:q0:0"),
    ("wte", "R:q0:0", "R:q1:0"), ("wte", "R:q0:0", "R:acc:0"), ("wte", "<tape>", "<bos>"),
    ("lm_head", "R:q0:0", "R:q1:0"), ("lm_head", "R:q0:0", "L:q0:0"), ("lm_head", "@3", "@5"),
    ("lm_head", "<accept>", "<halt>"),
]  # fmt: skip


@pytest.mark.parametrize("exchanged", some(EXCHANGED, 5), ids=str)
def test_two_tokens_exchanged_are_refused(exchanged: tuple[str, str, str]) -> None:
    name, one, other = exchanged
    model = universal_of(SMALL)
    place = f"transformer.{name}.weight" if name == "wte" else f"{name}.weight"
    tensor, rows = model.tensors[place].copy(), [model.tokens[one], model.tokens[other]]
    tensor[rows] = tensor[rows[::-1]]
    changed = replace(model, tensors={**model.tensors, place: tensor})
    for format in (EXACT, FORMATS["float32"]):
        assert not prove(changed, argument_of(SMALL), format).holds


# -- prompts --------------------------------------------------------------------------------------


def read_by_hand(prompt: list[str]) -> TuringMachine | None:
    """The machine in a prompt, by one regular expression; None if it is none."""
    about = SMALL.vocabulary
    symbol = f"({'|'.join(map(re.escape, about.symbols))})"
    rule = f"(q[0-6]):{symbol} {symbol}:([RL]):(q[0-6]|acc) "
    whole = re.fullmatch(f"(?:{rule})*<tape>(?: {symbol})*", " ".join(prompt))
    rules = re.findall(rule, " ".join(prompt))
    if whole is None or len({each[:2] for each in rules}) < len(rules):
        return None
    if len(prompt) + 2 >= about.context:
        return None
    delta = {(q, a): Action(p, w, Move(m)) for q, a, w, m, p in rules}
    return TuringMachine(about.states, about.symbols, about.symbols[0], "q0", delta, ["acc"])


@st.composite
def prompts(draw: st.DrawFn) -> list[str]:
    """Prompts with up to two faults in them."""
    about = SMALL.vocabulary
    keys = draw(st.lists(st.sampled_from(about.keys), max_size=6, unique=True))
    found = []
    for q, a in keys:
        found += [f"{q}:{a}", ":".join(draw(st.sampled_from(about.actions)))]
    found += ["<tape>", *draw(st.lists(st.sampled_from(about.symbols), max_size=4))]
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        place = draw(st.integers(0, max(0, len(found) - 1)))
        other = draw(st.sampled_from([*about.texts[:60], "q9:0", "what", *found]))
        kind = draw(st.sampled_from(["drop", "put", "add", "exchange"]))
        if kind == "drop":
            found[place : place + 1] = []
        elif kind == "put":
            found[place : place + 1] = [other]
        elif kind == "add":
            found.insert(place, other)
        else:
            found[place : place + 2] = reversed(found[place : place + 2])
    return found


@given(prompts())
@examples(400)
def test_prompts_that_pass_are_machines_and_the_model_runs_them(prompt: list[str]) -> None:
    failures = [each.failure for each in prompt_obligations(argument_of(SMALL), prompt, 64)]
    machine = read_by_hand(prompt)
    assert (machine is None) == any(failures)
    if machine is None:
        return
    tokens = text_of(SMALL, machine, prompt[prompt.index("<tape>") + 1 :])
    texts = [SMALL.vocabulary.texts[token] for token in tokens]
    run = texts.index("<run>")
    assert sorted(texts[1:run]) == sorted(prompt)
    own = [SMALL.vocabulary.number[word] for word in ("<bos>", *prompt, "<run>")]
    _, logits = Recorded(universal_of(SMALL), "bfloat16").all_of([*own, *tokens[run + 1 : -1]])
    assert logits[run:].argmax(axis=1).tolist() == tokens[run + 1 :]


@pytest.mark.parametrize(
    ("prompt", "failure"),
    [
        ("q0:# 0:R:q1 q0:# 1:L:q0 <tape>", "token 3: 'q0:#' has a rule already, at token 1"),
        ("q0:# 0:R:q1 0:R:q1 <tape>", "token 3: '0:R:q1' where a key is expected"),
        ("q0:# <tape> a", "token 2: 'q0:#' is a key without an action"),
        ("q0:# 0:R:q1 a", "token 3: 'a' where a key is expected"),
        ("q0:# 0:R:q1", "token 3: the prompt ends where <tape> is expected"),
        ("<tape> a q0:a", "token 3: 'q0:a' where a letter is expected"),
        ("<tape> a <tape>", "token 3: '<tape>' where a letter is expected"),
        ("<tape> x y", "token 2: 'x' is no token of a prompt; it becomes <unk>, and halts the run"),
        ("acc:a 0:R:q1 <tape>", "token 1: 'acc:a' is no token of a prompt"),
        ("<bos> <tape> a", "token 1: <bos> is what the tokenizer adds"),
        ("<tape> a <run>", "token 3: <run> is what the tokenizer adds"),
        ("<tape>" + " a" * 61, "token 62: 62 tokens, <bos> and <run> leave no room in 64"),
    ],
)
def test_a_prompt_is_told_where_it_fails(prompt: str, failure: str) -> None:
    found = prompt_obligations(argument_of(SMALL), prompt.split(), 64)
    assert any(failure in (each.failure or "") for each in found), found


def test_two_rules_for_one_key_are_not_proved_and_go_wrong() -> None:
    """What is asked of prompts is needed: the model takes a mean of both rules."""
    prompt = ["q0:#", "0:R:q1", "q0:#", "1:L:q2", "<tape>"]
    number = SMALL.vocabulary.number
    tokens = [number[word] for word in ("<bos>", *prompt, "<run>", "R:q0:#", f"@{len(prompt) + 1}")]
    _, logits = Recorded(universal_of(SMALL), "float32").all_of(tokens)
    first, second = np.sort(logits[-1])[::-1][:2]
    assert first - second < 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"R:q0:a": None}, "tokens for"),
        ({"L:q1:a": None}, "it has no token 'L:q1:a'"),
        ({"q1:a": None}, "it has no token 'q1:a'"),
        ({"<halt>": None}, "it has no token '<halt>'"),
        ({"#": None}, "it has no token '#'"),
    ],
)
def test_tokens_of_other_models_are_refused(change: dict[str, int | None], message: str) -> None:
    tokens: dict[str, Any] = {**universal_of(SMALL).tokens, **change}
    with pytest.raises(FormatError, match=re.escape(message)):
        Universal.of({text: n for text, n in tokens.items() if n is not None}, "it")
