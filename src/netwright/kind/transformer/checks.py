"""The Transformer of a machine, token by token: every vector of the proof of Theorem 3.4."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from netwright.definitions.transformer import LayerTrace, Token
from netwright.engine.following.shown import Shown
from netwright.engine.full.program import Counted, Part, one_hot, positioned, signed
from netwright.engine.moments import ZERO_BLOCK, watched
from netwright.exact.vector import Vector
from netwright.kind.compiled_decoder import CompiledDecoder
from netwright.kind.transformer.construction import CompiledTransformer
from netwright.kind.transformer.proof_values import INPUT, VECTORS, ProofValues, ProofVectors
from netwright.verify.comparison import Check
from netwright.verify.proposal import Claimed, Proposal
from netwright.verify.shown import Claim, shown_checks

ATTENDED = "ell"
LEMMAS = (
    ("Lemma B.1", "a1", "a1"),
    ("Lemma B.2", "z1", "z1"),
    ("Lemma B.3", "p2", "p2"),
    ("Lemma B.3", "z2", "p2"),
    ("Lemma B.4", "the tokens attended to", ATTENDED),
    ("Lemma B.4", "p3", "p3"),
    ("Lemma B.4", "z3", "p3"),
    ("Lemma B.5", "y", "y"),
)
"""What is proved of every token, in order: a vector's name, and which of the proof's it is."""
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
    values: ProofVectors, i: int, layers: Sequence[HasVectors], attended: Sequence[int], y: Vector
) -> Iterator[Claim]:
    """What Lemmas B.1 to B.5 say of token i: statement, name, what was found, what is proved.

    `attended` are the tokens that layer 3 attends to; they, as i, are counted from 0.
    """
    for statement, name, proved in LEMMAS:
        if proved == ATTENDED:
            yield statement, name, [*attended], [values.ell[i + 1]]
        elif proved == "y":
            yield statement, name, y, values.y(i + 1)
        else:
            found: Vector = getattr(layers[int(name[1]) - 1], name[0])
            yield statement, name, found, getattr(values, proved)(i)


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


def transformer_proposal(
    compiled: CompiledTransformer, shown: Shown, word: Sequence[str]
) -> Proposal:
    """The same for vector code."""
    layout, machine = compiled.layout, compiled.normal.machine
    symbols = compiled.normal.check_word(word)

    def part(block: str, value: str, shift: int = 0) -> Part:
        places = layout.places(block)
        match value.split():
            case ["q" | "s" | "v" as letter, *later]:
                if later[:1] == ["at"]:
                    return one_hot("w", places, 1)
                return one_hot(letter, places, shift + len(later))
            case ["m", *earlier]:
                return signed("before" if earlier else "m", places[0], shift)
            case ["alpha", _]:
                return one_hot("alpha", places)
            case ["beta", _]:
                return Counted("beta", places[0])
            case ["c", *later, "/", "p"]:
                return Counted("cell", places[0], -1, len(later))
            case _:
                return Counted("latest", places[0], shift=1)

    def parts(name: str, shift: int = 0) -> list[Part]:
        blocks = VECTORS[name].items()
        return [part(*each, shift) for each in blocks if symbols or each[0] not in INPUT]

    position = positioned(compiled.network)
    claims = []
    for statement, name, proved in LEMMAS:
        if proved == ATTENDED:
            winner = [Counted("latest", 0, shift=1), Counted("", 0)]
            claims.append(Claimed(statement, name, "decoder.3.self", winner))
        elif proved == "y":
            claims.append(Claimed(statement, name, "y", parts("y", 1)))
        else:
            claims.append(Claimed(statement, name, name, [*parts(proved), *position]))
    codes = range(len(machine.states)), range(len(machine.symbols))
    return Proposal(
        compiled.network,
        compiled.embed(word),
        compiled.seed,
        machine,
        symbols,
        parts("y"),
        claims,
        shown,
        [*codes[0], ZERO_BLOCK],
        [*codes[1], ZERO_BLOCK],
        "Theorem 3.4",
    )
