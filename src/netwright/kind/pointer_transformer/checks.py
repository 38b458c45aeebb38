"""Checks of networks that follow pointers: every vector and every attention of every token.

The statements are those of the proofs in `kind.pointer_transformer` and the universal kinds.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from netwright.definitions.transformer import LayerTrace, Token
from netwright.engine.following.shown import Shown
from netwright.engine.full.program import (
    Chosen,
    Counted,
    Part,
    Pointed,
    one_hot,
    positioned,
    signed,
)
from netwright.engine.moments import ZERO_BLOCK
from netwright.exact.rational import ONE, Rational
from netwright.kind.pointer_transformer.construction import MOVES, CompiledPointerTransformer
from netwright.kind.pointer_transformer.proof_values import PointerValues
from netwright.kind.transformer.checks import attended, decoder_checks, normal_proposal
from netwright.kind.universal_text.construction import CompiledUniversalText
from netwright.kind.universal_text.proof_values import TextValues
from netwright.kind.universal_transformer.codes import code_1, code_2
from netwright.kind.universal_transformer.construction import CompiledUniversalRules
from netwright.kind.universal_transformer.proof_values import RuleValues
from netwright.verify.comparison import Check
from netwright.verify.proposal import Claimed, Proposal, Where
from netwright.verify.shown import Claim

LEMMA = "Linked visits"
SIMULATION = "Simulation"


def attended_input(layer: LayerTrace) -> list[int]:
    """The input tokens, from 1 on, that a layer attends to."""
    return [j for j, weight in enumerate(layer.external_weights, start=1) if weight]


def pointer_checks(
    compiled: CompiledPointerTransformer, shown: Shown, word: Sequence[str], max_steps: int
) -> Iterator[Check]:
    """Check every token of a pointer Transformer."""
    values = partial(PointerValues, compiled, word)
    return decoder_checks(compiled, shown, word, max_steps, values, _pointer_claims, SIMULATION)


def _pointer_claims(values: PointerValues, n: int, i: int, token: Token) -> Iterator[Claim]:
    if i <= values.end:
        first, second = token.layers
        if values.word:
            place = min(i + 1, len(values.word))
            yield "Lemma B.1", "the symbol of the input", attended_input(first), [place]
            yield "Lemma B.1", "the symbol, again", attended_input(second), [place]
        yield "Lemma B.1", "a1", first.a, values.a1(i)
        yield "The rule", "z1", first.z, values.z1(i)
        followed = values.followed(i)
        if followed is not None:
            yield LEMMA, "the token attended to", attended(second), [followed]
            yield LEMMA, "p2", second.p, values.p2(i)
            yield LEMMA, "z2", second.z, values.z2(i)
    if i < values.end:
        yield LEMMA, "y", token.y, values.y(i + 1)
    else:
        yield "After the halt", "q1", token.y["q1"], {}


def rule_checks(
    compiled: CompiledUniversalRules, shown: Shown, word: Sequence[str], max_steps: int
) -> Iterator[Check]:
    """Check every token of the universal Transformer on a prompt of rules."""
    values = partial(RuleValues, compiled, word)
    return decoder_checks(compiled, shown, word, max_steps, values, _rule_claims, SIMULATION)


def _rule_claims(values: RuleValues, n: int, i: int, token: Token) -> Iterator[Claim]:
    if i <= values.end:
        first, second = token.layers
        place = values.place_of_rule(i) + 1
        yield "The rule", "the rule attended to", attended_input(first), [place]
        yield "The rule", "a1", first.a, values.a1(i)
        yield "The rule", "z1", first.z, values.z1(i)
        yield LEMMA, "the token attended to", attended(second), [values.selected(i)]
        yield LEMMA, "p2", second.p, values.p2(i)
        place = min(i + 1, len(values.X))
        yield "Lemma B.1", "the next token of the prompt", attended_input(second), [place]
        yield "Lemma B.1", "z2", second.z, values.z2(i)
    yield from _ends(values, n, i, token, halts=values.design.halts)


def text_checks(
    compiled: CompiledUniversalText, shown: Shown, word: Sequence[str], max_steps: int
) -> Iterator[Check]:
    """Check every token of the universal Transformer over eleven symbols."""
    values = partial(TextValues, compiled, word)
    return decoder_checks(compiled, shown, word, max_steps, values, _text_claims, SIMULATION)


def _text_claims(values: TextValues, n: int, i: int, token: Token) -> Iterator[Claim]:
    first, second, third = token.layers
    place = [min(i + 1, len(values.text))]
    for number, layer in enumerate(token.layers, start=1):
        yield "Lemma B.1", f"the prompt's symbol, layer {number}", attended_input(layer), place
    if i <= values.end:
        yield "Reading", "z1", first.z, values.z1(i)
        if (rule := values.rule(i)) is not None:
            yield "The rule", "the token of the rule", attended(second), [rule]
            yield "The rule", "z2", second.z, values.z2(i)
        if (followed := values.selected(i)) is not None:
            yield LEMMA, "the token attended to", attended(third), [followed]
        if (z3 := values.z3(i)) is not None:
            yield LEMMA, "z3", third.z, z3
    yield from _ends(values, n, i, token)


def _ends(
    values: RuleValues | TextValues, n: int, i: int, token: Token, *, halts: bool = True
) -> Iterator[Claim]:
    """The output: the next configuration; after a halt within n tokens r = 1 once or never.

    A network that does not halt shows a dead state as a configuration, or accepts: x = 1.
    """
    if i < values.end:
        yield LEMMA, "y", token.y, values.y(i + 1)
    elif values.end < n:
        accepted = int(i == values.end and values.accepts)
        wanted = {"r": accepted, "on": 0} if halts else {"x": 1, "on": 1}
        shown = {block: token.y.number(block) for block in wanted}
        yield "After the halt", " and ".join(wanted), shown, wanted


def pointer_proposal(
    compiled: CompiledPointerTransformer, shown: Shown, word: Sequence[str]
) -> Proposal:
    """The run with the claims of every token of a pointer Transformer, for vector code."""
    layout, symbols = compiled.layout, compiled.normal.check_word(word)
    at = layout.index

    def output(shift: int) -> list[Part]:
        state, symbol = one_hot("q", layout.places("q1"), shift), layout.places("s1")
        pointers = [Pointed("right", at("R"), shift), Pointed("left", at("L"), shift)]
        return [state, one_hot("s", symbol, shift), *pointers]

    read: list[Part] = [one_hot("alpha", layout.places("al")), Counted("beta", at("be"))]
    given = read if symbols else []
    if compiled.stays:
        moves = {
            at(block): [Rational(int(move.offset == n)) for n in (-1, 0, 1)]
            for move, block in MOVES.items()
        }
        move = Chosen("turn", moves, first=-1)
    else:
        move = signed("m", at("m"))
    a1 = [*output(0), *positioned(compiled.network), *given]
    rule = [one_hot("q", layout.places("q2"), 1), one_hot("v", layout.places("w")), move]
    z1 = [*a1, *rule, Pointed("followed", at("sel"), unless="m")]
    found = [one_hot("found", layout.places("v"))]
    p2 = [*z1, *found, Pointed("R of it", at("RR")), Pointed("L of it", at("LL"))]
    looks_up, runs_on, followed = Where("m", 0), Where("q", -1, 1), [Counted("followed", 0)]
    asked = ((1, "the symbol of the input"), (2, "the symbol, again")) if symbols else ()
    claims = [
        *(
            Claimed("Lemma B.1", name, f"decoder.{n}.external", [Counted("beta", 0)])
            for n, name in asked
        ),
        Claimed("Lemma B.1", "a1", "a1", a1),
        Claimed("The rule", "z1", "z1", z1),
        Claimed(LEMMA, "the token attended to", "decoder.2.self", followed, looks_up),
        Claimed(LEMMA, "p2", "p2", p2, looks_up),
        Claimed(LEMMA, "z2", "z2", [*p2, *given], looks_up),
        Claimed(LEMMA, "y", "y", output(1), runs_on),
        Claimed("After the halt", "q1", "y:q1", [], runs_on._replace(has_it=True)),
    ]
    return normal_proposal(compiled, shown, word, output(0), claims, SIMULATION)


def rule_proposal(compiled: CompiledUniversalRules, shown: Shown, word: Sequence[str]) -> Proposal:
    """The run with the claims of every token on a prompt of rules, for vector code."""
    layout, prompt, design = compiled.layout, compiled.prompt, compiled.design
    machine, symbols, X = prompt.machine, compiled.normal.check_word(word), compiled.embed(word)
    at = layout.index
    numbers = [prompt.symbols[symbol] for symbol in machine.symbols]

    def output(shift: int) -> list[Part]:
        states = [code_2(prompt.states[state]) for state in machine.states]
        state = {at(design.state): states, at("on"): [ONE] * len(states)}
        pointers = [Pointed("right", at("R"), shift), Pointed("left", at("L"), shift)]
        symbol = {at(design.symbol): [code_1(number) for number in numbers]}
        return [Chosen("q", state, shift), Chosen("s", symbol, shift), *pointers]

    rules = [
        X[len(symbols) + prompt.states[state] * len(prompt.symbols) + number]
        for state in machine.states
        for number in numbers
    ]
    fields = Chosen("rule", {at(name): [x.number(name) for x in rules] for name in design.rule})
    kept = {at(block): [x.number(source) for x in rules] for block, source in design.kept.items()}
    position = positioned(compiled.network)
    pointers = output(0)[2:]
    chosen: list[Part] = [
        Chosen("rule", kept),
        Pointed("followed", at("sel")),
        Counted("", at("one_")),
    ]
    z1: list[Part] = [*pointers, *position, fields, *chosen, Counted("", at("e_"), -1)]
    wrote = Chosen("found", {at(design.found): [code_1(number) for number in numbers]})
    p2: list[Part] = [*z1, wrote, Pointed("R of it", at("RR")), Pointed("L of it", at("LL"))]
    asked = {at(name): [x.number(name) for x in X] for name in design.rule}
    z2 = [*p2, Chosen("asked", asked, first=1)]
    accepts = [Rational(int(state in machine.accepting)) for state in machine.states]
    ended = {at(design.state): accepts} | ({} if design.halts else {at("on"): accepts})
    place = [Rational(X.index(x) + 1) for x in rules]
    attended_rule, followed = Chosen("rule", {0: place}), Counted("followed", 0)
    dead = [] if design.halts else [ZERO_BLOCK]  # the last state; it shows the halt
    next_token, runs_on = Counted("asked", 0), Where("q", -1, 1)
    claims = [
        Claimed("The rule", "the rule attended to", "decoder.1.external", [attended_rule]),
        Claimed("The rule", "a1", "a1", [*output(0), *position, fields]),
        Claimed("The rule", "z1", "z1", z1),
        Claimed(LEMMA, "the token attended to", "decoder.2.self", [followed]),
        Claimed(LEMMA, "p2", "p2", p2),
        Claimed("Lemma B.1", "the next token of the prompt", "decoder.2.external", [next_token]),
        Claimed("Lemma B.1", "z2", "z2", z2),
        Claimed(LEMMA, "y", "y", output(1), runs_on),
        Claimed(
            "After the halt",
            f"{design.state} and on",
            f"y:{design.state} on",
            [Chosen("q", ended)],
            runs_on._replace(has_it=True),
        ),
    ]
    return Proposal(
        compiled.network,
        X,
        compiled.seed,
        machine,
        symbols,
        output(0),
        claims,
        shown,
        [*(prompt.states[state] for state in compiled.machine.states), *dead, ZERO_BLOCK],
        [*numbers, ZERO_BLOCK],
        SIMULATION,
        machine.accepting,
    )
