"""Checks of a Neural GPU without gates: every cell at every iteration, on its prefix."""

from collections.abc import Iterable, Iterator, Sequence

from netwright.exact.rational import ZERO, Rational
from netwright.exact.vector import Vector
from netwright.kind.gateless_neural_gpu.construction import core_of
from netwright.kind.neural_gpu.construction import CompiledNeuralGPU
from netwright.kind.rnn.checks import hidden_checks
from netwright.machine.configuration import Configuration, symbols_of
from netwright.machine.simulate import configurations
from netwright.machine.turing_machine import Move
from netwright.verify.comparison import Check

STATEMENT = "A Neural GPU without gates"


def gateless_checks(
    compiled: CompiledNeuralGPU, word: Sequence[str], max_steps: int
) -> Iterator[Check]:
    """Check all channels of every cell, and the configuration in the last one at every step."""
    symbols = (*compiled.machine.check_word(word), compiled.machine.blank)
    expected = [ExpectedCell(compiled, symbols[:i]) for i in range(1, len(symbols) + 1)]
    cells: list[Check] = []
    core = core_of(compiled.neurons)

    def hidden_vectors() -> Iterator[Vector]:
        for t, S in enumerate(compiled.network.tensors(compiled.embed(word))):
            for (cell,), each in zip(S, expected, strict=True):
                name = f"cell {len(each.word)} at {t}"
                cells.append(Check(t, STATEMENT, name, cell, each.at(t), t - len(symbols)))
            if t >= len(symbols):
                yield core(S[-1][0])

    for check in hidden_checks(compiled.rnn, word, max_steps, hidden_vectors(), STATEMENT):
        yield from cells
        cells.clear()
        yield check


class ExpectedCell:
    """The last cell on a word, by the machine's run alone; ask for times in order."""

    def __init__(self, compiled: CompiledNeuralGPU, word: Sequence[str]) -> None:
        self.neurons, self.layout = compiled.neurons, compiled.network.layout
        self.word, self.machine = word, compiled.machine
        self._run = configurations(compiled.machine, word)
        self._now: Configuration | None = None
        self._moved = Move.R  # the start is entered by a move to the right

    def at(self, t: int) -> Vector:
        """S^t of the cell."""
        base, digits, n = self.neurons.base, self.neurons.digits, len(self.word)
        if t < n:
            loaded = self._number(self.word[n - 1 - t :])
            digit = digits[self.word[n - 1 - t]] / base
            return Vector.of(self.layout, u=1, f=1, dig=digit, Rpush=loaded)
        before, self._now = self._now, next(self._run, None)
        if before is not None:
            action = self.machine.action(before.state, before.symbol)
            self._moved = self._moved if action is None else action.move
        return Vector.of(self.layout, u=1) if self._now is None else self._configured(self._now)

    def _number(self, stack: Iterable[str]) -> Rational:
        """Σ dig(s_j) B^(−j) of a stack, its top first."""
        total = ZERO
        for symbol in reversed([*stack]):
            total = (total + self.neurons.digits[symbol]) / self.neurons.base
        return total

    def _configured(self, now: Configuration) -> Vector:
        """u, S, P and the two stacks: the one that was popped still has the head's symbol."""
        neurons, moved = self.neurons, self._moved
        stacks = {
            Move.R: {"Rpop": (now.symbol, now.right), "Lpush": now.left},
            Move.L: {"Rpush": now.right, "Lpop": (now.symbol, now.left)},
            Move.S: {"Rstay": now.right, "Lstay": now.left},
        }[moved]
        tops = range(1, neurons.digits[now.symbol] + 1)
        return Vector.of(
            self.layout,
            {name: self._number(symbols_of(stack)) for name, stack in stacks.items()},
            u=1,
            S=now.state,
            P={neurons.label(now.state, moved, a): 1 for a in tops},
        )
