"""A language model for transformers.js: a stock configuration, and one ONNX graph with a cache.

The layout is that of optimum's exports: onnx/model.onnx takes `input_ids`, `attention_mask`,
`position_ids` and `past_key_values.N.key|value`, and returns `logits` and `present.N.key|value`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netwright.export.checkpoint import (
    SAMPLE,
    Choices,
    GPT2Target,
    TextTarget,
    Way,
    forced,
)
from netwright.export.onnx_target import Graph
from netwright.export.target import Arrays, write_json
from netwright.kind.language_model.checkpoint import EPSILON
from netwright.network.tensors import NamedTensors
from netwright.text import Notify

MODEL = Path("onnx", "model.onnx")
FORBIDDEN = -1e9
"""The score of a token that may not be attended to. A row of padding has no other: not −∞."""


class TransformersJsTarget(TextTarget):
    """config.json, generation_config.json, the tokenizer, and onnx/model.onnx."""

    name, extra, needs = "transformers-js", "onnx", ("onnx", "onnxruntime")
    dtypes = ("float32",)
    least_tokens = 300
    language = "js"
    stock = GPT2Target()

    def checked_in(self) -> str:
        """Name the runtime of the check, for reports."""
        return "onnxruntime"

    def write(self, named: NamedTensors, folder: Path, dtype: str) -> None:
        """Write the files that `from_pretrained` of transformers.js reads."""
        self.stock.describe(named, folder, dtype)
        more: dict[str, dict[str, Any]] = {
            # Otherwise browsers look for a graph in 8 bits.
            "config.json": {"transformers.js_config": {"dtype": "fp32"}},
            # Otherwise pipelines leave out the tokens around the word.
            "tokenizer_config.json": {"add_bos_token": True},
        }
        for name, values in more.items():
            found = json.loads((folder / name).read_text(encoding="utf-8"))
            write_json(folder / name, {**found, **values})
        (folder / MODEL).parent.mkdir()
        (folder / MODEL).write_bytes(gpt2(named, dtype))

    def open(self, folder: Path) -> Any:
        """Load the graph in onnxruntime."""
        return _InOnnxruntime(folder)

    def stored(self, opened: Any, folder: Path) -> Arrays:
        """Return the weights in the graph, under the names of GPT-2."""
        import onnx
        from google.protobuf.message import DecodeError

        try:
            found = onnx.load(folder / MODEL).graph.initializer
        except DecodeError as error:
            raise ValueError(f"{MODEL}: {error}") from None
        weights = [each for each in found if each.name.endswith((".weight", ".bias"))]
        return {each.name: onnx.numpy_helper.to_array(each) for each in weights}

    def usage(self, named: NamedTensors) -> str:
        """Use transformers.js alone, in node."""
        return f"""\
// npm install @huggingface/transformers
import {{ AutoModelForCausalLM, AutoTokenizer }} from "@huggingface/transformers";

const folder = ".";  // this one
const tokenizer = await AutoTokenizer.from_pretrained(folder);
const model = await AutoModelForCausalLM.from_pretrained(folder);
const [text] = (await model.generate(tokenizer({named.names["example"]!r}))).tolist();
console.log(tokenizer.decode(text));"""


class _InOnnxruntime:
    """The graph with its cache, as transformers.js runs it."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # the graph is small
        providers = ["CPUExecutionProvider"]
        self.session = onnxruntime.InferenceSession(folder / MODEL, options, providers)
        tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        self.texts = list(tokenizer["model"]["vocab"])
        self.cached = [each for each in self.session.get_inputs() if "past" in each.name]
        self.restart()

    def restart(self) -> None:
        """Forget all tokens."""
        shapes = {each.name: (1, each.shape[1], 0, each.shape[3]) for each in self.cached}
        self.past = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
        self.length = 0

    def ways(self, tokens: list[int], prompt: int, notify: Notify) -> Iterator[Way]:
        """Yield a teacher-forced pass, and a text that is generated token by token."""
        count = len(tokens) - prompt
        self.restart()
        yield "all at once", forced(self.logits, tokens, prompt, notify), count
        count = min(SAMPLE, count)
        self.restart()
        yield "token by token", self._generated(tokens[:prompt], count), count

    def logits(self, tokens: list[int]) -> NDArray[np.float32]:
        """Append tokens; return the logits after each of them."""
        start, self.length = self.length, self.length + len(tokens)
        found = self.session.run(
            None,
            {
                "input_ids": np.array([tokens]),
                "attention_mask": np.ones((1, self.length), np.int64),
                "position_ids": np.arange(start, self.length)[None],
                **self.past,
            },
        )
        self.past = dict(zip(self.past, found[1:], strict=True))
        logits: NDArray[np.float32] = found[0][0]
        return logits

    def _generated(self, prompt: list[int], count: int) -> Choices:
        given = prompt
        for _ in range(count):
            given = [int(self.logits(given)[-1].argmax())]
            yield given[0], None


def gpt2(named: NamedTensors, dtype: str) -> bytes:
    """The graph of `GPT2LMHeadModel` with a cache."""
    graph, names = Graph(named, dtype), named.names
    batch, new, total = "batch_size", "sequence_length", "total_sequence_length"
    heads, size = names["heads"], names["width"] // names["heads"]
    ids = graph.input("input_ids", [batch, new], whole=True)
    mask = graph.input("attention_mask", [batch, total], whole=True)
    places = graph.input("position_ids", [batch, new], whole=True)
    seen = _visible(graph, ids, mask)
    x = graph.add(
        "Add",
        graph.add("Gather", graph.tensor("transformer.wte.weight"), ids),
        graph.add("Gather", graph.tensor("transformer.wpe.weight"), places),
        to="embedded",
    )
    graph.output("logits", [batch, new, len(names["vocabulary"])])
    forbidden = graph.constant("forbidden", np.array(FORBIDDEN, dtype))
    root = graph.constant("root of the size of a head", np.array(np.sqrt(size), dtype))
    for n in range(names["blocks"]):
        place = f"transformer.h.{n}"
        parts = graph.affine(f"{place}.attn.c_attn", _norm(graph, f"{place}.ln_1", x))
        parts = graph.add("Reshape", parts, graph.integers(0, 0, 3, heads, size))
        parts = graph.add("Transpose", parts, perm=[2, 0, 3, 1, 4])
        q, k, v = (
            graph.add("Gather", parts, graph.constant(f"{part}", np.array(part)), axis=0)
            for part in range(3)
        )
        keys, values = (
            graph.add(
                "Concat",
                graph.input(f"past_key_values.{n}.{what}", [batch, heads, "past", size]),
                each,
                axis=2,
                to=f"present.{n}.{what}",
            )
            for what, each in (("key", k), ("value", v))
        )
        for present in (keys, values):
            graph.output(present, [batch, heads, total, size])
        scores = graph.add("MatMul", q, graph.add("Transpose", keys, perm=[0, 1, 3, 2]))
        scores = graph.add("Where", seen, graph.add("Div", scores, root), forbidden)
        pattern = graph.add("Softmax", scores, axis=-1, to=f"{place}.attn.pattern")
        found = graph.add("Transpose", graph.add("MatMul", pattern, values), perm=[0, 2, 1, 3])
        found = graph.add("Reshape", found, graph.integers(0, 0, heads * size))
        found = graph.affine(f"{place}.attn.c_proj", found)
        x = graph.add("Add", x, found, to=f"{place}.attended")
        hidden = graph.affine(f"{place}.mlp.c_fc", _norm(graph, f"{place}.ln_2", x))
        hidden = graph.activation("relu", hidden, to=f"{place}.units")
        found = graph.affine(f"{place}.mlp.c_proj", hidden)
        x = graph.add("Add", x, found, to=f"{place}.output")
    head = graph.add("Transpose", graph.tensor("lm_head.weight"), perm=[1, 0])
    graph.add("MatMul", _norm(graph, "transformer.ln_f", x), head, to="logits")
    return graph.to_bytes("gpt2")


def _norm(graph: Graph, name: str, x: str) -> str:
    weight, bias = graph.tensor(f"{name}.weight"), graph.tensor(f"{name}.bias")
    return graph.add("LayerNormalization", x, weight, bias, axis=-1, epsilon=EPSILON)


def _visible(graph: Graph, ids: str, mask: str) -> str:
    """Which tokens each new token may attend to: itself and those before it, without padding."""
    zero, one = (graph.constant(f"{n}", np.array(n)) for n in (0, 1))
    new, total = (
        graph.add("Gather", graph.add("Shape", each), one, axis=0) for each in (ids, mask)
    )
    past = graph.add("Sub", total, new)
    rows = graph.add("Unsqueeze", graph.add("Range", past, total, one), graph.integers(1))
    before = graph.add("LessOrEqual", graph.add("Range", zero, total, one), rows)
    shown = graph.add("Cast", mask, to_=graph.onnx.TensorProto.BOOL)
    both = graph.add("And", before, graph.add("Unsqueeze", shown, graph.integers(1)))
    return graph.add("Unsqueeze", both, graph.integers(1), to="visible")
