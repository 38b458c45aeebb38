"""The kind `language-model`: a stock GPT-2 of whole numbers, by the lemma of linked visits.

It goes past the paper: softmax, layer norms and floats of fixed precision, within a context of so
many tokens. `theorems.beyond.language_model` has the construction.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from flint import fmpq

from netwright.errors import InputError, unknown
from netwright.exact.feed_forward import Affine
from netwright.exact.layout import Layout
from netwright.exact.vector import Vector
from netwright.following.language_model import run_language_model
from netwright.following.language_model_tracing import LanguageModelTracing, StepTracing, exact
from netwright.machine.simulate import Engine, Run
from netwright.machine.timeline import Timeline
from netwright.machine.turing_machine import TuringMachine
from netwright.nets.language_model import Block, Head, LanguageModel, Matrix, Units
from netwright.networks.kind import Following, Kind, Option, Options
from netwright.networks.language_model_plain import plain_language_model
from netwright.networks.plain import Plain
from netwright.networks.trace import Moment
from netwright.networks.view import Column, History, Part, Says, View
from netwright.networks.writing import Writing
from netwright.runtime.language_model import (
    ROUNDED,
    Evaluator,
    FloatEvaluator,
    HardEvaluator,
    TorchEvaluator,
)
from netwright.text import as_token
from netwright.theorems.beyond.language_model.checkpoint import pack
from netwright.theorems.beyond.language_model.construction import (
    LONGEST,
    SHORTEST,
    CompiledLanguageModel,
    compile_language_model,
)
from netwright.theorems.beyond.language_model.stream import MEANINGS
from netwright.theorems.beyond.language_model.vocabulary import ACCEPT, REJECT
from netwright.verify.comparison import Check
from netwright.verify.language_model import language_model_checks

READING = (
    "The text is the input's symbols, `<run>`, and two tokens for each step. `R:q:a>w` says: moved "
    "right, now in state q, reads a, writes w; `@p` is the position at which the cell ahead was "
    "last visited. A run ends with `{end}` or `<reject>`; without one of them it has not ended "
    "within the context. White space and `% : < > @` in names are written `%20` and so on. To go "
    "on with a longer run, the prompt is `x y <run> left:l @0 left:m:goto:q @0`: the head is on x "
    "in state q, l and m stand left of it (add_special_tokens=False)."
)


PARTS = (
    Part("input", "block.0.input", "wte + wpe", "the address token, and its position"),
    Part("step", "block.0.middle", "block 0, head", "takes over the step before it", 1),
    Part("rule", "block.1.input", "block 0, units", "the rule, and both addresses", 1),
    Part("visits", "block.1.middle", "block 1, heads", "looks both visits up", 2),
    Part("next", "block.2.input", "block 1, units", "next symbol, and next address", 2),
    Part("output", "output", "block 2", "nothing more, for an address token", 3),
)
GROUPS = (
    ("q1", "s1", "m1", "isP", "acc", "rej"),
    ("q2", "w", "m2"),
    ("far", "R", "L", "RR", "LL", "FAR", "Z"),
    ("vA", "vB", "Ys"),
    ("T", "A", "N"),
)
COLUMNS = tuple(Column(part.vector, part.name, part.layer) for part in PARTS)


def read_context(value: object) -> int:
    """How many tokens a text may have."""
    text = str(value).replace(",", "").replace("_", "")
    if isinstance(value, bool) or not text.isdecimal() or len(text) > 9:
        raise InputError(f"context is {str(value)[:40]!r}; expected a number of tokens")
    if not SHORTEST <= int(text) <= LONGEST:
        raise InputError(f"context is {int(text):,}; expected {SHORTEST:,} to {LONGEST:,} tokens")
    return int(text)


def read_type(value: object) -> str:
    """The type of the numbers in which the model runs."""
    if str(value) not in ROUNDED:
        raise InputError(unknown("dtype", str(value), list(ROUNDED)))
    return str(value)


class LanguageModelKind(Kind[CompiledLanguageModel]):
    """A GPT-2 that writes the run of a machine as text, two tokens a step."""

    name = "language-model"
    statement = "Linked visits"
    meanings = MEANINGS
    uncertified = (
        ": it runs in floats, with softmax, and a proof for all inputs would have to bound every "
        "rounding of a runtime; verify compares token by token"
    )
    engines = (Engine.AUTO, Engine.FAST, Engine.REFERENCE, Engine.TORCH)
    view = View(
        groups=GROUPS,
        columns=COLUMNS,
        parts=PARTS,
        drawn=StepTracing.AHEAD,
        drawing="Pointer head",
    )
    options = (
        Option("context", read_context, 1024, "How many tokens a text has.", metavar="T"),
        Option(
            "dtype",
            read_type,
            "float32",
            "The type of its numbers.",
            metavar=f"[{'|'.join(ROUNDED)}]",
            choices=tuple(ROUNDED),
        ),
    )

    def construct(self, machine: TuringMachine, options: Options) -> CompiledLanguageModel:
        """Embeddings, three blocks and the unembedding."""
        compiled = compile_language_model(machine, options["context"])
        return replace(compiled, dtype=options["dtype"])

    def run(
        self, compiled: CompiledLanguageModel, word: Sequence[str], following: Following
    ) -> Run:
        """In floats with softmax; by the definition, with hard attention, as reference."""
        if following.store is not None:
            raise InputError(
                f"{self.name} keeps no checkpoints; its text can be gone on with: netwright decode"
            )
        engine = Engine.FAST if following.engine is Engine.AUTO else following.engine
        evaluator = evaluator_of(compiled, engine)
        return run_language_model(
            compiled, word, following.max_steps, evaluator, engine, following.progress
        )

    def trace(
        self, compiled: CompiledLanguageModel, word: Sequence[str], max_steps: int
    ) -> LanguageModelTracing:
        """The tokens of one context."""
        return LanguageModelTracing(compiled, word, max_steps)

    def looked_at(
        self, compiled: CompiledLanguageModel, word: Sequence[str], max_steps: int
    ) -> StepTracing:
        """Step by step: the token that computes the next one, and the two visits it looks up."""
        return StepTracing(compiled, word, max_steps)

    def history(
        self,
        compiled: CompiledLanguageModel,
        machine: TuringMachine,
        word: Sequence[str],
        limit: int,
    ) -> History:
        """As many steps as one context has; the first is the machine at time 0."""
        moving = compiled.vocabulary.machine
        room = (compiled.context - len(word) - 1) // 2
        return History(Timeline(moving, word, limit=max(0, min(limit, room - 1))), 1, 1)

    def outputs(self, compiled: CompiledLanguageModel, word: Sequence[str]) -> Iterator[Vector]:
        """The stream behind each token from `<run>` on, which says what the next one is."""
        tracing = LanguageModelTracing(compiled, word, 10**9)
        rows = compiled.network.streams(tracing.tokens)["output"]
        return (exact(row, compiled.network.stream) for row in rows[len(word) :])

    def checks(
        self, compiled: CompiledLanguageModel, word: Sequence[str], max_steps: int
    ) -> Iterator[Check]:
        """Every token, of the definition and of floats, beside the machine's own text."""
        floats = evaluator_of(compiled, Engine.FAST)
        return language_model_checks(compiled, word, max_steps, floats)

    def machine_of(self, compiled: CompiledLanguageModel) -> TuringMachine:
        """The machine without stays."""
        return compiled.vocabulary.machine

    def output(self, moment: Moment) -> Vector | None:
        """The stream behind the last block."""
        return moment["output"]

    def says(self, compiled: CompiledLanguageModel, moment: Moment) -> Says | None:
        """State and symbol of a step token; the rule is the machine's."""
        x = moment["block.0.middle"]
        state, symbol = x.label("q1"), x.label("s1")
        if state is None or symbol is None:
            return None
        return Says.of(compiled.vocabulary.machine, state, symbol)

    def written(self, compiled: CompiledLanguageModel) -> dict[str, Any]:
        """The machine, and every matrix."""
        writing = Writing()
        stream = writing.layout(compiled.network.stream)
        return {
            "given": writing.machine(compiled.given),
            "context": compiled.context,
            "matrices": {
                name: [[j, k, str(w)] for (j, k), w in sorted(matrix.entries.items())]
                for name, matrix in matrices_of(compiled.network).items()
            },
            "biases": {
                f"block.{n}": [[k, str(int(b))] for k, b in enumerate(units.b) if b]
                for n, units in _units_of(compiled.network)
            },
            "layout": stream,
            "layouts": writing.layouts,
        }

    def rebuilt(
        self, written: Mapping[str, Any], machine: TuringMachine, options: Options
    ) -> CompiledLanguageModel:
        """The numbers that are written, under the names that the machine gives."""
        model = self.construct(machine, options)
        network = model.network
        for name, matrix in matrices_of(network).items():
            entries = {(j, k): int(w) for j, k, w in written["matrices"][name]}
            rows, columns = matrix.rows.dimension, matrix.columns.dimension
            if any(not (0 <= j < rows and 0 <= k < columns) for j, k in entries):
                raise InputError("a weight outside its matrix")
            network = with_matrix(network, name, replace(matrix, entries=entries))
        for n, units in _units_of(network):
            names = units.A.columns.labels("unit")
            bias = {names[k]: int(b) for k, b in written["biases"][f"block.{n}"]}
            network = _with_units(network, n, replace(units, bias=bias))
        return replace(model, network=network)

    def was_made_with(self, compiled: CompiledLanguageModel, options: Options) -> bool:
        """The context."""
        return bool(compiled.context == options["context"])

    def plain(self, compiled: CompiledLanguageModel) -> Plain:
        """The checkpoint, with a name for everything in it."""
        vocabulary = compiled.vocabulary
        about = Plain.of(self.name, self.statement, compiled.given, self.meanings).names
        letters = " ".join(map(as_token, compiled.given.default_input))
        names = {
            **about,
            "before": [],
            "reading": READING.format(end=vocabulary.texts[ACCEPT]),
            "example": letters,
            "states": list(vocabulary.machine.states),
            "symbols": list(vocabulary.symbols),
            "pauses": sorted(vocabulary.pauses),
        }
        ends = vocabulary.texts[ACCEPT : REJECT + 1]
        return plain_language_model(names, compiled.network, self.meanings, ends)

    def matrices(self, compiled: CompiledLanguageModel) -> dict[str, Affine]:
        """Embeddings, the matrices of heads and units, and the unembedding."""
        biases = {f"block.{n}.units.A": units.b for n, units in _units_of(compiled.network)}
        return {
            f"{name}#0": Affine(
                matrix.rows,
                matrix.columns,
                {place: fmpq(weight) for place, weight in matrix.entries.items()},
                exact(biases.get(name, np.zeros(matrix.columns.dimension)), matrix.columns),
            )
            for name, matrix in matrices_of(compiled.network).items()
        }

    def with_matrix(
        self, compiled: CompiledLanguageModel, name: str, affine: Affine
    ) -> CompiledLanguageModel:
        """With another matrix of whole numbers in one of these places."""
        numbers = [*affine.weights.values(), *affine.bias.entries.values()]
        if any(number.q != 1 for number in numbers):
            raise InputError(f"the weights of a {self.name} are whole numbers")
        place = name.partition("#")[0]
        entries = {key: int(weight.p) for key, weight in affine.weights.items()}
        matrix = Matrix(affine.input, affine.output, entries)
        network = with_matrix(compiled.network, place, matrix)
        if place.endswith(".units.A"):
            n = int(place.split(".")[1])
            names = affine.output.labels("unit")
            bias = {names[k]: int(b.p) for k, b in affine.bias.entries.items()}
            units = network.blocks[n].units
            assert units is not None
            network = _with_units(network, n, replace(units, bias=bias))
        elif affine.bias.entries:
            raise InputError(f"{place} has no bias")
        return replace(compiled, network=network)

    def vectors(self, compiled: CompiledLanguageModel) -> list[str]:
        """The stream between the parts of the model."""
        return list(compiled.network.stream_names)

    def layout(self, compiled: CompiledLanguageModel) -> Layout:
        """The layout of the stream."""
        return compiled.network.stream

    def facts(self, compiled: CompiledLanguageModel) -> dict[str, Any]:
        """Sizes of the model and of its checkpoint."""
        weights, vocabulary = pack(compiled.network), compiled.vocabulary
        moving = vocabulary.machine
        return {
            "without_stays": {"states": len(moving.states), "symbols": len(moving.symbols)},
            "dimension": compiled.network.stream.dimension,
            "formula": "2|Q| + 5|Σ| + 10b + 10, b bits for a position",
            "context": compiled.context,
            "vocabulary": len(compiled.network.vocabulary),
            "blocks": len(compiled.network.blocks),
            "heads": 2,
            "width": weights.width,
            "hidden": weights.hidden,
            "parameters": weights.parameters,
        }

    def description(self, compiled: CompiledLanguageModel) -> dict[str, Any]:
        """Heads and units of every block."""
        return {
            "blocks": [
                {
                    "heads": [head.name for head in block.heads],
                    "units": block.units.A.columns.dimension if block.units else 0,
                }
                for block in compiled.network.blocks
            ],
            "context": compiled.context,
            "vocabulary": len(compiled.network.vocabulary),
        }


def check_engine(engine: Engine) -> None:
    """InputError with what to do if there is no torch for the engine torch."""
    if engine is Engine.TORCH and not all(map(find_spec, ("torch", "transformers"))):
        raise InputError("engine torch needs torch and transformers: pip install 'netwright[hf]'")


def evaluator_of(compiled: CompiledLanguageModel, engine: Engine) -> Evaluator:
    """What runs the model: its definition, our floats, or transformers."""
    if engine is Engine.REFERENCE:
        return HardEvaluator(compiled.network)
    check_engine(engine)
    weights = pack(compiled.network)
    make = TorchEvaluator if engine is Engine.TORCH else FloatEvaluator
    return make(weights.tensors, weights.blocks, compiled.dtype)


def _units_of(network: LanguageModel) -> Iterator[tuple[int, Units]]:
    for n, block in enumerate(network.blocks):
        if block.units is not None:
            yield n, block.units


def matrices_of(network: LanguageModel) -> dict[str, Matrix]:
    """Every matrix by its place: `wte`, `block.1.head.0.Q`, `block.0.units.A`, `U`."""
    found = {"wte": network.wte, "wpe": network.wpe}
    for n, block in enumerate(network.blocks):
        for head in block.heads:
            found |= {f"{head.name}.{letter}": getattr(head, letter) for letter in "QKVO"}
        if block.units is not None:
            found |= {f"block.{n}.units.A": block.units.A, f"block.{n}.units.B": block.units.B}
    return {**found, "U": network.U}


def with_matrix(network: LanguageModel, name: str, matrix: Matrix) -> LanguageModel:
    """The model with another matrix at one of these places."""
    changed: Any = {name: matrix}
    if "." not in name:
        return replace(network, **changed)
    place, _, letter = name.rpartition(".")
    n = int(place.split(".")[1])
    changed = {letter: matrix}
    block = network.blocks[n]
    if place.endswith(".units"):
        assert block.units is not None
        return _with_units(network, n, replace(block.units, **changed))
    heads = [replace(h, **changed) if h.name == place else h for h in block.heads]
    return _with_block(network, n, Block(tuple[Head, ...](heads), block.units))


def _with_units(network: LanguageModel, n: int, units: Units) -> LanguageModel:
    return _with_block(network, n, replace(network.blocks[n], units=units))


def _with_block(network: LanguageModel, n: int, block: Block) -> LanguageModel:
    blocks = list(network.blocks)
    blocks[n] = block
    return replace(network, blocks=tuple(blocks))
