"""The kind `positionless-transformer`: no positional encodings, but masks, past the paper."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from netwright.certificates.positionless_transformer import CHECKER
from netwright.definitions.masked_transformer import MaskedTransformer
from netwright.definitions.transformer import Transformer
from netwright.definitions.without import TransformerWithout
from netwright.engine.following.shown import Shown, normal_shown
from netwright.engine.moments import Watch
from netwright.engine.pointers.means import MeanEngine, MeanTrace
from netwright.exact.meanings import Meanings
from netwright.kind.decoder import (
    BLANKS,
    DecoderProof,
    DecoderReading,
    NormalConstruction,
    normal_facts,
)
from netwright.kind.pointer_transformer.kind import PointerLook
from netwright.kind.pointer_transformer.meanings import (
    LOOK_UP_K,
    LOOK_UP_Q,
    POINTER_TRANSFORMER,
    ZERO,
)
from netwright.kind.positionless_transformer.checks import positionless_checks
from netwright.kind.positionless_transformer.construction import (
    CompiledPositionless,
    compile_positionless,
)
from netwright.kind.record import Kind, Options
from netwright.machine.normal_form import normalize
from netwright.machine.simulate import Engine
from netwright.machine.turing_machine import TuringMachine
from netwright.network.view import view_named

MASK = "mask:encoder"


@dataclass(frozen=True)
class MaskedWithout(MaskedTransformer, TransformerWithout):
    """A masked Transformer without some residual connections or attentions."""


class PositionlessConstruction(NormalConstruction[CompiledPositionless]):
    """A hard-attention Transformer without positional encodings, with a masked encoder layer."""

    name = "positionless-transformer"
    statement = "No positional encodings"
    options = (BLANKS,)

    def construct(self, machine: TuringMachine, options: Options) -> CompiledPositionless:
        """Build the network for the machine in normal form, which always moves."""
        return compile_positionless(normalize(machine, blanks_in_input=options["blanks"]))

    def parts(
        self, compiled: CompiledPositionless
    ) -> dict[str, Callable[[], CompiledPositionless]]:
        """The residual connections, the attentions, and the mask."""
        parts = [part for part in super().parts(compiled) if part != "positions"]
        return {part: partial(_without, compiled, part) for part in (*parts, MASK)}

    def facts(self, compiled: CompiledPositionless) -> dict[str, Any]:
        """Dimension, layers, widths and weights."""
        return {
            **normal_facts(compiled.normal),
            "dimension": compiled.layout.dimension,
            "formula": "2|Q| + 4|Σ| + 10, normalised",
            **self.sizes(compiled),
        }


def _without(compiled: CompiledPositionless, part: str) -> CompiledPositionless:
    network = compiled.network
    if part == MASK:
        return replace(compiled, network=replace(network, masked=False))
    values = {field.name: getattr(network, field.name) for field in fields(Transformer)}
    return replace(compiled, network=MaskedWithout(**values, without=frozenset({part})))


def _shown(compiled: CompiledPositionless, word: Sequence[str]) -> Shown:
    """The state in q1 of the output; the symbol in w and the move of the last z."""
    watches = (Watch("y", "q1"), Watch("z", "w"), Watch("z", "m", sign=True))
    return normal_shown(compiled, word, watches)


class PositionlessReading(DecoderReading[CompiledPositionless]):
    """A reading whose moments are tokens."""

    engines = (Engine.AUTO, Engine.FAST, Engine.REFERENCE)
    has_tables = False


class PositionlessLook(PointerLook):
    """The look of the residual stream."""

    meanings = Meanings(
        blocks={
            **POINTER_TRANSFORMER.blocks_but(("be", "n", "e2", "mR", "mL", "mS")),
            "one": "1",
            "e": "1/(i+1), the mean of b over the tokens so far; a pointer to this token",
            "b": "1 in the first token alone",
            "al": "the input's symbol number i+1; twice in decoder.2",
            "end": "1 beyond the input; twice in decoder.2",
        },
        hidden={
            "decoder.1.O": POINTER_TRANSFORMER.hidden["decoder.1.O"],
            "F": {
                "q": "the next state",
                "s": "the next symbol: the input's, or what was found",
                "R": "the next R: what was found, or this token",
                "L": "the next L: the same",
            },
        },
        weights={
            "encoder.1.Q": ZERO,
            "encoder.1.K": ZERO,
            "encoder.1.V": "b, whose mean is 1/j at input token j, as the encoder is masked",
            "encoder.1.O": ZERO,
            "encoder.K": "the key of input token j: best for token i is j = i+2, or $",
            "encoder.V": "the value of input token j: its symbol in al, or end = 1",
            "decoder.1.Q": ZERO,
            "decoder.1.K": ZERO,
            "decoder.1.V": "b, whose mean is 1/(i+1) at token i",
            "decoder.1.O": POINTER_TRANSFORMER.weights["decoder.1.O"],
            "decoder.2.Q": LOOK_UP_Q.replace("sel (j+1) - 1", "sel - 1/(j+1)"),
            "decoder.2.K": LOOK_UP_K.replace("position", "e"),
            "decoder.2.V": POINTER_TRANSFORMER.weights["decoder.2.V"],
            "decoder.2.O": ZERO,
            "F": POINTER_TRANSFORMER.weights["F"],
        },
    )
    view = view_named("positionless-transformer")


READING = PositionlessReading(_shown, MeanEngine, MaskedTransformer, MeanTrace)
PROOF = DecoderProof(READING, positionless_checks, CHECKER)
KIND = Kind(PositionlessConstruction(), READING, PROOF, PositionlessLook(READING))
