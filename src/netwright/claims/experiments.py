"""Experiments for every numbered statement of the paper, and for ours past it.

An experiment counts its cases and ends at the first that does not hold. It is not a proof; the
proofs for all inputs are beside the code of each statement.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

from netwright.claims.beyond import BEYOND
from netwright.claims.cases import Case, Experiment, compared, some_runs
from netwright.claims.paper import statements
from netwright.definitions.neural_gpu import Convolution, NeuralGPU
from netwright.definitions.recognizer import Recognizer
from netwright.definitions.transformer import (
    Layer,
    Transformer,
    dot_product,
    hardmax,
    score_phi,
    square_plus_one,
)
from netwright.errors import InputError
from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.layout import Layout
from netwright.exact.rational import Rational, rational
from netwright.exact.vector import Vector
from netwright.kind.transformer.construction import to_transformer
from netwright.kind.transformer.lemma_b6_if import if_maps
from netwright.machine.library import library_machine
from netwright.network.network import network_for_word
from netwright.statements.corollary_3_2_parity import parity_pair
from netwright.statements.proposition_3_3_majority import majority_recognizer
from netwright.statements.proposition_4_2_circular import length_pair
from netwright.statements.section_3_3_fixed_precision import (
    RoundedPositions,
    first_collision,
    palindrome_and_swapped,
)


@dataclass(frozen=True)
class Claim:
    """A statement, and the result of its experiment."""

    name: str
    title: str
    checked: str
    cases: int
    failure: str | None
    deviation: str
    is_ours: bool = False
    on: tuple[str, ...] = ()
    """The machines with their inputs, or the random networks by their seeds, of the cases."""


def run_claim(name: str, thorough: bool = False) -> Claim:
    """Run the experiment of a statement."""
    experiment = EXPERIMENTS[name]
    count, failure, on = 0, None, dict[str, None]()
    for holds, what in experiment.cases(thorough):
        count += 1
        if what:
            on[what.partition(": ")[0]] = None
        if not holds:
            failure = what
            break
    about = statements()[name]
    departs, is_ours = about.get("deviation", ""), about.get("ours", False)
    checked = experiment.checked
    return Claim(name, about["title"], checked, count, failure, departs, is_ours, tuple(on))


def claim_names(labels: list[str]) -> list[str]:
    """Look up statements by label or name, in the paper's order; all if no label is given."""
    if not labels:
        return list(EXPERIMENTS)
    known = {about.get("label", name): name for name, about in statements().items()}
    for name in EXPERIMENTS:  # "Lemma B.4" is also "lemma b.4" and "b.4"
        known |= {name.lower(): name, name.lower().rpartition(" ")[2]: name}
    chosen = []
    for label in labels:
        name = known.get(label, known.get(label.lower(), ""))
        if name not in EXPERIMENTS:
            raise InputError(f"no claim {label!r}; there are {', '.join(EXPERIMENTS)}")
        chosen.append(name)
    return [name for name in EXPERIMENTS if name in chosen]


# Machines.


def _words(alphabet: str, longest: int) -> Iterator[tuple[str, ...]]:
    for length in range(longest + 1):
        yield from product(alphabet, repeat=length)


def _definition_2_1(thorough: bool) -> Iterator[Case]:
    recognizer = to_transformer(library_machine("even-as")).recognizer
    for word in _words("ab", 4 if thorough else 3):
        accepted = recognizer.accepts_at(word, 2 * len(word) + 30) is not None
        yield accepted == (word.count("a") % 2 == 0), f"{''.join(word)!r}: accepted is {accepted}"


def _lemma(statement: str, thorough: bool) -> Iterator[Case]:
    """Check one lemma and take the others for granted."""
    for machine, word, steps in some_runs(thorough):
        network = network_for_word(machine, "transformer", tuple(word))
        for check in network.kind.proof.checks(network.compiled, tuple(word), steps):
            if check.statement == statement:
                what = f"{check.name} of token {check.time} is {check.found}"
                yield check.found == check.wanted, f"{machine.name} on {word!r}: {what}"


def _lemma_b6(thorough: bool) -> Iterator[Case]:
    size = 3 if thorough else 2
    labels = tuple(map(str, range(size)))
    layout = Layout.of(x="", y=labels, z=labels, b="")
    first, second = if_maps(layout, x=("x",), y="y", z="z", b="b", result="r")
    network = FeedForward((first, second))
    # x, doubled, is 0, 1 or 2; all others are bits.
    for doubled, b, *bits in product((0, 1, 2), (0, 1), *[(0, 1)] * (2 * size)):
        x = rational(doubled) / 2
        y = dict(zip(labels, bits[:size], strict=True))
        z = dict(zip(labels, bits[size:], strict=True))
        found = network(Vector.of(layout, x=x, y=y, z=z, b=b))
        wanted = Vector.of(second.output, x=x, r=z if b else y)
        yield found == wanted, f"if {b} then {z} else {y}: it gives {found}"


# Random networks, for the propositions.

_LAYOUT = Layout.of(x="", y="", z="")


def _random_vector(draw: random.Random) -> Vector:
    return Vector(_LAYOUT, {k: rational(draw.randint(-2, 2)) for k in range(3)})


def _random_weights(draw: random.Random, size: int, count: int) -> dict[tuple[int, int], Rational]:
    return {
        (draw.randrange(size), draw.randrange(size)): rational(draw.choice([-1, 1, 2]))
        for _ in range(count)
    }


def _random_affine(draw: random.Random, *, bias: bool = True) -> Affine:
    weights = _random_weights(draw, 3, 4)
    offset = _random_vector(draw) if bias else Vector.zero(_LAYOUT)
    return Affine(_LAYOUT, _LAYOUT, weights, offset)


def _random_map(draw: random.Random) -> FeedForward:
    return FeedForward(tuple(_random_affine(draw) for _ in range(draw.randint(1, 2))))


def random_transformer(draw: random.Random) -> Transformer:
    """A random Transformer without positional encodings."""

    def layers() -> tuple[Layer, ...]:
        return tuple(
            Layer(*(_random_map(draw) for _ in range(4))) for _ in range(draw.randint(1, 2))
        )

    return Transformer(
        _LAYOUT,
        layers(),
        _random_map(draw),
        _random_map(draw),
        layers(),
        _random_map(draw),
        score=draw.choice([score_phi, dot_product]),
        rho=draw.choice([hardmax, square_plus_one]),
    )


def random_neural_gpu(draw: random.Random, shape: tuple[int, int], *, circular: bool) -> NeuralGPU:
    """A random uniform Neural GPU with kernels of this shape."""

    def convolution() -> Convolution:
        kernels = tuple(
            tuple(_random_affine(draw, bias=False) for _ in range(shape[1]))
            for _ in range(shape[0])
        )
        return Convolution(kernels, (_random_vector(draw),))

    return NeuralGPU(_LAYOUT, convolution(), convolution(), convolution(), circular=circular)


def _recognizers(
    make: Callable[[random.Random], Transformer | NeuralGPU], thorough: bool
) -> Iterator[Recognizer]:
    for seed in range(100 if thorough else 20):
        draw = random.Random(seed)
        network = make(draw)
        a, b, seed_vector = (_random_vector(draw) for _ in range(3))
        embedding = {"a": a, "b": b}
        yield Recognizer(("a", "b"), embedding, network, seed_vector, lambda y: y.number("x") > 0)


def _equal_outputs(
    recognizers: Iterator[Recognizer], pairs: Sequence[tuple[str, str]], outputs: int
) -> Iterator[Case]:
    for number, recognizer in enumerate(recognizers):
        for w, u in pairs:
            where = recognizer.first_difference(tuple(w), tuple(u), outputs)
            yield where is None, f"random network {number}: output {where} on {w} and {u}"


def _proposition_3_1(thorough: bool) -> Iterator[Case]:
    pairs = [("ab", "ba"), ("ab", "abab"), ("aab", "baaaba"), ("abb", "bbabba")]
    return _equal_outputs(_recognizers(random_transformer, thorough), pairs, 3)


def _corollary_3_2(thorough: bool) -> Iterator[Case]:
    for number, recognizer in enumerate(_recognizers(random_transformer, thorough)):
        try:
            pair = parity_pair(recognizer, 3)
            even = pair.wrong_about.count("a") % 2 == 0
            holds = even == (pair.accepted_at is None)
        except AssertionError:
            holds = False
        yield holds, f"random network {number}: it distinguishes aabb from ab"


def _proposition_3_3(thorough: bool) -> Iterator[Case]:
    for score, rho in product((score_phi, dot_product), (hardmax, square_plus_one)):
        recognizer = majority_recognizer(score, rho)
        for word in _words("ab", 9 if thorough else 6):
            accepted = recognizer.accepts_at(word, 2) is not None
            wanted = word.count("a") > word.count("b")
            yield accepted == wanted, f"{''.join(word)!r}: accepted is {accepted}"


def _section_3_3(thorough: bool) -> Iterator[Case]:
    compiled = to_transformer(library_machine("palindrome"))
    exact = compiled.network.pos
    assert exact is not None
    for bits in (2, 3, 4) if thorough else (2, 3):
        pos = RoundedPositions(exact, bits)
        collision = first_collision(pos)
        yield collision is not None, f"{bits} bits: no two positions are equal"
        if collision is None:
            continue
        palindrome, swapped = palindrome_and_swapped(*collision, "a", "b")
        yield palindrome == palindrome[::-1], f"{bits} bits: {palindrome} is not a palindrome"
        yield swapped != swapped[::-1], f"{bits} bits: {swapped} is a palindrome"
        for seed in range(6 if thorough else 3):
            network = compiled.network if seed == 0 else _with_layers(compiled.network, seed)
            recognizer = replace(compiled.recognizer, network=replace(network, pos=pos))
            where = recognizer.first_difference(palindrome, swapped, 8)
            yield where is None, f"{bits} bits: network {seed}, output {where} differs"


def _with_layers(network: Transformer, seed: int) -> Transformer:
    """The same network with random weights for the external keys and values."""
    draw = random.Random(seed)
    size = network.layout.dimension

    def some() -> FeedForward:
        weights = _random_weights(draw, size, 3 * size)
        bias = Vector.zero(network.layout)
        return FeedForward((Affine(network.layout, network.layout, weights, bias),))

    return replace(network, K=some(), V=some())


def _kernel_1_1(thorough: bool) -> Iterator[Case]:
    def make(draw: random.Random) -> NeuralGPU:
        return random_neural_gpu(draw, (1, 1), circular=draw.random() < 0.5)

    pairs = [("a", "ba"), ("ab", "bb"), ("aab", "b")]
    return _equal_outputs(_recognizers(make, thorough), pairs, 6)


def _proposition_4_2(thorough: bool) -> Iterator[Case]:
    def make(draw: random.Random) -> NeuralGPU:
        return random_neural_gpu(draw, draw.choice([(2, 1), (3, 1), (3, 3)]), circular=True)

    for number, recognizer in enumerate(_recognizers(make, thorough)):
        try:
            pair = length_pair(recognizer, 6)
            holds = len(pair.inside) % 2 == 0 and len(pair.outside) % 2 == 1
        except AssertionError:
            holds = False
        yield holds, f"random network {number}: it distinguishes aa from aaa"


EXPERIMENTS = {
    "Definition 2.1": Experiment(
        "a recognizer accepts exactly the words of its language", _definition_2_1
    ),
    "Theorem 2.3": Experiment("RNNs against machines at every step", partial(compared, "rnn")),
    "Proposition 3.1": Experiment(
        "equal outputs on words of equal proportions, for random networks", _proposition_3_1
    ),
    "Corollary 3.2": Experiment("aabb and ab treated alike by random networks", _corollary_3_2),
    "Proposition 3.3": Experiment("majority, for two scores and two normalisers", _proposition_3_3),
    "Theorem 3.4": Experiment(
        "Transformers against machines, every vector of the proof", partial(compared, "transformer")
    ),
    "Section 3.3": Experiment(
        "rounded positions: a palindrome and another word with equal outputs", _section_3_3
    ),
    "Lemma B.1": Experiment("the vector a1 of every token", partial(_lemma, "Lemma B.1")),
    "Lemma B.2": Experiment("the vector z1 of every token", partial(_lemma, "Lemma B.2")),
    "Lemma B.3": Experiment("the vectors p2 and z2 of every token", partial(_lemma, "Lemma B.3")),
    "Lemma B.4": Experiment("the token attended to, p3 and z3", partial(_lemma, "Lemma B.4")),
    "Lemma B.5": Experiment("the output of every token", partial(_lemma, "Lemma B.5")),
    "Lemma B.6": Experiment("if-then-else on all small vectors", _lemma_b6),
    "Theorem 4.1": Experiment(
        "Neural GPUs against machines, every cell", partial(compared, "neural-gpu")
    ),
    "Kernels (1, 1)": Experiment(
        "equal outputs on words with the same last symbol, for random networks", _kernel_1_1
    ),
    "Proposition 4.2": Experiment("uu and uuu treated alike by random networks", _proposition_4_2),
    **BEYOND,
}
"""By the names of PAPER.toml."""
