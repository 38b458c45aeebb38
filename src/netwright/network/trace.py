"""The trace of a network on a word: every vector at every moment by name, exactly.

    trace = net.trace("abba")
    trace[26]["decoder.3.z"]                     # a vector; trace[26].keys() has all names
    trace[26].attention["decoder.3.self"]        # weights, scores, winner, margin
    trace[26].configuration                      # the machine's, read off the network's vectors
    len(trace), trace[-1], trace[10:20], list(trace)
    trace.array("decoder.3.z")                   # float64, with the names of the coordinates

Times are the network's, from 1 on; `engine.following.tracing` defines them for each kind. A moment
is computed lazily, by the network's own run, from its weights alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count, islice
from typing import TYPE_CHECKING, Any, overload

from netwright.engine.attended import Attention
from netwright.engine.following.tracing import EndedError, Tracing
from netwright.errors import InputError, NetworkError, UnknownNameError, unknown
from netwright.exact.rational import as_float
from netwright.exact.vector import Vector
from netwright.html import part_of, table
from netwright.network.weight import LabelledArray
from netwright.text import shortened

if TYPE_CHECKING:
    from netwright.machine.configuration import Configuration
    from netwright.machine.simulate import Run

LARGEST_ARRAY = 10**8  # entries
SHOWN_MOMENTS, MOST_VECTORS = 40, 13


class UndecidedError(InputError, TypeError):
    """The run did not end within its limit, so its trace has no length."""


class LostError(NetworkError, TypeError):
    """The vectors show no machine, so the end of the run is unknown."""


class Moment(Mapping[str, Vector]):
    """A network at one time: its vectors by name, its attentions, the machine's configuration."""

    def __init__(self, tracing: Tracing[Any], t: int) -> None:
        self._tracing = tracing
        self.t = t  # the network's time

    @cached_property
    def _vectors(self) -> Mapping[str, Vector]:
        return self._tracing.vectors(self.t)

    def __getitem__(self, name: str) -> Vector:
        names = self._tracing.names(self.t)
        if not isinstance(name, str) or name not in names:
            attention, _, part = str(name).rpartition(".")
            if attention in self._tracing.attentions and part in ("scores", "pattern"):
                kept = "weights" if part == "pattern" else part
                there = f".attention[{attention!r}].{kept}"
                raise UnknownNameError(f"{name} is a row of numbers: {there}")
            if str(name) in self._tracing.encoder:
                there = f"trace.encoder[{name!r}]"
                raise UnknownNameError(f"{name} is the same at every time: {there}")
            raise UnknownNameError(f"at time {self.t}: {unknown('vector', str(name), names)}")
        return self._vectors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tracing.names(self.t))

    def __len__(self) -> int:
        return len(self._tracing.names(self.t))

    def __contains__(self, name: object) -> bool:
        return name in self._tracing.names(self.t)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    @property
    def attention(self) -> Mapping[str, Attention]:
        """The attentions by name, such as `decoder.3.self`."""
        return _Attentions(self._tracing.attention(self.t))

    @property
    def configuration(self) -> "Configuration | None":
        """The machine's, read off the vectors; None if this moment shows no step of it.

        Raise NetworkError if the vectors show no machine.
        """
        return self._tracing.configuration(self.t)

    def __repr__(self) -> str:
        return f"<moment {self.t:,}: {len(self)} vector{'' if len(self) == 1 else 's'}>"

    def _repr_html_(self) -> str:
        # Without queries, keys and values, and inputs that are the z of the previous layer.
        left_out = (".q", ".k", ".v", *(f".{n}.input" for n in range(2, 10)))
        named = [name for name in self if not name.endswith(left_out)]
        # Nor those that are as the one before.
        before = [None, *(self[name] for name in named)]
        shown = [n for n, x in zip(named, before, strict=False) if self[n] != x][:MOST_VECTORS]
        vectors = [self[name] for name in shown]
        rows = []
        for layout in {vector.layout for vector in vectors}:
            for index, coordinate in enumerate(layout.coordinates):
                cells = [vector.entries.get(index, "") for vector in vectors]
                if any(map(str, cells)):
                    rows.append([coordinate, *map(shortened, cells)])
        caption = f"moment {self.t:,}, nonzero entries"
        html = table(caption + part_of(len(shown), len(self), "vectors"), ["", *shown], rows)
        if attentions := [[name, *_attention_row(each)] for name, each in self.attention.items()]:
            html += table("attention", ["", "winner", "score", "margin", "keys"], attentions)
        return html


def _whole(t: object) -> int:
    """Read a time; raise InputError if it is not a whole number."""
    if isinstance(t, bool) or not hasattr(t, "__index__"):
        raise InputError(f"a time is a whole number; got {shortened(repr(t), 60)}")
    return int(t.__index__())


def _attention_row(attention: Attention) -> list[object]:
    if not len(attention):
        return ["", "", "", 0]
    winner = attention.winner or f"{len(attention.winners):,} alike"
    margin = "" if attention.margin is None else attention.margin
    return [winner, shortened(attention.score), shortened(margin), len(attention)]


class _Attentions(dict[str, Attention]):
    """Attentions by name; a missing one raises UnknownNameError."""

    def __missing__(self, name: str) -> Attention:
        if not self:
            raise UnknownNameError(f"no attention {str(name)[:60]!r}: this network has none")
        raise UnknownNameError(unknown("attention", str(name), list(self)))


class Trace:
    """The sequence of moments of a run, or a slice of it; made by `Network.trace`."""

    def __init__(self, tracing: Tracing[Any], title: str, times: range | None = None) -> None:
        self._tracing, self._title, self._times = tracing, title, times

    @overload
    def __getitem__(self, t: int) -> Moment: ...
    @overload
    def __getitem__(self, t: slice) -> "Trace": ...
    def __getitem__(self, t: int | slice) -> "Moment | Trace":
        """The moment at a time; a negative time counts from the end. A slice is a Trace."""
        if isinstance(t, slice):
            return Trace(self._tracing, self._title, self._slice(t))
        time = _whole(t)
        if time < 0:
            time = self._all_times()[time] if -time <= len(self._all_times()) else 0
        if time < 1 or (self._times is not None and time not in self._times):
            there = "times begin at 1" if self._times is None else f"here are {self._shown_times()}"
            raise EndedError(f"there is no time {t}; {there}")
        self._tracing.check(time)
        return Moment(self._tracing, time)

    def _slice(self, wanted: slice) -> range:
        """The times from `start` up to but excluding `stop`; negative ones count from the end."""
        if self._times is not None and self._times.step != 1:
            raise InputError("this trace is a slice with steps; slice the whole trace instead")
        step = 1 if wanted.step is None else _whole(wanted.step)
        if step < 1:
            raise InputError(f"the step of a slice of times is {step}; expected 1 or more")

        def time(t: object) -> int:
            whole = _whole(t)
            return whole if whole >= 0 else self._all_times().stop + whole

        first = 1 if self._times is None else self._times.start
        if wanted.start is not None:
            first = max(first, time(wanted.start))
        stop = None if wanted.stop is None else time(wanted.stop)
        if stop is None or self._times is not None:
            end = self._all_times().stop
            stop = end if stop is None else min(stop, end)
        elif stop > first and not self._reaches(stop - 1):
            stop = self._tracing.last() + 1
        return range(first, stop, step)

    def _reaches(self, t: int) -> bool:
        try:
            self._tracing.go_to(t)
        except EndedError:
            return False
        return True

    def _all_times(self) -> range:
        return range(1, len(self) + 1) if self._times is None else self._times

    def __len__(self) -> int:
        """How many moments there are; raise UndecidedError if the run reached its limit instead.

        That is a TypeError, which Python takes for "length unknown": so `list(trace)` works.
        """
        if self._times is not None:
            return len(self._times)
        try:
            run = self.run
        except NetworkError as error:
            raise LostError(f"{error}, so its trace has no length; take a slice") from None
        if not run.decided:
            raise UndecidedError(
                f"the run has not ended after {run.steps:,} steps, so its trace has no length; "
                "take a slice, or trace with a higher max_steps"
            )
        return self._tracing.last()

    def __iter__(self) -> Iterator[Moment]:
        for t in count(1) if self._times is None else self._times:
            try:
                self._tracing.check(t)
            except EndedError:
                return
            yield Moment(self._tracing, t)

    def __bool__(self) -> bool:
        return self._times is None or len(self._times) > 0

    @property
    def run(self) -> "Run":
        """The run, to its end: outcome, steps, state, head and tape."""
        return self._tracing.run()

    @property
    def encoder(self) -> Mapping[str, Sequence[Vector]]:
        """The encoder's vectors by name, one for each symbol of the input."""
        return self._tracing.encoder

    def array(self, name: str) -> LabelledArray:
        """A vector as a float64 matrix: a row for each time, or symbol of the encoder's input."""
        import numpy as np

        if name in self.encoder:
            vectors = dict(enumerate(self.encoder[name], start=1))
        else:
            self._check_size(len(self), 1)
            vectors = {moment.t: moment[name] for moment in self if name in moment}
        if not vectors:
            if name not in self.encoder and (first := next(iter(self), None)) is not None:
                _ = first[name]  # raises an error that lists the names
            raise InputError(f"{self!r}: there is no {name} for it")
        layout = next(iter(vectors.values())).layout
        self._check_size(len(vectors), layout.dimension)
        values = np.zeros((len(vectors), layout.dimension))
        for row, vector in enumerate(vectors.values()):
            for index, number in vector.entries.items():
                values[row, index] = as_float(number)
        return LabelledArray(name, values, ([*vectors], [*map(str, layout.coordinates)]))

    def attention_array(self, name: str, what: str = "weights") -> LabelledArray:
        """The weights (or, with `what="scores"`, the scores) of an attention at all times.

        Times are in rows, attended tokens in columns. For a token that is not there yet, the weight
        is 0 and the score is NaN.
        """
        import numpy as np

        if what not in ("weights", "scores"):
            raise InputError(unknown("row of an attention", what, ["weights", "scores"]))
        self._check_size(len(self), max(self._all_times(), default=0))
        rows = [(moment.t, moment.attention[name]) for moment in self]
        tokens = max((len(attention) for _, attention in rows), default=0)
        values = np.full((len(rows), tokens), np.nan if what == "scores" else 0.0)
        for row, (_, attention) in enumerate(rows):
            if what == "scores":
                values[row, : len(attention)] = [*map(as_float, attention.scores)]
            else:
                for token, weight in attention.attended.items():
                    values[row, token - 1] = as_float(weight)
        times = [t for t, _ in rows]
        return LabelledArray(f"{name} {what}", values, (times, [*range(1, tokens + 1)]))

    def _check_size(self, rows: int, columns: int) -> None:
        if rows * columns > LARGEST_ARRAY:
            raise InputError(f"{rows:,} × {columns:,} numbers are too many; take a smaller slice")

    def __repr__(self) -> str:
        times = "" if self._times is None else f", {self._shown_times()}"
        return f"<trace of {self._title}{times}>"

    def _shown_times(self) -> str:
        """The times of a slice, in words."""
        if not self._times:
            return "no times"
        step = f" in steps of {self._times.step}" if self._times.step > 1 else ""
        return f"times {self._times[0]:,} to {self._times[-1]:,}{step}"

    def _repr_html_(self) -> str:
        rows, count = [], 0
        for moment in islice(self, SHOWN_MOMENTS):
            count += 1
            try:
                seen = moment.configuration
            except NetworkError:
                rows.append([moment.t, "shows no machine", "", ""])
                continue
            if seen is not None:
                rows.append([moment.t, *seen[:2], shortened(seen.tape, 60)])
        part = part_of(len(rows), count, "moments")
        if count == SHOWN_MOMENTS:
            part = f"; {len(rows)} of the first {count} moments shown, and more follow"
        return table(f"{repr(self)[1:-1]}{part}", ["t", "state", "head", "tape"], rows)
