"""The sorts of tokens in reachable contexts, and what each of them finds: the exact half.

A reachable context is a prefix of

    x_1 … x_n <run> [left:l_1 @ … left:l_k:goto:q @] step @ step @ …

with letters x_i, at most T tokens, and after the bracket, which continues a run, the text that the
machine's run has. A *visit* is an address token, or a letter, or `<run>` for a cell never visited.
`docs/float-certificates.md` proves, by the lemma of linked visits, what the tables here say:

| class | the token before | address of the last visit right, left | the cell ahead |
|---|---|---|---|
| letter | a letter | T (the next position), never looked up | |
| `<run>` | a letter | A, A (its own) | the letter at position 0 |
| step (m, q, a) | who computed it | | |
| address after (R, q, a), (L, q, a) | its step | far, N; N, far | where the rule goes |
| address after a `left` | that `left` | far, N | right, if it has a state |

T, A and N are the bits of i, i − 1 and i − 3 for a token's own position i; *far* those of its own
address; *ahead* those of the right (left) address of the visit that it finds when its rule goes
right (left), which is what the next step token takes over as *given*.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from netwright.certificates.language_model.boxes import Stream
from netwright.certificates.reading import Machine
from netwright.errors import FormatError
from netwright.text import as_token

RUN, UNKNOWN, REJECT = "<run>", "<unk>", "<reject>"
KINDS = (
    *("A", "T", "N", "far", "ahead", "given"),
    *("state", "symbol", "next", "written", "seen"),  # of `universal`
)
Key = tuple[str, ...]
Known = tuple[tuple[str, int], ...]
"""Variables of a class whose bits are those of known numbers."""


@dataclass(frozen=True)
class Class:
    """A class of tokens: what it is, and what the argument says of it."""

    key: Key
    text: str | None
    """Its token; None for the tokens of a table."""
    before: Key | None = None
    """The set of classes of the token before; None at position 0."""
    ahead: tuple[str, Key] | None = None
    """The variable that has the address of the visit ahead, and the set of its classes."""
    flagged: tuple[Key, ...] = ()
    """Sets of classes that it finds by a flag of theirs, wherever they are."""
    following: str | None = None
    """The right token after it: its text, or a table; None if the argument says none."""
    rule: "ByKey | None" = None
    """What it finds by a key that it has itself."""
    table: str = "@"
    """The tokens of the class, if it has no text."""
    known: Known = ()

    def __str__(self) -> str:
        return " ".join((self.key[0], *(f"({', '.join(self.key[1:])})" for _ in self.key[1:2])))


class ByKey(NamedTuple):
    """A look-up among classes with different keys."""

    found: Key
    """The set of the class that is found."""
    among: Key
    """The set of all classes with keys; two tokens of them differ in a bit."""
    kinds: tuple[str, ...]
    """The variables whose bits a key is."""


ADDRESS = "@"
FROM_BEFORE: Mapping[str, str] = {"ahead": "given"}


class Tokens(NamedTuple):
    """A table of tokens whose rows are bits of numbers."""

    texts: list[str]
    numbers: Mapping[str, list[int]]
    """By variable: the number of every token."""
    right: Mapping[str, str] = {}
    """If it has the right next token: which variables of the token before have its bits."""


class Argument(Protocol):
    """What is said of the texts of a checkpoint: their classes, and what each of them finds."""

    @property
    def families(self) -> list[dict[int, list["Group"]]]:
        """Sorts of contexts: all classes at the beginning, and from some blocks on."""

    @property
    def widths(self) -> Mapping[str, int]:
        """The numbers of bits of variables that are not positions."""

    def memberships(self, key: Key) -> Iterator[Key]:
        """The sets that a class is in."""

    def tables(self, context: int) -> Mapping[str, Tokens]:
        """Tokens that are rows of bits, by name."""


def addresses(context: int) -> Tokens:
    """The tokens `@p`, as bits of p − 1."""
    numbers = {"far": [p - 1 for p in range(context)]}
    return Tokens([f"{ADDRESS}{p}" for p in range(context)], numbers, {"far": "given"})


@dataclass
class Group:
    """Classes whose coordinates depend on the same variables."""

    name: str
    classes: list[Class]
    first: bool = False
    """Whether they are at position 0, and the only ones there."""
    sides: Mapping[str, str] = field(default_factory=dict)
    """The variables that have the addresses of the last visits to the right and to the left."""
    handed: Mapping[str, str] = field(default_factory=lambda: FROM_BEFORE)
    """What the token after calls its variables, if it takes them over."""
    seen: Mapping[str, str] = field(default_factory=dict)
    """What a token whose visit ahead it is calls its variables, besides addresses."""
    told: Mapping[str, str] = field(default_factory=dict)
    """What a token that finds it by a key calls its variables."""
    stream: Stream = field(init=False)


class Names(NamedTuple):
    """The machine without stays, and the texts of its tokens."""

    machine: Machine
    delta: Mapping[tuple[str, str], tuple[str, str, str]]
    """State, symbol → state, symbol written, move."""
    states: list[str]
    steps: list[tuple[str, str]]
    """Moves and states that occur in step tokens."""

    @staticmethod
    def of(machine: Machine) -> "Names":
        """Replace each stay by a step to the right and one back, through a state of its own."""
        delta, states, back = dict[tuple[str, str], tuple[str, str, str]](), [*machine.states], {}
        for (q, a), (p, w, m) in machine.delta.items():
            if machine.rule(q, a) is None:
                continue
            if m == "S":
                if p not in back:
                    name = f"{p}'"
                    while name in states:
                        name += "'"
                    back[p] = name
                    states.append(name)
                p, m = back[p], "R"
            delta[q, a] = p, w, m
        for p, name in back.items():
            delta |= {(name, a): (p, a, "L") for a in machine.symbols}
        steps = dict.fromkeys([("R", q) for q in states] + [(m, p) for p, _, m in delta.values()])
        found = Names(machine, delta, states, list(steps))
        texts = [
            *map(as_token, machine.symbols),
            *(found.step(m, q, a) for m, q, a in found.all_steps),
        ]
        if len({*texts}) != len(texts):
            raise FormatError("two tokens of this machine have one text")
        return found

    @property
    def all_steps(self) -> Iterator[tuple[str, str, str]]:
        """The step tokens."""
        return ((m, q, a) for m, q in self.steps for a in self.machine.symbols)

    def step(self, move: str, state: str, symbol: str) -> str:
        """The text of a step token."""
        text = f"{move}:{as_token(state)}:{as_token(symbol)}"
        rule = self.delta.get((state, symbol))
        return text if rule is None else f"{text}>{as_token(rule[1])}"

    def left(self, symbol: str, state: str | None) -> str:
        """The text of a token that continues a run."""
        text = f"left:{as_token(symbol)}"
        return text if state is None else f"{text}:goto:{as_token(state)}"

    @property
    def families(self) -> list[dict[int, list["Group"]]]:
        """Runs, in which classes are apart by the symbol ahead from block 1 on; refused prompts."""
        return [{0: groups(self, seen=False), 1: groups(self, seen=True)}, {0: refused(self)}]

    @property
    def widths(self) -> Mapping[str, int]:
        """There are none: states and symbols are classes."""
        return {}

    def tables(self, context: int) -> Mapping[str, Tokens]:
        """Addresses alone."""
        return {ADDRESS: addresses(context)}

    def memberships(self, key: Key) -> Iterator[Key]:
        """The sets that a class is in."""
        kind, *of = key
        blank, delta = self.machine.blank, self.delta
        if kind in ("letter", "letter first", UNKNOWN, f"{UNKNOWN} first"):
            yield ("letters",)
        if kind in (UNKNOWN, f"{UNKNOWN} first"):
            yield ("unknown",)
        if kind in ("letter", "letter first"):
            yield ("visit R", of[0])
        if kind == "letter first":
            yield ("first", of[0])
        if kind in ("run", "run first"):
            yield from (("visit R", blank), ("visit L", blank), ("before left",))
            seen = of or ([blank] if kind == "run first" else self.machine.symbols)
            yield from (("before step", "R", self.machine.start, s) for s in seen)
        if kind in ("step", "left"):
            yield key
        if kind == "passed":
            yield from (("visit L", of[0]), ("before left",))
        if kind == "resumed":
            a, q, *seen = of
            yield ("visit L", a)
            yield from (("before step", "R", q, s) for s in seen or self.machine.symbols)
        if kind == "address":
            _, q, a, *seen = of
            p, w, to = delta[q, a]
            yield from (("visit R", w), ("visit L", w))
            yield from (("before step", to, p, s) for s in seen or self.machine.symbols)

    @property
    def accept(self) -> str:
        """The token that ends a run that does not reject."""
        return "<accept>" if self.machine.accepting else "<halt>"

    def end(self, state: str) -> str:
        """The token that ends a run in a state."""
        accepting = self.machine.accepting
        return self.accept if not accepting or state in accepting else REJECT

    @property
    def texts(self) -> list[str]:
        """All tokens that a checkpoint must have, but for addresses."""
        lefts = [self.left(a, q) for q in (None, *self.states) for a in self.machine.symbols]
        steps = [self.step(*each) for each in self.all_steps]
        letters = [as_token(a) for a in self.machine.symbols]
        return [RUN, self.accept, REJECT, UNKNOWN, *letters, *steps, *lefts]


def refused(names: Names) -> list[Group]:
    """The classes of prompts with an unknown word in them, up to `<run>`, after which they end."""
    letters = [Class(("letter", a), as_token(a), ("letters",)) for a in names.machine.symbols]
    first = [Class(("letter first", a), as_token(a)) for a in names.machine.symbols]
    unknown = Class((UNKNOWN,), UNKNOWN, ("letters",))
    run = Class((RUN, UNKNOWN), RUN, ("letters",), flagged=(("unknown",),), following=REJECT)
    return [
        Group("letter", [*letters, unknown]),
        Group("letter first", [*first, Class((f"{UNKNOWN} first",), UNKNOWN)], first=True),
        Group("run", [run]),
    ]


def groups(names: Names, *, seen: bool) -> list[Group]:
    """All classes of reachable contexts; `seen`: apart by the symbol at the visit ahead."""
    machine, delta = names.machine, names.delta
    symbols: list[str] = machine.symbols
    found = [*symbols] if seen else [""]

    def key(*parts: str) -> Key:
        return tuple(parts) if seen else tuple(parts[:-1])

    made: dict[str, Group] = {}
    letters = [Class(("letter", a), as_token(a), ("letters",)) for a in symbols]
    made["letter"] = Group("letter", letters, sides={"R": "T"})
    first = [Class(("letter first", a), as_token(a)) for a in symbols]
    made["letter first"] = Group("letter first", first, first=True, sides={"R": "T"})
    both = {"R": "A", "L": "A"}

    def started(s: str) -> str | None:
        return names.step("R", machine.start, s) if s else None

    runs = [
        Class(key("run", s), RUN, ("letters",), None, (("first", s),) if seen else (), started(s))
        for s in found
    ]
    made["run"] = Group("run", runs, sides=both)
    alone = Class(("run first",), RUN, following=started(machine.blank))
    made["run first"] = Group("run first", [alone], first=True, sides=both)
    made["step"] = Group(
        "step",
        [
            Class(
                ("step", m, q, a),
                names.step(m, q, a),
                ("before step", m, q, a),
                following=ADDRESS if (q, a) in delta else names.end(q),
            )
            for m, q, a in names.all_steps
        ],
    )
    made["left"] = Group(
        "left",
        [
            Class(("left", a, *([q] if q else [])), names.left(a, q), ("before left",))
            for q in (None, *names.states)
            for a in symbols
        ],
    )
    after = {"R": "far", "L": "N"}
    passed = [Class(("passed", a), None, ("left", a)) for a in symbols]
    made["passed"] = Group("passed", passed, sides=after)
    made["resumed"] = Group(
        "resumed",
        [
            Class(
                key("resumed", a, q, s),
                None,
                ("left", a, q),
                ("far", ("visit R", s)),
                following=names.step("R", q, s) if s else None,
            )
            for a in symbols
            for q in names.states
            for s in found
        ],
        sides=after,
    )
    for m, q, a in names.all_steps:
        if (q, a) not in delta:
            continue
        p, _, to = delta[q, a]
        name = f"address {m} {to}"
        side = after if m == "R" else {"R": "N", "L": "far"}
        group = made.setdefault(name, Group(name, [], sides=side))
        for s in found:
            following = names.step(to, p, s) if s else None
            visit = side[to], (f"visit {to}", s)
            group.classes.append(
                Class(key("address", m, q, a, s), None, ("step", m, q, a), visit, (), following)
            )
    return list(made.values())


def sets_of(found: list[Group], argument: Argument) -> dict[Key, list[tuple[int, int]]]:
    """The sets of classes by name, as places of group and row."""
    sets: dict[Key, list[tuple[int, int]]] = {}
    for g, group in enumerate(found):
        for n, each in enumerate(group.classes):
            for name in argument.memberships(each.key):
                sets.setdefault(name, []).append((g, n))
    return sets
