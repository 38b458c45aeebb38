"""The finite control of a network: its states, and what comes of each for the digits of its cells.

A vector is 0, 1 or a cell in every coordinate: which of these is its *state*. A moment is evaluated
on forms (see `forms`): where the hull does not decide what σ does, or a result is no cell yet, one
more digit of a cell is read. So what comes of a state is a tree: inner nodes read a digit, leaves
are *entries*, with the next state and how its cells come from the ones before. An entry was decided
for every vector with the digits that were read on the way to it, so it holds for all of them; that
is the whole proof, and it assumes nothing of the weights.

A result (c + w·τ)/d is a cell again if it is the cell itself, popped, or if 0 < w < d: then it is
a digit pushed on it. Any other number is a cell of one digit. What is none of these, even with
more digits, is not for this engine (`UnsuitableError`), and exact rationals go on.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple

from netwright.engine.digits import Digits, Pair
from netwright.engine.forms import Cell, Form, OpenError, bounds, heaviest, opened
from netwright.engine.moments import UnsuitableError

OTHERS = 1 << 32
"""Cells below this number are those of the vector itself, others those of its neighbours."""
MOST_NODES = 1 << 18


class State(NamedTuple):
    """The coordinates that are 1, and those of each cell; all others are 0."""

    ones: tuple[int, ...] = ()
    cells: tuple[tuple[int, ...], ...] = ()
    """By slot; () where the slot is free."""

    def forms(self, first: Cell, known: Mapping[Cell, Form]) -> dict[int, Form]:
        """The coordinates that are cells, these being numbered from `first` on."""
        found: dict[int, Form] = {}
        for cell, places in enumerate(self.cells, start=first):
            found |= dict.fromkeys(places, known.get(cell, (0, 1, ((cell, 1),))))
        return found


class Source(NamedTuple):
    """A new cell: an old one, or none, after some pops, and a digit on it, or none."""

    cell: Cell | None
    pops: int
    digit: int | None


class Sum(NamedTuple):
    """A new cell: c/d, and multiples w/d of old cells after some pops."""

    c: int
    d: int
    terms: tuple[tuple[Cell, int, int], ...]
    """Cell, pops and w."""


Made = Source | Sum
Context = Hashable
Key = tuple[Context, State]
"""What the moment after it depends on, beside the digits of cells: neighbours, and the state."""


class Entry(NamedTuple):
    """What comes of a state: the next one, and its cells by slot."""

    state: State
    cells: tuple[Made | None, ...]


class Begun(NamedTuple):
    """A moment evaluated as far as it is decided: forms before σ, and such that need none."""

    ones: tuple[int, ...]
    before_sigma: Mapping[int, Form]
    linear: Mapping[int, Form]


Begin = Callable[[Key, Mapping[Cell, Form], Digits], Begun]
"""Evaluates the moment after a key on forms for its cells; OpenError where it needs a digit."""


class _Open(NamedTuple):
    """A coordinate that is not settled."""

    form: Form
    whole: Form
    """The form before digits were read, or the first that was a sum of cells."""
    depths: Mapping[Cell, int]
    """How many digits of each cell were read then."""
    sigma: bool
    """Whether σ is still to be applied."""

    @property
    def is_sum(self) -> bool:
        """Whether the whole is a sum of cells, of which the digits can be added."""
        c, _, terms = self.whole
        return len(terms) > 1 and c >= 0 and all(w > 0 for _, w in terms)

    def after(self, cell: Cell, pair: Pair, depths: Mapping[Cell, int]) -> "_Open":
        """The same after one more digit of a cell."""
        if all(other != cell for other, _ in self.form[2]):
            return self
        form = opened(self.form, cell, pair)
        if self.is_sum:
            return self._replace(form=form)
        return self._replace(form=form, whole=form, depths=depths)


class Node:
    """A place in the tree of a key: the digits read so far have settled some coordinates."""

    __slots__ = ("cells", "children", "depths", "entry", "key", "ones", "read", "rest", "settled")

    def __init__(self, key: Key, cells: Mapping[Cell, Form], depths: Mapping[Cell, int]):
        self.key, self.cells, self.depths = key, cells, depths
        """The forms of cells of which digits were read, and how many."""
        self.ones: list[int] = []
        self.settled: dict[int, Made] = {}
        self.rest: dict[int, _Open] | None = None
        """What is not settled; None before the moment could be evaluated at all."""
        self.read: Cell | None = None
        self.entry: Entry | None = None
        self.children: dict[int, Node] = {}

    @property
    def depth(self) -> int:
        """At which depth the next digit is read."""
        return self.depths.get(self.read or 0, 0)


class Control:
    """The trees of all keys that came up, for one way to evaluate a moment.

    `sums`: whether a new cell may be a sum of others.
    """

    def __init__(self, begin: Begin, known: Digits, *, deepest: int, sums: bool = False) -> None:
        self.begin, self.known, self.deepest, self.sums = begin, known, deepest, sums
        self._roots: dict[Key, Node] = {}
        self._nodes = 0
        self.version = known.version

    def root(self, key: Key) -> Node:
        """The tree of a key; all trees are void when the hull has widened."""
        while True:
            if self.version != self.known.version:
                self.forget()
            found = self._roots.get(key)
            if found is None:
                found = self._roots[key] = self._begun(Node(key, {}, {}))
                self._nodes += 1
            if self.version == self.known.version:
                return found

    def forget(self) -> None:
        """Forget all trees."""
        self._roots, self._nodes, self.version = {}, 0, self.known.version

    @property
    def is_full(self) -> bool:
        """Whether the trees should be forgotten, as they take much memory."""
        return self._nodes > MOST_NODES

    def entry(self, key: Key, digit: Callable[[Cell, int], int]) -> Entry:
        """What comes of a key, with a function that gives the digit of a cell at a depth."""
        if self.is_full:
            self.forget()
        while True:
            node = self.root(key)
            while node.entry is None:
                assert node.read is not None
                node = self.child(node, digit(node.read, node.depth))
            if self.version == self.known.version:
                return node.entry

    def child(self, node: Node, digit: int) -> Node:
        """The node after one more digit."""
        found = node.children.get(digit)
        if found is not None:
            return found
        cell, pair = node.read, self.known.pairs[digit]
        assert cell is not None
        if node.depth >= self.deepest:
            raise UnsuitableError("a number is no stack any more")
        form = opened(node.cells.get(cell, (0, 1, ((cell, 1),))), cell, pair)
        found = Node(node.key, {**node.cells, cell: form}, {**node.depths, cell: node.depth + 1})
        self._nodes += 1
        if node.rest is None:
            self._begun(found)
        else:
            found.ones, found.settled = [*node.ones], dict(node.settled)
            rest = {k: each.after(cell, pair, found.depths) for k, each in node.rest.items()}
            self._settle(found, rest)
        node.children[digit] = found
        return found

    def _begun(self, node: Node) -> Node:
        try:
            begun = self.begin(node.key, node.cells, self.known)
        except OpenError as open_cell:
            node.read = open_cell.cell
            return node
        node.ones = [*begun.ones]
        depths = node.depths
        rest = {k: _Open(form, form, depths, True) for k, form in begun.before_sigma.items()}
        rest |= {k: _Open(form, form, depths, False) for k, form in begun.linear.items()}
        self._settle(node, rest)
        return node

    def _settle(self, node: Node, rest: dict[int, _Open]) -> None:
        """Settle what can be; the node reads a digit for the rest, or has an entry."""
        node.rest = {}
        for k, each in rest.items():
            form = each.form
            if each.sigma:
                low, high, one = bounds(form, self.known)
                if high <= 0:
                    continue
                if low >= one:
                    node.ones.append(k)
                    continue
                if low < 0 or high > one:
                    node.rest[k] = each
                    node.read = heaviest(form) if node.read is None else node.read
                    continue
            if not form[2] and form[0] in (0, form[1]):
                if form[0]:
                    node.ones.append(k)
                continue
            made = self._made(each, node)
            if made is None:
                node.rest[k] = each
                node.read = heaviest(form) if node.read is None else node.read
            else:
                node.settled[k] = made
        if node.read is None:
            node.entry = _entry(node)

    def _made(self, each: _Open, node: Node) -> Made | None:
        """A form as a new cell; None where one more digit is needed."""
        if self.sums and each.is_sum:  # so digits stay as they are
            c, d, terms = each.whole
            return Sum(c, d, tuple((cell, each.depths.get(cell, 0), w) for cell, w in terms))
        c, d, terms = each.form
        if not terms:
            return Source(None, 0, self.known.number(c, 0, d))
        if len(terms) > 1:
            return None
        ((cell, w),) = terms
        pops = node.depths.get(cell, 0)
        if c == 0 and w == d:
            return Source(cell, pops, None)
        return Source(cell, pops, self.known.number(c, w, d)) if 0 < w < d else None


def _entry(node: Node) -> Entry:
    """The next state: coordinates with the same result are one cell.

    A cell stays in the slot of the one that it comes from, if it can.
    """
    places: dict[Made, list[int]] = {}
    for k in sorted(node.settled):
        places.setdefault(node.settled[k], []).append(k)
    slots: dict[int, Made] = {}
    others = []
    for made in places:
        own = made.cell if isinstance(made, Source) else made.terms[0][0]
        if own is None or own >= OTHERS or own in slots:
            others.append(made)
        else:
            slots[own] = made
    free = (slot for slot in range(len(places) + len(slots)) if slot not in slots)
    slots |= dict(zip(free, others, strict=False))
    by_slot = [slots.get(slot) for slot in range(max(slots, default=-1) + 1)]
    cells = tuple(() if made is None else tuple(places[made]) for made in by_slot)
    return Entry(State(tuple(sorted(node.ones)), cells), tuple(by_slot))
