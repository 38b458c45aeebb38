"""Random machines, words and networks for hypothesis."""

from hypothesis import strategies as st

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
from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.layout import Layout
from netwright.exact.rational import Rational, rational, relu, sigma
from netwright.exact.vector import Vector
from netwright.machine.turing_machine import Action, Move, TuringMachine

letters = st.sampled_from("abcdefgh")
wild_names = st.text(min_size=1, max_size=5)
"""Names with anything in them: spaces, quotes, commas, control characters, other scripts."""


@st.composite
def machines(
    draw: st.DrawFn,
    *,
    names: st.SearchStrategy[str] = letters,
    symbol_names: st.SearchStrategy[str] = letters,
    moves: str = "LRS",
    max_states: int = 4,
    max_symbols: int = 4,
    accepting: bool = True,
    default_input: bool = True,
) -> TuringMachine:
    """Machines with partial rules; nothing about them is in a special form."""
    states = draw(st.lists(names, min_size=1, max_size=max_states, unique=True))
    symbols = draw(st.lists(symbol_names, min_size=1, max_size=max_symbols, unique=True))
    actions = st.builds(
        Action, st.sampled_from(states), st.sampled_from(symbols), st.sampled_from(moves).map(Move)
    )
    keys = [(state, symbol) for state in states for symbol in symbols]
    rules = {key: draw(st.one_of(actions, actions, actions, st.none())) for key in keys}
    return TuringMachine(
        states=states,
        symbols=symbols,
        blank=draw(st.sampled_from(symbols)),
        start=draw(st.sampled_from(states)),
        delta={key: action for key, action in rules.items() if action is not None},
        accepting=draw(st.sets(st.sampled_from(states), max_size=1)) if accepting else (),
        default_input=draw(words(symbols)) if default_input else (),
    )


def words(symbols: list[str] | tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    """Words over the symbols, the blank included."""
    return st.lists(st.sampled_from(symbols), max_size=8).map(tuple)


D = Layout.of(x="", y="", z="")
"""The layout of random networks."""


def additive(q: Vector, k: Vector) -> Rational:
    """A score that is a small network of query and key: additive attention."""
    return sigma(q.number("x") + k.number("y")) + relu(q.number("z") - k.number("z"))


def vectors() -> st.SearchStrategy[Vector]:
    """Small vectors of layout `D`."""
    small = st.integers(-2, 2)
    return st.builds(lambda x, y, z: Vector.of(D, x=x, y=y, z=z), small, small, small)


@st.composite
def feed_forward_networks(draw: st.DrawFn) -> FeedForward:
    """Networks of one or two maps on layout `D`, with small weights."""
    place = st.tuples(st.integers(0, 2), st.integers(0, 2))
    weights = st.dictionaries(place, st.sampled_from([-1, 1, 2]).map(rational), max_size=4)
    maps = st.builds(Affine, st.just(D), st.just(D), weights, vectors())
    return FeedForward(tuple(draw(st.lists(maps, min_size=1, max_size=2))))


@st.composite
def transformers(draw: st.DrawFn, *, positions: bool = False) -> Transformer:
    """Transformers with random layers, scores and normalisers."""
    parts = {letter: feed_forward_networks() for letter in "QKVO"}
    return Transformer(
        layout=D,
        encoder=tuple(draw(st.lists(st.builds(Layer, **parts), max_size=2))),
        K=draw(feed_forward_networks()),
        V=draw(feed_forward_networks()),
        decoder=tuple(draw(st.lists(st.builds(Layer, **parts), min_size=1, max_size=2))),
        F=draw(feed_forward_networks()),
        score=draw(st.sampled_from([score_phi, dot_product, additive])),
        rho=draw(st.sampled_from([hardmax, square_plus_one])),
        pos=(lambda i: Vector.of(D, x=1, y=i, z=rational(1) / i)) if positions else None,
    )


@st.composite
def recognizers(draw: st.DrawFn) -> Recognizer:
    """Recognizers over a and b whose networks have no positional encodings."""
    return Recognizer(
        alphabet=("a", "b"),
        embedding={"a": draw(vectors()), "b": draw(vectors())},
        network=draw(transformers()),
        seed=draw(vectors()),
        final=lambda y: y.number("x") > 0,
    )


@st.composite
def convolutions(draw: st.DrawFn, shape: tuple[int, int], width: int) -> Convolution:
    """Convolutions on layout `D` with a kernel bank of some shape and a uniform bias."""
    place = st.tuples(st.integers(0, 2), st.integers(0, 2))
    weights = st.dictionaries(place, st.sampled_from([-1, 1, 2]).map(rational), max_size=3)
    kernel = st.builds(Affine, st.just(D), st.just(D), weights, st.just(Vector.zero(D)))
    kernels = tuple(tuple(draw(kernel) for _ in range(shape[1])) for _ in range(shape[0]))
    return Convolution(kernels, tuple(draw(vectors()) for _ in range(width)))


@st.composite
def neural_gpus(
    draw: st.DrawFn, *, circular: bool | None = None, shape: tuple[int, int] | None = None
) -> NeuralGPU:
    """Uniform Neural GPUs with random kernels of any small shape."""
    width = draw(st.integers(1, 2))
    sizes = st.tuples(st.integers(1, 3), st.integers(1, 3))
    update, reset, new = (draw(convolutions(shape or draw(sizes), width)) for _ in range(3))
    around = draw(st.booleans()) if circular is None else circular
    return NeuralGPU(D, update, reset, new, width=width, circular=around)


def gpu_recognizer(network: NeuralGPU) -> Recognizer:
    """A recognizer over a and b around a Neural GPU."""
    embedding = {"a": Vector.of(D, x=1), "b": Vector.of(D, y=1, z=-1)}
    return Recognizer(("a", "b"), embedding, network, Vector.zero(D), lambda y: y.number("x") > 0)
