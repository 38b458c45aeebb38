"""The vectors of a pointer Transformer as its proof states them, from the machine's run alone.

| vector | of token i                                                         |
|--------|--------------------------------------------------------------------|
| y(i)   | ⟦q^(i)⟧ ⟦s^(i)⟧ and the pointers                                   |
| a1(i)  | with pos(i+1) and what the encoder says of i + 1                   |
| z1(i)  | with the rule: next state, written symbol, move, pointer to follow |
| p2(i)  | with what the token that is followed wrote, and its pointers       |
| z2(i)  | with what the encoder says once more                               |
"""

from collections.abc import Sequence

from flint import fmpq

from netwright.exact.rational import Rational
from netwright.exact.vector import Part, Vector
from netwright.kind.pointer_transformer.construction import MOVES, CompiledPointerTransformer
from netwright.kind.pointer_transformer.linked_visits import LinkedVisits
from netwright.kind.pointer_transformer.units import stated_positions

OFFSETS = {move.offset: block for move, block in MOVES.items()}


def pointer(token: int) -> Rational:
    """A pointer to a token."""
    return fmpq(1, token + 1)


class PointerValues(LinkedVisits):
    """The vectors for one network, one word and the times 0 to `steps`."""

    def __init__(
        self, compiled: CompiledPointerTransformer, word: Sequence[str], steps: int
    ) -> None:
        self.word = compiled.normal.check_word(word)
        super().__init__(compiled.normal.machine, self.word, steps, head=-1)
        self.compiled, self.layout = compiled, compiled.layout

    def y(self, i: int) -> Vector:
        """y_i; it is the seed for i = 0."""
        return Vector.of(
            self.layout,
            q1=self.q[i] or {},
            s1=self.s[i],
            R=pointer(self.R[i]),
            L=pointer(self.L[i]),
        )

    def a1(self, i: int) -> Vector:
        """a¹_i."""
        pos = stated_positions(self.compiled.network.layout)
        return self.y(i) + pos(i + 1) + self._input(i)

    def z1(self, i: int) -> Vector:
        """z¹_i: a¹_i alone where no rule applies."""
        written, followed = self.v[i], self.followed(i)
        if written is None:
            return self.a1(i)
        move = {OFFSETS[self.m[i]]: 1} if self.compiled.stays else {"m": self.m[i]}
        selected = {} if followed is None else {"sel": pointer(followed)}
        rule: dict[str, Part] = {"q2": self.q[i + 1] or {}, "w": written, **move, **selected}
        return self.a1(i) + Vector.of(self.layout, rule)

    def p2(self, i: int) -> Vector | None:
        """p²_i; None where no single token is followed, and nothing is claimed."""
        followed = self.followed(i)
        if followed is None or self.v[i] is None:
            return None
        found = Vector.of(
            self.layout,
            v=self.v[followed] or {},
            RR=pointer(self.R[followed]),
            LL=pointer(self.L[followed]),
        )
        return self.z1(i) + found

    def z2(self, i: int) -> Vector | None:
        """z²_i."""
        p2 = self.p2(i)
        return None if p2 is None else p2 + self._input(i)

    def _input(self, i: int) -> Vector:
        """⟦α^(i+1)⟧ and β^(i+1), once."""
        if not self.word:
            return Vector.zero(self.layout)
        place = min(i + 1, len(self.word))
        return Vector.of(self.layout, al=self.word[place - 1], be=place)
