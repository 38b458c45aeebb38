"""The neurons of the RNN of a machine, and the numbers of its construction.

The tape is two stacks, right and left of the head, the nearest cell on top. Symbols have digits:
the blank is 0, the others 1 to k − 1. A stack s₁ s₂ … is the number X = Σ dig(s_j) B^(−j), for a
base B so large that stacks leave gaps: X ≤ τ = (k − 1)/(B − 1) for every stack, and τ < 1 if and
only if B > k. An empty stack and a stack of blanks are both 0: the tape has no end
on either side.

    B = k + 1 by default, any rational B > k on request
    gap = 1 − τ,   M = (k − 1)/gap

The top is at least a exactly if B·X ≥ a, and otherwise B·X ≤ a − 1 + τ = a − gap. So
T = (B·X − a)/gap + 1 is ≥ 1 or ≤ 0; and T ≤ M, as B·X ≤ Bτ = τ + k − 1 and a ≥ 1.

| block              | meaning at a time                                                       |
|--------------------|-------------------------------------------------------------------------|
| u                  | 1                                                                       |
| S [q]              | whether the state is q                                                  |
| P [q, D, a]        | whether the state is q, the last move was D and the digit read is ≥ a   |
| Rpop, Lpop         | the right (left) stack before the pop, if the last move popped it       |
| Rpush, Lpush       | the right (left) stack, if the last move pushed on it                   |
| Rstay, Lstay       | the stacks, if the head stayed; only in machines that stay              |
| sc, e [a]          | of the encoder: B^(−i), and that again if the token has digit a         |

Neurons P exist for the pairs (q, D) that some rule enters, and for the start state with D = R.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from netwright.errors import InputError
from netwright.exact.layout import Layout
from netwright.exact.rational import Number, Rational, rational
from netwright.machine.turing_machine import Action, Move, TuringMachine


@dataclass(frozen=True)
class Neurons:
    """The neurons for a machine and a base."""

    machine: TuringMachine
    base: Rational
    digits: Mapping[str, int] = field(hash=False)
    """dig: 0 for the blank, 1, 2, … for the others."""
    tops: Mapping[str, tuple[str, Move, int]] = field(hash=False)
    """State, last move and least digit of each neuron P, by its label."""

    @staticmethod
    def of(machine: TuringMachine, base: Number | None = None) -> "Neurons":
        """The neurons with base k + 1, or another one above k."""
        k = len(machine.symbols)
        chosen = rational(k + 1 if base is None else base)
        if chosen <= k:
            raise InputError(
                f"base {chosen}: {k} symbols need a base above {k}, or two stacks share a number"
            )
        others = [symbol for symbol in machine.symbols if symbol != machine.blank]
        digits = {symbol: digit for digit, symbol in enumerate([machine.blank, *others])}
        bare = Neurons(machine, chosen, digits, {})
        tops = {bare.label(q, d, a): (q, d, a) for q, d in bare.entries for a in range(1, k)}
        return replace(bare, tops=tops)

    @cached_property
    def symbol_of(self) -> dict[int, str]:
        """The symbol of each digit."""
        return {digit: symbol for symbol, digit in self.digits.items()}

    @cached_property
    def rules(self) -> dict[tuple[str, str], Action]:
        """The rules that can apply: none leaves an accepting state."""
        accepting = self.machine.accepting
        return {key: a for key, a in self.machine.delta.items() if key[0] not in accepting}

    @property
    def stays(self) -> bool:
        """Whether some rule leaves the head where it is."""
        return any(action.move is Move.S for action in self.rules.values())

    @cached_property
    def entries(self) -> tuple[tuple[str, Move], ...]:
        """The pairs (q, D) that have neurons P."""
        entered = ((action.state, action.move) for action in self.rules.values())
        return tuple(dict.fromkeys([(self.machine.start, Move.R), *entered]))

    @property
    def k(self) -> int:
        """The number of symbols."""
        return len(self.machine.symbols)

    @property
    def gap(self) -> Rational:
        """1 − τ."""
        return 1 - (self.k - 1) / (self.base - 1)

    @property
    def M(self) -> Rational:
        """M = (k − 1)/gap."""
        return (self.k - 1) / self.gap

    def label(self, state: str, move: Move, digit: int) -> str:
        """The label of a neuron P."""
        return f"{state!r} {move} {digit}"

    @property
    def stacks(self) -> list[str]:
        """The blocks that hold stacks."""
        return ["Rpop", "Rpush", "Lpop", "Lpush", *(["Rstay", "Lstay"] if self.stays else [])]

    @cached_property
    def layout(self) -> Layout:
        """All neurons."""
        return Layout.of(
            {
                "u": "",
                **dict.fromkeys(self.stacks, ""),
                "S": self.machine.states,
                "P": list(self.tops),
                "sc": "",
                "e": [str(a) for a in range(1, self.k)],
            }
        )
