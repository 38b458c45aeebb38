"""The obligations of a network without residual connections: they imply that it simulates, always.

A vector has no coordinates but those that its layer wrote. So what O₁, O₂ and F get is known block
by block, the pointers as unknowns in [0, 1]. The heads have the literal form of the proof.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from netwright.certificates.chain import Bounds, Forms, is_unit, known, shown, unknown
from netwright.certificates.decoder import POWERS
from netwright.certificates.normal_form import same_steps
from netwright.certificates.pointer_transformer import PointerCheck
from netwright.certificates.reading import (
    ONE,
    Cases,
    Checker,
    Machine,
    Obligation,
    oblige,
    read_machine,
)
from netwright.certificates.schema import RESIDUAL_FREE_TRANSFORMER

KEPT_1, KEPT_2 = ("q1", "s1", "R", "L", "one", "e"), ("q2", "mR", "mL", "e")
FOUND = {"w": "v", "R": "RR", "L": "LL"}


class ResidualFreeCheck(PointerCheck):
    """A serialised network without residual connections, and its obligations."""

    def maps(self, network: Mapping[str, Any]) -> dict[str, Any]:
        """The serialised feed-forward networks by name; those of heads as decoder.1.2.Q."""
        found = {"F": network["F"]}
        for n, layer in enumerate(network["decoder"], start=1):
            found[f"decoder.{n}.O"] = layer["O"]
            for h, head in enumerate(layer["heads"], start=1):
                found |= {f"decoder.{n}.{h}.{letter}": net for letter, net in head.items()}
        return found

    def read_machines(self, written: Mapping[str, Any]) -> None:
        """Read the given machine, and the one with two states for the prompt."""
        prompted = written["prompted"]
        self.given = Machine(written["given"])
        self.normal = read_machine(prompted["machine"], written)
        self.load, self.run, self.pauses = prompted["load"], prompted["run"], prompted["pauses"]

    def obligations(self) -> Iterator[Obligation]:
        """Check all obligations, the shape first."""
        shape = oblige("shape: two layers of two heads, σ, no residual connections", self._shape())
        yield shape
        if shape.failure is not None:
            return  # the others would not know where to look
        yield oblige("prompt: two states read it, then M simulates the given machine", self._read())
        yield oblige("embedding, seed and final set", self._ends())
        yield oblige("heads: the token itself, and the one pointed to", self._heads())
        yield oblige("rule: O1 is the transition function, selects and keeps", self._rule_values())
        yield oblige("O2 hands on both heads", self._copied())
        yield oblige("F: what it depends on, block by block", self._f_columns())
        yield oblige("F: the next state", self._next_state())
        yield oblige("F: the next symbol", self._next_symbol())
        yield oblige("F: the next pointers (linked visits)", self._next_pointers())
        yield oblige("after the halt: no state for ever", self._halted())

    def _shape(self) -> Cases:
        yield self.attention == ["score_phi", "hardmax"], "the wrong attention"
        heads = {f"decoder.{n}.{h}.{letter}" for n in (1, 2) for h in (1, 2) for letter in "QKV"}
        wanted = heads | {"decoder.1.O", "decoder.2.O", "F"}
        yield set(self.networks) == wanted, "the wrong layers or heads"
        yield from self.has_sigma()
        blocks = ["q1", "s1", "R", "L", "q2", "w", "mR", "mL", "sel", "v", "RR", "LL", "one", "e"]
        yield [*self.at.places] == blocks, "the wrong blocks"
        yield from self.has_labels()
        positions = [(block, POWERS[block]) for block in ("one", "e")]
        yield self.positions == positions, "the positions are in the wrong place"

    def _read(self) -> Cases:
        given, machine = self.given, self.normal
        inner, own = set(given.states), [self.load, self.run, *self.pauses]
        yield len(set(own)) == len(own) and not inner & set(own), "states share names"
        yield set(machine.states) == inner | set(own), "the wrong states"
        yield set(machine.symbols) == set(given.symbols), "the wrong symbols"
        yield machine.blank == given.blank, "the wrong blank"
        yield machine.accepting == given.accepting, "it accepts in the wrong states"
        for symbol in machine.symbols:
            rule = machine.delta.get((self.load, symbol))
            yield rule == (self.run, symbol, "L"), f"loading {symbol}"
        rule = machine.delta.get((self.run, machine.blank))
        yield rule == (given.start, machine.blank, "R"), "the start"
        yield from same_steps(given, machine, set(self.pauses), self.final, str)
        yield self.final == given.final, "the final set is wrong"

    def _ends(self) -> Cases:
        """Of the loading tokens, but for R, which points to the token before."""
        at = self.at
        load = {at.one("q1", self.load): ONE, at.one("L"): ONE}
        start = load | {at.one("s1", self.normal.blank): ONE, at.one("R"): ONE}
        yield self.seed == start, f"the seed is {at.show(self.seed)}"
        yield list(self.embedding) == self.normal.symbols, "the embedding has the wrong symbols"
        for symbol, vector in self.embedding.items():
            yield vector == load | {at.one("s1", symbol): ONE}, f"f({symbol}) is {at.show(vector)}"

    def _identity(self, *blocks: str) -> dict[tuple[int, int], Any]:
        return {(place, place): ONE for place in self.at.of(*blocks)}

    def _heads(self) -> Cases:
        """ε_i − ε_j, and sel − ε_j; layer 1 needs no second head."""
        at, nets = self.at, self.networks
        one, e, sel = at.one("one"), at.one("e"), at.one("sel")
        itself = {(e, one): ONE, (one, e): -ONE}
        literal = {
            "decoder.1.1": (itself, self._identity(*KEPT_1)),
            "decoder.2.1": (itself, self._identity(*KEPT_2)),
            "decoder.2.2": ({(sel, one): ONE, (one, e): -ONE}, self._looked_up()),
        }
        for head, (query, value) in literal.items():
            yield nets[f"{head}.Q"].is_exactly(query), f"Q of {head}"
            yield nets[f"{head}.K"].is_exactly(self._identity("one", "e")), f"K of {head}"
            yield nets[f"{head}.V"].is_exactly(value), f"V of {head}"
        yield nets["decoder.1.2.V"].is_zero(), "V of decoder.1.2 is not 0"

    def _vector(self, blocks: Mapping[str, Forms]) -> Forms:
        """A vector with these blocks, and 0 elsewhere."""
        x: Forms = {k: known(0) for k in range(len(self.at.names))}
        for block in blocks.values():
            x |= block
        return x

    def _kept(self, bounds: Bounds) -> dict[str, Forms]:
        """What O₁ hands on: the pointers and the position."""
        numbers, more = self._pointers("R", "L", "e")
        bounds |= more
        return {"numbers": numbers, "one": {self.at.one("one"): known(1)}}

    def _rule_values(self) -> Cases:
        """A state and a symbol, with any pointers; and no state, with anything in s1."""
        at, network = self.at, self.networks["decoder.1.O"]
        for s in self.normal.symbols:
            bounds: Bounds = {}
            kept = self._kept(bounds)
            image = network.near(self._vector({**kept, "s1": self._one_hot("s1", s)}), bounds)
            there = kept["numbers"] | kept["one"]
            for q in self.normal.states:
                rule, wanted = self.normal.rule(q, s), dict(there)
                if rule is not None:
                    target, write, move = rule
                    wanted |= {at.one("q2", target): known(1), at.one("w", write): known(1)}
                    wanted |= {at.one(f"m{move}"): known(1), at.one("sel"): unknown(move)}
                found = image({at.one("q1", q): known(1)})
                yield found == wanted, f"at q = {q}, s = {s}"
        bounds = {}
        kept = self._kept(bounds)
        x = self._vector({**kept, "s1": self._anything("s1", ONE, bounds)})
        yield network.of_forms(x, bounds) == kept["numbers"] | kept["one"], "at no state"

    def _copied(self) -> Cases:
        bounds: Bounds = {}
        there: Forms = {}
        for block in (*KEPT_2, *FOUND.values()):
            there |= self._anything(block, ONE, bounds)
        found = self.networks["decoder.2.O"].of_forms(self._vector({"all": there}), bounds)
        yield found == there, self.show(found)

    def _moved(self, move: str | None) -> Forms:
        return {self.at.one(f"m{each}"): known(int(each == move)) for each in "RL"}

    def _f_columns(self) -> Cases:
        at, F = self.at, self.networks["F"]  # the paper's letter
        yield F.sources(at.of("q1")) <= at.of("q2"), "q1 depends on more than q2"
        yield F.sources(at.of("s1")) <= at.of("v"), "s1 depends on more than v"
        of_pointers = at.of("RR", "LL", "e", "mR", "mL")
        yield F.sources(at.of("R", "L")) <= of_pointers, "R and L depend on other blocks"
        yield F.reached() <= at.of("q1", "s1", "R", "L"), "F writes to other blocks"

    def _next_symbol(self) -> Cases:
        for symbol in self.normal.symbols:
            x = self._one_hot("v", symbol)
            yield self._gives_symbol(x, {}, symbol, f"finding {symbol}")

    def _halted(self) -> Cases:
        """Without a rule q2 and the moves are 0; s1 stays in [0, 1], and R and L are 0."""
        bounds: Bounds = {}
        x = self._anything("v", ONE, bounds)
        for symbol, form in self._after(x, bounds, "s1").items():
            yield is_unit(form, bounds), f"{self.at.names[symbol]} is {shown(form)}"
        x, bounds = self._pointers("RR", "LL", "e")
        found = self._after(x | self._moved(None), bounds, "R", "L")
        yield not found, self.show(found)


CHECKER = Checker(
    RESIDUAL_FREE_TRANSFORMER, lambda written: ResidualFreeCheck(written).obligations()
)
