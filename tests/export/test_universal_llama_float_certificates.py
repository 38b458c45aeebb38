"""The certificate of universal Llamas, against what transformers computes of their files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.certificates.universal_llama_streams import ProvedUniversal, text_of
from tests.export.heavy import heavy
from tests.repetition import repeated

from netwright.certificates.language_model.llama.forward import LlamaModel
from netwright.certificates.language_model.llama.universal import LlamaUniversal
from netwright.certificates.language_model.reading import read_folder, universal_in
from netwright.certificates.language_model.rounding import FORMATS
from netwright.errors import InputError
from netwright.export.universal import export_universal
from netwright.kind.language_model.llama.universal import universal_llama
from netwright.machine.library import library_machine, library_names

torch = heavy("torch")
transformers = heavy("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")  # of torch and transformers


def streams_of(model: Any, tokens: list[int]) -> tuple[dict[str, Any], Any]:
    """The stream before each norm, all at once; and the logits."""
    found, hooks = dict[str, Any](), []
    for name, module in model.named_modules():
        if name.endswith("norm"):

            def keep(_: Any, inputs: tuple[Any, ...], name: str = name) -> None:
                found[name] = inputs[0][0].detach().float().numpy().copy()

            hooks.append(module.register_forward_pre_hook(keep))
    with torch.no_grad():
        logits = model(torch.tensor([tokens])).logits[0].float().numpy()
    for each in hooks:
        each.remove()
    return found, logits


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_all_that_transformers_computes_is_in_its_interval(
    attention: str, dtype: str, tmp_path: Path
) -> None:
    universal = universal_llama(16, 8, repeated(1024, 128))
    export_universal("llama", tmp_path / "out", context=universal.context, check=0)
    files = read_folder(tmp_path / "out")
    about = universal_in(files, "out")
    assert isinstance(files.model, LlamaModel)
    assert isinstance(about, LlamaUniversal)
    proved = ProvedUniversal(files.model, about, FORMATS[dtype])
    assert proved.proof.holds
    model = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path / "out", dtype=getattr(torch, dtype), attn_implementation=attention
    )
    count = 0
    for name in ["palindrome", "busy-beaver-4", *library_names()][: repeated(99, 2)]:
        machine = library_machine(name)
        try:
            text = text_of(universal, machine, machine.default_input)
        except InputError:
            continue
        streams, logits = streams_of(model, text.tokens[:-1])
        assert len(streams) == 9
        assert not list(proved.outside(text.tokens[:-1], streams))
        assert not list(proved.too_small(text, logits))
        assert np.isfinite(logits).all()
        count += 1
    assert count >= 2
