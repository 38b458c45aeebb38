"""An encoder-decoder RNN that is a Turing machine, as ONNX graphs."""

import numpy as np

from netwright.export.written.onnx_parts import OnnxNetwork


class RNN(OnnxNetwork):
    """encoder.onnx takes a symbol and h to the next h, step.onnx takes g to the next g."""

    def outputs(self, word):
        """g_1, g_2, …; nothing is attended to."""
        g = np.zeros(self.size, dtype=self.dtype)
        for token in self.ids(word):
            g = self.call("encoder", token=np.asarray(token), h=g)["next h"]
        while True:
            g = self.call("step", g=g)["next g"]
            yield g, {}


NETWORK = RNN
