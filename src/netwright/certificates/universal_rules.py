"""The obligations of the universal Transformer on prompts of rules, in two parts.

*The network's* are about constant weights alone: they hold once for all machines, inputs and times.
States and symbols are codes, which are unknowns here, as the pointers are. *The prompt's* are about
one machine: that its tokens are those of its rules.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from flint import fmpq

from netwright.certificates.chain import ZERO, Bounds, Forms, is_unit, known, unknown
from netwright.certificates.normal_form import NORMAL_FORM, normal_form_cases, read_normal
from netwright.certificates.pointer_transformer import look_up_maps
from netwright.certificates.reading import ONE, Cases, Obligation, Sparse, oblige, read_vector
from netwright.certificates.schema import unique
from netwright.certificates.universal_network import MOVES, UniversalCheck, code

SHOWN = ["r", "s", "on", "R", "L"]
RULE = ["r2", "w2", "m2", "on2", "al"]
BLOCKS = [*SHOWN, *RULE, "r3", "m3", "on3", "sel", "e_", "one_", "v", "RR", "LL"]
POSITIONS = {"score_phi": ["n", "e"], "dot_product": ["e", "e2"]}
HALF = fmpq(1, 2)
NO_RULE = fmpq(5)
"""What a symbol of the input has in place of a pair's code; no sum of codes comes near it."""


class RulesNetworkCheck(UniversalCheck):
    """The serialised network, and its obligations.

    Invariants of an output: r, s, R and L are in [0, 1]; on is 1 while the machine runs, else 0.
    Codes of symbols are at most 1/2.
    """

    layers = 2

    @property
    def blocks(self) -> list[str]:
        """The blocks of the layout."""
        return [*BLOCKS, *POSITIONS.get(self.score, [])]

    def obligations(self) -> Iterator[Obligation]:
        """Check all obligations of the network, the shape first."""
        shape = oblige("network: no encoder layer, two decoder layers, σ", self._shape())
        yield shape
        if shape.failure is not None:
            return
        yield oblige("network: positions and seed", self._ends(POSITIONS.get(self.score)))
        yield oblige("network: it finds rules, then the input's symbols", self._prompt_attention())
        yield oblige("network: O1 while the machine runs", self._rule())
        yield oblige("network: layer 2 looks up what is pointed to", self._look_up())
        yield oblige("network: F gives state, symbol and pointers", self._next())
        yield oblige("network: nothing comes back after the halt", self._halted())

    def _prompt_attention(self) -> Cases:
        """K and V of the encoder.

        Layer 1: e_ = one_ = 0, so token j is met with kap on − r − s (or 2 kap (r+s) − kap² on);
        layer 2: r = s = on = 0, so with j e_ − one_ (or 2 ε_j e_ − ε_j² one_).
        """
        at = self.at
        r, s, on, e_, one_ = (at.one(block) for block in ("r", "s", "on", "e_", "one_"))
        if self.score == "dot_product":
            keys = {(on, r): fmpq(2), (on, s): fmpq(2), (r, on): -ONE}
            keys |= {(at.one("e"), e_): fmpq(2), (at.one("e2"), one_): -ONE}
        else:
            keys = {(on, on): ONE, (one_, r): -ONE, (one_, s): -ONE}
            keys |= {(at.one("n"), e_): ONE, (one_, one_): -ONE}
        yield self.networks["encoder.K"].is_exactly(keys), "K of the encoder"
        values = {(k, k): ONE for k in at.of(*RULE)}
        yield self.networks["encoder.V"].is_exactly(values), "V of the encoder"
        yield self.networks["decoder.1.V"].is_zero(), "V of layer 1 is not 0"

    def _token(self, bounds: Bounds, **parts: int) -> Forms:
        """A token in layer 1: numbers for `parts`, unknowns in [0, 1] for the rest."""
        names = ["r", "s", "R", "L", "r2", "w2", "on2", "e"]
        bounds |= dict.fromkeys(names, (ZERO, ONE))
        forms = {name: unknown(name) for name in names}
        return self.forms(**forms, **{name: known(value) for name, value in parts.items()})

    def _cleared(self, on: int) -> Forms:
        """What O₁ adds in any case: r, s and on are taken away, e is copied, one_ is 1."""
        added = self.forms(r={"r": -ONE}, s={"s": -ONE}, one_=known(1), e_=unknown("e"))
        return added | (self.forms(on=known(-1)) if on else {})

    def _rule(self) -> Cases:
        at, network = self.at, self.networks["decoder.1.O"]
        written = at.of("r", "s", "on", "r3", "m3", "on3", "sel", "e_", "one_")
        yield network.reached() <= written, "O1 writes to other blocks"
        allowed = at.of("r", "s", "on", "R", "L", "r2", "m2", "on2", "e")
        yield network.sources(network.reached()) <= allowed, "O1 reads other blocks"
        for move, pointer in MOVES.items():
            bounds: Bounds = {}
            x = self._token(bounds, on=1, m2=move)
            wanted = self._cleared(1) | self.forms(m3=known(move), sel=unknown(pointer))
            wanted |= self.forms(r3=unknown("r2"), on3=unknown("on2"))
            found = network.of_forms(x, bounds)
            yield found == wanted, f"moving {pointer}: {self.show(found)}"

    def _look_up(self) -> Cases:
        at, nets = self.at, self.networks
        query, key = look_up_maps(at, self.score, "one_")
        yield nets["decoder.2.Q"].is_exactly(query), "Q of layer 2"
        yield nets["decoder.2.K"].is_exactly(key), "K of layer 2"
        found = {("w2", "v"): ONE, ("R", "RR"): ONE, ("L", "LL"): ONE}
        yield nets["decoder.2.V"].is_exactly(self.weights(found)), "V of layer 2"
        yield nets["decoder.2.O"].is_zero(), "O of layer 2 is not 0"

    def _next(self) -> Cases:
        at, F = self.at, self.networks["F"]  # the paper's letter
        yield F.reached() <= at.of(*SHOWN), "F writes to other blocks"
        allowed = at.of("r3", "m3", "on3", "al", "v", "RR", "LL", "e")
        yield F.sources(F.reached()) <= allowed, "F reads other blocks"
        for move, pointer in MOVES.items():
            bounds: Bounds = dict.fromkeys(("r3", "on3", "RR", "LL", "e"), (ZERO, ONE))
            bounds |= {"al": (ZERO, HALF), "v": (ZERO, HALF)}
            x = {at.one(name): unknown(name) for name in bounds} | {at.one("m3"): known(move)}
            wanted = self.forms(r=unknown("r3"), on=unknown("on3"), s={"al": ONE, "v": ONE})
            wanted |= self.linked(move)
            found = F.of_forms(x, bounds)
            yield found == wanted, f"moving {pointer}: {self.show(found)}"

    def _halted(self) -> Cases:
        """on = 0: any token of the prompt may be found, and any of the past looked up."""
        at, bounds = self.at, Bounds()
        x = self._token(bounds, on=0)
        bounds["m2"] = (-ONE, ONE)
        x[at.one("m2")] = unknown("m2")
        found = self.networks["decoder.1.O"].of_forms(x, bounds)
        found.pop(at.one("sel"), None)
        yield found == self._cleared(0), f"O1 gives {self.show(found)}"
        bounds = dict.fromkeys(("RR", "LL", "e"), (ZERO, ONE))
        bounds |= {"al": (ZERO, None), "v": (ZERO, None)}
        x = {at.one(name): unknown(name) for name in bounds}
        x |= {at.one(name): known(0) for name in ("r3", "m3", "on3")}
        found = self.networks["F"].of_forms(x, bounds)
        inside = is_unit(found.pop(at.one("s"), {}), bounds)
        yield inside and not found, f"F gives {self.show(found)}"


class RulesPromptCheck:
    """A serialised prompt, and its obligations."""

    def __init__(self, written: Mapping[str, Any], network: RulesNetworkCheck) -> None:
        self.given, self.normal, self.names, self.pauses = read_normal(written)
        self.at, self.score = network.at, network.score
        size = len(self.at.names)
        symbols = unique(written["symbols"], "the symbols")
        self.symbols = {symbol: read_vector(v, size) for symbol, v in symbols.items()}
        rules = unique((((q, a), v) for q, a, v in written["rules"]), "the rules")
        self.rules = {pair: read_vector(v, size) for pair, v in rules.items()}
        self.state_codes = {state: 2 * code(n) for n, state in enumerate(self.normal.states)}
        self.symbol_codes = {symbol: code(n) for n, symbol in enumerate(self._letters)}

    def obligations(self) -> Iterator[Obligation]:
        """Check all obligations of the prompt."""
        final = self.given.final
        normal_form = normal_form_cases(self.given, self.normal, self.names, self.pauses, final)
        yield oblige(f"prompt: {NORMAL_FORM}", normal_form)
        yield oblige("prompt: it accepts in the given machine's final states", self._final())
        yield oblige("prompt: every pair of a state and a symbol has a rule", self._complete())
        yield oblige("prompt: the codes of pairs differ", self._distinct())
        yield oblige("prompt: the input's symbols", self._symbols())
        yield oblige("prompt: every rule is the machine's", self._rules())

    def _final(self) -> Cases:
        yield self.normal.accepting == self.given.final, "it accepts in the wrong states"

    @property
    def _letters(self) -> list[str]:
        """The symbols in the order of their numbers: # first."""
        sharp = self.normal.blank
        return [sharp, *(symbol for symbol in self.normal.symbols if symbol != sharp)]

    def _complete(self) -> Cases:
        yield self.normal.states[0] == self.names[0], "q_init does not have the number 0"
        pairs = list(product(self.normal.states, self._letters))
        for pair in pairs:
            yield pair in self.rules, f"no rule for {pair}"
        yield len(self.rules) == len(pairs), "rules for other pairs"

    def _distinct(self) -> Cases:
        seen: dict[fmpq, tuple[str, str]] = {}
        on = self.at.one("on")
        for pair, vector in self.rules.items():
            kap = vector.get(on, ZERO)
            yield kap not in seen, f"{pair} and {seen.get(kap)} have the same code"
            yield 0 <= kap < 1, f"{pair} has the code {kap}"
            seen[kap] = pair

    def _token(self, kap: fmpq, parts: Mapping[str, fmpq]) -> Sparse:
        own = {"r": kap * kap} if self.score == "dot_product" else {"one_": ONE}
        fields = {"on": kap, **own, **parts}
        return {self.at.one(block): value for block, value in fields.items() if value}

    def _symbols(self) -> Cases:
        yield list(self.symbols) == self._letters[1:], "the wrong symbols"
        for symbol, vector in self.symbols.items():
            wanted = self._token(NO_RULE, {"al": self.symbol_codes[symbol]})
            yield vector == wanted, f"{symbol} is {self.at.show(vector)}"

    def _rules(self) -> Cases:
        for (state, symbol), vector in self.rules.items():
            kap = self.state_codes[state] + self.symbol_codes[symbol]
            rule = self.normal.rule(state, symbol)
            if state in self.normal.accepting:
                parts = {"r2": ONE, "w2": self.symbol_codes[symbol], "m2": ONE}
            elif rule is None:
                parts = {"m2": ONE}
            else:
                target, write, move = rule
                parts = {"r2": self.state_codes[target], "w2": self.symbol_codes[write]}
                parts |= {"m2": fmpq({"R": 1, "L": -1}[move]), "on2": ONE}
            yield vector == self._token(kap, parts), f"({state}, {symbol}): {self.at.show(vector)}"
