"""One checkpoint for every machine: the classes of its texts, and what is asked of prompts.

A reachable context is a prefix of

    <bos> key action key action … <tape> x_1 … x_n <run> step @ step @ …

where an action is the rule of the key before it, no two keys are equal, and the rest is the text
of the run of the machine with these rules. States and symbols are numbers in bits, and in no class:
`state` and `symbol` are those of a step, of a rule's key, and of an address token's own step;
`next` and `written` what its rule says (`written` is also what a letter has in its cell); `seen` is
the symbol at the visit ahead. `docs/float-certificates.md` has the argument for this table:

| class | the token before | finds |
|---|---|---|
| key, `<tape>` | `<bos>` or an action | |
| action (move) | its key | |
| letter, `<run>` | a letter, or `<tape>` | `<tape>`; `<run>` then the token after `<tape>` |
| step (move), not in `acc` | an address or `<run>` | `<tape>` |
| address (move here, move of its rule) | its step | the rule; the last visit ahead |
| address (move here, none) | its step | `<bos>`, which says that there is no rule |
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, takewhile
from typing import ClassVar, Self

from netwright.certificates.language_model.classes import (
    ADDRESS,
    RUN,
    UNKNOWN,
    ByKey,
    Class,
    Group,
    Key,
    Known,
    Tokens,
    addresses,
)
from netwright.certificates.reading import Obligation
from netwright.errors import FormatError

ACCEPTING = "acc"
BOS, TAPE, ACCEPT, HALT = "<bos>", "<tape>", "<accept>", "<halt>"
MOVES = ("R", "L")
STEP = "step {}:q:a"
"""The table of step tokens with a move."""


@dataclass(frozen=True)
class Universal:
    """The states and symbols of a universal checkpoint, by the texts of its tokens."""

    states: tuple[str, ...]
    """q0, q1, …, and `acc` as the last."""
    symbols: tuple[str, ...]
    """The blank first."""

    added: ClassVar[tuple[str, ...]] = (BOS, RUN)
    """What the tokenizer puts around a prompt."""
    unknown_words: ClassVar[str] = "it becomes <unk>, and halts the run"

    @classmethod
    def of(cls, tokens: Mapping[str, int], label: str) -> Self:
        """Read them off the tokens; FormatError if any that must be there is not."""
        order = cls.symbols_in(tokens)
        steps = (f"R:q{n}:{order[0] if order else ''}" for n in count())
        states = [f"q{n}" for n, _ in enumerate(takewhile(tokens.__contains__, steps))]
        found = cls((*states, ACCEPTING), tuple(order))
        for what, names in (("states", found.states), ("symbols", found.symbols)):
            if len(names) < 2 or len(names) & (len(names) - 1):
                raise FormatError(
                    f"{label}: it has tokens for {len(names):,} {what}; a universal checkpoint "
                    "has them for a power of two"
                )
        texts = found.texts
        if any(re.search(r"[\s:<>@]", text) for text in order) or len({*texts}) != len(texts):
            raise FormatError(f"{label}: two tokens of a universal checkpoint have one text")
        for text in texts:
            if text not in tokens:
                raise FormatError(
                    f"{label}: it has no token {text!r}, which a universal checkpoint has"
                )
        return found

    @staticmethod
    def symbols_in(tokens: Mapping[str, int]) -> list[str]:
        """The symbols for which there are steps, in the order of their letters."""
        symbols = [text[5:] for text in tokens if text.startswith("R:q0:")]
        return sorted(symbols, key=lambda text: tokens.get(text, -1))

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of states, with `acc`, and of symbols."""
        return {"states": len(self.states), "symbols": len(self.symbols)}

    @property
    def widths(self) -> Mapping[str, int]:
        """The numbers of bits of states and symbols."""
        q, s = ((len(names) - 1).bit_length() for names in (self.states, self.symbols))
        return {"state": q, "symbol": s, "next": q, "written": s, "seen": s}

    @cached_property
    def keys(self) -> list[tuple[int, int]]:
        """States, without `acc`, and symbols that a rule can have."""
        return [(q, a) for q in range(len(self.states) - 1) for a in range(len(self.symbols))]

    @property
    def texts(self) -> list[str]:
        """All tokens that it must have, but for addresses."""
        tables = self.tables(0)
        names = ("letter", "key", *(name.format(m) for name in ("action {}", STEP) for m in MOVES))
        found = [text for name in names for text in tables[name].texts]
        return [BOS, TAPE, RUN, ACCEPT, HALT, UNKNOWN, *found]

    @cached_property
    def prompt_words(self) -> Mapping[str, str]:
        """The words of prompts, each with what it is: `key`, `action`, `letter`, or itself."""
        tables = self.tables(0)
        sorts = {"letter": "letter", "key": "key", "action R": "action", "action L": "action"}
        return {TAPE: TAPE} | {
            text: sort for name, sort in sorts.items() for text in tables[name].texts
        }

    def sort(self, word: str) -> str | None:
        """What a word of a prompt is; None if it is no such word."""
        return self.prompt_words.get(word)

    def of_tape(self, words: Sequence[str]) -> tuple[str, Iterator[tuple[int, str]]]:
        """What the words after `<tape>` must be, and where they are not, counted from 0."""
        found = (
            (n, f"{cut(word)} where a letter is expected")
            for n, word in enumerate(words)
            if self.sort(word) != "letter"
        )
        return f"letters alone after {TAPE}", found

    def tables(self, context: int) -> Mapping[str, Tokens]:
        """Letters, keys, actions, steps and addresses, as bits."""
        states, symbols = self.states, self.symbols
        every = [(q, a) for q in range(len(states)) for a in range(len(symbols))]
        numbers = [*range(len(symbols))]

        def table(text: str, pairs: Sequence[tuple[int, int]], q: str, a: str) -> Tokens:
            texts = [text.format(q=states[n], a=symbols[m]) for n, m in pairs]
            return Tokens(texts, {q: [n for n, _ in pairs], a: [m for _, m in pairs]})

        found = {
            ADDRESS: addresses(context),
            "letter": Tokens([*symbols], {"written": numbers}),
            "key": table("{q}:{a}", self.keys, "state", "symbol"),
        }
        for m in MOVES:
            step = f"{m}:{{q}}:{{a}}"
            found[f"action {m}"] = table(f"{{a}}:{m}:{{q}}", every, "next", "written")
            found[f"working {m}"] = table(step, self.keys, "state", "symbol")
            ends = [f"{m}:{ACCEPTING}:{a}" for a in symbols]
            found[f"ends {m}"] = Tokens(ends, {"symbol": numbers})
            steps = table(step, every, "state", "symbol")
            right = {"state": "next", "symbol": "seen"}
            found[STEP.format(m)] = Tokens(steps.texts, steps.numbers, right)
        return found

    @property
    def families(self) -> list[dict[int, list[Group]]]:
        """Runs, in which address tokens are apart by their rule from block 1 on; refused ones."""
        return [{0: self._groups(0), 1: self._groups(1)}, {0: self._refused()}]

    def _groups(self, stage: int) -> list[Group]:
        """All classes of reachable contexts."""
        own = {"state": "state", "symbol": "symbol"}
        start: Known = (("next", 0), ("written", 0))
        tape, first = (TAPE,), ("first",)

        def actions(m: str) -> Group:
            each = Class(("action", m), None, ("key",), table=f"action {m}")
            said = {"next": "next", "written": "written"}
            return Group(f"action {m}", [each], told=said)

        def letter(name: str, before: str) -> Class:
            return Class((name,), None, (before,), flagged=(tape,), table="letter")

        def run(name: str, before: str) -> Class:
            after = STEP.format("R")
            return Class((name,), RUN, (before,), None, (tape, first), after, known=start)

        seen, ahead = {"written": "seen"}, {"ahead": "given"}
        found = [
            Group("bos", [Class(("bos",), BOS)], first=True, handed={}),
            Group("key", [Class(("key",), None, ("rules",), table="key")], handed=own),
            *map(actions, MOVES),
            Group("tape", [Class(tape, TAPE, ("rules",), flagged=(tape,))], handed={}),
            Group(
                "letter",
                [letter("letter", "letters"), letter("letter first", "<tape>")],
                sides={"R": "T"},
                handed={},
                seen=seen,
            ),
            Group(
                "run",
                [run("run", "letters"), run("run first", "<tape>")],
                sides={"R": "A", "L": "A"},
                handed=ahead,
                seen=seen,
            ),
        ]
        for m in MOVES:
            works = Class(
                ("step", m), None, ("before step", m), None, (tape,), ADDRESS, table=f"working {m}"
            )
            ends = Class(
                ("ends", m), None, ("before step", m), None, (tape,), ACCEPT, table=f"ends {m}"
            )
            found += [Group(f"step {m}", [works], handed=own), Group(f"ends {m}", [ends])]
            sides = {"R": "far", "L": "N"} if m == "R" else {"R": "N", "L": "far"}
            made = [self._address(m, to, sides) for to in (*MOVES, "none")]
            if stage == 0:
                made = [Class(("address", m), None, ("step", m))]
            for each in made:
                found.append(Group(" ".join(each.key), [each], sides=sides, seen=seen))
        return found

    def _address(self, m: str, to: str, sides: Mapping[str, str]) -> Class:
        """An address token after a move, with a rule that moves, or with none."""
        # Of two states only one has rules.
        kinds = ("state", "symbol") if len(self.states) > 2 else ("symbol",)
        key, before = ("address", m, to), ("step", m)
        if to == "none":
            by = ByKey(("bos",), ("actions",), kinds)
            return Class(key, None, before, following=HALT, rule=by)
        by, visit = ByKey(("action", to), ("actions",), kinds), (sides[to], (f"visit {to}",))
        return Class(key, None, before, visit, following=STEP.format(to), rule=by)

    def _refused(self) -> list[Group]:
        """The classes of prompts with an unknown word in them, up to `<run>`, where they end.

        The other words are any of those that a prompt may have, in any order.
        """
        words = [
            Class((UNKNOWN,), UNKNOWN),
            Class(("word", TAPE), TAPE),
            *(Class(("word", of), None, table=of) for of in ("letter", "key", "action R")),
            Class(("word", "action L"), None, table="action L"),
        ]
        run = Class((RUN, UNKNOWN), RUN, flagged=(("unknown",),), following=HALT)
        bos = Group("bos", [Class(("word", "bos"), BOS)], first=True)
        groups = [Group(" ".join(each.key), [each]) for each in words]
        return [bos, *groups, Group("run", [run])]

    def memberships(self, key: Key) -> Iterator[Key]:
        """The sets that a class is in."""
        kind, *of = key
        if kind in ("bos", "key", TAPE, "step"):
            yield key
        if kind in ("bos", "action"):
            yield ("rules",)
        if kind == "action":
            yield from (key, ("actions",))
        if kind == TAPE:
            yield (TAPE,)
        if kind in ("letter", "letter first"):
            yield from (("letters",), ("visit R",))
        if kind in ("run", "run first"):
            yield from (("visit R",), ("visit L",), ("before step", "R"))
        if kind in ("letter first", "run first"):
            yield ("first",)
        if kind == "address":
            _, *to = of
            for m in MOVES:
                if to in ([], [m]):
                    yield ("before step", m)
            if to and to[0] in MOVES:
                yield from (("visit R",), ("visit L",))
        if kind == UNKNOWN:
            yield ("unknown",)


def prompt_obligations(about: Universal, words: Sequence[str], context: int) -> list[Obligation]:
    """What a prompt must be for the certificate to speak of it, without what tokenizers add.

    One look at each word; what fails is told with its place.
    """
    end = next((n for n, word in enumerate(words) if word == TAPE), len(words))
    rules, letters = words[:end], words[end + 1 :]
    first = dict[str, int]()
    again = ((n, word) for n, word in enumerate(rules) if first.setdefault(word, n) != n)

    def fails(name: str, cases: int, found: Iterator[tuple[int, str]]) -> Obligation:
        wrong = next(found, None)
        place = None if wrong is None else f"token {wrong[0] + 1}: {wrong[1]}"
        return Obligation(name, cases, place)

    def strange() -> Iterator[tuple[int, str]]:
        for n, word in enumerate(words):
            if word in about.added:
                yield n, f"{word} is what the tokenizer adds"
            if about.sort(word) is None:
                yield n, f"{cut(word)} is no token of a prompt; {about.unknown_words}"

    def misplaced() -> Iterator[tuple[int, str]]:
        for n, word in enumerate(rules):
            wanted = "action" if n % 2 else "key"
            if about.sort(word) != wanted:
                yield n, f"{cut(word)} where {_article(wanted)} is expected"
        if len(rules) % 2:
            yield end, f"{cut(rules[-1])} is a key without an action"
        if end == len(words):
            yield end, f"the prompt ends where {TAPE} is expected"

    def repeated() -> Iterator[tuple[int, str]]:
        for n, word in again:
            if n % 2 == 0:
                yield n, f"{cut(word)} has a rule already, at token {first[word] + 1}"

    def long() -> Iterator[tuple[int, str]]:
        if len(words) + len(about.added) >= context:
            added = " and ".join(about.added)
            yield (
                context - 1 - len(about.added),
                f"{len(words):,} tokens, {added} leave no room in {context:,}",
            )

    has_tape = end < len(words)
    name, misread = about.of_tape(letters)
    return [
        fails("every word is a token", len(words), strange()),
        fails(f"keys and actions in turn, then {TAPE}", end + 1, misplaced()),
        fails("at most one rule for each key", len(rules) // 2, repeated()),
        fails(name, len(letters), ((end + 1 + n, what) for n, what in misread if has_tape)),
        fails("it fits into the context", 1, long()),
    ]


def cut(word: str) -> str:
    """A word for a message."""
    return repr(word if len(word) <= 30 else f"{word[:29]}…")


def _article(sort: str) -> str:
    return f"{'an' if sort[0] == 'a' else 'a'} {sort}"
