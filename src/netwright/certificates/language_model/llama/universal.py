"""One Llama for every machine: the classes of its texts, and what is asked of prompts.

A reachable context is a prefix of

    <s> key action … <tape> x_n … x_2 <run> l_1 … l_m R:q:x_1 @(m+3) step @k … <accept> </s>

where an action is the rule of the key before it, no two keys are equal, x_1 … x_n are the cells
from the head to the right, l_1 … l_m those to the left, and the rest is the text of the run of the
machine with these rules. States and symbols are numbers in bits, as in `universal` for GPT-2, and
offsets are phases, as in `llama.classes`. `<tape>` stands for all cells right of x_n, `<run>` for
those left of l_1.

| class | the token before | ahead | other | finds |
|---|---|---|---|---|
| `<s>` | | | | itself |
| key; action (move) | `<s>` or an action; its key | | | `<s>` |
| `<tape>` | `<s>` or an action | | 0 | `<s>` |
| letter; `<run>` | a letter, or what ends letters | | 1; 0 | `<s>` |
| told: the step in the prompt | a letter or `<run>` | | | `<s>` |
| step (move), in `acc` or not | an address | | | `<s>` |
| address (m, rule moves m) | its step | far | 2 | its rule; the last visit ahead |
| address (m, rule moves back) | its step | 2 | far | its rule; the last visit ahead |
| address (m, no rule) | its step | | | `<s>`: there is none |
| `<accept>`; `<halt>` | the step in `acc`; an address | | | `<s>` |
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from netwright.certificates.language_model.classes import ADDRESS, RUN, ByKey, Key
from netwright.certificates.language_model.llama.classes import (
    BOS,
    FAR,
    STOP,
    Class,
    Group,
    Offset,
)
from netwright.certificates.language_model.universal import (
    ACCEPT,
    HALT,
    MOVES,
    STEP,
    TAPE,
    Universal,
    cut,
)

OWN = {"state": "state", "symbol": "symbol"}
SEEN = {"written": "seen"}
FIRST = ("bos",)
"""The set of `<s>`, which says that there is no rule."""


@dataclass(frozen=True)
class LlamaUniversal(Universal):
    """The states and symbols of a universal Llama, by the texts of its tokens."""

    added: ClassVar[tuple[str, ...]] = (BOS,)
    unknown_words: ClassVar[str] = "what it becomes is not noticed"

    @staticmethod
    def symbols_in(tokens: Mapping[str, int]) -> list[str]:
        """The symbols for which there are steps, in the order of their letters.

        Beginnings of tokens are tokens too, but letters have numbers one after the other.
        """
        found = [text for text in Universal.symbols_in(tokens) if text in tokens]
        return [text for n, text in enumerate(found) if tokens[text] == tokens[found[0]] + n]

    @property
    def texts(self) -> list[str]:
        """All tokens that it must have, but for addresses."""
        names = ("letter", "key", *(name.format(m) for name in ("action {}", STEP) for m in MOVES))
        found = [text for name in names for text in self.tables(0)[name].texts]
        return [BOS, STOP, TAPE, RUN, ACCEPT, HALT, *found]

    @property
    def pieces(self) -> list[str]:
        """None: prompts with words that are no tokens are outside."""
        return []

    @cached_property
    def prompt_words(self) -> Mapping[str, str]:
        """The words of prompts, but for addresses."""
        steps = dict.fromkeys(self.tables(0)["working R"].texts, "step")
        return {**Universal.prompt_words.func(self), **steps, RUN: RUN}  # type: ignore[attr-defined]

    def sort(self, word: str) -> str | None:
        """What a word of a prompt is; None if it is no such word."""
        return "address" if re.fullmatch(r"@(0|[1-9]\d*)", word) else self.prompt_words.get(word)

    def of_tape(self, words: Sequence[str]) -> tuple[str, Iterator[tuple[int, str]]]:
        """What the words after `<tape>` must be: cells, `<run>`, cells, a step, its address."""
        return f"cells, {RUN}, cells, a step and its address", self._misread(words)

    def _misread(self, words: Sequence[str]) -> Iterator[tuple[int, str]]:
        place, left = 0, 0
        for ends, wanted in ((RUN, f"a letter or {RUN}"), ("step", "a letter or a step R:q:a")):
            begin = place
            while place < len(words) and self.sort(words[place]) == "letter":
                place += 1
            left = place - begin
            if place == len(words) or self.sort(words[place]) != ends:
                shown = cut(words[place]) if place < len(words) else "nothing"
                yield place, f"{shown} where {wanted} is expected"
                return
            place += 1
        address = f"{ADDRESS}{left + 3}"
        if list(words[place:]) != [address]:
            shown = " ".join(words[place : place + 2])
            yield place, f"{cut(shown) if shown else 'nothing'} where {address} alone is expected"

    def stages(self, _: int) -> list[dict[int, list[Group]]]:
        """Runs, in which address tokens are apart by their rule from block 1 on."""
        return [{0: self._classes(0), 1: self._classes(1)}]

    def _classes(self, stage: int) -> list[Group]:
        """All classes of reachable contexts."""
        blank, last = (("written", 0),), (("state", len(self.states) - 1),)

        def one(*key: str, text: str | None = None, **more: Any) -> list[Class]:
            """A class that finds `<s>`."""
            return [Class(key, text, flagged=FIRST, **more)]

        start = Group("start", [Class(("start",), BOS)], first=True)
        found = [
            start,
            Group("key", one("key", before=("rules",), table="key"), handed=OWN),
            Group(
                "tape", one("tape", text=TAPE, before=("rules",), known=blank),
                other=Offset(None, 0), seen=SEEN,
            ),
            Group(
                "letter", one("letter", before=("cells",), table="letter"),
                other=Offset(None, 1), seen=SEEN,
            ),
            Group(
                "run", one("run", text=RUN, before=("cells to the right",), known=blank),
                other=Offset(None, 0), seen=SEEN,
            ),
            Group("told", one("told", before=("cells to the left",), table="working R"),
                  handed=OWN),
        ]  # fmt: skip
        for m in MOVES:
            said = {"next": "next", "written": "written"}
            action = Class(("action", m), None, ("key",), table=f"action {m}")
            works = one("step", m, before=("before step", m), following=ADDRESS,
                        table=f"working {m}")  # fmt: skip
            ends = one("ends", m, before=("before step", m), following=ACCEPT, table=f"ends {m}",
                       known=last)  # fmt: skip
            # Of two states, `acc` is told by no bit of a key; then a flag says enough.
            how: dict[str, Any] = {"rule": self._none}
            if len(self.states) == 2:
                how = {"flagged": FIRST}
            accept = Class(("accept", m), ACCEPT, ("ends", m), following=STOP, **how)
            found += [
                Group(f"action {m}", [action], told=said),
                Group(f"step {m}", works, handed=OWN),
                Group(f"ends {m}", ends, handed=OWN),
                Group(f"accept {m}", [accept]),
            ]
            if stage == 0:
                found.append(Group(f"address {m}", [Class(("address", m), None, ("steps", m))]))
                continue
            found += [self._ruled(m, to) for to in MOVES]
            none = Class(("address", m, "none"), None, ("steps", m), following=HALT,
                         rule=self._none)  # fmt: skip
            found.append(Group(f"address {m} none", [none]))
        found.append(Group("halt", one("halt", text=HALT, before=("no rule",), following=STOP)))
        return found

    @property
    def _kinds(self) -> tuple[str, ...]:
        # Of two states only one has rules.
        return ("state", "symbol") if len(self.states) > 2 else ("symbol",)

    @property
    def _none(self) -> ByKey:
        return ByKey(FIRST, ("actions",), self._kinds)

    def _ruled(self, m: str, to: str) -> Group:
        """Address tokens after a move, whose rule moves."""
        by, on = ByKey(("action", to), ("actions",), self._kinds), m == to
        each = Class(
            ("address", m, to), None, ("steps", m),
            ahead=(f"visit {to}",), following=STEP.format(to), rule=by,
        )  # fmt: skip
        two = Offset(None, 2)
        return Group(
            f"address {m} {to}", [each],
            ahead=FAR if on else two, other=two if on else FAR, seen=SEEN,
        )  # fmt: skip

    def memberships(self, key: Key) -> Iterator[Key]:
        """The sets that a class is in."""
        kind, *of = key
        if kind in ("key", "ends"):
            yield key
        if kind == "start":
            yield from (FIRST, ("rules",))
        if kind == "action":
            yield from (key, ("actions",), ("rules",))
        if kind in ("tape", "letter", "run"):
            yield ("cells",)
        if kind in ("tape", "letter"):
            yield from (("cells to the right",), ("visit R",))
        if kind in ("run", "letter"):
            yield from (("cells to the left",), ("visit L",))
        if kind in ("step", "told"):
            yield "steps", *(of or ["R"])
        if kind == "address":
            _, *to = of
            for m in MOVES:
                if to in ([], [m]):
                    yield "before step", m
            if to in ([], ["none"]):
                yield ("no rule",)
            if to and to[0] in MOVES:
                # Its cell was left by this move, so the head comes back by the other one.
                yield ("visit L" if to[0] == "R" else "visit R",)
