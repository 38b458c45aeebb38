"""The vectors of the universal Transformer over eleven symbols, as its proof states them.

| vector | of token i                                                                 |
|--------|----------------------------------------------------------------------------|
| y(i)   | state, symbol, running, pointers; the number, pair and next state read     |
| z1(i)  | with the position, the prompt's symbol, and what is read after it          |
| z2(i)  | with the rule that was found, next state, symbol to write, move, pointer   |
| z3(i)  | with what the token that is followed wrote, and its pointers               |

While the prompt is read, layer 2 finds whatever is nearest and layer 3 a mean of all tokens, unless
the symbol is T; all of that is behind gates, and of z2 and z3 nothing is claimed then.
"""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from netwright.exact.rational import ONE, ZERO, Number, Rational
from netwright.exact.vector import Vector
from netwright.kind.pointer_transformer.linked_visits import NULL
from netwright.kind.pointer_transformer.proof_values import pointer
from netwright.kind.pointer_transformer.units import stated_positions
from netwright.kind.universal_text.construction import SYMBOL_FEATURES, CompiledUniversalText
from netwright.kind.universal_transformer.codes import code_1, code_2
from netwright.machine.simulate import configurations


class _Moment(NamedTuple):
    """What y_i shows, and what token i does."""

    r: Rational
    s: Rational
    R: int
    L: int
    acc: Rational
    kap: Rational
    rn: Rational
    writes: Rational = ZERO
    move: int = 0


class TextValues:
    """The vectors for one prompt and the tokens 0 to `tokens`."""

    def __init__(self, compiled: CompiledUniversalText, word: Sequence[str], tokens: int) -> None:
        self.network, self.layout = compiled.network, compiled.layout
        self.text = compiled.text(word)
        self._rules: dict[Rational, int] = {}
        """The tokens that end rules, by the pair's sum of codes."""
        self._moments: list[_Moment] = []
        self.accepts = False
        """Whether r = 1 comes after the last moment."""
        self._cell = len(word) - 1
        self._last: dict[int, int] = {}
        for symbol in self.text[:-1][: tokens + 1]:
            self._read(symbol)
        if len(self._moments) <= tokens:
            self._run(compiled, word, tokens + 1 - len(self._moments))

    @property
    def end(self) -> int:
        """The last token that there is."""
        return len(self._moments) - 1

    def _pointers(self) -> tuple[int, int]:
        last = self._last
        return last.get(self._cell + 1, NULL), last.get(self._cell - 1, NULL)

    def _do(self, moment: _Moment) -> None:
        """One more token, which writes if it moves."""
        if moment.move:
            self._last[self._cell] = len(self._moments)
            self._cell += moment.move
        self._moments.append(moment)

    def _read(self, symbol: str) -> None:
        """A token that reads a symbol of the prompt: T writes and moves left, others stay."""
        acc, kap, rn = self._after(self.end) if self._moments else (ZERO, ZERO, ZERO)
        features = SYMBOL_FEATURES[symbol]
        if "end" in features:
            self._rules[kap] = len(self._moments)
        writes, move = (acc, -1) if symbol == "T" else (ZERO, 0)
        self._do(_Moment(ZERO, ZERO, *self._pointers(), acc, kap, rn, writes, move))

    def _after(self, i: int) -> tuple[Rational, Rational, Rational]:
        """acc, kap and rn after the symbol of token i."""
        now, symbol = self._moments[i], self._symbol(i)
        keeps = symbol not in "<>YNT"
        kap = now.kap if keeps else ZERO
        rn = now.rn if keeps else ZERO
        if symbol in "01":
            return (now.acc + int(symbol)) / 4, kap, rn
        kap += {"A": 2, "B": 1}.get(symbol, 0) * now.acc
        return ZERO, kap, rn + (2 * now.acc if symbol == "C" else ZERO)

    def _run(self, compiled: CompiledUniversalText, word: Sequence[str], tokens: int) -> None:
        """The tokens from ! on: `_start`, and then the machine."""
        prompt = compiled.prompt
        self._do(_Moment(ZERO, ZERO, *self._pointers(), ZERO, ZERO, ZERO, ZERO, 1))
        states = {state: code_2(number) for state, number in prompt.states.items()}
        symbols = {symbol: code_1(number) for symbol, number in prompt.symbols.items()}
        for now in islice(configurations(prompt.machine, word), tokens):
            self.accepts = now.state in prompt.accepting
            r, s = states[now.state], symbols[now.symbol]
            action = prompt.machine.action(now.state, now.symbol)
            token = self._rules[r + s]
            does = (self._moments[token].acc, action.move.offset if action else 1)
            short = action is not None and prompt.accepts_by(action) and not prompt.long
            if short:
                does = (ZERO, 1)
            self._do(_Moment(r, s, *self._pointers(), ZERO, ZERO, ZERO, *does))
            if short:
                self.accepts = True  # the next configuration is not shown
                return

    def _symbol(self, i: int) -> str:
        return self.text[min(i, len(self.text) - 1)]

    def y(self, i: int) -> Vector:
        """y_i; it is the seed for i = 0."""
        now = self._moments[i]
        parts: dict[str, Number] = {"r": now.r, "s": now.s, "on": 1, "R": pointer(now.R)}
        read: dict[str, Number] = {"acc": now.acc, "kap": now.kap, "rn": now.rn}
        return Vector.of(self.layout, {**parts, "L": pointer(now.L), **read})

    def z1(self, i: int) -> Vector:
        """z¹_i."""
        pos = stated_positions(self.layout)
        read: dict[str, Number] = dict(zip(("acc1", "kap1", "rn1"), self._after(i), strict=True))
        return self.y(i) + pos(i + 1) + self._says(i) + Vector.of(self.layout, read)

    def rule(self, i: int) -> int | None:
        """The token that is the rule of token i; None while the prompt is read."""
        now = self._moments[i]
        return self._rules[now.r + now.s] if i >= len(self.text) - 1 else None

    def selected(self, i: int) -> int | None:
        """The token that token i looks up; None where it looks at no single one."""
        now = self._moments[i]
        return {1: now.R, -1: now.L, 0: None}[now.move]

    def z2(self, i: int) -> Vector:
        """z²_i, while the machine runs."""
        rule, selected = self.rule(i), self.selected(i)
        assert rule is not None
        assert selected is not None
        has, features = self._moments[rule], SYMBOL_FEATURES[self.text[rule]]
        r = has.rn + features.get("ry", 0)
        found: dict[str, Number] = {"rF": r, "wF": has.acc, "mF": features["mv"]}
        chosen: dict[str, Number] = {"r3": min(r, ONE), "w3": has.acc, "m3": features["mv"]}
        goes_on = features.get("ov", 0)
        chosen |= {"oF": goes_on, "on3": goes_on, "sel": pointer(selected)}
        return self.z1(i) + self._says(i) + Vector.of(self.layout, {**found, **chosen})

    def z3(self, i: int) -> Vector | None:
        """z³_i; None while the prompt is read."""
        selected = self.selected(i)
        if selected is None or self.rule(i) is None:
            return None
        then = self._moments[selected]
        found: dict[str, Number] = {"v": then.writes, "RR": pointer(then.R), "LL": pointer(then.L)}
        return self.z2(i) + Vector.of(self.layout, found) + self._says(i)

    def _says(self, i: int) -> Vector:
        """What the prompt's symbol says, once."""
        return Vector.of(self.layout, dict(SYMBOL_FEATURES[self._symbol(i)]))
