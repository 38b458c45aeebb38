"""The files of a checkpoint: config.json, tokenizer.json and model.safetensors, read strictly.

What is not known to be harmless is refused, with its name: a tensor too many or too few, another
shape, a number that is not finite, a setting that changes what the model computes, a token of
another text.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from netwright.certificates.language_model.checker import Model, Tensors
from netwright.certificates.language_model.classes import (
    ADDRESS,
    RUN,
    UNKNOWN,
    Names,
    addresses,
)
from netwright.certificates.language_model.llama.classes import LlamaNames
from netwright.certificates.language_model.llama.forward import LlamaModel
from netwright.certificates.language_model.llama.gguf import read_gguf
from netwright.certificates.language_model.llama.reading import (
    ROPE,
    llama_shapes,
    llama_tokens,
    rope_of,
)
from netwright.certificates.language_model.llama.reading import SPECIAL as PIECES
from netwright.certificates.language_model.llama.universal import LlamaUniversal
from netwright.certificates.language_model.rounding import FORMATS
from netwright.certificates.language_model.universal import BOS, TAPE, Universal
from netwright.certificates.schema import shown, unique
from netwright.errors import FormatError, InputError
from netwright.files import read_file

TYPES = {"BF16": ml_dtypes.bfloat16, "F16": np.float16, "F32": np.float32}
LARGEST = 1 << 31
"""Bytes of a file."""
FREE = {
    *("_name_or_path", "attn_pdrop", "attention_dropout", "bos_token_id", "dropout", "dtype"),
    *("embd_pdrop", "initializer_range", "init_std", "layerdrop", "output_attentions", "n_ctx"),
    *("output_hidden_states", "pad_token_id", "resid_pdrop", "return_dict", "torch_dtype"),
    *("transformers_version", "use_cache", "task_specific_params"),
    *(f"summary_{name}" for name in ("activation", "first_dropout", "proj_to_labels")),
    *("summary_type", "summary_use_proj"),
}
"""Settings that change nothing of what a model computes when it is not trained."""
FIXED = {
    "gpt2": {
        "architectures": ["GPT2LMHeadModel"],
        "activation_function": "relu",
        "tie_word_embeddings": False,
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "reorder_and_upcast_attn": False,
        "add_cross_attention": False,
    },
    "opt": {
        "architectures": ["OPTForCausalLM"],
        "activation_function": "relu",
        "tie_word_embeddings": False,
        "do_layer_norm_before": True,
        "enable_bias": True,
        "layer_norm_elementwise_affine": True,
        "_remove_final_layer_norm": False,
    },
    "llama": {
        "architectures": ["LlamaForCausalLM"],
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "attention_bias": False,
        "mlp_bias": False,
        "rope_scaling": None,
        "pretraining_tp": 1,
    },
}
"""Settings that must have one value; those after the third may be missing."""
SIZES = {
    "gpt2": ("n_positions", "n_embd", "n_layer", "n_head", "n_inner"),
    "opt": (
        *("max_position_embeddings", "hidden_size", "num_hidden_layers", "num_attention_heads"),
        "ffn_dim",
    ),
    "llama": (
        *("max_position_embeddings", "hidden_size", "num_hidden_layers", "num_attention_heads"),
        *("intermediate_size", "num_key_value_heads", "head_dim"),
    ),
}
OWN = {
    "gpt2": ("layer_norm_epsilon",),
    "opt": ("word_embed_proj_dim",),
    "llama": ("rms_norm_eps", *ROPE),
}
"""Settings that one architecture has, and whose values are checked."""
EPSILON = {"llama": ("rms_norm_eps", 1e-6)}
USUAL = ("layer_norm_epsilon", 1e-5)
"""The setting with the ε of norms, and what it is where it is missing: in OPT, which has none."""
TOKENIZER = {
    *("tokenizer_class", "clean_up_tokenization_spaces", "padding_side", "model_max_length"),
    *("chat_template", "backend", "is_local", "local_files_only"),
}
"""Settings of tokenizer_config.json; all but the first change no tokens."""
CLASSES = ("PreTrainedTokenizerFast", "TokenizersBackend")
"""What transformers calls a tokenizer that is tokenizer.json, and no more."""
SPECIAL = {f"{name}_token" for name in ("bos", "eos", "unk", "pad")}
"""Settings with the text of a token that is special."""


class Files(NamedTuple):
    """A checkpoint, and what it was read from."""

    model: Model | LlamaModel
    architecture: str
    tokens: Mapping[str, int]
    formats: Sequence[str] = tuple(FORMATS)
    """In which it is proved if none is named."""

    @property
    def is_universal(self) -> bool:
        """Whether it takes the rules of a machine in its prompt."""
        return TAPE in self.tokens

    @property
    def digest(self) -> str:
        """Of tensors under the names of GPT-2 or Llama, as numbers of float32, and of tokens."""
        found = hashlib.sha256()
        for name, tensor in sorted(self.model.tensors.items()):
            found.update(f"{name} {tensor.shape}\n".encode())
            found.update(np.ascontiguousarray(tensor, dtype="<f4").tobytes())
        found.update(json.dumps(sorted(self.tokens.items()), ensure_ascii=True).encode())
        return found.hexdigest()


def read_folder(folder: Path) -> Files:
    """Read a checkpoint; raise FormatError, or InputError for one that nothing here can prove."""
    whole = folder / "model.gguf" if folder.is_dir() else folder
    if whole.suffix == ".gguf" and whole.is_file():  # the numbers in it are what is computed with
        quantised = read_gguf(whole)
        name = f"llama in {quantised.kind}"
        return Files(quantised.model, name, quantised.tokens, ("float32",))
    if not folder.is_dir():
        raise InputError(
            f"{folder} is not a folder; expected one with config.json, or a file model.gguf"
        )
    config = _object(folder, "config.json")
    architecture = config.get("model_type")
    if not isinstance(architecture, str) or architecture not in FIXED:
        raise InputError(
            f"no certificate for {shown(architecture)} yet: {folder / 'config.json'} must have "
            f"model_type {' or '.join(FIXED)}"
        )
    sizes = _sizes(folder / "config.json", config, architecture)
    tokenizer, its = folder / "tokenizer.json", _object(folder, "tokenizer.json")
    tokens = (llama_tokens if architecture == "llama" else _tokens)(tokenizer, its)
    _check_beside(folder)
    context, _, blocks, heads, *_ = sizes
    if config.get("vocab_size") != len(tokens):
        raise FormatError(
            f"{folder / 'config.json'}: vocab_size is {shown(config.get('vocab_size'))}; "
            f"tokenizer.json has {len(tokens):,} tokens"
        )
    path = folder / "model.safetensors"
    found = _tensors(path)
    of_norms, usual = EPSILON.get(architecture, USUAL)
    epsilon = config.get(of_norms, usual)
    if architecture == "llama":
        theta = rope_of(folder / "config.json", config)
        check_shapes(found, path, llama_shapes(len(tokens), sizes))
        own = LlamaModel(found, tokens, blocks, heads, epsilon, context, theta)
        return Files(own, architecture, tokens)
    if architecture == "opt":
        found = _from_opt(found, path, blocks)
    check_shapes(found, path, _shapes(len(tokens), sizes))
    return Files(Model(found, tokens, blocks, heads, epsilon, context), architecture, tokens)


def check_tokens(files: Files, names: Names | LlamaNames, label: str) -> None:
    """Raise FormatError if a checkpoint has not the tokens of a machine."""
    if files.is_universal:
        raise InputError(
            f"{label} is universal, for all machines: leave --machine out, or give a prompt of the "
            "machine with --prompt-file"
        )
    wanted = [*names.texts, *(f"{ADDRESS}{p}" for p in range(files.model.context))]
    for text in wanted:
        if text not in files.tokens:
            raise FormatError(
                f"{label}: it has no token {text!r}, which a checkpoint of this machine has: is it "
                "of another one?"
            )


def universal_in(files: Files, label: str) -> Universal:
    """The states and symbols of a universal checkpoint; FormatError if a token is missing."""
    if not files.is_universal:
        raise InputError(f"{label} is of one machine; say which it must be: --machine MACHINE")
    kind = LlamaUniversal if files.architecture == "llama" else Universal
    found: Universal = kind.of(files.tokens, label)
    for text in addresses(files.model.context).texts:
        if text not in files.tokens:
            raise FormatError(f"{label}: it has no token {text!r}, which such a checkpoint has")
    return found


def _object(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    try:
        found = json.loads(
            read_file(path, LARGEST, "checkpoint"),
            object_pairs_hook=lambda pairs: unique(pairs, f"{path}: an object"),
            parse_constant=_refused(path),
        )
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path} is not JSON: {str(error)[:80]}") from None
    if not isinstance(found, dict):
        raise FormatError(f"{path}: expected an object, got {shown(found)}")
    return found


def _refused(path: Path) -> Callable[[str], Any]:
    def refuse(found: str) -> Any:
        raise FormatError(f"{path}: found the number {found[:40]}; expected a finite one")

    return refuse


def _sizes(path: Path, config: Mapping[str, Any], architecture: str) -> tuple[int, ...]:
    """Context, width, blocks, heads, hidden units, and more; other settings are checked."""
    fixed, names = FIXED[architecture], SIZES[architecture]
    for n, (name, value) in enumerate(fixed.items()):
        if (n < 3 or name in config) and config.get(name) != value:
            raise FormatError(
                f"{path}: {name} is {shown(config.get(name))}; expected {json.dumps(value)}"
            )
    for name in names:
        if type(config.get(name)) is not int or not 1 <= config[name] <= 1 << 20:
            raise FormatError(f"{path}: {name} is {shown(config.get(name))}; expected a size")
    sizes = tuple(config[name] for name in names)
    _, width, _, heads, *_ = sizes
    of_norms, usual = EPSILON.get(architecture, USUAL)
    epsilon = config.get(of_norms, usual)
    if type(epsilon) is not float or not 0 < epsilon < 1:
        raise FormatError(f"{path}: {of_norms} is {shown(epsilon)}; expected {usual}")
    if config.get("word_embed_proj_dim", width) != width or width % heads:
        raise FormatError(f"{path}: {width} coordinates cannot be cut into {heads} heads")
    known = {*fixed, *names, *FREE, "model_type", "vocab_size", "eos_token_id"}
    known |= {*OWN[architecture]}
    if strange := sorted(set(config) - known):
        raise FormatError(f"{path}: {strange[0]} is not a setting that is known here")
    return sizes


def _check_beside(folder: Path) -> None:
    """Raise FormatError if what lies beside tokenizer.json would make other tokens of a text.

    A token that is special there is cut out of the words around it.
    """
    for name, known in (
        ("tokenizer_config.json", TOKENIZER | SPECIAL),
        ("special_tokens_map.json", SPECIAL),
        ("added_tokens.json", set[str]()),
    ):
        path = folder / name
        if not path.exists():
            continue
        found = _object(folder, name)
        for setting, value in found.items():
            if setting not in known:
                raise FormatError(f"{path}: {shown(setting)} is not a setting that is known here")
            if setting in SPECIAL and value not in (*PIECES, "<pad>", None):
                raise FormatError(f"{path}: {setting} is {shown(value)}; that is no special token")
        if "tokenizer_class" in known and found.get("tokenizer_class") not in CLASSES:
            said = shown(found.get("tokenizer_class"))
            raise FormatError(f"{path}: tokenizer_class is {said}; expected {CLASSES[0]}")


def _tokens(path: Path, tokenizer: Mapping[str, Any]) -> dict[str, int]:
    """The tokens of a tokenizer of words that are apart by white space."""
    model = tokenizer.get("model")
    if not isinstance(model, dict) or model.get("type") != "WordLevel":
        raise FormatError(f"{path}: model.type must be WordLevel")
    if model.get("unk_token") != UNKNOWN:
        raise FormatError(f"{path}: model.unk_token must be {UNKNOWN}")
    vocabulary = model.get("vocab")
    if not isinstance(vocabulary, dict) or sorted(
        (n for n in vocabulary.values() if type(n) is int), key=int
    ) != [*range(len(vocabulary))]:
        raise FormatError(f"{path}: model.vocab must number its tokens from 0 on")
    for name in ("normalizer", "truncation", "padding", "decoder"):
        if tokenizer.get(name) is not None:
            raise FormatError(f"{path}: {name} must be null")
    if tokenizer.get("pre_tokenizer") != {"type": "WhitespaceSplit"}:
        raise FormatError(f"{path}: pre_tokenizer must be WhitespaceSplit")
    post = tokenizer.get("post_processor")
    around = [BOS, RUN] if TAPE in vocabulary else [RUN]
    wanted = [{"SpecialToken": {"id": text, "type_id": 0}} for text in around]
    wanted.insert(-1, {"Sequence": {"id": "A", "type_id": 0}})
    special = {text: {"id": text, "ids": [vocabulary.get(text)], "tokens": [text]}
               for text in around}  # fmt: skip
    if (
        not isinstance(post, dict)
        or post.get("type") != "TemplateProcessing"
        or post.get("single") != wanted
        or post.get("special_tokens") != special
    ):
        before = f"{BOS} before the text and " if len(around) > 1 else ""
        after = f"{RUN} after {'it' if before else 'the text'}"
        raise FormatError(f"{path}: post_processor must add {before}{after}, and no more")
    added = tokenizer.get("added_tokens") or []
    for each in added if isinstance(added, list) else [added]:
        known = isinstance(each, dict) and each.get("content") in ("<pad>", UNKNOWN)
        if not known or vocabulary.get(each["content"]) != each.get("id"):
            raise FormatError(f"{path}: added_tokens has {shown(each)}")
        if any(each.get(flag) for flag in ("single_word", "lstrip", "rstrip", "normalized")):
            raise FormatError(f"{path}: added_tokens has {shown(each)}")
    return dict(vocabulary)


def _tensors(path: Path) -> dict[str, NDArray[np.float32]]:
    """A safetensors file: the length of its header, the header, the numbers without gaps."""
    data = read_file(path, LARGEST, "checkpoint")
    start = 8 + int.from_bytes(data[:8], "little")
    try:
        header = json.loads(
            data[8:start], object_pairs_hook=lambda pairs: unique(pairs, f"{path}: its header")
        )
        about = {name: each for name, each in header.items() if name != "__metadata__"}
        parts = [(*each["data_offsets"], name) for name, each in about.items()]
        end = 0
        for first, last, _ in sorted(parts):
            if type(first) is not int or type(last) is not int or first != end or last < first:
                raise FormatError(f"{path}: its tensors overlap, or leave gaps")
            end = last
        if start + end != len(data):
            raise FormatError(f"{path}: {len(data):,} bytes; expected {start + end:,}")
        found = {}
        for first, last, name in parts:
            kind, shape = TYPES[about[name]["dtype"]], about[name]["shape"]
            numbers = np.frombuffer(data[start + first : start + last], kind)
            if numbers.shape != (prod(shape),) or min(shape, default=0) < 0:
                raise FormatError(f"{path}: {name} has the shape {shown(shape)}")
            found[name] = numbers.reshape(shape).astype(np.float32)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FormatError(f"{path} is not a whole safetensors file: {str(error)[:80]}") from None
    for name, tensor in found.items():
        if not np.isfinite(tensor).all():
            raise FormatError(f"{path}: {name} has a number that is not finite")
    return found


def _shapes(tokens: int, sizes: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    context, D, blocks, _, F = sizes
    norms = [f"transformer.h.{n}.ln_{k}" for n in range(blocks) for k in (1, 2)]
    wanted: dict[str, tuple[int, ...]] = {
        "transformer.wte.weight": (tokens, D),
        "transformer.wpe.weight": (context, D),
        "lm_head.weight": (tokens, D),
    }
    for norm in (*norms, "transformer.ln_f"):
        wanted |= {f"{norm}.weight": (D,), f"{norm}.bias": (D,)}
    for n in range(blocks):
        for name, rows, columns in (
            ("attn.c_attn", D, 3 * D),
            ("attn.c_proj", D, D),
            ("mlp.c_fc", D, F),
            ("mlp.c_proj", F, D),
        ):
            place = f"transformer.h.{n}.{name}"
            wanted |= {f"{place}.weight": (rows, columns), f"{place}.bias": (columns,)}
    return wanted


def check_shapes(tensors: Tensors, path: Path, wanted: Mapping[str, tuple[int, ...]]) -> None:
    """Raise FormatError unless a file has these tensors, and no others."""
    for name in sorted({*wanted} | {*tensors}):
        if name not in tensors:
            raise FormatError(f"{path}: there is no tensor {name}")
        if name not in wanted:
            raise FormatError(f"{path}: it has a tensor {name}, which this model has not")
        if tensors[name].shape != wanted[name]:
            shape = list(tensors[name].shape)
            raise FormatError(f"{path}: {name} is {shape}; expected {list(wanted[name])}")


_OPT_OUTSIDE = {
    "model.decoder.embed_tokens.weight": "transformer.wte.weight",
    "model.decoder.embed_positions.weight": "transformer.wpe.weight",
    "model.decoder.final_layer_norm.weight": "transformer.ln_f.weight",
    "model.decoder.final_layer_norm.bias": "transformer.ln_f.bias",
    "lm_head.weight": "lm_head.weight",
}
_OPT_PARTS = {
    "self_attn_layer_norm": "ln_1",
    "final_layer_norm": "ln_2",
    "self_attn.out_proj": "attn.c_proj",
    "fc1": "mlp.c_fc",
    "fc2": "mlp.c_proj",
}


def _from_opt(tensors: Tensors, path: Path, blocks: int) -> dict[str, NDArray[np.float32]]:
    """OPT's tensors under GPT-2's names: matrices transposed, positions from row 2 on.

    OPT divides queries by √(D/heads), and GPT-2 scores: each of them is stored once in between.
    """
    found, used = dict[str, NDArray[np.float32]](), set[str]()

    def take(name: str) -> NDArray[np.float32]:
        if name not in tensors:
            raise FormatError(f"{path}: there is no tensor {name}")
        used.add(name)
        return tensors[name]

    for theirs, ours in _OPT_OUTSIDE.items():
        found[ours] = take(theirs)
    found["transformer.wpe.weight"] = found["transformer.wpe.weight"][2:]
    for n in range(blocks):
        place, own = f"model.decoder.layers.{n}", f"transformer.h.{n}"
        for kind in ("weight", "bias"):
            for theirs, ours in _OPT_PARTS.items():
                found[f"{own}.{ours}.{kind}"] = take(f"{place}.{theirs}.{kind}").T
            thirds = [take(f"{place}.self_attn.{part}_proj.{kind}").T for part in "qkv"]
            found[f"{own}.attn.c_attn.{kind}"] = np.concatenate(thirds, axis=-1)
    if more := sorted(set(tensors) - used):
        name = re.sub(r"[^\w.]", "?", more[0])
        raise FormatError(f"{path}: it has a tensor {name}, which this model has not")
    return found
