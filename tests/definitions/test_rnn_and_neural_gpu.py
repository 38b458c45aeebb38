"""The RNN (Equations 2, 3) and the Neural GPU (Equations 14, 15), written once more."""

from fractions import Fraction
from itertools import islice, pairwise, product

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples
from tests.strategies import D, feed_forward_networks, neural_gpus, vectors

from netwright.definitions.neural_gpu import Convolution, Grid, NeuralGPU
from netwright.definitions.rnn import RNN
from netwright.errors import InputError, NetworkError
from netwright.exact.feed_forward import Affine, LinearMap, linear
from netwright.exact.rational import Activation, Rational, relu, sigma
from netwright.exact.vector import Vector, hadamard, pointwise

matrices = feed_forward_networks().map(
    lambda network: Affine(D, D, network.maps[0].weights, Vector.zero(D))
)


def half_up(x: Rational) -> Rational:
    """An activation that is not 0 at 0."""
    return sigma(x + fmpq(1, 2))


activations = st.sampled_from([sigma, relu, half_up])


@examples(60)
@given(
    st.tuples(matrices, matrices, matrices, matrices),
    st.tuples(vectors(), vectors(), vectors()),
    st.tuples(activations, activations),
    st.lists(vectors(), max_size=4),
)
def test_the_rnn_is_equations_2_and_3(
    maps: tuple[Affine, Affine, Affine, Affine],
    some: tuple[Vector, Vector, Vector],
    f: tuple[Activation, Activation],
    X: list[Vector],
) -> None:
    (W, V, U, R), (b1, b2, seed) = maps, some

    def double(g: Vector) -> Vector:
        return g + g

    rnn = RNN(D, W, V, U, R, b1, b2, double, *f)
    h = Vector.zero(D)
    for x in X:
        h = pointwise(f[0], W(x) + V(h) + b1)
    g, y = h, seed
    for output in islice(rnn.outputs(X, seed), 3):
        g = pointwise(f[1], U(g) + R(y) + b2)
        y = double(g)
        assert output == y


def test_activations_that_are_not_zero_at_zero_reach_every_coordinate() -> None:
    half = fmpq(1, 2)
    assert pointwise(half_up, Vector.zero(D)) == Vector.of(D, x=half, y=half, z=half)


@given(matrices, matrices, matrices, vectors())
def test_a_linear_map_is_the_sum_of_its_products(
    A: Affine, B: Affine, C: Affine, x: Vector
) -> None:
    both = LinearMap(D, D, ((A, B), (C,)))
    assert both(x) == B(A(x)) + C(x) == both.matrix(x)
    assert linear(D, D)(x) == Vector.zero(D)


def test_a_matrix_has_no_bias() -> None:
    biased = Affine.of(D, D, {("x", "x"): 1}, {"x": 5})
    zero = linear(D, D)
    for make in (
        lambda: LinearMap(D, D, ((biased,),)),
        lambda: RNN(D, zero, biased, zero),
        lambda: Convolution(((biased,),)),
    ):
        with pytest.raises(NetworkError, match="expected a matrix; got an affine map with the"):
            make()


def naive_step(network: NeuralGPU, S: Grid) -> Grid:
    """Equations 14 and 15 with explicit indices from 1 on, cell by cell."""
    height, width = len(S), len(S[0])

    def at(T: Grid, i: int, j: int) -> Vector:
        if network.circular:
            return T[(i - 1) % height][(j - 1) % width]
        inside = 1 <= i <= height and 1 <= j <= width
        return T[i - 1][j - 1] if inside else Vector.zero(D)

    def conv(c: Convolution, T: Grid) -> Grid:
        k_h, k_w = c.shape
        result = [[Vector.zero(D)] * width for _ in range(height)]
        for i, j in product(range(1, height + 1), range(1, width + 1)):
            total = c.bias[j - 1]  # type: ignore[index]  # uniform
            for u, v in product(range(1, k_h + 1), range(1, k_w + 1)):
                delta = u - k_h // 2 - 1, v - k_w // 2 - 1
                total += c.kernels[u - 1][v - 1](at(T, i + delta[0], j + delta[1]))
            result[i - 1][j - 1] = pointwise(c.f, total)
        return result

    gate, reset = conv(network.U, S), conv(network.R, S)
    cells = list(product(range(height), range(width)))
    masked = [[Vector.zero(D)] * width for _ in range(height)]
    for i, j in cells:
        masked[i][j] = hadamard(reset[i][j], S[i][j])
    new = conv(network.F, masked)
    ones = Vector.of(D, x=1, y=1, z=1)
    return [
        [
            hadamard(gate[i][j], S[i][j]) + hadamard(ones + -1 * gate[i][j], new[i][j])
            for j in range(width)
        ]
        for i in range(height)
    ]


@examples(60)
@given(neural_gpus(), st.lists(vectors(), min_size=1, max_size=4))
def test_the_neural_gpu_is_equations_14_and_15(network: NeuralGPU, X: list[Vector]) -> None:
    tensors = list(islice(network.tensors(X), 4))
    assert all(S[0][1:] == [Vector.zero(D)] * (network.width - 1) for S in tensors[:1])
    for before, after in pairwise(tensors):
        assert after == naive_step(network, before)
    outputs = list(islice(network.outputs(X), 3))
    assert outputs == [S[-1][0] for S in tensors[1:]]


def test_a_bias_may_depend_on_the_row() -> None:
    nothing = linear(D, D)

    def bias(i: int, j: int) -> Vector:
        return Vector.of(D, x=fmpq(i, 10), y=fmpq(j, 10))

    zero = Convolution(((nothing,),))
    network = NeuralGPU(D, zero, zero, Convolution(((nothing,),), bias), width=2)
    S = network.step([[Vector.zero(D)] * 2 for _ in range(3)])
    assert S[2][1] == Vector.of(D, x=Fraction(3, 10), y=Fraction(2, 10))


def test_no_input_means_no_output_cell() -> None:
    zero = Convolution(((linear(D, D),),))
    with pytest.raises(InputError, match="on no input has no output cell"):
        next(NeuralGPU(D, zero, zero, zero).outputs([]))
