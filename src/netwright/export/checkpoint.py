"""Stock checkpoints, GPT-2 and OPT, of a language model: no code of ours is in them.

Writing needs no torch. What is written is checked in transformers where that is installed, and
otherwise by netwright's own evaluator, from the files; `checked.json` says which.
"""

import importlib.util
import json
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from netwright.export.check import Checked, WrongToken
from netwright.export.target import Target, write_json
from netwright.export.tokenizer import quiet_transformers, write_tokenizer
from netwright.kind.language_model.checkpoint import HEADS, KAPPA
from netwright.kind.language_model.evaluators import FloatEvaluator
from netwright.network.tensors import NamedTensors
from netwright.text import Notify

DTYPES = ("bfloat16", "float32", "float16")
AT_ONCE = 1024
"""How many tokens are evaluated together."""
SAMPLE = 500
"""How many tokens `generate` writes in a check."""
OURS = "in numpy"

Arrays = dict[str, NDArray[Any]]


class CheckedText(NamedTuple):
    """A text beside which a runtime is checked."""

    word: tuple[str, ...]
    tokens: list[int]
    """Of the prompt, and of the run by the model's definition."""
    prompt: int
    """How many of them are the prompt."""
    ended: bool
    """Whether the run ends with them."""


class CheckpointTarget(Target):
    """config.json, model.safetensors, the tokenizer and the generation config of a stock model."""

    extra, code = "hf", "config.json"
    needs: tuple[str, ...] = ()
    dtypes = DTYPES
    model_type: str
    architecture: str

    def takes(self, kind: str) -> bool:
        """Language models alone."""
        return kind == "language-model"

    @property
    def runtime(self) -> tuple[str, ...]:
        """What checks it here."""
        there = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
        return ("torch", "transformers") if there else ()

    def checked_in(self) -> str:
        """In transformers, if that is here."""
        return "transformers" if self.runtime else "netwright's own evaluator"

    def write(self, named: NamedTensors, folder: Path, dtype: str) -> None:
        """As `from_pretrained` reads it."""
        names = named.names
        number = {text: n for n, text in enumerate(names["vocabulary"])}
        ends = {
            "eos_token_id": [number[text] for text in names["ends"]],
            "pad_token_id": number["<pad>"],
        }
        config = {
            "architectures": [self.architecture],
            "model_type": self.model_type,
            "dtype": dtype,
            "vocab_size": len(number),
            "tie_word_embeddings": False,
            "bos_token_id": None,
            **ends,
            **self.config(names),
        }
        write_json(folder / "config.json", config)
        generation = {"do_sample": False, "max_length": names["context"], **ends}
        write_json(folder / "generation_config.json", generation)
        write_tokenizer(folder, names["vocabulary"], names["before"], ["<run>"])
        arrays = {name: tensor.to_numpy(dtype) for name, tensor in named.tensors.items()}
        write_tensors(folder / "model.safetensors", self.renamed(arrays))

    @abstractmethod
    def config(self, names: Mapping[str, Any]) -> dict[str, Any]:
        """Sizes, in the words of the model."""

    @abstractmethod
    def renamed(self, arrays: Arrays) -> Arrays:
        """The tensors under the names, and in the shapes, that the model has for them."""

    @abstractmethod
    def stored_as(self, arrays: Arrays) -> Arrays:
        """From these names back to those of GPT-2."""

    def open(self, folder: Path) -> Any:
        """In transformers, or by our own evaluator."""
        return _InTransformers(folder) if self.runtime else _InNumpy(folder, self)

    def stored(self, opened: Any, folder: Path) -> Arrays:
        """As the file has them."""
        return self.stored_as(read_tensors(folder / "model.safetensors"))

    def check(self, opened: Any, texts: Sequence[CheckedText], notify: Notify) -> list[Checked]:
        """Whole texts at once, and a sample of them by `generate`."""
        return [
            compared(text, way, following, most, opened.texts)
            for text in texts
            for way, following, most in opened.ways(text.tokens, text.prompt, notify)
        ]

    def explained(self, named: NamedTensors) -> list[str]:
        """What the tokens mean."""
        return [named.names["reading"]]

    def usage(self, named: NamedTensors) -> str:
        """With transformers alone."""
        example = named.names["example"]
        return f"""\
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(".")  # this folder
model = AutoModelForCausalLM.from_pretrained(".")
text = model.generate(**tokenizer({example!r}, return_tensors="pt"))
print(tokenizer.decode(text[0]))"""


def compared(
    text: CheckedText,
    way: str,
    following: Iterator[tuple[int, float | None]],
    most: int,
    texts: Sequence[str],
) -> Checked:
    """Tokens that a runtime chose, with their leads, beside as many of the exact run."""
    word, tokens, prompt, _ = text
    lead: float | None = None
    done, wrong = 0, None
    for right in tokens[prompt : prompt + most]:
        token, ahead = next(following, (None, None))
        if token != right:
            found = "nothing" if token is None else texts[token]
            wrong = WrongToken(done + 1, None, texts[right], found)
            break
        done += 1
        if ahead is not None:
            lead = ahead if lead is None else min(lead, ahead)
    ended = wrong is None and text.ended and prompt + done == len(tokens)
    return Checked(word, way, done, ended, None, wrong, 0.0, "token", lead)


class _InTransformers:
    def __init__(self, folder: Path) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        with quiet_transformers():
            self.model = AutoModelForCausalLM.from_pretrained(str(folder))
            self.tokenizer = AutoTokenizer.from_pretrained(str(folder))
        self.texts = self.tokenizer.convert_ids_to_tokens(range(self.model.config.vocab_size))

    def ways(
        self, tokens: list[int], prompt: int, notify: Notify
    ) -> Iterator[tuple[str, Iterator[tuple[int, float | None]], int]]:
        """Teacher-forced, and by `generate`."""
        count = len(tokens) - prompt
        yield "all at once", self._forced(tokens, prompt, notify), count
        count = min(SAMPLE, count)
        yield "generate()", self._generated(tokens[:prompt], count), count

    def _forced(
        self, tokens: list[int], prompt: int, notify: Notify
    ) -> Iterator[tuple[int, float | None]]:
        import torch

        cache = None
        for start in range(0, len(tokens) - 1, AT_ONCE):
            notify(f"all at once: {start:,} of {len(tokens):,} tokens")
            part = tokens[start : min(start + AT_ONCE, len(tokens) - 1)]
            with torch.no_grad():
                found = self.model(torch.tensor([part]), past_key_values=cache, use_cache=True)
            cache = found.past_key_values
            yield from _chosen(found.logits[0].float().numpy(), start, prompt)

    def _generated(self, prompt: list[int], count: int) -> Iterator[tuple[int, float | None]]:
        import torch

        ids = torch.tensor([prompt])
        text = self.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_length=None,
            max_new_tokens=count,
        )
        for token in text[0, len(prompt) :].tolist():
            yield token, None


class _InNumpy:
    def __init__(self, folder: Path, target: CheckpointTarget) -> None:
        arrays = read_tensors(folder / "model.safetensors")
        dtype = json.loads((folder / "config.json").read_text(encoding="utf-8"))["dtype"]
        tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        self.texts = list(tokenizer["model"]["vocab"])
        tensors = {n: a.astype(np.float32) for n, a in target.stored_as(arrays).items()}
        blocks = sum(name.endswith("attn.c_attn.weight") for name in tensors)
        self.evaluator = FloatEvaluator(tensors, blocks, dtype)

    def ways(
        self, tokens: list[int], prompt: int, notify: Notify
    ) -> Iterator[tuple[str, Iterator[tuple[int, float | None]], int]]:
        """Teacher-forced."""
        yield OURS, self._forced(tokens, prompt, notify), len(tokens) - prompt

    def _forced(
        self, tokens: list[int], prompt: int, notify: Notify
    ) -> Iterator[tuple[int, float | None]]:
        self.evaluator.restart()
        for start in range(0, len(tokens) - 1, AT_ONCE):
            notify(f"all at once: {start:,} of {len(tokens):,} tokens")
            part = tokens[start : min(start + AT_ONCE, len(tokens) - 1)]
            yield from _chosen(self.evaluator.all_logits(part), start, prompt)


def _chosen(
    logits: NDArray[np.float32], start: int, prompt: int
) -> Iterator[tuple[int, float | None]]:
    """The greatest logit behind each token from the end of the prompt on, and its lead."""
    rows = logits[max(0, prompt - 1 - start) :]
    if not len(rows):
        return
    best = rows.argmax(axis=1)
    two = np.partition(rows, -2, axis=1)[:, -2:]
    leads = (two[:, 1] - two[:, 0]) / KAPPA
    yield from zip(best.tolist(), leads.tolist(), strict=True)


TYPES = {"BF16": ml_dtypes.bfloat16, "F16": np.float16, "F32": np.float32}


def write_tensors(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """A safetensors file: the length of a header, the header, the numbers.

    The library's own writer for numpy knows no bfloat16.
    """
    names = {np.dtype(kind): name for name, kind in TYPES.items()}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, array in arrays.items():
        start, end = end, end + array.nbytes
        shape = list(array.shape)
        header[name] = {"dtype": names[array.dtype], "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).tobytes())


def read_tensors(path: Path) -> Arrays:
    """The same, read again."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    found = {}
    for name, about in header.items():
        if name != "__metadata__":
            first, last = (start + offset for offset in about["data_offsets"])
            numbers = np.frombuffer(data[first:last], TYPES[about["dtype"]])
            found[name] = numbers.reshape(about["shape"])
    return found


class GPT2Target(CheckpointTarget):
    """`GPT2LMHeadModel`."""

    name, model_type, architecture = "gpt2", "gpt2", "GPT2LMHeadModel"

    def config(self, names: Mapping[str, Any]) -> dict[str, Any]:
        """With its own epsilon, and without dropout."""
        return {
            "n_positions": names["context"],
            "n_embd": names["width"],
            "n_layer": names["blocks"],
            "n_head": HEADS,
            "n_inner": names["hidden"],
            "activation_function": "relu",
            "layer_norm_epsilon": 1e-5,
            **dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0),
        }

    def renamed(self, arrays: Arrays) -> Arrays:
        """They are GPT-2's already."""
        return arrays

    def stored_as(self, arrays: Arrays) -> Arrays:
        """So they are here."""
        return arrays


PARTS = {
    "ln_1": "self_attn_layer_norm",
    "ln_2": "final_layer_norm",
    "attn.c_proj": "self_attn.out_proj",
    "mlp.c_fc": "fc1",
    "mlp.c_proj": "fc2",
}
"""What OPT calls the parts of a block."""


class OPTTarget(CheckpointTarget):
    """`OPTForCausalLM`: the same matrices transposed, queries, keys and values apart."""

    name, model_type, architecture = "opt", "opt", "OPTForCausalLM"

    def config(self, names: Mapping[str, Any]) -> dict[str, Any]:
        """With layer norms before the parts of a block."""
        return {
            "max_position_embeddings": names["context"],
            "hidden_size": names["width"],
            "word_embed_proj_dim": names["width"],
            "num_hidden_layers": names["blocks"],
            "num_attention_heads": HEADS,
            "ffn_dim": names["hidden"],
            "activation_function": "relu",
            "do_layer_norm_before": True,
            "enable_bias": True,
            "layer_norm_elementwise_affine": True,
            **dict.fromkeys(("dropout", "attention_dropout", "layerdrop"), 0.0),
        }

    def renamed(self, arrays: Arrays) -> Arrays:
        """Positions are two rows further down."""
        found = {}
        for name, array in arrays.items():
            if name == "transformer.wpe.weight":
                rows = np.vstack([np.zeros_like(array[:2]), array])
                found["model.decoder.embed_positions.weight"] = rows
            elif name == "transformer.wte.weight":
                found["model.decoder.embed_tokens.weight"] = array
            elif name.startswith("transformer.ln_f"):
                found[name.replace("transformer.ln_f", "model.decoder.final_layer_norm")] = array
            elif name == "lm_head.weight":
                found[name] = array
            else:
                found |= self._of_block(name, array)
        return found

    def _of_block(self, name: str, array: NDArray[Any]) -> Arrays:
        _, _, n, rest = name.split(".", 3)
        part, _, kind = rest.rpartition(".")
        place = f"model.decoder.layers.{n}"
        if part == "attn.c_attn":
            thirds = np.split(array, 3, axis=-1)
            letters = zip("qkv", thirds, strict=True)
            return {f"{place}.self_attn.{a}_proj.{kind}": each.T for a, each in letters}
        return {f"{place}.{PARTS[part]}.{kind}": array.T}

    def stored_as(self, arrays: Arrays) -> Arrays:
        """Back again."""
        found: Arrays = {
            "transformer.wte.weight": arrays["model.decoder.embed_tokens.weight"],
            "transformer.wpe.weight": arrays["model.decoder.embed_positions.weight"][2:],
            "lm_head.weight": arrays["lm_head.weight"],
        }
        back = {theirs: ours for ours, theirs in PARTS.items()}
        for name, array in arrays.items():
            if match := re.fullmatch(r"model\.decoder\.final_layer_norm\.(.*)", name):
                found[f"transformer.ln_f.{match[1]}"] = array
            elif match := re.fullmatch(r"model\.decoder\.layers\.(\d+)\.(.*)\.(weight|bias)", name):
                n, part, kind = match.groups()
                if part in back:
                    found[f"transformer.h.{n}.{back[part]}.{kind}"] = array.T
                elif part == "self_attn.q_proj":
                    thirds = [arrays[name.replace("q_proj", f"{a}_proj")].T for a in "qkv"]
                    attn = np.concatenate(thirds, axis=-1)
                    found[f"transformer.h.{n}.attn.c_attn.{kind}"] = attn
        return found
