"""A timeline by the accelerated engine: that of the machine step by step, and farther."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples, some
from tests.strategies import machines, words

from netwright.errors import InputError
from netwright.machine import accelerated_timeline
from netwright.machine.accelerated_timeline import AcceleratedTimeline
from netwright.machine.load import load_machine
from netwright.machine.normal_form import normalize
from netwright.machine.timeline import Timeline, normal_timeline
from netwright.machine.turing_machine import TuringMachine

BOUNCER = "1RB1LA_1LA1RB"
MACHINES = [BOUNCER, "palindrome", "binary-counter", "1RA1RA", "busy-beaver-5", "sweeper"]
MACHINES += ["1RB0LB_1LA0LA", "busy-beaver-2-4", "copy"]


@pytest.mark.parametrize("name", some(MACHINES, 4))
@pytest.mark.parametrize("limit", [50, 100_000])
def test_it_is_the_timeline_step_by_step(name: str, limit: int) -> None:
    """End, range of cells, configurations at random times in any order, and diagrams."""
    draw, machine = random.Random(name), load_machine(name)
    one = Timeline(machine, machine.default_input, limit=limit)
    other = AcceleratedTimeline(machine, machine.default_input, limit=limit)
    for timeline in (one, other):
        assert timeline.explore(limit)
    assert (one.end, one.reached, one.limit) == (other.end, other.reached, other.limit)
    assert (one.lowest, one.highest) == (other.lowest, other.highest)
    for _ in range(30):
        time = draw.randrange(limit + 5)
        assert one.at(time) == other.at(time)
        head = draw.randint(one.lowest, one.highest)
        assert one.cells(time, head - 30, head + 30) == other.cells(time, head - 30, head + 30)
    for _ in range(8):
        start, stop = sorted(draw.sample(range(one.reached + 1), 2))
        first, last = sorted(draw.sample(range(one.lowest - 9, one.highest + 9), 2))
        columns, rows = min(stop - start, draw.randint(1, 50)), min(last - first + 1, 20)
        wanted = one.diagram(start, stop, columns, first, last, rows)
        found = other.diagram(start, stop, columns, first, last, rows)
        for name_of in ("image", "lowest", "highest"):
            assert np.array_equal(getattr(found, name_of), getattr(wanted, name_of))


def test_a_bouncer_after_ten_to_the_twelve_steps() -> None:
    """In the middle of a sweep of 1.4 million cells; the times around it fit together."""
    timeline = AcceleratedTimeline(load_machine(BOUNCER), (), limit=10**12)
    now, after = timeline.at(10**12 - 1), timeline.at(10**12)
    assert now is not None
    assert after is not None
    assert (now.state, now.symbol, after.head) == ("A", "1", now.head - 1)
    assert timeline.cells(10**12, now.head - 99, now.head + 99) == ["1"] * 199
    with pytest.raises(InputError, match="a machine has no time -1"):
        timeline.at(-1)


def test_a_run_of_too_many_moves_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerated_timeline, "MOST_MOVES", 10_000)
    timeline = AcceleratedTimeline(load_machine("binary-counter"), (), limit=10**12)
    assert timeline.explore(10**12)
    assert timeline.end is None
    assert 10_000 < timeline.limit == timeline.reached < 30_000
    assert "too few long runs" in timeline.cut


def test_exploring_can_be_stopped() -> None:
    timeline = AcceleratedTimeline(load_machine("binary-counter"), (), limit=10**12)
    assert not timeline.explore(10**12, lambda: timeline.reached < 20_000)
    assert 20_000 <= timeline.reached < 10**6


@examples(60)
@given(machine=machines(default_input=False), data=st.data())
def test_the_steps_of_the_given_machine_are_counted(
    machine: TuringMachine, data: st.DataObject
) -> None:
    """In normal form the head begins left of the input, and not every time is a step."""
    word = data.draw(words(machine.symbols))
    normal = normalize(machine, blanks_in_input=True)
    timeline = normal_timeline(normal, word, limit=300)
    other = AcceleratedTimeline.of(timeline)
    other.explore(300)
    for time in data.draw(st.lists(st.integers(0, 300), min_size=1, max_size=12)):
        assert other.at(time) == timeline.at(time)
        assert other.cells(time, -9, 9) == timeline.cells(time, -9, 9)
