"""One language model for all machines: the rules are text in the prompt."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples, repeated
from tests.strategies import machines, words

from netwright import parse
from netwright.errors import InputError
from netwright.kind.language_model.checkpoint import pack
from netwright.kind.language_model.evaluators import ROUNDED, FloatEvaluator
from netwright.kind.language_model.universal import (
    HALT,
    UniversalVocabulary,
    prompt_text,
    universal_model,
    universal_text,
)
from netwright.machine.library import library_machine, library_names
from netwright.machine.turing_machine import TuringMachine

MODEL = universal_model(16, 8, 1024)
WEIGHTS = pack(MODEL.network)


def assert_right(machine: TuringMachine, word: tuple[str, ...], most: int = 400) -> int:
    prompt, run = universal_text(machine, word, MODEL.vocabulary)
    tokens = [*prompt, *islice(run, min(most, MODEL.context - len(prompt)))]
    logits, _ = MODEL.network.forward(tokens[:-1])
    assert logits[len(prompt) - 1 :].argmax(axis=1).tolist() == tokens[len(prompt) :]
    for dtype in ROUNDED:
        floats = FloatEvaluator(WEIGHTS.tensors, WEIGHTS.blocks, dtype).all_logits(tokens[:-1])
        assert floats[len(prompt) - 1 :].argmax(axis=1).tolist() == tokens[len(prompt) :], dtype
    return len(tokens) - len(prompt)


def test_it_is_small() -> None:
    model = universal_model(16, 8, 2048)
    weights = pack(model.network)
    assert 2 * weights.parameters < 5_000_000  # bytes in bfloat16
    q, s, b = 4, 3, 11
    assert model.network.stream.dimension == 3 * q + 6 * s + 10 * b + 18


def test_machines_of_the_library_that_fit() -> None:
    too_large = []
    for n, name in enumerate(library_names()):
        machine = library_machine(name)
        if len(machine.states) > 16 or len(machine.symbols) > 8:
            too_large.append(name)
            with pytest.raises(InputError, match="the model has 15 and 8"):
                prompt_text(machine, machine.default_input, MODEL.vocabulary)
        elif n % repeated(1, 4) == 0:
            assert_right(machine, machine.default_input)
    assert too_large == ["binary-multiplication", "prime"]


@pytest.mark.parametrize("word", ["", "a", "ab", "abba", "abb", "babab"])
def test_palindromes(word: str) -> None:
    assert assert_right(library_machine("palindrome"), tuple(word)) >= 4


@pytest.mark.parametrize("place", [1, 2, 30, -1])
def test_an_unknown_word_is_refused(place: int) -> None:
    """`<halt>` follows a prompt with `<unk>` among its rules, in its input or after it."""
    vocabulary = MODEL.vocabulary
    prompt, _ = universal_text(library_machine("palindrome"), tuple("abba"), vocabulary)
    unknown = vocabulary.number["<unk>"]
    for tokens in ([*prompt[:place], unknown, *prompt[place:]], [*prompt, unknown]):
        assert MODEL.network.forward(tokens)[0][-1].argmax() == HALT
        for dtype in ROUNDED:
            floats = FloatEvaluator(WEIGHTS.tensors, WEIGHTS.blocks, dtype)
            assert floats.all_logits(tokens)[-1].argmax() == HALT


@examples(20)
@given(st.data(), machines(max_states=6, max_symbols=6))
def test_random_machines(data: st.DataObject, machine: TuringMachine) -> None:
    word = data.draw(words(machine.symbols))
    if machine.start in machine.accepting:
        with pytest.raises(InputError, match="accepts before its first step"):
            prompt_text(machine, word, MODEL.vocabulary)
    else:
        assert_right(machine, word, 150)


def test_the_text_can_be_read_back() -> None:
    for name in ("palindrome", "binary-increment", "busy-beaver-4", "even-as"):
        machine = library_machine(name)
        prompt, run = universal_text(machine, machine.default_input, MODEL.vocabulary)
        text = " ".join(MODEL.vocabulary.texts[token] for token in [*prompt, *run])
        found, expected = parse(text), machine.run()
        _, renaming = prompt_text(machine, machine.default_input, MODEL.vocabulary)
        assert found.problem is None
        assert (found.steps, found.head) == (expected.steps, expected.head)
        assert found.state == renaming.states[expected.state]
        names = [renaming.symbols[symbol] for symbol in expected.tape.cells]
        assert list(found.tape.cells) == names


def test_bounds() -> None:
    with pytest.raises(InputError, match="2 to 4,096 states"):
        universal_model(1, 8, 64)
    with pytest.raises(InputError, match="expected 8 to 65,536 tokens"):
        universal_model(4, 4, 4)
    small = UniversalVocabulary.of(4, 2, 64)
    assert (len(small.states), len(small.symbols)) == (4, 2)
    with pytest.raises(InputError, match="has 4 states that do not accept, and 2 symbols"):
        prompt_text(library_machine("busy-beaver-3"), "", UniversalVocabulary.of(2, 2, 64))
    with pytest.raises(InputError, match="do not fit into the model's context of 64"):
        prompt_text(library_machine("palindrome"), "ab" * 30, UniversalVocabulary.of(16, 8, 64))
    assert len(set(UniversalVocabulary.of(8, 64, 64).texts)) == len(
        UniversalVocabulary.of(8, 64, 64).texts
    )
