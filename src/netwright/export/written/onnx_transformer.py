"""A hard-attention Transformer that is a Turing machine, as ONNX graphs."""

import numpy as np

from netwright.export.written.onnx_parts import OnnxNetwork


class Transformer(OnnxNetwork):
    """encoder.onnx makes keys and values of a word, step.onnx one output over those so far.

    start.onnx has what step.onnx takes at first, on the empty word.
    """

    def steps(self, word):
        """All that step.onnx gives, token by token."""
        ids, given = self.ids(word), self.call("start")
        if len(ids):
            found = self.call("encoder", tokens=ids)
            given |= {name: found[name] for name in ("encoder.K", "encoder.V")}
        while True:
            found = self.call("step", **given)
            kept = {name: array for name, array in found.items() if ".kept." in name}
            given |= {name.replace("kept", "past"): array for name, array in kept.items()}
            given["y"] = found["next y"]
            yield found

    def outputs(self, word):
        """y_1, y_2, … with the tokens that each attention of the decoder chose."""
        for found in self.steps(word):
            patterns = [name for name in found if name.endswith(".pattern")]
            attended = {name[: -len(".pattern")]: np.flatnonzero(found[name]) for name in patterns}
            yield found["next y"], attended


NETWORK = Transformer
