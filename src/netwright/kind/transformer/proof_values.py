"""The values that the proof of Theorem 3.4 speaks of, from the machine alone, and its vectors.

q^(i), s^(i), v^(i), m^(i), c^(i), ℓ(i), α^(i) and β^(i) come from a run of the normal machine as a
machine. The vectors a¹, z¹, p² = z², p³ = z³ and y are then written down as the proof states them,
so that a network's vectors can be compared with them. After a halt all of q, v and m are 0.

`ProofValues` has them for all times from 0 on, `ProofValuesOf` a timeline for any time, at once.
"""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Generic, TypeVar

from flint import fmpq

from netwright.exact.layout import Layout
from netwright.exact.vector import Part, Vector
from netwright.kind.transformer.construction import CompiledTransformer
from netwright.kind.transformer.scores import PAPER, Score
from netwright.kind.transformer.vectors import vector_layout
from netwright.machine.normal_form import NormalMachine
from netwright.machine.simulate import configurations
from netwright.machine.timeline import Timeline

T = TypeVar("T", covariant=True)

# What the blocks of a vector have, by the names of `ProofVectors.value`.
OUTPUT = {"q1": "q", "s1": "s", "x1": "m before"}
INPUT = {"s3": "alpha next", "x6": "beta next"}
TRANSITION = {"q2": "q next", "s2": "v", "x2": "m", "x3": "m before"}
CELLS = {"x4": "c next / p", "x5": "c / p"}
VISIT = {"s4": "v at ell next", "x7": "ell next"}
VECTORS = {
    "y": OUTPUT,
    "a1": OUTPUT | INPUT,
    "z1": TRANSITION | INPUT,
    "p2": TRANSITION | INPUT | CELLS,
    "p3": TRANSITION | INPUT | CELLS | VISIT,
}
"""The vectors of token i, with p = i + 1: all but y have pos(p) beside this."""


class _Times(Generic[T]):
    """A value for every time, found when it is asked for."""

    def __init__(self, value: Callable[[int], T]) -> None:
        self._value = value

    def __getitem__(self, i: int) -> T:
        return self._value(i)


class ProofVectors:
    """The vectors of the proof, from its values."""

    q: "Sequence[str | None] | _Times[str | None]"
    s: "Sequence[str] | _Times[str]"
    v: "Sequence[str | None] | _Times[str | None]"
    m: "Sequence[int] | _Times[int]"
    c: "Sequence[int] | _Times[int]"
    ell: "Sequence[int] | _Times[int]"

    def __init__(self, normal: NormalMachine, word: Sequence[str], score: Score = PAPER) -> None:
        self.layout: Layout = vector_layout(normal, score.positions)
        self.positions = score.positions
        self.word = normal.check_word(word)
        self.blank = normal.machine.blank

    def alpha(self, i: int) -> str | None:
        """α^(i): the input's symbol at i, the last one beyond its end."""
        return self.word[min(i, len(self.word)) - 1] if self.word else None

    def beta(self, i: int) -> int:
        """β^(i): i, or the input's length beyond its end."""
        return min(i, len(self.word))

    def value(self, name: str, i: int) -> Part | None:
        """A value of the proof at time i."""
        match name.split():
            case ["q" | "s" | "v" | "m" as letter]:
                return getattr(self, letter)[i]  # type: ignore[no-any-return]
            case ["q", "next"]:
                return self.q[i + 1]
            case ["m", "before"]:
                return self.m[i - 1] if i else 0
            case ["alpha", _]:
                return self.alpha(i + 1)
            case ["beta", _]:
                return self.beta(i + 1)
            case ["c", *later, "/", "p"]:
                return fmpq(self.c[i + len(later)], i + 1)
            case ["v", "at", *_]:
                return self.v[self.ell[i + 1]]
            case _:
                return self.ell[i + 1]

    def y(self, i: int) -> Vector:
        """y_i = [⟦q^(i)⟧, ⟦s^(i)⟧, m^(i−1), 0, …]."""
        return self._vector("y", i)

    def a1(self, i: int) -> Vector:
        """a¹_i: y_i, what the encoder says of i + 1, and pos(i + 1)."""
        return self._vector("a1", i)

    def z1(self, i: int) -> Vector:
        """z¹_i: ⟦q^(i+1)⟧, ⟦v^(i)⟧, m^(i), m^(i−1), and the same."""
        return self._vector("z1", i)

    def p2(self, i: int) -> Vector:
        """p²_i = z²_i: with c^(i+1)/(i+1) and c^(i)/(i+1)."""
        return self._vector("p2", i)

    def p3(self, i: int) -> Vector:
        """p³_i = z³_i: with ⟦v^(ℓ(i+1))⟧ and ℓ(i+1)."""
        return self._vector("p3", i)

    def _vector(self, name: str, i: int) -> Vector:
        parts = {block: self.value(value, i) for block, value in VECTORS[name].items()}
        if name != "y":
            powers = [fmpq(i + 1) ** -e for e in range(1, len(self.positions) - 1)]
            parts |= zip(self.positions, (fmpq(1), fmpq(i + 1), *powers), strict=True)
        return Vector.of(self.layout, {k: part for k, part in parts.items() if part is not None})


class ProofValues(ProofVectors):
    """The values of the proof for one machine, one word and the times 0 to `steps`."""

    q: list[str | None]
    s: list[str]
    v: list[str | None]
    m: list[int]
    c: list[int]
    ell: list[int]

    def __init__(
        self, normal: NormalMachine, word: Sequence[str], steps: int, score: Score = PAPER
    ) -> None:
        super().__init__(normal, word, score)
        self.q, self.s, self.v, self.m = [], [], [], []
        self.c, self.ell = [0], [-1]  # ℓ(0) is not defined
        last_visit: dict[int, int] = {}
        # The machine's input begins in cell 0, its head on cell −1: the paper's cell 0.
        for moment in islice(configurations(normal.machine, self.word, head=-1), steps + 1):
            self.q.append(moment.state)
            self.s.append(moment.symbol)
            action = normal.machine.action(moment.state, moment.symbol)
            self.v.append(action.write if action else None)
            self.m.append(action.move.offset if action else 0)
        while len(self.q) <= steps:  # the dead vector
            self.q.append(None)
            self.s.append(self.blank)
            self.v.append(None)
            self.m.append(0)
        for i in range(steps + 1):
            last_visit[self.c[i]] = i
            self.c.append(self.c[i] + self.m[i])
            self.ell.append(last_visit.get(self.c[i + 1], i))

    @staticmethod
    def of(compiled: CompiledTransformer, word: Sequence[str], steps: int) -> "ProofValues":
        """The values for a compiled network, in vectors of its layout."""
        return ProofValues(compiled.normal, word, steps, compiled.score)

    @property
    def halts(self) -> int | None:
        """The first t for which y_t no longer shows a state, if there is one."""
        return next((t for t, state in enumerate(self.q) if state is None), None)


class ProofValuesOf(ProofVectors):
    """The values of the proof for any time, from a timeline of the normal machine."""

    def __init__(
        self,
        normal: NormalMachine,
        word: Sequence[str],
        timeline: Timeline,
        score: Score = PAPER,
    ) -> None:
        super().__init__(normal, word, score)
        self.timeline = timeline
        self.q = _Times(lambda i: now.state if (now := timeline.at(i)) else None)
        self.s = _Times(lambda i: now.symbol if (now := timeline.at(i)) else self.blank)
        self.v = _Times(lambda i: action.write if (action := timeline.action(i)) else None)
        self.m = _Times(lambda i: action.move.offset if (action := timeline.action(i)) else 0)
        self.c = _Times(self._cell)
        self.ell = _Times(self._last_visit)

    def _cell(self, i: int) -> int:
        """c^(i): the machine's cell −1 is the paper's cell 0; after a halt the head stays."""
        now = self.timeline.at(i)
        if now is None:
            assert self.timeline.end is not None
            now = self.timeline.at(self.timeline.end)
        assert now is not None
        return now.head + 1

    def _last_visit(self, i: int) -> int:
        """ℓ(i): the last time before i at which the head was where it is at i; i − 1 if none."""
        now = self.timeline.at(i)
        if now is None:
            return i - 1
        (latest, _), *_ = self.timeline.visits(i, now.head, now.head)
        return i - 1 if latest is None else latest
