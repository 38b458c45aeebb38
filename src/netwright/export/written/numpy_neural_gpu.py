"""A uniform Neural GPU that is a Turing machine, in numpy."""

import numpy as np

from netwright.export.written.numpy_parts import ACTIVATIONS, NumpyNetwork


class NeuralGPU(NumpyNetwork):
    """A column of cells, one for each symbol, and gated convolutions over it."""

    def convolution(self, letter, S):
        """f(K * S + B): each kernel reads the cells shifted by its rows, zeros outside."""
        bank, total = self.names["banks"][letter], self.tensors[f"{letter}.bias"]
        for u, shift in enumerate(bank["shifts"], start=1):
            shifted = np.zeros_like(S)
            here = slice(max(0, -shift), len(S) - max(0, shift))
            there = slice(max(0, shift), len(S) - max(0, -shift))
            shifted[here] = S[there]
            total = total + self.linear(f"{letter}.{u}", shifted)
        return ACTIVATIONS[bank["activation"]](total)

    def step(self, S):
        """S^t = U ⊙ S + (1 − U) ⊙ F(R ⊙ S)."""
        U, R = self.convolution("U", S), self.convolution("R", S)
        return U * S + (1 - U) * self.convolution("F", R * S)

    def outputs(self, word):
        """The last cell of S^1, S^2, …; nothing is attended to."""
        S = self.tensors["embedding"][self.tokens(word)]
        while True:
            S = self.step(S)
            yield S[-1], {}


NETWORK = NeuralGPU
