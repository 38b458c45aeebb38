"""The obligations of a Transformer without positions: they imply that it simulates, always.

The attentions have the literal form of the proof: two means of the flag b, which give 1/i, and two
that compare it. O₁ and F are checked case by case, as for the pointer Transformer.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from netwright.certificates.chain import Bounds, Forms, is_unit, known, shown
from netwright.certificates.pointer_transformer import PointerCheck
from netwright.certificates.reading import ONE, Cases, Checker, Obligation, oblige
from netwright.certificates.schema import POSITIONLESS_TRANSFORMER


class PositionlessCheck(PointerCheck):
    """A serialised Transformer without positions, and its obligations."""

    layers = "one encoder layer, two decoder layers, σ"
    ends = "embedding, seed and final set"

    def __init__(self, written: Mapping[str, Any]) -> None:
        super().__init__(written)
        self.masked = written["network"]["masked"]

    def _made_positions(self) -> Iterator[Obligation]:
        yield oblige("positions: the encoder and layer 1 are means of b", self._means())

    def _shape(self) -> Cases:
        yield self.attention == ["score_phi", "hardmax"], "the wrong attention"
        yield self.masked, "the encoder is not masked"
        yield from self.has_layers(1, 2)
        yield from self.has_sigma()
        blocks = ["q1", "s1", "R", "L", "q2", "w", "m", "sel", "al", "end", "v", "RR", "LL"]
        yield [*self.at.places] == [*blocks, "one", "e", "b"], "the wrong blocks"
        yield from self.has_labels()

    def _ends(self) -> Cases:
        at = self.at
        one, b = at.one("one"), at.one("b")
        start = {at.one("q1", self.names[0]): ONE, at.one("s1", self.normal.blank): ONE}
        start |= dict.fromkeys((at.one("R"), at.one("L"), one, b), ONE)
        yield self.seed == start, f"the seed is {at.show(self.seed)}"
        letters = [symbol for symbol in self.normal.symbols if symbol != self.normal.blank]
        yield len(self.embedding) == len(letters) + 2, "the embedding has the wrong symbols"
        *symbols, begin, end = self.embedding
        yield symbols == letters, "the embedding has the wrong symbols"
        ends = not {begin, end} & set(self.normal.symbols)
        yield ends, "the ends of the input have the name of a symbol"
        wanted = {symbol: {at.one("s1", symbol): ONE, one: ONE} for symbol in symbols}
        wanted |= {begin: {one: ONE, b: ONE}, end: {one: ONE, at.one("end"): ONE}}
        for symbol, vector in self.embedding.items():
            yield vector == wanted[symbol], f"f({symbol}) is {at.show(vector)}"
        yield self.final == self.given.final, "the final set is wrong"

    def _means(self) -> Cases:
        """Queries are 0, so weights are equal; of b, which F never writes, the mean is 1/i."""
        at, nets = self.at, self.networks
        mean = {(at.one("b"), at.one("e")): ONE}
        for layer in ("encoder.1", "decoder.1"):
            yield nets[f"{layer}.Q"].is_zero(), f"Q of {layer} is not 0"
            yield nets[f"{layer}.V"].is_exactly(mean), f"V of {layer} is not b"
        yield nets["encoder.1.O"].is_zero(), "O of encoder.1 is not 0"

    def _input(self) -> Cases:
        """e (1 − ε) − ε = e − (1 + e) ε: 0 at ε = 1/(i+2) for e = 1/(i+1), strictly monotone."""
        at, one, e = self.at, self.at.one("one"), self.at.one("e")
        keys = {(e, one): -ONE, (one, e): ONE, (e, e): -ONE}
        found = self.networks["encoder.K"].is_exactly(keys)
        yield found, "K does not find token min(i+2, n+2)"
        values = {(at.one("s1", s), at.one("al", s)): ONE for s in self.normal.symbols}
        values[at.one("end"), at.one("end")] = ONE
        yield self.networks["encoder.V"].is_exactly(values), "V is not ⟦a⟧ and end"

    def _rule_columns(self) -> Cases:
        cases = super()._rule_columns()
        next(cases)  # that V of layer 1 is 0; here it is the mean
        yield from cases

    def _look_up(self) -> Cases:
        """Sel − 1/(j+1)."""
        at, nets = self.at, self.networks
        one, e = at.one("one"), at.one("e")
        query = {(at.one("sel"), one): ONE, (one, e): -ONE}
        yield nets["decoder.2.Q"].is_exactly(query), "Q of layer 2"
        yield nets["decoder.2.K"].is_exactly({(one, one): ONE, (e, e): ONE}), "K of layer 2"
        yield nets["decoder.2.V"].is_exactly(self._looked_up()), "V of layer 2"
        yield nets["decoder.2.O"].is_zero(), "O of layer 2 is not 0"

    def _f_columns(self) -> Cases:
        at, F = self.at, self.networks["F"]  # the paper's letter
        yield F.sources(at.of("q1")) <= at.of("q2"), "q1 depends on more than q2"
        of_symbol = at.of("al", "end", "v")
        yield F.sources(at.of("s1")) <= of_symbol, "s1 depends on other blocks"
        of_pointers = at.of("R", "L", "RR", "LL", "e", "m")
        yield F.sources(at.of("R", "L")) <= of_pointers, "R and L depend on other blocks"
        yield F.reached() <= at.of("q1", "s1", "R", "L", "one"), "F writes to other blocks"
        yield F.sources(at.of("one")) == set(), "one depends on something"
        found = self._after({}, {}, "one")
        yield found == {at.one("one"): known(1)}, "one is not 1"

    def _next_symbol(self) -> Cases:
        """Reading, the look-up finds NULL, which wrote #; later, anything."""
        sharp, end = self.normal.blank, self.at.one("end")
        for symbol in self.normal.symbols:
            if symbol != sharp:
                x = self._one_hot("al", symbol, 2) | self._one_hot("v", sharp) | {end: known(0)}
                yield self._gives_symbol(x, {}, symbol, f"reading {symbol}")
        for symbol in self.normal.symbols:
            x = self._one_hot("al", None) | self._one_hot("v", symbol) | {end: known(2)}
            yield self._gives_symbol(x, {}, symbol, f"finding {symbol}")

    def _halted(self) -> Cases:
        """Without a rule q2, w and m are 0; s1 stays in [0, 1], and R and L are 0.

        v is 0, as the newest token is looked up, which has written nothing; or what is there.
        """
        for end, symbol in product((0, 2), (None, *self.normal.symbols)):
            bounds: Bounds = {}
            x: Forms = self._one_hot("al", symbol if end == 0 else None, 2)
            x |= {self.at.one("end"): known(end)} | self._anything("v", ONE, bounds)
            for place, form in self._after(x, bounds, "s1").items():
                yield is_unit(form, bounds), f"{self.at.names[place]} is {shown(form)}"
        x, bounds = self._pointers("R", "L", "RR", "LL", "e")
        found = self._after(x | self._moved(None), bounds, "R", "L")
        yield not found, self.show(found)


CHECKER = Checker(
    POSITIONLESS_TRANSFORMER, lambda written: PositionlessCheck(written).obligations()
)
