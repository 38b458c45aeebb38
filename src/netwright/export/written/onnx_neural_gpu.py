"""A uniform Neural GPU that is a Turing machine, as ONNX graphs."""

from netwright.export.written.onnx_parts import OnnxNetwork


class NeuralGPU(OnnxNetwork):
    """encoder.onnx makes a cell of each symbol, step.onnx takes all cells to the next ones."""

    def outputs(self, word):
        """The last cell of S^1, S^2, …; nothing is attended to."""
        cells = self.call("encoder", tokens=self.ids(word))["cells"]
        while True:
            cells = self.call("step", cells=cells)["cell"]
            yield cells[-1], {}


NETWORK = NeuralGPU
