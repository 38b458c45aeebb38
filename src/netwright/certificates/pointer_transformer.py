"""The obligations of a Transformer that follows pointers: they imply that it simulates, always.

Attention has the literal form of the proofs: K and V of the encoder, Q, K and V of the look-up. The
two networks with hidden units, O₁ and F, are checked case by case over states, symbols and moves,
with the pointers as unknowns in [0, 1] (`chain`): in every case each unit is 0, 1 or what it reads,
and the result is what the lemma of linked visits asks for.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from flint import fmpq

from netwright.certificates.chain import ZERO, Bounds, Form, Forms, is_unit, known, shown, unknown
from netwright.certificates.decoder import NormalDecoder, positions_in
from netwright.certificates.reading import ONE, Blocks, Cases, Checker, Obligation, oblige
from netwright.certificates.schema import POINTER_TRANSFORMER

POSITIONS = {"score_phi": ["one", "n", "e"], "dot_product": ["one", "n", "e", "e2"]}
"""1, i, 1/i and 1/i², by the score of attention."""
MOVE_BLOCKS = {"R": "mR", "L": "mL", "S": "mS"}
TWO = fmpq(2)


def look_up_maps(
    at: Blocks, score: str, one: str
) -> tuple[dict[tuple[int, int], fmpq], dict[tuple[int, int], fmpq]]:
    """The weights of Q and K with which a token finds the one that `sel` = 1/(j+1) points to.

    Their product is sel (j+1) − 1, which is 0 for token j alone; or 2 sel ε − ε² = sel² − (sel −
    ε)² for ε = 1/(j+1), which is greatest there alone. Block `one` is 1 in every token.
    """
    sel, of_one = at.one("sel"), at.one(one)
    if score == "dot_product":
        e, e2 = at.one("e"), at.one("e2")
        return {(sel, e): TWO, (of_one, e2): -ONE}, {(e, e): ONE, (e2, e2): ONE}
    n = at.one("n")
    return {(sel, n): ONE, (of_one, of_one): -ONE}, {(n, n): ONE, (of_one, of_one): ONE}


class PointerCheck(NormalDecoder):
    """A serialised pointer Transformer, and its obligations."""

    layers = "no encoder layer, two decoder layers, σ"
    ends = "embedding, positions, seed and final set"
    """`layers` says what `_shape` expects, and `ends` what `_ends` checks."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        super().__init__(written)
        self.score, self.normaliser = self.attention
        self.stays = "mS" in self.at.places

    def obligations(self) -> Iterator[Obligation]:
        """Check all obligations, the shape first."""
        shape = oblige(f"shape: {self.layers}", self._shape())
        yield shape
        if shape.failure is not None:
            return  # the others would not know where to look
        yield self.normal_form(stays=self.stays)
        yield oblige(self.ends, self._ends())
        yield from self._made_positions()
        yield oblige("Lemma B.1: K and V of the encoder", self._input())
        yield oblige("rule: what O1 reads and writes", self._rule_columns())
        yield oblige("rule: O1 is the transition function, and selects", self._rule_values())
        yield oblige("look-up: Q, K, V and O of layer 2", self._look_up())
        yield oblige("F: what it depends on, block by block", self._f_columns())
        yield oblige("F: the next state", self._next_state())
        yield oblige("F: the next symbol", self._next_symbol())
        yield oblige("F: the next pointers (linked visits)", self._next_pointers())
        yield oblige("after the halt: no state for ever", self._halted())

    def _made_positions(self) -> Iterator[Obligation]:
        """Check how a network without positional encodings makes its positions."""
        return iter(())

    @property
    def _moves(self) -> list[str]:
        return list(MOVE_BLOCKS.values()) if self.stays else ["m"]

    def _shape(self) -> Cases:
        yield self.score in POSITIONS and self.normaliser == "hardmax", "the wrong attention"
        yield from self.has_layers(0, 2)
        yield from self.has_sigma()
        moves = self._moves
        blocks = ["q1", "s1", "R", "L", "q2", "w", *moves, "sel", "al", "be", "v", "RR", "LL"]
        known_blocks = [*self.at.places] == [*blocks, *POSITIONS.get(self.score, [])]
        yield known_blocks, "the wrong blocks"
        yield from self.has_labels()

    def _ends(self) -> Cases:
        at = self.at
        yield (
            self.positions == positions_in(POSITIONS[self.score]),
            "the positions are in the wrong place",
        )
        start = {at.one("q1", self.names[0]): ONE, at.one("s1", self.normal.blank): ONE}
        start |= {at.one("R"): ONE, at.one("L"): ONE}  # both are token 0: NULL
        yield from self.has_ends(start, "s1")

    def _input(self) -> Cases:
        at = self.at
        one, n, e = (at.one(block) for block in ("one", "n", "e"))
        if self.score == "dot_product":
            # 2 ε_j ε_{i+1} − ε_j² = ε_{i+1}² − (ε_{i+1} − ε_j)²
            keys = {(e, e): TWO, (at.one("e2"), one): -ONE}
        else:
            keys = {(n, one): ONE, (one, n): -ONE}  # j − (i+1)
        yield self.networks["encoder.K"].is_exactly(keys), "K does not find token min(i+1, n)"
        copies = {(at.one("s1", s), at.one("al", s)): ONE for s in self.normal.symbols}
        values = copies | {(n, at.one("be")): ONE}
        yield self.networks["encoder.V"].is_exactly(values), "V is not ⟦a⟧ and j"

    # O₁.

    def _rule_columns(self) -> Cases:
        yield self.networks["decoder.1.V"].is_zero(), "V of layer 1 is not 0"
        at, network = self.at, self.networks["decoder.1.O"]
        targets = at.of("q2", "w", *self._moves)
        yield network.reached() <= targets | at.of("sel"), "O1 writes to other blocks"
        yield network.sources(targets) <= at.of("q1", "s1"), "the rule depends on more"
        chosen = at.of("q1", "s1", "R", "L")
        yield network.sources(at.of("sel")) <= chosen, "sel depends on more"

    def _rule_values(self) -> Cases:
        """A state and a symbol, with any pointers; and no state, with anything in s1."""
        at, network = self.at, self.networks["decoder.1.O"]
        with_symbol = {}
        for s in self.normal.symbols:
            x, bounds = self._pointers("R", "L")
            x |= self._one_hot("q1", None) | self._one_hot("s1", s)
            with_symbol[s] = network.near(x, bounds)
        for q, s in product(self.normal.states, self.normal.symbols):
            rule = self.normal.delta.get((q, s))
            wanted: Forms = {}
            if rule is not None:
                target, write, move = rule
                wanted = {at.one("q2", target): known(1), at.one("w", write): known(1)}
                wanted |= {place: form for place, form in self._moved(move).items() if form}
                if move != "S":
                    wanted[at.one("sel")] = unknown(move)  # R or L
            found = with_symbol[s]({at.one("q1", q): known(1)})
            yield found == wanted, f"at q = {q}, s = {s}"
        x, bounds = self._pointers("R", "L")
        x |= self._one_hot("q1", None) | self._anything("s1", ONE, bounds)
        yield not network.of_forms(x, bounds), "at no state"

    def _pointers(self, *names: str) -> tuple[Forms, Bounds]:
        """Unknowns between 0 and 1 for some coordinates, and their bounds."""
        bounds: Bounds = dict.fromkeys(names, (ZERO, ONE))
        return {self.at.one(name): unknown(name) for name in names}, bounds

    def _one_hot(self, block: str, label: str | None, value: int = 1) -> Forms:
        """A block with a number at one label, if any, and 0 at all others."""
        return {k: known(value * (each == label)) for each, k in self.at[block].items()}

    def _anything(self, block: str, most: fmpq, bounds: Bounds) -> Forms:
        """Unknowns between 0 and `most` for a block; adds them to `bounds`."""
        names = {k: self.at.names[k] for k in self.at[block].values()}
        bounds |= dict.fromkeys(names.values(), (ZERO, most))
        return {k: unknown(name) for k, name in names.items()}

    def _moved(self, move: str | None) -> Forms:
        """The blocks of moves for a move, or for none."""
        if self.stays:
            moves = MOVE_BLOCKS.items()
            return {self.at.one(block): known(int(each == move)) for each, block in moves}
        return {self.at.one("m"): known({"R": 1, "L": -1}.get(move or "", 0))}

    def _looked_up(self) -> dict[tuple[int, int], fmpq]:
        """The weights of V: what the token wrote, and its pointers."""
        at = self.at
        found = {(at.one("w", s), at.one("v", s)): ONE for s in self.normal.symbols}
        return found | {(at.one("R"), at.one("RR")): ONE, (at.one("L"), at.one("LL")): ONE}

    def _look_up(self) -> Cases:
        at, nets = self.at, self.networks
        query, key = look_up_maps(at, self.score, "one")
        yield nets["decoder.2.Q"].is_exactly(query), "Q of layer 2"
        yield nets["decoder.2.K"].is_exactly(key), "K of layer 2"
        yield nets["decoder.2.V"].is_exactly(self._looked_up()), "V of layer 2"
        yield nets["decoder.2.O"].is_zero(), "O of layer 2 is not 0"

    # F.

    def _f_columns(self) -> Cases:
        at, F = self.at, self.networks["F"]  # the paper's letter
        yield F.sources(at.of("q1")) <= at.of("q2"), "q1 depends on more than q2"
        of_symbol = at.of("al", "be", "n", "v", "w", *self._moves)
        yield F.sources(at.of("s1")) <= of_symbol, "s1 depends on other blocks"
        of_pointers = at.of("R", "L", "RR", "LL", "e", *self._moves)
        yield F.sources(at.of("R", "L")) <= of_pointers, "R and L depend on other blocks"
        yield F.reached() <= at.of("q1", "s1", "R", "L"), "F writes to other blocks"

    def _after(self, x: Forms, bounds: Bounds, *blocks: str) -> Forms:
        """The output of F in some blocks."""
        places = self.at.of(*blocks)
        found = self.networks["F"].of_forms(x, bounds)
        return {k: form for k, form in found.items() if k in places}

    def _next_state(self) -> Cases:
        places = self.at.of("q1")
        image = self.networks["F"].near(self._one_hot("q2", None), {})
        for q in (None, *self.normal.states):
            wanted = {} if q is None else {self.at.one("q1", q): known(1)}
            after = image({} if q is None else {self.at.one("q2", q): known(1)})
            found = {k: form for k, form in after.items() if k in places}
            yield found == wanted, f"state {q or 'none'}: {self.show(found)}"

    def _next_symbol(self) -> Cases:
        """Reading, later, and at a stay.

        be is 2β, n is A + β, and A = n − be/2 is 0 while the input is read and 1 or more later.
        While it is read the look-up finds NULL, which wrote #, and the move is to the right.
        """
        sharp = self.normal.blank
        for symbol in self.normal.symbols:
            if symbol == sharp:
                continue
            x, bounds = self._input_at("A = 0")
            x |= self._one_hot("al", symbol, 2) | self._one_hot("v", sharp)
            x |= self._anything("w", ONE, bounds) | self._moved("R")
            yield self._gives_symbol(x, bounds, symbol, f"reading {symbol}")
        for symbol, move in product(self.normal.symbols, "RL"):
            x, bounds = self._input_at("A ≥ 1")
            x |= self._one_hot("v", symbol) | self._anything("w", ONE, bounds) | self._moved(move)
            yield self._gives_symbol(x, bounds, symbol, f"finding {symbol}, {move}")
        for symbol in self.normal.symbols if self.stays else ():
            x, bounds = self._input_at("A ≥ 1")
            x |= self._anything("v", ONE, bounds) | self._one_hot("w", symbol) | self._moved("S")
            yield self._gives_symbol(x, bounds, symbol, f"staying on {symbol}")

    def _gives_symbol(self, x: Forms, bounds: Bounds, symbol: str, when: str) -> tuple[bool, str]:
        found = self._after(x, bounds, "s1")
        return found == {self.at.one("s1", symbol): known(1)}, f"{when}: {self.show(found)}"

    def _input_at(self, when: str) -> tuple[Forms, Bounds]:
        """n, be and al at a token: while the input is read, or later."""
        at = self.at
        bounds: Bounds = {"β": (ZERO, None)}
        n: Form = {"β": ONE}
        x: Forms = {at.one("be"): {"β": TWO}}
        if when != "A = 0":
            bounds["A"] = (ONE, None)
            n = {"β": ONE, "A": ONE}
            x |= self._anything("al", TWO, bounds)  # twice a one-hot, or 0 for the empty word
        return x | {at.one("n"): n}, bounds

    def _next_pointers(self) -> Cases:
        moves = {"R": ("RR", "e"), "L": ("e", "LL"), "S": ("R", "L")}
        for move in "RLS" if self.stays else "RL":
            x, bounds = self._pointers("R", "L", "RR", "LL", "e")
            right, left = moves[move]
            wanted = {self.at.one("R"): unknown(right), self.at.one("L"): unknown(left)}
            found = self._after(x | self._moved(move), bounds, "R", "L")
            yield found == wanted, f"{move}: {self.show(found)}"

    def _halted(self) -> Cases:
        """Without a rule q2, w and the moves are 0; s1 stays in [0, 1], and R and L are 0."""
        x, bounds = self._input_at("A ≥ 1")
        x |= self._anything("v", ONE, bounds) | self._one_hot("w", None) | self._moved(None)
        for symbol, form in self._after(x, bounds, "s1").items():
            yield is_unit(form, bounds), f"{self.at.names[symbol]} is {shown(form)}"
        x, bounds = self._pointers("R", "L", "RR", "LL", "e")
        found = self._after(x | self._moved(None), bounds, "R", "L")
        yield not found, self.show(found)


CHECKER = Checker(POINTER_TRANSFORMER, lambda written: PointerCheck(written).obligations())
