"""A uniform Neural GPU that is a Turing machine, as a plain PyTorch module."""

from itertools import islice

import torch
from torch import nn

from netwright.export.written.torch_parts import ACTIVATIONS, HookPoint, Linear, TorchNetwork


class Bank(nn.Module):
    """f(K * S + B): kernels called 1, 2, …, and their bias."""

    def __init__(self, maps, about):
        super().__init__()
        self.shifts, self.activation = about["shifts"], about["activation"]
        for n, kernel in enumerate(maps, start=1):
            self.add_module(str(n), kernel)
        self.bias = nn.Parameter(torch.zeros(kernel.weight.shape[1]))

    def forward(self, S):
        """Each kernel reads the cells shifted by its number of rows, zeros outside."""
        total = self.bias
        for shift, kernel in zip(self.shifts, self.children()):
            cells = S.shape[-2]
            inside = S[..., max(0, shift) : cells - max(0, -shift), :]
            zeros = S.new_zeros(*S.shape[:-2], min(abs(shift), cells), S.shape[-1])
            parts = [inside, zeros] if shift > 0 else [zeros, inside]
            total = total + kernel(torch.cat(parts, dim=-2))
        return ACTIVATIONS[self.activation](total)


class NeuralGPU(TorchNetwork):
    """A column of cells, one for each symbol, and gated convolutions over it."""

    def __init__(self, names):
        super().__init__(names)
        for letter in "URF":
            maps = [Linear(*self.shape(name)) for name in names["weights"] if name[0] == letter]
            self.add_module(letter, Bank(maps, names["banks"][letter]))
        self.u, self.r, self.cell = HookPoint(), HookPoint(), HookPoint()
        self.setup()

    def forward(self, word, S):
        """S^{t+1} for cells S^t, one grid or several; the word is not used."""
        u, r = self.u(self.U(S)), self.r(self.R(S))
        return self.cell(u * S + (1 - u) * self.F(r * S))

    def steps(self, word):
        """S^0, S^1, S^2, …: the last cell of each is an output."""
        word = self.word(word)
        S = self.embedding[word]
        while True:
            yield S
            S = self(word, S)

    @torch.no_grad()
    def outputs(self, word):
        """The last cell of S^1, S^2, …; nothing is attended to."""
        for S in islice(self.steps(word), 1, None):
            yield S[-1], {}


NETWORK = NeuralGPU
