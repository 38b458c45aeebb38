"""The vectors of the universal Transformer on a prompt of rules, as its proof states them.

| vector | of token i, while the machine runs                                     |
|--------|------------------------------------------------------------------------|
| y(i)   | the state's and the symbol's code, on, and the pointers                |
| a1(i)  | with the position, and the rule that was found                         |
| z1(i)  | with next state, move and pointer to follow; all but pointers cleared  |
| p2(i)  | with what the token that is followed wrote, and its pointers           |
| z2(i)  | with the prompt's next token, of which only the symbol is read         |
"""

from collections.abc import Sequence

from netwright.exact.rational import Number
from netwright.exact.vector import Vector
from netwright.kind.pointer_transformer.linked_visits import LinkedVisits
from netwright.kind.pointer_transformer.proof_values import pointer
from netwright.kind.pointer_transformer.units import stated_positions
from netwright.kind.universal_transformer.codes import code_1, code_2
from netwright.kind.universal_transformer.construction import CompiledUniversalRules
from netwright.machine.turing_machine import Action


class RuleValues(LinkedVisits):
    """The vectors for one prompt, and the times 0 to `steps`."""

    def __init__(self, compiled: CompiledUniversalRules, word: Sequence[str], steps: int) -> None:
        self.network, self.layout, self.prompt = compiled.network, compiled.layout, compiled.prompt
        self.design, self.machine = compiled.design, compiled.prompt.machine
        self.word = compiled.normal.check_word(word)
        super().__init__(self.machine, self.word, steps, head=-1)
        self.X = compiled.embed(self.word)

    def y(self, i: int) -> Vector:
        """y_i; it is the seed for i = 0."""
        state = self.q[i]
        assert state is not None
        shown: dict[str, Number] = {self.design.state: code_2(self.prompt.states[state]), "on": 1}
        symbol = {self.design.symbol: code_1(self.prompt.symbols[self.s[i]])}
        pointers = self._pointers(i, "R", "L")
        return Vector.of(self.layout, {**shown, **pointers}) + Vector.of(self.layout, symbol)

    def a1(self, i: int) -> Vector:
        """a¹_i: the rule of state and symbol."""
        rule = self.place_of_rule(i)
        return self._positioned(i) + self._fields(self.X[rule])

    @property
    def accepts(self) -> bool:
        """Whether the state's block is 1 after the last time."""
        return self.q[self.end] in self.machine.accepting

    def place_of_rule(self, i: int) -> int:
        """Where the rule of token i is in the prompt."""
        state = self.q[i]
        assert state is not None
        rules = self.prompt.states[state] * len(self.prompt.symbols)
        return len(self.word) + rules + self.prompt.symbols[self.s[i]]

    def z1(self, i: int) -> Vector:
        """z¹_i."""
        rule = self.X[self.place_of_rule(i)]
        pos = stated_positions(self.layout)
        selected = {"sel": pointer(self.selected(i))}
        chosen: dict[str, Number] = {
            **{block: rule.number(source) for block, source in self.design.kept.items()},
            "e_": pos(i + 1).number("e"),
            "one_": 1,
        }
        known = Vector.of(self.layout, {**self._pointers(i, "R", "L"), **chosen, **selected})
        return known + pos(i + 1) + self._fields(rule)

    def p2(self, i: int) -> Vector:
        """p²_i."""
        followed = self.selected(i)
        wrote = self.X[self.place_of_rule(followed)].number("w2")
        pointers = self._pointers(followed, "RR", "LL")
        return self.z1(i) + Vector.of(self.layout, {self.design.found: wrote, **pointers})

    def z2(self, i: int) -> Vector:
        """z²_i."""
        return self.p2(i) + self._fields(self.X[min(i + 1, len(self.X)) - 1])

    def selected(self, i: int) -> int:
        """The token that is followed: where no rule applies, as for a move to the right."""
        action: Action | None = self.machine.action(self.q[i] or "", self.s[i])
        return self.L[i] if action is not None and action.move.offset < 0 else self.R[i]

    def _pointers(self, i: int, right: str, left: str) -> dict[str, Number]:
        return {right: pointer(self.R[i]), left: pointer(self.L[i])}

    def _positioned(self, i: int) -> Vector:
        pos = stated_positions(self.layout)
        return self.y(i) + pos(i + 1)

    def _fields(self, token: Vector) -> Vector:
        """What the encoder's value has of a token of the prompt."""
        return Vector.of(self.layout, {name: token.number(name) for name in self.design.rule})
