"""The timeline of a run is the run by the definition, at any time and in any order."""

import random
from collections.abc import Sequence
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples
from tests.strategies import machines, words
from tests.threads import in_threads

from netwright.errors import InputError
from netwright.machine import bookmarks
from netwright.machine import timeline as timeline_module
from netwright.machine.configuration import Configuration
from netwright.machine.library import library_machine, library_names
from netwright.machine.normal_form import normalize
from netwright.machine.simulate import configurations
from netwright.machine.timeline import Timeline
from netwright.machine.turing_machine import TuringMachine


@pytest.fixture(autouse=True, params=["plain", "compiled"])
def _loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few steps between bookmarks; in Python, and in compiled code."""
    monkeypatch.setattr(bookmarks, "FIRST_DISTANCE", 8)
    monkeypatch.setattr(bookmarks, "MOST_BOOKMARKS", 4)
    monkeypatch.setattr(bookmarks, "BEHIND", (6, 3))
    if request.param == "compiled":
        monkeypatch.setattr(timeline_module, "SHORT", 0)


def symbols_at(now: Configuration, first: int, last: int) -> list[str]:
    start, cells = now.tape
    inside = range(start, start + len(cells))
    return [cells[c - start] if c in inside else now.blank for c in range(first, last + 1)]


def check(machine: TuringMachine, word: Sequence[str], most: int, draw: random.Random) -> None:
    run = list(islice(configurations(machine, word), most))
    timeline = Timeline(machine, word, limit=most - 1)
    times = [draw.randrange(len(run)) for _ in range(12)]
    for time in [*times, len(run) - 1]:
        now, found = run[time], timeline.at(time)
        assert found is not None
        assert (found.state, found.symbol, found.head) == (now.state, now.symbol, now.head)
        assert found.step == time
        assert timeline.cells(time, now.head - 5, now.head + 5) == symbols_at(
            now, now.head - 5, now.head + 5
        )
        visited = timeline.visits(time, now.head - 3, now.head + 3)
        for cell, pair in zip(range(now.head - 3, now.head + 4), visited, strict=True):
            before = [i for i in range(time) if run[i].head == cell][-2:]
            assert pair == tuple([*reversed(before), None, None][:2])
    timeline.explore(most)
    if len(run) < most:
        assert timeline.end == len(run) - 1
        assert timeline.at(len(run)) is None
    heads = [now.head for now in run]
    assert (timeline.lowest, timeline.highest) == (
        min([*heads, 0] if word else heads),
        max([*heads, len(word) - 1]),
    )


@pytest.mark.parametrize("name", library_names())
def test_library_machines_at_random_times(name: str) -> None:
    machine = library_machine(name)
    check(machine, machine.default_input, 400, random.Random(name))


@examples(60)
@given(st.data())
def test_random_machines_at_random_times(data: st.DataObject) -> None:
    machine = data.draw(machines())
    word = data.draw(words(machine.symbols))
    check(machine, word, 80, random.Random(data.draw(st.integers())))


@pytest.mark.parametrize("name", ["palindrome", "binary-counter", "busy-beaver-4", "copy"])
def test_every_pixel_of_a_diagram(name: str) -> None:
    machine = library_machine(name)
    word = machine.default_input
    run = list(islice(configurations(machine, word), 200))
    timeline = Timeline(machine, word, limit=199)
    timeline.explore(199)
    first, last = timeline.lowest - 1, timeline.highest + 1
    rows, columns = last - first + 1, len(run)
    whole = timeline.diagram(0, len(run), columns, first, last, rows)
    shades = {machine.blank: 0}
    for time, now in enumerate(run):
        for row, symbol in enumerate(symbols_at(now, first, last)):
            assert shades.setdefault(symbol, int(whole.image[time, row])) == whole.image[time, row]
        assert whole.lowest[time] == whole.highest[time] == now.head
    assert len(set(shades.values())) == len(shades)
    # In fewer columns and rows: means of cells, and all that the head was on.
    part = timeline.diagram(3, len(run), 7, first, last, 3)
    times = 3 + (len(run) - 3) * np.arange(8) // 7
    for column in range(7):
        heads = [run[time].head for time in range(times[column], times[column + 1])]
        assert (part.lowest[column], part.highest[column]) == (min(heads), max(heads))
        edges = [rows * n // 3 for n in range(4)]
        for row in range(3):
            mean = whole.image[times[column], edges[row] : edges[row + 1]].astype(int)
            assert part.image[column, row] == mean.sum() // len(mean)


def test_steps_of_the_given_machine() -> None:
    """A stay takes two steps of the normal machine, and is one of the given."""
    given_machine = TuringMachine(
        ["a", "b", "h"], "_x", "_", "a", {("a", "_"): ("b", "x", "S"), ("b", "x"): ("h", "x", "R")}
    )
    normal = normalize(given_machine)
    timeline = Timeline(normal.machine, (), -1, counts=normal.is_given_state)
    steps = [timeline.at(time).step for time in range(7)]  # type: ignore[union-attr]  # it has all
    assert steps == [-1, -1, -1, 0, 0, 1, 2]
    assert timeline.at(7) is None
    assert timeline.end == 6


def test_it_stops_when_it_is_told_to() -> None:
    timeline = Timeline(library_machine("busy-beaver-5"), (), limit=10**9)
    answers = iter([True, False])
    assert not timeline.explore(10**9, lambda: next(answers))
    assert 0 < timeline.reached <= timeline_module.AT_ONCE


def test_a_tape_that_grows_for_ever_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_module, "MOST_CELLS", 1000)
    rules = {("q", "_"): ("q", "x", "R"), ("q", "x"): ("q", "x", "R")}
    timeline = Timeline(TuringMachine(["q"], "_x", "_", "q", rules), ())
    timeline.explore(10**6)
    assert timeline.end is None
    assert timeline.reached == timeline.limit < 10**4
    assert timeline.at(timeline.limit + 1) is None
    with pytest.raises(InputError, match="no time -1"):
        timeline.at(-1)


def test_several_threads() -> None:
    machine = library_machine("busy-beaver-4")
    run = list(configurations(machine, ()))
    timeline, wrong = Timeline(machine, ()), []

    def look(seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(150):
            time = draw.randrange(len(run))
            cells = timeline.cells(time, -9, 9)
            if cells != symbols_at(run[time], -9, 9) or timeline.at(time).head != run[time].head:  # type: ignore[union-attr]  # it has all
                wrong.append(time)

    in_threads(look)
    assert not wrong
