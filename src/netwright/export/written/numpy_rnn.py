"""An encoder-decoder RNN that is a Turing machine, in numpy."""

import numpy as np

from netwright.export.written.numpy_parts import ACTIVATIONS, NumpyNetwork


class RNN(NumpyNetwork):
    """h = σ(x W + h V) over the word, then g = σ(g U), one step of the machine each."""

    def encode(self, word):
        """h_n: what the encoder makes of a word (Equation 2)."""
        h = np.zeros(self.tensors["embedding"].shape[1], dtype=self.dtype)
        for token in self.tokens(word):
            x = self.tensors["embedding"][token]
            h = ACTIVATIONS["sigma"](self.linear("W", x) + self.linear("V", h))
        return h

    def outputs(self, word):
        """g_1, g_2, … (Equation 3); nothing is attended to."""
        g = self.encode(word)
        while True:
            g = ACTIVATIONS["sigma"](self.linear("U", g))
            yield g, {}


NETWORK = RNN
