"""The finite part of a program, evaluated from its weights for given keys."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from netwright.engine.transformer.program import (
    OUTPUT,
    STREAM,
    External,
    LastVisit,
    Program,
    Rescale,
    Step,
)
from netwright.engine.transformer.tables.residual import Residual, Slot, Y
from netwright.exact.rational import Activation, sigma

Sparse = dict[int, int]
Values = Mapping[str, Sequence[int]]


class _Sparse(NamedTuple):
    """A step by rows: what a coordinate of its source adds, and what is there without any."""

    by_source: Mapping[int, Sequence[tuple[int, int]]]
    bias: Sparse
    at_rest: Sparse
    """The targets that no source touches, after the activation."""
    tops: Sparse
    activation: Activation | None


class FinitePart:
    """Evaluates what is finite of a program."""

    def __init__(self, program: Program, residual: Residual) -> None:
        self.program, self.residual = program, residual
        self.steps: dict[int, _Sparse] = {}
        known = program.found.setdefault("sparse", {})
        for i, each in enumerate(program.instructions):
            if isinstance(each, Step) and i in residual.finite:
                sparse = known.get(i) if each.is_shared else None
                self.steps[i] = sparse or self._sparse(i, each)
                if each.is_shared:
                    known[i] = self.steps[i]
        self.slots: dict[int, list[tuple[str, int, Slot]]] = {}
        for key, slots in residual.slots.items():
            for n, slot in enumerate(slots):
                self.slots.setdefault(slot.before, []).append((key, n, slot))
        self._switches: dict[int, list[tuple[int, str]]] = {}
        for (i, k), key in residual.switches.items():
            self._switches.setdefault(i, []).append((k, key))
        of_y = [slot.before for slot in residual.slots[Y]]
        self._last_of_y = 1 + max([*of_y, *residual.visits, -1])
        others = [i for i, key in residual.rows.items() if key]
        others += [*residual.visits, *self._switches]
        # Up to there y is all that is known; what needs y alone may be needed behind it too.
        self._first_other_key = min(others, default=len(program.instructions))
        if self._first_other_key >= self._last_of_y:
            self._last_of_y = self._first_other_key

    def _sparse(self, i: int, each: Step) -> _Sparse:
        finite = self.residual.finite[i]
        by_source: dict[int, list[tuple[int, int]]] = {}
        for term in each.terms:
            if term.target in finite:
                by_source.setdefault(term.source, []).append((term.target, term.factor))
        bias: Sparse = {}
        for term in each.bias:
            if term.target in finite:
                bias[term.target] = bias.get(term.target, 0) + term.factor
        tops = {k: self.program.vectors[each.target][k].D for k in finite}
        at_rest = {
            k: active
            for k, x in bias.items()
            if (active := _activated(x, each.activation, tops[k]))
        }
        return _Sparse(by_source, bias, at_rest, tops, each.activation)

    def of_output(self, y: Sparse) -> "Evaluation":
        """Slots and own values of the key y: what depends on nothing else."""
        vectors: list[Sparse] = [{} for _ in self.program.vectors]
        vectors[OUTPUT] = dict(y)
        return self._evaluated(Evaluation(vectors, {}, {}, None), 0, self._last_of_y, {}, {}, {})

    def of_key(
        self, rows: Mapping[str, int] | None = None, values: Values | None = None
    ) -> "Evaluation":
        """Slots of a row of the encoder, or of a value."""
        vectors: list[Sparse] = [{} for _ in self.program.vectors]
        last = len(self.program.instructions)
        empty = Evaluation(vectors, {}, {}, None)
        return self._evaluated(empty, 0, last, rows or {}, values or {}, {})

    def of_token(
        self,
        output: "Evaluation",
        rows: Mapping[str, int],
        values: Values,
        switches: Mapping[str, int],
    ) -> "Evaluation":
        """All finite numbers of a token: from those of its output, where other keys come in."""
        assert output.at_the_first_other_key is not None
        begun = [dict(vector) for vector in output.at_the_first_other_key]
        last = len(self.program.instructions)
        found = Evaluation(begun, {}, {}, None)
        return self._evaluated(found, self._first_other_key, last, rows, values, switches)

    def _evaluated(
        self,
        found: "Evaluation",
        first: int,
        last: int,
        rows: Mapping[str, int],
        values: Values,
        switches: Mapping[str, int],
    ) -> "Evaluation":
        vectors, before = found.vectors, None
        for i in range(first, last):
            if i == self._first_other_key and not first:
                before = [dict(vector) for vector in vectors]
            each = self.program.instructions[i]
            for key, n, slot in self.slots.get(i, ()):
                found.slots[key, n] = sum(f * vectors[v].get(k, 0) for v, k, f in slot.parts)
            if isinstance(each, Step):
                if i in self.steps or (vectors[each.target] and not each.adds):
                    vectors[each.target] = self._step(i, each, vectors, switches)
            elif isinstance(each, Rescale):
                stream = vectors[STREAM]
                factors = {term.target: term.factor for term in each.terms}
                for k in self.residual.finite.get(i, ()):
                    if k in stream:
                        stream[k] *= factors[k]
            elif isinstance(each, External):
                self._external(i, each, vectors[STREAM], rows)
            elif isinstance(each, LastVisit):
                part = self.residual.visits[i]
                own = vectors[each.value]
                found.own[part.key] = tuple(own.get(each.terms[n].source, 0) for n in part.finite)
                for n, x in zip(part.finite, values.get(part.key, ()), strict=False):
                    k = each.terms[n].target
                    vectors[STREAM][k] = vectors[STREAM].get(k, 0) + x * each.terms[n].factor
        if before is None and not first:
            before = [dict(vector) for vector in vectors]
        return found._replace(at_the_first_other_key=before)

    def _step(
        self, i: int, each: Step, vectors: list[Sparse], switches: Mapping[str, int]
    ) -> Sparse:
        target = dict(vectors[each.target]) if each.adds else {}
        if i in self.steps:
            by_source, bias, at_rest, tops, activation = self.steps[i]
            added: Sparse = {}
            for j, x in vectors[each.source].items():
                if x:
                    for k, factor in by_source.get(j, ()):
                        added[k] = added.get(k, 0) + factor * x
            if activation is None:
                for numbers in (bias, added):
                    for k, x in numbers.items():
                        target[k] = target.get(k, 0) + x
            else:
                target |= at_rest
                for k, x in added.items():
                    x += bias.get(k, 0)
                    x = max(x, 0)
                    target[k] = min(x, tops[k]) if activation is sigma else x
        for k, key in self._switches.get(i, ()):
            if key in switches:
                target[k] = switches[key]
        return target

    def _external(self, i: int, each: External, stream: Sparse, rows: Mapping[str, int]) -> None:
        key = self.residual.rows[i]
        if key and key not in rows:
            return
        for k in self.residual.finite_columns[i]:
            stream[k] = stream.get(k, 0) + int(each.columns[k][1][rows[key] if key else 0])


class Evaluation(NamedTuple):
    """What came out: vectors by number, slots by key and number, and the token's own values."""

    vectors: list[Sparse]
    slots: dict[tuple[str, int], int]
    own: dict[str, tuple[int, ...]]
    at_the_first_other_key: list[Sparse] | None
    """The vectors where other keys than y come in, in the evaluation of an output."""


def _activated(x: int, activation: Activation | None, top: int) -> int:
    if activation is None:
        return x
    return min(max(x, 0), top) if activation is sigma else max(x, 0)
