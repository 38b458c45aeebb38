"""A plain PyTorch module with hook points, and its weights."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from netwright.errors import InputError
from netwright.export.sources import PACKAGE
from netwright.export.target import (
    AT_ONCE,
    Arrays,
    Target,
    Ways,
    arrays_of,
    word_text,
    write_arrays,
)
from netwright.network.tensors import NamedTensors


class TorchTarget(Target):
    """Files model.py and weights.safetensors."""

    name, extra, needs, code = "torch", "torch", ("torch",), "model.py"

    def write(self, named: NamedTensors, folder: Path, dtype: str) -> None:
        """Write the weights and the code of the module."""
        write_arrays(folder / "weights.safetensors", arrays_of(named, dtype))
        self.write_code(named, folder, LOAD)

    def stored(self, opened: Any, folder: Path) -> Arrays:
        """Return the module's state."""
        return {name: tensor.numpy() for name, tensor in opened.state_dict().items()}

    def ways(self, opened: Any, word: Sequence[str], exact: NDArray[Any]) -> Ways:
        """Run step by step, and a Transformer also in one teacher-forced pass."""
        import torch

        ways = super().ways(opened, word, exact)
        if hasattr(opened, "forced"):
            seed = opened.seed[None]
            before = torch.cat([seed, torch.from_numpy(exact[: AT_ONCE - 1]).to(seed)])
            ways["all at once"] = opened.forced(word, before)
        return ways

    def usage(self, named: NamedTensors) -> str:
        """Run the module, look at its activations, and change one with a hook."""
        name = [*filter(_is_worth_a_look, named.names["activations"])][-1]
        return f"""\
from model import load  # in this folder

model, word = load(), {word_text(named)}
for t, state, symbol in model.run(word):
    print(t, state, symbol)
states = model.generate(word, 20)  # 21 states; the first is where it begins
result, cache = model.run_with_cache(model.word(word), states[:-1])
print(len(cache), cache["{name}"].shape)
hook = ("{name}", lambda x, hook: 0 * x)
changed = model.run_with_hooks(model.word(word), states[:-1], fwd_hooks=[hook])"""


def _is_worth_a_look(name: str) -> bool:
    return name.endswith("self.pattern") or ("." not in name and name != "y")


def to_torch(named: NamedTensors, dtype: str) -> Any:
    """Build the module of a network without writing files."""
    target = TorchTarget()
    dtype = target.read_dtype(dtype)
    if not target.takes(named.kind):
        raise InputError(f"{named.kind} has no code for torch; export it to gpt2 or opt")
    target.check_installed()
    import torch

    module = import_module(f"{PACKAGE}.{target.source_name(named.kind)}")
    tensors = {name: torch.from_numpy(array) for name, array in arrays_of(named, dtype).items()}
    return module.NETWORK.of(named.names, tensors)


LOAD = '''

def load(folder=Path(__file__).parent, dtype=None):
    """The network in a folder: this one; in the type that was saved, or another."""
    return NETWORK.load(folder, dtype)
'''
