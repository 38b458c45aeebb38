"""Compare an export in its own runtime with the exact run: every output, every attended index.

Tokens are counted from 0, as in `netwright.precision`: token i makes y_{i+1}. An output is wrong if
it shows another state or symbol, or if some coordinate is off by 1/2 or more: rounding it would
give another vector. The largest smaller error is reported, and never called exact.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netwright.exact.rational import as_float
from netwright.export.target import Opened, Step
from netwright.network.network import Network
from netwright.network.tensors import NamedTensors
from netwright.text import counted

FIRST_FEW = 5
Tell = Callable[[int], None]
"""A callback that receives the number of outputs so far."""


@dataclass(frozen=True)
class WrongIndex:
    """A token that attends to other tokens than in the exact run."""

    token: int
    attention: str
    expected: list[int]
    found: list[int]
    """The first few indices, as in `expected`."""

    def __str__(self) -> str:
        expected, found = (" ".join(map(str, each)) for each in (self.expected, self.found))
        return f"token {self.token:,} attends to {found} in {self.attention}, not to {expected}"


@dataclass(frozen=True)
class WrongOutput:
    """An output that differs from the exact one."""

    output: int
    coordinate: str | None
    """The first coordinate that is off by 1/2; None if only the state or symbol is wrong."""
    expected: str
    found: str

    def __str__(self) -> str:
        where = f" in {self.coordinate}" if self.coordinate else ""
        return f"y_{self.output} has {self.found}{where}, not {self.expected}"


@dataclass(frozen=True)
class WrongToken(WrongOutput):
    """A token that differs from the exact run, counted from the end of the prompt."""

    def __str__(self) -> str:
        return f"token {self.output} is {self.found}, not {self.expected}"


@dataclass(frozen=True)
class WrongWeight:
    """A number in the files that differs from the network's, rounded once."""

    tensor: str
    place: list[int]
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.tensor}{self.place} is {self.found}, not {self.expected}"


def check_weights(named: NamedTensors, stored: Mapping[str, Any], dtype: str) -> WrongWeight | None:
    """Return the first number that differs from the network's; ignore tensors of other names."""
    for name, tensor in named.tensors.items():
        right = tensor.to_numpy(dtype)
        found = np.asarray(stored[name])
        if found.shape != right.shape or found.dtype != right.dtype:
            shapes = [f"{each.dtype} {each.shape}" for each in (right, found)]
            return WrongWeight(name, [], *shapes)
        if not np.array_equal(found, right):
            place = [int(each[0]) for each in np.nonzero(found != right)]
            return WrongWeight(name, place, str(right[tuple(place)]), str(found[tuple(place)]))
    return None


@dataclass(frozen=True)
class Checked:
    """The result of a check of one input, run in one way."""

    word: tuple[str, ...]
    way: str
    outputs: int
    """The number of outputs compared, up to a wrong one, the end of the run or the limit."""
    ended: bool
    index: WrongIndex | None
    output: WrongOutput | None
    largest_error: float
    unit: str = "output"
    """What was counted: outputs, or tokens of a text."""
    lead: float | None = None
    """The smallest lead of the right token's logit; 2 or more for whole numbers."""

    @property
    def holds(self) -> bool:
        """Whether everything was right."""
        return self.index is None and self.output is None

    @property
    def right_to(self) -> int:
        """The number of outputs before the first wrong output or index."""
        wrong = [self.outputs, *([self.index.token] if self.index else [])]
        return min(wrong) if self.output is None else min(*wrong, self.output.output - 1)

    def __str__(self) -> str:
        if self.holds:
            end = ", the end" if self.ended else ""
            measured = f"; largest error {self.largest_error:.1g}"
            if self.unit == "token":
                measured = "" if self.lead is None else f"; lead {self.lead:.2f}"
            return f"checked to {counted(self.outputs, self.unit)}{end}{measured}"
        return f"right to {self.right_to:,}: {'; '.join(map(str, self.faults))}"

    @property
    def faults(self) -> list[WrongIndex | WrongOutput]:
        """The first wrong index and the first wrong output, if any."""
        return [fault for fault in (self.index, self.output) if fault is not None]


class ExactRun:
    """The outputs of the exact run on a word and the tokens attended to, up to a limit."""

    def __init__(
        self, network: Network, tensors: NamedTensors, word: Sequence[str], limit: int, tell: Tell
    ) -> None:
        self.tensors, self.word = tensors, tuple(word)
        self.attended: list[Mapping[str, Sequence[int]]] = []
        size, rows = network.layout.dimension, []
        for moment in network.trace(self.word, max_steps=limit):
            y = network.kind.reading.output(moment)
            if y is None:
                continue
            row = np.zeros(size)
            for place, number in y.entries.items():
                row[place] = as_float(number)
            rows.append(row)
            attention = moment.attention
            self.attended.append({name: each.winners for name, each in attention.items()})
            if len(rows) == limit:
                break
            if len(rows) % 64 == 0:
                tell(len(rows))
        self.outputs: NDArray[np.float64] = np.array(rows).reshape(len(rows), size)
        """y_1, y_2, …, as floats."""
        self.ended = len(rows) < limit
        """Whether the run ends within the limit."""

    @cached_property
    def dies(self) -> bool:
        """Whether it ends because no rule applies, so that the next output shows no state."""
        if not self.ended or not len(self.outputs):
            return False
        final = self.tensors.names["readout"]["final"]
        pair = self.pairs[-1]
        return pair is not None and pair[0] not in final

    @cached_property
    def pairs(self) -> list[tuple[str, str] | None]:
        """The state and symbol that each output shows."""
        names, tensors = self.tensors.names["readout"]["pairs"], self.tensors.tensors
        weight, bias = (
            tensors[f"readout.{part}"].to_numpy("float64") for part in ("weight", "bias")
        )
        values = self.outputs @ weight + bias
        best = values.argmax(axis=1)
        return [
            tuple(names[k]) if values[n, k] > 0.5 else None for n, k in enumerate(best.tolist())
        ]


def check_outputs(
    exact: ExactRun, opened: Opened, way: str, steps: Iterator[Step], most: int, tell: Tell
) -> Checked:
    """Compare at most `most` outputs of a runtime with the exact run, up to the first wrong one."""
    index: WrongIndex | None = None
    largest, t = 0.0, 0
    count = min(len(exact.outputs), most)

    def found(output: WrongOutput | None = None) -> Checked:
        return Checked(
            exact.word, way, t, exact.ended and t == len(exact.outputs), index, output, largest
        )

    for t in range(1, count + 1):
        if t % 64 == 0:
            tell(t)
        step = next(steps, None)
        if step is None:
            return found(WrongOutput(t, None, _shown(exact.pairs[t - 1]), "nothing"))
        y = np.asarray(step[0], dtype=np.float64)
        index = index or _wrong_index(t - 1, exact.attended[t - 1], step[1])
        difference = np.abs(y - exact.outputs[t - 1])
        wrong = np.flatnonzero(~(difference < 0.5))
        if len(wrong):
            place = int(wrong[0])
            name = exact.tensors.names["layouts"]["vector"][place]
            expected = f"{exact.outputs[t - 1, place]:.6g}"
            return found(WrongOutput(t, name, expected, f"{y[place]:.6g}"))
        largest = max(largest, float(difference.max(initial=0)))
        pair = opened.pair(step[0])
        if pair != exact.pairs[t - 1]:
            return found(WrongOutput(t, None, _shown(exact.pairs[t - 1]), _shown(pair)))
    if exact.dies and t == len(exact.outputs):
        step = next(steps, None)
        pair = None if step is None else opened.pair(step[0])
        if pair is not None:
            return found(WrongOutput(t + 1, None, "no state", _shown(pair)))
    return found()


def _shown(pair: tuple[str, str] | None) -> str:
    return "no state" if pair is None else f"{pair[0]} over {pair[1]}"


def _wrong_index(
    token: int, expected: Mapping[str, Sequence[int]], attended: Mapping[str, Any]
) -> WrongIndex | None:
    """Return the first attention that chose other tokens; skip those without keys."""
    for name, winners in expected.items():
        if name not in attended or not len(winners):
            continue
        right, found = np.asarray(winners) - 1, np.asarray(attended[name])
        if not np.array_equal(right, found):
            return WrongIndex(token, name, right[:FIRST_FEW].tolist(), found[:FIRST_FEW].tolist())
    return None
