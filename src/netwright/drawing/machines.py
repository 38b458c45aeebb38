"""Pictures of a machine and of its run: the state diagram, the space-time diagram, attention."""

from collections.abc import Sequence
from math import ceil, cos, hypot, log10, pi, sin
from os import PathLike
from typing import Any

import numpy as np

from netwright.drawing.picture import Picture, Point
from netwright.drawing.strokes import width_of
from netwright.errors import InputError, unknown
from netwright.machine.load import load_machine
from netwright.machine.simulate import check_limit
from netwright.machine.timeline import Timeline
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import Network
from netwright.network.running import machine_in, network_of
from netwright.text import shortened

INK, FAINT, BLUE, RED, PAPER = "#222222", "#888888", "#0072b2", "#d55e00", "#ffffff"
MOST_STATES, MOST_LABELS, MOST_TOKENS, MOST_SYMBOLS = 60, 3, 400, 6
SIZE = 11.0
LIGHT, DARK = (238, 242, 246), (24, 62, 92)


STATES, RUN, ATTENTION = KINDS = ("states", "run", "attention")


def draw(
    source: TuringMachine | Network | PathLike[str] | str,
    word: Sequence[str] | None = None,
    *,
    what: str | None = None,
    max_steps: int = 10_000_000,
    attention: str = "",
) -> Picture:
    """A picture of a machine or of its run: `netwright.draw`. Notebooks show it.

    Args:
        source: a machine, what `load_machine` takes, or a network.
        word: the input; none means the machine's default input.
        what: `states` for the state diagram (the default without a word), `run` for the tape over
            time (the default with one), `attention` for the attention of a network's run.
        max_steps: where the run is cut off.
        attention: one attention alone, such as `decoder.3.self`.

    >>> picture = draw("busy-beaver-3", what="run")
    >>> picture.title, len(picture.png()) > 1000
    ('busy-beaver-3: the tape over time', True)
    """
    found = source if isinstance(source, TuringMachine | Network) else load_machine(source)
    chosen = what or (STATES if word is None and not attention else ATTENTION if attention else RUN)
    if chosen not in KINDS:
        raise InputError(unknown("picture", chosen, KINDS))
    check_limit(max_steps)
    machine = machine_in(found)
    if chosen == STATES:
        return state_diagram(machine)
    letters = machine.default_input if word is None else machine.check_word(word)
    if chosen == RUN:
        return space_time(machine, letters, max_steps)
    return attention_picture(network_of(found, None, letters), letters, max_steps, attention)


def state_diagram(machine: TuringMachine) -> Picture:
    """The states on a circle, an arrow for each pair that a rule leads from and to.

    An arrow's label is what is read, written and how the head moves: `a/b R`, or `a R` where the
    symbol stays. Accepting states have a double edge; an arrow from nowhere leads to the start.

    >>> from netwright.machine.library import library_machine
    >>> state_diagram(library_machine("even-as")).title
    'the states of even-as'
    """
    if len(machine.states) > MOST_STATES:
        raise InputError(
            f"{len(machine.states):,} states are too many for a diagram; at most {MOST_STATES}"
        )
    labels: dict[tuple[str, str], list[str]] = {}
    for (state, symbol), (target, write, move) in machine.delta.items():
        read = _name(symbol)
        shown = read if write == symbol else f"{read}/{_name(write)}"
        labels.setdefault((state, target), []).append(f"{shown} {move.value}")
    names = {state: _name(state) for state in machine.states}
    node = max(17.0, max(width_of(name, SIZE) for name in names.values()) / 2 + 7)
    circle = max(2.6 * node, (2 * node + 74) * len(names) / (2 * pi)) if len(names) > 1 else 0.0
    middle = circle + 2 * node + 48
    title = f"the states of {shortened(machine.name, 60) or 'the machine'}"
    picture = Picture(2 * middle, 2 * middle, title)
    angles = {name: 2 * pi * n / len(names) - pi / 2 for n, name in enumerate(names)}
    at = {
        name: (middle + circle * cos(angle), middle + circle * sin(angle))
        for name, angle in angles.items()
    }
    captions: list[tuple[Point, list[str]]] = []
    for (source, target), lines in labels.items():
        if len(lines) > MOST_LABELS:
            lines = [*lines[: MOST_LABELS - 1], f"… {len(lines)} rules"]
        if source == target:
            place = _loop(picture, at[source], angles[source], node, len(lines))
        else:
            is_paired = (target, source) in labels
            place = _arrow(picture, at[source], at[target], node, is_paired)
        captions.append((place, lines))
    for place, lines in captions:
        _label(picture, place, lines)
    x, y = at[machine.start]
    angle = angles[machine.start] - 0.55
    tip = (x + node * cos(angle), y + node * sin(angle))
    tail = (x + (node + 26) * cos(angle), y + (node + 26) * sin(angle))
    _head(picture, [tail, tip], INK)
    for state, name in names.items():
        _state(picture, at[state], node, name, is_accepting=state in machine.accepting)
    return picture


def _state(picture: Picture, at: Point, radius: float, name: str, *, is_accepting: bool) -> None:
    picture.circle(at, radius, PAPER, INK, 1.5)
    if is_accepting:
        picture.circle(at, radius - 4, PAPER, INK, 1.2)
    picture.text((at[0], at[1] + SIZE * 0.36), name, SIZE, INK, "middle")


def _name(symbol: str) -> str:
    """A state or symbol, short enough for a label."""
    return "␣" if symbol == " " else shortened(symbol, 14)


def _curve(a: Point, b: Point, c: Point, count: int = 24) -> list[Point]:
    """A quadratic Bézier curve from a to c, pulled to b."""
    found = []
    for n in range(count + 1):
        t = n / count
        u = 1 - t
        x, y = (u * u * a[k] + 2 * u * t * b[k] + t * t * c[k] for k in (0, 1))
        found.append((x, y))
    return found


def _outside(points: Sequence[Point], centres: Sequence[Point], radius: float) -> list[Point]:
    """The part of a curve that is outside of some discs."""
    return [
        point
        for point in points
        if all(hypot(point[0] - x, point[1] - y) >= radius for x, y in centres)
    ]


def _head(picture: Picture, points: Sequence[Point], colour: str) -> None:
    """A curve with an arrow head at its end."""
    (x, y), (tx, ty) = points[-min(4, len(points))], points[-1]
    length = max(hypot(tx - x, ty - y), 1e-6)
    dx, dy = (tx - x) / length, (ty - y) / length
    back = (tx - 8 * dx, ty - 8 * dy)
    picture.line([*points[:-1], back], colour, 1.2)
    left = (back[0] - 3.6 * dy, back[1] + 3.6 * dx)
    right = (back[0] + 3.6 * dy, back[1] - 3.6 * dx)
    picture.polygon([(tx, ty), left, right], colour)


def _label(picture: Picture, place: Point, lines: Sequence[str]) -> None:
    """Lines of text around a place, on white."""
    size = SIZE - 1.5
    width = max(width_of(line, size) for line in lines)
    height = len(lines) * (size + 2)
    x, y = place
    box = [
        (x + dx * (width / 2 + 2), y + dy * (height / 2 + 1))
        for dx, dy in ((-1, -1), (1, -1), (1, 1), (-1, 1))
    ]
    picture.polygon(box, PAPER)
    for n, line in enumerate(lines):
        baseline = y - height / 2 + (n + 1) * (size + 2) - 3
        picture.text((x, baseline), line, size, BLUE, "middle")


def _arrow(picture: Picture, a: Point, b: Point, radius: float, is_paired: bool) -> Point:
    """An arrow between two states; the place of its label."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    bend = 0.22 if is_paired else 0.08
    pulled = ((a[0] + b[0]) / 2 - bend * dy, (a[1] + b[1]) / 2 + bend * dx)
    points = _outside(_curve(a, pulled, b, 60), (a, b), radius + 1)
    _head(picture, points, INK)
    # Nearer to the tail than to the tip, so that labels of crossing arrows do not meet.
    return points[round(0.4 * (len(points) - 1))]


def _loop(picture: Picture, a: Point, angle: float, radius: float, lines: int) -> Point:
    """An arrow from a state to itself, away from the middle; the place of its label."""
    out = radius + 13
    x, y = a[0] + out * cos(angle), a[1] + out * sin(angle)
    turns = (angle + pi + 2 * pi * n / 48 for n in range(49))
    points = [(x + 20 * cos(turn), y + 20 * sin(turn)) for turn in turns]
    _head(picture, _outside(points, (a,), radius + 1), INK)
    far = out + 24 + 7 * lines * abs(sin(angle)) + 16 * abs(cos(angle))
    return a[0] + far * cos(angle), a[1] + far * sin(angle)


def space_time(
    machine: TuringMachine,
    word: Sequence[str],
    max_steps: int = 10_000_000,
    *,
    width: int = 960,
    height: int = 420,
    words: bool = True,
) -> Picture:
    """The tape over time: steps to the right, cells downwards, the head's path in red.

    Without `words` it is the tape alone, such as for a thumbnail.

    A run of any length fits: a column is the tape at one step, a row the mean of some cells, and
    red are the ends of what the head sweeps in a column.
    """
    timeline = Timeline(machine, machine.check_word(word), limit=max_steps)
    timeline.explore(max_steps)
    stop = max(1, timeline.reached + 1)
    first, last = timeline.lowest, timeline.highest
    left, top, right, bottom = (56.0, 34.0, 24.0, 42.0) if words else (0.0, 0.0, 0.0, 0.0)
    wide, high = width - left - right, height - top - bottom
    columns, rows = min(int(wide), stop), min(int(high), last - first + 1)
    found = timeline.diagram(0, stop, columns, first, last, rows)
    shades = found.image.T[..., None] / 255
    pixels = (np.array(LIGHT) + shades * (np.array(DARK) - np.array(LIGHT))).round()
    title = f"{shortened(machine.name, 60) or 'a machine'}: the tape over time"
    picture = Picture(width, height, title)
    picture.image((left, top), (wide, high), pixels.astype(np.uint8))
    per_step, per_cell = wide / columns, high / (last + 1 - first)
    if columns == stop and stop <= 400:
        path = [
            (left + (n + 0.5) * per_step, top + (cell - first + 0.5) * per_cell)
            for n, cell in enumerate(found.lowest.tolist())
        ]
        picture.line(path, RED, 1.4)
    else:
        for cells, below in ((found.lowest, 0), (found.highest, 1)):  # what the head sweeps
            path = [
                (left + (n + 0.5) * per_step, top + (cell + below - first) * per_cell)
                for n, cell in enumerate(cells.tolist())
            ]
            picture.line(path, RED, 1.0)
    if not words:
        return picture
    picture.text((left, 20), f"{picture.title}, {stop - 1:,} steps", 13)
    _legend(picture, machine, timeline, left + wide)
    _axis(picture, left, top + high, wide, 0, stop - 1, "step")
    for cell in {first, last, *({0} if min(0 - first, last) * per_cell > 14 else ())}:
        y = top + (cell - first + 0.5) * per_cell
        picture.text((left - 6, y + 4), f"{cell:,}", 10, FAINT, "end")
    picture.text((8, top - 10), "cell", 10, FAINT)
    return picture


def _legend(picture: Picture, machine: TuringMachine, timeline: Timeline, right: float) -> None:
    """The shade of each symbol, the first few of them, right-aligned above a picture."""
    levels = dict(zip(machine.symbols, timeline.levels().tolist(), strict=False))
    for symbol in reversed([*levels][:MOST_SYMBOLS]):
        name = "blank" if symbol == machine.blank else shortened(symbol.replace(" ", "␣"), 8)
        right -= width_of(name, 10)
        picture.text((right, 20), name, 10, FAINT)
        shade = np.array(LIGHT) + levels[symbol] / 255 * (np.array(DARK) - np.array(LIGHT))
        picture.image((right - 16, 11), (11, 11), np.full((1, 1, 3), shade.round(), np.uint8))
        right -= 28


def _axis(
    picture: Picture, left: float, y: float, wide: float, start: int, end: int, title: str
) -> None:
    """Ticks at round numbers under a picture."""
    span = max(1, end - start)
    step = 10 ** max(0, ceil(log10(span / 8)))
    step = step // 5 if step >= 5 and span / (step // 5) <= 10 else step
    for number in range(start - start % step, end + 1, step):
        if number >= start:
            x = left + wide * (number - start + 0.5) / (span + 1)
            picture.line([(x, y), (x, y + 4)], FAINT)
            picture.text((x, y + 16), f"{number:,}", 10, FAINT, "middle")
    picture.text((left + wide, y + 32), title, 10, FAINT, "end")


def attention_picture(
    network: "Network", word: Sequence[str], max_steps: int = 200, name: str = ""
) -> Picture:
    """To which tokens each token of a run attends, a panel for each attention of the decoder.

    `name` chooses one, such as `decoder.3.self`. Darkness is the weight.
    """
    trace = network.trace(word, max_steps=max_steps)
    tokens = []
    for moment in trace:
        tokens.append(moment.attention)
        if len(tokens) == MOST_TOKENS:
            break
    names = [each for each in tokens[-1] if name in ("", each)] if tokens else []
    if not names:
        known = ", ".join(tokens[-1]) if tokens and tokens[-1] else "none"
        raise InputError(f"{network.kind.name} has no attention {name!r}; there are {known}")
    side, gap = 300.0, 46.0
    columns = min(3, len(names))
    rows = ceil(len(names) / columns)
    wide, high = columns * (side + gap) + 20, rows * (side + gap + 16) + 40
    picture = Picture(wide, high, f"attention of the {network.kind.name} of {network.machine.name}")
    picture.text((gap, 20), picture.title, 13)
    for n, each in enumerate(names):
        place = gap + (n % columns) * (side + gap), 52 + (n // columns) * (side + gap + 16)
        _panel(picture, place, side, each, [found[each] for found in tokens])
    return picture


def _panel(picture: Picture, place: Point, side: float, name: str, found: Sequence[Any]) -> None:
    """One attention: a row for each token that looks, a column for each that is looked at."""
    keys = max(1, max(len(each) for each in found))
    weights = np.zeros((len(found), keys))
    for row, each in enumerate(found):
        for token, weight in each.attended.items():
            weights[row, token - 1] = float(weight.p) / float(weight.q)
    shades = np.sqrt(weights)[..., None]  # so that small weights show
    pixels = np.array(LIGHT) + shades * (np.array(DARK) - np.array(LIGHT))
    x, y = place
    picture.text((x, y - 6), name, 11, INK)
    picture.image(place, (side, side), pixels.round().astype(np.uint8))
    picture.text((x, y + side + 13), f"across: attended token, to {keys:,}; down: token", 9, FAINT)
    picture.text((x - 4, y + 9), "1", 9, FAINT, "end")
    picture.text((x - 4, y + side), f"{len(found):,}", 9, FAINT, "end")
