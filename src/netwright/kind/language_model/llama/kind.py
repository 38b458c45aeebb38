"""The kind `language-model` with the architecture `llama`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

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
from netwright.kind.record import Kind, Options
from netwright.machine.turing_machine import TuringMachine
from netwright.network.view import view_named


class LlamaConstruction(LanguageModelConstruction):
    """A Llama that writes the run of a machine as text, two tokens a step."""

    formula = "12m + 3|Q| + 4|Σ| + 19, m pairs for a phase"
    variants: Mapping[tuple[str, str], str] = dict.fromkeys(
        (("architecture", "gpt2"), ("architecture", "opt")), "netwright.kind.language_model.kind"
    )

    def read_options(self, given: Options) -> dict[str, Any]:
        """As for any language model; the architecture is this one."""
        return {**super().read_options(given), ARCHITECTURE.name: LLAMA}

    def construct(self, machine: TuringMachine, options: Options) -> CompiledLlama:
        """Embeddings, four blocks and the unembedding."""
        return replace(compile_llama(machine, options["context"]), dtype=options["dtype"])


class LlamaLook(LanguageModelLook):
    """The look of its residual stream."""

    meanings = MEANINGS
    view = view_named("llama")


KIND = Kind(LlamaConstruction(), LanguageModelReading(), LanguageModelProof(), LlamaLook())
