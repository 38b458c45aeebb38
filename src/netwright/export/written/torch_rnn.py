"""An encoder-decoder RNN that is a Turing machine, as a plain PyTorch module."""

from itertools import islice

import torch

from netwright.export.written.torch_parts import ACTIVATIONS, HookPoint, Linear, TorchNetwork


class RNN(TorchNetwork):
    """h = σ(x W + h V) over the word, then g = σ(g U), one step of the machine each."""

    def __init__(self, names):
        super().__init__(names)
        self.W, self.V, self.U = (Linear(*self.shape(letter)) for letter in "WVU")
        self.h, self.g = HookPoint(), HookPoint()
        self.setup()

    def encode(self, word):
        """h_0 = 0, h_1, …, h_n (Equation 2)."""
        h = self.embedding.new_zeros(self.size)
        states = [h]
        for x in self.embedding[word]:
            h = ACTIVATIONS["sigma"](self.W(x) + self.V(h))
            states.append(h)
        return self.h(torch.stack(states))

    def forward(self, word, g):
        """g_1, …, g_t for g_0, …, g_{t−1} (Equation 3); the word's h are seen on the way."""
        self.encode(word)
        return self.g(ACTIVATIONS["sigma"](self.U(g)))

    def steps(self, word):
        """g_0 = h_n, g_1, g_2, …."""
        g = self.encode(self.word(word))[-1]
        while True:
            yield g
            g = self.g(ACTIVATIONS["sigma"](self.U(g)))

    @torch.no_grad()
    def outputs(self, word):
        """g_1, g_2, …; nothing is attended to."""
        for g in islice(self.steps(word), 1, None):
            yield g, {}


NETWORK = RNN
