"""The decision tree of a network that follows pointers: a token evaluated for all pointers at once.

A token begins with the finite part of y and the set of coordinates that hold a pointer. On its way
through the layers it asks questions: what the input has for a query, what earlier tokens have
shown, what the target of a pointer has. Answers are finite, too. So a network is a tree: a node
asks, its children are the answers, a leaf has the next output. Each node is evaluated once from the
weights, with pointers and positions as unknowns. Where these forms do not decide which token an
attention is to, or a pointer does not stay one, `UnsuitableError` is raised.

A node depends on the weights and on the answers on the way to it, and on nothing else: a run's
input, and what its tokens have shown, come in by answers only. So all runs of a network share its
tree. QED.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import ref

from netwright.definitions.transformer import Layer, Transformer, dot_product, hardmax, score_phi
from netwright.engine.moments import UnsuitableError, Watch
from netwright.engine.pointers.forms import (
    NOTHING,
    TWO,
    UNIT,
    AffineForms,
    Bound,
    Bounds,
    Form,
    Forms,
    NetworkForms,
    Sparse,
    added,
    affine_forms,
    feed_forward,
    hashable,
    known,
    position_forms,
    scores,
    vector_of,
)
from netwright.engine.pointers.inputs import Encoder, Interned, Query
from netwright.exact.rational import ONE, ZERO, Rational
from netwright.exact.vector import Vector

NONE, NULL, NEW = range(3)
"""The target of a pointer: none (0), token 0, the token itself; higher numbers are the token's own
pointers, then those of the token that was looked up."""
MOST_NODES, MOST_OBJECTS, MOST_TREES = 1 << 16, 1 << 16, 8


class LayerAlone(Layer):
    """A decoder layer with z = O(a): there is no residual connection around O."""


@dataclass(frozen=True, eq=False)
class Output:
    """The finite part of y: known numbers, and which pointers there are."""

    finite: Sparse
    pointers: tuple[int, ...]
    """The coordinates that hold a pointer."""
    is_known: bool = True
    """Whether all other numbers are known; if not, the next token cannot be evaluated."""


@dataclass(frozen=True, eq=False)
class Value:
    """The value of a token that is looked up: known numbers, and copies of its pointers."""

    finite: Sparse
    pointers: tuple[tuple[int, int], ...]
    """Coordinates, each with the number of the pointer there."""


@dataclass(frozen=True, eq=False)
class Shown:
    """A key and a value of a layer whose keys are known numbers."""

    layer: int
    key: Vector
    value: Interned


class ByContent(NamedTuple):
    """A query to earlier tokens in such a layer, and what the token itself shows there."""

    query: Interned
    own: Shown


@dataclass(frozen=True, eq=False)
class LookUp:
    """The pointer that a token follows, and its own value for later tokens."""

    layer: int
    keys: Forms
    """The token's own key, as a form in its position."""
    follows: int
    """The number of the pointer; −1 if no single token wins."""
    value: Value


class Ended(NamedTuple):
    """The result of a token."""

    output: Output
    pointers: tuple[int, ...]
    """The target of each pointer of the output; see `NEW`."""
    codes: tuple[int, ...]
    """The codes of the watches."""
    shown: tuple[Shown, ...]
    """What the token shows to those that ask by content."""


class _Token(NamedTuple):
    """A token on its way through the layers; z is p once self attention is over."""

    z: Forms
    bounds: Bounds
    first: int | None
    """The least position, if all bounds follow from it; None if there are others."""
    layer: int = 0
    shown: tuple[Shown, ...] = ()
    codes: tuple[tuple[int, int], ...] = ()
    """The codes of the watches so far, with the watches' numbers."""


@dataclass(eq=False)
class Node:
    """A token after some answers: its next question, or its result."""

    token: _Token
    asks: Query | ByContent | LookUp | Ended
    children: "dict[Answer, Node]" = field(default_factory=dict)


Answer = Interned | frozenset[Interned] | Value | None
"""From the input; the best values shown; the value looked up, or None for no single token."""


class _LayerForms:
    """The maps of a decoder layer, and the live coordinates of its vectors: those read later."""

    def __init__(self, layer: Layer, places: set[int], live: set[int]) -> None:
        self.O, self.adds = NetworkForms(layer.O), not isinstance(layer, LayerAlone)
        self.V = affine_forms(layer.V)
        self.live = live
        """Of z, after the layer."""
        self.live_after_input = self.O.reads | live
        self.live_after_self = self.live_after_input | places
        self.live_before = {*self.live_after_self}
        if not self.V.is_zero:
            self.Q, self.K = affine_forms(layer.Q), affine_forms(layer.K)
            self.live_before |= {row for each in (self.Q, self.K, self.V) for row in each.rows}


class Evaluation:
    """The tree of a network, as watches see its tokens."""

    def __init__(self, network: Transformer, watches: tuple[Watch, ...]) -> None:
        if network.rho != hardmax or network.score not in (score_phi, dot_product):
            raise UnsuitableError("its attention is not hard, with −|⟨q, k⟩| or ⟨q, k⟩")
        if network.encoder:
            raise UnsuitableError("it has an encoder layer")
        self.layout, self.watches = network.layout, watches
        self.is_dot = network.score == dot_product
        self.positions, count = position_forms(network), len(network.decoder)
        self.pointers = self._pointer_places(network)
        self._watched: dict[str, list[tuple[int, Watch, set[int]]]] = {}
        """By vector: watches with their numbers, and the coordinates that they read."""
        for number, watch in enumerate(watches):
            name = f"z{count}" if watch.vector == "z" else watch.vector
            through = watch.through
            reads = {row for row, _ in through.weights} if through is not None else None
            places = {*network.layout.places(watch.block)} if reads is None else reads
            self._watched.setdefault(name, []).append((number, watch, places))
        self.F = NetworkForms(network.F)
        places = AffineForms(feed_forward(network.K).maps[-1]).columns
        live = self.F.reads
        self.layers: list[_LayerForms] = []
        for number in range(count, 0, -1):
            live = live.union(*(reads for _, _, reads in self._watched.get(f"z{number}", ())))
            self.layers.insert(0, _LayerForms(network.decoder[number - 1], places, live))
            live = self.layers[0].live_before
        self.encoder = Encoder(
            network, self.positions, [each.live_after_input for each in self.layers]
        )
        self.nodes = 0
        self._roots: dict[tuple[Output, int], Node] = {}
        self._nodes: dict[Hashable, Node] = {}
        """Cache: the node of a token after a layer, by all that determines it."""
        self.contents: dict[tuple[object, Shown], object] = {}
        """An object for all that was shown: by that for all before the last, and the last."""
        self.answers: dict[tuple[object, ByContent], frozenset[Interned]] = {}
        """Cache of answers by content, by the object for all that was shown."""

    def _pointer_places(self, network: Transformer) -> tuple[int, ...]:
        """The coordinates of y that hold pointers: F writes them where it reads 1/i."""
        F = feed_forward(network.F)
        if len(F.maps) != 2:
            raise UnsuitableError("F does not have exactly two maps")
        reads, writes = F.maps
        inverse = [place for place, form in self.positions.items() if form.unknown == "e"]
        units = {column for row, column in reads.weights if row in inverse}
        return tuple(sorted({column for row, column in writes.weights if row in units}))

    # The tree.

    def root(self, output: Output, first: int) -> Node:
        """The node of a token that begins with an output, at position `first` or later."""
        if self.nodes > MOST_NODES:
            self._roots, self._nodes, self.nodes = {}, {}, 0
            self.contents.clear()
            self.answers.clear()
        if (output, first) not in self._roots:
            self._roots[output, first] = self._first(output, first)
            self.nodes += 1
        return self._roots[output, first]

    def after(self, node: Node, answer: Answer) -> Node:
        """The node that an answer leads to."""
        if answer not in node.children:
            node.children[answer] = self._answered(node, answer)
            self.nodes += 1
        return node.children[answer]

    def _first(self, output: Output, first: int) -> Node:
        if not output.is_known:
            raise UnsuitableError("a number of an output depends on a pointer, or on a mean")
        unit = (ZERO, ONE)
        bounds: dict[str, Bound] = {"n": (ONE * first, None), "e": unit, "e2": unit}
        bounds |= {name: unit for place in self.pointers for name in (f"p{place}", f"f{place}")}
        y = known(output.finite)
        y |= {place: Form(ZERO, ((f"p{place}", ONE),)) for place in output.pointers}
        live = self.layers[0].live_before if self.layers else self.F.reads
        return self._before_layer(_Token(_only(live, added(y, self.positions)), bounds, first))

    def _answered(self, node: Node, answer: Answer) -> Node:
        token, layer = node.token, self.layers[node.token.layer]
        if isinstance(answer, Interned):
            a = added(token.z, answer.forms)
            z = layer.O(a, token.bounds)
            z = _only(layer.live, added(a, z) if layer.adds else z)
            codes = token.codes + self._codes(f"z{token.layer + 1}", z)
            return self._shared_node(token._replace(z=z, layer=token.layer + 1, codes=codes))
        if isinstance(answer, frozenset):
            found, more = self._best(answer, token.layer)
        else:
            found, more = self._looked_up(answer, layer)
        p = _only(layer.live_after_self, added(token.z, found))
        if more:
            token = token._replace(bounds={**token.bounds, **more}, first=None)
        return self._before_input(token._replace(z=p))

    def _shared_node(self, token: _Token) -> Node:
        """The node of a token after a layer, shared by all paths that lead to the same token."""
        if token.first is None:
            return self._before_layer(token)
        name = (token.layer, token.first, hashable(token.z), token.shown, token.codes)
        if name not in self._nodes:
            self._nodes[name] = self._before_layer(token)
        return self._nodes[name]

    def _before_layer(self, token: _Token) -> Node:
        """Begin the next layer with its self attention: none, by pointer, or by content."""
        if token.layer == len(self.layers):
            return Node(token, self._ended(token))
        layer, z = self.layers[token.layer], token.z
        if layer.V.is_zero:
            return self._before_input(token._replace(z=_only(layer.live_after_self, z)))
        query, key, value = layer.Q(z), layer.K(z), layer.V(z)
        if any(form.terms for form in key.values()):
            follows = self._followed(scores(query, key))
            return Node(token, LookUp(token.layer, key, follows, self._value(value)))
        if any(form.terms for form in (*query.values(), *value.values())):
            raise UnsuitableError("an attention by content depends on a pointer")
        asks = self.by_content(token.layer, query, key, value)
        return Node(token._replace(shown=(*token.shown, asks.own)), asks)

    def _before_input(self, token: _Token) -> Node:
        return Node(token, self.encoder.query(token.layer, token.z))

    # Self attention.

    def by_content(self, layer: int, query: Forms, key: Forms, value: Forms) -> ByContent:
        """A question to earlier tokens by what they show; all forms are constant."""
        found = self.encoder.interned(value)
        own = Shown(layer, vector_of(self.layout, key), found)
        own = self.encoder.intern(("shown", layer, hashable(key), found), own)
        return ByContent(self.encoder.interned(query), own)

    def _best(self, best: frozenset[Interned], layer: int) -> tuple[Forms, Bounds]:
        """The value found by content, and bounds of new unknowns.

        If the best values differ, their mean is unknown: nothing may depend on it.
        """
        if len(best) == 1:
            return next(iter(best)).forms, {}
        found, bounds = dict[int, Form](), dict[str, Bound]()
        for place in {place for each in best for place in each.forms}:
            numbers = [each.forms.get(place, NOTHING).constant for each in best]
            name = f"content{layer}.{place}"
            bounds[name] = min(numbers), max(numbers)
            found[place] = Form(ZERO, ((name, ONE),))
        return found, bounds

    def _followed(self, score: Mapping[str, Form]) -> int:
        """The pointer P to the one token with the greatest score: j + 1 = 1/P."""
        one, n, e, e2 = (score.get(name, NOTHING) for name in ("", "n", "e", "e2"))
        if set(score) - {"", "n", "e", "e2"}:
            raise UnsuitableError("keys have pointers in them")
        if self.is_dot and n == NOTHING and not e2.terms and e2.constant < ZERO:
            # 2κPε − κε² = κP² − κ(P − ε)²; with P = 0 the newest token wins.
            if e == NOTHING:
                return -1
            return self._number(Form.sum([(-ONE / (TWO * e2.constant), e)]))
        if not self.is_dot and e == NOTHING and e2 == NOTHING and not one.terms and one.constant:
            # −|κ(P (j+1) − 1)|; with P = 0 all are equal.
            if n == NOTHING:
                return -1
            return self._number(Form.sum([(-ONE / one.constant, n)]))
        if not self.is_dot and n == NOTHING and e2 == NOTHING and not e.terms and e.constant:
            # −|κ(P − 1/(j+1))|; with P = 0 the newest token wins.
            if one == NOTHING:
                return -1
            return self._number(Form.sum([(-ONE / e.constant, one)]))
        raise UnsuitableError("a query does not follow a pointer")

    def _number(self, form: Form) -> int:
        """The number of the pointer that a form is."""
        name = form.unknown
        if name is None or not name.startswith("p"):
            raise UnsuitableError("a query does not follow a pointer")
        return self.pointers.index(int(name[1:]))

    def _value(self, forms: Forms) -> Value:
        finite, pointers = dict[int, Rational](), []
        for place, form in sorted(forms.items()):
            name = form.unknown
            if not form.terms:
                finite[place] = form.constant
            elif name is not None and name.startswith("p"):
                pointers.append((place, self.pointers.index(int(name[1:]))))
            else:
                raise UnsuitableError("a value is neither known nor a pointer")
        if any(not ZERO <= number <= ONE for number in finite.values()):
            raise UnsuitableError("a value is not between 0 and 1")
        return self.encoder.intern(("value", hashable(forms)), Value(finite, tuple(pointers)))

    def _looked_up(self, value: Value | None, layer: _LayerForms) -> tuple[Forms, Bounds]:
        """The value looked up; for None a mean of values, between 0 and 1."""
        if value is not None:
            found = known(value.finite)
            for place, number in value.pointers:
                found[place] = Form(ZERO, ((f"f{self.pointers[number]}", ONE),))
            return found, {}
        places = layer.V.columns
        bounds = {f"mean{place}": (ZERO, ONE) for place in places}
        return {place: Form(ZERO, ((f"mean{place}", ONE),)) for place in places}, bounds

    # Results.

    def _ended(self, token: _Token) -> Ended:
        y = self.F(token.z, token.bounds)
        codes = tuple(code for _, code in sorted(token.codes + self._codes("y", y)))
        finite, there, moves = {**y}, list[int](), list[int]()
        for place in self.pointers:
            form = finite.pop(place, NOTHING)
            moves.append(self._origin(form))
            if form != NOTHING:
                there.append(place)
        is_known = not any(form.terms for form in finite.values())
        output = self._output(finite, tuple(there), is_known)
        return Ended(output, tuple(moves), codes, token.shown)

    def _codes(self, name: str, vector: Forms) -> tuple[tuple[int, int], ...]:
        """The codes of the watches of a vector, which must read known numbers only."""
        found = []
        for number, watch, reads in self._watched.get(name, ()):
            seen = _only(reads, vector)
            if any(form.terms for form in seen.values()):
                raise UnsuitableError("what is watched depends on a pointer")
            found.append((number, watch.code(vector_of(self.layout, seen))))
        return tuple(found)

    def _origin(self, form: Form) -> int:
        """The target of a pointer, from its form; see `NEW`."""
        if form in (NOTHING, UNIT):
            return NONE if form == NOTHING else NULL
        name = form.unknown
        if name == "e":
            return NEW
        if name is not None and name[0] in "pf" and name[1:].isdigit():
            found = len(self.pointers) if name[0] == "f" else 0
            return NEW + 1 + found + self.pointers.index(int(name[1:]))
        raise UnsuitableError("a pointer does not stay a pointer")

    def _output(self, finite: Forms, there: tuple[int, ...], is_known: bool) -> Output:
        numbers = {place: form.constant for place, form in finite.items() if not form.terms}
        name = ("output", hashable(known(numbers)), there, is_known)
        return self.encoder.intern(name, Output(numbers, there, is_known))

    def seed_output(self, y: Vector) -> Output:
        """The finite part of a seed, whose pointers must all be to token 0."""
        entries = dict(y.entries)
        there = {place: entries.pop(place) for place in self.pointers if place in entries}
        if any(value != ONE for value in there.values()):
            raise UnsuitableError("a pointer of the seed is not to token 0")
        return self._output(known(entries), tuple(there), is_known=True)


def _only(places: set[int], vector: Forms) -> Forms:
    """A vector restricted to some coordinates."""
    return {place: form for place, form in vector.items() if place in places}


_kept: dict[int, tuple[ref[Transformer], list[Evaluation]]] = {}
"""Cache: the trees of live networks, by identity, as weights have no hash."""


_reduced: dict[int, tuple[ref[object], Transformer]] = {}
"""Cache: what live networks are run as, where that is another network."""


def shared_reduction(network: object, made: Transformer) -> Transformer:
    """What a network was first reduced to, which is the same: so all of its runs share a tree."""
    number = id(network)
    if number not in _reduced:
        _reduced[number] = ref(network, lambda _: _reduced.pop(number, None)), made
    return _reduced[number][1]


def evaluation_of(network: Transformer, watches: Sequence[Watch]) -> Evaluation:
    """The tree of a network for some watches, shared by all of its runs."""
    number, watches = id(network), tuple(watches)
    if number not in _kept:
        _kept[number] = ref(network, lambda _: _kept.pop(number, None)), []
    trees = [each for each in _kept[number][1] if len(each.encoder.objects) < MOST_OBJECTS]
    found = next((each for each in trees if each.watches == watches), None)
    if found is None:
        found = Evaluation(network, watches)
    _kept[number][1][:] = [found, *(each for each in trees if each is not found)][:MOST_TREES]
    return found
