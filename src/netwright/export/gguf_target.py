"""A Llama as one GGUF file, for llama.cpp and programs that are built on it.

F32, F16, BF16 and Q8_0 are written by the package `gguf`; Q6_K, Q5_K_M and Q4_K_M by llama.cpp's
own quantiser. The file is read back, and netwright's evaluator runs on the numbers that it has;
llama.cpp, which rounds activations to 8 bits too, runs the file itself if it is installed.
"""

import importlib.util
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from netwright.errors import InputError, OutputError, unknown
from netwright.export.checkpoint import SAMPLE, Choices, InNumpy, Way
from netwright.export.llama import LlamaTarget
from netwright.export.pieces import pieces_of, score, template
from netwright.export.target import Arrays, arrays_of
from netwright.kind.language_model.checkpoint import KAPPA
from netwright.kind.language_model.llama.checkpoint import EPSILON
from netwright.kind.language_model.llama.evaluators import FloatLlama
from netwright.kind.language_model.llama.phases import SIZE, THETA
from netwright.network.tensors import NamedTensors
from netwright.text import Notify

PLAIN = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
"""Types without blocks, and numpy's names for them."""
BY_LLAMA_CPP = ("Q6_K", "Q5_K_M", "Q4_K_M")
WRONG = {
    "Q4_0": "it holds 1 but not -1, and universal models then find no rule",
    "Q4_1": "3 of 2,046 tokens of busy-beaver-5 were wrong",
    "Q5_0": "632 of 21,202 tokens of a universal model were wrong",
    **dict.fromkeys(
        ("Q3_K_S", "Q3_K_M", "Q3_K_L"), "most tokens of a universal model were wrong in Q3_K"
    ),
    **dict.fromkeys(("Q2_K", "Q2_K_S"), "918 of 2,046 tokens of busy-beaver-5 were wrong in Q2_K"),
    **dict.fromkeys(("IQ4_NL", "IQ4_XS"), "most tokens of busy-beaver-5 were wrong in IQ4"),
}
"""Types that are known to fail, with what was seen."""
OUTSIDE = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
}
PARTS = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    **{f"self_attn.{ours}_proj": f"attn_{theirs}" for ours, theirs in
       (("q", "q"), ("k", "k"), ("v", "v"), ("o", "output"))},
    **{f"mlp.{part}_proj": f"ffn_{part}" for part in ("gate", "up", "down")},
}  # fmt: skip
"""GGUF's names for the parts of a block, by Llama's."""
TURNED = ("attn_q", "attn_k")


class GGUFTarget(LlamaTarget):
    """model.gguf."""

    name, extra, needs = "gguf", "gguf", ("gguf",)
    dtypes = ("Q8_0", *PLAIN, *BY_LLAMA_CPP)
    file = "model.gguf"
    is_certified = False

    @property
    def runtime(self) -> tuple[str, ...]:
        """The packages that read the file, by the names under which they are installed."""
        return ("gguf", *(("llama-cpp-python",) if has_llama_cpp() else ()))

    def checked_in(self) -> str:
        """Name the runtime of the check."""
        return "netwright's own evaluator" + (" and llama.cpp" if has_llama_cpp() else "")

    def elsewhere(self) -> str:
        """Say what to install for a check in llama.cpp."""
        return "" if has_llama_cpp() else "; in llama.cpp with pip install 'netwright[llama-cpp]'"

    def read_dtype(self, name: str | None) -> str:
        """Validate a type of GGUF; InputError for one that is known to fail."""
        found = "Q8_0" if name is None else str(name).upper()
        if found in WRONG or found.startswith(("IQ", "TQ")):
            reason = WRONG.get(found, "it has fewer bits than types that were wrong")
            raise InputError(
                f"{found} is too coarse for computed weights: {reason}; "
                f"take one of {', '.join(self.dtypes)}"
            )
        if found not in self.dtypes:
            raise InputError(unknown("type for gguf", str(name), self.dtypes))
        if found in BY_LLAMA_CPP and not has_llama_cpp():
            raise InputError(
                f"{found} is written by llama.cpp's own quantiser: "
                "pip install 'netwright[llama-cpp]'; without it, take Q8_0"
            )
        return found

    def compared_as(self, dtype: str) -> str | None:
        """The type of numpy whose numbers the file has; None if they are in blocks."""
        return PLAIN.get(dtype)

    def write(self, named: NamedTensors, folder: Path, dtype: str) -> None:
        """Write the file; for llama.cpp's quantiser, one in F32 first."""
        path = folder / self.file
        if dtype not in BY_LLAMA_CPP:
            _write(path, named, dtype)
            return
        whole = folder / "whole.gguf"
        _write(whole, named, "F32")
        _quantise(whole, path, dtype)
        whole.unlink()

    def open(self, folder: Path) -> Any:
        """Read the file back, in every evaluator there is."""
        return _Opened(folder / self.file)

    def stored(self, opened: Any, folder: Path) -> Arrays:
        """Return the tensors, under the names of Llama."""
        kind = np.dtype(ml_dtypes.bfloat16 if opened.kind == "BF16" else PLAIN.get(opened.kind))
        return {name: array.astype(kind) for name, array in opened.tensors.items()}

    def usage(self, named: NamedTensors) -> str:
        """Use llama-cpp-python alone."""
        prompt = " ".join([named.names["example"], *named.names["after"]])
        return f"""\
from llama_cpp import Llama

model = Llama("{self.file}", n_ctx={named.names["context"]}, verbose=False)
text = model({prompt!r}, max_tokens=None, temperature=0)
print(text["choices"][0]["text"])"""


def has_llama_cpp() -> bool:
    """Whether llama-cpp-python is installed."""
    return importlib.util.find_spec("llama_cpp") is not None


def _name(name: str) -> str:
    """GGUF's name of a tensor."""
    place, _, kind = name.rpartition(".")
    if place in OUTSIDE:
        return f"{OUTSIDE[place]}.{kind}"
    _, _, n, part = place.split(".", 3)
    return f"blk.{n}.{PARTS[part]}.{kind}"


def _swapped(rows: NDArray[Any], parts: int) -> NDArray[Any]:
    """Rows of queries or keys with the two halves of a head interleaved; or back, in 32 parts.

    llama.cpp turns neighbours, transformers the coordinates j and j + 32.
    """
    heads = rows.reshape(-1, parts, SIZE // parts, rows.shape[1])
    return heads.swapaxes(1, 2).reshape(rows.shape)


def _write(path: Path, named: NamedTensors, dtype: str) -> None:
    import gguf

    names, pieces = named.names, pieces_of(named.names)
    number = {piece.text: n for n, piece in enumerate(pieces)}
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name(names["machine"] or "universal Turing machine")
    writer.add_description(names["reading"])
    writer.add_file_type(getattr(gguf.LlamaFileType, _file_type(dtype)))
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_context_length(names["context"])
    writer.add_embedding_length(names["width"])
    writer.add_block_count(names["blocks"])
    writer.add_feed_forward_length(names["hidden"])
    writer.add_head_count(names["heads"])
    writer.add_head_count_kv(names["heads"])
    writer.add_key_length(SIZE)
    writer.add_value_length(SIZE)
    writer.add_rope_dimension_count(SIZE)
    writer.add_rope_freq_base(THETA)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_vocab_size(len(pieces))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([piece.text for piece in pieces])
    writer.add_token_scores([score(n) for n in range(len(pieces))])
    writer.add_token_types([piece.kind for piece in pieces])
    writer.add_bos_token_id(number["<s>"])
    writer.add_eos_token_id(number["</s>"])
    writer.add_unk_token_id(number["<unk>"])
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(True)
    writer.add_chat_template(template(names))
    kind = gguf.GGMLQuantizationType[dtype]
    for name, array in arrays_of(named, "float32").items():
        there = _name(name)
        rows = _swapped(array, 2) if any(part in there for part in TURNED) else array
        own = gguf.GGMLQuantizationType.F32 if rows.ndim == 1 else kind
        if own is gguf.GGMLQuantizationType.F32:
            writer.add_tensor(there, np.ascontiguousarray(rows))
        else:
            data = gguf.quants.quantize(np.ascontiguousarray(rows), own)
            writer.add_tensor(there, data, raw_dtype=own)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _file_type(dtype: str) -> str:
    """The name of a type in the list of llama.cpp's file types."""
    return {"F32": "ALL_F32"}.get(dtype, f"MOSTLY_{dtype}")


def _quantise(whole: Path, path: Path, dtype: str) -> None:
    """Quantise a file with llama.cpp."""
    import llama_cpp

    logging.getLogger("llama-cpp-python").setLevel(logging.CRITICAL)
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{dtype}")
    parameters.nthread = 1
    if llama_cpp.llama_model_quantize(str(whole).encode(), str(path).encode(), parameters) != 0:
        raise OutputError(f"llama.cpp could not quantise the file to {dtype}")


class _Contents(NamedTuple):
    """What a GGUF file has, under the names of Llama."""

    fields: Mapping[str, Any]
    kind: str
    """The type of most tensors."""
    tensors: Arrays


def read_gguf(path: Path) -> _Contents:
    """Read a GGUF file of a Llama; tensors in blocks are multiplied out."""
    import gguf

    reader = gguf.GGUFReader(str(path))
    fields = {name: field.contents() for name, field in reader.fields.items()}
    there = {each.name: each for each in reader.tensors}
    blocks = range(fields["llama.block_count"])
    names = [
        *(f"{name}.weight" for name in OUTSIDE),
        *(f"model.layers.{n}.{part}.weight" for n in blocks for part in PARTS),
    ]
    found = {}
    for name in names:
        tensor = there[_name(name)]
        rows = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        swap = any(part in tensor.name for part in TURNED)
        found[name] = (_swapped(rows, SIZE // 2) if swap else rows).astype(np.float32)
    kind = there["blk.0.ffn_gate.weight"].tensor_type.name
    return _Contents(fields, kind, found)


class _Opened:
    """A file in netwright's evaluator, and in llama.cpp if that is installed."""

    def __init__(self, path: Path) -> None:
        fields, self.kind, self.tensors = read_gguf(path)
        self.texts = fields["tokenizer.ggml.tokens"]
        context, theta = fields["llama.context_length"], fields["llama.rope.freq_base"]
        self.in_numpy = InNumpy(FloatLlama(self.tensors, context, "float32", theta), self.texts)
        self.model: Any = None
        if has_llama_cpp():
            from llama_cpp import Llama

            options = {"n_ctx": context, "logits_all": True, "verbose": False}
            self.model = Llama(str(path), n_threads=1, n_threads_batch=1, **options)

    def ways(self, tokens: list[int], prompt: int, notify: Notify) -> Iterator[Way]:
        """Yield passes over the text in both, and a sample of llama.cpp."""
        yield from self.in_numpy.ways(tokens, prompt, notify)
        if self.model is not None:
            count = len(tokens) - prompt
            notify("llama.cpp")
            yield "llama.cpp", self._forced(tokens, prompt), count
            count = min(SAMPLE, count)
            yield "generated", self._generated(tokens[:prompt], count), count

    def _logits(self, tokens: list[int]) -> NDArray[np.float32]:
        """Append tokens; return the logits after each of them."""
        start = self.model.n_tokens
        self.model.eval(tokens)
        found: NDArray[np.float32] = self.model.scores[start : self.model.n_tokens]
        return found

    def _forced(self, tokens: list[int], prompt: int) -> Choices:
        self.model.reset()
        for row in self._logits(tokens[:-1])[prompt - 1 :]:
            two = np.partition(row, -2)[-2:]
            yield int(row.argmax()), float(two[1] - two[0]) / KAPPA

    def _generated(self, prompt: list[int], count: int) -> Choices:
        self.model.reset()
        token = int(self._logits(prompt)[-1].argmax())
        for _ in range(count - 1):
            yield token, None
            token = int(self._logits([token])[-1].argmax())
        yield token, None
