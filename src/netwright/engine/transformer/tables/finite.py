"""The finite part of a program, evaluated from its weights for given keys."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from netwright.engine.transformer.program import (
    OUTPUT,
    STREAM,
    External,
    LastVisit,
    Program,
    Rescale,
    Step,
    Term,
)
from netwright.engine.transformer.tables.residual import Residual, Slot, Y
from netwright.exact.rational import Activation, sigma

Sparse = dict[int, int]
Keys = Mapping[str, Any]
"""By key: the row of an encoder, the finite part of a value, or the value of a switch."""


class _Sparse(NamedTuple):
    """A step by rows: what each coordinate of its source adds, and the image of 0."""

    by_source: Mapping[int, Sequence[tuple[int, int]]]
    bias: Sparse
    at_rest: Sparse
    """The bias after the activation: the image of 0."""
    tops: Sparse
    activation: Activation | None


class FinitePart:
    """Evaluates the finite part of a program."""

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
        others = [i for i, key in residual.rows.items() if key]
        others += [*residual.visits, *self._switches]
        # Before it y is the only key; numbers of y alone may be needed after it, too.
        self._first_other_key = min(others, default=len(program.instructions))
        of_y = [slot.before for slot in residual.slots[Y]]
        self._last_of_y = max(1 + max([*of_y, *residual.visits, -1]), self._first_other_key)

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
        """The slots and own values that depend on y alone."""
        vectors: list[Sparse] = [{} for _ in self.program.vectors]
        vectors[OUTPUT] = dict(y)
        return self._evaluated(vectors, 0, self._last_of_y, {})

    def of_key(self, keys: Keys) -> "Evaluation":
        """The slots of a row of the encoder, or of a value."""
        vectors: list[Sparse] = [{} for _ in self.program.vectors]
        return self._evaluated(vectors, 0, len(self.program.instructions), keys)

    def of_token(self, output: "Evaluation", keys: Keys) -> "Evaluation":
        """All finite numbers of a token, from those of its output and the other keys."""
        vectors = [dict(vector) for vector in output.before_other_keys]
        last = len(self.program.instructions)
        return self._evaluated(vectors, self._first_other_key, last, keys)

    def _evaluated(self, vectors: list[Sparse], first: int, last: int, keys: Keys) -> "Evaluation":
        """Evaluate instructions `first` to before `last`; update the vectors in place."""
        found = Evaluation(vectors, {}, {}, [])
        for i in range(first, last):
            if i == self._first_other_key and not first:
                found.before_other_keys.extend(map(dict, vectors))
            each = self.program.instructions[i]
            for key, n, slot in self.slots.get(i, ()):
                found.slots[key, n] = sum(f * vectors[v].get(k, 0) for v, k, f in slot.parts)
            if isinstance(each, Step):
                if i in self.steps or (vectors[each.target] and not each.adds):
                    vectors[each.target] = self._step(i, each, vectors, keys)
            elif isinstance(each, Rescale):
                self._rescale(i, each, vectors[STREAM])
            elif isinstance(each, External):
                self._external(i, each, vectors[STREAM], keys)
            elif isinstance(each, LastVisit):
                part, own = self.residual.visits[i], vectors[each.value]
                terms = [each.terms[n] for n in part.finite]
                found.own[part.key] = tuple(own.get(term.source, 0) for term in terms)
                _add(vectors[STREAM], terms, keys.get(part.key, ()))
        if not found.before_other_keys and not first:
            found.before_other_keys.extend(map(dict, vectors))
        return found

    def _step(self, i: int, each: Step, vectors: list[Sparse], keys: Keys) -> Sparse:
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
                    x = max(x + bias.get(k, 0), 0)
                    target[k] = min(x, tops[k]) if activation is sigma else x
        for k, key in self._switches.get(i, ()):
            if key in keys:
                target[k] = keys[key]
        return target

    def _rescale(self, i: int, each: Rescale, stream: Sparse) -> None:
        factors = {term.target: term.factor for term in each.terms}
        for k in self.residual.finite.get(i, ()):
            if k in stream:
                stream[k] *= factors[k]

    def _external(self, i: int, each: External, stream: Sparse, keys: Keys) -> None:
        key = self.residual.rows[i]
        if key and key not in keys:
            return
        for k in self.residual.finite_columns[i]:
            stream[k] = stream.get(k, 0) + int(each.columns[k][1][keys[key] if key else 0])


class Evaluation(NamedTuple):
    """The result: vectors by number, slots by key and number, and the token's own values."""

    vectors: list[Sparse]
    slots: dict[tuple[str, int], int]
    own: dict[str, tuple[int, ...]]
    before_other_keys: list[Sparse]
    """A copy of the vectors before the first key other than y; empty for `of_token`."""


def _add(stream: Sparse, terms: Sequence[Term], numbers: Sequence[int]) -> None:
    for term, x in zip(terms, numbers, strict=False):
        stream[term.target] = stream.get(term.target, 0) + x * term.factor


def _activated(x: int, activation: Activation | None, top: int) -> int:
    if activation is None:
        return x
    return min(max(x, 0), top) if activation is sigma else max(x, 0)
