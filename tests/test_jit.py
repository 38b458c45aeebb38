"""Loops in machine code do what Python does with their source, and refuse what is not for them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netwright.jit import compiled

LIMIT = 7


def first_below(x: Any, limit: int) -> int:
    """A return out of a loop, and a variable of the same name as its caller's."""
    for i in range(len(x)):
        total = x[i]
        if total < limit:
            return i
    return -1


def of_integers(x: Any, y: Any, out: Any) -> int:
    total, rounds = 0, 0
    for i in range(x.size):
        a, b = x[i], y[i % len(y)]
        if b == 0:
            continue
        if total > 100_000 or not total > -100_000:
            break
        total += a // b - (a % b) * LIMIT + (a > b) + min(a, b) - max(a, 3)
        total = total & 0xFFFF if a & 1 and b < 5 else ~total >> 2
        for k in range(out.shape[1] - 1, -1, -2):
            out[i % 2, k] += (total << (k & 3)) - first_below(x, a)
        j = i
        while 0 <= j < x.size and x[j] != 2:  # an index that is looked at only where there is one
            j -= 2
            rounds += 1
    return rounds - total


def of_floats(x: Any, out: Any, weights: tuple[int, float], scale: tuple[float]) -> None:
    count, factor = weights
    for i in range(len(x)):
        near = np.floor(x[i] * factor) if x[i] == x[i] else -1.5
        pattern = np.float64(x[i]).view(np.int64) & ~LIMIT
        out[i] = float(np.int64(pattern).view(np.float64)) + min(near, i / count) - abs(near)
        out[i] = max(out[i], scale[0]) if int(near) < i + 0.5 else -out[i]


integers = st.integers(-50, 50)


@given(
    st.lists(integers, max_size=12),
    st.lists(integers, min_size=1, max_size=5),
    st.sampled_from([np.int8, np.int16, np.int32, np.int64]),
)
def test_integers_are_what_they_are_in_python(x: list[int], y: list[int], kind: Any) -> None:
    arguments = np.array(x, dtype=kind), np.array(y, dtype=np.int64)
    found, wanted = np.zeros((2, 2, 4), dtype=np.int64)
    loop = compiled(of_integers, *arguments, found).loop
    of_python = np.array(x, dtype=np.int64), arguments[1], wanted  # which have all 64 bits
    assert loop(*arguments, found) == of_integers(*of_python)
    assert (found == wanted).all()


@given(st.lists(st.floats(-1e6, 1e6) | st.just(np.nan), max_size=9), st.integers(1, 9))
def test_floats_are_what_they_are_in_python(x: list[float], count: int) -> None:
    found, wanted = np.zeros((2, len(x)))
    bound = (count, 0.3), (-2.5,)
    assert compiled(of_floats, found, found, bound=bound).loop(np.array(x), found) == 0
    of_floats(np.array(x), wanted, *bound)
    assert found.tobytes() == wanted.tobytes()


def test_small_elements_have_their_signs() -> None:
    def add(x: Any, out: Any) -> None:
        for i in range(len(x)):
            out[i] = out[i] + x[i]

    for kind, byte in ((np.uint8, 200), (np.int8, -56)):
        x, out = np.full(1, 200, dtype=np.uint8).view(kind), np.zeros(1, dtype=np.int64)
        compiled(add, x, out).loop(x, out)
        assert out.tolist() == [byte]


@pytest.mark.parametrize(
    "wrong", [np.zeros(3, dtype=np.int64), np.zeros((3, 1)), np.zeros(6)[::2], [0.0], None]
)
def test_an_array_of_another_type_is_refused(wrong: Any) -> None:
    x = np.zeros(3)
    loop = compiled(of_floats, x, x, bound=((1, 0.5), (0.0,))).loop
    with pytest.raises(TypeError, match="of_floats: an array of another kind"):
        loop(x, wrong)


def slices(x: Any) -> None:
    x[:] = 0


def negative_index(x: Any) -> int:
    return x[-1]  # type: ignore[no-any-return]


def power(x: Any) -> None:
    x[0] = x[0] ** 2


def method(x: Any) -> None:
    x.sort()


def other_loop(x: Any) -> None:
    for number in x:
        x[0] = number


def narrowed(x: Any) -> None:
    total = 0
    total += 0.5 * x[0]


def renamed(x: Any) -> None:
    pair = (1, 2)
    if x[0]:
        pair = (3, 4)
    x[0] = pair[0]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (slices, r"slices: not for machine code: :"),
        (negative_index, r"negative_index: not for machine code: -1"),
        (power, r"power: not for machine code: x\[0\] \*\* 2"),
        (method, r"method: not for machine code: x"),
        (other_loop, r"other_loop: not for machine code: for number in x"),
        (narrowed, r"narrowed: a float where an integer was"),
        (renamed, r"renamed: not for machine code: pair"),
    ],
)
def test_other_python_is_refused_by_its_words(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        compiled(function, np.zeros(1, dtype=np.int64))


@pytest.mark.parametrize("kind", [np.float32, np.uint64, np.bool_, object])
def test_other_elements_are_refused(kind: Any) -> None:
    with pytest.raises(TypeError, match="no loops over arrays of"):
        compiled(first_below, np.zeros(1, dtype=kind), 0)


def test_a_loop_is_compiled_once_for_the_types_of_its_arguments() -> None:
    x = np.zeros(2, dtype=np.int64)
    compiled(first_below, x, 0)
    assert compiled(first_below, x, 1).seconds < 0.005
