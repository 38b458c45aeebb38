"""Transformers without positional encodings: what they cannot see, and what they can."""

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.machine_table import words
from tests.repetition import examples, repeated
from tests.strategies import recognizers

from netwright.definitions.recognizer import Recognizer
from netwright.definitions.transformer import Normalizer, Score, dot_product, hardmax, score_phi
from netwright.definitions.transformer import square_plus_one as squares
from netwright.errors import InputError
from netwright.exact.layout import Layout
from netwright.exact.vector import Vector
from netwright.kind.transformer.construction import compile_transformer
from netwright.machine.library import library_machine
from netwright.machine.normal_form import normalize
from netwright.statements.corollary_3_2_parity import parity_pair
from netwright.statements.proposition_3_1_proportion_invariance import first_difference, proportions
from netwright.statements.proposition_3_3_majority import majority_recognizer


@st.composite
def equal_proportions(draw: st.DrawFn) -> tuple[str, str]:
    """A word, and a shuffled word with the same proportions and another length."""
    base = draw(st.text("ab", min_size=1, max_size=3))
    w, u = (base * draw(st.integers(1, 3)) for _ in range(2))
    return w, "".join(draw(st.permutations(u)))


@examples(100)
@given(recognizers(), equal_proportions())
def test_proposition_3_1_on_random_networks(recognizer: Recognizer, pair: tuple[str, str]) -> None:
    assert first_difference(recognizer, *pair, r=3) is None


@given(equal_proportions())
def test_proposition_3_1_on_the_majority_recognizer(pair: tuple[str, str]) -> None:
    assert first_difference(majority_recognizer(), *pair, r=3) is None


def test_what_the_proposition_does_not_speak_of_is_refused() -> None:
    compiled = compile_transformer(normalize(library_machine("even-as")))
    with pytest.raises(InputError, match="about Transformers without positional encodings"):
        first_difference(compiled.recognizer, "ab", "aabb", 3)
    with pytest.raises(InputError, match="'aab' has other proportions than 'ab'"):
        first_difference(majority_recognizer(), "ab", "aab", 3)
    with pytest.raises(InputError, match="the empty word has no proportions"):
        proportions("")


def test_positional_encodings_do_tell_the_pair_apart() -> None:
    """So the property is not empty: the compiled parity machine accepts one of the two."""
    recognizer = compile_transformer(normalize(library_machine("even-as"))).recognizer
    assert recognizer.accepts_at("aabb", 40) is not None
    assert recognizer.accepts_at("ab", 40) is None


@examples(50)
@given(recognizers())
def test_corollary_3_2_finds_the_pair_for_any_recognizer(recognizer: Recognizer) -> None:
    pair = parity_pair(recognizer, limit=3)
    assert pair.inside.count("a") % 2 == 0
    assert pair.outside.count("a") % 2 == 1
    answers = {recognizer.accepts_at(word, 3) for word in (pair.inside, pair.outside)}
    assert answers == {pair.accepted_at}
    accepted = pair.accepted_at is not None
    assert pair.wrong_about == (pair.outside if accepted else pair.inside)


def test_corollary_3_2_with_one_letter_and_with_none() -> None:
    recognizer = majority_recognizer()
    one = Recognizer(
        ("a",), recognizer.embedding, recognizer.network, recognizer.seed, recognizer.final
    )
    assert parity_pair(one, 3).inside == ("a", "a")
    none = Recognizer((), {}, recognizer.network, recognizer.seed, recognizer.final)
    with pytest.raises(InputError, match="alphabet is empty"):
        parity_pair(none, 3)


def has_majority(word: str) -> bool:
    return word.count("a") > word.count("b")


def test_proposition_3_3_on_all_words_up_to_length_12() -> None:
    """Up to length 10 in `make test`."""
    recognizer = majority_recognizer()
    for word in words("ab", repeated(12, 10)):
        assert (recognizer.accepts_at(word, 1) == 1) == has_majority(word)


def _constant(_q: Vector, k: Vector) -> object:
    return k.number("x") + 7


@pytest.mark.parametrize("score", [score_phi, dot_product, _constant])
@pytest.mark.parametrize("rho", [hardmax, squares])
def test_proposition_3_3_for_any_score_and_normaliser(score: Score, rho: Normalizer) -> None:
    recognizer = majority_recognizer(score, rho)
    for word in words("ab", 6):
        assert recognizer.accepts_at(word, 3) == (1 if has_majority(word) else None)


def test_proposition_3_3_on_long_words_and_its_vectors() -> None:
    draw = random.Random(3)
    layout = Layout.of(x="", y="")
    for length in (50, 99, 120):
        word = "".join(draw.choices("ab", k=length))
        recognizer = majority_recognizer()
        outputs = recognizer.outputs(word)
        c = Fraction(word.count("a") - word.count("b"), length)
        for _ in range(3):
            assert next(outputs) == Vector.of(layout, x=c)
        assert (recognizer.accepts_at(word, 1) == 1) == has_majority(word)
