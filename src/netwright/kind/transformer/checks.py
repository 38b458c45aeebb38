"""Checks of a machine's Transformer: every vector of the proof of Theorem 3.4, at every token."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from netwright.definitions.transformer import LayerTrace, Token
from netwright.engine.following.shown import Shown
from netwright.engine.full.program import Counted, Part, one_hot, positioned, signed
from netwright.engine.moments import ZERO_BLOCK, watched
from netwright.engine.transformer.decoder import LayerVectors
from netwright.exact.vector import Vector
from netwright.kind.compiled_decoder import CompiledDecoder, CompiledNormalDecoder
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
"""The claims of every token, in order: statement, the vector's name, its name in the proof."""
V = TypeVar("V")


def lemmas(
    values: ProofVectors,
    i: int,
    layers: Sequence[LayerTrace | LayerVectors],
    attended: Sequence[int],
    y: Vector,
) -> Iterator[Claim]:
    """The claims of Lemmas B.1 to B.5 for token i: statement, name, value found, value proved.

    `attended` are the tokens that layer 3 attends to; they and i are counted from 0.
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
    values: Callable[[int], V],
    claims: Callable[[V, int, int, Token], Iterator[Claim]],
    statement: str,
) -> Iterator[Check]:
    """Check the claims of every token, and the given machine's configuration at every step.

    `values(n)` are the values of the proof for n tokens, and `claims` takes them, n, the number of
    a token, and the token.
    """

    def claims_for(n: int) -> Callable[[int, Token], Iterator[Claim]]:
        return partial(claims, values(n), n)

    tokens = compiled.network.tokens(compiled.embed(word), compiled.seed)
    return shown_checks(shown, tokens, word, max_steps, statement, watched, claims_for)


def transformer_checks(
    compiled: CompiledTransformer, shown: Shown, word: Sequence[str], max_steps: int
) -> Iterator[Check]:
    """Check Lemmas B.1 to B.5 for every token."""

    def claims(values: ProofValues, n: int, i: int, token: Token) -> Iterator[Claim]:
        return lemmas(values, i, token.layers, attended(token.layers[-1]), token.y)

    values = partial(ProofValues.of, compiled, compiled.normal.check_word(word))
    return decoder_checks(compiled, shown, word, max_steps, values, claims, "Theorem 3.4")


def attended(layer: LayerTrace) -> list[int]:
    """The tokens, from 0 on, that a layer attends to."""
    return [j for j, weight in enumerate(layer.self_weights) if weight]


def transformer_proposal(
    compiled: CompiledTransformer, shown: Shown, word: Sequence[str]
) -> Proposal:
    """The machine's run with the same claims, for vector code."""
    layout, symbols = compiled.layout, compiled.normal.check_word(word)

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
    return normal_proposal(compiled, shown, word, parts("y"), claims, "Theorem 3.4")


def normal_proposal(
    compiled: CompiledNormalDecoder,
    shown: Shown,
    word: Sequence[str],
    output: list[Part],
    claims: list[Claimed],
    statement: str,
) -> Proposal:
    """The run of a machine in normal form, whose states and symbols are one-hots, with claims."""
    machine = compiled.normal.machine
    return Proposal(
        compiled.network,
        compiled.embed(word),
        compiled.seed,
        machine,
        compiled.normal.check_word(word),
        output,
        claims,
        shown,
        [*range(len(machine.states)), ZERO_BLOCK],
        [*range(len(machine.symbols)), ZERO_BLOCK],
        statement,
    )
