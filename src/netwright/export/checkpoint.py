"""A language model as a stock checkpoint, GPT-2 or OPT, without any code of ours.

Writing needs no torch. The files are checked in transformers if that is installed, and otherwise
by netwright's own evaluator; `checked.json` says which.
"""

import importlib.util
import json
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from netwright.errors import InputError
from netwright.export.check import Checked, WrongToken
from netwright.export.target import Arrays, Target, arrays_of, write_json
from netwright.export.tokenizer import quiet_transformers, write_tokenizer
from netwright.kind.language_model.checkpoint import HEADS, KAPPA
from netwright.kind.language_model.evaluators import FloatEvaluator
from netwright.network.network import Network
from netwright.network.tensors import NamedTensors
from netwright.text import Notify

AT_ONCE = 1024
"""The number of tokens in one batch."""
SAMPLE = 500
"""Maximum number of tokens that `generate` writes in a check."""

Choices = Iterator[tuple[int, float | None]]
"""The tokens that a runtime chose, each with its lead over the second-best if that is known."""
Way = tuple[str, Choices, int]
"""A way to run a text in a check: its name, the choices, and how many of them to compare."""


class CheckedText(NamedTuple):
    """A text that a runtime must reproduce."""

    word: tuple[str, ...]
    tokens: list[int]
    """The prompt, and the run by the model's definition."""
    prompt: int
    """The number of tokens in the prompt."""
    ended: bool
    """Whether the run ends with them."""


class Logits(Protocol):
    """An evaluator that returns the logits after each token."""

    def all_logits(self, tokens: list[int]) -> NDArray[np.float32]:
        """Append tokens; return the logits after each of them."""

    def restart(self) -> None:
        """Forget all tokens."""


class TextTarget(Target):
    """A language model, which is checked by its text."""

    on = "language-model"
    weights = "gpt2"
    """The architecture of the model that it takes."""
    least = 0
    """The number of tokens that a check has at least, if it is not told to have none."""

    def takes(self, kind: str) -> bool:
        """Whether it is a language model."""
        return kind == "language-model"

    def prepared(self, named: NamedTensors) -> NamedTensors:
        """What is written of a model; InputError if it is of another architecture."""
        found = named.names["architecture"]
        if found != self.weights:
            raise InputError(
                f"{self.name} takes a model of the architecture {self.weights}, not {found}: "
                f"--architecture {self.weights}"
            )
        return named

    def named(self, network: Network) -> NamedTensors:
        """The tensors to write."""
        return self.prepared(super().named(network))

    def elsewhere(self) -> str:
        """Say what to install for a check in the runtime itself; "" if it is there."""
        return ""

    def check(self, opened: Any, texts: Sequence[CheckedText], notify: Notify) -> list[Checked]:
        """Compare every text in every way that the runtime offers."""
        return [
            compared(text, way, following, most, opened.texts)
            for text in texts
            for way, following, most in opened.ways(text.tokens, text.prompt, notify)
        ]

    def explained(self, named: NamedTensors) -> list[str]:
        """Return a paragraph on what the tokens mean."""
        return [named.names["reading"]]


class CheckpointTarget(TextTarget):
    """config.json, model.safetensors, the tokenizer and the generation config of a stock model."""

    needs: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ("bfloat16", "float32", "float16")
    model_type: str
    architecture: str

    @property
    def runtime(self) -> tuple[str, ...]:
        """torch and transformers if both are installed, else nothing: the check is in numpy."""
        wanted = ("torch", "transformers")
        return wanted if all(map(importlib.util.find_spec, wanted)) else ()

    def checked_in(self) -> str:
        """Name the runtime of the check, for reports."""
        return "transformers" if self.runtime else "netwright's own evaluator"

    def elsewhere(self) -> str:
        """Name the extra for a check in transformers."""
        return "" if self.runtime else "; in transformers with pip install 'netwright[hf]'"

    def write(self, named: NamedTensors, folder: Path, dtype: str) -> None:
        """Write the files that `from_pretrained` reads."""
        self.describe(named, folder, dtype)
        write_tensors(folder / "model.safetensors", self.renamed(arrays_of(named, dtype)))

    def describe(self, named: NamedTensors, folder: Path, dtype: str) -> None:
        """Write all but the weights."""
        names = named.names
        number = {text: n for n, text in enumerate(names["vocabulary"])}
        pad = "<pad>" if "<pad>" in number else names["ends"][0]
        ends = {
            "bos_token_id": number.get("<s>"),
            "eos_token_id": [number[text] for text in names["ends"]],
            "pad_token_id": number[pad],
        }
        config = {
            "architectures": [self.architecture],
            "model_type": self.model_type,
            "dtype": dtype,
            "vocab_size": next(iter(named.tensors.values())).shape[0],  # the embedding's rows
            "tie_word_embeddings": False,
            **ends,
            **self.config(names),
        }
        write_json(folder / "config.json", config)
        generation = {"do_sample": False, "max_length": names["context"], **ends}
        write_json(folder / "generation_config.json", generation)
        self.write_tokenizer(folder, names)

    def write_tokenizer(self, folder: Path, names: Mapping[str, Any]) -> None:
        """Write a tokenizer of words."""
        write_tokenizer(folder, names["vocabulary"], names["before"], names["after"])

    def in_numpy(self, folder: Path) -> tuple[Logits, list[str]]:
        """Open the files in netwright's own evaluator; return it with the texts of the tokens."""
        dtype = json.loads((folder / "config.json").read_text(encoding="utf-8"))["dtype"]
        tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        tensors = {n: a.astype(np.float32) for n, a in self.stored(None, folder).items()}
        blocks = sum(name.endswith("attn.c_attn.weight") for name in tensors)
        return FloatEvaluator(tensors, blocks, dtype), list(tokenizer["model"]["vocab"])

    @abstractmethod
    def config(self, names: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sizes under the names of the model's own configuration."""

    @abstractmethod
    def renamed(self, arrays: Arrays) -> Arrays:
        """Convert tensors from the names and shapes of GPT-2 to those of the model."""

    @abstractmethod
    def stored_as(self, arrays: Arrays) -> Arrays:
        """Convert tensors from the names and shapes of the model to those of GPT-2."""

    def open(self, folder: Path) -> Any:
        """Load the model in transformers, or in our own evaluator."""
        return _InTransformers(folder) if self.runtime else InNumpy(*self.in_numpy(folder))

    def stored(self, opened: Any, folder: Path) -> Arrays:
        """Read the tensors, under the names of GPT-2."""
        return self.stored_as(read_tensors(folder / "model.safetensors"))

    def usage(self, named: NamedTensors) -> str:
        """Use transformers alone."""
        example = named.names["example"]
        return f"""\
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(".")  # this folder
model = AutoModelForCausalLM.from_pretrained(".")
text = model.generate(**tokenizer({example!r}, return_tensors="pt"))
print(tokenizer.decode(text[0]))"""


def compared(
    text: CheckedText, way: str, following: Choices, most: int, texts: Sequence[str]
) -> Checked:
    """Compare at most `most` choices of a runtime with the exact run, up to the first wrong one."""
    word, tokens, prompt, _ = text
    leads: list[float] = []
    done, wrong = 0, None
    for right in tokens[prompt : prompt + most]:
        token, lead = next(following, (None, None))
        if token != right:
            found = "nothing" if token is None else texts[token]
            wrong = WrongToken(done + 1, None, texts[right], found)
            break
        done += 1
        if lead is not None:
            leads.append(lead)
    ended = wrong is None and text.ended and prompt + done == len(tokens)
    return Checked(word, way, done, ended, None, wrong, 0.0, "token", min(leads, default=None))


class _InTransformers:
    def __init__(self, folder: Path) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        with quiet_transformers():
            self.model = AutoModelForCausalLM.from_pretrained(str(folder))
            tokenizer = AutoTokenizer.from_pretrained(str(folder))
        self.texts = tokenizer.convert_ids_to_tokens(range(self.model.config.vocab_size))
        self.cache: Any = None

    def ways(self, tokens: list[int], prompt: int, notify: Notify) -> Iterator[Way]:
        """Yield a teacher-forced pass, and a sample by `generate`."""
        self.cache = None
        count = len(tokens) - prompt
        yield "all at once", forced(self._logits, tokens, prompt, notify), count
        count = min(SAMPLE, count)
        yield "generate()", self._generated(tokens[:prompt], count), count

    def _logits(self, tokens: list[int]) -> NDArray[np.float32]:
        import torch

        with torch.no_grad():
            found = self.model(torch.tensor([tokens]), past_key_values=self.cache, use_cache=True)
        self.cache = found.past_key_values
        logits: NDArray[np.float32] = found.logits[0].float().numpy()
        return logits

    def _generated(self, prompt: list[int], count: int) -> Choices:
        import torch

        ids = torch.tensor([prompt])
        mask = torch.ones_like(ids)
        text = self.model.generate(ids, attention_mask=mask, max_length=None, max_new_tokens=count)
        for token in text[0, len(prompt) :].tolist():
            yield token, None


class InNumpy:
    """A model in netwright's own evaluator."""

    def __init__(self, evaluator: Logits, texts: list[str]) -> None:
        self.evaluator, self.texts = evaluator, texts

    def ways(self, tokens: list[int], prompt: int, notify: Notify) -> Iterator[Way]:
        """Yield a teacher-forced pass."""
        self.evaluator.restart()
        count = len(tokens) - prompt
        yield "in numpy", forced(self.evaluator.all_logits, tokens, prompt, notify), count


def forced(
    logits: Callable[[list[int]], NDArray[np.float32]],
    tokens: list[int],
    prompt: int,
    notify: Notify,
) -> Choices:
    """Yield the choice after each right token from the end of the prompt on: teacher forcing.

    `logits` takes the next tokens and returns a row for each of them.
    """
    for start in range(0, len(tokens) - 1, AT_ONCE):
        notify(f"all at once: {start:,} of {len(tokens):,} tokens")
        part = tokens[start : min(start + AT_ONCE, len(tokens) - 1)]
        rows = logits(part)[max(0, prompt - 1 - start) :]
        if len(rows):
            two = np.partition(rows, -2, axis=1)[:, -2:]
            leads = (two[:, 1] - two[:, 0]) / KAPPA
            yield from zip(rows.argmax(axis=1).tolist(), leads.tolist(), strict=True)


TYPES = {"BF16": ml_dtypes.bfloat16, "F16": np.float16, "F32": np.float32}


def write_tensors(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a safetensors file: the length of the header, the header, the numbers.

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
    """Read a file that `write_tensors` wrote."""
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
    is_certified = True

    def config(self, names: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sizes, GPT-2's own epsilon, and no dropout."""
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
        """Return them unchanged."""
        return arrays

    stored_as = renamed


OUTSIDE = {
    "transformer.wte.weight": "model.decoder.embed_tokens.weight",
    "transformer.wpe.weight": "model.decoder.embed_positions.weight",
    "transformer.ln_f.weight": "model.decoder.final_layer_norm.weight",
    "transformer.ln_f.bias": "model.decoder.final_layer_norm.bias",
    "lm_head.weight": "lm_head.weight",
}
"""OPT's names for the tensors outside of the blocks, by GPT-2's."""
PARTS = {
    "ln_1": "self_attn_layer_norm",
    "ln_2": "final_layer_norm",
    "attn.c_proj": "self_attn.out_proj",
    "mlp.c_fc": "fc1",
    "mlp.c_proj": "fc2",
}
"""OPT's names for the parts of a block, by GPT-2's."""


class OPTTarget(CheckpointTarget):
    """`OPTForCausalLM`: the same matrices transposed, queries, keys and values apart."""

    name, model_type, architecture = "opt", "opt", "OPTForCausalLM"
    is_certified = True

    def config(self, names: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sizes, layer norms before the parts of a block, and no dropout."""
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
        """Convert the names, split queries, keys and values, and move positions two rows down."""
        found = {}
        for name, array in arrays.items():
            if name in OUTSIDE:
                padded = name == "transformer.wpe.weight"
                rows = np.vstack([np.zeros_like(array[:2]), array]) if padded else array
                found[OUTSIDE[name]] = rows
                continue
            _, _, n, rest = name.split(".", 3)
            part, _, kind = rest.rpartition(".")
            place = f"model.decoder.layers.{n}"
            if part == "attn.c_attn":
                for letter, third in zip("qkv", np.split(array, 3, axis=-1), strict=True):
                    found[f"{place}.self_attn.{letter}_proj.{kind}"] = third.T
            else:
                found[f"{place}.{PARTS[part]}.{kind}"] = array.T
        return found

    def stored_as(self, arrays: Arrays) -> Arrays:
        """Invert `renamed`."""
        found = {ours: arrays[theirs] for ours, theirs in OUTSIDE.items()}
        found["transformer.wpe.weight"] = found["transformer.wpe.weight"][2:]
        back = {theirs: ours for ours, theirs in PARTS.items()}
        for name, array in arrays.items():
            if match := re.fullmatch(r"model\.decoder\.layers\.(\d+)\.(.*)\.(weight|bias)", name):
                n, part, kind = match.groups()
                if part in back:
                    found[f"transformer.h.{n}.{back[part]}.{kind}"] = array.T
                elif part == "self_attn.q_proj":
                    thirds = [arrays[name.replace("q_proj", f"{a}_proj")].T for a in "qkv"]
                    attn = np.concatenate(thirds, axis=-1)
                    found[f"transformer.h.{n}.attn.c_attn.{kind}"] = attn
        return found
