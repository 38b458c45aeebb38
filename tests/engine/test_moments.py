"""Codes of watched blocks."""

import numpy as np
from flint import fmpq

from netwright.engine.moments import NEITHER, ZERO_BLOCK, ReferenceEngine, Watch
from netwright.exact.feed_forward import Affine
from netwright.exact.layout import Layout
from netwright.exact.vector import Vector

LAYOUT = Layout.of(q=("a", "b"), x="")


def test_a_block_is_one_hot_or_zero_or_neither() -> None:
    watch = Watch("y", "q")
    assert watch.code(Vector.of(LAYOUT, q="b", x=7)) == 1
    assert watch.code(Vector.zero(LAYOUT)) == ZERO_BLOCK
    for content in ({"a": 1, "b": 1}, {"a": 2}, {"b": fmpq(1, 2)}, {"a": -1}):
        assert watch.code(Vector.of(LAYOUT, q=content)) == NEITHER


def test_a_sign() -> None:
    watch = Watch("y", "x", sign=True)
    codes = [watch.code(Vector.of(LAYOUT, x=x)) for x in (-1, 0, 1, 2, fmpq(1, 2))]
    assert codes == [-1, 0, 1, NEITHER, NEITHER]


def test_a_watch_looks_through_a_map() -> None:
    swap = Affine.of(LAYOUT, LAYOUT, {("q", "q"): {("a", "b"): 1, ("b", "a"): 1}})
    assert Watch("y", "q", through=swap).code(Vector.of(LAYOUT, q="a")) == 1


def test_moments_are_done_again_from_a_snapshot() -> None:
    def moments() -> ReferenceEngine:
        return ReferenceEngine(({"y": Vector.of(LAYOUT, q=q)} for q in "abba"), [Watch("y", "q")])

    first, second = moments(), moments()
    first.advance(9), first.advance(9)
    second.restore(first.snapshot())
    assert np.array_equal(first.advance(1), second.advance(1))
    assert second.before["y"] == Vector.of(LAYOUT, q="b")
