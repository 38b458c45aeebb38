"""Llama in floats: netwright's own evaluator in numpy, and transformers' model."""

import numpy as np
from numpy.typing import NDArray

from netwright.kind.language_model.checkpoint import Weights
from netwright.kind.language_model.evaluators import ROUNDED, CheckpointInTorch
from netwright.kind.language_model.llama.checkpoint import EPSILON, llama_config
from netwright.kind.language_model.llama.phases import PAIRS, SIZE, THETA

Array = NDArray[np.float32]


class FloatLlama:
    """Llama from the tensors of a checkpoint, with a cache of keys and values.

    As in transformers, norms and angles are computed in float32, and every sum is rounded to the
    type. Columns of weights that are all 0 are left out.
    """

    def __init__(
        self, tensors: dict[str, Array], context: int, dtype: str, theta: float = THETA
    ) -> None:
        self._type = ROUNDED[dtype]
        self.context = context
        self.blocks = sum(name.endswith("q_proj.weight") for name in tensors)
        self.tensors = {name: self._round(tensor) for name, tensor in tensors.items()}
        self.heads = len(tensors["model.layers.0.self_attn.q_proj.weight"]) // SIZE
        self.kept = np.zeros((self.blocks, 2, self.heads, context, SIZE), np.float32)
        frequencies = (theta ** (-np.arange(PAIRS) / PAIRS)).astype(np.float32)
        angles = np.outer(np.arange(context, dtype=np.float32), frequencies)
        self.cos, self.sin = self._round(np.cos(angles)), self._round(np.sin(angles))
        self.length = 0
        self.used = {}
        for name, tensor in self.tensors.items():
            if tensor.ndim == 2 and "embed" not in name:
                read = np.flatnonzero((tensor != 0).any(axis=0))
                self.used[name] = read, np.ascontiguousarray(tensor[:, read].T)

    def _round(self, x: Array) -> Array:
        return x if self._type is None else x.astype(self._type).astype(np.float32)

    def _linear(self, x: Array, name: str) -> Array:
        read, weight = self.used[f"{name}.weight"]
        return self._round(x[:, read] @ weight)

    def _norm(self, x: Array, name: str) -> Array:
        scale = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(EPSILON))
        return self._round(self.tensors[f"{name}.weight"] * self._round(x * scale))

    def _turned(self, x: Array, start: int, end: int) -> Array:
        """Heads × tokens × coordinates, turned by RoPE."""
        cos, sin = self.cos[start:end], self.sin[start:end]
        a, b = x[..., :PAIRS], x[..., PAIRS:]
        return self._round(np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1))

    def all_logits(self, tokens: list[int]) -> Array:
        """Append tokens; return the logits after each of them."""
        start, end = self.length, self.length + len(tokens)
        x = self.tensors["model.embed_tokens.weight"][tokens]
        later = np.arange(end)[None, :] > np.arange(start, end)[:, None]
        for n in range(self.blocks):
            place = f"model.layers.{n}"
            y = self._norm(x, f"{place}.input_layernorm")
            q, k, v = (
                self._linear(y, f"{place}.self_attn.{part}_proj")
                .reshape(len(tokens), self.heads, SIZE)
                .swapaxes(0, 1)
                for part in "qkv"
            )
            q = self._turned(q, start, end)
            self.kept[n, 0, :, start:end] = self._turned(k, start, end)
            self.kept[n, 1, :, start:end] = v
            keys, values = self.kept[n, :, :, :end]
            scores = self._round(q @ keys.swapaxes(1, 2)) / np.float32(np.sqrt(SIZE))
            scores[:, later] = -np.inf
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            weights = self._round(weights / weights.sum(axis=-1, keepdims=True))
            found = self._round(weights @ values).swapaxes(0, 1).reshape(len(tokens), -1)
            x = self._round(x + self._linear(found, f"{place}.self_attn.o_proj"))
            y = self._norm(x, f"{place}.post_attention_layernorm")
            gate, up = (self._linear(y, f"{place}.mlp.{part}_proj") for part in ("gate", "up"))
            with np.errstate(over="ignore"):
                hidden = self._round(self._round(gate / (1 + np.exp(-gate))) * up)
            x = self._round(x + self._linear(hidden, f"{place}.mlp.down_proj"))
        self.length = end
        return self._linear(self._norm(x, "model.norm"), "lm_head")

    def extend(self, tokens: list[int]) -> Array:
        """Append tokens; return the logits after the last one."""
        logits: Array = self.all_logits(tokens)[-1]
        return logits

    def restart(self) -> None:
        """Forget all tokens."""
        self.length = 0


class TorchLlama(CheckpointInTorch):
    """The checkpoint itself: transformers' own Llama, with its cache."""

    def __init__(self, tensors: dict[str, Array], sizes: Weights, dtype: str) -> None:
        from transformers import LlamaConfig, LlamaForCausalLM

        ends = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))
        config = LlamaConfig(
            vocab_size=len(tensors["lm_head.weight"]),
            tie_word_embeddings=False,
            **llama_config(sizes),
            **ends,
        )
        super().__init__(LlamaForCausalLM, config, tensors, dtype)
