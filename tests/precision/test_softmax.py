"""Softmax: a schedule that is exact for ever, and temperatures that are not."""

from itertools import islice
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.networks import unproved
from tests.precision.types_of_numpy import TYPES
from tests.repetition import examples
from tests.strategies import machines
from tests.strategies import words as random_words

from netwright.kind.transformer.construction import (
    CompiledTransformer,
    to_transformer,
)
from netwright.kind.transformer.scores import PAPER, RECENCY, SCORES, Score
from netwright.machine.library import library_machine
from netwright.machine.turing_machine import TuringMachine
from netwright.precision.curves import margins
from netwright.precision.failures import first_failures
from netwright.precision.float_arithmetic import FloatArithmetic
from netwright.precision.formats import FORMATS
from netwright.precision.softmax import constant, scaled, schedule, snapped

FLOAT64 = FloatArithmetic(FORMATS["float64"])
MACHINES = ("sweeper", "binary-counter", "busy-beaver-5")


def network(machine: str, score: Score = PAPER) -> CompiledTransformer:
    return to_transformer(library_machine(machine), (), score)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("score", list(SCORES.values()))
def test_with_the_schedule_4000_outputs_are_exact(machine: str, score: Score) -> None:
    compiled = snapped(network(machine, score))
    found = first_failures(compiled, (), FLOAT64, 4000, schedule(score))
    assert (found.outputs, found.index, found.vector, found.reading) == (4000, None, None, None)


@pytest.mark.parametrize(
    ("machine", "wanted"), [("busy-beaver-5", (15, 138)), ("binary-counter", (7, 49))]
)
def test_without_snapping_errors_grow_until_a_symbol_is_wrong(
    machine: str, wanted: tuple[int, int]
) -> None:
    found = first_failures(network(machine), (), FLOAT64, 200, schedule(PAPER))
    assert found.vector is not None
    assert found.reading is not None
    assert (found.vector.output, found.reading.output) == wanted


@pytest.mark.parametrize(
    ("tau", "wanted"),
    [(1e-2, 9), (1e-4, 12), (1e-6, 38), (1e-8, 138), (1e-10, 274), (1e-12, 454), (1e-14, 1419)],
)
def test_a_constant_temperature_ends_somewhere(tau: float, wanted: int) -> None:
    """The first output of the busy beaver, snapped, that is not exact."""
    found = first_failures(snapped(network("busy-beaver-5")), (), FLOAT64, 1500, constant(tau))
    assert found.vector is not None
    assert found.vector.output == wanted


@pytest.mark.parametrize(("tau", "wanted"), [(1e-6, 133), (1e-8, 446), (1e-10, 3698)])
def test_by_recency_it_ends_later(tau: float, wanted: int) -> None:
    compiled = snapped(network("busy-beaver-5", RECENCY))
    found = first_failures(compiled, (), FLOAT64, 3700, constant(tau))
    assert found.vector is not None
    assert found.vector.output == wanted


@pytest.mark.parametrize(("tau", "wanted"), [(1e-2, 133), (1e-3, 1413)])
def test_with_larger_queries_it_ends_later_still(tau: float, wanted: int) -> None:
    compiled = snapped(network("busy-beaver-5", RECENCY))
    found = first_failures(compiled, (), FLOAT64, 1500, scaled(tau))
    assert found.vector is not None
    assert found.vector.output == wanted


@examples(40)
@given(st.data(), st.sampled_from(list(SCORES.values())))
def test_a_snapped_network_is_exact_and_certified(data: st.DataObject, score: Score) -> None:
    machine = data.draw(machines())
    word = data.draw(random_words(machine.symbols))
    as_data = to_transformer(machine, word, score)
    compiled = snapped(as_data)
    outputs = (each.recognizer.outputs(word) for each in (as_data, compiled))
    assert [*islice(next(outputs), 20)] == [*islice(next(outputs), 20)]
    assert unproved(compiled) == []


@examples(40)
@given(st.data(), st.sampled_from(list(SCORES.values())))
def test_no_machine_has_a_smaller_margin(data: st.DataObject, score: Score) -> None:
    machine = data.draw(machines())
    word = data.draw(random_words(machine.symbols))
    for i, margin in margins(to_transformer(machine, word, score), word, 25):
        assert margin >= score.gap(i)


def test_a_machine_that_has_halted_has_the_least_margin() -> None:
    """It halts at once; the head stays, and the cell is visited by every token."""
    machine = TuringMachine(["q"], ["_"], "_", "q", {}, [])
    for score in SCORES.values():
        *_, (i, margin) = margins(to_transformer(machine, (), score), (), 30)
        assert margin == score.gap(i)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_softmax_is_what_the_types_themselves_make_of_it(name: str) -> None:
    """Written twice: every operation in numpy's type, in the order that the package states."""
    draw, kind, here = np.random.default_rng(3), TYPES[name], FloatArithmetic(FORMATS[name])
    tau = 2.0**-4
    for _ in range(20):
        keys, values = draw.uniform(-1, 1, (2, 30)).astype(kind)
        query = draw.uniform(0.5, 1, 1).astype(kind)[0]
        tokens = here.tokens(2, [0], [1])
        for key, value in zip(keys.astype(float), values.astype(float), strict=True):
            tokens.append(np.array([key, 0.0]), np.array([0.0, value]))
        found = tokens.attend(np.array([float(query), 0.0]), tau)
        scores = -np.abs(query * keys)
        weights, total = kind(0), kind(0)
        for score, value in zip(scores, values, strict=True):
            below = (score - scores.max()) / kind(tau)
            weight = kind(exp(float(below)))
            weights, total = weights + weight, total + weight * value
        assert found.numbers[1] == float(total / weights)
        assert found.winners == np.flatnonzero(scores == scores.max()).tolist()
