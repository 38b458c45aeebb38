"""Language models as ONNX graphs with a cache, in the layout of optimum's exports.

A graph takes `input_ids`, `attention_mask`, `position_ids` and `past_key_values.N.key|value`, and
returns `logits` and `present.N.key|value`. Its weights have the names of the checkpoint.
"""

import numpy as np

from netwright.export.onnx_target import Graph
from netwright.kind.language_model.checkpoint import EPSILON
from netwright.kind.language_model.llama.checkpoint import EPSILON as LLAMA_EPSILON
from netwright.kind.language_model.llama.phases import FREQUENCIES, PAIRS, SIZE
from netwright.network.tensors import NamedTensors

BATCH, NEW, TOTAL = "batch_size", "sequence_length", "total_sequence_length"
"""Names of dimensions; transformers.js knows the first."""
FORBIDDEN = -1e9
"""The score of a token that may not be attended to. A row of padding has no other: not −∞."""


class DecoderGraph(Graph):
    """What decoders have in common: their inputs, and attention with a cache."""

    def __init__(self, named: NamedTensors, dtype: str) -> None:
        super().__init__(named, dtype)
        self.heads, self.blocks = named.names["heads"], range(named.names["blocks"])
        self.ids = self.input("input_ids", [BATCH, NEW], whole=True)
        self.mask = self.input("attention_mask", [BATCH, TOTAL], whole=True)
        self.places = self.input("position_ids", [BATCH, NEW], whole=True)
        self.output("logits", [BATCH, NEW, named.tensors["lm_head.weight"].shape[0]])
        self.visible = self._visible()

    def _visible(self) -> str:
        """Which tokens each new one may attend to: itself and those before it, without padding."""
        zero, one = (self.constant(f"{n}", np.array(n)) for n in (0, 1))
        new, total = (
            self.add("Gather", self.add("Shape", each), one, axis=0)
            for each in (self.ids, self.mask)
        )
        places = self.add("Range", self.add("Sub", total, new), total, one)
        rows = self.add("Unsqueeze", places, self.integers(1))
        before = self.add("LessOrEqual", self.add("Range", zero, total, one), rows)
        shown = self.add("Cast", self.mask, to_=self.onnx.TensorProto.BOOL)
        both = self.add("And", before, self.add("Unsqueeze", shown, self.integers(1)))
        return self.add("Unsqueeze", both, self.integers(1), to="visible")

    def attention(self, n: int, size: int, q: str, k: str, v: str) -> str:
        """Attend to the cached and the new tokens; batch × heads × tokens × size in q, k and v."""
        kept = []
        for what, new in (("key", k), ("value", v)):
            past = self.input(f"past_key_values.{n}.{what}", [BATCH, self.heads, "past", size])
            kept.append(self.add("Concat", past, new, axis=2, to=f"present.{n}.{what}"))
            self.output(kept[-1], [BATCH, self.heads, TOTAL, size])
        scores = self.add("MatMul", q, self.add("Transpose", kept[0], perm=[0, 1, 3, 2]))
        root = self.constant("root of the size of a head", np.array(np.sqrt(size), self.dtype))
        forbidden = self.constant("forbidden", np.array(FORBIDDEN, self.dtype))
        scores = self.add("Where", self.visible, self.add("Div", scores, root), forbidden)
        pattern = self.add("Softmax", scores, axis=-1, to=f"block {n} pattern")
        found = self.add("Transpose", self.add("MatMul", pattern, kept[1]), perm=[0, 2, 1, 3])
        return self.add("Reshape", found, self.integers(0, 0, self.heads * size))

    def product(self, x: str, name: str, to: str | None = None) -> str:
        """Add x·Wᵀ for a matrix with a row for each output."""
        transposed = self.add("Transpose", self.tensor(f"{name}.weight"), perm=[1, 0])
        return self.add("MatMul", x, transposed, to=to)


def gpt2(named: NamedTensors, dtype: str) -> bytes:
    """The graph of `GPT2LMHeadModel`."""
    graph = DecoderGraph(named, dtype)
    size = named.names["width"] // graph.heads

    def norm(name: str, x: str) -> str:
        weight, bias = graph.tensor(f"{name}.weight"), graph.tensor(f"{name}.bias")
        return graph.add("LayerNormalization", x, weight, bias, axis=-1, epsilon=EPSILON)

    tokens = graph.add("Gather", graph.tensor("transformer.wte.weight"), graph.ids)
    places = graph.add("Gather", graph.tensor("transformer.wpe.weight"), graph.places)
    x = graph.add("Add", tokens, places, to="embedded")
    for n in graph.blocks:
        place = f"transformer.h.{n}"
        parts = graph.affine(f"{place}.attn.c_attn", norm(f"{place}.ln_1", x))
        parts = graph.add("Reshape", parts, graph.integers(0, 0, 3, graph.heads, size))
        parts = graph.add("Transpose", parts, perm=[2, 0, 3, 1, 4])
        q, k, v = (
            graph.add("Gather", parts, graph.constant(f"{part}", np.array(part)), axis=0)
            for part in range(3)
        )
        found = graph.affine(f"{place}.attn.c_proj", graph.attention(n, size, q, k, v))
        x = graph.add("Add", x, found, to=f"block {n} attended")
        hidden = graph.affine(f"{place}.mlp.c_fc", norm(f"{place}.ln_2", x))
        hidden = graph.activation("relu", hidden, to=f"block {n} units")
        x = graph.add("Add", x, graph.affine(f"{place}.mlp.c_proj", hidden), to=f"block {n}")
    graph.product(norm("transformer.ln_f", x), "lm_head", to="logits")
    return graph.to_bytes("gpt2")


def llama(named: NamedTensors, dtype: str) -> bytes:
    """The graph of `LlamaForCausalLM`; RoPE is a table, for runtimes whose cosine is not exact."""
    graph = DecoderGraph(named, dtype)
    epsilon = graph.constant("epsilon", np.array(LLAMA_EPSILON, dtype))
    angles = np.outer(np.arange(named.names["context"]), FREQUENCIES)
    cos, sin = (
        graph.add("Unsqueeze", graph.add("Gather", table, graph.places), graph.integers(1))
        for table in (
            graph.constant("cosines of RoPE", np.cos(angles).astype(dtype)),
            graph.constant("sines of RoPE", np.sin(angles).astype(dtype)),
        )
    )

    def norm(name: str, x: str) -> str:
        square = graph.add("ReduceMean", graph.add("Mul", x, x), axes=[-1], keepdims=1)
        root = graph.add("Sqrt", graph.add("Add", square, epsilon))
        return graph.add("Mul", graph.add("Div", x, root), graph.tensor(f"{name}.weight"))

    def part(name: str, x: str) -> str:
        found = graph.product(x, name)
        found = graph.add("Reshape", found, graph.integers(0, 0, graph.heads, SIZE))
        return graph.add("Transpose", found, perm=[0, 2, 1, 3])

    def turned(x: str) -> str:
        a, b = (
            graph.add("Slice", x, *map(graph.integers, (start, start + PAIRS, 3)))
            for start in (0, PAIRS)
        )
        real = graph.add("Sub", graph.add("Mul", a, cos), graph.add("Mul", b, sin))
        imaginary = graph.add("Add", graph.add("Mul", b, cos), graph.add("Mul", a, sin))
        return graph.add("Concat", real, imaginary, axis=-1)

    x = graph.add("Gather", graph.tensor("model.embed_tokens.weight"), graph.ids, to="embedded")
    for n in graph.blocks:
        place = f"model.layers.{n}"
        y = norm(f"{place}.input_layernorm", x)
        q, k, v = (part(f"{place}.self_attn.{letter}_proj", y) for letter in "qkv")
        found = graph.attention(n, SIZE, turned(q), turned(k), v)
        found = graph.product(found, f"{place}.self_attn.o_proj")
        x = graph.add("Add", x, found, to=f"block {n} attended")
        y = norm(f"{place}.post_attention_layernorm", x)
        gate, up = (graph.product(y, f"{place}.mlp.{letter}_proj") for letter in ("gate", "up"))
        gated = graph.add("Mul", gate, graph.add("Sigmoid", gate))
        hidden = graph.add("Mul", gated, up, to=f"block {n} units")
        x = graph.add("Add", x, graph.product(hidden, f"{place}.mlp.down_proj"), to=f"block {n}")
    graph.product(norm("model.norm", x), "lm_head", to="logits")
    return graph.to_bytes("llama")
