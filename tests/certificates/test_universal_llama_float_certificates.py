"""The universal Llama proved in floats: one certificate for every machine."""

import random
import re
from dataclasses import replace

import numpy as np
import pytest
from flint import ctx
from hypothesis import given
from hypothesis import strategies as st
from tests.certificates.float_streams import damaged, swapped
from tests.certificates.llama_streams import Recorded, Text
from tests.certificates.test_llama_float_certificates import Balls
from tests.certificates.test_universal_float_certificates import machine_of
from tests.certificates.universal_llama_streams import (
    ProvedUniversal,
    argument_of,
    model_of,
    text_of,
)
from tests.repetition import examples, repeated, some
from tests.strategies import machines, words

from netwright.certificates.language_model.llama.forward import LlamaModel, prove_llama
from netwright.certificates.language_model.llama.universal import LlamaUniversal
from netwright.certificates.language_model.rounding import EXACT, FORMATS
from netwright.certificates.language_model.universal import prompt_obligations
from netwright.errors import FormatError, InputError
from netwright.kind.language_model.definition import Head
from netwright.kind.language_model.llama.parts import look_back
from netwright.kind.language_model.llama.phases import Phases
from netwright.kind.language_model.llama.universal import universal_llama
from netwright.machine.library import library_machine, library_names
from netwright.machine.turing_machine import Action, Move, TuringMachine

SMALL = universal_llama(8, 4, 64)
MODEL, ABOUT = model_of(SMALL), argument_of(SMALL)
PROVED = {dtype: ProvedUniversal(MODEL, ABOUT, FORMATS[dtype]) for dtype in FORMATS}


def compared(proved: ProvedUniversal, dtype: str, text: Text) -> list[str]:
    """What of a text is not as it is proved."""
    streams, logits = Recorded(proved.model, dtype).all_of(text.tokens[:-1])
    return [*proved.outside(text.tokens[:-1], streams), *proved.too_small(text, logits)]


@pytest.mark.parametrize("dtype", some([*FORMATS][::-1], 1))
def test_every_coordinate_of_every_stream_is_in_its_interval(dtype: str) -> None:
    universal = universal_llama(16, 8, repeated(1024, 160))
    proved, count = ProvedUniversal(model_of(universal), argument_of(universal), FORMATS[dtype]), 0
    assert proved.proof.holds, proved.proof.tightest
    for name in library_names():
        machine = library_machine(name)
        try:
            text = text_of(universal, machine, machine.default_input)
        except InputError:
            continue
        count += 1
        assert not compared(proved, dtype, text), name
    assert count >= 10


@given(st.data(), machines(max_states=6, max_symbols=4), st.sampled_from([*FORMATS]))
@examples(120)
def test_so_it_is_for_random_machines_begun_anywhere(
    data: st.DataObject, machine: TuringMachine, dtype: str
) -> None:
    """In any state that does not accept, with cells left of the head."""
    word, left = (data.draw(words(machine.symbols)) for _ in range(2))
    working = [q for q in machine.states if q not in machine.accepting]
    if not working:
        return
    state = data.draw(st.sampled_from(working))
    try:
        text = text_of(SMALL, machine, word, left, state)
    except (InputError, KeyError):  # too many states, or one that accepts is the first
        return
    if text.prompt < SMALL.context:
        assert not compared(PROVED[dtype], dtype, text)


def test_smaller_intervals_would_not_do() -> None:
    """The comparison can fail: a hundredth of a radius is too small for what floats do."""
    proved = ProvedUniversal(MODEL, ABOUT, FORMATS["bfloat16"])
    for own in proved.boxes.values():
        for key, (box, n) in own.items():
            own[key] = replace(box, r=box.r / 100), n
    text = text_of(SMALL, library_machine("busy-beaver-2"), ())
    streams, _ = Recorded(MODEL, "bfloat16").all_of(text.tokens[:-1])
    assert list(proved.outside(text.tokens[:-1], streams))


SIZES = [(16, 8, 2048), (2, 2, 64), (4, 2, 100), (64, 32, 2048), (256, 16, 1024), (16, 8, 32768)]


@pytest.mark.parametrize("size", some(SIZES, 2), ids=str)
def test_models_of_every_size_are_certified_in_all_formats(size: tuple[int, int, int]) -> None:
    universal = universal_llama(*size)
    model, about = model_of(universal), argument_of(universal)
    assert LlamaUniversal.of(model.tokens, "it") == about
    for format in (EXACT, *FORMATS.values()):
        found = prove_llama(model, about, format)
        assert found.holds, found.tightest
        assert min(each.least for each in found.leads.values()) > 0.7


def test_without_rounding_hardly_any_lead_is_lost() -> None:
    """2 between steps and between addresses, 4 for the end; attention is soft, and norms norms."""
    leads = {sort: lead.least for sort, lead in prove_llama(MODEL, ABOUT, EXACT).leads.items()}
    least = {"step": 1.99, "address": 1.98, "end": 3.94}
    assert all(leads[sort] >= least[sort] for sort in least), leads


def test_float64_and_balls_agree() -> None:
    """With no rounding but its own, the checker's intervals have the model in real numbers."""
    before, proved = ctx.prec, ProvedUniversal(MODEL, ABOUT, EXACT)
    machine = TuringMachine(
        ["s", "t"], ["_", "1"], "_", "s", {("s", "_"): Action("t", "1", Move.R)}, ["t"]
    )
    try:
        ctx.prec = 200
        for word in ((), ("1",), ("_", "1"))[: repeated(3, 1)]:
            tokens = text_of(SMALL, machine, word, word).tokens[:-1]
            assert not list(proved.outside(tokens, Balls(MODEL).run(tokens)))
    finally:
        ctx.prec = before


# -- damage ---------------------------------------------------------------------------------------


def damage_texts() -> list[Text]:
    """Texts of many machines: with halts, ends, empty words, and cells to the left."""
    draw, symbols, found = random.Random(3), SMALL.vocabulary.symbols, []
    for n in range(repeated(24, 6)):
        machine = machine_of(draw, 3 + n % 4, symbols[: 2 + n % 3])
        word, left = (draw.choices(machine.symbols, k=(n + k) % 4) for k in range(2))
        found.append(text_of(SMALL, machine, word, left if n % 2 else ()))
    return found


TEXTS = damage_texts()


def first_wrong(model: LlamaModel, dtype: str) -> str | None:
    """The first wrong token of some texts; None if all are right."""
    evaluator = Recorded(model, dtype)
    for text in TEXTS:
        _, logits = evaluator.all_of(text.tokens[:-1])
        for n in range(text.prompt, len(text.tokens)):
            if int(logits[n - 1].argmax()) != text.tokens[n]:
                return f"token {n}: {SMALL.vocabulary.texts[text.tokens[n]]}"
    return None


@pytest.mark.parametrize("dtype", some([*FORMATS][::-1], 1))
def test_no_damaged_model_is_certified_and_wrong(dtype: str) -> None:
    assert first_wrong(MODEL, dtype) is None
    draw, certified = random.Random(f"universal llama {dtype}"), 0
    count = repeated(300, 10)
    for _ in range(count):
        change, other = damaged(MODEL, draw)
        assert isinstance(other, LlamaModel)
        with np.errstate(all="ignore"):
            if prove_llama(other, ABOUT, FORMATS[dtype]).holds:
                certified += 1
                assert first_wrong(other, dtype) is None, change
    assert count / 10 < certified < repeated(count, count + 1)


WIRINGS = [
    (0, "V", "q1", "VQ"), (0, "V", "s1", "w"), (0, "V", "m1", "VM"), (0, "V", "m1", "M1"),
    (1, "Q", "Q1", "q1"), (1, "Q", "S1", "w"), (1, "K", "S1", "VW"), (1, "K", "Q1", "VQ"),
    (1, "V", "VQ", "Q1"), (1, "V", "VW", "S1"), (1, "V", "VM", "m1"), (1, "V", "isBOS", "isAct"),
    (1, "K", "isAct", "isP"), (1, "K", "isBOS", "isAct"), (1, "Q", "isP", "isAct"),
    (1, "Q", "one", "isP"), (2, "V", "w", "S1"), (2, "V", "w", "s1"), (2, "V", "OPP", "SEL"),
    (2, "V", "OPP", "R"), (2, "V", "OPP", "L"), (2, "Q", "SEL", "OPP"), (2, "Q", "SEL", "R"),
    (2, "Q", "SEL", "L"), (3, "V", "FAR", "OP"), (3, "V", "FAR", "SEL"), (3, "V", "FAR", "R"),
]  # fmt: skip


def with_head(n: int, head: Head) -> LlamaModel:
    """The model with another head."""
    blocks = list(SMALL.network.blocks)
    blocks[n] = replace(blocks[n], heads=(head,))
    return model_of(replace(SMALL, network=replace(SMALL.network, blocks=tuple(blocks))))


@pytest.mark.parametrize("wiring", some(WIRINGS, 9), ids=str)
def test_heads_with_wrong_wires_are_refused(wiring: tuple[int, str, str, str]) -> None:
    n, part, old, new = wiring
    other = with_head(n, swapped(SMALL.network.blocks[n].heads[0], part, old, new))
    for format in (EXACT, FORMATS["float32"]):
        assert not prove_llama(other, ABOUT, format).holds


@pytest.mark.parametrize("n", [0, 3])
def test_heads_that_look_two_back_are_refused(n: int) -> None:
    carried = {"q1": "Q1", "s1": "S1", "m1": "M1"} if n == 0 else {"FAR": "FAR"}
    head = look_back(SMALL.network.stream, f"block.{n}.head.0", Phases(64), carried, 2)
    assert not prove_llama(with_head(n, head), ABOUT, FORMATS["float32"]).holds


EXCHANGED = [
    ("embed", "a", "0"), ("embed", "q0:a", "q1:a"), ("embed", "q2:0", "q2:1"),
    ("embed", "0:R:q1", "0:L:q1"), ("embed", "0:R:q1", "1:R:q1"), ("embed", "0:R:q1", "0:R:acc"),
    ("embed", "R:q0:0", "L:q0:0"), ("embed", "R:q0:0", "R:q1:0"), ("embed", "R:q0:0", "R:acc:0"),
    ("embed", "<tape>", "<s>"), ("embed", "<run>", "0"), ("embed", "@3", "@4"),
    ("head", "R:q0:0", "R:q1:0"), ("head", "R:q0:0", "L:q0:0"), ("head", "@3", "@5"),
    ("head", "<accept>", "<halt>"), ("head", "</s>", "<halt>"),
]  # fmt: skip


@pytest.mark.parametrize("exchanged", some(EXCHANGED, 6), ids=str)
def test_two_tokens_exchanged_are_refused(exchanged: tuple[str, str, str]) -> None:
    name, one, other = exchanged
    place = "model.embed_tokens.weight" if name == "embed" else "lm_head.weight"
    tensor, rows = MODEL.tensors[place].copy(), [MODEL.tokens[one], MODEL.tokens[other]]
    tensor[rows] = tensor[rows[::-1]]
    changed = replace(MODEL, tensors={**MODEL.tensors, place: tensor})
    for format in (EXACT, FORMATS["float32"]):
        assert not prove_llama(changed, ABOUT, format).holds


# -- prompts --------------------------------------------------------------------------------------


def read_by_hand(prompt: list[str]) -> TuringMachine | None:
    """The machine in a prompt, by one regular expression; None if it is none."""
    about = SMALL.vocabulary
    symbol = f"({'|'.join(map(re.escape, about.symbols))})"
    rule = f"(q[0-6]):{symbol} {symbol}:([RL]):(q[0-6]|acc) "
    cells = f"(?:{symbol} )*"
    whole = re.fullmatch(
        rf"(?:{rule})*<tape> {cells}<run> (?P<left>{cells})R:q[0-6]:{symbol} @(?P<far>\d+)",
        " ".join(prompt),
    )
    rules = re.findall(rule, " ".join(prompt))
    if whole is None or len({each[:2] for each in rules}) < len(rules):
        return None
    if whole["far"] != str(whole["left"].count(" ") + 3) or len(prompt) + 1 >= about.context:
        return None
    delta = {(q, a): Action(p, w, Move(m)) for q, a, w, m, p in rules}
    return TuringMachine(about.states, about.symbols, about.symbols[0], "q0", delta, ["acc"])


@st.composite
def prompts(draw: st.DrawFn) -> list[str]:
    """Prompts with up to two faults in them."""
    about, found = SMALL.vocabulary, []
    for q, a in draw(st.lists(st.sampled_from(about.keys), max_size=6, unique=True)):
        found += [f"{q}:{a}", ":".join(draw(st.sampled_from(about.actions)))]
    letters = st.lists(st.sampled_from(about.symbols), max_size=3)
    left, (q, a) = draw(letters), draw(st.sampled_from(about.keys))
    found += ["<tape>", *draw(letters), "<run>", *left, f"R:{q}:{a}", f"@{len(left) + 3}"]
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        place = draw(st.integers(0, len(found) - 1))
        other = draw(st.sampled_from([*about.texts[:60], "q9:0", "@4", "@03", "what", *found]))
        kind = draw(st.sampled_from(["drop", "put", "add", "exchange"]))
        if kind == "drop" and len(found) > 1:
            found[place : place + 1] = []
        elif kind == "put":
            found[place : place + 1] = [other]
        elif kind == "add":
            found.insert(place, other)
        else:
            found[place : place + 2] = reversed(found[place : place + 2])
    return found


@given(prompts())
@examples(300)
def test_prompts_that_pass_are_machines_and_the_model_runs_them(prompt: list[str]) -> None:
    failures = [each.failure for each in prompt_obligations(ABOUT, prompt, 64)]
    machine = read_by_hand(prompt)
    assert (machine is None) == any(failures)
    if machine is None:
        return
    tape, run = prompt.index("<tape>"), prompt.index("<run>")
    _, state, symbol = prompt[-2].split(":")
    word = [symbol, *reversed(prompt[tape + 1 : run])]
    text = text_of(SMALL, machine, word, prompt[run + 1 : -2], state)
    texts = [SMALL.vocabulary.texts[token] for token in text.tokens]
    assert sorted(texts[1 : text.prompt]) == sorted(prompt)
    own = [SMALL.vocabulary.number[each] for each in ("<s>", *prompt)]
    rest = text.tokens[text.prompt :]
    _, logits = Recorded(MODEL, "bfloat16").all_of([*own, *rest[:-1]])
    assert logits[text.prompt - 1 :].argmax(axis=1).tolist() == rest


@pytest.mark.parametrize(
    ("prompt", "failure"),
    [
        ("<tape> a", "token 3: nothing where a letter or <run> is expected"),
        ("<tape> a <run>", "token 4: nothing where a letter or a step R:q:a is expected"),
        ("<tape> <run> a R:q0:a @3", "token 5: '@3' where @4 alone is expected"),
        ("<tape> <run> R:q0:a", "token 4: nothing where @3 alone is expected"),
        ("<tape> <run> R:q0:a @3 L:q0:a", "token 5: 'L:q0:a' is no token of a prompt"),
        ("<tape> <run> R:q0:a @3 a", "token 4: '@3 a' where @3 alone is expected"),
        ("<tape> <run> R:acc:a @3", "token 3: 'R:acc:a' is no token of a prompt"),
        ("<s> <tape> <run> R:q0:a @3", "token 1: <s> is what the tokenizer adds"),
        ("q0:a <tape> <run> R:q0:a @3", "token 2: 'q0:a' is a key without an action"),
        ("<tape> x <run> R:q0:a @3", "token 2: 'x' is no token of a prompt"),
        ("<tape>" + " a" * 60 + " <run> R:q0:a @3", "64 tokens, <s> leave no room in 64"),
    ],
)
def test_a_prompt_is_told_where_it_fails(prompt: str, failure: str) -> None:
    found = prompt_obligations(ABOUT, prompt.split(), 64)
    assert any(failure in (each.failure or "") for each in found), found


def test_tokens_of_other_models_are_refused() -> None:
    for text in ("</s>", "L:q1:a", "q1:a", "R:q0:a"):
        tokens = {each: n for each, n in MODEL.tokens.items() if each != text}
        with pytest.raises(FormatError, match=r"it: it has (no token|tokens for)"):
            LlamaUniversal.of(tokens, "it")
