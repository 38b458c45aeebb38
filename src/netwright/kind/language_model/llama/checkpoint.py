"""The weights of a stock Llama: the same model with norms, SwiGLU and softmax, and why all agree.

Let h be the number of named coordinates but `one`. A checkpoint has D ≥ h + 64 of them, a multiple
of 256; the first 64 hold `one`, the next h are the others, in their order.

*Norms multiply by nearly 1.* `one` is written as 64 coordinates of C/8, C = 128, in every token.
RMSNorm divides by √((C² + r)/D), where r is the sum of squares of all others. With the weight
(C/√D)·√(1 + r_l/C²) an `@` token, whose sum is r_l at that norm, is read as it is, and any other
within |r − r_l|/(2C²). In the first 64 coordinates the weight makes each of them s = 1/8, so a
coefficient v of `one` is v/(64 s) in each. (One large coordinate would do in floats; in formats
with one scale for a block of weights it drowns the others.)

*SwiGLU multiplies.* silu(G·g)·u/G = g·u·σ(G·g): 0 for g = 0, and g·u up to 1.2·10⁻⁷ for g = 1 and
G = 16. And silu(x)·y + silu(−x)·(−y) = x·y exactly, in two units.

*Softmax is hard* by the gap of `phases`, and by 16 in the exponent where a head has other keys.

*Errors do not add up*, as every token is chosen by its own greatest logit. The right one has κ = 16
and all others −κ at most, so a penalty for repeated tokens changes no choice.

The *lead* of the right logit, in units of κ, is 2 by the definition, and falls by 4ε/gap at most if
the phase of an offset is off by ε. `netwright certify` proves that it stays positive
(`certificates.language_model.llama`), and `netwright export` measures it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from netwright.exact.arrays import FloatArray
from netwright.kind.language_model.checkpoint import KAPPA, Weights
from netwright.kind.language_model.llama.definition import LlamaModel
from netwright.kind.language_model.llama.phases import PAIRS, SIZE, THETA

GATE, NORM, SPREAD, SCALE = 16, 128.0, 64, 1 / 8
"""G, C, the number of coordinates of `one`, and s."""
EPSILON = 1e-6
BLOCK = 256
"""Widths are multiples of this, as formats with 256 weights in a block need."""
SIGNS = ((1, 1), (-1, -1))


class LlamaWeights(Weights):
    """The tensors of a checkpoint, by Llama's names for them."""

    architecture = "llama"

    def coordinates(self, named: Sequence[str]) -> list[str]:
        """Names for all coordinates: 64 times `one`, then the others."""
        rest = [name for name in named if name != "one"]
        unused = self.width - SPREAD - len(rest)
        return [*["one"] * SPREAD, *rest, *["unused"] * unused]


def pack_llama(model: LlamaModel, squares: Sequence[float]) -> LlamaWeights:
    """The checkpoint of a model; `squares` are r_l at all norms, the last before the logits."""
    packing = _Packing(model)
    tensors = {"model.embed_tokens.weight": packing.into(model.wte.array, NORM / 8)}
    for n, block in enumerate(model.blocks):
        place = f"model.layers.{n}"
        tensors |= {
            f"{place}.input_layernorm.weight": packing.norm(squares[2 * n]),
            f"{place}.post_attention_layernorm.weight": packing.norm(squares[2 * n + 1]),
            **{f"{place}.self_attn.{key}": x for key, x in packing.attention(block.heads).items()},
            **{f"{place}.mlp.{key}": x for key, x in packing.units(block).items()},
        }
    tensors["model.norm.weight"] = packing.norm(squares[-1])
    tensors["lm_head.weight"] = KAPPA * packing.out_of(model.U.array)
    found = {name: tensor.astype(np.float32) for name, tensor in tensors.items()}
    return LlamaWeights(found, packing.D, packing.F, len(model.blocks), model.context, packing.H)


class _Packing:
    def __init__(self, model: LlamaModel) -> None:
        self.model = model
        self.one = model.stream.index("one")
        self.D = _up(SPREAD + model.stream.dimension - 1, BLOCK)
        values = max(head.V.columns.dimension for block in model.blocks for head in block.heads)
        self.H = 1  # a power of two, which divides D
        while values > self.H * SIZE:
            self.H *= 2
        self.F = _up(max(sum(len(g) for g, _, _ in _rows(b)) for b in model.blocks), BLOCK)

    def into(self, rows: FloatArray, one: float) -> FloatArray:
        """Rows that are added to the stream, with a number in place of 1 in `one`."""
        found = np.zeros((len(rows), self.D))
        found[:, :SPREAD] = one * rows[:, [self.one]]
        rest = np.delete(rows, self.one, axis=1)
        found[:, SPREAD : SPREAD + rest.shape[1]] = rest
        return found

    def out_of(self, columns: FloatArray) -> FloatArray:
        """Weights that read the normed stream, one row for each output."""
        return self.into(columns.T, 1 / (SPREAD * SCALE))

    def norm(self, square: float) -> FloatArray:
        """The weight of a norm."""
        found = np.full(self.D, NORM / np.sqrt(self.D) * np.sqrt(1 + square / NORM**2))
        found[:SPREAD] *= SCALE / (NORM / 8)
        return found

    def attention(self, heads: Sequence[Any]) -> dict[str, FloatArray]:
        """The four matrices; values that one head cannot hold go through copies of it."""
        D, H = self.D, self.H
        q, k, v = (np.zeros((H * SIZE, D)) for _ in range(3))
        o = np.zeros((D, H * SIZE))
        for head in heads:
            size = head.V.columns.dimension
            slots = [_slot(label) for label in head.Q.columns.labels("pair")]
            for copy in range(-(-size // SIZE)):
                places = [copy * SIZE + slot for slot in slots]
                q[places], k[places] = self.out_of(head.Q.array), self.out_of(head.K.array)
            v[:size] = self.out_of(head.V.array)
            o[:, :size] = self.into(head.O.array, 0).T
        return {f"{name}_proj.weight": x for name, x in zip("qkvo", (q, k, v, o), strict=True)}

    def units(self, block: Any) -> dict[str, FloatArray]:
        """SwiGLU's three matrices."""
        gate, up = np.zeros((self.F, self.D)), np.zeros((self.F, self.D))
        down = np.zeros((self.D, self.F))
        first = 0
        for G, U, O in _rows(block):
            last = first + len(G)
            gate[first:last], up[first:last] = self.out_of(G.T), self.out_of(U.T)
            down[:, first:last] = self.into(O, 0).T
            first = last
        return {f"{n}_proj.weight": x for n, x in (("gate", gate), ("up", up), ("down", down))}


def _rows(block: Any) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """The units of a block as SwiGLU has them: gates, ups and outputs, one row for each."""
    found = []
    if (units := block.units) is not None:
        found.append((GATE * units.G.array.T, units.U.array.T, units.D.array / GATE))
    if (units := block.products) is not None:
        for sign, other in SIGNS:
            found.append((sign * units.G.array.T, other * units.U.array.T, units.D.array))
    return found


def _slot(label: str) -> int:
    """The coordinate of a head for `re3` or `im3`: pair j has the coordinates j and j + 32."""
    return int(label[2:]) + (PAIRS if label.startswith("im") else 0)


def _up(number: int, block: int) -> int:
    return -(-number // block) * block


def llama_config(weights: Weights) -> dict[str, Any]:
    """The sizes under the names of Llama's configuration.

    `rope_theta` is there twice: transformers 5 reads it in `rope_parameters`, and transformers 4
    takes 10,000 without a word if it is not at the top.
    """
    return {
        "hidden_size": weights.width,
        "intermediate_size": weights.hidden,
        "num_hidden_layers": weights.blocks,
        "num_attention_heads": weights.heads,
        "num_key_value_heads": weights.heads,
        "head_dim": SIZE,
        "hidden_act": "silu",
        "max_position_embeddings": weights.context,
        "rms_norm_eps": EPSILON,
        "rope_theta": THETA,
        "rope_parameters": {"rope_type": "default", "rope_theta": THETA},
        "attention_bias": False,
        "attention_dropout": 0.0,
        "mlp_bias": False,
    }
