"""The kind `pointer-transformer`: two decoder layers that follow pointers, past the paper."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from netwright.errors import FormatError, InputError, unknown
from netwright.exact.rational import ONE
from netwright.following.transformer import run_transformer
from netwright.machine.normal_form import normalize
from netwright.machine.simulate import Engine, Run
from netwright.machine.turing_machine import TuringMachine
from netwright.nets.transformer import Transformer
from netwright.networks.decoder import (
    NormalDecoderKind,
    rebuilt_ends,
    written_ends,
)
from netwright.networks.kind import Following, Option, Options, read_flag
from netwright.networks.trace import Moment
from netwright.networks.view import Column, Part, Says, View
from netwright.networks.writing import Reading, Writing
from netwright.runtime.pointers.engine import PointerEngine
from netwright.theorems.beyond.pointers.meanings import POINTER_TRANSFORMER
from netwright.theorems.beyond.pointers.pointer_transformer import (
    MOVES,
    Attention,
    CompiledPointerTransformer,
    compile_pointer_transformer,
    positions,
)
from netwright.theorems.decoder import CompiledDecoder
from netwright.verify.certificate.pointer_transformer import CHECKER
from netwright.verify.comparison import Check
from netwright.verify.pointers import pointer_checks

if TYPE_CHECKING:
    from netwright.precision.pointers import PointerExperiment

ENGINES = (Engine.AUTO, Engine.FAST, Engine.REFERENCE)
VIEW = View(
    groups=(
        ("q1", "s1", "R", "L"),
        ("q2", "w", "m", "mR", "mL", "mS", "sel"),
        ("al", "be", "v", "RR", "LL"),
        ("one", "n", "e", "e2"),
    ),
    short=(
        ("q1", "state"),
        ("s1", "symbol"),
        ("R", "last visit right"),
        ("L", "last visit left"),
        ("q2", "next state"),
        ("w", "written"),
        ("m", "move"),
        ("mR", "moves right"),
        ("mL", "moves left"),
        ("mS", "stays"),
        ("sel", "pointer to follow"),
        ("al", "input symbol"),
        ("be", "input place"),
        ("v", "found there"),
        ("RR", "its R"),
        ("LL", "its L"),
        ("one", "one"),
        ("n", "position"),
        ("e", "1 / t"),
        ("e2", "1 / t²"),
    ),
    columns=(
        Column("decoder.1.input", "y + pos"),
        Column("decoder.1.a", "+ encoder", 1),
        Column("decoder.1.z", "+ O₁: the rule", 1),
        Column("decoder.2.p", "+ self: looked up", 2),
        Column("y", "F"),
    ),
    parts=(
        Part(
            "input",
            "decoder.1.input",
            "y_{t−1} + pos(t)",
            "The last output comes back, with its position. Its pointers are 1/(j+1) for the "
            "tokens j that last visited the cells to the right and to the left.",
        ),
        Part(
            "decoder.1.self",
            "decoder.1.p",
            "p¹ = Att(Q(x), K(X), V(X)) + x",
            "Layer 1 asks no other token: its values are 0, so nothing is added.",
            1,
        ),
        Part(
            "decoder.1.external",
            "decoder.1.a",
            "a¹ = Att(p¹, Kᵉ, Vᵉ) + p¹",
            "Position t asks the encoder and gets symbol t of the input, and its place; the last "
            "symbol once the input is over.",
            1,
        ),
        Part(
            "decoder.1.O",
            "decoder.1.z",
            "z¹ = O₁(a¹) + a¹",
            "The rule: next state, symbol to write, move, and the pointer that the move follows.",
            1,
        ),
        Part(
            "decoder.2.self",
            "decoder.2.p",
            "p² = Att(Q₂(z¹), K₂, V₂) + z¹",
            "The token that is pointed to says what it wrote, and its own two pointers.",
            2,
        ),
        Part(
            "decoder.2.external",
            "decoder.2.a",
            "a² = Att(p², Kᵉ, Vᵉ) + p²",
            "The encoder gives symbol t and its place once more, so they are doubled.",
            2,
        ),
        Part("decoder.2.O", "decoder.2.z", "z² = O₂(a²) + a²", "O₂ is 0: z² = a².", 2),
        Part(
            "F",
            "y",
            "y_t = F(z²)",
            "The next symbol is what was found, or the input's; and by the lemma of linked visits "
            "the next pointers are those that were found, or this token.",
        ),
    ),
    drawn="decoder.2.self",
    drawing="Layer 2",
    has_null=True,
)


def read_attention(value: object) -> Attention:
    """The score of the attentions."""
    if str(value) not in [*Attention]:
        raise InputError(unknown("attention", str(value), [*Attention]))
    return Attention(str(value))


ATTENTION = Option(
    "attention",
    read_attention,
    Attention.ABSOLUTE,
    "The score of attention: -|<q, k>| as in the paper, or <q, k>.",
    metavar=f"[{'|'.join(Attention)}]",
    choices=tuple(Attention),
)
BLANKS = Option("blanks", read_flag, False, "Take inputs with blanks in them.", is_flag=True)


def run_by_pointers(compiled: CompiledDecoder, word: Sequence[str], following: Following) -> Run:
    """By the definition where a part is left out: the engine knows whole networks."""
    is_whole = type(compiled.network) is Transformer
    faster = following.faster(PointerEngine, PointerEngine.SHORT) if is_whole else None
    return run_transformer(compiled, word, *following.beside, faster)


class PointerTransformerKind(NormalDecoderKind[CompiledPointerTransformer]):
    """A hard-attention Transformer with two decoder layers, and pointers in its outputs."""

    name = "pointer-transformer"
    statement = "Linked visits"
    meanings = POINTER_TRANSFORMER
    checker = CHECKER
    engines = ENGINES
    view = VIEW
    code = "transformer"
    benchmark_steps = 10**7
    options = (ATTENTION, BLANKS)

    def construct(self, machine: TuringMachine, options: Options) -> CompiledPointerTransformer:
        """For the machine in normal form, but that it may stay."""
        normal = normalize(machine, blanks_in_input=options["blanks"], keep_stays=True)
        return compile_pointer_transformer(normal, options["attention"])

    def run(
        self, compiled: CompiledPointerTransformer, word: Sequence[str], following: Following
    ) -> Run:
        """By the engine that follows pointers."""
        return run_by_pointers(compiled, word, following)

    def checks(
        self, compiled: CompiledPointerTransformer, word: Sequence[str], max_steps: int
    ) -> Iterator[Check]:
        """Every vector and pointer of every token."""
        return pointer_checks(compiled, word, max_steps)

    def says(self, compiled: CompiledPointerTransformer, moment: Moment) -> Says | None:
        """The state and symbol of y_{t−1}, and the rule that z¹ has."""
        y, z = moment["decoder.1.input"], moment["decoder.1.z"]
        state, symbol = y.label("q1"), y.label("s1")
        if state is None or symbol is None:
            return None
        if compiled.stays:
            moves = [move.value for move, block in MOVES.items() if z.number(block) == ONE]
            move = moves[0] if len(moves) == 1 else None
        else:
            move = {ONE: "R", -ONE: "L"}.get(z.number("m"))
        return Says(state, symbol, z.label("w"), move, z.label("q2"))

    def beside(self, writing: Writing, compiled: CompiledPointerTransformer) -> dict[str, Any]:
        """Machine, normal form, embedding and final set."""
        return written_ends(writing, compiled)

    def rebuilt(
        self, written: Mapping[str, Any], machine: TuringMachine, options: Options
    ) -> CompiledPointerTransformer:
        """From what `written` gave."""
        reading = Reading(written)
        if tuple(written["positions"]) != positions(options["attention"]):
            raise FormatError("it was made with another attention")
        return CompiledPointerTransformer(
            network=self.rebuilt_network(reading, written),
            attention=options["attention"],
            **rebuilt_ends(reading, written, machine),
        )

    def experiment(
        self, machine: TuringMachine, word: tuple[str, ...], options: Options, settings: Options
    ) -> "PointerExperiment":
        """With hard attention, its sums in two orders."""
        from netwright.precision.pointers import PointerExperiment

        if options["attention"] is not Attention.ABSOLUTE:
            raise InputError("the precision laboratory has attention=absolute alone")
        for name in settings:
            if name not in PointerExperiment.__dataclass_fields__:
                flag = {"temperature": "softmax", "snapping": "snap"}.get(name, name)
                raise InputError(f"{flag} is for transformer, not for {self.name}")
        return PointerExperiment(machine, word, blanks=options["blanks"], **settings)

    def facts(self, compiled: CompiledPointerTransformer) -> dict[str, Any]:
        """Dimension, layers, widths and weights."""
        more = 10 + 2 * compiled.stays + (compiled.attention is Attention.DOT_PRODUCT)
        return {
            **self.normal_facts(compiled),
            "stays": compiled.stays,
            "dimension": compiled.layout.dimension,
            "formula": f"2|Q| + 4|Σ| + {more}, normalised",
            "attention": compiled.attention.value,
            **self.sizes(compiled),
        }
