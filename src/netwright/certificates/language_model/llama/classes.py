"""The sorts of tokens in the texts of a Llama, and what each of them finds: the exact half.

A reachable context is a prefix of one of

    <s> x_1 … x_n <run> step @k step @k … <accept> </s>
    <s> x_n … x_2 <run> l_1 … l_m R:q:x_1 @(m+3) step @k …

with letters x_i and l_i, at most T tokens; the second continues a run. A *visit* of a cell is its
last address token, else its letter, else `<s>` or `<run>`. A token holds offsets, which say how
many tokens back another one is: *ahead*, the last visit of the cell to which its rule goes;
*other*, that of the neighbour on the other side.

| class | ahead | other |
|---|---|---|
| letter | | 1 |
| `<s>` | | 0 |
| `<run>` | 1 | 0 |
| address after (m, q, a), whose rule goes the same way m | far | 2 |
| address after (m, q, a), whose rule goes back | 2 | far |

*Far* is an address token's own number. *Beyond* is what the visit ahead has as *other*: the head
comes back to a cell from the side to which it left it. So the next address is
*given* = ahead + beyond + 2, by the lemma of linked visits.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from netwright.certificates.language_model.classes import (
    ADDRESS,
    REJECT,
    RUN,
    UNKNOWN,
    ByKey,
    Key,
    Known,
    Names,
    Tokens,
)
from netwright.certificates.language_model.llama.waves import Waves
from netwright.certificates.reading import Machine
from netwright.errors import FormatError
from netwright.text import as_token

BOS, STOP = "<s>", "</s>"
Sets = dict[Key, list[tuple[int, int]]]


class Offset(NamedTuple):
    """A number of tokens: a variable plus a number, or the number alone."""

    variable: str | None
    more: int


FAR = Offset("far", 0)


@dataclass(frozen=True)
class Class:
    """A class of tokens: what it is, and what the argument says of it."""

    key: Key
    text: str | None
    """Its token; None for addresses."""
    before: Key | None = None
    """The set of classes of the token before; None at position 0."""
    ahead: Key | None = None
    """The set of classes of the visit ahead."""
    flagged: Key | None = None
    """The set of classes that it finds by a flag of theirs, wherever they are."""
    following: str | None = None
    """The right token after it: its text, or a table; None if the argument says none."""
    rule: ByKey | None = None
    """What it finds by a key that it has itself."""
    table: str = ADDRESS
    """The tokens of the class, if it has no text."""
    known: Known = ()
    """Variables whose bits are those of known numbers."""

    def __str__(self) -> str:
        return " ".join((self.key[0], *(f"({', '.join(self.key[1:])})" for _ in self.key[1:2])))


@dataclass
class Group:
    """Classes whose coordinates depend on the same variables."""

    name: str
    classes: list[Class]
    first: bool = False
    """Whether they are at position 0, and the only ones there."""
    ahead: Offset | None = None
    other: Offset | None = None
    handed: Mapping[str, str] = field(default_factory=dict)
    """What the token after calls its bits, if it takes them over."""
    seen: Mapping[str, str] = field(default_factory=dict)
    """What a token whose visit ahead it is calls its bits."""
    told: Mapping[str, str] = field(default_factory=dict)
    """What a token that finds it by a key calls its bits."""
    stream: Waves = field(init=False)


@dataclass(frozen=True)
class LlamaNames:
    """The machine without stays and with its walk back, and the texts of its tokens."""

    plain: Names
    symbols: list[str]
    letters: list[str]
    """All symbols but `edge`, which `<s>` holds."""
    edge: str
    rewind: str

    @staticmethod
    def of(machine: Machine) -> "LlamaNames":
        """Add the state and the symbol of the walk back to `<s>`; `edge` is the blank renamed."""
        plain = Names.of(machine)
        letters: list[str] = [*machine.symbols]
        blank: str = machine.blank
        rewind, edge = "rewind", "edge"
        while rewind in plain.states:
            rewind += "'"
        while edge in letters:
            edge += "'"
        delta = {
            **plain.delta,
            **{(q, edge): rule for (q, a), rule in plain.delta.items() if a == blank},
            **{(rewind, a): (rewind, a, "L") for a in letters},
            (rewind, edge): (machine.start, blank, "R"),
        }
        walking = Names(machine, delta, [*plain.states, rewind], [])
        found = LlamaNames(walking, [*letters, edge], letters, edge, rewind)
        if len({*found.texts}) != len(found.texts):
            raise FormatError("two tokens of this machine have one text")
        return found

    @property
    def delta(self) -> Mapping[tuple[str, str], tuple[str, str, str]]:
        """State, symbol → state, symbol written, move."""
        return self.plain.delta

    @property
    def states(self) -> list[str]:
        """All states."""
        return self.plain.states

    @property
    def blank(self) -> str:
        """The symbol of cells right of the input."""
        found: str = self.plain.machine.blank
        return found

    @property
    def widths(self) -> Mapping[str, int]:
        """There are none: states and symbols are classes."""
        return {}

    def tables(self, _: int) -> Mapping[str, Tokens]:
        """There are none."""
        return {}

    def stages(self, others: int) -> list[dict[int, list["Group"]]]:
        """Runs, in which classes are apart by the symbol ahead from block 2 on; refused prompts."""
        runs = {0: groups(self, seen=False), 2: groups(self, seen=True)}
        return [runs, {0: refused(self, others)}]

    @property
    def entered(self) -> list[tuple[str, str]]:
        """The moves and states to which a rule leads."""
        return list(dict.fromkeys((m, p) for p, _, m in self.delta.values()))

    def step(self, move: str, state: str, symbol: str) -> str:
        """The text of a step token."""
        return self.plain.step(move, state, symbol)

    def end(self, state: str) -> str:
        """The token that ends a run in a state."""
        return self.plain.end(state)

    @property
    def texts(self) -> list[str]:
        """All tokens that a checkpoint must have, but for addresses."""
        ends = [self.plain.accept, REJECT, STOP, UNKNOWN, BOS, RUN]
        pairs = dict.fromkeys([*(("R", q) for q in self.states), *self.entered])
        steps = [self.step(m, q, a) for m, q in pairs for a in self.symbols]
        return [*ends, *map(as_token, self.letters), *steps]

    @property
    def pieces(self) -> list[str]:
        """The tokens of which pieces of the tokenizer may have the rows."""
        return [UNKNOWN, *map(as_token, self.letters)]

    def memberships(self, key: Key) -> Iterator[Key]:
        """The sets that a class is in."""
        kind, *of = key
        delta = self.delta
        if kind in ("letter", "start", UNKNOWN):
            yield from (("letters",), ("letters or run",))
        if kind in ("letter", UNKNOWN):
            yield ("unknown" if kind == UNKNOWN else kind,)
        if kind in ("letter", "start"):
            symbol = of[0] if of else self.edge
            yield from (("visit R", symbol), ("visit L", symbol), ("first", symbol))
        if kind == RUN:
            yield key
        if kind == "run":
            yield from (("visit R", self.blank), ("visit L", self.blank))
            yield from (("run",), ("letters or run",))
            for s in of or self.symbols:
                yield "before step", "L", self.rewind, s
        if kind in ("step", "told"):
            m, q, a, *_ = of
            yield "steps", m, q, a
        if kind == "address":
            m, q, a, *seen = of
            p, w, to = delta[q, a]
            # Its cell was left by `to`, so the head comes back by the other move.
            yield ("visit L" if to == "R" else "visit R"), w
            for s in seen or self.symbols:
                yield "before step", to, p, s


def refused(names: LlamaNames, others: int) -> list[Group]:
    """The classes of prompts with unknown words in them; `others` are rows that are no token's."""
    unknown = [Class((UNKNOWN,), UNKNOWN, ("letters",))]
    unknown += [Class((UNKNOWN, str(n)), f"{UNKNOWN} {n}", ("letters",)) for n in range(others)]
    runs, ends = list[Class](), list[Class]()
    for last in ("letter", "unknown"):
        runs.append(
            Class(
                (RUN, UNKNOWN, last), RUN, ("letters",),
                ahead=(last,), flagged=("unknown",), following=REJECT,
            )
        )  # fmt: skip
        ends.append(Class(("end", REJECT, last), REJECT, runs[-1].key, following=STOP))
    return [
        _start(),
        Group("letter", [*_letters(names), *unknown], other=Offset(None, 1)),
        Group("run", runs, ahead=Offset(None, 1), other=Offset(None, 0)),
        Group("end", ends),
    ]


def groups(names: LlamaNames, *, seen: bool) -> list[Group]:
    """All classes of reachable contexts; `seen`: apart by the symbol at the visit ahead."""
    delta, found = names.delta, names.symbols if seen else [""]

    def key(*parts: str) -> Key:
        return tuple(parts) if seen else tuple(parts[:-1])

    runs = [
        Class(
            key("run", s), RUN, ("letters",),
            ahead=("first", s) if seen else None,
            following=names.step("L", names.rewind, s) if s else None,
        )
        for s in found
    ]  # fmt: skip
    steps = [
        Class(
            ("step", m, q, a), names.step(m, q, a), ("before step", m, q, a),
            following=ADDRESS if (q, a) in delta else names.end(q),
        )
        for m, q in names.entered
        for a in names.symbols
    ]  # fmt: skip
    told = [
        Class(
            ("told", "R", q, a, last), names.step("R", q, a), (last,),
            following=None if (q, a) in delta else names.end(q),
        )
        for last in ("letters", "run")
        for q in names.states
        for a in names.letters
    ]  # fmt: skip
    made = {
        "run": Group("run", runs, ahead=Offset(None, 1), other=Offset(None, 0)),
        "step": Group("step", steps),
        "told": Group("told", told),
    }
    steps_of = {(m, q) for m, q in names.entered} | {("R", q) for q in names.states}
    ends = list[Class]()
    for m, q in sorted(steps_of):
        for a in names.symbols:
            if a == names.edge and (m, q) not in names.entered:
                continue
            if (q, a) not in delta:
                end = names.end(q)
                ends.append(Class(("end", m, q, a), end, ("steps", m, q, a), following=STOP))
                continue
            p, _, to = delta[q, a]
            on = m == to
            group = made.setdefault(
                f"address {m} {to}",
                Group(
                    f"address {m} {to}", [],
                    ahead=FAR if on else Offset(None, 2), other=Offset(None, 2) if on else FAR,
                ),
            )  # fmt: skip
            group.classes += [
                Class(
                    key("address", m, q, a, s), None, ("steps", m, q, a),
                    ahead=(f"visit {to}", s) if seen else None,
                    following=names.step(to, p, s) if s else None,
                )
                for s in found
            ]  # fmt: skip
    last = [Group("end", ends)] if ends else []
    letters = Group("letter", _letters(names), other=Offset(None, 1))
    return [_start(), letters, *made.values(), *last]


def _start() -> Group:
    return Group("start", [Class(("start",), BOS)], first=True, other=Offset(None, 0))


def _letters(names: LlamaNames) -> list[Class]:
    """A letter left of the head of a continued run comes after `<run>`."""
    return [Class(("letter", a), as_token(a), ("letters or run",)) for a in names.letters]


class LlamaArgument(Protocol):
    """What is said of the texts of a Llama."""

    @property
    def texts(self) -> list[str]:
        """All tokens that a checkpoint must have, but for addresses."""

    @property
    def pieces(self) -> list[str]:
        """The tokens of which pieces of the tokenizer may have the rows."""

    @property
    def widths(self) -> Mapping[str, int]:
        """The numbers of bits of variables that are numbers."""

    def tables(self, context: int) -> Mapping[str, Tokens]:
        """Tokens that are rows of bits, by name."""

    def stages(self, others: int) -> list[dict[int, list[Group]]]:
        """Sorts of contexts: all classes at the beginning, and from some blocks on.

        `others` is the number of rows of the embedding that are no token's.
        """

    def memberships(self, key: Key) -> Iterator[Key]:
        """The sets that a class is in."""


def sets_of(found: list[Group], names: LlamaArgument) -> Sets:
    """The sets of classes by name, as places of group and row."""
    sets: Sets = {}
    for g, group in enumerate(found):
        for n, each in enumerate(group.classes):
            for name in names.memberships(each.key):
                sets.setdefault(name, []).append((g, n))
    return sets
