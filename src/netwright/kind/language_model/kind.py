"""The kind `language-model`: a stock GPT-2 of whole numbers, by the lemma of linked visits.

It goes past the paper: softmax, layer norms and floats of fixed precision, within a context of
fixed length. `kind.language_model` has the construction.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from netwright.errors import InputError
from netwright.exact.layout import Layout
from netwright.exact.meanings import Meanings
from netwright.exact.vector import Vector
from netwright.kind.language_model.checkpoint import Weights
from netwright.kind.language_model.checks import language_model_checks
from netwright.kind.language_model.construction import (
    CompiledLanguageModel,
    compile_language_model,
)
from netwright.kind.language_model.definition import LanguageModel
from netwright.kind.language_model.evaluators import ROUNDED, Evaluator
from netwright.kind.language_model.reading import run_language_model
from netwright.kind.language_model.stream import MEANINGS
from netwright.kind.language_model.tracing import LanguageModelTracing, StepTracing, exact
from netwright.kind.language_model.vocabulary import ACCEPT, REJECT, check_context
from netwright.kind.record import (
    Construction,
    Following,
    Kind,
    Look,
    Option,
    Options,
    Proof,
    Reading,
)
from netwright.machine.simulate import Engine, Run
from netwright.machine.timeline import Timeline
from netwright.machine.turing_machine import TuringMachine
from netwright.network.tensors import NamedTensors, Tensor, about_machine
from netwright.network.trace import Moment
from netwright.network.view import AppliedRule, History, Written, view_named
from netwright.text import as_token
from netwright.verify.comparison import Check

READING = (
    "The text is the input's symbols, `<run>`, and two tokens for each step. `R:q:a>w` means: "
    "moved right, now in state q, reads a, writes w; `@p` is the position at which the cell ahead "
    "was last visited. A run ends with `{end}` or `<reject>`; without one of them it did not end "
    "within the context. An unknown word becomes `<unk>`, and the text ends "
    "with `<reject>` at once. White space and `% : < > @` in names are written `%20` and so on. To "
    "resume a longer run, the prompt is `x y <run> left:l @0 left:m:goto:q @0`: the head is on x "
    "in state q, l and m are to its left (add_special_tokens=False)."
)


def read_context(value: object) -> int:
    """Parse the length of a context; InputError if it is not a number, or out of bounds."""
    text = str(value).replace(",", "").replace("_", "")
    if isinstance(value, bool) or not text.isdecimal() or len(text) > 9:
        raise InputError(f"context is {str(value)[:40]!r}; expected a number of tokens")
    check_context(int(text))
    return int(text)


class Stored(Tensor):
    """A tensor of numbers of float32, stored as an array."""

    def __init__(self, array: NDArray[np.float32]) -> None:
        object.__setattr__(self, "array", array)
        super().__init__(array.shape, {})

    def to_numpy(self, dtype: str) -> NDArray[Any]:
        """The array in a floating-point type, each number rounded once."""
        array: NDArray[np.float32] = self.array  # type: ignore[attr-defined]  # set above
        return array.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def plain_language_model(
    names: dict[str, Any],
    network: LanguageModel,
    meanings: Meanings,
    weights: Weights,
) -> NamedTensors:
    """The tensors of a checkpoint, and a name for every coordinate, head, slot, unit and token."""
    names |= {
        "architecture": weights.architecture,
        "context": network.context,
        "width": weights.width,
        "hidden": weights.hidden,
        "blocks": weights.blocks,
        "heads": weights.heads,
        "vocabulary": list(network.vocabulary),
        "layouts": {"vector": list(weights.coordinates(_labels(network.stream)))},
        "meanings": dict(meanings.blocks),
        "attention": [
            {
                "block": n,
                "head": g,
                "meaning": meanings.of_weight(head.name),
                "slots": _labels(head.Q.columns),
                "values": _labels(head.V.columns),
            }
            for n, block in enumerate(network.blocks)
            for g, head in enumerate(block.heads)
        ],
        "units": [block.unit_names for block in network.blocks],
    }
    tensors: dict[str, Tensor] = {name: Stored(array) for name, array in weights.tensors.items()}
    return NamedTensors("language-model", names, meanings, network.stream, tensors)


def _labels(layout: Layout) -> list[str]:
    return [str(coordinate) for coordinate in layout.coordinates]


GPT2, LLAMA = "gpt2", "llama"
DTYPE = Option.choice(
    "dtype", {name: name for name in ROUNDED}, "float32", "The type of its numbers."
)


ARCHITECTURE = Option.choice(
    "architecture",
    {GPT2: GPT2, "opt": GPT2, LLAMA: LLAMA},  # OPT has GPT-2's weights
    GPT2,
    "The family of stock models.",
)


class LanguageModelConstruction(Construction[CompiledLanguageModel]):
    """A GPT-2 that writes the run of a machine as text, two tokens a step."""

    name = "language-model"
    statement = "Linked visits"
    formula = "2|Q| + 5|Σ| + 10b + 13, b bits for a position"
    """That of the dimension."""
    format = 3  # 2 had no <unk>
    variants: Mapping[tuple[str, str], str] = {
        ("architecture", LLAMA): "netwright.kind.language_model.llama.kind"
    }
    options = (
        ARCHITECTURE,
        Option("context", read_context, 1024, "Maximum number of tokens in a text.", metavar="T"),
        DTYPE,
    )

    def construct(self, machine: TuringMachine, options: Options) -> CompiledLanguageModel:
        """Embeddings, three blocks and the unembedding."""
        compiled = compile_language_model(machine, options["context"])
        return replace(compiled, dtype=options["dtype"])

    def layout(self, compiled: CompiledLanguageModel) -> Layout:
        """The layout of the stream."""
        return compiled.network.stream

    def facts(self, compiled: CompiledLanguageModel) -> dict[str, Any]:
        """Sizes of the model and of its checkpoint."""
        weights, vocabulary = compiled.weights(), compiled.vocabulary
        moving = vocabulary.machine
        return {
            "without_stays": {"states": len(moving.states), "symbols": len(moving.symbols)},
            "dimension": compiled.network.stream.dimension,
            "formula": self.formula,
            "context": compiled.context,
            "vocabulary": len(compiled.network.vocabulary),
            "blocks": len(compiled.network.blocks),
            "heads": weights.heads,
            "width": weights.width,
            "hidden": weights.hidden,
            "parameters": weights.parameters,
        }

    def tensors(self, compiled: CompiledLanguageModel, meanings: Meanings) -> NamedTensors:
        """The checkpoint, with a name for everything in it."""
        vocabulary = compiled.vocabulary
        names = {
            **about_machine(self, compiled.given),
            "states": list(vocabulary.machine.states),
            "symbols": list(vocabulary.symbols),
            "pauses": sorted(vocabulary.pauses),
            **self.texts(compiled),
        }
        found = names, compiled.network, meanings, compiled.weights()
        return plain_language_model(*found)

    def texts(self, compiled: CompiledLanguageModel) -> dict[str, Any]:
        """The tokens around an input, the ends of a run, an example, and how a text is read."""
        vocabulary, letters = compiled.vocabulary, compiled.given.default_input
        return {
            "before": [],
            "after": ["<run>"],
            "ends": list(vocabulary.texts[ACCEPT : REJECT + 1]),
            "reading": READING.format(end=vocabulary.texts[ACCEPT]),
            "example": " ".join(map(as_token, letters)),
        }

    def introduction(self, paper: str) -> str:
        """What the model is; it is not a network of the paper."""
        return (
            "A stock language model whose weights were computed, not trained; it writes the "
            "machine's run"
        )


class LanguageModelReading(Reading[CompiledLanguageModel]):
    """Reads the machine off the text, one context after another."""

    engines = (Engine.AUTO, Engine.FAST, Engine.REFERENCE, Engine.TORCH)

    def moments(
        self, compiled: CompiledLanguageModel, word: Sequence[str]
    ) -> Iterator[Mapping[str, Vector]]:
        """The stream after each token from `<run>` on, which determines the next token."""
        tracing = LanguageModelTracing(compiled, word, 10**9)
        rows = compiled.network.streams(tracing.tokens)["output"]
        first = len(compiled.vocabulary.prompt(word)) - 1
        return ({"y": exact(row, compiled.network.stream)} for row in rows[first:])

    def run(
        self, compiled: CompiledLanguageModel, word: Sequence[str], following: Following
    ) -> Run:
        """Run in floats with softmax; as reference, by the definition with hard attention."""
        if following.store is not None:
            raise InputError(
                "language-model keeps no checkpoints; its text can be continued: netwright parse"
            )
        engine = Engine.FAST if following.engine is Engine.AUTO else following.engine
        evaluator = evaluator_of(compiled, engine)
        limit, progress = following.max_steps, following.progress
        return run_language_model(compiled, word, limit, evaluator, engine, progress)

    def trace(
        self, compiled: CompiledLanguageModel, word: Sequence[str], max_steps: int
    ) -> LanguageModelTracing:
        """A trace of the tokens of one context."""
        return LanguageModelTracing(compiled, word, max_steps)

    def output(self, moment: Moment) -> Vector | None:
        """The stream after the last block."""
        return moment["output"]

    def vectors(self, compiled: CompiledLanguageModel) -> list[str]:
        """The stream between the parts of the model."""
        return list(compiled.network.stream_names)


class LanguageModelProof(Proof[CompiledLanguageModel]):
    """Compares every token with the text of the machine's run."""

    uncertified = (
        "it runs in floats, with softmax; netwright certify proves its checkpoint there, up to a "
        "length of texts, and verify compares token by token"
    )
    in_floats = True

    def checks(
        self, compiled: CompiledLanguageModel, word: Sequence[str], max_steps: int
    ) -> Iterator[Check]:
        """Check the definition and the float evaluation."""
        floats = evaluator_of(compiled, Engine.FAST)
        return language_model_checks(compiled, word, max_steps, floats)


class LanguageModelLook(Look[CompiledLanguageModel]):
    """The look of the residual stream."""

    meanings = MEANINGS
    view = view_named("language-model")
    step: tuple[tuple[str, str], ...] = (("q1", "s1"),)
    """The blocks of a step's state and symbol after the first head, where there are any."""

    def steps(
        self, compiled: CompiledLanguageModel, word: Sequence[str], limit: int
    ) -> StepTracing:
        """A trace by steps: the token that computes the next one, and the visits it looks up."""
        return StepTracing(compiled, word, limit)

    def history(self, compiled: CompiledLanguageModel, word: Sequence[str], limit: int) -> History:
        """The steps that fit into one context; the first is the machine at time 0."""
        moving, pauses = compiled.vocabulary.machine, compiled.vocabulary.pauses
        room = (compiled.context - compiled.vocabulary.steps_from(len(word))) // 2
        limit = max(0, min(limit, room - 1))
        return History(Timeline(moving, word, limit=limit, counts=lambda q: q not in pauses), 1, 1)

    def text(self, compiled: CompiledLanguageModel, tracing: StepTracing, t: int) -> Written:
        """The text up to the token whose vectors are shown, the next one, and what heads find."""
        end = tracing.places[t - 1]
        found = [compiled.vocabulary.texts[token] for token in tracing.tokens[: end + 1]]
        return Written(found[:end], found[end:], tracing.pointed(t))

    def rule(self, compiled: CompiledLanguageModel, moment: Moment) -> AppliedRule | None:
        """State and symbol of a step token; the rule is the machine's."""
        x, vocabulary = moment["block.0.middle"], compiled.vocabulary
        for q, s in self.step:
            state, symbol = x.label(q), x.label(s)
            if state is not None and symbol is not None:
                return AppliedRule.of(vocabulary.machine, state, vocabulary.plain(symbol))
        return None


def check_engine(engine: Engine) -> None:
    """Raise InputError if the engine torch is chosen and not installed."""
    if engine is Engine.TORCH and not all(map(find_spec, ("torch", "transformers"))):
        raise InputError("engine torch needs torch and transformers: pip install 'netwright[hf]'")


def evaluator_of(compiled: CompiledLanguageModel, engine: Engine) -> Evaluator:
    """The evaluator for an engine: the definition, numpy floats, or transformers."""
    if engine is Engine.REFERENCE:
        return compiled.by_definition()
    check_engine(engine)
    make = compiled.in_torch if engine is Engine.TORCH else compiled.in_floats
    return make(compiled.weights().tensors)


KIND = Kind(
    LanguageModelConstruction(), LanguageModelReading(), LanguageModelProof(), LanguageModelLook()
)
