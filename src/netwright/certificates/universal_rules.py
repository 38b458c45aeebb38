"""The obligations of the universal Transformer on prompts of rules, in two parts.

*The network's* are about constant weights alone: they hold once for all machines, inputs and times.
States and symbols are codes, which are unknowns here, as the pointers are. *The prompt's* are about
one machine: that its tokens are those of its rules.

`Small…` are the checks of the network of 16 coordinates, in which nothing halts.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from flint import fmpq

from netwright.certificates.chain import (
    ZERO,
    Bound,
    Bounds,
    Form,
    Forms,
    is_unit,
    known,
    unknown,
)
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
    rule = RULE
    found = "v"
    """Where the look-up adds the symbol that it found."""
    last = "nothing comes back after the halt"

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
        yield oblige(f"network: {self.last}", self._halted())

    def _prompt_attention(self) -> Cases:
        """K and V of the encoder.

        Layer 1: e_ = one_ = 0, so token j is met with kap on − r − s (or 2 kap (r+s) − kap² on);
        layer 2: r = s = on = 0, so with j e_ − one_ (or 2 ε_j e_ − ε_j² one_).
        """
        keys = self.weights(self._keys())
        yield self.networks["encoder.K"].is_exactly(keys), "K of the encoder"
        values = {(k, k): ONE for k in self.at.of(*self.rule)}
        yield self.networks["encoder.V"].is_exactly(values), "V of the encoder"
        yield self.networks["decoder.1.V"].is_zero(), "V of layer 1 is not 0"

    def _keys(self) -> dict[tuple[str, str], fmpq]:
        """The weights of K, by blocks."""
        if self.score == "dot_product":
            keys = {("on", "r"): fmpq(2), ("on", "s"): fmpq(2), ("r", "on"): -ONE}
            return keys | {("e", "e_"): fmpq(2), ("e2", "one_"): -ONE}
        keys = {("on", "on"): ONE, ("one_", "r"): -ONE, ("one_", "s"): -ONE}
        return keys | {("n", "e_"): ONE, ("one_", "one_"): -ONE}

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
        found = {("w2", self.found): ONE, ("R", "RR"): ONE, ("L", "LL"): ONE}
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


SMALL_SHOWN = ["x", "on", "R", "L"]
SMALL_RULE = ["r2", "w2", "m2", "al"]
SMALL_BLOCKS = [*SMALL_SHOWN, *SMALL_RULE, "m3", "sel", "e_", "one_", "RR", "LL", "n", "e"]
SMALL_MOVES = {1: "R", 0: "L"}


class SmallNetworkCheck(RulesNetworkCheck):
    """The serialised network of 16 coordinates, and its obligations.

    Invariants of an output: x, R and L are in [0, 1], on is 1. Layer 1 meets a token of the prompt
    with kap on − x, and O₁ clears x and on. al is 0 in rules, so behind layer 2 it is the sum of
    the next state, the symbol that was found, and the input's: at most 1 while the machine runs.
    """

    rule, found = SMALL_RULE, "al"
    last = "accepted stays accepted"

    @property
    def blocks(self) -> list[str]:
        """The blocks of the layout; other scores than −|⟨q, k⟩| have none."""
        return SMALL_BLOCKS if self.score == "score_phi" else []

    def _keys(self) -> dict[tuple[str, str], fmpq]:
        keys = {("on", "on"): ONE, ("one_", "x"): -ONE}
        return keys | {("n", "e_"): ONE, ("one_", "one_"): -ONE}

    def _rule(self) -> Cases:
        at, network = self.at, self.networks["decoder.1.O"]
        written = at.of("x", "on", "al", "m3", "sel", "e_", "one_")
        yield network.reached() <= written, "O1 writes to other blocks"
        allowed = at.of("x", "on", "R", "L", "r2", "m2", "e")
        yield network.sources(network.reached()) <= allowed, "O1 reads other blocks"
        for move, pointer in SMALL_MOVES.items():
            bounds: Bounds = dict.fromkeys(("x", "R", "L", "r2", "e"), (ZERO, ONE))
            x = {at.one(name): unknown(name) for name in bounds}
            x |= self.forms(on=known(1), m2=known(move))
            wanted = self.forms(x={"x": -ONE}, on=known(-1), one_=known(1), e_=unknown("e"))
            wanted |= self.forms(al=unknown("r2"), sel=unknown(pointer))
            wanted |= self.forms(m3=known(move)) if move else {}
            found = network.of_forms(x, bounds)
            yield found == wanted, f"moving {pointer}: {self.show(found)}"

    def _next(self) -> Cases:
        at, F = self.at, self.networks["F"]  # the paper's letter
        yield F.reached() <= at.of(*SMALL_SHOWN), "F writes to other blocks"
        allowed = at.of("al", "m3", "RR", "LL", "e")
        yield F.sources(F.reached()) <= allowed, "F reads other blocks"
        for move in SMALL_MOVES:
            yield from self._output(move, (ZERO, ONE), unknown("al"))

    def _halted(self) -> Cases:
        """Accepting rules and `accepted` have 1 in r2 and m2: al is at least 1."""
        yield from self._output(1, (ONE, None), known(1))

    def _output(self, move: int, al: Bound, wanted_x: Form) -> Cases:
        """The output after a move, for all al between bounds."""
        bounds: Bounds = {**dict.fromkeys(("RR", "LL", "e"), (ZERO, ONE)), "al": al}
        x = {self.at.one(name): unknown(name) for name in bounds}
        found = self.networks["F"].of_forms(x | self.forms(m3=known(move)), bounds)
        wanted = self.forms(x=wanted_x, on=known(1)) | self.linked(move)
        yield found == wanted, f"moving {SMALL_MOVES[move]}: {self.show(found)}"


class RulesPromptCheck:
    """A serialised prompt, and its obligations."""

    moves: Mapping[str, int] = {"R": 1, "L": -1}  # never changed

    def __init__(self, written: Mapping[str, Any], network: RulesNetworkCheck) -> None:
        self.given, self.normal, self.names, self.pauses = read_normal(written)
        self.at, self.score = network.at, network.score
        size = len(self.at.names)
        symbols = unique(written["symbols"], "the symbols")
        self.symbols = {symbol: read_vector(v, size) for symbol, v in symbols.items()}
        rules = unique((((q, a), v) for q, a, v in written["rules"]), "the rules")
        self.rules = {pair: read_vector(v, size) for pair, v in rules.items()}
        self.states = self._states(written)
        self.state_codes = {state: 2 * code(n) for n, state in enumerate(self.states)}
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

    def _states(self, written: Mapping[str, Any]) -> list[str]:
        """The states in the order of their numbers."""
        return list(self.normal.states)

    @property
    def _letters(self) -> list[str]:
        """The symbols in the order of their numbers: # first."""
        sharp = self.normal.blank
        return [sharp, *(symbol for symbol in self.normal.symbols if symbol != sharp)]

    def _complete(self) -> Cases:
        yield self.normal.states[0] == self.names[0], "q_init does not have the number 0"
        pairs = list(product(self.states, self._letters))
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
                parts = self._accepting(symbol)
            elif rule is None:
                parts = self._no_rule(symbol)
            else:
                target, write, move = rule
                parts = {"r2": self.state_codes[target], "w2": self.symbol_codes[write]}
                parts |= {"m2": fmpq(self.moves[move]), **self._continues}
            yield vector == self._token(kap, parts), f"({state}, {symbol}): {self.at.show(vector)}"

    _continues: Mapping[str, fmpq] = {"on2": ONE}  # never changed

    def _accepting(self, symbol: str) -> dict[str, fmpq]:
        return {"r2": ONE, "w2": self.symbol_codes[symbol], "m2": ONE}

    def _no_rule(self, symbol: str) -> dict[str, fmpq]:
        return {"m2": ONE}


class SmallPromptCheck(RulesPromptCheck):
    """A serialised prompt of the network of 16 coordinates, and its obligations.

    A dead state, which the machine does not have, follows where there is no rule, and itself.
    """

    moves: Mapping[str, int] = {"R": 1, "L": 0}  # never changed
    _continues: Mapping[str, fmpq] = {}  # never changed

    def _states(self, written: Mapping[str, Any]) -> list[str]:
        self.dead: str = written["dead"]
        self.accepted = read_vector(written["accepted"], len(self.at.names))
        return [*self.normal.states, self.dead]

    def _complete(self) -> Cases:
        yield self.dead not in self.normal.states, "the dead state is one of the machine's"
        yield from super()._complete()

    def _rules(self) -> Cases:
        yield from super()._rules()
        wanted = self._token(ONE, {"r2": ONE, "m2": ONE})
        yield self.accepted == wanted, f"accepted: {self.at.show(self.accepted)}"

    def _accepting(self, symbol: str) -> dict[str, fmpq]:
        return {"r2": ONE, "m2": ONE}

    def _no_rule(self, symbol: str) -> dict[str, fmpq]:
        codes = {"r2": self.state_codes[self.dead], "w2": self.symbol_codes[symbol]}
        return {**codes, "m2": ONE}
