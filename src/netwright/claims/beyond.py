"""Experiments for statements past the paper: pointers, one network for all, an open question."""

import random
from collections.abc import Iterator
from functools import partial
from itertools import islice

from netwright.claims.cases import Case, Experiment, compared, some_runs
from netwright.definitions.transformer import Layer, Transformer, hardmax, square_plus_one
from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.layout import Layout
from netwright.exact.rational import rational
from netwright.exact.vector import Vector
from netwright.kind.pointer_transformer.linked_visits import LinkedVisits
from netwright.machine.library import library_machine, library_names
from netwright.network.network import network_for_word
from netwright.network.without import TransformerWithout

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
                outputs = list(islice(collapsed.outputs(word, Vector.of(layout, b=1)), 6))
                same = all(y == outputs[0] for y in outputs)
                yield same, f"random network {seed}: layer {layer}, outputs on {len(word)} symbols"


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
    "Open question: residuals": Experiment(
        "without the one around cross-attention, equal outputs on short inputs",
        _cross_attention_residual,
    ),
}
"""By the names of PAPER.toml."""
