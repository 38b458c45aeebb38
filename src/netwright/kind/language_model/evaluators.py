"""Incremental evaluation of a language model with a key-value cache: in floats, or exactly."""

from typing import Any, Protocol

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from netwright.kind.language_model.definition import LanguageModel

ROUNDED = {"float32": None, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
"""The floating-point types that weights and sums are rounded to; None for float32 itself."""
HEADS, EPSILON = 2, np.float32(1e-5)


class Evaluator(Protocol):
    """Evaluates a model on a growing text; the tokens so far are cached."""

    def extend(self, tokens: list[int]) -> NDArray[np.floating]:
        """Append tokens; return the logits after the last one."""

    def restart(self) -> None:
        """Forget all tokens."""


class FloatEvaluator:
    """GPT-2 with softmax and layer norms, from the tensors of a checkpoint, in numpy.

    Every product and sum of vectors is computed in float32 and rounded to the type. Keys, values
    and the last stream have only the coordinates that nonzero weights write or read: one in seven.
    """

    def __init__(self, tensors: dict[str, NDArray[np.float32]], blocks: int, dtype: str) -> None:
        self._type = ROUNDED[dtype]
        self.tensors = {name: self._round(tensor) for name, tensor in tensors.items()}
        self.width = tensors["transformer.ln_f.weight"].size
        self.blocks, self.length = blocks, 0
        context = len(tensors["transformer.wpe.weight"])
        attention = [tensor for name, tensor in self.tensors.items() if ".attn.c_attn." in name]
        rows = [tensor.reshape(-1, 3, HEADS, self.width // HEADS) for tensor in attention]
        used = (np.concatenate(rows) != 0).any(axis=(0, 2))  # by part and coordinate
        self.keys, self.values = (
            np.zeros((blocks, HEADS, 1 + max(np.flatnonzero(part), default=0), context), np.float32)
            for part in used[1:]
        )
        head = self.tensors["lm_head.weight"]
        self.read = np.flatnonzero((head != 0).any(axis=0))
        self.head = np.ascontiguousarray(head[:, self.read].T)

    def _round(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        return x if self._type is None else x.astype(self._type).astype(np.float32)

    def _affine(self, x: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        weight, bias = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]
        return self._round(self._product(x, weight) + bias)

    @staticmethod
    def _product(x: NDArray[np.float32], y: NDArray[np.float32]) -> NDArray[np.float32]:
        """x y; BLAS starts threads for a single row too, which takes longer than the product."""
        return x @ y if x.shape[-2] > 1 else np.einsum("...ti,...ij->...tj", x, y)

    def _norm(self, x: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        y = x - x.mean(axis=-1, keepdims=True)
        y /= np.sqrt((y * y).mean(axis=-1, keepdims=True) + EPSILON)
        weight, bias = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]
        return self._round(y * weight + bias)

    def all_logits(self, tokens: list[int]) -> NDArray[np.float32]:
        """Append tokens; return the logits after each of them."""
        start, end = self.length, self.length + len(tokens)
        wte, wpe = (self.tensors[f"transformer.{name}.weight"] for name in ("wte", "wpe"))
        x = self._round(wte[tokens] + wpe[start:end])
        later = np.arange(end)[None, :] > np.arange(start, end)[:, None]
        for n in range(self.blocks):
            place = f"transformer.h.{n}"
            parts = self._affine(self._norm(x, f"{place}.ln_1"), f"{place}.attn.c_attn")
            q, k, v = parts.reshape(len(tokens), 3, HEADS, -1).transpose(1, 2, 0, 3)
            keys, values = self.keys[n, :, :, :end], self.values[n, :, :, :end]
            keys[..., start:], values[..., start:] = (
                part[..., : kept.shape[1]].swapaxes(1, 2) for part, kept in ((k, keys), (v, values))
            )
            scores = self._round(self._product(q[..., : keys.shape[1]], keys))
            scores /= np.float32(np.sqrt(q.shape[-1]))
            if len(tokens) > 1:
                scores[:, later] = -np.inf
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            weights = self._round(weights / weights.sum(axis=-1, keepdims=True))
            found = np.zeros_like(q)
            found[..., : values.shape[1]] = self._product(weights, values.swapaxes(1, 2))
            found = self._round(found).swapaxes(0, 1).reshape(len(tokens), -1)
            x = self._round(x + self._affine(found, f"{place}.attn.c_proj"))
            hidden = self._affine(self._norm(x, f"{place}.ln_2"), f"{place}.mlp.c_fc")
            x = self._round(x + self._affine(np.maximum(hidden, 0), f"{place}.mlp.c_proj"))
        self.length = end
        x = self._norm(x, "transformer.ln_f")
        return self._round(self._product(x[:, self.read], self.head))

    def extend(self, tokens: list[int]) -> NDArray[np.float32]:
        """Append tokens; return the logits after the last one."""
        logits: NDArray[np.float32] = self.all_logits(tokens)[-1]
        return logits

    def restart(self) -> None:
        """Forget all tokens."""
        self.length = 0


class CheckpointInTorch:
    """A model of transformers with these tensors, and its cache."""

    def __init__(
        self, kind: Any, config: Any, tensors: dict[str, NDArray[np.float32]], dtype: str
    ) -> None:
        import torch

        # Not `.to(dtype)`, which would round RoPE's frequencies too.
        self.model = kind._from_config(config, dtype=getattr(torch, dtype)).eval()
        state = {name: torch.from_numpy(tensor) for name, tensor in tensors.items()}
        self.model.load_state_dict(state, strict=True)
        self.restart()

    def restart(self) -> None:
        """Forget all tokens."""
        self.cache = None

    def extend(self, tokens: list[int]) -> NDArray[np.float32]:
        """Append tokens; return the logits after the last one."""
        import torch

        with torch.no_grad():
            found = self.model(torch.tensor([tokens]), past_key_values=self.cache, use_cache=True)
        self.cache = found.past_key_values
        logits: NDArray[np.float32] = found.logits[0, -1].float().numpy()
        return logits


class TorchEvaluator(CheckpointInTorch):
    """The checkpoint itself: transformers' own GPT-2, with its cache."""

    def __init__(self, tensors: dict[str, NDArray[np.float32]], blocks: int, dtype: str) -> None:
        from transformers import GPT2Config, GPT2LMHeadModel

        positions, width = tensors["transformer.wpe.weight"].shape
        config = GPT2Config(
            vocab_size=len(tensors["lm_head.weight"]),
            n_positions=positions,
            n_embd=width,
            n_layer=blocks,
            n_head=HEADS,
            n_inner=tensors["transformer.h.0.mlp.c_fc.bias"].size,
            activation_function="relu",
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            tie_word_embeddings=False,
            bos_token_id=None,
            eos_token_id=None,
        )
        super().__init__(GPT2LMHeadModel, config, tensors, dtype)


class HardEvaluator:
    """The definition, with cached keys and values."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.restart()

    def restart(self) -> None:
        """Forget all tokens."""
        self.length = 0
        self.kept: dict[str, tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]] = {}

    def extend(self, tokens: list[int]) -> NDArray[np.float64]:
        """Append tokens; return the logits after the last one."""
        for token in tokens:
            logits = self._next(token)
        return logits

    def _next(self, token: int) -> NDArray[np.float64]:
        model = self.model
        x = model.wte.array[token] + model.wpe.array[self.length]
        self.length += 1
        for block in model.blocks:
            total = np.zeros_like(x)
            for head in block.heads:
                keys, values = self.kept.setdefault(head.name, ([], []))
                keys.append(x @ head.K.array)
                values.append(x @ head.V.array)
                scores = np.array(keys) @ (x @ head.Q.array)
                winner = len(keys) - 1 - int(scores[::-1].argmax())
                total += values[winner] @ head.O.array
            x = x + total
            if block.units is not None:
                hidden = np.maximum(x @ block.units.A.array + block.units.b, 0)
                x = x + hidden @ block.units.B.array
        logits: NDArray[np.float64] = x @ model.U.array
        return logits
