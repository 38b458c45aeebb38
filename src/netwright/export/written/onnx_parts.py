"""Graphs in the ONNX format, run by onnxruntime."""

import json
from pathlib import Path

import numpy as np
import onnxruntime

from netwright.export.written.reading import Readable


class OnnxNetwork(Readable):
    """The graphs encoder.onnx, step.onnx and readout.onnx, with the names in names.json."""

    def __init__(self, folder):
        folder = Path(folder)
        self.names = json.loads((folder / "names.json").read_text(encoding="utf-8"))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # the graphs are small
        self.graphs = {
            path.stem: onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
            for path in sorted(folder.glob("*.onnx"))
        }
        y = self.graphs["readout"].get_inputs()[0]
        self.size, self.dtype = y.shape[0], "float64" if "double" in y.type else "float32"

    def call(self, graph, **inputs):
        """All outputs of a graph by name."""
        session = self.graphs[graph]
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, inputs)))

    def ids(self, word):
        """The numbers of a word's symbols."""
        return np.array(self.tokens(word), dtype=np.int64)

    def scores_of_pairs(self, y):
        """y·A + b of the read-out."""
        return self.call("readout", y=y)["pairs"]
