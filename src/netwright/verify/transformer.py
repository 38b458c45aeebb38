"""The Transformer of a machine, token by token: every vector of the proof of Theorem 3.4."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol

from netwright.exact.vector import Vector
from netwright.following.transformer import WATCHES, TokenFollower
from netwright.machine.simulate import configurations
from netwright.runtime.engine import ReferenceEngine
from netwright.theorems.theorem_3_4_transformer.construction import CompiledTransformer
from netwright.theorems.theorem_3_4_transformer.proof_values import ProofValues, ProofVectors
from netwright.verify.comparison import Check


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
) -> Iterator[tuple[str, str, object, object]]:
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


def transformer_checks(
    compiled: CompiledTransformer, word: Sequence[str], max_steps: int
) -> Iterator[Check]:
    """Lemmas B.1 to B.5 for every token, and the given machine's configuration at its every step.

    The run is compared up to the moment that shows its end, or the limit.
    """
    normal = compiled.normal
    symbols = normal.check_word(word)
    follower = TokenFollower(compiled, symbols, max_steps)
    values = ProofValues.of(compiled, symbols, follower.most_tokens + 1)
    machine = configurations(normal.given, symbols)
    tokens = compiled.network.tokens(compiled.recognizer.embed(symbols), compiled.seed)
    given_symbols = [*map(normal.given_symbol, normal.machine.symbols)]
    seen = -1
    for i, token in enumerate(islice(tokens, follower.most_tokens)):
        *_, third = token.layers
        attended = [j for j, weight in enumerate(third.self_weights) if weight]
        for statement, name, found, wanted in lemmas(values, i, token.layers, attended, token.y):
            yield Check(i, statement, name, found, wanted, max(0, seen))
        shown = ReferenceEngine(iter([{"z": third.z, "y": token.y}]), WATCHES)
        follower.take(shown.advance(1))
        if follower.steps > seen:
            seen = follower.steps
            now = next(machine)
            shown_state = normal.machine.states[follower.state]
            tape = follower.written.tape(given_symbols, normal.given.blank)
            for name, have, want in (
                ("the state", shown_state, now.state),
                ("the head", follower.head, now.head),
                ("the tape", tape, now.tape),
            ):
                yield Check(i, "Theorem 3.4", name, have, want, seen)
        if follower.outcome is not None:
            return
