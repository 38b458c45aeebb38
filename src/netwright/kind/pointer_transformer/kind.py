"""The kind `pointer-transformer`: two decoder layers that follow pointers, past the paper."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from netwright.certificates.pointer_transformer import CHECKER
from netwright.engine.following.shown import Shown, normal_shown
from netwright.engine.moments import Watch
from netwright.engine.pointers.engine import PointerEngine
from netwright.errors import InputError
from netwright.exact.feed_forward import Affine
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE, Rational
from netwright.exact.vector import Vector
from netwright.kind.compiled_decoder import CompiledNormalDecoder
from netwright.kind.decoder import (
    BLANKS,
    DecoderProof,
    DecoderReading,
    NormalConstruction,
    NormalLook,
    normal_facts,
)
from netwright.kind.pointer_transformer.checks import pointer_checks, pointer_proposal
from netwright.kind.pointer_transformer.construction import (
    MOVES,
    Attention,
    CompiledPointerTransformer,
    compile_pointer_transformer,
)
from netwright.kind.pointer_transformer.meanings import POINTER_TRANSFORMER
from netwright.kind.record import Kind, Option, Options
from netwright.machine.normal_form import normalize
from netwright.machine.turing_machine import TuringMachine
from netwright.network.trace import Moment
from netwright.network.view import AppliedRule, view_named

if TYPE_CHECKING:
    from netwright.precision.laboratory import Experiment

ATTENTION = Option.choice(
    "attention",
    {each.value: each for each in Attention},
    Attention.ABSOLUTE.value,
    "The score of attention: -|<q, k>| as in the paper, or <q, k>.",
)


class PointerConstruction(NormalConstruction[CompiledPointerTransformer]):
    """A hard-attention Transformer with two decoder layers, and pointers in its outputs."""

    name = "pointer-transformer"
    statement = "Linked visits"
    code = "transformer"
    options = (ATTENTION, BLANKS)

    def construct(self, machine: TuringMachine, options: Options) -> CompiledPointerTransformer:
        """Build the network for the machine in normal form, in which it may stay."""
        normal = normalize(machine, blanks_in_input=options["blanks"], keep_stays=True)
        return compile_pointer_transformer(normal, options["attention"])

    def facts(self, compiled: CompiledPointerTransformer) -> dict[str, Any]:
        """Dimension, layers, widths and weights."""
        more = 10 + 2 * compiled.stays + (compiled.attention is Attention.DOT_PRODUCT)
        return {
            **normal_facts(compiled.normal),
            "stays": compiled.stays,
            "dimension": compiled.layout.dimension,
            "formula": f"2|Q| + 4|Σ| + {more}, normalised",
            "attention": compiled.attention.value,
            **self.sizes(compiled),
        }


def sum_of(layout: Layout, weights: Mapping[str, int]) -> Affine:
    """A map from a vector to a weighted sum of its blocks, for a watch."""
    shown = Layout.of(shown="")
    entries = {(layout.index(block), 0): Rational(weight) for block, weight in weights.items()}
    return Affine(layout, shown, entries, Vector.zero(shown))


def _shown(compiled: CompiledPointerTransformer, word: Sequence[str]) -> Shown:
    """The state in q1 of the output; the symbol in w and the move of the last z."""
    if compiled.stays:
        weights = {"mR": 1, "mL": 2, "mS": 4}
        numbers = {ONE: 1, 2 * ONE: -1, 4 * ONE: 0}
        move = Watch("z", "shown", through=sum_of(compiled.layout, weights), numbers=numbers)
    else:
        move = Watch("z", "m", sign=True)
    watches = (Watch("y", "q1"), Watch("z", "w"), move)
    return normal_shown(compiled, word, watches, stays=compiled.stays)


class PointerProof(DecoderProof[CompiledPointerTransformer]):
    """The lemma of linked visits."""

    def laboratory(self, options: Options) -> "tuple[type[Experiment], dict[str, Any]]":
        """The experiment with hard attention, its sums in two orders."""
        from netwright.precision.pointers import PointerExperiment

        if options["attention"] is not Attention.ABSOLUTE:
            raise InputError("the precision laboratory has only attention=absolute")
        return PointerExperiment, {"blanks": options["blanks"]}


class PointerLook(NormalLook):
    """The look of the residual stream."""

    meanings = POINTER_TRANSFORMER
    view = view_named("pointer-transformer")

    def rule(self, compiled: CompiledNormalDecoder, moment: Moment) -> AppliedRule | None:
        """State and symbol of y_{t−1}, and the rule in z¹."""
        return shown_rule(moment)


def shown_rule(moment: Moment) -> AppliedRule | None:
    """The rule in z¹ of a token that follows pointers, with the state and symbol before it."""
    y, z = moment["decoder.1.input"], moment["decoder.1.z"]
    state, symbol = y.label("q1"), y.label("s1")
    if state is None or symbol is None:
        return None
    if "m" not in z.layout:
        there = [each for each in MOVES.items() if each[1] in z.layout]
        moves = [move.value for move, block in there if z.number(block) == ONE]
        move = moves[0] if len(moves) == 1 else None
    else:
        move = {ONE: "R", -ONE: "L"}.get(z.number("m"))
    return AppliedRule(state, symbol, z.label("w"), move, z.label("q2"))


READING = DecoderReading[CompiledPointerTransformer](_shown, PointerEngine)
PROOF = PointerProof(READING, pointer_checks, CHECKER, pointer_proposal)
KIND = Kind(PointerConstruction(), READING, PROOF, PointerLook(READING))
