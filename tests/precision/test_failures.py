"""Where the networks of known machines first go wrong: the table of docs/precision.md."""

from typing import Any

import pytest
from flint import fmpq

from netwright.kind.transformer.construction import to_transformer
from netwright.kind.transformer.scores import PAPER, RECENCY, SCORES, Score
from netwright.machine.library import library_machine
from netwright.precision.failures import Failures, as_data, first_failures
from netwright.precision.float_arithmetic import FloatArithmetic
from netwright.precision.formats import FORMATS, binary


def failures(
    machine: str, name: str, outputs: int, score: Score = PAPER, **options: Any
) -> Failures:
    here = FloatArithmetic(FORMATS[name])
    compiled = to_transformer(library_machine(machine), (), score)
    return first_failures(compiled, (), here, outputs, **options)


def firsts(found: Failures) -> tuple[int | None, int | None, int | None]:
    return (
        found.index.token if found.index else None,
        found.vector.output if found.vector else None,
        found.reading.output if found.reading else None,
    )


NEVER = (None, None, None)
TABLE: dict[tuple[Score, str], dict[str, tuple[int | None, ...]]] = {
    (PAPER, "sweeper"): {
        "bfloat16": (36, 304, 304),
        "float16": (24, 1154, 1179),
        "float32": (210, None, None),
        "float64": NEVER,  # an index at 37,401
    },
    (PAPER, "binary-counter"): {
        "bfloat16": (250, 251, 251),
        "float16": (34, 35, 35),
        "float32": (438, 757, 757),
        "float64": NEVER,
    },
    (PAPER, "busy-beaver-5"): {
        "bfloat16": (12, 75, 75),
        "float16": (41, 42, 42),
        "float32": (144, 470, 470),
        "float64": NEVER,  # an index at 31,542
    },
    (RECENCY, "sweeper"): {
        "bfloat16": (78, 304, 304),
        "float16": (150, 224, 225),
        "float32": NEVER,
        "float64": NEVER,
    },
    (RECENCY, "binary-counter"): {
        "bfloat16": (None, 257, 257),
        "float16": (80, 81, 81),
        "float32": NEVER,
        "float64": NEVER,
    },
    (RECENCY, "busy-beaver-5"): {
        "bfloat16": (126, 147, 147),
        "float16": (144, 154, 154),
        "float32": NEVER,  # an index at 15,006
        "float64": NEVER,
    },
}


@pytest.mark.parametrize(("score", "machine"), TABLE)
def test_the_table_of_three_machines_in_four_formats(score: Score, machine: str) -> None:
    wanted = TABLE[score, machine]
    assert {name: firsts(failures(machine, name, 2000, score)) for name in FORMATS} == wanted


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("score", "machine", "name", "index"),
    [
        (PAPER, "sweeper", "float64", 37_401),
        (PAPER, "binary-counter", "float64", None),
        (RECENCY, "sweeper", "float32", None),
        (RECENCY, "binary-counter", "float32", None),
        (RECENCY, "busy-beaver-5", "float32", 15_006),
    ],
)
def test_what_happens_up_to_40_000_outputs(
    score: Score, machine: str, name: str, index: int | None
) -> None:
    assert firsts(failures(machine, name, 40_000, score)) == (index, None, None)


def test_with_any_exponent_11_bits_do_better_than_float16() -> None:
    """1/i³ is subnormal in float16 from i = 26 on."""
    compiled = to_transformer(library_machine("busy-beaver-5"), (), RECENCY)
    found = first_failures(compiled, (), FloatArithmetic(binary(11)), 300, index_only=True)
    assert found.index is not None
    assert found.index.token == 201
    assert FORMATS["float16"].nearest(fmpq(1, 26**3)) != binary(11).nearest(fmpq(1, 26**3))


def test_a_wrong_index_is_explained_by_its_scores() -> None:
    """The busy beaver in float32: exactly the right token is ahead, rounded the other one."""
    index = failures("busy-beaver-5", "float32", 200).index
    assert index is not None
    assert (index.token, index.attended, index.right) == (144, [133], 135)
    assert index.exact_scores[0] > index.exact_scores[1]
    first, second = index.rounded_scores
    assert first is not None
    assert second is not None
    assert first < second
    assert str(index.margin) == "9/349135027520"


def test_a_tie_is_a_wrong_index_and_its_mean_a_wrong_output() -> None:
    found = failures("busy-beaver-5", "float16", 200)
    assert found.index is not None
    assert (found.index.attended, found.index.right) == ([36, 38], 38)
    assert found.vector is not None
    assert (found.vector.vector, str(found.vector.rounded)) == ("p3", "1/2")
    assert found.reading is not None
    assert (found.reading.what, found.reading.found) == ("symbol", "none")


def test_a_wrong_index_may_find_the_right_symbol() -> None:
    """The sweeper has written a 1 wherever it has been, whenever that was."""
    found = failures("sweeper", "float32", 2000)
    assert (found.index is not None, found.reading) == (True, None)


def test_in_float64_the_busy_beaver_goes_wrong_at_token_31542() -> None:
    found = failures("busy-beaver-5", "float64", 31_600, index_only=True)
    assert found.index is not None
    assert (found.index.token, found.index.attended, found.index.right) == (31542, [30931], 30933)


def test_by_recency_the_busy_beaver_is_right_for_longer_than_that() -> None:
    assert firsts(failures("busy-beaver-5", "float64", 34_000, RECENCY)) == (None,) * 3


@pytest.mark.thorough
def test_by_recency_it_is_right_for_200_000_steps() -> None:
    assert firsts(failures("busy-beaver-5", "float64", 200_010, RECENCY)) == (None,) * 3


@pytest.mark.thorough
def test_the_papers_score_reads_a_wrong_symbol_at_output_100_313() -> None:
    assert firsts(failures("busy-beaver-5", "float64", 101_000)) == (31542, 100_313, 100_313)


@pytest.mark.parametrize("bits", [8, 11, 14, 16, 18])
def test_the_score_by_recency_is_right_for_longer(bits: int) -> None:
    tokens = []
    for score in SCORES.values():
        compiled = to_transformer(library_machine("busy-beaver-5"), (), score)
        found = first_failures(compiled, (), FloatArithmetic(binary(bits)), 5000, index_only=True)
        assert found.index is not None
        tokens.append(found.index.token)
    assert tokens[1] > 3 * tokens[0]


def test_a_machine_that_halts_ends_the_run() -> None:
    found = failures("busy-beaver-3", "float64", 1000)
    assert (found.halted, found.outputs, firsts(found)) == (True, 21 + 4, (None, None, None))
    assert not failures("busy-beaver-3", "float64", 20).halted


def test_as_plain_data_rationals_are_text() -> None:
    found = as_data(failures("busy-beaver-5", "bfloat16", 100))
    assert found["index"]["margin"] == "7/292032"
    assert found["index"]["exact_scores"] == ["-1/32448", "-1/18252"]
    assert found["reading"]["expected"] == "0"
