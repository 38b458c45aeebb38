"""The language model of a machine: its text is the machine's run, by definition and in floats."""

from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.machine_table import TABLE
from tests.repetition import examples, repeated, some
from tests.strategies import machines, wild_names, words

from netwright.errors import InputError
from netwright.kind.language_model.checkpoint import GAMMA, pack
from netwright.kind.language_model.construction import (
    CompiledLanguageModel,
    compile_language_model,
)
from netwright.kind.language_model.evaluators import ROUNDED, FloatEvaluator, HardEvaluator
from netwright.kind.language_model.reading import run_language_model
from netwright.kind.language_model.stream import bits_of
from netwright.kind.language_model.text import Start, machine_text
from netwright.kind.language_model.vocabulary import REJECT, UNKNOWN
from netwright.machine.library import library_machine, library_names
from netwright.machine.simulate import Engine, simulate
from netwright.machine.turing_machine import TuringMachine

BEAVER = library_machine("busy-beaver-5")


def text_of(compiled: CompiledLanguageModel, word: tuple[str, ...]) -> tuple[list[int], int]:
    """Prompt and run, as far as the context goes, from the machine; and the prompt's length."""
    start = Start(word)
    prompt = start.prompt(compiled.vocabulary)
    room = compiled.context - len(prompt)
    return [*prompt, *islice(machine_text(compiled.vocabulary, start), room)], len(prompt)


def assert_right(compiled: CompiledLanguageModel, word: tuple[str, ...], dtypes: object) -> int:
    """By the definition, and in some types of floats, every token is the machine's."""
    tokens, prompt = text_of(compiled, word)
    logits, _ = compiled.network.forward(tokens[:-1])
    assert logits[prompt - 1 :].argmax(axis=1).tolist() == tokens[prompt:]
    weights = pack(compiled.network)
    for dtype in list(dtypes):  # type: ignore[call-overload]
        evaluator = FloatEvaluator(weights.tensors, weights.blocks, dtype)
        found = evaluator.all_logits(tokens[:-1])
        assert found[prompt - 1 :].argmax(axis=1).tolist() == tokens[prompt:], dtype
    return len(tokens) - prompt


def test_palindromes_in_all_types() -> None:
    """All words to length 5; every fourth of them in `make test`."""
    compiled = compile_language_model(library_machine("palindrome"), 128)
    cases = [case for case in TABLE if case.machine == "palindrome"]
    assert len(cases) == 63
    for case in cases[:: repeated(1, 4)]:
        assert_right(compiled, tuple(case.word), ROUNDED)
        end = compiled.text(text_of(compiled, tuple(case.word))[0][-1])
        assert end == ("<accept>" if case.answer else "<reject>")


@pytest.mark.parametrize("name", some(library_names(), 7))
def test_the_library_in_all_types(name: str) -> None:
    machine = library_machine(name)
    assert assert_right(compile_language_model(machine, 600), machine.default_input, ROUNDED) >= 12


def test_four_thousand_tokens_of_the_busy_beaver() -> None:
    """A thousand in `make test`."""
    count = repeated(4096, 1024)
    assert assert_right(compile_language_model(BEAVER, count), (), ROUNDED) == count - 1


@examples(50)
@given(st.data(), machines(names=wild_names, symbol_names=wild_names))
def test_random_machines_in_all_types(data: st.DataObject, machine: TuringMachine) -> None:
    """Stays, blanks in the input, any names, machines that halt at once or accept at the start."""
    word = data.draw(words(machine.symbols))
    assert_right(compile_language_model(machine, data.draw(st.integers(16, 200))), word, ROUNDED)


@examples(25)
@given(st.data(), machines())
def test_runs_in_small_contexts_are_the_machines(
    data: st.DataObject, machine: TuringMachine
) -> None:
    """A context that is full is read off, and the run goes on in a new one."""
    compiled = compile_language_model(machine, data.draw(st.integers(30, 64)))
    word, limit = data.draw(words(machine.symbols)), 60
    weights = pack(compiled.network)
    evaluator = FloatEvaluator(weights.tensors, weights.blocks, "float32")
    found = run_language_model(compiled, word, limit, evaluator, Engine.FAST)
    if found.note is not None:  # as far as there was room
        assert "no longer fits into a context of" in found.note
        limit = found.steps
    expected = simulate(machine, word, limit)
    for name in ("outcome", "steps", "state", "head", "tape"):
        assert getattr(found, name) == getattr(expected, name)


def test_the_busy_beaver_goes_on_beyond_its_context() -> None:
    """3,000 steps in texts of 512 tokens; by the definition, 300 in texts of 200."""
    for context, steps, hard in (
        (512, repeated(3000, 1000), False),
        (200, repeated(300, 150), True),
    ):
        compiled = compile_language_model(BEAVER, context)
        weights = pack(compiled.network)
        evaluator = (
            HardEvaluator(compiled.network)
            if hard
            else FloatEvaluator(weights.tensors, weights.blocks, "bfloat16")
        )
        found = run_language_model(compiled, (), steps, evaluator, Engine.FAST)
        expected = simulate(BEAVER, (), steps)
        assert (found.steps, found.state, found.head) == (steps, expected.state, expected.head)
        assert found.tape == expected.tape
        assert found.network_steps is not None
        assert found.network_steps > 2 * steps


@pytest.mark.thorough
def test_twenty_thousand_steps_in_a_context_of_a_thousand_tokens() -> None:
    compiled = compile_language_model(BEAVER, 1024)
    weights = pack(compiled.network)
    evaluator = FloatEvaluator(weights.tensors, weights.blocks, "float32")
    found = run_language_model(compiled, (), 20_000, evaluator, Engine.FAST)
    expected = simulate(BEAVER, (), 20_000)
    assert (found.steps, found.state, found.head) == (20_000, expected.state, expected.head)
    assert found.tape == expected.tape


def test_resuming_in_every_state() -> None:
    """From any configuration of a run the model goes on as the machine does."""
    machine = library_machine("binary-addition")
    compiled = compile_language_model(machine, 160)
    blank = machine.blank
    for state in compiled.vocabulary.machine.states:
        for ahead, behind in (("", "1"), ("1+0", "01"), ("_", f"{blank}{blank}")):
            start = Start(tuple(ahead), tuple(behind), state)
            prompt = start.prompt(compiled.vocabulary)
            run = list(islice(machine_text(compiled.vocabulary, start), 40))
            logits, _ = compiled.network.forward([*prompt, *run[:-1]])
            assert logits[len(prompt) - 1 :].argmax(axis=1).tolist() == run


@examples(20)
@given(st.data(), machines())
def test_an_unknown_word_is_refused(data: st.DataObject, machine: TuringMachine) -> None:
    """`<reject>` follows a prompt with `<unk>` anywhere in it, also one that resumes a run."""
    compiled = compile_language_model(machine, data.draw(st.sampled_from([32, 64, 1024])))
    vocabulary = compiled.vocabulary
    word = data.draw(words(machine.symbols))
    state = data.draw(st.sampled_from([None, *vocabulary.machine.states]))
    prompt = Start(word, (machine.blank,), state).prompt(vocabulary)
    for _ in range(data.draw(st.integers(1, 3))):
        prompt.insert(data.draw(st.integers(0, len(prompt))), UNKNOWN)
    weights = pack(compiled.network)
    found: list[NDArray[Any]] = [compiled.network.forward(prompt)[0]]
    for dtype in ROUNDED:
        found += [FloatEvaluator(weights.tensors, weights.blocks, dtype).all_logits(prompt)]
    for logits in found:
        assert logits[-1].argmax() == REJECT
        assert np.partition(logits[-1], -2)[-2] < logits[-1].max() - 1


def test_no_tie_matters() -> None:
    """Hard attention takes the latest of equals; were it the first, no token would change."""
    compiled = compile_language_model(library_machine("palindrome"), 64)
    tokens, prompt = text_of(compiled, tuple("abba"))
    network = compiled.network
    x = network.wte.array[tokens] + network.wpe.array[: len(tokens)]
    later = np.triu(np.ones((len(tokens), len(tokens)), bool), 1)
    for block in network.blocks:
        total = np.zeros_like(x)
        for head in block.heads:
            scores = (x @ head.Q.array) @ (x @ head.K.array).T
            scores[later] = -np.inf
            total += (x @ head.V.array)[scores.argmax(axis=1)] @ head.O.array
        x = x + total
        if block.units is not None:
            x = x + np.maximum(x @ block.units.A.array + block.units.b, 0) @ block.units.B.array
    assert (x @ network.U.array)[prompt - 1 : -1].argmax(axis=1).tolist() == tokens[prompt:]


def test_weights_are_whole_numbers_that_small_types_hold() -> None:
    compiled = compile_language_model(BEAVER, 2048)
    weights = pack(compiled.network)
    assert (weights.width, weights.parameters) == (162, 1_427_031)
    for name, tensor in weights.tensors.items():
        assert (tensor == tensor.round()).all(), name
        for dtype in ("float16", "bfloat16"):
            assert (tensor.astype(ROUNDED[dtype]).astype(np.float32) == tensor).all(), (name, dtype)
    b, vocabulary = bits_of(2048), compiled.vocabulary
    states, symbols = len(vocabulary.machine.states), len(vocabulary.symbols)
    assert compiled.network.stream.dimension == 2 * states + 5 * symbols + 10 * b + 13
    m = 9
    assert weights.width == 2 * m * m
    assert weights.tensors["transformer.wpe.weight"].max() == GAMMA * m
    assert not any(
        tensor.sum(axis=1).any() for name, tensor in weights.tensors.items() if "wte" in name
    )


def test_leads_are_what_the_construction_says() -> None:
    """The right token has 1, others −1 at most, in units of the logits; floats lose little."""
    compiled = compile_language_model(BEAVER, 1024)
    tokens, prompt = text_of(compiled, ())
    logits, _ = compiled.network.forward(tokens[:-1])
    two = np.sort(logits[prompt - 1 :], axis=1)[:, -2:]
    leads = two[:, 1] - two[:, 0]
    assert set(leads) == {2.0}
    assert set(two[:, 1]) == {1.0}
    weights = pack(compiled.network)
    floats = FloatEvaluator(weights.tensors, weights.blocks, "float32").all_logits(tokens[:-1])
    best = np.sort(floats[prompt - 1 :], axis=1)[:, -2:]
    assert ((best[:, 1] - best[:, 0]) / 16).min() > 1.97


def test_noise_on_all_weights_changes_no_token() -> None:
    """Errors in `bal`, c1 and c2 go nowhere, and a unit is 0 with a margin of 1."""
    compiled = compile_language_model(library_machine("busy-beaver-4"), 256)
    tokens, prompt = text_of(compiled, ())
    weights, random = pack(compiled.network), np.random.default_rng(1)

    def wrong(sigma: float) -> int:
        noisy = {
            name: (tensor + sigma * random.standard_normal(tensor.shape)).astype(np.float32)
            for name, tensor in weights.tensors.items()
        }
        logits = FloatEvaluator(noisy, weights.blocks, "float32").all_logits(tokens[:-1])
        return int((logits[prompt - 1 :].argmax(axis=1) != tokens[prompt:]).sum())

    assert [wrong(sigma) for sigma in (1e-5, 1e-4, 1e-3)] == [0, 0, 0]
    assert wrong(0.1) > 0


@pytest.mark.parametrize("penalty", [1.3, 3.0])
def test_a_penalty_for_repeated_tokens_changes_no_token(penalty: float) -> None:
    compiled = compile_language_model(library_machine("palindrome"), 128)
    tokens, prompt = text_of(compiled, tuple("abba"))
    weights = pack(compiled.network)
    logits = FloatEvaluator(weights.tensors, weights.blocks, "bfloat16").all_logits(tokens[:-1])
    for place in range(prompt, len(tokens)):
        row, seen = logits[place - 1], tokens[:place]
        row[seen] = np.where(row[seen] > 0, row[seen] / penalty, row[seen] * penalty)
        assert row.argmax() == tokens[place]


@pytest.mark.parametrize("context", [0, 7, 1 << 17])
def test_contexts_that_there_are_not(context: int) -> None:
    with pytest.raises(InputError, match="expected 8 to 65,536 tokens"):
        compile_language_model(BEAVER, context)


def test_words_and_machines_that_do_not_fit() -> None:
    compiled = compile_language_model(library_machine("palindrome"), 16)
    with pytest.raises(InputError, match="a word of 20 symbols does not fit into a context of 16"):
        compiled.vocabulary.prompt("ab" * 10)
    large = TuringMachine([f"q{n}" for n in range(4000)], "01", "0", "q0", {})
    with pytest.raises(InputError, match=r"a checkpoint has at most 7,935\. Fewer states"):
        pack(compile_language_model(large, 16).network)
