"""A plain PyTorch module with hook points, and its weights."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwright.errors import InputError
from netwright.export.sources import source_of
from netwright.export.target import (
    AT_ONCE,
    NOTICE,
    Step,
    Target,
    tensors_of,
    word_text,
    write_arrays,
    write_text,
)
from netwright.network.tensors import NamedTensors

if TYPE_CHECKING:
    from numpy.typing import NDArray


class TorchTarget(Target):
    """Files model.py and weights.safetensors."""

    name, extra, needs, code = "torch", "torch", ("torch",), "model.py"

    def write(self, named: NamedTensors, folder: Path, dtype: str) -> None:
        """The weights, and the code of the module."""
        write_arrays(folder / "weights.safetensors", tensors_of(named, dtype))
        write_text(folder / self.code, source_of(self.part(named.kind), NOTICE) + LOAD)

    def stored(self, opened: Any, folder: Path) -> "dict[str, NDArray[Any]]":
        """The module's state."""
        return {name: tensor.numpy() for name, tensor in opened.state_dict().items()}

    def ways(
        self, opened: Any, word: Sequence[str], exact: "NDArray[Any]"
    ) -> dict[str, Iterator[Step]]:
        """Step by step; and a Transformer all at once, behind the exact outputs."""
        import torch

        ways = super().ways(opened, word, exact)
        if hasattr(opened, "forced"):
            seed = opened.seed[None]
            before = torch.cat([seed, torch.from_numpy(exact[: AT_ONCE - 1]).to(seed)])
            ways["all at once"] = opened.forced(word, before)
        return ways

    def usage(self, named: NamedTensors) -> str:
        """Run it, see inside, change something."""
        name = next(reversed([*filter(_is_worth_a_look, named.names["activations"])]))
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
    """The module of a network, without a file."""
    target = TorchTarget()
    dtype = target.read_dtype(dtype)
    if not target.takes(named.kind):
        raise InputError(f"{named.kind} has no code for torch; export it to gpt2 or opt")
    target.check_installed()
    import torch

    module = import_module(f"netwright.export.written.{target.part(named.kind)}")
    tensors = {name: torch.from_numpy(array) for name, array in tensors_of(named, dtype).items()}
    return module.NETWORK.of(named.names, tensors)


LOAD = '''

def load(folder=Path(__file__).parent, dtype=None):
    """The network in a folder: this one; in the type that was saved, or another."""
    return NETWORK.load(folder, dtype)


if __name__ == "__main__":
    main(load())
'''
