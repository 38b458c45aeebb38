"""The weights of a stock GPT-2: the same model with softmax and layer norms, and why both agree.

Let h be the number of named coordinates. A checkpoint has D = 2m² of them, with m the smallest
number such that D ≥ h + 3; the last three are `bal`, `c1` and `c2`.

*Layer norms do nothing.* c1 = C and c2 = −C at every position, C = γm with γ = 256, and `bal` is
minus the sum of all others, in every row that is ever added to the stream. So the mean is 0, and
the variance is (2C² + r)/D = γ² + r/D, where r is the sum of squares of the named coordinates and
of bal. With weight γ (0 for the last three, which no weight reads) and bias 0 the norm is

    γ·x / √(γ² + r/D + ε) = x·(1 − δ),    0 ≤ δ ≤ r/(4C²) + ε/(2γ²).

For the 5-state busy beaver and 2,048 positions r is at most 7,164, so δ < 4·10⁻⁴.

*Softmax is hard.* Queries are multiplied by β√(D/2), β = 16, which is the whole number 16m; stock
code divides by √(D/2) again. The greatest score is at least 2 above all others, hence 2β = 32 in
the exponent: all others together have at most the weight (1 + e^(−2β))^b − 1, since addresses
differ in j bits for at most (b over j) tokens. For b = 12 that is 1.5·10⁻¹³.

*Errors do not add up.* Every token is chosen by its own greatest logit, whose lead is 2 at least;
rounding errors never pass to the next token. Logits are multiplied by κ = 16, which matters only
for sampling.

All weights are whole numbers, the largest is C, and bfloat16 and float16 hold most of them exactly:
a number in a matrix is small, or a power of two times a small one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from netwright.errors import InputError
from netwright.kind.language_model.definition import Block, LanguageModel

BETA, GAMMA, KAPPA = 16, 256, 16
EPSILON = 1e-5
HEADS = 2
WIDEST = 63
"""The largest m: C = γm must be a number of float16."""


@dataclass(frozen=True)
class Weights:
    """The tensors of a checkpoint, by GPT-2's names for them."""

    tensors: dict[str, NDArray[np.float32]]
    width: int
    """D."""
    hidden: int
    """The number of units in a block."""
    blocks: int
    context: int
    heads: int = HEADS

    architecture: ClassVar[str] = "gpt2"

    @property
    def parameters(self) -> int:
        """The number of weights."""
        return sum(tensor.size for tensor in self.tensors.values())

    def coordinates(self, named: Sequence[str]) -> list[str]:
        """Names for all coordinates of the checkpoint's stream, by those of the model's."""
        return [*named, *["unused"] * (self.width - len(named) - 3), "bal", "c1", "c2"]


def pack(model: LanguageModel) -> Weights:
    """The checkpoint of a model."""
    return _Packing(model).weights()


class _Packing:
    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.h = model.stream.dimension
        m = 1
        while 2 * m * m < self.h + 3:
            m += 1
        if m > WIDEST:
            raise InputError(
                f"the stream has {self.h:,} coordinates; a checkpoint has at most "
                f"{2 * WIDEST**2 - 3:,}. Fewer states or symbols are needed"
            )
        self.m, self.D = m, 2 * m * m
        units = [b.units.A.columns.dimension for b in model.blocks if b.units is not None]
        self.F = max(units, default=1)

    def weights(self) -> Weights:
        """All tensors of the checkpoint."""
        model, D = self.model, self.D
        wte = self._rows(model.wte.array)
        wpe = self._rows(model.wpe.array)
        wpe[:, D - 2], wpe[:, D - 1] = GAMMA * self.m, -GAMMA * self.m
        lm_head = np.zeros((len(model.vocabulary), D), np.float32)
        lm_head[:, : self.h] = KAPPA * model.U.array.T
        tensors = {"transformer.wte.weight": wte, "transformer.wpe.weight": wpe}
        for n, block in enumerate(model.blocks):
            tensors |= {f"transformer.h.{n}.{k}": v for k, v in self._block(block).items()}
        tensors |= {f"transformer.ln_f.{k}": v for k, v in self._norm().items()}
        tensors["lm_head.weight"] = lm_head
        return Weights(tensors, D, self.F, len(model.blocks), model.context)

    def _rows(self, array: NDArray[np.float64]) -> NDArray[np.float32]:
        """Rows that are added to the stream, with the balance that makes their sum 0."""
        found = np.zeros((len(array), self.D), np.float32)
        found[:, : self.h] = array
        found[:, self.D - 3] = -array.sum(axis=1)
        return found

    def _norm(self) -> dict[str, NDArray[np.float32]]:
        weight = np.full(self.D, GAMMA, np.float32)
        weight[-3:] = 0  # bal, c1, c2: their errors go nowhere
        return {"weight": weight, "bias": np.zeros(self.D, np.float32)}

    def _block(self, block: Block) -> dict[str, NDArray[np.float32]]:
        D, F, h, size = self.D, self.F, self.h, self.m * self.m
        attn, proj = np.zeros((D, 3 * D), np.float32), np.zeros((D, D), np.float32)
        for g, head in enumerate(block.heads):
            slots, values = head.Q.columns.dimension, head.V.columns.dimension
            if max(slots, values) > size:
                raise InputError(f"{head.name} needs {max(slots, values)} slots, and has {size}")
            first = g * size
            # c = β√(D/2) = βm, a whole number; D/2 = m² is what a head has.
            attn[:h, first : first + slots] = BETA * self.m * head.scale * head.Q.array
            attn[:h, D + first : D + first + slots] = head.K.array
            attn[:h, 2 * D + first : 2 * D + first + values] = head.V.array
            proj[first : first + values] = self._rows(head.O.array)
        fc, bias, out = np.zeros((D, F)), np.zeros(F), np.zeros((F, D))
        if block.units is not None:
            units = block.units.A.columns.dimension
            fc[:h, :units], bias[:units] = block.units.A.array, block.units.b
            out[:units] = self._rows(block.units.B.array)
        found: dict[str, NDArray[Any]] = {
            "attn.c_attn.weight": attn,
            "attn.c_attn.bias": np.zeros(3 * D),
            "attn.c_proj.weight": proj,
            "attn.c_proj.bias": np.zeros(D),
            "mlp.c_fc.weight": fc,
            "mlp.c_fc.bias": bias,
            "mlp.c_proj.weight": out,
            "mlp.c_proj.bias": np.zeros(D),
        }
        for norm in ("ln_1", "ln_2"):
            found |= {f"{norm}.{key}": each for key, each in self._norm().items()}
        return {name: array.astype(np.float32) for name, array in found.items()}
