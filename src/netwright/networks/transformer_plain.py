"""The Transformer of one machine as plain tensors and names."""

from collections.abc import Iterator
from typing import Any

from netwright.exact.feed_forward import Affine
from netwright.exact.layout import Layout
from netwright.exact.meanings import Meanings
from netwright.exact.rational import ONE
from netwright.exact.vector import Vector
from netwright.nets.attention import dot_product, score_phi
from netwright.nets.positional import Positions
from netwright.networks.plain import VECTOR, Plain, name_of_function, tensor_of
from netwright.networks.tree import feed_forwards
from netwright.theorems.decoder import CompiledNormalDecoder

SCORES: dict[Any, str] = {score_phi: "-|<q, k>|", dot_product: "<q, k>"}
TOKENS, SYMBOLS = "tokens so far", "symbols of the input"
"""What the last axis of an attention counts."""


def plain_transformer(about: Any, compiled: CompiledNormalDecoder, meanings: Meanings) -> Plain:
    """Embedding, seed, positions, every map, and y ↦ q1[q] + s1[s] − 1 to read it."""
    layout, machine, network = compiled.layout, compiled.normal.machine, compiled.network
    plain = Plain.of(about, compiled.normal.given, network, meanings)
    plain.embedding(compiled.embedding, ())
    plain.tensors["seed"] = tensor_of(compiled.seed)
    assert isinstance(network.pos, Positions)
    score = SCORES[network.score]
    plain.names |= {
        "score": score,
        "layers": {"encoder": len(network.encoder), "decoder": len(network.decoder)},
        "positions": [layout.index(block) for block in network.pos.blocks],
        "networks": {
            name: name_of_function(net.activation) for name, net in feed_forwards(network).items()
        },
        "activations": {
            name: {"columns": columns, "meaning": meaning}
            for name, columns, meaning in _activations(compiled, score)
        },
    }
    pairs = [(q, s) for q in machine.states for s in machine.symbols]
    columns = Layout.of(pair=[f"{q!r}, {s!r}" for q, s in pairs])
    ones = {
        (layout.index(block, label), n): ONE
        for n, (q, s) in enumerate(pairs)
        for block, label in (("q1", q), ("s1", s))
    }
    bias = Vector(columns, dict.fromkeys(range(len(pairs)), -ONE))
    plain.readout(Affine(layout, columns, ones, bias), pairs, compiled.final_states)
    return plain


def _activations(compiled: CompiledNormalDecoder, score: str) -> Iterator[tuple[str, str, str]]:
    """Every vector by name, with what its last axis counts and what it is."""
    network = compiled.network
    for n in range(1, len(network.encoder) + 1):
        yield f"encoder.{n}.input", VECTOR, "the input's symbols with their positions"
        yield from _self_attention(f"encoder.{n}.self", "x", SYMBOLS, score)
        yield f"encoder.{n}.a", VECTOR, "Att(Q(x), K(X), V(X)) + x (Equation 6)"
        yield f"encoder.{n}.z", VECTOR, "O(a) + a (Equation 7)"
    yield "encoder.K", VECTOR, "the keys of the external attention (Equation 8)"
    yield "encoder.V", VECTOR, "its values (Equation 8)"
    for n in range(1, len(network.decoder) + 1):
        yield f"decoder.{n}.input", VECTOR, "y + pos, or z of the layer before"
        yield from _self_attention(f"decoder.{n}.self", "y", TOKENS, score)
        yield f"decoder.{n}.p", VECTOR, "Att(Q(y), K(Y), V(Y)) + y (Equation 9)"
        yield f"decoder.{n}.external.q", VECTOR, "p, as the query of the external attention"
        yield f"decoder.{n}.external.scores", SYMBOLS, score
        yield f"decoder.{n}.external.pattern", SYMBOLS, "1/r for the r greatest scores, else 0"
        yield f"decoder.{n}.a", VECTOR, "Att(p, K, V of the encoder) + p (Equation 10)"
        yield f"decoder.{n}.z", VECTOR, "O(a) + a (Equation 11)"
    yield "y", VECTOR, "F(z): state, symbol and move of the next moment (Equation 12)"


def _self_attention(name: str, x: str, counted: str, score: str) -> Iterator[tuple[str, str, str]]:
    yield f"{name}.q", VECTOR, f"Q({x})"
    yield f"{name}.k", VECTOR, f"K({x})"
    yield f"{name}.v", VECTOR, f"V({x})"
    yield f"{name}.scores", counted, score
    yield f"{name}.pattern", counted, "1/r for the r greatest scores, else 0"
