"""Networks made to break the engine: each gave a wrong vector once."""

import random
from itertools import islice, pairwise
from typing import Any

import pytest
from flint import fmpq
from tests.engine.stacks import agree, matrix_of, tensors_agree
from tests.mutations import mutated_rnn

from netwright.definitions.neural_gpu import Convolution, NeuralGPU
from netwright.definitions.rnn import RNN
from netwright.engine.digits import Digits
from netwright.engine.moments import UnsuitableError, advance_to
from netwright.engine.rnn import FastRNN, last_hidden
from netwright.engine.stack_moments import vector_of
from netwright.exact.feed_forward import Affine, Weights
from netwright.exact.layout import Layout
from netwright.exact.vector import Vector
from netwright.kind.rnn.construction import compile_rnn
from netwright.machine.library import library_machine

THIRD = fmpq(1, 3)


def lines(names: str) -> Layout:
    return Layout.of(dict.fromkeys(names, ""))


def test_very_many_numbers() -> None:
    """Seventy cells in each of two cells of a grid: none is taken for another's."""
    names = tuple(f"n{i}" for i in range(70))
    layout = Layout.of(x=names)
    zero, ones = Affine.of(layout, layout), Vector(layout, {i: fmpq(1) for i in range(70)})
    half, own = (Affine.of(layout, layout, {("x", "x"): w}) for w in (fmpq(1, 2), 1))
    closed, passing = Convolution(((zero,),)), Convolution(((zero,),), bias=(ones,))
    network = NeuralGPU(layout, closed, passing, Convolution(((half,), (own,))))
    X = [Vector(layout, {i: fmpq(1, i + n) for i in range(70)}) for n in (100, 2)]
    tensors_agree(network, X, 4)


def test_an_empty_stack_is_not_shared() -> None:
    """A sum leaves a stack that is popped until it is empty, and then pushed on."""
    layout = lines("abuvsreo")
    V = matrix_of(layout, "ab", "bs", "vs", uv=THIRD, sr=3, re=3)
    W = matrix_of(layout, *(2 * name for name in "abuvsreo"))
    network = RNN(layout, W, V, matrix_of(layout, ee=THIRD), R=matrix_of(layout, oe=THIRD))
    X = [Vector.of(layout, a=THIRD, u=fmpq(1, 9)), Vector.zero(layout), Vector.zero(layout)]
    X += [Vector.of(layout, r=-1), Vector.of(layout, e=-THIRD)]
    agree(network, X, Vector.of(layout, o=1), 5)


def test_a_sum_of_cells_of_which_a_gate_has_read_digits() -> None:
    """The gate of w asks for digits of x before the sum z = x/3 + y/3 is looked at."""
    chain = "abcdefg"
    layout = lines("xyztqw" + chain)
    delays = [a + b for a, b in zip(chain, chain[1:] + "w", strict=True)]
    own = matrix_of(layout, "tt", "wq", *delays, xx=THIRD, tx=THIRD, yy=THIRD, xz=THIRD, yz=THIRD)
    passing = Vector.of(layout, dict.fromkeys("xyztq" + chain, 1))
    closed = Convolution(((matrix_of(layout),),))
    reset = Convolution(((matrix_of(layout, xw=9, tw=-4),),), bias=(passing,))
    update = Convolution(((matrix_of(layout, xq=fmpq(1, 9)),), (own,)))
    X = [Vector.of(layout, t=1, x=THIRD, y=1), Vector.of(layout, t=1, x=THIRD, y=fmpq(2, 3), a=1)]
    tensors_agree(NeuralGPU(layout, closed, reset, update), X, 14)


def test_digits_that_are_added_at_one_depth_again_and_again() -> None:
    """s adds p, which is deep below it; the symbol k leaves p as deep as it is."""
    layout = lines("suvp")
    V = matrix_of(layout, "uv", "vv", "up", "vp", "ss", "ps", uu=THIRD, vu=THIRD)
    network = RNN(layout, matrix_of(layout, "uu", "vv", "pp", "ss"), V, V)
    symbols = {
        "z": Vector.of(layout, v=-1, p=-1),
        "k": Vector.of(layout, u=-1),
        "h": Vector.of(layout, u=-1, p=-1),
        "i": Vector.of(layout, s=fmpq(2, 81), u=fmpq(1, 81)),
    }
    draw = random.Random(1)
    tails = ["zzzkkkkk", *("".join(draw.choice("zkh") for _ in range(20)) for _ in range(30))]
    for tail in tails:
        X, known = [symbols[c] for c in "i" + "kz" * 8 + tail], Digits()
        *_, expected = network.encoder_states(X)
        held = last_hidden(network, X, known)
        assert vector_of(layout, held.state, held.arrays(), known) == expected, tail


def test_a_stack_below_another_that_gets_a_second_digit() -> None:
    """s adds p, which is u, and between two of these the symbol m adds another digit to u."""
    names = "sABCEGuvptrq"
    layout = lines(names)
    thirds = dict.fromkeys(("uu", "vu", "qu", "CE", "tt", "rt"), THIRD)
    ones = ["ss", "ps", "uv", "vv", "qv", "up", "vp", "AB", "BG", "EG", "tr", "rr", "tq", "rq"]
    V = matrix_of(layout, *ones, **thirds, Gu=3)
    network = RNN(layout, matrix_of(layout, *(2 * name for name in names)), V, V)
    parts: dict[str, Any] = {
        "i": {"s": fmpq(5, 729), "A": fmpq(1, 729), "C": fmpq(2, 729), "t": fmpq(4, 729)},
        "o": {"u": fmpq(-3, 729), "v": -1, "p": -1, "t": -1, "q": -1},
        "z": dict.fromkeys("vptq", -1),
        "k": dict.fromkeys("utq", -1),
        "h": dict.fromkeys("uptq", -1),
        "m": dict.fromkeys("upt", -1),
        "y": dict.fromkeys("uprq", -1),
    }
    symbols = {name: Vector.of(layout, part) for name, part in parts.items()}
    word = "ihho" + "y" * 40 + "khz" * 9 + "zzzhkhmhzhkh"
    X, known = [symbols[c] for c in word], Digits()
    *_, expected = network.encoder_states(X)
    held = last_hidden(network, X, known)
    assert vector_of(layout, held.state, held.arrays(), known) == expected


def test_a_slot_beyond_the_shape_is_read_first() -> None:
    """Six numbers at once, after two moments without any."""
    layout = lines("rstabcdefy")
    fractions = {f"t{name}": fmpq(1, n) for n, name in enumerate("abcdef", start=2)}
    U = matrix_of(layout, "rs", "st", "tt", fy=4, ty=-1, **fractions)
    keep = matrix_of(layout, *(2 * name for name in "rstabcdefy"))
    network = RNN(layout, keep, matrix_of(layout), U)
    agree(network, [Vector.of(layout, r=1)], Vector.zero(layout), 8)


def test_going_back_to_where_the_engine_would_now_give_way() -> None:
    """By then it has met digits that it had not met there."""
    draw, gave_way = random.Random(12), 0
    for _ in range(60):
        compiled = compile_rnn(library_machine("palindrome"))
        network = mutated_rnn(mutated_rnn(compiled.network, draw), draw)
        X, zero = compiled.embed("abba"), Vector.zero(compiled.neurons.layout)
        expected = list(islice(network.decoder_states(X, zero), 30))
        fast, places = FastRNN(network, X, zero), []
        while fast.moments < 30:
            fast.advance(min(draw.randint(1, 6), 30 - fast.moments))
            places.append(fast.place())
        for place in draw.sample(places, len(places)):
            fast.go_back(place)
            assert fast.vector("0") == expected[fast.moments - 1]
        gave_way += fast.reason is not None
    assert gave_way < 30


def test_a_place_that_is_refused_is_reached_in_rationals(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compile_rnn(library_machine("palindrome"))
    X, zero = compiled.embed("abba"), Vector.zero(compiled.neurons.layout)
    expected = list(islice(compiled.network.decoder_states(X, zero), 20))
    fast = FastRNN(compiled.network, X, zero)
    advance_to(fast, 9)
    place, kept = fast.place(), fast.snapshot()
    monkeypatch.setattr("netwright.engine.tables.Tables.put", refuse)
    again = FastRNN(compiled.network, X, zero)
    again.restore(kept)
    fast.go_back(place)
    for engine in (fast, again):
        assert engine.reason == "no"
        assert engine.vector("0") == expected[8]
        engine.advance(1)
        assert engine.vector("0") == expected[9]
        assert engine.vector("0", before=True) == expected[8]


def refuse(*_: object) -> None:
    raise UnsuitableError("no")


def test_a_tall_stack_that_is_copied_has_room_to_grow() -> None:
    """After 215 moments a copy of x, by then as tall, becomes y, and both are pushed on."""
    names = tuple(f"c{i}" for i in range(215))
    layout = Layout.of(x="", y="", t="", p="", c=names)
    weights: dict[tuple[str, str], Weights] = {
        ("x", "x"): THIRD,
        ("t", "x"): fmpq(1, 9),
        ("t", "t"): 1,
        ("x", "p"): 1,
        ("t", "p"): -1,
        ("p", "y"): THIRD,
        ("y", "y"): THIRD,
        ("c", "p"): {(names[-1], ""): 1},
        ("c", "c"): dict.fromkeys(pairwise(names), 1),
    }
    keep = Affine.of(layout, layout, {(name, name): 1 for name in ("x", "y", "t", "p", "c")})
    start = Vector.of(layout, t=1, x=fmpq(1, 9), c=names[0])
    zero, U = Vector.zero(layout), Affine.of(layout, layout, weights)
    network = RNN(layout, keep, Affine.of(layout, layout), U)
    fast = FastRNN(network, [start], zero)
    expected = list(islice(network.decoder_states([start], zero), 402))
    for count in (1, 200, 200):
        wanted = fast.moments + count
        while fast.moments < wanted:
            fast.advance(wanted - fast.moments)
            tables = fast.faster.tables if fast.faster is not None else None
            if tables is not None:
                sizes = [len(array) for array in tables.store.arrays]
                assert (tables.clock[-len(sizes) :] < sizes).all()
    assert fast.vector("0") == expected[fast.moments - 1]
