"""Networks with one number changed: an engine must run them as the networks they are."""

import random
from dataclasses import replace
from typing import Any, TypeVar

from flint import fmpq
from tests.networks import networks_in, with_network

from netwright.definitions.neural_gpu import NeuralGPU
from netwright.definitions.rnn import RNN, Matrix
from netwright.exact.feed_forward import Affine, FeedForward, LinearMap
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector
from netwright.kind.compiled_decoder import CompiledDecoder


def mutated_number(old: Rational, draw: random.Random) -> Rational:
    """Zeroed, with its sign flipped, or changed."""
    return draw.choice([fmpq(0), -old, old + 1, old / 2, old - 1, fmpq(1, 2), fmpq(2)])


def mutated_affine(affine: Affine, draw: random.Random, *, biases: bool = False) -> Affine:
    """One weight changed, one that is not 0 more often than not; or one of the bias."""
    weights, bias = dict(affine.weights), dict(affine.bias.entries)
    if biases and draw.random() < 0.2:
        index = draw.randrange(affine.output.dimension)
        bias[index] = mutated_number(bias.get(index, fmpq(0)), draw)
        return Affine(affine.input, affine.output, weights, Vector(affine.output, bias))
    anywhere = draw.randrange(affine.input.dimension), draw.randrange(affine.output.dimension)
    place = draw.choice([anywhere, *(list(weights) or [anywhere])])
    weights[place] = mutated_number(weights.get(place, fmpq(0)), draw)
    return Affine(affine.input, affine.output, weights, affine.bias)


D = TypeVar("D", bound=CompiledDecoder)


def mutated_transformer(compiled: D, draw: random.Random) -> D:
    """In any layer, encoder and final map included."""
    name = draw.choice(sorted(networks_in(compiled)))
    network = networks_in(compiled)[name]
    maps = list(network.maps)
    number = draw.randrange(len(maps))
    maps[number] = mutated_affine(maps[number], draw, biases=True)
    return with_network(compiled, name, FeedForward(tuple(maps), network.activation))


def mutated_matrix(matrix: Matrix, draw: random.Random) -> Matrix:
    """In any of the factors of a product."""
    if isinstance(matrix, Affine):
        return mutated_affine(matrix, draw)
    if not matrix.terms:
        return matrix
    terms = [list(term) for term in matrix.terms]
    term = draw.choice(terms)
    number = draw.randrange(len(term))
    term[number] = mutated_affine(term[number], draw)
    return LinearMap(matrix.input, matrix.output, tuple(map(tuple, terms)))


def mutated_rnn(network: RNN, draw: random.Random) -> RNN:
    """In W, V or U; in U more often than not."""
    name = draw.choice("WVUUU")
    changes: dict[str, Any] = {name: mutated_matrix(getattr(network, name), draw)}
    return replace(network, **changes)


def mutated_neural_gpu(network: NeuralGPU, draw: random.Random) -> NeuralGPU:
    """In any kernel of U, R or F."""
    name = draw.choice("URF")
    convolution = getattr(network, name)
    kernels = [list(row) for row in convolution.kernels]
    row = draw.choice(kernels)
    number = draw.randrange(len(row))
    row[number] = mutated_matrix(row[number], draw)
    changed = replace(convolution, kernels=tuple(map(tuple, kernels)))
    return replace(network, **{name: changed})


def mutated(compiled: Any, draw: random.Random) -> Any:
    """One number of a network of any kind changed."""
    network = compiled.network
    if isinstance(network, RNN):
        return replace(compiled, network=mutated_rnn(network, draw))
    if isinstance(network, NeuralGPU):
        return replace(compiled, network=mutated_neural_gpu(network, draw))
    return mutated_transformer(compiled, draw)
