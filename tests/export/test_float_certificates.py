"""Certificates in floats, against what transformers computes: every coordinate of every stream."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.certificates import llama_streams
from tests.certificates.float_streams import Proved, names_of, starts_of, texts_of, written_by_model
from tests.certificates.universal_streams import ProvedUniversal, refused_of, text_of
from tests.export.heavy import heavy
from tests.repetition import repeated, some

from netwright.certificates.language_model.checker import Model
from netwright.certificates.language_model.llama.forward import LlamaModel
from netwright.certificates.language_model.reading import read_folder, universal_in
from netwright.certificates.language_model.rounding import FORMATS
from netwright.errors import InputError
from netwright.export.universal import export_universal
from netwright.kind.language_model.universal import universal_model
from netwright.kind.language_model.vocabulary import Vocabulary
from netwright.machine.library import library_machine, library_names
from netwright.network.network import compile_network

torch = heavy("torch")
transformers = heavy("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")  # of torch and transformers
NORMS = {
    "gpt2": ("transformer.h.{}.ln_1", "transformer.h.{}.ln_2", "transformer.ln_f"),
    "opt": (
        "model.decoder.layers.{}.self_attn_layer_norm",
        "model.decoder.layers.{}.final_layer_norm",
        "model.decoder.final_layer_norm",
    ),
    "llama": (
        "model.layers.{}.input_layernorm",
        "model.layers.{}.post_attention_layernorm",
        "model.norm",
    ),
}
"""The names of norms in an architecture, in the order of GPT-2's."""


@contextmanager
def recorded(model: Any, architecture: str) -> Iterator[dict[str, list[Any]]]:
    """The stream before each norm, under the checker's names, a list of rows for each call."""
    modules, found, hooks = dict(model.named_modules()), dict[str, list[Any]](), []
    theirs, ours = NORMS[architecture], NORMS["gpt2" if architecture == "opt" else architecture]
    blocks = range(model.config.num_hidden_layers)
    names = {theirs[2]: ours[2]}
    names |= {theirs[k].format(n): ours[k].format(n) for k in (0, 1) for n in blocks}

    def keep(name: str) -> Any:
        def hook(_: Any, inputs: tuple[Any, ...]) -> None:
            rows = inputs[0].detach().float().numpy()
            found.setdefault(name, []).append(rows.reshape(-1, rows.shape[-1]).copy())

        return hook

    for there, here in names.items():
        hooks.append(modules[there].register_forward_pre_hook(keep(here)))
    yield found
    for each in hooks:
        each.remove()


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("to", ["gpt2", "opt"])
@pytest.mark.parametrize("name", some(["palindrome", "busy-beaver-4", *library_names()], 2))
def test_all_that_transformers_computes_is_in_its_interval(
    name: str, to: str, attention: str, dtype: str, tmp_path: Path
) -> None:
    machine, context = library_machine(name), repeated(512, 64)
    network = compile_network(machine, "language-model", context=context)
    network.export(to, tmp_path / "out", check=0)
    own = read_folder(tmp_path / "out").model
    assert isinstance(own, Model)
    proved = Proved(own, names_of(machine), FORMATS[dtype])
    assert proved.proof.holds
    model = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path / "out", dtype=getattr(torch, dtype), attn_implementation=attention
    )
    count = 0
    for n, tokens in enumerate(
        texts_of(Vocabulary.of(machine, context), starts_of(machine, context))
    ):
        first = written_by_model(proved, tokens)
        compare(proved, model, to, tokens, first, generated=n < 2)
        count += len(tokens)
    assert count > 20


def compare(
    proved: Proved, model: Any, to: str, tokens: list[int], first: int, *, generated: bool
) -> None:
    """A text at once; and one token at a time, with a cache, from the prompt on."""
    with recorded(model, to) as streams, torch.no_grad():
        logits = model(torch.tensor([tokens[:-1]])).logits[0].float().numpy()
    found = {name: rows[0] for name, rows in streams.items()}
    assert not list(proved.outside(tokens[:-1], found))
    assert not list(proved.too_small(tokens, first, logits))
    if not generated:
        return
    ids = torch.tensor([tokens[:first]])
    with recorded(model, to) as streams, torch.no_grad():
        written = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_length=None,
            max_new_tokens=min(60, len(tokens) - first),
        )[0].tolist()
    assert written == tokens[: len(written)]
    found = {name: np.concatenate(rows) for name, rows in streams.items()}
    assert {len(rows) for rows in found.values()} == {len(written) - 1}
    assert not list(proved.outside(written[:-1], found))


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("to", ["gpt2", "opt"])
def test_so_it_is_for_universal_models(to: str, attention: str, dtype: str, tmp_path: Path) -> None:
    universal = universal_model(16, 8, repeated(1024, 128))
    export_universal(to, tmp_path / "out", context=universal.context, check=0)
    files = read_folder(tmp_path / "out")
    assert isinstance(files.model, Model)
    proved = ProvedUniversal(files.model, universal_in(files, "out"), FORMATS[dtype])
    assert proved.proof.holds
    model = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path / "out", dtype=getattr(torch, dtype), attn_implementation=attention
    )
    run = universal.vocabulary.number["<run>"]
    names = ["palindrome", "busy-beaver-4", *library_names()][: repeated(99, 2)]
    for name in names:
        machine = library_machine(name)
        try:
            tokens = text_of(universal, machine, machine.default_input)
        except InputError:
            continue
        compare(proved, model, to, tokens, tokens.index(run) + 1, generated=True)
        refused = refused_of(tokens, universal, 5)
        compare(proved, model, to, refused, len(refused) - 1, generated=False)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("name", some(["palindrome", "busy-beaver-4", *library_names()], 2))
def test_all_that_transformers_computes_of_a_llama_is_in_its_interval(
    name: str, attention: str, dtype: str, tmp_path: Path
) -> None:
    machine, context = library_machine(name), repeated(512, 64)
    compile_network(machine, "llama", context=context).export("llama", tmp_path / "out", check=0)
    own = read_folder(tmp_path / "out").model
    assert isinstance(own, LlamaModel)
    proved = llama_streams.Proved(own, llama_streams.names_of(machine), FORMATS[dtype])
    assert proved.proof.holds
    model = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path / "out", dtype=getattr(torch, dtype), attn_implementation=attention
    )
    count = 0
    for n, text in enumerate(llama_streams.texts(machine, context)):
        tokens = text.tokens
        with recorded(model, "llama") as streams, torch.no_grad():
            logits = model(torch.tensor([tokens[:-1]])).logits[0].float().numpy()
        assert not list(
            proved.outside(tokens[:-1], {name: rows[0] for name, rows in streams.items()})
        )
        assert not list(proved.too_small(text, logits))
        count += len(tokens)
        if n < 2:  # one token at a time, with a cache
            ids = torch.tensor([tokens[: text.prompt]])
            with recorded(model, "llama") as streams, torch.no_grad():
                written = model.generate(
                    ids,
                    attention_mask=torch.ones_like(ids),
                    max_length=None,
                    max_new_tokens=min(60, len(tokens) - text.prompt),
                )[0].tolist()
            assert written == tokens[: len(written)]
            found = {name: np.concatenate(rows) for name, rows in streams.items()}
            assert not list(proved.outside(written[:-1], found))
    assert count > 20
