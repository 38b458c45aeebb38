"""A compiled Transformer as a safetensors file, and back, exactly.

Every weight is a pair of 64-bit integers, numerator and denominator, with its place: for each
affine map `decoder.1.O.1` the tensors `….weights` (rows of input index, output index, numerator,
denominator) and `….bias` (index, numerator, denominator), likewise for the seed and the embedding.
The metadata has the machine, its normal form, the layouts and the shape of the network as JSON. The
loaded network is what the tensors say; nothing is compiled again. A digest over all of it keeps a
damaged file from answering.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from flint import fmpq

from netwright.errors import FormatError, NetwrightError, OutputError
from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.layout import Layout
from netwright.exact.rational import Rational, relu, sigma
from netwright.exact.vector import Vector
from netwright.files import open_regular, read_file, seal, unseal
from netwright.machine.normal_form import NormalMachine
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.nets.attention import hardmax, score_phi
from netwright.nets.positional import ReciprocalPositions
from netwright.nets.transformer import Layer, Transformer
from netwright.theorems.theorem_3_4_transformer.construction import CompiledTransformer
from netwright.theorems.theorem_3_4_transformer.scores import read_score

KIND = "netwright transformer 2"
LARGEST = 1 << 31  # bytes
_ACTIVATIONS = {"sigma": sigma, "relu": relu}
_DAMAGE = (
    *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError),
    *(RecursionError, StopIteration, NetwrightError),
)
"""What reading a file that is not whole can end in."""


def to_bytes(compiled: CompiledTransformer) -> bytes:
    """The content of the file."""
    pos = compiled.network.pos
    known = (compiled.network.score, compiled.network.rho) == (score_phi, hardmax)
    if not known or not isinstance(pos, ReciprocalPositions):
        raise OutputError("only networks with the attention and positions of Theorem 3.4 are saved")
    layouts: list[Layout] = []
    tensors: dict[str, np.ndarray[Any, Any]] = {}

    def layout_number(layout: Layout) -> int:
        if layout not in layouts:
            layouts.append(layout)
        return layouts.index(layout)

    networks = {}
    for name, network in compiled.networks().items():
        for number, affine in enumerate(network.maps, start=1):
            weights = [(*place, weight) for place, weight in affine.weights.items()]
            tensors[f"{name}.{number}.weights"] = _integers(weights, 4)
            tensors[f"{name}.{number}.bias"] = _vector_tensor(affine.bias)
        networks[name] = {
            "activation": network.activation.__name__,
            "maps": [[layout_number(a.input), layout_number(a.output)] for a in network.maps],
        }
    tensors["seed"] = _vector_tensor(compiled.seed)
    alphabet = list(compiled.embedding)
    for number, symbol in enumerate(alphabet):
        tensors[f"embedding.{number}"] = _vector_tensor(compiled.embedding[symbol])
    normal = compiled.normal
    about: dict[str, Any] = {
        "kind": KIND,
        "given": machine_parts(normal.given),
        "normal": machine_parts(normal.machine),
        "names": [normal.q_init, normal.q_read, normal.q_rewind],
        "pauses": sorted(normal.pauses),
        "final_states": sorted(compiled.final_states),
        "alphabet": alphabet,
        "layout": layout_number(compiled.layout),
        "layouts": [layout.blocks for layout in layouts],
        "encoder_layers": len(compiled.network.encoder),
        "decoder_layers": len(compiled.network.decoder),
        "networks": networks,
        "positions": pos.blocks,
        "score": compiled.score.name,
    }
    return seal(about, tensors)


def read_network(path: str) -> CompiledTransformer | None:
    """The network in a file, if there is a safetensors file of this name."""
    if not os.path.isfile(path):  # noqa: PTH113  # a long text is no path
        return None
    with open_regular(Path(path), "network") as file:
        start = file.read(9)
    # A safetensors file: the length of its header in 8 bytes, then JSON.
    if start[8:] == b"{" and int.from_bytes(start[:8], "little") < 1 << 32:
        return from_bytes(read_file(Path(path), LARGEST, "network"), path)
    return None


def from_bytes(data: bytes, label: str = "file") -> CompiledTransformer:
    """The compiled Transformer in a file's content."""
    about, tensors = unseal(data, label, "network")
    kind = about.get("kind")
    if kind != KIND:
        raise FormatError(f"{label} is a {kind!r}; this netwright reads {KIND!r}")
    try:
        return _rebuild(about, tensors)
    except _DAMAGE as error:
        reason = str(error).split("\n")[0][:200] or type(error).__name__
        raise FormatError(
            f"{label} is not a whole network as netwright saves it: {reason}"
        ) from None


def _rebuild(about: dict[str, Any], tensors: Mapping[str, Any]) -> CompiledTransformer:
    layouts = [
        Layout(tuple((name, tuple(labels)) for name, labels in blocks))
        for blocks in about["layouts"]
    ]
    layout = layouts[about["layout"]]

    def vector(name: str, of: Layout) -> Vector:
        rows = tensors[name].tolist()
        if any(not 0 <= index < of.dimension for index, _, _ in rows):
            raise ValueError(f"{name} has an index outside its layout")
        return Vector(of, {index: fmpq(p, q) for index, p, q in rows})

    def affine(name: str, ends: list[int]) -> Affine:
        start, end = (layouts[number] for number in ends)
        rows = tensors[f"{name}.weights"].tolist()
        if any(not (0 <= i < start.dimension and 0 <= j < end.dimension) for i, j, _, _ in rows):
            raise ValueError(f"{name} has an index outside its layout")
        weights = {(i, j): fmpq(p, q) for i, j, p, q in rows}
        return Affine(start, end, weights, vector(f"{name}.bias", end))

    def network(name: str) -> FeedForward:
        saved = about["networks"][name]
        maps = (affine(f"{name}.{n}", ends) for n, ends in enumerate(saved["maps"], start=1))
        found = FeedForward(tuple(maps), _ACTIVATIONS[saved["activation"]])
        found(Vector.zero(layout)) + Vector.zero(layout)  # its maps fit each other and the layout
        return found

    def layer(side: str, number: int) -> dict[str, FeedForward]:
        return {letter: network(f"{side}.{number}.{letter}") for letter in "QKVO"}

    numbers = range(1, about["encoder_layers"] + 1)
    encoder = tuple(Layer(**layer("encoder", number)) for number in numbers)
    numbers = range(1, about["decoder_layers"] + 1)
    decoder = tuple(Layer(**layer("decoder", number)) for number in numbers)
    q_init, q_read, q_rewind = about["names"]
    return CompiledTransformer(
        normal=NormalMachine(
            machine_of(about["given"]),
            machine_of(about["normal"]),
            q_init,
            q_read,
            q_rewind,
            frozenset(about["pauses"]),
        ),
        network=Transformer(
            layout=layout,
            encoder=encoder,
            K=network("encoder.K"),
            V=network("encoder.V"),
            decoder=decoder,
            F=network("F"),
            score=score_phi,
            rho=hardmax,
            pos=ReciprocalPositions(layout, tuple(about["positions"])),
        ),
        embedding={
            symbol: vector(f"embedding.{number}", layout)
            for number, symbol in enumerate(about["alphabet"])
        },
        seed=vector("seed", layout),
        final_states=frozenset(about["final_states"]),
        score=read_score(str(about["score"])),
    )


def _integers(rows: list[tuple[Any, ...]], columns: int) -> "np.ndarray[Any, Any]":
    """Rows whose last item is a rational, as integers with numerator and denominator at the end."""
    numbers = [(*row[:-1], int(row[-1].p), int(row[-1].q)) for row in rows]
    try:
        return np.array(numbers, dtype=np.int64).reshape(len(rows), columns)
    except OverflowError:
        raise OutputError("a weight has more than 64 bits, which the file cannot hold") from None


def _vector_tensor(vector: Vector) -> "np.ndarray[Any, Any]":
    entries: list[tuple[int, Rational]] = sorted(vector.entries.items())
    return _integers(entries, 3)


def machine_parts(machine: TuringMachine) -> dict[str, Any]:
    """A machine as JSON."""
    return {
        "states": machine.states,
        "symbols": machine.symbols,
        "blank": machine.blank,
        "start": machine.start,
        "delta": [
            [*key, to, write, move.value] for key, (to, write, move) in machine.delta.items()
        ],
        "accepting": sorted(machine.accepting),
        "default_input": machine.default_input,
        "input_symbols": machine.input_symbols,
        "name": machine.name,
        "description": machine.description,
    }


def machine_of(parts: Mapping[str, Any]) -> TuringMachine:
    """The machine that `machine_parts` describes."""
    delta = {(q, s): Action(p, w, Move(m)) for q, s, p, w, m in parts["delta"]}
    return TuringMachine(**{**parts, "delta": delta})
