"""Experiments for statements past the paper: pointers, one network for all, open questions."""

import random
from collections.abc import Iterator
from functools import partial
from itertools import islice

from netwright.claims.cases import Case, Experiment, compared, some_runs
from netwright.definitions.transformer import Layer, Transformer, hardmax, square_plus_one
from netwright.definitions.without import TransformerWithout
from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.layout import Layout
from netwright.exact.rational import rational
from netwright.exact.vector import Vector
from netwright.kind.pointer_transformer.linked_visits import LinkedVisits
from netwright.machine.library import library_machine, library_names
from netwright.network.network import network_for_word
from netwright.statements.residual_around_cross_attention import first_difference, most_outputs

UNIVERSAL = "universal-transformer"


def _linked_visits(thorough: bool) -> Iterator[Case]:
    """Check the table of the lemma at every time of some runs."""
    for machine, word, steps in some_runs(thorough):
        visits = LinkedVisits(machine, tuple(word), steps)
        for i in range(visits.end):
            followed = visits.followed(i)
            if followed is None:
                wanted = visits.R[i], visits.L[i]
            elif visits.m[i] > 0:
                wanted = visits.R[followed], i
            else:
                wanted = i, visits.L[followed]
            now = visits.R[i + 1], visits.L[i + 1]
            at = f"{machine.name} on {word!r}, time {i + 1}"
            yield now == wanted, f"{at}: {now}, not {wanted}"
            if followed:  # at NULL the symbol is the input's, or a blank
                found = visits.v[followed]
                yield found == visits.s[i + 1], f"{at}: {visits.s[i + 1]}, not {found}"


def _pointer_transformer(thorough: bool) -> Iterator[Case]:
    """Check two layers, without means and without 1/i²; then with dot products alone."""
    yield from compared("pointer-transformer", thorough)
    yield from compared("pointer-transformer", thorough, attention="dot-product")


def _universal_transformer(thorough: bool, size: str = "21") -> Iterator[Case]:
    """Check every vector, and that all machines of the library have the same weights."""
    yield from compared(UNIVERSAL, thorough, size=size)
    digests = set()
    for name in library_names():
        network = network_for_word(library_machine(name), UNIVERSAL, (), size=size)
        digests.add(network.facts["weights_digest"])
        yield len(digests) == 1, f"{name}: it has other weights"
        yield network.certify().holds, f"{name}: it is not certified"


def random_decoder(draw: random.Random) -> Transformer:
    """A Transformer with positions and two decoder layers of random weights."""
    layout = Layout.of(dict.fromkeys("abc", ""))

    def some(hidden: bool = False) -> FeedForward:
        def affine() -> Affine:
            weights = {
                (j, k): rational(draw.choice([-2, -1, 0, 1, 2])) for j in range(3) for k in range(3)
            }
            bias = Vector.of(layout, a=draw.choice([-1, 0, 1]))
            return Affine(layout, layout, weights, bias)

        return FeedForward((affine(), affine()) if hidden else (affine(),))

    layers = tuple(Layer(Q=some(), K=some(), V=some(), O=some(hidden=True)) for _ in range(2))
    return Transformer(
        layout=layout,
        encoder=(),
        K=some(),
        V=some(),
        decoder=layers,
        F=some(hidden=True),
        rho=draw.choice([hardmax, square_plus_one]),
        pos=lambda i: Vector.of(layout, b=i, c=rational(1) / i),
    )


def without_residual(network: Transformer, layer: int) -> Transformer:
    """Remove the residual connection around the attention to the encoder in one layer."""
    return TransformerWithout.of(network, f"residual:decoder.{layer}.external")


def _cross_attention_residual(thorough: bool) -> Iterator[Case]:
    """Check that on at most one symbol all outputs are equal, whatever the weights are."""
    for seed in range(60 if thorough else 20):
        draw = random.Random(seed)
        network = random_decoder(draw)
        layout = network.layout
        for layer in (1, 2):
            collapsed = without_residual(network, layer)
            for word in ((), (Vector.of(layout, a=draw.randint(-2, 2)),)):
                where = first_difference(collapsed, word, Vector.of(layout, b=1), 6)
                what = f"layer {layer}, output {where} on {len(word)} symbols"
                yield where is None, f"random network {seed}: {what}"
        if network.rho == hardmax:
            last = without_residual(network, 2)
            two = [Vector.of(layout, a=n, c=draw.randint(-2, 2)) for n in range(2)]
            outputs = list(islice(last.outputs(two, Vector.of(layout, b=1)), 12))
            there = sum(y not in outputs[:n] for n, y in enumerate(outputs))
            holds = there <= most_outputs(last, len(two))
            yield holds, f"random network {seed}: {there} outputs on 2 symbols"


def _simulates(on: str, thorough: bool) -> Iterator[Case]:
    """Check every vector against machines, and that all machines of the library are certified."""
    yield from compared(on, thorough)
    for name in library_names():
        holds = network_for_word(library_machine(name), on, ()).certify().holds
        yield holds, f"{name}: it is not certified"


def _without_positions(thorough: bool) -> Iterator[Case]:
    """Check the network, and that the order of the input is lost with the encoder's mask."""
    yield from _simulates("positionless-transformer", thorough)
    for name, w, u in (("palindrome", "abba", "abab"), ("binary-increment", "10", "01")):
        network = network_for_word(library_machine(name), "positionless-transformer", ())
        unmasked = network.without("mask:encoder").compiled
        outputs = [unmasked.network.outputs(unmasked.embed(word), unmasked.seed) for word in (w, u)]
        pairs = enumerate(islice(zip(*outputs, strict=False), 8), start=1)
        where = next((n for n, (y, other) in pairs if y != other), None)
        yield where is None, f"{name} without the mask: output {where} on {w} and {u}"


BEYOND = {
    "Linked visits": Experiment("pointers and symbols at every time of runs", _linked_visits),
    "Pointer Transformer": Experiment(
        "two layers against machines, every vector; both scores", _pointer_transformer
    ),
    "Universal Transformer": Experiment(
        "one network against machines, every vector; its digest and certificates",
        _universal_transformer,
    ),
    "Smaller universal Transformer": Experiment(
        "one network of 16 coordinates in the same way",
        partial(_universal_transformer, size="16"),
    ),
    "Residual around cross-attention": Experiment(
        "without it, equal outputs on short inputs, for random networks", _cross_attention_residual
    ),
    "Open question: are residual connections essential?": Experiment(
        "a network without any against machines, every vector and head; certificates",
        partial(_simulates, "residual-free-transformer"),
    ),
    "Open question: are gates essential?": Experiment(
        "a Neural GPU without any against machines, every cell; certificates",
        partial(_simulates, "gateless-neural-gpu"),
    ),
    "Open question: are positional encodings essential?": Experiment(
        "a network with masks against machines, every vector; certificates; without its mask",
        _without_positions,
    ),
}
"""By the names of PAPER.toml."""
