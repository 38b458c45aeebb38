"""Networks that follow pointers, token by token: every vector, every pointer, whom it attends to.

The statements are those of the proofs in `theorems.beyond.pointers`.
"""

from collections.abc import Iterator, Sequence

from netwright.following.shown import Shown
from netwright.nets.transformer import LayerTrace, Token
from netwright.theorems.beyond.pointers.pointer_transformer import CompiledPointerTransformer
from netwright.theorems.beyond.pointers.pointer_values import PointerValues
from netwright.theorems.beyond.pointers.rule_values import RuleValues
from netwright.theorems.beyond.pointers.text_values import TextValues
from netwright.theorems.beyond.pointers.universal_rules import CompiledUniversalRules
from netwright.theorems.beyond.pointers.universal_text import CompiledUniversalText
from netwright.verify.comparison import Check
from netwright.verify.shown import Claim
from netwright.verify.transformer import Claims, attended, decoder_checks

LEMMA = "Linked visits"
SIMULATION = "Simulation"


def _asked(layer: LayerTrace) -> list[int]:
    """The input tokens, from 1 on, that a layer attends to."""
    return [j for j, weight in enumerate(layer.external_weights, start=1) if weight]


def pointer_checks(
    compiled: CompiledPointerTransformer, shown: Shown, word: Sequence[str], max_steps: int
) -> Iterator[Check]:
    """Every token of a pointer Transformer."""

    def claims(tokens: int) -> Claims:
        values = PointerValues(compiled, word, tokens)
        length = len(values.word)

        def of(i: int, token: Token) -> Iterator[Claim]:
            if i > values.end:
                yield "After the halt", "q1", token.y["q1"], {}
                return
            first, second = token.layers
            if length:
                place = min(i + 1, length)
                yield "Lemma B.1", "the symbol of the input", _asked(first), [place]
                yield "Lemma B.1", "the symbol, again", _asked(second), [place]
            yield "Lemma B.1", "a1", first.a, values.a1(i)
            yield "The rule", "z1", first.z, values.z1(i)
            followed, z2 = values.followed(i), values.z2(i)
            if followed is not None:
                yield LEMMA, "the token attended to", attended(second), [followed]
                yield LEMMA, "p2", second.p, values.p2(i)
                yield LEMMA, "z2", second.z, z2
            if i < values.end:
                yield LEMMA, "y", token.y, values.y(i + 1)
            else:
                yield "After the halt", "q1", token.y["q1"], {}

        return of

    return decoder_checks(compiled, shown, word, max_steps, claims, SIMULATION)


def rule_checks(
    compiled: CompiledUniversalRules, shown: Shown, word: Sequence[str], max_steps: int
) -> Iterator[Check]:
    """Every token of the universal Transformer on a prompt of rules."""

    def claims(tokens: int) -> Claims:
        values = RuleValues(compiled, word, tokens)

        def of(i: int, token: Token) -> Iterator[Claim]:
            if i <= values.end:
                first, second = token.layers
                place = values.place_of_rule(i) + 1
                yield "The rule", "the rule attended to", _asked(first), [place]
                yield "The rule", "a1", first.a, values.a1(i)
                yield "The rule", "z1", first.z, values.z1(i)
                followed = [values.selected(i)]
                yield LEMMA, "the token attended to", attended(second), followed
                yield LEMMA, "p2", second.p, values.p2(i)
                place = min(i + 1, len(values.X))
                yield "Lemma B.1", "the next token of the prompt", _asked(second), [place]
                yield "Lemma B.1", "z2", second.z, values.z2(i)
            yield from _ends(values, i, token, tokens)

        return of

    return decoder_checks(compiled, shown, word, max_steps, claims, SIMULATION)


def text_checks(
    compiled: CompiledUniversalText, shown: Shown, word: Sequence[str], max_steps: int
) -> Iterator[Check]:
    """Every token of the universal Transformer over eleven symbols."""

    def claims(tokens: int) -> Claims:
        values = TextValues(compiled, word, tokens)

        def of(i: int, token: Token) -> Iterator[Claim]:
            first, second, third = token.layers
            place = [min(i + 1, len(values.text))]
            for number, layer in enumerate(token.layers, start=1):
                yield "Lemma B.1", f"the prompt's symbol, layer {number}", _asked(layer), place
            if i <= values.end:
                yield "Reading", "z1", first.z, values.z1(i)
                if (rule := values.rule(i)) is not None:
                    yield "The rule", "the token of the rule", attended(second), [rule]
                    yield "The rule", "z2", second.z, values.z2(i)
                if (followed := values.selected(i)) is not None:
                    yield LEMMA, "the token attended to", attended(third), [followed]
                if (z3 := values.z3(i)) is not None:
                    yield LEMMA, "z3", third.z, z3
            yield from _ends(values, i, token, tokens)

        return of

    return decoder_checks(compiled, shown, word, max_steps, claims, SIMULATION)


def _ends(values: RuleValues | TextValues, i: int, token: Token, tokens: int) -> Iterator[Claim]:
    """What comes out: the next configuration; or the end, which is final or not, and then 0."""
    if i < values.end:
        yield LEMMA, "y", token.y, values.y(i + 1)
    elif values.end < tokens:
        accepted = i == values.end and values.accepts
        shown = {"r": token.y.number("r"), "on": token.y.number("on")}
        yield "After the halt", "r and on", shown, {"r": int(accepted), "on": 0}
