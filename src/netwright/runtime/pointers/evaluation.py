"""One token of a network that follows pointers, evaluated for all pointers at once.

What a token is: the finite part of y, and for each of some coordinates whether a pointer stands
there; which token of the input it attends to by its position; and what the token that it looks up
has for it. Each such case is evaluated once from the weights, with the pointers as unknowns. Where
an attention is not to one token that these forms tell, or a pointer does not stay one,
`UnsuitableError` says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from netwright.engine.moments import UnsuitableError, Watch
from netwright.exact.rational import ONE, ZERO, Rational
from netwright.exact.vector import Vector
from netwright.nets.attention import dot_product, hardmax, score_phi
from netwright.nets.transformer import Layer, Transformer
from netwright.runtime.pointers.forms import (
    NOTHING,
    Bound,
    Form,
    Forms,
    added,
    image,
    through,
)
from netwright.runtime.pointers.input_attention import External, InputAttention
from netwright.runtime.pointers.maps import (
    TWO,
    affine_image,
    feed_forward,
    is_zero,
    plain,
    positions,
    power,
)

NONE, NULL, NEW = range(3)
"""Where a pointer goes: nowhere (0), to token 0 (1), to the token itself; then those that it had,
then those that the token that was looked up had."""


Numbers = tuple[tuple[int, Rational], ...]
"""Coordinates, each with the number that stands there."""


class Output(NamedTuple):
    """What y shows, without its pointers: known numbers, and which pointers there are."""

    finite: Numbers
    pointers: tuple[int, ...]
    """The coordinates that have one."""
    is_known: bool = True
    """Whether the numbers are all; if not, the next token cannot be told."""


class Value(NamedTuple):
    """What a token has for those who look it up: known numbers, and copies of its pointers."""

    finite: Numbers
    pointers: tuple[tuple[int, int], ...]
    """Coordinates, each with the pointer, by its number, that stands there."""


class Shown(NamedTuple):
    """A key and a value of a layer whose keys are known numbers."""

    layer: int
    key: Numbers
    value: Numbers


class Best(NamedTuple):
    """Of the first `seen` things that tokens showed, those with the greatest score."""

    seen: int
    top: Rational | None
    values: Mapping[Numbers, None]

    def with_one(self, score: Rational, value: Numbers) -> "Best":
        """With one more, or one that is there already."""
        if self.top is not None and score < self.top:
            return self
        if self.top is not None and score == self.top:
            return self._replace(values={**self.values, value: None})
        return self._replace(top=score, values={value: None})


class Begun(NamedTuple):
    """What is known of a token before it looks anything up."""

    follows: int | None
    """The number of the pointer that it follows; None if it looks at no single token."""
    value: Value


class Ended(NamedTuple):
    """What comes of a token."""

    output: Output
    pointers: tuple[int, ...]
    """Where each of the pointers goes."""
    codes: tuple[int, ...]
    """What the watches see."""
    shown: "tuple[Shown, ...]" = ()
    """What it shows to those that ask by content."""


@dataclass
class _Token:
    """A token on its way through the layers."""

    z: Forms
    bounds: dict[str, Bound]
    shown: list[Shown] = field(default_factory=list)
    seen: dict[str, Forms] = field(default_factory=dict)
    layer: int = 0

    def copy(self) -> "_Token":
        return _Token(self.z, dict(self.bounds), [*self.shown], dict(self.seen), self.layer)


class Evaluation:
    """The tokens of a network on an input."""

    def __init__(self, network: Transformer, X: Sequence[Vector], watches: Sequence[Watch]) -> None:
        if network.rho != hardmax or network.score not in (score_phi, dot_product):
            raise UnsuitableError("its attention is not hard, with −|⟨q, k⟩| or ⟨q, k⟩")
        if network.encoder or network.pos is None:
            raise UnsuitableError("it has an encoder layer, or no positions")
        self.network, self.X, self.watches = network, X, watches
        self.layout = network.layout
        self.is_dot = network.score == dot_product
        one, two = network.pos(1), network.pos(2)
        self.powers = {place: power(two.entries[place]) for place in one.entries}
        """The coordinates of positions, with the power of the position that stands there."""
        self.input = InputAttention(network, X, self.powers)
        self.pointers = self._pointer_places()
        self.key_forms: dict[int, Forms] = {}
        self.shown: dict[Shown, None] = {}
        """What tokens have shown so far."""
        self.in_layer: dict[int, list[Shown]] = {}
        """The same by layer."""
        self.found: dict[tuple[int, Numbers], Best] = {}
        """What was found for a query of a layer."""
        self._last: tuple[object, tuple[_Token, Begun]] | None = None

    def _pointer_places(self) -> tuple[int, ...]:
        """The coordinates of y that F writes where it reads 1/i: those of pointers."""
        F = feed_forward(self.network.F)
        if len(F.maps) != 2:
            raise UnsuitableError("F has not two maps")
        reads, writes = F.maps
        inverse = [place for place, power in self.powers.items() if power == -1]
        units = {column for row, column in reads.weights if row in inverse}
        return tuple(sorted({column for row, column in writes.weights if row in units}))

    # A token.

    def begin(self, output: Output, external: External | None) -> Begun:
        """As far as nothing is looked up."""
        return self._begun(output, external)[1]

    def end(self, output: Output, external: External | None, looked_up: Value | None) -> Ended:
        """All of it, with what the token that is looked up has; None if it is no single one."""
        token = self._begun(output, external)[0].copy()
        if token.layer < len(self.network.decoder):
            layer = self.network.decoder[token.layer]
            found = self._found(looked_up, layer, token.bounds)
            self._finish_layer(token, added(token.z, found), external)
            if self._to_look_up(token, external) is not None:
                raise UnsuitableError("it looks up twice")
        F = through(feed_forward(self.network.F), token.z, token.bounds)  # the paper's letter
        return self._ended(token.seen, F)._replace(shown=tuple(token.shown))

    def _begun(self, output: Output, external: External | None) -> "tuple[_Token, Begun]":
        """A token that stands before its look-up; the last one is kept, as it is often asked."""
        asked = (output, external, len(self.shown))
        if self._last is None or self._last[0] != asked:
            token = self._first(output, external)
            begun = self._to_look_up(token, external) or Begun(None, Value((), ()))
            self._last = asked, (token, begun)
        return self._last[1]

    def _first(self, output: Output, external: External | None) -> "_Token":
        if not output.is_known:
            raise UnsuitableError("a number of an output depends on a pointer, or on a mean")
        first = external.first if external is not None else 1
        unit = (ZERO, ONE)
        bounds: dict[str, Bound] = {"n": (ONE * first, None), "e": unit, "e2": unit}
        bounds |= {name: unit for place in self.pointers for name in (f"p{place}", f"f{place}")}
        y: Forms = {place: Form(value) for place, value in output.finite}
        y |= {place: Form(ZERO, ((f"p{place}", ONE),)) for place in output.pointers}
        return _Token(added(y, positions(self.powers)), bounds)

    def _to_look_up(self, token: "_Token", external: External | None) -> Begun | None:
        """Go through the layers up to one that looks something up; None if there is none."""
        for number in range(token.layer, len(self.network.decoder)):
            layer, z = self.network.decoder[number], token.z
            keys = affine_image(layer.K, z)
            if is_zero(layer.V):
                p = z
            elif any(form.terms for form in keys.values()):
                return self._look(number, layer, z, keys)
            else:
                found = self._found_by_content(number, layer, z, keys, token.shown, token.bounds)
                p = added(z, found)
            self._finish_layer(token, p, external)
        return None

    def _finish_layer(self, token: "_Token", p: Forms, external: External | None) -> None:
        """Attention to the input, and O."""
        layer = self.network.decoder[token.layer]
        a = added(p, self.input.found(p, external))
        token.z = added(a, through(feed_forward(layer.O), a, token.bounds))
        token.layer += 1
        token.seen |= {"z": token.z, f"z{token.layer}": token.z}

    # Self attention.

    def show(self, shown: Sequence[Shown]) -> bool:
        """Note what a token shows to those that ask by content; whether any of it is new."""
        new = [each for each in shown if each not in self.shown]
        self.shown |= dict.fromkeys(new)
        for each in new:
            self.in_layer.setdefault(each.layer, []).append(each)
        return bool(new)

    def forget(self, count: int) -> None:
        """Go back to the first things that were shown; what was found among more is not kept."""
        if count == len(self.shown):
            return
        self.shown = dict.fromkeys([*self.shown][:count])
        self.in_layer = {}
        for each in self.shown:
            self.in_layer.setdefault(each.layer, []).append(each)
        self.found, self._last = {}, None

    def key(self, number: int, t: int) -> Vector:
        """The key of token t, from 1 on, in a layer whose keys are forms in the position."""
        e = ONE / t
        values = {"n": ONE * t, "e": e, "e2": e * e}
        parts = {
            place: form.constant + sum((c * values[name] for name, c in form.terms), ZERO)
            for place, form in self.key_forms[number].items()
        }
        return Vector(self.layout, parts)

    def _found_by_content(
        self,
        number: int,
        layer: Layer,
        z: Forms,
        keys: Forms,
        shown: list[Shown],
        bounds: dict[str, Bound],
    ) -> Forms:
        """What is found by keys that are known, among all tokens so far and this one.

        If the best of them have different values, it is a mean of these, which nobody may use.
        """
        query = affine_image(layer.Q, z)
        value = affine_image(layer.V, z)
        if any(form.terms for form in (*query.values(), *value.values())):
            raise UnsuitableError("an attention by content depends on a pointer")
        own = Shown(number, plain(keys), plain(value))
        shown.append(own)
        best = self.best(plain(query), own)
        if len(best) == 1:
            return {place: Form(value) for place, value in best[0]}
        found: Forms = {}
        for place in sorted({place for each in best for place, _ in each}):
            numbers = [dict(each).get(place, ZERO) for each in best]
            name = f"content{number}.{place}"
            bounds[name] = min(numbers), max(numbers)
            found[place] = Form(ZERO, ((name, ONE),))
        return found

    def best(self, query: Numbers, own: Shown) -> list[Numbers]:
        """The values with the greatest score for a query: of those that were shown, and its own.

        What was found for a query before is kept, and only what is new since is looked at.
        """
        q, there = Vector(self.layout, dict(query)), self.in_layer.get(own.layer, [])
        found = self.found.setdefault((own.layer, query), Best(0, None, {}))
        for each in there[found.seen :]:
            found = found.with_one(self._score(q, each), each.value)
        self.found[own.layer, query] = found = found._replace(seen=len(there))
        return list(found.with_one(self._score(q, own), own.value).values)

    def _score(self, q: Vector, each: Shown) -> Rational:
        return self.network.score(q, Vector(self.layout, dict(each.key)))

    def _look(self, number: int, layer: Layer, z: Forms, keys: Forms) -> Begun:
        """Which pointer a token follows, and what it has for others."""
        queries = affine_image(layer.Q, z)
        if self.key_forms.setdefault(number, keys) != keys:
            raise UnsuitableError("keys differ in more than their positions")
        # Σ q_c k_c(j) as a form in the position of token j, whose factors are forms themselves.
        factors: dict[str, list[tuple[Rational, Form]]] = {}
        for place, key in keys.items():
            if place in queries:
                for name, factor in (("", key.constant), *key.terms):
                    factors.setdefault(name, []).append((factor, queries[place]))
        score = {name: Form.sum(parts) for name, parts in factors.items()}
        score = {name: form for name, form in score.items() if form != NOTHING}
        return Begun(self._followed(score), self._value(affine_image(layer.V, z)))

    def _followed(self, score: Mapping[str, Form]) -> int | None:
        """The pointer P whose token alone has the greatest score: at j + 1 = 1/P."""
        one, n, e, e2 = (score.get(name, NOTHING) for name in ("", "n", "e", "e2"))
        if set(score) - {"", "n", "e", "e2"}:
            raise UnsuitableError("keys have pointers in them")
        if self.is_dot and n == NOTHING and not e2.terms and e2.constant < 0:
            # 2κPε − κε² = κP² − κ(P − ε)²; with P = 0 the newest token wins.
            if e == NOTHING:
                return None
            return self._number(Form.sum([(-ONE / (TWO * e2.constant), e)]))
        if not self.is_dot and e == NOTHING and e2 == NOTHING and not one.terms and one.constant:
            # −|κ(P (j+1) − 1)|; with P = 0 all are equal.
            if n == NOTHING:
                return None
            return self._number(Form.sum([(-ONE / one.constant, n)]))
        raise UnsuitableError("a query does not follow a pointer")

    def _number(self, form: Form) -> int:
        """The number of the pointer that a form is."""
        name = form.unknown
        if name is None or not name.startswith("p"):
            raise UnsuitableError("a query does not follow a pointer")
        return self.pointers.index(int(name[1:]))

    def _value(self, value: Forms) -> Value:
        finite, pointers = [], []
        for place, form in sorted(value.items()):
            name = form.unknown
            if not form.terms:
                finite.append((place, form.constant))
            elif name is not None and name.startswith("p"):
                pointers.append((place, self.pointers.index(int(name[1:]))))
            else:
                raise UnsuitableError("a value is neither known nor a pointer")
        if any(not 0 <= number <= 1 for _, number in finite):
            raise UnsuitableError("a value is not between 0 and 1")
        return Value(tuple(finite), tuple(pointers))

    def _found(self, value: Value | None, layer: Layer, bounds: dict[str, Bound]) -> Forms:
        """What is looked up; a mean of values is something between 0 and 1."""
        if value is not None:
            found = {place: Form(number) for place, number in value.finite}
            for place, number in value.pointers:
                found[place] = Form(ZERO, ((f"f{self.pointers[number]}", ONE),))
            return found
        affine = feed_forward(layer.V).maps[0]
        places = {column for _, column in affine.weights} | set(affine.bias.entries)
        bounds |= {f"mean{place}": (ZERO, ONE) for place in places}
        return {place: Form(ZERO, ((f"mean{place}", ONE),)) for place in places}

    # What comes out.

    def _ended(self, seen: Mapping[str, Forms], y: Forms) -> Ended:
        there: list[int] = []
        moves: list[int] = []
        for place in self.pointers:
            form = y.pop(place, NOTHING)
            name = form.unknown
            if form == NOTHING:
                moves.append(NONE)
                continue
            if form == Form(ONE):
                moves.append(NULL)
            elif name == "e":
                moves.append(NEW)
            elif name is not None and name[0] in "pf" and name[1:].isdigit():
                number = self.pointers.index(int(name[1:]))
                found = len(self.pointers) if name[0] == "f" else 0
                moves.append(NEW + 1 + found + number)
            else:
                raise UnsuitableError("a pointer does not stay a pointer")
            there.append(place)
        is_known = not any(form.terms for form in y.values())
        finite = [(k, form.constant) for k, form in sorted(y.items()) if not form.terms]
        vectors = {**seen, "y": y}
        codes = tuple(self._code(watch, vectors[watch.vector]) for watch in self.watches)
        return Ended(Output(tuple(finite), tuple(there), is_known), tuple(moves), codes)

    def _code(self, watch: Watch, vector: Forms) -> int:
        """What a watch sees, if what it looks at is known."""
        seen = vector if watch.through is None else image(watch.through, vector)
        layout = self.layout if watch.through is None else watch.through.output
        block = {place: seen[place] for place in layout.places(watch.block) if place in seen}
        if any(form.terms for form in block.values()):
            raise UnsuitableError("what is watched depends on a pointer")
        entries = {place: form.constant for place, form in block.items()}
        return replace(watch, through=None).code(Vector(layout, entries))

    def of(self, y: Vector) -> tuple[Output, tuple[int, ...]]:
        """An output whose pointers are to token 0 or none: a seed."""
        entries = dict(y.entries)
        moves = []
        there = []
        for place in self.pointers:
            value = entries.pop(place, ZERO)
            if value not in (ZERO, ONE):
                raise UnsuitableError("a pointer of the seed is not to token 0")
            moves.append(NULL if value else NONE)
            if value:
                there.append(place)
        return Output(tuple(sorted(entries.items())), tuple(there)), tuple(moves)
