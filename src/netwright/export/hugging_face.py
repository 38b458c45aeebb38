"""A Transformer as a causal language model for Hugging Face's transformers, with its own code.

The vocabulary is `<start>`, `<pad>`, a token for the end of a run without a rule, the letters of
inputs, and a token `state:symbol:R` or `…:L` for each possible output y: these three determine y.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netwright.errors import InputError
from netwright.export.target import (
    AT_ONCE,
    Arrays,
    Opened,
    Step,
    Target,
    Ways,
    arrays_of,
    write_arrays,
    write_json,
)
from netwright.export.tokenizer import quiet_transformers, write_tokenizer
from netwright.kind.registry import kind_named
from netwright.network.tensors import NamedTensors
from netwright.text import as_token

MODULE = "modeling_netwright"
START, PAD, END, FIRST = range(4)
"""The ids of the first tokens; letters and outputs follow."""
IMPOSSIBLE = -100.0
"""The logit of a token that is never an output, before sharpening."""
BETWEEN = 2.5
"""The logit of the end: an output that shows a pair gives 3 to its own token, others at most 2."""
MOST_TOKENS = 1 << 20


class HuggingFaceTarget(Target):
    """config.json, model.safetensors, the tokenizer, and modeling_netwright.py."""

    name, extra, needs, code = "hf", "hf", ("torch", "transformers"), f"{MODULE}.py"

    def takes(self, kind: str) -> bool:
        """Whether a kind has finitely many outputs, which excludes pointers."""
        return super().takes(kind) and not kind_named(kind).construction.code

    def write(self, named: NamedTensors, folder: Path, dtype: str) -> None:
        """Write the files that `from_pretrained` reads."""
        vocabulary, vectors = _vocabulary(named, dtype)
        names = named.names
        letters = len(names["vocabulary"])
        bias = np.full(len(vocabulary), IMPOSSIBLE, dtype=dtype)
        bias[END], bias[FIRST + letters :] = BETWEEN, 0
        tensors = {f"network.{name}": array for name, array in arrays_of(named, dtype).items()}
        tensors |= {"vectors": vectors, "bias": bias}
        write_arrays(folder / "model.safetensors", tensors)
        final = {as_token(state) for state in names["readout"]["final"]}
        outputs = enumerate(vocabulary[FIRST + letters :], start=FIRST + letters)
        ends = [END, *(n for n, text in outputs if text.partition(":")[0] in final)]
        special = {"pad_token_id": PAD, "bos_token_id": None, "eos_token_id": ends}
        config = {
            "architectures": ["NetwrightForCausalLM"],
            "auto_map": {
                "AutoConfig": f"{MODULE}.NetwrightConfig",
                "AutoModelForCausalLM": f"{MODULE}.NetwrightForCausalLM",
            },
            "model_type": "netwright_transformer",
            "dtype": dtype,
            "vocab_size": len(vocabulary),
            "hidden_size": vectors.shape[1],
            "num_hidden_layers": 1 + names["layers"]["decoder"],  # the cache keeps the encoder too
            "num_attention_heads": 1,
            "letters": letters,
            "names": names,
            **special,
        }
        write_json(folder / "config.json", config)
        generation = {"do_sample": False, "max_new_tokens": 1000, "use_cache": True, **special}
        write_json(folder / "generation_config.json", generation)
        write_tokenizer(folder, vocabulary, [], ["<start>"])
        self.write_code(named, folder)

    def open(self, folder: Path) -> Opened:
        """Load the model with the Auto classes."""
        from transformers import AutoModelForCausalLM

        with quiet_transformers():
            model: Opened = AutoModelForCausalLM.from_pretrained(
                str(folder), trust_remote_code=True
            )
        return model

    def stored(self, opened: Any, folder: Path) -> Arrays:
        """Return the state of the inner network."""
        return {name: each.numpy() for name, each in opened.network.state_dict().items()}

    def ways(self, opened: Any, word: Sequence[str], exact: NDArray[Any]) -> Ways:
        """Run token by token with every y, and with `generate`."""
        ways = super().ways(opened, word, exact)
        return {**ways, "generate()": _generated(opened, word, min(len(exact) + 1, AT_ONCE))}

    def usage(self, named: NamedTensors) -> str:
        """Use transformers alone."""
        letters = " ".join(map(as_token, named.names["default_input"]))
        return f"""\
from transformers import AutoModelForCausalLM, AutoTokenizer

folder = "."  # this one
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)
text = model.generate(**tokenizer({letters!r}, return_tensors="pt"))
print(tokenizer.decode(text[0]))"""


def _vocabulary(named: NamedTensors, dtype: str) -> tuple[list[str], NDArray[Any]]:
    """Return the texts of all tokens, and the vectors of `<start>` and of the outputs."""
    names = named.names
    end = "<reject>" if names["outcomes"]["dead"] == "rejected" else "<halt>"
    texts = ["<start>", "<pad>", end, *map(as_token, names["vocabulary"])]
    pairs = names["readout"]["pairs"]
    if 2 * len(pairs) > MOST_TOKENS:
        raise InputError(
            f"{2 * len(pairs):,} tokens, one for each state, symbol and move, are too many for a "
            f"vocabulary; at most {MOST_TOKENS:,}"
        )
    coordinates = names["layouts"]["vector"]
    vectors = np.zeros((len(texts) + 2 * len(pairs), len(coordinates)), dtype=dtype)
    vectors[START] = named.tensors["seed"].to_numpy(dtype)
    # A pair's row of the read-out is 1 at its state and its symbol.
    shown = named.tensors["readout.weight"].to_numpy(dtype).T
    for n, (state, symbol) in enumerate(pairs):
        for move, sign in (("R", 1), ("L", -1)):
            vectors[len(texts)] = shown[n]
            vectors[len(texts), coordinates.index("x1")] = sign
            texts.append(f"{as_token(state)}:{as_token(symbol)}:{move}")
    return texts, vectors


def _generated(model: Any, word: Sequence[str], count: int) -> Iterator[Step]:
    """Yield the vectors of the tokens that `generate` writes: rounded outputs."""
    import torch

    letters = [FIRST + n for n in model.network.tokens(word)]
    ids = torch.tensor([[*letters, START]])
    text = model.generate(ids, max_new_tokens=count, attention_mask=torch.ones_like(ids))
    for token in text[0, len(letters) + 1 :]:
        yield model.vectors[token], {}
