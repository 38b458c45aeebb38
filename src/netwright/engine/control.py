"""The finite control of a network: a decision tree per state that reads digits of cells.

A vector is 0, 1 or a cell in every coordinate: which of these is its *state*. A moment is evaluated
on forms (see `forms`): where the hull does not decide σ, or a result is not yet a cell, one more
digit of a cell is read. So each state has a tree: inner nodes read a digit, and leaves are
*entries*, with the next state and how its cells come from the previous ones. An entry was decided
for every vector with the digits that were read on the way to it, so it holds for all of them; that
is the whole proof, and it assumes nothing of the weights.

A result (c + w·τ)/d is a cell again if it is the cell itself, popped, or if 0 < w < d: then it is
a digit pushed on it. A constant is a cell of one digit. Any other result, even with more digits,
raises `UnsuitableError`, and exact rationals take over.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Literal, NamedTuple

from netwright.engine.digits import Digits, Pair
from netwright.engine.forms import Cell, CellForms, Form, OpenError, after_sigma, heaviest, opened
from netwright.engine.moments import UnsuitableError

OTHERS = 1 << 32
"""Cells from here on belong to neighbours: cell k of neighbour n is n·OTHERS + k."""
MOST_NODES = 1 << 18
DEEPEST = 6
"""The greatest number of digits read of a cell."""


class State(NamedTuple):
    """The coordinates that are 1, and those of each cell; all others are 0."""

    ones: tuple[int, ...] = ()
    cells: tuple[tuple[int, ...], ...] = ()
    """By slot; () where the slot is free."""

    def forms(self, first: Cell, known: CellForms) -> dict[int, Form]:
        """The forms of the coordinates that are cells; the cells are numbered from `first`."""
        found: dict[int, Form] = {}
        for cell, places in enumerate(self.cells, start=first):
            found |= dict.fromkeys(places, known.get(cell, (0, 1, ((cell, 1),))))
        return found


class Source(NamedTuple):
    """A new cell: an old one after some pops (or an empty one), with a digit pushed (or none)."""

    cell: Cell | None
    pops: int
    digit: int | None


class Sum(NamedTuple):
    """A new cell: c/d plus multiples w/d of old cells after some pops."""

    c: int
    d: int
    terms: tuple[tuple[Cell, int, int], ...]
    """Cell, pops and w."""


NewCell = Source | Sum
Context = Hashable
Key = tuple[Context, State]
"""All that the next moment depends on but digits: the neighbours' states, and the state."""


class Entry(NamedTuple):
    """The next state, and how its cells are made, by slot."""

    state: State
    cells: tuple[NewCell | None, ...]


class Evaluated(NamedTuple):
    """A moment as far as it is decided: ones, forms before σ, and forms without σ."""

    ones: tuple[int, ...]
    before_sigma: Mapping[int, Form]
    linear: Mapping[int, Form]


Evaluate = Callable[[Key, CellForms, Digits], Evaluated]
"""Evaluates the moment after a key, on forms for its cells; raises OpenError to ask for a digit."""


class _Open(NamedTuple):
    """A coordinate that is not settled yet."""

    form: Form
    whole: Form
    """The current form, or the first one that was a sum of cells."""
    depths: Mapping[Cell, int]
    """How many digits of each cell were read when `whole` was set."""
    sigma: bool
    """Whether σ is still to be applied."""

    @property
    def is_sum(self) -> bool:
        """Whether `whole` is a sum of cells whose digits can be added.

        If one of them is shifted, it is not: what is added may be a digit that is pushed.
        """
        c, d, terms = self.whole
        return len(terms) > 1 and c >= 0 and all(w >= d for _, w in terms)

    def after(self, cell: Cell, pair: Pair, depths: Mapping[Cell, int]) -> "_Open":
        """The coordinate after one more digit of a cell."""
        if all(other != cell for other, _ in self.form[2]):
            return self
        form = opened(self.form, cell, pair)
        if self.is_sum:
            return self._replace(form=form)
        return self._replace(form=form, whole=form, depths=depths)


class Node:
    """A node of a key's decision tree: the digits read so far have settled some coordinates."""

    __slots__ = ("cells", "children", "depths", "entry", "key", "ones", "read", "rest", "settled")

    def __init__(self, key: Key, cells: CellForms, depths: Mapping[Cell, int]):
        self.key, self.cells, self.depths = key, cells, depths
        """For each cell that was read: its form, and the number of digits read."""
        self.ones: list[int] = []
        self.settled: dict[int, NewCell] = {}
        self.rest: dict[int, _Open] | None = None
        """The unsettled coordinates; None while the moment cannot be evaluated at all."""
        self.read: Cell | None = None
        self.entry: Entry | None = None
        self.children: dict[int, Node] = {}

    @property
    def depth(self) -> int:
        """The depth of the next digit to read."""
        return self.depths.get(self.read or 0, 0)


class Control:
    """A cache of decision trees by key, for one function `evaluate` that evaluates a moment.

    With `sums`, a new cell may be a sum of others.
    """

    def __init__(self, evaluate: Evaluate, known: Digits, *, sums: bool = False) -> None:
        self.evaluate, self.known, self.sums = evaluate, known, sums
        self._roots: dict[Key, Node] = {}
        self._nodes = 0
        self.version = known.version

    def root(self, key: Key) -> Node:
        """The tree of a key; discards all trees if the hull has widened."""
        while True:
            if self.version != self.known.version:
                self.forget()
            found = self._roots.get(key)
            if found is None:
                found = self._roots[key] = self._evaluate(Node(key, {}, {}))
                self._nodes += 1
            if self.version == self.known.version:
                return found

    def forget(self) -> None:
        """Discard all trees."""
        self._roots, self._nodes, self.version = {}, 0, self.known.version

    @property
    def is_full(self) -> bool:
        """Whether the trees take so much memory that they should be discarded."""
        return self._nodes > MOST_NODES

    def entry(self, key: Key, digit: Callable[[Cell, int], int]) -> Entry:
        """The entry for a key; `digit` looks up the digit of a cell at a depth."""
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
        """The node after one more digit; UnsuitableError below the deepest."""
        found = node.children.get(digit)
        if found is not None:
            return found
        cell, pair = node.read, self.known.pairs[digit]
        assert cell is not None
        if node.depth >= DEEPEST:
            raise UnsuitableError("a number is no longer a stack")
        form = opened(node.cells.get(cell, (0, 1, ((cell, 1),))), cell, pair)
        found = Node(node.key, {**node.cells, cell: form}, {**node.depths, cell: node.depth + 1})
        self._nodes += 1
        if node.rest is None:
            self._evaluate(found)
        else:
            found.ones, found.settled = [*node.ones], dict(node.settled)
            rest = {k: each.after(cell, pair, found.depths) for k, each in node.rest.items()}
            self._settle(found, rest)
        node.children[digit] = found
        return found

    def _evaluate(self, node: Node) -> Node:
        try:
            found = self.evaluate(node.key, node.cells, self.known)
        except OpenError as open_cell:
            node.read = open_cell.cell
            return node
        node.ones = [*found.ones]
        depths = node.depths
        rest = {k: _Open(form, form, depths, True) for k, form in found.before_sigma.items()}
        rest |= {k: _Open(form, form, depths, False) for k, form in found.linear.items()}
        self._settle(node, rest)
        return node

    def _settle(self, node: Node, rest: dict[int, _Open]) -> None:
        """Settle the coordinates that are decided; the node reads a digit or gets an entry."""
        node.rest = {}
        for k, each in rest.items():
            made = self._value(each, node)
            if made is None:
                node.rest[k] = each
                node.read = heaviest(each.form) if node.read is None else node.read
            elif not isinstance(made, int):
                node.settled[k] = made
            elif made:
                node.ones.append(k)
        if node.read is None:
            node.entry = _entry(node)

    def _value(self, each: _Open, node: Node) -> NewCell | Literal[0, 1] | None:
        """A coordinate's value: 0, 1 or a new cell; None where one more digit is needed."""
        form = after_sigma(each.form, self.known) if each.sigma else each.form
        if form is None:
            return None
        c, d, terms = form
        if not terms and c in (0, d):
            return 1 if c else 0
        if self.sums and each.is_sum:  # so digits stay as they are
            c, d, terms = each.whole
            return Sum(c, d, tuple((cell, each.depths.get(cell, 0), w) for cell, w in terms))
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
    """The next state: equal results share a cell, which stays in its source's slot if it can."""
    places: dict[NewCell, list[int]] = {}
    for k in sorted(node.settled):
        places.setdefault(node.settled[k], []).append(k)
    slots: dict[int, NewCell] = {}
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
