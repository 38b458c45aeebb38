"""Checks of a machine's Neural GPU: every cell at every iteration, as Appendix C proves it."""

from collections.abc import Iterator, Sequence

from netwright.exact.vector import Vector, pointwise
from netwright.kind.neural_gpu.construction import CompiledNeuralGPU, block_of, in_block
from netwright.kind.rnn.checks import hidden_checks
from netwright.verify.comparison import Check


def neural_gpu_checks(
    compiled: CompiledNeuralGPU, word: Sequence[str], max_steps: int
) -> Iterator[Check]:
    """Check Equation eq:to-prove for every cell, and the configuration at every step."""
    layout = compiled.neurons.layout
    word = compiled.machine.check_word(word)
    tokens = len(compiled.rnn.embed(word))
    cells: list[Check] = []
    expected = _Expected(compiled, word)
    # The equation is that of the print, without an end marker and circular convolutions.
    is_printed = not compiled.has_end_marker and not compiled.network.circular

    def hidden_vectors() -> Iterator[Vector]:
        for t, S in enumerate(compiled.network.tensors(compiled.embed(word))):
            for i, (cell,) in enumerate(S if is_printed else (), start=1):
                claim = "Theorem 4.1 (eq:to-prove)", f"cell {i} at {t}"
                cells.append(Check(t, *claim, cell, expected.cell(t, i), 0))
            if t >= tokens:
                cell = S[tokens - 1][0] if t == tokens else S[-1][0]
                yield block_of(cell, "E" if t == tokens else "D", layout)

    for check in hidden_checks(compiled.rnn, word, max_steps, hidden_vectors(), "Theorem 4.1"):
        # What the cells are comes before what they mean.
        yield from cells
        cells.clear()
        yield check


class _Expected:
    """The cells of the proof, from h_i and α^i_j of the RNN by its definition."""

    def __init__(self, compiled: CompiledNeuralGPU, word: Sequence[str]) -> None:
        self.rnn = compiled.rnn.network
        self.layout = compiled.network.layout
        self.tokens = compiled.rnn.embed(word)
        self.h = list(self.rnn.encoder_states(self.tokens))
        self.alpha = [[h] for h in self.h]

    def cell(self, t: int, i: int) -> Vector:
        """S^t_i for cells from 1 on."""
        if i > t:
            waiting = Vector.of(self.layout, a=1, b=1)
            return in_block(self.tokens[i - 1], "E", self.layout) + waiting
        if i == t:
            h = self.h[i]
            both = in_block(h, "E", self.layout) + in_block(h, "C", self.layout)
            return both + Vector.of(self.layout, b=1)
        row = self.alpha[i]
        while len(row) <= t - i:
            row.append(pointwise(self.rnn.f2, self.rnn.U(row[-1])))
        return in_block(row[t - i], "D", self.layout)
