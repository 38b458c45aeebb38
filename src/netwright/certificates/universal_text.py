"""The obligations of the universal Transformer over eleven symbols: the network's, the prompt's."""

import re
from collections.abc import Iterator, Mapping, Sequence
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
from netwright.certificates.normal_form import same_steps
from netwright.certificates.pointer_transformer import look_up_maps
from netwright.certificates.reading import ONE, Cases, Machine, Obligation, oblige, read_machine
from netwright.certificates.universal_network import MOVES, UniversalCheck

FEATURES: dict[str, dict[str, int]] = {
    "0": {"dg": 1},
    "1": {"dg": 1, "bt": 1},
    "A": {"tA": 1},
    "B": {"tB": 1},
    "C": {"tC": 1},
    "<": {"end": 1, "ov": 1, "mv": -1},
    ">": {"end": 1, "ov": 1, "mv": 1},
    "Y": {"end": 1, "ry": 1, "mv": 1},
    "N": {"end": 1, "mv": 1},
    "T": {"tT": 1},
    "!": {"run": 1},
}
"""The features of each symbol of the prompt."""
CODES = ["dg", "bt", "tA", "tB", "tC", "end", "ov", "ry", "mv", "tT", "run"]
SHOWN = ["r", "s", "on", "R", "L", "acc", "kap", "rn"]
CHOSEN = ["r3", "w3", "m3", "on3", "sel"]
FOUND = ["rF", "wF", "mF", "oF"]
POSITIONS = ["one", "n", "e"]
BLOCKS = [*SHOWN, *CODES, "acc1", "kap1", "rn1", *FOUND, *CHOSEN, "v", "RR", "LL", *POSITIONS]
THIRD, QUARTER = fmpq(1, 3), fmpq(1, 4)
READ = {"acc": (ZERO, THIRD), "kap": (ZERO, ONE), "rn": (ZERO, 2 * THIRD)}
"""What is being read: a code₁, a sum of a code₂ and a code₁, a code₂."""


class TextNetworkCheck(UniversalCheck):
    """The serialised network, and its obligations.

    Invariants of an output: r, s, R, L, kap in [0, 1], acc ≤ 1/3, rn ≤ 2/3; on is 1 until the halt,
    then 0. A rule that is found has rF ≤ 1 and wF ≤ 1/3: a rule Y has no next state.
    """

    layers = 3

    def __init__(self, written: Mapping[str, Any]) -> None:
        super().__init__(written)
        self.alphabet = self.vectors(written["embedding"], "the alphabet")

    @property
    def blocks(self) -> list[str]:
        """The blocks of the layout; other scores than −|⟨q, k⟩| have none."""
        return BLOCKS if self.score == "score_phi" else []

    def obligations(self) -> Iterator[Obligation]:
        """Check all obligations of the network, the shape first."""
        shape = oblige("network: no encoder layer, three decoder layers, σ", self._shape())
        yield shape
        if shape.failure is not None:
            return
        yield oblige("network: positions and seed", self._ends(POSITIONS))
        yield oblige("network: eleven symbols, and what attends to them", self._symbols())
        yield oblige("network: O1 reads numbers, pairs and states", self._reading())
        yield oblige("network: layer 2 finds the rule", self._rule_look_up())
        yield oblige("network: O2 before, and from, the end of the prompt", self._choosing())
        yield oblige("network: layer 3 looks up what is pointed to", self._look_up())
        yield oblige("network: F gives state, symbol and pointers", self._next())
        yield oblige("network: nothing comes back after the halt", self._halted())

    def _symbols(self) -> Cases:
        at = self.at
        yield list(self.alphabet) == list(FEATURES), "the wrong alphabet"
        for symbol, features in FEATURES.items():
            wanted = {at.one(name): fmpq(value) for name, value in features.items()}
            yield self.alphabet[symbol] == wanted, f"what {symbol} says"
        keys = self.weights({("n", "one"): ONE, ("one", "n"): -ONE})
        yield self.networks["encoder.K"].is_exactly(keys), "K does not find token min(i+1, n)"
        values = self.weights({(name, name): ONE for name in CODES})
        yield self.networks["encoder.V"].is_exactly(values), "V of the encoder"
        yield self.networks["decoder.1.V"].is_zero(), "V of layer 1 is not 0"

    def _says(self, symbol: str, times: int) -> Forms:
        """The features of a prompt's symbol, added `times` times."""
        features = FEATURES[symbol]
        return {self.at.one(name): known(times * features.get(name, 0)) for name in CODES}

    def _unknowns(self, bounds: Bounds, **limits: Bound) -> Forms:
        bounds |= limits
        return {self.at.one(name): unknown(name) for name in limits}

    def _reading(self) -> Cases:
        at, network = self.at, self.networks["decoder.1.O"]
        yield network.reached() <= at.of("acc1", "kap1", "rn1"), "O1 writes to other blocks"
        allowed = at.of(*READ, *CODES)
        yield network.sources(network.reached()) <= allowed, "O1 reads other blocks"
        for symbol in FEATURES:
            bounds: Bounds = {}
            x = self._unknowns(bounds, **READ) | self._says(symbol, 1)
            keeps = symbol not in "<>YNT"
            acc1: Form = {}
            if symbol in "01":
                acc1 = {"acc": QUARTER} | ({"": QUARTER} if symbol == "1" else {})
            kap1: Form = {"kap": ONE} if keeps else {}
            kap1 |= {"acc": fmpq({"A": 2, "B": 1}[symbol])} if symbol in "AB" else {}
            rn1: Form = {"rn": ONE} if keeps else {}
            rn1 |= {"acc": fmpq(2)} if symbol == "C" else {}
            wanted = {"acc1": acc1, "kap1": kap1, "rn1": rn1}
            found = network.of_forms(x, bounds)
            right = found == self.forms(**{name: form for name, form in wanted.items() if form})
            yield right, f"at {symbol}: {self.show(found)}"

    def _rule_look_up(self) -> Cases:
        """kap_j − (r + s) for a token that ends a rule; for others 4 more, so 3 at least."""
        four = fmpq(4)
        query = {("r", "one"): ONE, ("s", "one"): ONE, ("one", "e"): ONE}
        key = {("one", "one"): -ONE, ("kap", "e"): ONE, ("one", "e"): four, ("end", "e"): -four}
        value = {("rn", "rF"): ONE, ("ry", "rF"): ONE, ("acc", "wF"): ONE}
        value |= {("mv", "mF"): ONE, ("ov", "oF"): ONE}
        for letter, weights in (("Q", query), ("K", key), ("V", value)):
            network = self.networks[f"decoder.2.{letter}"]
            yield network.is_exactly(self.weights(weights)), f"{letter} of layer 2"

    def _rule_found(self, bounds: Bounds) -> Forms:
        unit, codes = (ZERO, ONE), (ZERO, THIRD)
        limits = {"rF": unit, "wF": codes, "oF": unit, "R": unit, "L": unit, "acc": codes}
        return self._unknowns(bounds, **limits)

    def _choosing(self) -> Cases:
        at, network = self.at, self.networks["decoder.2.O"]
        yield network.reached() <= at.of(*CHOSEN), "O2 writes to other blocks"
        allowed = at.of(*FOUND, "on", "R", "L", "acc", "run", "tT")
        yield network.sources(network.reached()) <= allowed, "O2 reads other blocks"
        for move, pointer in MOVES.items():
            bounds: Bounds = {}
            x = self._rule_found(bounds) | self._says("!", 2)
            x |= {at.one("mF"): known(move), at.one("on"): known(1)}
            wanted = {"r3": unknown("rF"), "w3": unknown("wF"), "m3": known(move)}
            wanted |= {"on3": unknown("oF"), "sel": unknown(pointer)}
            found = network.of_forms(x, bounds)
            yield found == self.forms(**wanted), f"moving {pointer}: {self.show(found)}"
        for symbol in FEATURES:
            if symbol == "!":
                continue
            bounds = {}
            x = self._rule_found(bounds) | self._unknowns(bounds, mF=(-ONE, ONE))
            x |= {**self._says(symbol, 2), at.one("on"): known(1)}
            wanted = {"on3": known(1)}
            if symbol == "T":
                wanted |= {"w3": unknown("acc"), "m3": known(-1), "sel": unknown("L")}
            found = network.of_forms(x, bounds)
            yield found == self.forms(**wanted), f"at {symbol}: {self.show(found)}"

    def _look_up(self) -> Cases:
        nets = self.networks
        query, key = look_up_maps(self.at, self.score, "one")
        yield nets["decoder.3.Q"].is_exactly(query), "Q of layer 3"
        yield nets["decoder.3.K"].is_exactly(key), "K of layer 3"
        found = self.weights({("w3", "v"): ONE, ("R", "RR"): ONE, ("L", "LL"): ONE})
        yield nets["decoder.3.V"].is_exactly(found), "V of layer 3"
        yield nets["decoder.3.O"].is_zero(), "O of layer 3 is not 0"

    def _looked_up(self, bounds: Bounds) -> Forms:
        unit = (ZERO, ONE)
        limits = dict.fromkeys(("RR", "LL", "e", "R", "L", "v", "on3"), unit)
        read = {f"{name}1": limit for name, limit in READ.items()}
        return self._unknowns(bounds, **limits, **read, w3=(ZERO, THIRD))

    def _next(self) -> Cases:
        at, F = self.at, self.networks["F"]  # the paper's letter
        yield F.reached() <= at.of(*SHOWN), "F writes to other blocks"
        allowed = at.of(*CHOSEN[:4], "v", "RR", "LL", "e", "R", "L", "run", "tT")
        allowed |= at.of("acc1", "kap1", "rn1")
        yield F.sources(F.reached()) <= allowed, "F reads other blocks"
        read = {at.one(name): unknown(f"{name}1") for name in READ}
        for symbol, move in (("!", 1), ("!", -1), ("T", -1), *((s, 0) for s in FEATURES)):
            if move == 0 and symbol in "!T":
                continue
            bounds: Bounds = {}
            x = self._looked_up(bounds) | self._says(symbol, 3)
            x |= self.forms(m3=known(move), r3=known(0))
            wanted = {**read, at.one("on"): unknown("on3")}
            if symbol == "!":
                x |= self._unknowns(bounds, r3=(ZERO, ONE))
                wanted[at.one("r")] = unknown("r3")
            if move:
                wanted |= {at.one("s"): unknown("v"), **self.linked(move)}
            else:
                wanted |= self.forms(R=unknown("R"), L=unknown("L"))
            found = F.of_forms(x, bounds)
            yield found == wanted, f"at {symbol}, move {move}: {self.show(found)}"

    def _halted(self) -> Cases:
        """on = 0 after the prompt: O₂ gives nothing but sel, and F no more than s in [0, 1]."""
        at, bounds = self.at, Bounds()
        x = self._rule_found(bounds) | self._unknowns(bounds, mF=(-ONE, ONE))
        x[at.one("on")] = known(0)
        found = self.networks["decoder.2.O"].of_forms(x | self._says("!", 2), bounds)
        found.pop(at.one("sel"), None)
        yield not found, f"O2 gives {self.show(found)}"
        bounds = {}
        names = ("RR", "LL", "e", "R", "L", "v")
        x = self._unknowns(bounds, **dict.fromkeys(names, (ZERO, ONE))) | self._says("!", 3)
        # What was being read is 0 from the end of the prompt on.
        x |= {at.one(name): known(0) for name in (*CHOSEN, "acc1", "kap1", "rn1")}
        found = self.networks["F"].of_forms(x, bounds)
        inside = is_unit(found.pop(at.one("s"), {}), bounds)
        yield inside and not found, f"F gives {self.show(found)}"


LINE = re.compile(r"([01]*)A([01]*)B(?:([YN])|([01]*)C([01]*)([<>]))")


class TextPromptCheck:
    """A serialised prompt, and its obligations."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        prompt = written["prompt"]
        self.given = Machine(written["given"])
        self.moving = read_machine(prompt["machine"], written)
        self.pauses = set(prompt["pauses"])
        self.long: bool = prompt["long"]
        self.numbers = [[n for _, n in prompt[name]] for name in ("states", "symbols")]
        self.states: list[str] = [name for name, _ in prompt["states"]]
        self.symbols: list[str] = [name for name, _ in prompt["symbols"]]
        self.text: str = written["rules"]

    def obligations(self) -> Iterator[Obligation]:
        """Check all obligations of the prompt."""
        lines = oblige("prompt: it is made of rules", self._lines())
        yield lines
        if lines.failure is not None:
            return
        yield oblige("prompt: M never stays, and simulates the given machine", self._moves())
        yield oblige("prompt: states and symbols are numbered", self._numbers())
        yield oblige("prompt: every pair of a state and a symbol has one rule", self._complete())
        yield oblige("prompt: every rule is the machine's", self._rules())

    def _lines(self) -> Cases:
        yield (
            LINE.sub("", self.text) == "" and self.text != "",
            "it is not exactly the rules of the machine",
        )
        end = 0
        for line in LINE.finditer(self.text):
            yield line.start() == end, f"something before {line[0]}"
            end = line.end()
            for number in (line[1], line[2], line[4], line[5]):
                yield not (number or "").startswith("0"), f"{line[0]} has a leading zero"

    def _moves(self) -> Cases:
        given, moving, final = self.given, self.moving, self.given.final
        inner = set(given.states)
        yield not inner & self.pauses, "states share names"
        yield set(moving.states) == inner | self.pauses, "the wrong states"
        yield moving.symbols == given.symbols and moving.blank == given.blank, "the wrong symbols"
        yield moving.start == given.start, "the wrong start"
        yield moving.accepting == given.accepting, "the accepting states are wrong"
        # Rules that leave a final state never apply: the machine has halted there.
        moving.delta = {k: rule for k, rule in moving.delta.items() if k[0] not in final}
        yield from same_steps(given, moving, self.pauses, final, lambda symbol: symbol)
        for (state, symbol), (_, _, move) in moving.delta.items():
            yield move in "LR", f"δ({state}, {symbol}) stays"

    def _numbers(self) -> Cases:
        """The start is 1, # is 0; the short form numbers no accepting states."""
        moving, final = self.moving, self.given.final
        shown = [s for s in moving.states if self.long or s not in final or s == moving.start]
        yield len(set(self.states)) == len(self.states), "a state occurs twice"
        yield set(self.states) == set(shown), "the wrong states"
        yield self.states[:1] == [moving.start], "the start has the wrong number"
        others = [symbol for symbol in moving.symbols if symbol != moving.blank]
        yield self.symbols == [moving.blank, *others], "the wrong symbols"
        counted = [[*range(1, len(self.states) + 1)], [*range(len(self.symbols))]]
        yield self.numbers == counted, "the wrong numbers"

    def _complete(self) -> Cases:
        pairs = [(_number(line[1]), _number(line[2])) for line in LINE.finditer(self.text)]
        wanted = list(product(range(len(self.states) + 1), range(len(self.symbols))))
        found = set(pairs)
        for pair in wanted:
            yield pair in found, f"no rule for {pair}"
        yield len(pairs) == len(wanted), "a pair occurs twice, or is unknown"

    def _into(self, state: str) -> str:
        """The state in which a step ends that first goes to `state`: a stay is right and back."""
        back = self.moving.delta.get((state, self.moving.blank))
        return back[0] if state in self.pauses and back is not None else state

    def _rules(self) -> Cases:
        final, moving = self.given.final, self.moving
        names = [None, *self.states]
        states, symbols = _firsts(names), _firsts(self.symbols)
        for line in LINE.finditer(self.text):
            number, letter = _number(line[1]), _number(line[2])
            state, symbol = names[number], self.symbols[letter]
            if state is None:
                wanted = "1C>" if letter == 0 else "N"  # into the start, to the right
            elif state in final:
                wanted = "Y"
            elif (rule := moving.delta.get((state, symbol))) is None:
                wanted = "N"
            elif self._into(rule[0]) in final and not self.long:
                wanted = "Y"
            else:
                target, write = _binary(states[rule[0]]), _binary(symbols[rule[1]])
                wanted = f"{target}C{write}{'>' if rule[2] == 'R' else '<'}"
            yield line[0].partition("B")[2] == wanted, f"({state}, {symbol}): {line[0]}"


def _firsts(names: Sequence[str | None]) -> dict[str | None, int]:
    """The first index of each name."""
    return {name: n for n, name in reversed([*enumerate(names)])}


def _number(binary: str) -> int:
    return int(binary or "0", 2)


def _binary(number: int) -> str:
    return f"{number:b}" if number else ""
