"""Checks of a Transformer without positions: every vector and every attention of every token.

| vector  | of token i                                                              |
|---------|-------------------------------------------------------------------------|
| y(i)    | ⟦q^(i)⟧ ⟦s^(i)⟧, the pointers, one = 1; b = 1 for i = 0                   |
| p1(i)   | with e = 1/(i+1), the mean of b                                         |
| a1(i)   | with what the encoder says of input token i + 2                         |
| z1(i)   | with the rule: next state, written symbol, move, pointer to follow      |
| p2(i)   | with what the token that is followed wrote, and its pointers            |
| z2(i)   | with what the encoder says once more                                    |
"""

from collections.abc import Iterator, Sequence
from functools import partial

from netwright.definitions.transformer import Token
from netwright.engine.following.shown import Shown
from netwright.exact.vector import Part, Vector
from netwright.kind.pointer_transformer.checks import LEMMA, SIMULATION, attended_input
from netwright.kind.pointer_transformer.linked_visits import LinkedVisits
from netwright.kind.pointer_transformer.proof_values import pointer
from netwright.kind.positionless_transformer.construction import CompiledPositionless
from netwright.kind.transformer.checks import attended, decoder_checks
from netwright.verify.comparison import Check
from netwright.verify.shown import Claim


def positionless_checks(
    compiled: CompiledPositionless, shown: Shown, word: Sequence[str], max_steps: int
) -> Iterator[Check]:
    """Check every token, and the machine's configuration at every step."""
    values = partial(PositionlessValues, compiled, word)
    return decoder_checks(compiled, shown, word, max_steps, values, _claims, SIMULATION)


class PositionlessValues(LinkedVisits):
    """The vectors for one network, one word and the times 0 to `steps`, from the run alone."""

    def __init__(self, compiled: CompiledPositionless, word: Sequence[str], steps: int) -> None:
        self.word = compiled.normal.check_word(word)
        super().__init__(compiled.normal.machine, self.word, steps, head=-1)
        self.layout = compiled.layout

    def y(self, i: int) -> Vector:
        """y_i; it is the seed for i = 0."""
        there: dict[str, Part] = {"R": pointer(self.R[i]), "L": pointer(self.L[i])}
        there |= {"one": 1, "b": int(i == 0)}
        return Vector.of(self.layout, there, q1=self.q[i] or {}, s1=self.s[i])

    def p1(self, i: int) -> Vector:
        """p¹_i."""
        return self.y(i) + Vector.of(self.layout, e=pointer(i))

    def a1(self, i: int) -> Vector:
        """a¹_i."""
        return self.p1(i) + self._input(i)

    def z1(self, i: int) -> Vector:
        """z¹_i: a¹_i alone where no rule applies."""
        followed = self.followed(i)
        if followed is None:
            return self.a1(i)
        rule: dict[str, Part] = {"q2": self.q[i + 1] or {}, "w": self.v[i] or {}, "m": self.m[i]}
        return self.a1(i) + Vector.of(self.layout, rule, sel=pointer(followed))

    def p2(self, i: int) -> Vector:
        """p²_i; where no rule applies the newest token, i itself, is attended to."""
        j = self.followed(i)
        found = i if j is None else j
        there: dict[str, Part] = {"RR": pointer(self.R[found]), "LL": pointer(self.L[found])}
        return self.z1(i) + Vector.of(self.layout, there, v=self.v[found] or {})

    def z2(self, i: int) -> Vector:
        """z²_i."""
        return self.p2(i) + self._input(i)

    def _input(self, i: int) -> Vector:
        """Input token min(i + 2, n + 2), once: the symbol i + 1 of the word, or $."""
        if i < len(self.word):
            return Vector.of(self.layout, al=self.word[i])
        return Vector.of(self.layout, end=1)


def _claims(values: PositionlessValues, n: int, i: int, token: Token) -> Iterator[Claim]:
    if i > values.end:
        yield "After the halt", "q1", token.y["q1"], {}
        return
    first, second = token.layers
    wanted = min(i + 2, len(values.word) + 2)
    yield "The mean of b", "p1", first.p, values.p1(i)
    for layer, name in ((first, "the symbol of the input"), (second, "the symbol, again")):
        yield "Lemma B.1", name, attended_input(layer), [wanted]
    yield "Lemma B.1", "a1", first.a, values.a1(i)
    yield "The rule", "z1", first.z, values.z1(i)
    followed = values.followed(i)
    yield LEMMA, "the token attended to", attended(second), [i if followed is None else followed]
    yield LEMMA, "p2", second.p, values.p2(i)
    yield LEMMA, "z2", second.z, values.z2(i)
    if i < values.end:
        yield LEMMA, "y", token.y, values.y(i + 1)
    else:
        yield "After the halt", "q1", token.y["q1"], {}
