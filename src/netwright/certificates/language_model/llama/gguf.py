"""A Llama in one GGUF file: its settings, its tokens, and its weights as the file has them.

Weights in blocks of 8 bits (Q8_0) are multiplied out: 32 whole numbers times one of float16. What
is not known to be harmless is refused, as in folders.
"""

import re
import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from netwright.certificates.language_model.classes import UNKNOWN
from netwright.certificates.language_model.llama.classes import BOS, STOP
from netwright.certificates.language_model.llama.forward import LlamaModel
from netwright.certificates.language_model.llama.reading import MARK, SPECIAL, llama_shapes
from netwright.certificates.schema import shown
from netwright.errors import FormatError, InputError
from netwright.files import read_file

LARGEST = 1 << 31
NUMBERS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
"""The formats of a setting's numbers, by GGUF's names for them; 8 is a text and 9 a list."""
PLAIN = {0: "<f4", 1: "<f2", 30: "<u2"}
Q8_0 = 8
KINDS = {0: "F32", 1: "F16", 30: "BF16", Q8_0: "Q8_0"}
SIZES = (
    *("context_length", "embedding_length", "block_count", "attention.head_count"),
    *("feed_forward_length", "attention.head_count_kv", "attention.key_length"),
)
FREE = ("general.", "tokenizer.chat_template", "tokenizer.ggml.scores")
"""Settings that change nothing of what is computed of tokens begin with these."""
FIXED = {
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.add_bos_token": True,
    "tokenizer.ggml.add_eos_token": False,
    "tokenizer.ggml.add_space_prefix": True,
}
TYPES = {UNKNOWN: 2, BOS: 3, STOP: 3}
"""Types of pieces that are not plain, which are 1, and not bytes, which are 6."""
OUTSIDE = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
PARTS = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    **{f"attn_{n}": f"self_attn.{n}_proj" for n in "qkv"},
    "attn_output": "self_attn.o_proj",
    **{f"ffn_{n}": f"mlp.{n}_proj" for n in ("gate", "up", "down")},
}
"""Llama's names for the parts of a block, by those of GGUF."""


class Quantised(NamedTuple):
    """A file: its model, its tokens, and the type of most of its weights."""

    model: LlamaModel
    tokens: Mapping[str, int]
    kind: str


class _Bytes:
    """A file that is read from its beginning."""

    def __init__(self, path: Path) -> None:
        self.path, self.data, self.place = path, read_file(path, LARGEST, "checkpoint"), 0

    def take(self, count: int) -> bytes:
        """The next bytes; FormatError if there are fewer."""
        found = self.data[self.place : self.place + count]
        if count < 0 or len(found) != count:
            raise FormatError(f"{self.path} is not a whole GGUF file: it ends too early")
        self.place += count
        return found

    def number(self, kind: int) -> Any:
        """A number of some format."""
        if kind not in NUMBERS:
            raise FormatError(f"{self.path} is not a GGUF file: it has a value of type {kind}")
        return struct.unpack(f"<{NUMBERS[kind]}", self.take(struct.calcsize(f"<{NUMBERS[kind]}")))[
            0
        ]

    def text(self) -> str:
        """A text with its length before it."""
        return self.take(self.number(10)).decode("utf-8", "replace")

    def value(self) -> Any:
        """A value with its type before it."""
        kind = self.number(4)
        if kind == 8:
            return self.text()
        if kind != 9:
            return self.number(kind)
        of, count = self.number(4), self.number(10)
        if count > len(self.data):
            raise FormatError(f"{self.path} is not a whole GGUF file: it ends too early")
        return [self.text() if of == 8 else self.number(of) for _ in range(count)]


def read_gguf(path: Path) -> Quantised:
    """Read a Llama; raise FormatError, or InputError for one that nothing here can prove."""
    file = _Bytes(path)
    if file.take(4) != b"GGUF" or file.number(4) != 3:
        raise FormatError(f"{path} is not a GGUF file of version 3")
    tensors, settings = file.number(10), dict[str, Any]()
    for _ in range(file.number(10)):
        name = file.text()
        if name in settings:
            raise FormatError(f"{path}: {shown(name)} is there twice")
        settings[name] = file.value()
    parts = {}
    for _ in range(tensors):
        name = file.text()
        shape = tuple(reversed([file.number(10) for _ in range(file.number(4))]))
        parts[name] = shape, file.number(4), file.number(10)
    step = settings.pop("general.alignment", 32)
    if type(step) is not int or step < 1 or len(parts) != tensors:
        raise FormatError(f"{path}: its tensors are not in order")
    start = -(-file.place // step) * step
    model, size = _settings(path, settings)
    tokens = _tokens(path, settings)
    wanted = llama_shapes(len(tokens), (*(model[name] for name in SIZES),))
    there = {_name(name): shape for name, (shape, _, _) in parts.items()}
    if len(there) != len(parts):
        raise FormatError(f"{path}: two tensors have one name")
    for name in sorted({*wanted} | {*there}):
        if there.get(name) != wanted.get(name):
            raise FormatError(
                f"{path}: of tensor {shown(name)} expected {wanted.get(name, 'none')}, found "
                f"{there.get(name, 'none')}"
            )
    found, kinds = {}, set()
    for name, (shape, kind, offset) in parts.items():
        if kind not in KINDS:
            raise InputError(
                f"no certificate for weights of GGUF's type {kind} yet: {path} must have "
                f"{', '.join(KINDS.values())}"
            )
        rows = _numbers(file, start + offset, shape, kind)
        if not np.isfinite(rows).all():
            raise FormatError(f"{path}: {name} has a number that is not finite")
        turned = name.endswith(("attn_q.weight", "attn_k.weight"))
        found[_name(name)] = _halves(rows, size) if turned else rows
        kinds |= {KINDS[kind]} if len(shape) == 2 else set()
    sizes = found, tokens, model["block_count"], model["attention.head_count"]
    whole = LlamaModel(
        *sizes, model["attention.layer_norm_rms_epsilon"], model["context_length"],
        model["rope.freq_base"],
    )  # fmt: skip
    return Quantised(whole, tokens, "/".join(sorted(kinds)))


def _settings(path: Path, settings: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """The numbers of a model, and the size of a head."""
    if settings.get("general.architecture") != "llama":
        said = shown(settings.get("general.architecture"))
        raise InputError(f"no certificate for {said} in GGUF: {path} must be a llama")
    model = {name[6:]: each for name, each in settings.items() if name.startswith("llama.")}
    for name in SIZES:
        if type(model.get(name)) is not int or not 1 <= model[name] <= 1 << 20:
            raise FormatError(f"{path}: llama.{name} is {shown(model.get(name))}; expected a size")
    size, heads = model["attention.key_length"], model["attention.head_count"]
    for name, value in (
        ("attention.value_length", size), ("rope.dimension_count", size),
        ("attention.head_count_kv", heads),
    ):  # fmt: skip
        if model.get(name) != value:
            raise FormatError(f"{path}: llama.{name} is {shown(model.get(name))}; expected {value}")
    for name, low, high in (
        ("rope.freq_base", 1, 1e30), ("attention.layer_norm_rms_epsilon", 0, 1)
    ):  # fmt: skip
        if type(model.get(name)) is not float or not low < model[name] < high:
            raise FormatError(f"{path}: llama.{name} is {shown(model.get(name))}")
    known = {*SIZES, "attention.value_length", "rope.dimension_count", "rope.freq_base",
             "attention.layer_norm_rms_epsilon", "vocab_size"}  # fmt: skip
    if strange := sorted(set(model) - known):
        raise FormatError(f"{path}: llama.{strange[0]} is not a setting that is known here")
    if size % 2 or size > 256:
        raise FormatError(f"{path}: a head of {size} coordinates; expected an even size")
    return model, size


def _tokens(path: Path, settings: Mapping[str, Any]) -> dict[str, int]:
    """The tokens by their texts; other pieces by themselves."""
    for name, value in FIXED.items():
        if settings.get(name) != value:
            raise FormatError(f"{path}: {name} is {shown(settings.get(name))}")
    pieces = settings.get("tokenizer.ggml.tokens")
    if not isinstance(pieces, list) or not all(isinstance(each, str) for each in pieces):
        raise FormatError(f"{path}: there are no tokenizer.ggml.tokens")
    types, known_pieces = settings.get("tokenizer.ggml.token_type"), {*pieces}
    if not isinstance(types, list) or len(types) != len(pieces):
        raise FormatError(f"{path}: expected one tokenizer.ggml.token_type for each token")
    found = dict[str, int]()
    for number, (piece, kind) in enumerate(zip(pieces, types, strict=True)):
        marked = piece.startswith(MARK) and len(piece) > 1
        byte = re.fullmatch("<0x[0-9A-F]{2}>", piece)
        # Words are merged from their left alone: any order of merges makes one piece of them.
        if kind != TYPES.get(piece, 6 if byte else 1) or (
            piece[:-1] not in known_pieces or MARK in piece[1:]
            if marked
            else len(piece) != 1 and piece not in SPECIAL and not byte
        ):
            raise FormatError(f"{path}: {shown(piece)} of type {shown(kind)} may change words")
        text = piece[1:] if marked else piece if piece in SPECIAL else f"{piece} as a piece"
        if text in found:
            raise FormatError(f"{path}: two tokens have the text {shown(text)}")
        found[text] = number
    for name, text in (("bos", BOS), ("eos", STOP), ("unknown", UNKNOWN)):
        if settings.get(f"tokenizer.ggml.{name}_token_id") != found.get(text, -1):
            raise FormatError(f"{path}: tokenizer.ggml.{name}_token_id must be that of {text}")
    known = {*FIXED, "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"}
    known |= {f"tokenizer.ggml.{name}_token_id" for name in ("bos", "eos", "unknown", "padding")}
    for name in settings:
        if name not in known and not name.startswith((*FREE, "llama.")):
            raise FormatError(f"{path}: {name[:60]} is not a setting that is known here")
    return found


def _name(name: str) -> str:
    """Llama's name of a tensor; an unknown one stays as it is."""
    place, _, kind = name.rpartition(".")
    if place in OUTSIDE:
        return f"{OUTSIDE[place]}.{kind}"
    first, _, rest = place.partition(".")
    n, _, part = rest.partition(".")
    if first != "blk" or part not in PARTS:
        return name
    return f"model.layers.{n}.{PARTS[part]}.{kind}"


def _numbers(file: _Bytes, start: int, shape: tuple[int, ...], kind: int) -> NDArray[np.float32]:
    """The numbers of a tensor: plain ones, or blocks of 32 with one factor."""
    file.place, count = start, prod(shape)
    if kind == Q8_0:
        if shape[-1] % 32:
            raise FormatError(f"{file.path}: rows of {shape[-1]} numbers are not in blocks of 32")
        blocks = np.frombuffer(file.take(count // 32 * 34), np.uint8).reshape(-1, 34)
        factor = blocks[:, :2].copy().view("<f2").astype(np.float32)
        with np.errstate(invalid="ignore"):  # numbers that are not finite are refused after this
            return (factor * blocks[:, 2:].view(np.int8)).reshape(shape)
    plain = np.dtype(PLAIN[kind])
    found = np.frombuffer(file.take(count * plain.itemsize), plain)
    if KINDS[kind] == "BF16":
        found = found.view(ml_dtypes.bfloat16)
    return found.astype(np.float32).reshape(shape)


def _halves(rows: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Rows of queries or keys: GGUF's pairs are neighbours, Llama's are `size`/2 apart."""
    heads = rows.reshape(-1, size // 2, 2, rows.shape[-1])
    return np.ascontiguousarray(heads.swapaxes(1, 2)).reshape(rows.shape)
