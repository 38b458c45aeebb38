"""ONNX graphs with netwright's names for what passes between nodes, and a file that runs them.

onnxruntime's CPU provider has no convolution in float64, so a Neural GPU's kernels are matrix
products over the shifted column of cells. Positions are computed in float64 and rounded once.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from netwright.errors import InputError
from netwright.export.target import Arrays, Target, usage_lines
from netwright.network.tensors import NamedTensors

OPSET, IR = 17, 8
"""Old enough for any runtime of the last years."""


class OnnxTarget(Target):
    """Files encoder.onnx, step.onnx, readout.onnx (start.onnx for a Transformer) and run.py."""

    name, extra, needs, code = "onnx", "onnx", ("onnx", "onnxruntime"), "run.py"

    def write(self, named: NamedTensors, folder: Path, dtype: str) -> None:
        """Write the graphs and the code."""
        graphs = GRAPHS[self.source_name(named.kind)](named, dtype)
        for name, content in {**graphs, "readout": readout(named, dtype)}.items():
            (folder / f"{name}.onnx").write_bytes(content)
        self.write_code(named, folder, LOAD)

    def stored(self, opened: Any, folder: Path) -> Arrays:
        """Return the initializers of all graphs; the first y is the seed."""
        import onnx

        found = {}
        for path in sorted(folder.glob("*.onnx")):
            for each in onnx.load(path).graph.initializer:
                name = "seed" if each.name == "y at first" else each.name
                found[name] = onnx.numpy_helper.to_array(each)
        return found

    def usage(self, named: NamedTensors) -> str:
        """Use onnxruntime and numpy."""
        return (
            usage_lines("run", named)
            + """\
for each in network.graphs["step"].get_outputs():
    print(each.name, each.shape)"""
        )


class Graph:
    """A builder of one ONNX graph."""

    def __init__(self, named: NamedTensors, dtype: str) -> None:
        import onnx

        self.onnx, self.tensors, self.dtype = onnx, named, dtype
        self.type = getattr(onnx.TensorProto, {"float64": "DOUBLE", "float32": "FLOAT"}[dtype])
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.initializers: dict[str, Any] = {}

    @property
    def size(self) -> int:
        """The dimension of the network's vectors."""
        return len(self.tensors.names["layouts"]["vector"])

    def input(self, name: str, shape: list[int | str], *, whole: bool = False) -> str:
        """Declare an input of floats, or of whole numbers; return its name."""
        kind = self.onnx.TensorProto.INT64 if whole else self.type
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, shape: list[int | str]) -> None:
        """Declare a value as an output."""
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, self.type, shape))

    def add(self, op: str, *inputs: str, to: str | None = None, **attributes: Any) -> str:
        """Add a node; return the name of its output."""
        name = to or f"{op.lower()}.{len(self.nodes)}"
        attributes = {key.rstrip("_"): value for key, value in attributes.items()}
        node = self.onnx.helper.make_node(op, list(inputs), [name], name=name, **attributes)
        self.nodes.append(node)
        return name

    def constant(self, name: str, array: Any) -> str:
        """Add an initializer; return its name."""
        self.initializers[name] = self.onnx.numpy_helper.from_array(array, name)
        return name

    def tensor(self, name: str) -> str:
        """Add a tensor of the network."""
        return self.constant(name, self.tensors.tensors[name].to_numpy(self.dtype))

    def integers(self, *numbers: int) -> str:
        """Add a vector of whole numbers."""
        return self.constant(f"integers {numbers}", np.array(numbers, dtype=np.int64))

    def affine(self, name: str, x: str, to: str | None = None) -> str:
        """Add x·A, and + b if there is a bias."""
        linear = f"{name}.bias" not in self.tensors.tensors
        product = self.add("MatMul", x, self.tensor(f"{name}.weight"), to=to if linear else None)
        return product if linear else self.add("Add", product, self.tensor(f"{name}.bias"), to=to)

    def activation(self, name: str, x: str, to: str | None = None) -> str:
        """Add σ or relu."""
        zero = self.constant("zero", np.zeros((), self.dtype))
        if name == "relu":
            return self.add("Max", x, zero, to=to)
        return self.add("Clip", x, zero, self.constant("one", np.ones((), self.dtype)), to=to)

    def to_bytes(self, name: str) -> bytes:
        """Serialise the model, with the names of coordinates in its metadata."""
        graph = self.onnx.helper.make_graph(
            self.nodes, name, self.inputs, self.outputs, list(self.initializers.values())
        )
        opset = [self.onnx.helper.make_opsetid("", OPSET)]
        model = self.onnx.helper.make_model(
            graph, opset_imports=opset, ir_version=IR, producer_name="netwright"
        )
        layouts = json.dumps(self.tensors.names["layouts"])
        self.onnx.helper.set_model_props(model, {"coordinates": layouts})
        if model.ByteSize() > 1 << 31:
            raise InputError("the network is larger than an ONNX file can be (2 GB)")
        self.onnx.checker.check_model(model)
        return bytes(model.SerializeToString())


def readout(named: NamedTensors, dtype: str) -> bytes:
    """The graph from an output to the scores of all pairs of state and symbol."""
    graph = Graph(named, dtype)
    graph.affine("readout", graph.input("y", [graph.size]), to="pairs")
    graph.output("pairs", [len(named.names["readout"]["pairs"])])
    return graph.to_bytes("readout")


def rnn(named: NamedTensors, dtype: str) -> dict[str, bytes]:
    """The graphs for one step of the encoder and one of the decoder."""
    encoder = Graph(named, dtype)
    token, h = encoder.input("token", [], whole=True), encoder.input("h", [encoder.size])
    x = encoder.add("Gather", encoder.tensor("embedding"), token)
    total = encoder.add("Add", encoder.affine("W", x), encoder.affine("V", h))
    encoder.activation("sigma", total, to="next h")
    encoder.output("next h", [encoder.size])
    step = Graph(named, dtype)
    step.activation("sigma", step.affine("U", step.input("g", [step.size])), to="next g")
    step.output("next g", [step.size])
    return {"encoder": encoder.to_bytes("encoder"), "step": step.to_bytes("step")}


def neural_gpu(named: NamedTensors, dtype: str) -> dict[str, bytes]:
    """The graphs for the cells of a word and one step of all cells."""
    encoder = Graph(named, dtype)
    tokens = encoder.input("tokens", ["symbols"], whole=True)
    encoder.add("Gather", encoder.tensor("embedding"), tokens, to="cells")
    encoder.output("cells", ["symbols", encoder.size])
    step = Graph(named, dtype)
    shape: list[int | str] = ["symbols", step.size]
    S = step.input("cells", shape)
    u, r = _convolution(step, "U", S, "u"), _convolution(step, "R", S, "r")
    f = _convolution(step, "F", step.add("Mul", r, S), None)
    one = step.constant("one", np.ones((), dtype))
    kept, new = step.add("Mul", u, S), step.add("Mul", step.add("Sub", one, u), f)
    step.add("Add", kept, new, to="cell")
    for name in ("u", "r", "cell"):
        step.output(name, shape)
    return {"encoder": encoder.to_bytes("encoder"), "step": step.to_bytes("step")}


def _convolution(graph: Graph, letter: str, S: str, to: str | None) -> str:
    """f(K * S + B): each kernel reads the cells shifted by its number of rows, zeros outside."""
    bank, total = graph.tensors.names["banks"][letter], graph.tensor(f"{letter}.bias")
    axis = graph.integers(0)
    for u, shift in enumerate(bank["shifts"], start=1):
        moved = S
        if shift:
            zeros = np.zeros((abs(shift), graph.size), graph.dtype)
            outside = graph.constant(f"zeros {abs(shift)}", zeros)
            ends = (0, shift) if shift < 0 else (shift, np.iinfo(np.int64).max)
            inside = graph.add("Slice", S, *map(graph.integers, ends), axis)
            parts = (outside, inside) if shift < 0 else (inside, outside)
            moved = graph.add("Concat", *parts, axis=0)
        total = graph.add("Add", total, graph.affine(f"{letter}.{u}", moved))
    return graph.activation(bank["activation"], total, to=to)


def transformer(named: NamedTensors, dtype: str) -> dict[str, bytes]:
    """The graphs for the first inputs of a step, the encoder, and one decoding step."""
    parts = {"start": _start, "encoder": _encoder, "step": _step}
    return {name: write(named, dtype) for name, write in parts.items()}


def _network(graph: Graph, place: str, x: str, to: str | None = None) -> str:
    """A feed-forward network: affine maps with an activation between each two."""
    weights = graph.tensors.names["weights"]
    if place in weights:
        return graph.affine(place, x, to=to)
    several = [f"{place}.{n}" for n in range(1, 9) if f"{place}.{n}" in weights]
    for name in several[:-1]:
        x = graph.activation(graph.tensors.names["networks"][place], graph.affine(name, x))
    return graph.affine(several[-1], x, to=to)


def _positioned(graph: Graph, x: str, i: str, to: str) -> str:
    """x + pos(i) for a tensor i of whole numbers, one for each row of x."""
    places = graph.tensors.names["positions"]
    if not places:
        return graph.add("Identity", x, to=to)
    double = graph.onnx.TensorProto.DOUBLE
    i = graph.add("Unsqueeze", graph.add("Cast", i, to_=double), graph.integers(-1))
    one = graph.constant("1.0", np.ones((), "float64"))
    numbers = [graph.add("Div", i, i), i]
    power = i
    for _ in range(len(places) - 2):
        numbers.append(graph.add("Div", one, power))
        power = graph.add("Mul", power, i)
    row = graph.add("Concat", *numbers, axis=-1)
    select = np.zeros((len(places), graph.size))
    select[range(len(places)), places] = 1
    wide = graph.add("MatMul", row, graph.constant("where positions are", select))
    return graph.add("Add", x, graph.add("Cast", wide, to_=graph.type), to=to)


def _attention(graph: Graph, name: str, q: str, K: str, V: str, *, rows: bool = False) -> str:
    """Att(q, K, V): the sum of the values with the greatest score, divided once."""
    if rows:
        product = graph.add("MatMul", q, graph.add("Transpose", K, perm=[1, 0]))
    else:
        product = graph.add("MatMul", K, q)
    if graph.tensors.names["score"] == "-|<q, k>|":
        product = graph.add("Neg", graph.add("Abs", product))
    scores = graph.add("Identity", product, to=f"{name}.scores")
    top = graph.add("ReduceMax", scores, axes=[-1], keepdims=1)
    hard = graph.add("Cast", graph.add("Equal", scores, top), to_=graph.type)
    count = graph.add("ReduceSum", hard, graph.integers(-1), keepdims=1)
    graph.add("Div", hard, count, to=f"{name}.pattern")
    return graph.add("Div", graph.add("MatMul", hard, V), count)


def _around(graph: Graph, name: str, image: str, x: str, to: str) -> str:
    """Add image + x; or what remains of it where `without` names a residual or an attention."""
    without = graph.tensors.names.get("without", ())
    if f"attention:{name}" in without:
        image = graph.add("Sub", image, image)
    if f"residual:{name}" in without:
        return graph.add("Identity", image, to=to)
    return graph.add("Add", image, x, to=to)


def _start(named: NamedTensors, dtype: str) -> bytes:
    """The graph without inputs that returns the first inputs of `_step`, for the empty word.

    Attention over no keys is 0. So is attention over one key whose value is 0, which MatMul can do.
    """
    graph = Graph(named, dtype)
    first = {"y": named.tensors["seed"].to_numpy(dtype)}
    for letter in "kv":
        first[f"encoder.{letter.upper()}"] = np.zeros((1, graph.size), dtype)
        for n in range(1, named.names["layers"]["decoder"] + 1):
            first[f"decoder.{n}.past.{letter}"] = np.zeros((0, graph.size), dtype)
    for name, array in first.items():
        graph.add("Identity", graph.constant(f"{name} at first", array), to=name)
        graph.output(name, list(array.shape))
    return graph.to_bytes("start")


def _encoder(named: NamedTensors, dtype: str) -> bytes:
    graph = Graph(named, dtype)
    tokens = graph.input("tokens", ["symbols"], whole=True)
    x = graph.add("Gather", graph.tensor("embedding"), tokens)
    one = graph.constant("1", np.ones((), np.int64))
    count = graph.add("Squeeze", graph.add("Shape", tokens), graph.integers(0))
    i = graph.add("Range", one, graph.add("Add", count, one), one)
    x = _positioned(graph, x, i, "encoder.1.input")
    for n in range(1, named.names["layers"]["encoder"] + 1):
        name = f"encoder.{n}"
        q, k, v = (_network(graph, f"{name}.{a}", x, f"{name}.self.{a.lower()}") for a in "QKV")
        found = _attention(graph, f"{name}.self", q, k, v, rows=True)
        a = _around(graph, f"{name}.self", found, x, f"{name}.a")
        x = _around(graph, f"{name}.O", _network(graph, f"{name}.O", a), a, f"{name}.z")
    for letter in "KV":
        _network(graph, f"encoder.{letter}", x, f"encoder.{letter}")
    for name, about in named.names["activations"].items():
        if name.startswith("encoder."):
            wide = about["columns"] == "vector"
            graph.output(name, ["symbols", graph.size if wide else "symbols"])
    return graph.to_bytes("encoder")


def _step(named: NamedTensors, dtype: str) -> bytes:
    graph = Graph(named, dtype)
    size, layers = graph.size, range(1, named.names["layers"]["decoder"] + 1)
    y = graph.input("y", [size])
    external = [graph.input(f"encoder.{a}", ["symbols", size]) for a in "KV"]
    past = {
        (n, a): graph.input(f"decoder.{n}.past.{a}", ["past", size]) for n in layers for a in "kv"
    }
    before = graph.add("Gather", graph.add("Shape", past[1, "k"]), graph.integers(0))
    i = graph.add("Add", before, graph.constant("1", np.ones(1, np.int64)))
    row = _positioned(graph, graph.add("Unsqueeze", y, graph.integers(0)), i, "row")
    z = graph.add("Squeeze", row, graph.integers(0), to="decoder.1.input")
    for n in layers:
        name = f"decoder.{n}"
        if n > 1:
            z = graph.add("Identity", z, to=f"{name}.input")
        q = _network(graph, f"{name}.Q", z, f"{name}.self.q")
        kept = []
        for letter in "kv":
            new = _network(graph, f"{name}.{letter.upper()}", z, f"{name}.self.{letter}")
            new = graph.add("Unsqueeze", new, graph.integers(0))
            to = f"{name}.kept.{letter}"
            kept.append(graph.add("Concat", past[n, letter], new, axis=0, to=to))
            graph.output(to, ["tokens", size])
        found = _attention(graph, f"{name}.self", q, *kept)
        p = _around(graph, f"{name}.self", found, z, f"{name}.p")
        query = graph.add("Identity", p, to=f"{name}.external.q")
        found = _attention(graph, f"{name}.external", query, *external)
        a = _around(graph, f"{name}.external", found, p, f"{name}.a")
        z = _around(graph, f"{name}.O", _network(graph, f"{name}.O", a), a, f"{name}.z")
    _network(graph, "F", z, "next y")
    graph.output("next y", [size])
    axis: dict[str, int | str] = {
        "vector": size,
        "tokens so far": "tokens",
        "symbols of the input": "symbols",
    }
    for name, about in named.names["activations"].items():
        if name.startswith("decoder."):
            graph.output(name, [axis[about["columns"]]])
    return graph.to_bytes("step")


GRAPHS = {"onnx_rnn": rnn, "onnx_neural_gpu": neural_gpu, "onnx_transformer": transformer}
"""The functions that build the graphs of a kind, by the name of its source."""
LOAD = '''

def load(folder=Path(__file__).parent):
    """The network in a folder: this one."""
    return NETWORK(folder)
'''
