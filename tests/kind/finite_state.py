"""A kind of its own: a network that is a finite automaton, for machines that only read.

It is all that a new kind needs: a network class with its definition, a construction, and what is
shown. Everything else follows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Any

from netwright.engine.following.shown import Shown
from netwright.engine.moments import Watch
from netwright.errors import InputError
from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.layout import Layout
from netwright.exact.meanings import Meanings
from netwright.exact.vector import Vector
from netwright.kind.record import (
    Construction,
    Kind,
    Option,
    Options,
    ShownLook,
    ShownProof,
    ShownReading,
)
from netwright.machine.turing_machine import Move, TuringMachine


@dataclass(frozen=True)
class Scanner:
    """y_1 = F(y_0), and y_{t+1} = F(y_t + x_t) for an input x_1, x_2, … that is blank at last."""

    layout: Layout
    F: FeedForward

    def outputs(self, word: Sequence[Vector], blank: Vector, seed: Vector) -> Iterator[Vector]:
        """y_1, y_2, …."""
        y = self.F(seed)
        for x in chain(word, repeat(blank)):
            yield y
            y = self.F(y + x)


@dataclass(frozen=True)
class CompiledScanner:
    """A machine, and its network."""

    machine: TuringMachine
    network: Scanner
    embedding: Mapping[str, Vector]
    seed: Vector


def read_sharpness(value: object) -> int:
    """How steep the units are."""
    if not str(value).isdecimal() or not 1 <= int(str(value)) <= 1000:
        raise InputError(f"sharpness is {str(value)[:40]!r}; expected a number from 1 to 1000")
    return int(str(value))


class ScannerConstruction(Construction[CompiledScanner]):
    """A unit σ(k q + k s − 2k + 1) for every rule: it is 1 in its state on its symbol, else 0."""

    name = "finite-state"
    statement = "A finite automaton"
    options = (Option("sharpness", read_sharpness, 1, "How steep its units are.", metavar="K"),)

    def construct(self, machine: TuringMachine, options: Options) -> CompiledScanner:
        """For a machine that moves right and leaves what it reads."""
        for (state, symbol), action in machine.delta.items():
            if action.move is not Move.R or action.write != symbol:
                raise InputError(
                    f"{self.name} takes machines that move right and write what they read; "
                    f"δ({state}, {symbol}) does not"
                )
        states, symbols, k = machine.states, machine.symbols, options["sharpness"]
        layout = Layout.of(q=states, w=symbols, m="", s=symbols, begin="")
        rules = {f"{q} {s}": (q, s) for q, s in machine.delta if q not in machine.accepting}
        hidden = Layout.of(rule=list(rules), begin="")
        read = Affine.of(
            layout,
            hidden,
            {
                ("q", "rule"): {(q, name): k for name, (q, _) in rules.items()},
                ("s", "rule"): {(s, name): k for name, (_, s) in rules.items()},
                ("begin", "begin"): 1,
            },
            {"rule": dict.fromkeys(rules, 1 - 2 * k)},
        )
        write = Affine.of(
            hidden,
            layout,
            {
                ("rule", "q"): {(n, machine.delta[rule].state): 1 for n, rule in rules.items()},
                ("rule", "w"): {(name, s): 1 for name, (_, s) in rules.items()},
                ("rule", "m"): {(name, ""): 1 for name in rules},
                ("begin", "q"): {("", machine.start): 1},
                ("begin", "w"): {("", machine.blank): 1},
                ("begin", "m"): 1,
            },
        )
        return CompiledScanner(
            machine,
            Scanner(layout, FeedForward((read, write))),
            {symbol: Vector.of(layout, s=symbol) for symbol in symbols},
            Vector.of(layout, begin=1),
        )

    def parts(self, compiled: CompiledScanner) -> Mapping[str, Callable[[], CompiledScanner]]:
        """Its memory: without it, it forgets its state."""

        def forgetful() -> CompiledScanner:
            read, write = compiled.network.F.maps
            states = {*read.input.places("q")}
            weights = {place: w for place, w in read.weights.items() if place[0] not in states}
            blind = Affine(read.input, read.output, weights, read.bias)
            network = replace(compiled.network, F=FeedForward((blind, write)))
            return replace(compiled, network=network)

        return {"memory": forgetful}


class ScannerReading(ShownReading[CompiledScanner]):
    """Moment t + 1 shows the machine after t steps."""

    def moments(
        self, compiled: CompiledScanner, word: Sequence[str]
    ) -> Iterator[Mapping[str, Vector]]:
        """By the definition."""
        embedding = compiled.embedding
        tokens = [embedding[symbol] for symbol in compiled.machine.check_word(word)]
        outputs = compiled.network.outputs(tokens, embedding[compiled.machine.blank], compiled.seed)
        return ({"y": y} for y in outputs)

    def shown(self, compiled: CompiledScanner, word: Sequence[str]) -> Shown:
        """The state in q, the symbol in w, the move in m; the first one is onto cell 0."""
        machine = compiled.machine
        code = machine.symbols.index
        return Shown(
            given=machine,
            watches=(Watch("y", "q"), Watch("y", "w"), Watch("y", "m", sign=True)),
            states=machine.states,
            given_states=frozenset(machine.states),
            final_states=machine.accepting or frozenset(machine.halting_states),
            symbols=machine.symbols,
            blank=code(machine.blank),
            laid=[*map(code, machine.check_word(word))],
            cell=-1,
            before=1,
        )


class ScannerLook(ShownLook[CompiledScanner]):
    """At its outputs."""

    meanings = Meanings(
        blocks={
            "q": "the state",
            "w": "the symbol that was read, and is left",
            "m": "the move: 1 is right",
            "s": "the symbol that is read",
            "begin": "1 before the first step",
        },
        hidden={"F": {"rule": "whether a rule applies", "begin": "whether it begins"}},
        weights={"F": "the rules"},
    )


READING = ScannerReading()
CONSTRUCTION = ScannerConstruction()
KIND: Kind[Any] = Kind(
    CONSTRUCTION,
    READING,
    ShownProof(READING, CONSTRUCTION.statement),
    ScannerLook(READING),
)
