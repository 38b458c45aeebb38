"""The Transformer of a machine, token by token: every vector of the proof of Theorem 3.4."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from netwright.engine.moments import watched
from netwright.exact.vector import Vector
from netwright.following.shown import Shown
from netwright.nets.transformer import LayerTrace, Token
from netwright.theorems.decoder import CompiledDecoder
from netwright.theorems.theorem_3_4_transformer.construction import CompiledTransformer
from netwright.theorems.theorem_3_4_transformer.proof_values import ProofValues, ProofVectors
from netwright.verify.comparison import Check
from netwright.verify.shown import Claim, shown_checks

Claims = Callable[[int, Token], Iterator[Claim]]
"""What is claimed of a token by its number."""


class HasVectors(Protocol):
    """A decoder layer's vectors of a token."""

    @property
    def p(self) -> Vector: ...  # noqa: D102  # the paper's letters
    @property
    def a(self) -> Vector: ...  # noqa: D102
    @property
    def z(self) -> Vector: ...  # noqa: D102


def lemmas(
    values: ProofVectors,
    i: int,
    layers: Sequence[HasVectors],
    attended: Sequence[int],
    y: Vector,
) -> Iterator[Claim]:
    """What Lemmas B.1 to B.5 say of token i: statement, name, what was found, what is proved.

    `attended` are the tokens that layer 3 attends to; they, as i, are counted from 0.
    """
    first, second, third = layers
    yield "Lemma B.1", "a1", first.a, values.a1(i)
    yield "Lemma B.2", "z1", first.z, values.z1(i)
    yield "Lemma B.3", "p2", second.p, values.p2(i)
    yield "Lemma B.3", "z2", second.z, values.p2(i)
    yield "Lemma B.4", "the tokens attended to", [*attended], [values.ell[i + 1]]
    yield "Lemma B.4", "p3", third.p, values.p3(i)
    yield "Lemma B.4", "z3", third.z, values.p3(i)
    yield "Lemma B.5", "y", y, values.y(i + 1)


def decoder_checks(
    compiled: CompiledDecoder,
    shown: Shown,
    word: Sequence[str],
    max_steps: int,
    claims: Callable[[int], Claims],
    statement: str,
) -> Iterator[Check]:
    """What is claimed of every token, and the given machine's configuration at its every step."""
    tokens = compiled.network.tokens(compiled.embed(word), compiled.seed)
    return shown_checks(shown, tokens, word, max_steps, statement, watched, claims)


def transformer_checks(
    compiled: CompiledTransformer, shown: Shown, word: Sequence[str], max_steps: int
) -> Iterator[Check]:
    """Lemmas B.1 to B.5 for every token."""

    def claims(tokens: int) -> Claims:
        values = ProofValues.of(compiled, compiled.normal.check_word(word), tokens)

        def of(i: int, token: Token) -> Iterator[Claim]:
            return lemmas(values, i, token.layers, attended(token.layers[-1]), token.y)

        return of

    return decoder_checks(compiled, shown, word, max_steps, claims, "Theorem 3.4")


def attended(layer: LayerTrace) -> list[int]:
    """The tokens, from 0 on, that a layer attends to."""
    return [j for j, weight in enumerate(layer.self_weights) if weight]
