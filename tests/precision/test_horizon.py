"""Bounds, searches, and machines that meet them."""

from functools import cache

import pytest

from netwright.kind.transformer.construction import compile_transformer
from netwright.kind.transformer.scores import PAPER, RECENCY, SCORES, Score
from netwright.machine.normal_form import ASSUMPTIONS, NormalMachine
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.precision import horizon
from netwright.precision.failures import first_failures
from netwright.precision.float_arithmetic import FloatArithmetic
from netwright.precision.formats import FORMATS, Format, binary
from netwright.precision.horizon import WrongOrder, first_possible, safe_until, search_limit
from netwright.precision.wiggle import in_normal_form, meeting

PAPER, RECENCY = PAPER, RECENCY


@cache
def searched(form: Format, score: Score = PAPER, *, two_way: bool = False) -> WrongOrder:
    last = 7100 if form.bits == 53 else search_limit(form, score)
    found = first_possible(form, score, last, two_way=two_way)
    assert found is not None
    return found


def test_the_bounds_are_fourth_and_square_roots() -> None:
    papers = {name: safe_until(form, PAPER) for name, form in FORMATS.items()}
    assert papers == {"float64": 5624, "float32": 36, "bfloat16": 2, "float16": 3}
    by_recency = [safe_until(FORMATS[name], RECENCY) for name in ("float32", "float64")]
    assert by_recency == [964, 22_369_620]
    assert [safe_until(binary(bits), RECENCY) for bits in (2, 3, 4)] == [0, 0, 0]


def test_the_first_possible_failure_of_each_type() -> None:
    assert searched(FORMATS["bfloat16"]) == WrongOrder(10, 3, 3, 5)
    assert searched(FORMATS["float16"]) == WrongOrder(14, 3, 9, 11)
    assert searched(FORMATS["float16"], two_way=True) == WrongOrder(10, -5, 7, 9)
    assert searched(FORMATS["float32"]) == WrongOrder(60, 43, 57, 59)


def test_accumulating_in_float32_does_not_help() -> None:
    """The components that are stored are rounded all the same."""
    sums = FORMATS["float32"]
    tokens = [first_possible(FORMATS[n], PAPER, 50, sums=sums) for n in ("bfloat16", "float16")]
    assert [each.token for each in tokens if each] == [8, 12]


@pytest.mark.thorough
def test_the_first_possible_failure_where_it_is_late() -> None:
    assert searched(FORMATS["float32"], RECENCY) == WrongOrder(1564, 935, 949, 951)
    assert searched(FORMATS["float64"]) == WrongOrder(6999, 6720, 6944, 6946)
    found = searched(FORMATS["float64"], two_way=True)
    assert found == WrongOrder(6985, -6770, 6958, 6960)


@pytest.mark.parametrize(
    ("score", "wanted"),
    [
        (PAPER, {12: 9, 14: 13, 16: 19, 18: 23, 20: 30, 22: 45, 24: 60}),
        (RECENCY, {8: 12, 11: 28, 14: 56, 16: 111, 18: 210}),
        pytest.param(RECENCY, {20: 401, 24: 1562}, marks=pytest.mark.thorough),
    ],
)
def test_more_bits_put_the_first_possible_failure_off(score: Score, wanted: dict[int, int]) -> None:
    assert {p: searched(binary(p), score, two_way=True).token for p in wanted} == wanted


@pytest.mark.parametrize("score", list(SCORES.values()))
@pytest.mark.parametrize("bits", range(4, 16))
def test_nothing_is_wrong_where_it_is_proved_and_nothing_is_overlooked(
    score: Score, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search with all that the bounds leave out: the same, and after the proved bound."""
    form = binary(bits)
    pruned = searched(form, score, two_way=True)
    monkeypatch.setattr(horizon, "_PRUNED", 100)
    everything = first_possible(form, score, search_limit(form, score), two_way=True)
    assert pruned == everything
    assert everything is not None
    assert everything.token > safe_until(form, score)


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("bfloat16", PAPER),
        ("float16", PAPER),
        ("float32", PAPER),
        pytest.param("float64", PAPER, marks=pytest.mark.thorough),
        ("bfloat16", RECENCY),
        pytest.param("float32", RECENCY, marks=pytest.mark.thorough),
    ],
)
def test_a_machine_meets_the_first_possible_failure(name: str, score: Score) -> None:
    """Found by search: wrong at the predicted output, right at every one before."""
    form = FORMATS[name]
    order = searched(form, score)
    normal, word = meeting(order)
    assert all(each.holds(normal, word, order.token) for each in ASSUMPTIONS)
    compiled = compile_transformer(normal, score)
    found = first_failures(compiled, word, FloatArithmetic(form), order.token + 10)
    assert found.index is not None
    assert (found.index.token, found.index.right) == (order.token, order.later)
    assert found.reading is not None
    assert (found.reading.output, found.reading.expected) == (order.token + 1, "b")
    assert found.vector is not None
    assert found.vector.output == order.token + 1


def toggling() -> NormalMachine:
    """It reads its input and then toggles the last cell and the one behind it for ever."""
    delta = {
        ("q_init", "_"): Action("q_read", "_", Move.R),
        ("q_read", "a"): Action("q_read", "a", Move.R),
        ("q_read", "b"): Action("q_read", "b", Move.R),
        ("q_read", "_"): Action("left", "a", Move.L),
        ("left", "a"): Action("right", "b", Move.R),
        ("left", "b"): Action("right", "a", Move.R),
        ("right", "a"): Action("left", "b", Move.L),
        ("right", "b"): Action("left", "a", Move.L),
    }
    states = ["q_init", "q_read", "left", "right"]
    return in_normal_form(TuringMachine(states, ["_", "a", "b"], "_", "q_init", delta, []))


@pytest.mark.parametrize(
    ("name", "length", "wrong"),
    [("bfloat16", 6, 11), ("float16", 4, 17), ("float32", 42, 61), ("float64", 6586, 7015)],
)
def test_a_machine_of_four_states_does_nearly_as_badly(name: str, length: int, wrong: int) -> None:
    normal = toggling()
    assert len(normal.machine.states) == 4
    assert all(each.holds(normal, "a" * length, 2 * length) for each in ASSUMPTIONS)
    compiled = compile_transformer(normal)
    form = FloatArithmetic(FORMATS[name])
    found = first_failures(compiled, ("a",) * length, form, wrong + 10)
    assert found.reading is not None
    assert found.reading.output == wrong
