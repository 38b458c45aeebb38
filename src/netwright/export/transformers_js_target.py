"""A language model for transformers.js: a stock configuration, and one ONNX graph."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netwright.export.checkpoint import (
    SAMPLE,
    CheckpointTarget,
    Choices,
    GPT2Target,
    TextTarget,
    Way,
    forced,
)
from netwright.export.decoder_graphs import gpt2, llama
from netwright.export.llama import LlamaTarget
from netwright.export.target import Arrays, write_json
from netwright.kind.language_model.kind import LLAMA
from netwright.network.tensors import NamedTensors
from netwright.text import Notify

MODEL = Path("onnx", "model.onnx")
FAMILIES: dict[str, tuple[CheckpointTarget, Callable[[NamedTensors, str], bytes]]] = {
    "gpt2": (GPT2Target(), gpt2),
    LLAMA: (LlamaTarget(), llama),
}
"""By architecture: whose configuration and tokenizer a folder has, and its graph."""


class TransformersJsTarget(TextTarget):
    """config.json, generation_config.json, the tokenizer, and onnx/model.onnx."""

    name, extra, needs = "transformers-js", "onnx", ("onnx", "onnxruntime")
    dtypes = ("float32",)
    least = 300
    language = "js"

    def prepared(self, named: NamedTensors) -> NamedTensors:
        """What is written of a model of either architecture."""
        return FAMILIES[named.names["architecture"]][0].prepared(named)

    def checked_in(self) -> str:
        """Name the runtime of the check, for reports."""
        return "onnxruntime"

    def write(self, named: NamedTensors, folder: Path, dtype: str) -> None:
        """Write the files that `from_pretrained` of transformers.js reads."""
        stock, graph = FAMILIES[named.names["architecture"]]
        stock.describe(named, folder, dtype)
        changes: dict[str, Callable[[Any], Any]] = {
            # Otherwise browsers look for a graph in 8 bits.
            "config.json": lambda found: {**found, "transformers.js_config": {"dtype": "fp32"}},
            # Otherwise pipelines leave out the tokens around the word.
            "tokenizer_config.json": lambda found: {**found, "add_bos_token": True},
            "tokenizer.json": _with_names,
        }
        for name, change in changes.items():
            found = json.loads((folder / name).read_text(encoding="utf-8"))
            write_json(folder / name, change(found))
        (folder / MODEL).parent.mkdir()
        (folder / MODEL).write_bytes(graph(named, dtype))

    def open(self, folder: Path) -> Any:
        """Load the graph in onnxruntime."""
        return _InOnnxruntime(folder)

    def stored(self, opened: Any, folder: Path) -> Arrays:
        """Return the weights in the graph, under the names of the checkpoint."""
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


def _with_names(tokenizer: dict[str, Any]) -> dict[str, Any]:
    """Name a token that is added after a text; transformers.js takes the name for the token."""
    special = tokenizer["post_processor"]["special_tokens"]
    if "" in special:
        (text,) = special[""]["tokens"]
        special[text] = {**special.pop(""), "id": text}
        for piece in tokenizer["post_processor"]["single"]:
            if piece.get("SpecialToken", {}).get("id") == "":
                piece["SpecialToken"]["id"] = text
    return tokenizer


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
