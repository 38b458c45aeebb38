"""Transformers in floating point: by the definition, by the fast loops, by numpy's own types."""

from dataclasses import replace
from itertools import islice
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.networks import flipped_networks
from tests.precision.types_of_numpy import TYPES
from tests.repetition import examples
from tests.strategies import machines
from tests.strategies import words as random_words

from netwright.definitions.transformer import Transformer, hardmax, square_plus_one
from netwright.errors import InputError
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector
from netwright.kind.transformer.construction import (
    CompiledTransformer,
    to_transformer,
)
from netwright.kind.transformer.proof_values import ProofValues
from netwright.kind.transformer.scores import RECENCY, SCORES, Score
from netwright.machine.library import library_machine
from netwright.precision.arithmetic import MOST_WINNERS, Arithmetic
from netwright.precision.failures import first_failures
from netwright.precision.float_arithmetic import FloatArithmetic, arithmetic_of
from netwright.precision.formats import FORMATS, Format, binary
from netwright.precision.rational_arithmetic import RationalArithmetic
from netwright.precision.softmax import constant
from netwright.precision.transformer import FloatTransformer
from netwright.statements.proposition_3_3_majority import majority_recognizer


def vectors(
    compiled: CompiledTransformer, word: tuple[str, ...], arithmetic: Arithmetic[Any], tokens: int
) -> list[dict[str, list[Any]]]:
    network = FloatTransformer(compiled.network, arithmetic)
    found = network.tokens(compiled.recognizer.embed(word), compiled.seed)
    return [
        {name: [arithmetic.exact(x) for x in x_.tolist()] for name, x_ in token.vectors.items()}
        | {"winners": [a.winners for a in token.to_itself if a is not None][-1:]}
        for token in islice(found, tokens)
    ]


@examples(25)
@given(
    st.data(), st.sampled_from([3, 5, 8, 11, 24, 30, 53]), st.sampled_from(list(SCORES.values()))
)
def test_every_vector_is_that_of_rounded_rationals(
    data: st.DataObject, bits: int, score: Score
) -> None:
    machine = data.draw(machines())
    word = data.draw(random_words(machine.symbols))
    compiled = to_transformer(machine, word, score)
    sums = data.draw(st.sampled_from([None, binary(bits), binary(min(53, 2 * bits))]))
    fast, slow = FloatArithmetic(binary(bits), sums), RationalArithmetic(binary(bits), sums)
    assert vectors(compiled, word, fast, 12) == vectors(compiled, word, slow, 12)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_every_vector_of_a_type_with_subnormal_numbers(name: str) -> None:
    compiled = to_transformer(library_machine("busy-beaver-5"))
    fast, slow = FloatArithmetic(FORMATS[name]), RationalArithmetic(FORMATS[name])
    assert vectors(compiled, (), fast, 60) == vectors(compiled, (), slow, 60)


def attended_in_numpy(values: ProofValues, kind: Any, tokens: int) -> list[list[int]]:
    """Whom layer 3 attends to, by the types' own arithmetic, the machine's run being given."""
    i = np.arange(1, tokens + 1, dtype=np.float64)
    cells = np.array(values.c[: tokens + 1], dtype=np.float64)
    first, second = (1 / i).astype(kind), (1 / i**2).astype(kind)
    third = second * np.array(1 / 3).astype(kind)
    here, wanted = (cells[:-1] / i).astype(kind), (cells[1:] / i).astype(kind)
    found = []
    for n in range(tokens):
        products = wanted[n] * first[: n + 1] + first[n] * -here[: n + 1]
        sizes = np.abs(products + third[n] * second[: n + 1])
        found.append(np.flatnonzero(sizes == sizes.min()).tolist())
    return found


@pytest.mark.parametrize("machine", ["sweeper", "binary-counter", "busy-beaver-5"])
@pytest.mark.parametrize(
    ("name", "tokens"), [("float64", 800), ("float32", 400), ("bfloat16", 70), ("float16", 34)]
)
def test_attention_is_that_of_numpys_types(machine: str, name: str, tokens: int) -> None:
    """Written twice, once with the types themselves: as long as the outputs are right."""
    compiled = to_transformer(library_machine(machine))
    values = ProofValues(compiled.normal, (), tokens)
    found = vectors(compiled, (), FloatArithmetic(FORMATS[name]), tokens)
    wanted = attended_in_numpy(values, TYPES[name], tokens)
    assert [token["winners"] for token in found] == [[each[:MOST_WINNERS]] for each in wanted]


@examples(15)
@given(st.data(), st.sampled_from(list(SCORES.values())))
def test_with_many_bits_nothing_goes_wrong(data: st.DataObject, score: Score) -> None:
    machine = data.draw(machines())
    word = data.draw(random_words(machine.symbols))
    compiled = to_transformer(machine, word, score)
    found = first_failures(compiled, word, arithmetic_of(binary(90)), 20)
    assert (found.index, found.vector, found.reading) == (None, None, None)


def transformers_with_broken_weights(
    compiled: CompiledTransformer, place: str
) -> list[CompiledTransformer]:
    damaged = flipped_networks(compiled, place)
    return [each for each in damaged if isinstance(each, CompiledTransformer)]


def test_many_tokens_of_one_score_share_the_attention() -> None:
    """Twenty equal keys: the mean of all values, and the names of the first few."""
    for here in (FloatArithmetic(binary(24)), RationalArithmetic(binary(24))):
        tokens = here.tokens(2, [0], [1])
        for n in range(20):
            vector = np.array([here.one, here.number(Rational(n))])
            tokens.append(vector, vector)
        found = tokens.attend(np.array([here.one, here.one]), None)
        assert here.exact(found.numbers[1]) == Rational(19, 2)
        assert found.winners == list(range(MOST_WINNERS))
        assert here.exact(found.score(3)) == -1


def test_the_answer_comes_from_the_weights() -> None:
    compiled = to_transformer(library_machine("palindrome"), "abba")
    here = FloatArithmetic(FORMATS["float64"])
    assert first_failures(compiled, tuple("abba"), here, 40).vector is None
    for place in ("decoder.3.V.s4", "decoder.1.O.q2", "encoder.V.s3", "F.s1"):
        damaged = transformers_with_broken_weights(compiled, place)
        found = [first_failures(each, tuple("abba"), here, 40).reading for each in damaged]
        assert any(found), place


def test_where_it_went_wrong_is_named() -> None:
    compiled = to_transformer(library_machine("palindrome"), "abba")
    (damaged,) = transformers_with_broken_weights(compiled, "encoder.K.x8")
    found = first_failures(damaged, tuple("abba"), FloatArithmetic(FORMATS["float64"]), 40)
    assert found.index is not None
    assert found.index.place == "decoder layer 1, attention to the encoder"
    assert found.vector is not None
    assert (found.vector.vector, found.vector.block) == ("a1", "s3[a]")


def test_numbers_beyond_the_range_are_no_numbers_any_more() -> None:
    """Positions become infinite at token 100; the run ends in a wrong output, not in an error."""
    compiled = to_transformer(library_machine("binary-counter"))
    small = Format("small", 24, -149, 100.0)
    found = first_failures(compiled, (), FloatArithmetic(small), 200)
    assert found.reading is not None
    assert found.vector is not None
    assert found.vector.output == 101
    assert FloatArithmetic(small).number(Rational(101)) == inf
    assert FloatArithmetic(small).exact(inf) is None


def test_a_position_that_is_no_integer_any_more_is_named() -> None:
    """257 has nine bits."""
    compiled = to_transformer(library_machine("binary-counter"), (), RECENCY)
    found = first_failures(compiled, (), FloatArithmetic(FORMATS["bfloat16"]), 300)
    assert found.vector is not None
    assert (found.vector.output, found.vector.vector) == (257, "a1")
    numbers = found.vector.exact, found.vector.rounded
    assert (found.vector.block, *map(str, numbers)) == ("x9", "257", "256")


def test_softmax_is_for_53_bits() -> None:
    compiled = to_transformer(library_machine("busy-beaver-3"))
    with pytest.raises(InputError, match="softmax is for formats of 53 bits at most"):
        first_failures(compiled, (), arithmetic_of(binary(60)), 5, constant(0.01))


def test_networks_without_weights_are_refused() -> None:
    network = majority_recognizer(rho=square_plus_one).network
    assert isinstance(network, Transformer)
    with pytest.raises(InputError, match=r"only networks with the attention of Theorem 3\.4"):
        FloatTransformer(network, FloatArithmetic(binary(24)))
    without_weights = replace(network, rho=hardmax, F=lambda x: x)
    tokens = FloatTransformer(without_weights, FloatArithmetic(binary(24))).tokens(
        [], Vector.zero(network.layout)
    )
    with pytest.raises(InputError, match="not a feed-forward network, so it has no weights"):
        next(tokens)
