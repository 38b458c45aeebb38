"""A Transformer as a causal language model for Hugging Face's transformers, with its own code.

The vocabulary is `<start>`, `<pad>`, the end of a run without a rule, the letters of inputs, and a
token `state:symbol:R` or `…:L` for each output y that there can be: y is fixed by these three.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from netwright.errors import InputError
from netwright.export.sources import source_of
from netwright.export.target import (
    AT_ONCE,
    NOTICE,
    Opened,
    Step,
    Target,
    tensors_of,
    write_arrays,
    write_json,
    write_text,
)
from netwright.export.tokenizer import quiet_transformers, write_tokenizer
from netwright.kind.registry import kind_named
from netwright.network.tensors import NamedTensors
from netwright.text import as_token

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODULE = "modeling_netwright"
START, PAD, END, FIRST = range(4)
"""The first tokens; letters and outputs follow."""
IMPOSSIBLE = -100.0
"""The logit of what is no output, before it is made sharper."""
BETWEEN = 2.5
"""The logit of the end: an output that shows a pair has 3 with its own token, others at most 2."""
MOST_TOKENS = 1 << 20


class HuggingFaceTarget(Target):
    """config.json, model.safetensors, the tokenizer, and modeling_netwright.py."""

    name, extra, needs = "hf", "hf", ("torch", "transformers")
    code = f"{MODULE}.py"

    def takes(self, kind: str) -> bool:
        """Networks whose outputs are finitely many: pointers are not."""
        return super().takes(kind) and not kind_named(kind).construction.code

    def write(self, named: NamedTensors, folder: Path, dtype: str) -> None:
        """As `from_pretrained` reads it."""
        vocabulary, vectors = _vocabulary(named, dtype)
        names = named.names
        letters = len(names["vocabulary"])
        bias = np.full(len(vocabulary), IMPOSSIBLE, dtype=dtype)
        bias[END], bias[FIRST + letters :] = BETWEEN, 0
        tensors = {f"network.{name}": array for name, array in tensors_of(named, dtype).items()}
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
        write_text(folder / self.code, source_of(self.part(named.kind), NOTICE))

    def open(self, folder: Path) -> Opened:
        """By the Auto classes."""
        from transformers import AutoModelForCausalLM

        with quiet_transformers():
            model: Opened = AutoModelForCausalLM.from_pretrained(
                str(folder), trust_remote_code=True
            )
        return model

    def stored(self, opened: Any, folder: Path) -> "dict[str, NDArray[Any]]":
        """The state of the network inside."""
        return {name: each.numpy() for name, each in opened.network.state_dict().items()}

    def ways(
        self, opened: Any, word: Sequence[str], exact: "NDArray[Any]"
    ) -> dict[str, Iterator[Step]]:
        """Token by token with every y; and what `generate` itself writes."""
        ways = super().ways(opened, word, exact)
        return {**ways, "generate()": _generated(opened, word, min(len(exact) + 1, AT_ONCE))}

    def usage(self, named: NamedTensors) -> str:
        """With transformers alone."""
        letters = " ".join(map(as_token, named.names["default_input"]))
        return f"""\
from transformers import AutoModelForCausalLM, AutoTokenizer

folder = "."  # this one
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)
text = model.generate(**tokenizer({letters!r}, return_tensors="pt"))
print(tokenizer.decode(text[0]))"""


def _vocabulary(named: NamedTensors, dtype: str) -> "tuple[list[str], NDArray[Any]]":
    """The texts of all tokens, and the vectors of `<start>` and of the outputs."""
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
    """The vectors of the tokens that `generate` writes, which are outputs rounded."""
    import torch

    letters = [FIRST + n for n in model.network.tokens(word)]
    ids = torch.tensor([[*letters, START]])
    text = model.generate(ids, max_new_tokens=count, attention_mask=torch.ones_like(ids))
    for token in text[0, len(letters) + 1 :]:
        yield model.vectors[token], {}
