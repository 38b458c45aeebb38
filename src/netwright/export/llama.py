"""A language model as a stock Llama, without any code of ours."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from netwright.export.checkpoint import CheckpointTarget
from netwright.export.pieces import pieces_of, write_llama_tokenizer
from netwright.export.target import Arrays
from netwright.kind.language_model.kind import LLAMA, Stored
from netwright.kind.language_model.llama.checkpoint import LlamaWeights, llama_config
from netwright.kind.language_model.llama.evaluators import FloatLlama
from netwright.network.tensors import NamedTensors

EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"


class LlamaTarget(CheckpointTarget):
    """`LlamaForCausalLM`, with both forms of its tokenizer."""

    name, model_type, architecture = "llama", "llama", "LlamaForCausalLM"
    on, weights, least = "llama", LLAMA, 300
    is_certified = True

    def prepared(self, named: NamedTensors) -> NamedTensors:
        """A model with a row for every piece of the tokenizer; those added have no output."""
        super().prepared(named)
        pieces, unknown = pieces_of(named.names), named.names["vocabulary"].index("<unk>")
        own = len(named.names["vocabulary"])
        rows = {
            EMBEDDING: [piece.row for piece in pieces],
            HEAD: [n if n < own else unknown for n in range(len(pieces))],
        }
        arrays = {name: named.tensors[name].to_numpy("float32")[at] for name, at in rows.items()}
        tensors = {**named.tensors, **{name: Stored(array) for name, array in arrays.items()}}
        return replace(named, tensors=tensors)

    def config(self, names: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sizes."""
        sizes = (names[key] for key in ("width", "hidden", "blocks", "context", "heads"))
        return llama_config(LlamaWeights({}, *sizes))

    def write_tokenizer(self, folder: Path, names: Mapping[str, Any]) -> None:
        """Write the tokenizer in both forms."""
        write_llama_tokenizer(folder, names)

    def in_numpy(self, folder: Path) -> tuple[FloatLlama, list[str]]:
        """Open the files in netwright's own evaluator, with the base of RoPE that they have."""
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        tensors = {n: a.astype(np.float32) for n, a in self.stored(None, folder).items()}
        sizes = config["max_position_embeddings"], config["dtype"], config["rope_theta"]
        return FloatLlama(tensors, *sizes), list(tokenizer["model"]["vocab"])

    def renamed(self, arrays: Arrays) -> Arrays:
        """Return them unchanged."""
        return arrays

    stored_as = renamed
