"""What the figures of a moment say, in words: as the page's `figures/` draw it, for a picture.

A kind's view lists its figures as data (`web/views`); each `draw` is a function here and a module
of the page. The tests compare the two.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from netwright.exact.rational import ONE, Rational
from netwright.exact.vector import Vector
from netwright.explorer.explored import Explored
from netwright.explorer.moments import number_text
from netwright.network.trace import Moment
from netwright.network.view import AppliedRule, View

MOST_CARDS, MOST_NEURONS, MOST_NUMBERS = 80, 12, 4
Figure = Mapping[str, Any]


class Said(NamedTuple):
    """A word of a row, and whether it is lit."""

    text: str
    lit: bool = False


class Row(NamedTuple):
    """A row of a figure: what it is about, and its words."""

    about: str
    words: list[Said]


class Shown(NamedTuple):
    """A moment, and what the page gets of it."""

    explored: Explored
    moment: Moment
    data: Mapping[str, Any]

    @property
    def symbols(self) -> list[str]:
        """The symbols by number: the blank first."""
        machine = self.explored.history.timeline.machine
        return [machine.blank, *(s for s in machine.symbols if s != machine.blank)]

    @property
    def last(self) -> Vector:
        """The last vector of the moment, whose name has no dot: h or g of an RNN."""
        return self.moment[[name for name in self.moment if "." not in name][-1]]

    def name(self, symbol: str) -> str:
        """A symbol as the page writes it."""
        return "␣" if symbol in (" ", self.symbols[0]) else symbol


def rows_of(shown: Shown, figure: Figure) -> list[Row]:
    """The rows of a figure."""
    return DRAW[figure["draw"]](shown, figure)


def coded(x: Rational) -> tuple[int, int] | None:
    """The numbers q and a of a code 2·code₁(q) + code₁(a); None if x is no such sum.

    >>> coded(Rational(1, 32)), coded(Rational(5))
    ((4, 0), None)
    """
    found, bit = [0, 0], 1
    while x and bit < 2**40:
        x *= 4
        digit = int(x.floor())
        if not 0 <= digit <= 3:
            return None
        found = [found[0] + (digit >> 1) * bit, found[1] + (digit & 1) * bit]
        x -= digit
        bit *= 2
    return None if x else (found[0], found[1])


def pointed(x: Rational) -> int | None:
    """The token of a pointer 1/t; None for other numbers."""
    return int(x.q) if x.p == 1 else None


def _state(shown: Shown, x: Rational, first: int) -> str | None:
    states, code = shown.explored.history.timeline.machine.states, coded(x)
    if x == 1:
        return "accepted"
    return states[code[0] - first] if code and 0 <= code[0] - first < len(states) else None


def _symbol(shown: Shown, x: Rational, _first: int) -> str | None:
    code = coded(x)
    known = code is not None and code[1] < len(shown.symbols)
    return shown.name(shown.symbols[code[1]]) if code and known else None


def _pointer(_shown: Shown, x: Rational, _first: int) -> str | None:
    token = pointed(x)
    if token is None:
        return None
    return "token 1 (NULL)" if token == 1 else f"token {token:,}"


def _move(_shown: Shown, x: Rational, _first: int) -> str | None:
    return {1: "R", -1: "L", 0: "L"}.get(int(x.p)) if x.q == 1 else None


def _number(_shown: Shown, x: Rational, _first: int) -> str | None:
    code = coded(x)
    return f"{code[1]:,}" if code and not code[0] else None


def _flag(_shown: Shown, x: Rational, _first: int) -> str | None:
    return str(x) if x in (0, 1) else None


NUMBERS = {
    "number": _number,
    "flag": _flag,
    "state": _state,
    "symbol": _symbol,
    "pointer": _pointer,
    "move": _move,
}


def _decoded(shown: Shown, figure: Figure) -> list[Row]:
    rows, reads = [], shown.data["step"] is None and "reading" in figure
    for says, name, items in figure["reading" if reads else "rows"]:
        vector, words = shown.moment[name], []
        for what, some, how in items:
            there = [block for block in some if block in vector.layout]
            block = next((block for block in there if vector[block]), there[0] if there else None)
            if block is None:
                continue
            if how == "label":
                label = vector.label(block)
                text = None if label is None else shown.name(label)
            elif how == "bits":
                ones = [label for label, x in vector[block].items() if x == ONE]
                text = f"{sum(2 ** int(label[1:]) for label in ones):,}"
            else:
                text = NUMBERS[how](shown, vector.number(block), figure.get("first", 0))
            if text is not None:
                words.append(Said(f"{what} {text}"))
        rows.append(Row(says, words))
    if looked_up := shown.data.get("text", {}).get("pointed"):
        rows.append(Row("it looks up", [Said(f"{side} token {at:,}") for side, at, _ in looked_up]))
    return rows


def _cards(shown: Shown, figure: Figure) -> list[Row]:
    cards = (_cards_of_text if figure["codes"] == "text" else _cards_of_rules)(shown)
    if "attention" in figure:
        winner = shown.data["attended"][figure["attention"]]["winner"]
        at = next((n for n, (token, _) in enumerate(cards) if token == winner), -1)
    else:
        at = _followed(shown, figure, [text for _, text in cards])
    first = max(0, min(len(cards) - MOST_CARDS, at - MOST_CARDS // 2))
    words = [Said(text, n == at) for n, (_, text) in enumerate(cards)]
    return [Row("", words[first : first + MOST_CARDS])]


def _followed(shown: Shown, figure: Figure, cards: list[str]) -> int:
    """The card of state and symbol, if what was found is its rule; −1 if there is none."""
    rule, vector = shown.data["rule"], shown.moment[figure["vector"]]
    if rule is None:
        return -1
    begin = f"{rule['state']} {shown.name(rule['symbol'])} → "
    at = next((n for n, card in enumerate(cards) if card.startswith(begin)), -1)
    next_state = _state(shown, vector.number(figure["next"]), figure["first"])
    found = f"{begin}{next_state} {_symbol(shown, vector.number(figure['write']), 0)} "
    is_rule = at < 0 or cards[at].startswith(found)
    return at if is_rule or cards[at] in (f"{begin}accepted", f"{begin}no rule") else -1


def _card(shown: Shown, rule: AppliedRule, without: str) -> str:
    does = without
    if rule.next is not None:
        does = f"{rule.next} {shown.name(str(rule.write))} {rule.move}"
    return f"{rule.state} {shown.name(rule.symbol)} → {does}"


def _cards_of_rules(shown: Shown) -> list[tuple[int, str]]:
    """The tokens after those of the input: every state with every symbol."""
    machine, token = shown.explored.history.timeline.machine, len(shown.explored.word)
    cards = []
    for state in machine.states:
        without = "accepted" if state in machine.accepting else "no rule"
        for symbol in shown.symbols:
            rule, token = AppliedRule.of(machine, state, symbol), token + 1
            cards.append((token, _card(shown, rule, without)))
    return cards


def _cards_of_text(shown: Shown) -> list[tuple[int, str]]:
    """The pieces of the prompt that are rules, each with the token of its last symbol."""
    states = ["(start)", *shown.explored.history.timeline.machine.states]
    number = dict[str, Any](Y="accepted", N="no rule")
    rule = r"([01]*)A([01]*)B(?:([01]*)C([01]*))?([<>YN])"
    cards = []
    for found in re.finditer(rule, "".join(shown.explored.reads)):
        q, s, to, w, end = found.groups()
        state, symbol = states[int(q or "0", 2)], shown.symbols[int(s or "0", 2)]
        applied = AppliedRule(state, symbol)
        if end not in number:
            write, move = shown.symbols[int(w or "0", 2)], "R" if end == ">" else "L"
            applied = AppliedRule(state, symbol, write, move, states[int(to or "0", 2)])
        cards.append((found.end(), _card(shown, applied, number.get(end, ""))))
    return cards


def chain(shown: Shown, figure: Figure, side: str) -> list[tuple[int, int | None]]:
    """The cells to one side, each with the token that a pointer to its last visit names."""
    data, step = shown.data, 1 if side == "R" else -1
    if data["step"] is None:
        return []
    tape, head = data["tape"], data["head"]

    def visit(cell: int) -> int | None:
        place = cell - tape["first"]
        return tape["visits"][place] if 0 <= place < len(tape["visits"]) else None

    own = pointed(shown.moment[figure["vector"]].number(side))
    links = [(head + step, own)]
    if own is None or (own == 1 and visit(head + step) != 1):
        return links
    cell = head + 2 * step
    while (token := visit(cell)) is not None:
        if len(links) == 1 and data["next"] == head + step:
            token = pointed(shown.moment[figure["found"]].number(side + side)) or token
        links.append((cell, token))
        cell += step
    return links


def _links(shown: Shown, figure: Figure) -> list[Row]:
    return [
        Row(f"{side}:", [Said(f"cell {c:,} → {t if t else 'none'}") for c, t in found])
        for side in ("L", "R")
        if (found := chain(shown, figure, side))
    ]


def stacks(shown: Shown, figure: Figure) -> list[tuple[str, int, int, Rational, list[int]]]:
    """The stacks that are not 0: block, the offset and direction of digits, number and digits."""
    look, compiled = shown.explored.network.kind.look, shown.explored.network.compiled
    found = []
    for block, offset, step in figure["stacks"]:
        x = shown.last.number(block) if block in shown.last.layout else Rational(0)
        if x:
            found.append((block, offset, step, x, look.digits(compiled, x) or []))
    return found


def _stacks(shown: Shown, figure: Figure) -> list[Row]:
    return [
        Row(f"{block} = {number_text(x)}", [Said(str(digit)) for digit in digits])
        for block, _, _, x, digits in stacks(shown, figure)
    ]


def _neurons(shown: Shown, figure: Figure) -> list[Row]:
    rows, vector = [], shown.last
    for block, what in figure["blocks"]:
        labels, on = vector.layout.labels(block), vector[block]
        seen = labels if len(labels) <= MOST_NEURONS else [each for each in labels if each in on]
        about = f"{block}, {what}: {len(on):,} of {len(labels):,}"
        rows.append(Row(about, [Said(label, label in on) for label in seen]))
    return rows


def _cells(shown: Shown, _figure: Figure) -> list[Row]:
    names = [each["name"] for each in shown.data["vectors"] if each["name"].startswith("cell.")]
    return [Row(name.replace(".", " "), _cell(shown, shown.moment[name])) for name in names]


def _cell(shown: Shown, cell: Vector) -> list[Said]:
    """Where the encoder is, the state, and the tape: left of the head, at it, right of it."""
    lettered = "E S" in cell.layout  # an encoder brings the input
    comes = lettered and bool(cell["a"])
    here = bool(cell["b" if lettered else "f"]) and not comes
    status = ("here" if here else "passed") if lettered else "comes" if here else "all there"
    if comes:
        status = "to come"
        read = [shown.name(shown.symbols[int(label)]) for label in cell["E e"]]
        return [Said(status), Said(f"reads {read[0]}" if read else "reads the end")]
    part, look = "E " if here else "D ", shown.explored.network.kind.look
    part = part if lettered else ""
    compiled, held = shown.explored.network.compiled, dict[str, list[str]]()
    for name in shown.explored.view.stacks:
        if f"{part}{name}" in cell.layout and (x := cell.number(f"{part}{name}")):
            found = look.digits(compiled, x) or []
            held[name] = [shown.name(shown.symbols[digit]) for digit in found]

    def side(letter: str) -> list[str]:
        pushed = held.get(f"{letter}push", []) + held.get(f"{letter}stay", [])
        return held[f"{letter}pop"][1:] if f"{letter}pop" in held else pushed

    without = "not yet" if here and not lettered else "halted"
    state = " + ".join(cell[f"{part}S"]) or without
    head = shown.name(shown.symbols[len(cell[f"{part}P"])]) if cell[f"{part}S"] else ""
    left, right = "".join(reversed(side("L"))), "".join(side("R"))
    return [Said(status, here), Said(state), Said(left), Said(head, bool(head)), Said(right)]


def _blocks(shown: Shown, _figure: Figure) -> list[Row]:
    rows = []
    for name in (each["name"] for each in shown.data["vectors"]):
        vector = shown.moment[name]
        if not re.search(r"\.[qkv]$", name):
            rows.append(Row(name, _said_blocks(shown, vector)))
    attended = {n: each for n, each in shown.data.get("attended", {}).items() if each["winners"]}
    if attended:
        words = [Said(f"{name} {_winner(**each)}") for name, each in attended.items()]
        rows.append(Row("attends to", words))
    return rows


def _winner(winner: int | None, winners: int) -> str:
    return f"{winners:,} alike" if winner is None else f"→ {winner:,}"


def stream_rows(shown: Shown, view: View) -> list[Row]:
    """What each column of the residual stream has that the one before has not."""
    rows, before = [], None
    for column in view.columns:
        vector = shown.moment[column.vector]
        rows.append(Row(column.title, _said_blocks(shown, vector, before)))
        before = vector
    return rows


def _said_blocks(shown: Shown, vector: Vector, before: Vector | None = None) -> list[Said]:
    """The blocks that are not 0, and not as in the vector before."""
    blocks = [block for block, _ in vector.layout.blocks if vector[block]]
    if before is not None:
        blocks = [block for block in blocks if vector[block] != before[block]]
    return [Said(f"{block} {_block(shown, vector, block)}") for block in blocks]


def _block(shown: Shown, vector: Vector, block: str) -> str:
    many, entries = len(vector.layout.labels(block)) > 1, vector[block]
    if many and (address := _in_bits(entries)) is not None:
        return f"{address:,}"
    ones = many and all(x == ONE for x in entries.values())
    said: Sequence[str] = [
        shown.name(label) if ones else f"{label} {number_text(x)}" if many else number_text(x)
        for label, x in [*entries.items()][:MOST_NUMBERS]
    ]
    return ", ".join(said) + (f", … {len(entries)}" if len(entries) > MOST_NUMBERS else "")


def _in_bits(entries: Mapping[str, Rational]) -> int | None:
    """The number whose digits in base 2 these are, as 1 and −1; None if they are something else."""
    is_number = len(entries) > 1 and all(
        label == f"b{n}" and abs(x) == 1 for n, (label, x) in enumerate(entries.items())
    )
    return sum(2**n for n, x in enumerate(entries.values()) if x == 1) if is_number else None


DRAW: dict[str, Callable[[Shown, Figure], list[Row]]] = {
    "blocks": _blocks,
    "cards": _cards,
    "cells": _cells,
    "decoded": _decoded,
    "links": _links,
    "neurons": _neurons,
    "stacks": _stacks,
}
