"""One Transformer for all Turing machines whose prompt is a word over 11 symbols.

Three decoder layers, d = 37, 29 hidden units, constant weights, a finite alphabet: a universal
network in the paper's own sense. Machine and input are one word over 0 1 A B C < > Y N T !.

The machine must not stay. A new state `_start` with the number 0 goes from # into the given start
state and moves right; # is 0; numbers are binary, the first digit first, and 0 is the empty word.

    rule (q, a) → (p, b, D)     q A a B p C b >    or   … <
    no rule for (q, a)          q A a B N
    accepted                    q A a B Y
    symbol of the input         a T                from the last one to the first
    the end                     !

*Short form*: Y stands for a step into an accepting state: right about acceptance and its time, but
what that step writes is lost. *Long form*: accepting states are ordinary ones, whose lines are all
Y: every configuration is whole, and acceptance shows a step later.

Token i reads symbol i + 1 of the prompt, and the last one, !, for ever after. y_{|prompt|+t} is the
machine's configuration at time t.

| blocks                                  | content                                               |
|-----------------------------------------|-------------------------------------------------------|
| r s on R L acc kap rn                   | y: state (1: accepted), symbol, running, pointers;    |
|                                         | the number, the pair and the next state being read    |
| dg bt tA tB tC end ov ry mv tT run      | what the symbol of the prompt is                      |
| acc1 kap1 rn1                           | these three after it                                  |
| rF wF mF oF                             | the rule that was found                               |
| r3 w3 m3 on3 sel                        | next state, symbol to write, move, running, pointer   |
| v RR LL                                 | what the look-up found                                |
| one n e                                 | the positional encoding                               |

Proof. *Reading.* A digit goes into acc' = (acc + bit)/4, so that acc is code₁ of the number after
its last digit; any other symbol clears it. A and B add code₂(q) and code₁(a) to kap, C puts
code₂(p) into rn. The token that reads < > Y or N *is* the rule: it has kap, rn, acc = code₁(b), and
says by mv, ov and ry which it is. Before ! everything else is behind the gate `run`, and symbols
other than T are stays: pointers are kept. T writes acc and moves left, R = e and L = LL: so the
input is laid down from its end to its beginning, and then the head stands left of it, on a fresh
cell. Tokens that stay are never pointed to, and token 0 reads no T: it is NULL.

*Layer 2* looks the rule up. Its query meets token j with kap_j − (r + s) if that ends a rule, which
is 0 for the rule of the pair alone, and with 3 at least if it ends none. *Running* is as in
`universal_transformer`. The features stand once in layer 1 and in layer 2's query, key and value,
twice in O₂ and three times in F, since every layer attends to the prompt: hence run/2 and run/3.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from flint import fmpq

from netwright.definitions.transformer import Layer, Transformer
from netwright.errors import InputError
from netwright.exact.feed_forward import affine_network
from netwright.exact.layout import Layout
from netwright.exact.rational import Number
from netwright.exact.vector import Vector
from netwright.kind.compiled_decoder import CompiledUniversal
from netwright.kind.pointer_transformer.units import Unit, positions_in, unit_network
from netwright.machine.normal_form import fresh_name, remove_stays
from netwright.machine.turing_machine import Action, Move, TuringMachine

ALPHABET = "01ABC<>YNT!"
SHOWN = ("r", "s", "on", "R", "L", "acc", "kap", "rn")
FEATURES = ("dg", "bt", "tA", "tB", "tC", "end", "ov", "ry", "mv", "tT", "run")
READ = ("acc1", "kap1", "rn1")
RULE = ("rF", "wF", "mF", "oF")
CHOSEN = ("r3", "w3", "m3", "on3", "sel")
FOUND = ("v", "RR", "LL")
PLACES = ("one", "n", "e")
SYMBOL_FEATURES: dict[str, dict[str, int]] = {
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
HALF, THIRD, QUARTER = fmpq(1, 2), fmpq(1, 3), fmpq(1, 4)


def vector_layout() -> Layout:
    """The layout of all vectors."""
    return Layout.of(dict.fromkeys((*SHOWN, *FEATURES, *READ, *RULE, *CHOSEN, *FOUND, *PLACES), ""))


@cache
def universal_text_transformer() -> Transformer:
    """The network, which is the same for all machines.

    >>> network = universal_text_transformer()
    >>> network.layout.dimension, len(network.decoder)
    (37, 3)
    """
    layout = vector_layout()
    nothing = affine_network(layout)
    reading = unit_network(
        layout,
        [
            # (acc + bit)/4 for a digit, as acc < 1/3 and so (acc + bit)/4 ≤ 1/3; else below 0.
            Unit("digit", {"acc": QUARTER, "bt": QUARTER, "dg": 1}, -1, {"acc1": 1}),
            # kap is kept until a rule ends or a symbol of the input does.
            Unit("keep kap", {"kap": 1, "end": -1, "tT": -1}, 0, {"kap1": 1}),
            Unit("state of the pair", {"acc": 2, "tA": 1}, -1, {"kap1": 1}),
            Unit("symbol of the pair", {"acc": 1, "tB": 1}, -1, {"kap1": 1}),
            Unit("keep rn", {"rn": 1, "end": -1, "tT": -1}, 0, {"rn1": 1}),
            Unit("next state", {"acc": 2, "tC": 1}, -1, {"rn1": 1}),
        ],
    )
    ruled: dict[str, Number] = {"run": HALF, "on": 1}
    choosing = unit_network(
        layout,
        [
            # Behind the gates run and on: x + run/2 + on − 2 is x when both are 1.
            Unit("state", {"rF": 1, **ruled}, -2, {"r3": 1}),
            Unit("write", {"wF": 1, **ruled}, -2, {"w3": 1}),
            Unit("lay down", {"acc": 1, "tT": HALF}, -1, {"w3": 1}),
            Unit("right", {"mF": 1, **ruled}, -2, {"m3": 1}),
            Unit("left", {"mF": -1, **ruled}, -2, {"m3": -1}),
            Unit("left after T", {"tT": HALF}, 0, {"m3": -1}),
            Unit("running", {"oF": 1, **ruled}, -2, {"on3": 1}),
            Unit("not yet running", {"on": 1, "run": -HALF}, 0, {"on3": 1}),
            Unit("follow R", {"R": 1, "mF": 1, "run": HALF}, -2, {"sel": 1}),
            Unit("follow L", {"L": 1, "mF": -1, "run": HALF}, -2, {"sel": 1}),
            Unit("follow L after T", {"L": 1, "tT": HALF}, -1, {"sel": 1}),
        ],
    )
    keeping = {"run": -THIRD, "tT": -THIRD}
    after = unit_network(
        layout,
        [
            Unit("state", {"r3": 1}, 0, {"r": 1}),
            Unit("symbol", {"v": 1, "run": THIRD, "tT": THIRD}, -1, {"s": 1}),
            Unit("running", {"on3": 1}, 0, {"on": 1}),
            Unit("R found", {"RR": 1, "m3": 1}, -1, {"R": 1}),
            Unit("R new", {"e": 1, "m3": -1}, -1, {"R": 1}),
            Unit("R kept", {"R": 1, **keeping}, 0, {"R": 1}),
            Unit("L found", {"LL": 1, "m3": -1}, -1, {"L": 1}),
            Unit("L new", {"e": 1, "m3": 1}, -1, {"L": 1}),
            Unit("L kept", {"L": 1, **keeping}, 0, {"L": 1}),
            Unit("number", {"acc1": 1}, 0, {"acc": 1}),
            Unit("pair", {"kap1": 1}, 0, {"kap": 1}),
            Unit("next state", {"rn1": 1}, 0, {"rn": 1}),
        ],
    )
    rule_look_up = Layer(
        # The query is (r + s, 1) in (one, e), key j is (−1, kap_j + 4 − 4 end_j): their product is
        # kap_j − (r + s) for a token that ends a rule, and 3 more at least for others.
        Q=affine_network(layout, {("r", "one"): 1, ("s", "one"): 1, ("one", "e"): 1}),
        K=affine_network(
            layout, {("one", "one"): -1, ("kap", "e"): 1, ("one", "e"): 4, ("end", "e"): -4}
        ),
        V=affine_network(
            layout,
            {("rn", "rF"): 1, ("ry", "rF"): 1, ("acc", "wF"): 1, ("mv", "mF"): 1, ("ov", "oF"): 1},
        ),
        O=choosing,
    )
    return Transformer(
        layout=layout,
        encoder=(),
        # Lemma B.1: token min(i+1, n).
        K=affine_network(layout, {("n", "one"): 1, ("one", "n"): -1}),
        V=affine_network(layout, {(block, block): 1 for block in FEATURES}),
        decoder=(
            Layer(Q=nothing, K=nothing, V=nothing, O=reading),
            rule_look_up,
            Layer(
                Q=affine_network(layout, {("sel", "n"): 1, ("one", "one"): -1}),
                K=affine_network(layout, {("n", "n"): 1, ("one", "one"): 1}),
                V=affine_network(layout, {("w3", "v"): 1, ("R", "RR"): 1, ("L", "LL"): 1}),
                O=nothing,
            ),
        ),
        F=after,
        pos=positions_in(layout, PLACES),
    )


def embedding(layout: Layout) -> dict[str, Vector]:
    """The features of each symbol of the alphabet, as vectors."""
    return {symbol: Vector.of(layout, dict(SYMBOL_FEATURES[symbol])) for symbol in ALPHABET}


def seed(layout: Layout) -> Vector:
    """y_0: `_start` over #, running, both pointers NULL."""
    return Vector.of(layout, on=1, R=1, L=1)


@dataclass(frozen=True)
class TextPrompt:
    """A machine as a word; `long` keeps the accepting configuration whole.

    >>> from netwright.machine.library import library_machine
    >>> TextPrompt.of(library_machine("busy-beaver-2")).text("")
    'AB1C>A1BN1AB10C1>1A1B10C1<10AB1C1<10A1BY!'
    """

    given: TuringMachine
    long: bool
    machine: TuringMachine
    """The given one without stays."""
    pauses: frozenset[str]
    """The states in the middle of a stay."""
    states: Mapping[str, int]
    symbols: Mapping[str, int]

    @staticmethod
    def of(given: TuringMachine, *, long: bool = False) -> "TextPrompt":
        """Number the states from 1, the start first, and the symbols from 0, the blank first."""
        machine, pauses = remove_stays(given)
        accepting = given.accepting or frozenset(given.halting_states)
        running = [s for s in machine.states if long or s not in accepting]
        first = sorted(running, key=lambda state: state != machine.start)
        if machine.start not in running:  # it accepts at once: it has lines of Y alone
            first = [machine.start, *first]
        states = {state: number for number, state in enumerate(first, start=1)}
        others = [s for s in machine.symbols if s != machine.blank]
        symbols = {s: number for number, s in enumerate([machine.blank, *others])}
        return TextPrompt(given, long, machine, frozenset(pauses), states, symbols)

    @property
    def start(self) -> str:
        """The name of the state before the start state."""
        return fresh_name("_start", set(self.machine.states))

    @cached_property
    def accepting(self) -> frozenset[str]:
        """The accepting states; all halting ones if none are declared."""
        return self.given.accepting or frozenset(self.given.halting_states)

    def text(self, word: Sequence[str]) -> str:
        """The prompt."""
        return f"{self.rules}{self.input(word)}!"

    def input(self, word: Sequence[str]) -> str:
        """The input, from its end to its beginning."""
        symbols = self.given.check_word(word)
        return "".join(f"{_binary(self.symbols[s])}T" for s in reversed(symbols))

    @property
    def rules(self) -> str:
        """A line for every pair."""
        start = self.states[self.machine.start]
        lines = [
            f"AB{_binary(start)}C>",  # (_start, #) → (start, #, right)
            *(f"A{_binary(number)}BN" for number in self.symbols.values() if number),
            *(self._line(state, symbol) for state in self.states for symbol in self.symbols),
        ]
        return "".join(lines)

    def accepts_by(self, action: Action) -> bool:
        """Whether an action begins a step into an accepting state: at once, or by a stay."""
        into = action.state
        if into in self.pauses:
            into = self.machine.delta[into, self.machine.blank].state
        return into in self.accepting

    def _line(self, state: str, symbol: str) -> str:
        pair = f"{_binary(self.states[state])}A{_binary(self.symbols[symbol])}B"
        if state in self.accepting:
            return f"{pair}Y"
        action = self.machine.delta.get((state, symbol))
        if action is None:
            return f"{pair}N"
        if self.accepts_by(action) and not self.long:
            return f"{pair}Y"
        if action.move is Move.S:
            raise InputError("the machine stays where it is; a universal network's must move")
        where = ">" if action.move is Move.R else "<"
        write = _binary(self.symbols[action.write])
        return f"{pair}{_binary(self.states[action.state])}C{write}{where}"


@dataclass(frozen=True, kw_only=True)
class CompiledUniversalText(CompiledUniversal):
    """The network and a machine as a word, which is the beginning of its prompt."""

    prompt: TextPrompt
    embedding: Mapping[str, Vector]
    rules: str

    @property
    def machine(self) -> TuringMachine:
        """The machine whose run it does."""
        return self.prompt.machine

    def text(self, word: Sequence[str]) -> str:
        """The prompt."""
        return f"{self.rules}{self.prompt.input(word)}!"

    def embed(self, word: Sequence[str]) -> tuple[Vector, ...]:
        """The prompt, symbol by symbol."""
        return tuple(map(self.embedding.__getitem__, self.text(word)))


def compile_universal_text(given: TuringMachine, *, long: bool = True) -> CompiledUniversalText:
    """The constant network, with a machine as its prompt."""
    network, prompt = universal_text_transformer(), TextPrompt.of(given, long=long)
    return CompiledUniversalText(
        network=network,
        seed=seed(network.layout),
        prompt=prompt,
        embedding=embedding(network.layout),
        rules=prompt.rules,
    )


def _binary(number: int) -> str:
    """A number in binary; nothing for 0."""
    return f"{number:b}" if number else ""
