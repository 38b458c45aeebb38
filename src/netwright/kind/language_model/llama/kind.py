"""The kind `language-model` with the architecture `llama`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from netwright.kind.language_model.construction import CompiledLanguageModel
from netwright.kind.language_model.kind import (
    ARCHITECTURE,
    LLAMA,
    LanguageModelConstruction,
    LanguageModelLook,
    LanguageModelProof,
    LanguageModelReading,
)
from netwright.kind.language_model.llama.construction import (
    MEANINGS,
    CompiledLlama,
    compile_llama,
)
from netwright.kind.language_model.vocabulary import ACCEPT
from netwright.kind.record import Kind, Options
from netwright.machine.turing_machine import TuringMachine
from netwright.network.view import view_named
from netwright.text import as_token

READING = (
    "The prompt is a word, which {word}, and `<run>`; the tokenizer of transformers and the chat "
    "template add `<s>` before and `<run>` after it. The run follows, two tokens for each step. "
    "`R:q:a>w` means: moved right, now in state q, reads a, writes w; `@k` is how many tokens back "
    "the cell ahead was last visited. First the head walks back over the word in the state "
    "{rewind}, to `<s>`, which holds the symbol {edge}: the blank, in cells that were never "
    "visited. A run ends with `{end}` or `<reject>`; without one of them it did not end within the "
    "context. A character that is no symbol gives `<reject>` at once. A client must neither shift "
    "its context nor scale RoPE. To resume a longer run, the prompt is "
    "`<s> z y <run> l m R:q:x @5`: the head is on x in state q, with y and z to its right and l "
    "and m to its left, and 5 is 3 more than the cells to the left (add_special_tokens=False)."
)


class LlamaConstruction(LanguageModelConstruction):
    """A Llama that writes the run of a machine as text, two tokens a step."""

    formula = "12m + 3|Q| + 4|Σ| + 13, m pairs for a phase, rewind and edge counted"
    variants: Mapping[tuple[str, str], str] = dict.fromkeys(
        (("architecture", "gpt2"), ("architecture", "opt")), "netwright.kind.language_model.kind"
    )

    def read_options(self, given: Options) -> dict[str, Any]:
        """As for any language model; the architecture is this one."""
        return {**super().read_options(given), ARCHITECTURE.name: LLAMA}

    def construct(self, machine: TuringMachine, options: Options) -> CompiledLlama:
        """Embeddings, four blocks and the unembedding."""
        return replace(compile_llama(machine, options["context"]), dtype=options["dtype"])

    def texts(self, compiled: CompiledLanguageModel) -> dict[str, Any]:
        """The tokens around an input, the end, an example, and how a text is read."""
        assert isinstance(compiled, CompiledLlama)
        vocabulary, letters = compiled.vocabulary, compiled.given.default_input
        symbols = [as_token(symbol) for symbol in vocabulary.letters]
        bare = all(len(symbol) == 1 for symbol in symbols)
        return {
            "before": ["<s>"],
            "after": ["<run>"],
            "ends": ["</s>"],
            "letters": symbols,
            "reading": READING.format(
                word="may be written `abba` or `a b b a`" if bare else "is written `a b b a`",
                end=vocabulary.texts[ACCEPT],
                edge=vocabulary.edge,
                rewind=vocabulary.rewind,
            ),
            "example": ("" if bare else " ").join(map(as_token, letters)),
        }


class LlamaLook(LanguageModelLook):
    """The look of its residual stream."""

    meanings = MEANINGS
    view = view_named("llama")
    step = (("Q1", "S1"), ("q1", "s1"))


KIND = Kind(LlamaConstruction(), LanguageModelReading(), LanguageModelProof(), LlamaLook())
