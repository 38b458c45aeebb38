"""Modules with names: affine maps, and points at which activations can be seen and changed."""

import json
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import torch
from torch import nn

from netwright.export.written.reading import Readable

try:  # with TransformerLens a network is one of its models
    from transformer_lens import HookedRootModule
    from transformer_lens.hook_points import HookPoint
except ImportError:

    class HookPoint(nn.Identity):
        """A point that an activation passes through; `name` is the activation's."""

    class HookedRootModule(nn.Module):
        """The two most important calls of TransformerLens, where it is not installed."""

        def setup(self):
            """Give every module its name."""
            for name, module in self.named_modules():
                module.name = name

        def run_with_cache(self, *arguments):
            """The result, and every activation by its name."""
            cache = {}
            points = [n for n, module in self.named_modules() if isinstance(module, HookPoint)]
            result = self.run_with_hooks(
                *arguments,
                fwd_hooks=[(n, lambda x, hook: cache.__setitem__(hook.name, x)) for n in points],
            )
            return result, cache

        def run_with_hooks(self, *arguments, fwd_hooks=()):
            """The result with hooks, pairs of a name and f: f(activation, hook=…) may change it."""
            handles = []
            try:
                for name, f in fwd_hooks:
                    module = self.get_submodule(name)
                    hook = lambda module, _, x, f=f: f(x, hook=module)  # noqa: E731
                    handles.append(module.register_forward_hook(hook))
                return self(*arguments)
            finally:
                for handle in handles:
                    handle.remove()


ACTIVATIONS = {"sigma": lambda x: x.clamp(0, 1), "relu": torch.relu}


class Linear(nn.Module):
    """x ↦ x·A; `weight` is A, with a row for each coordinate of x."""

    def __init__(self, rows, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(rows, columns))

    def forward(self, x):
        """x·A."""
        return x @ self.weight


class Affine(Linear):
    """x ↦ x·A + b; `bias` is b."""

    def __init__(self, rows, columns):
        super().__init__(rows, columns)
        self.bias = nn.Parameter(torch.zeros(columns))

    def forward(self, x):
        """x·A + b."""
        return x @ self.weight + self.bias


class TorchNetwork(HookedRootModule, Readable):
    """A network whose weights, activations and coordinates have the names that `names` lists.

    `steps(word)` yields the states of a run, the first of which is where the network begins;
    `generate(word, n)` gives n + 1 of them;
    `forward(word, states)` takes each state to the next one, all at once.
    """

    def __init__(self, names):
        super().__init__()
        self.names = names
        self.size = len(names["layouts"]["vector"])
        self.register_buffer("embedding", torch.zeros(len(names["vocabulary"]), self.size))
        self.readout = Affine(self.size, len(names["readout"]["pairs"]))

    def shape(self, name):
        """How many rows and columns a weight has."""
        about = self.names["weights"][name]
        return [len(self.names["layouts"][about[side]]) for side in ("rows", "columns")]

    def scores_of_pairs(self, y):
        """y·A + b of the read-out."""
        return self.readout(y)

    def word(self, word):
        """A word as a tensor of its symbols' numbers."""
        if isinstance(word, torch.Tensor):
            return word
        return torch.tensor(self.tokens(word), dtype=torch.long, device=self.embedding.device)

    @torch.no_grad()
    def generate(self, word, n):
        """n + 1 states of the run on a word, a text or a list of symbols."""
        return torch.stack([*islice(self.steps(word), n + 1)])

    @contextmanager
    def watched(self, end):
        """A context with a dictionary of the newest activation for each name with this ending."""
        seen, handles = {}, []
        for name, module in self.named_modules():
            if isinstance(module, HookPoint) and name.endswith(end):
                hook = lambda _m, _x, y, name=name: seen.__setitem__(name, y)  # noqa: E731
                handles.append(module.register_forward_hook(hook))
        try:
            yield seen
        finally:
            for handle in handles:
                handle.remove()

    @classmethod
    def load(cls, folder, dtype=None):
        """The network in a folder, with the files names.json and weights.safetensors."""
        from safetensors.torch import load_file

        names = json.loads((Path(folder) / "names.json").read_text(encoding="utf-8"))
        return cls.of(names, load_file(Path(folder) / "weights.safetensors"), dtype)

    @classmethod
    def of(cls, names, tensors, dtype=None):
        """The network with these tensors, in their own type or another."""
        model = cls(names).to(dtype or tensors["embedding"].dtype)
        model.load_state_dict(tensors)
        return model.eval()
