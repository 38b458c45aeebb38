"""Checks of a network without residual connections: every vector and every head of every token."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain

from netwright.definitions.residual_free import HeadsToken
from netwright.engine.following.shown import Shown
from netwright.engine.moments import watched
from netwright.exact.vector import Part, Vector
from netwright.kind.pointer_transformer.checks import LEMMA, SIMULATION
from netwright.kind.pointer_transformer.linked_visits import LinkedVisits
from netwright.kind.pointer_transformer.proof_values import pointer
from netwright.kind.residual_free_transformer.construction import CompiledResidualFree
from netwright.machine.configuration import Configuration
from netwright.machine.simulate import configurations_from
from netwright.machine.turing_machine import TuringMachine
from netwright.verify.comparison import Check
from netwright.verify.shown import Claim, shown_checks


def residual_free_checks(
    compiled: CompiledResidualFree, shown: Shown, word: Sequence[str], max_steps: int
) -> Iterator[Check]:
    """Check every token, and the machine's configuration at every step."""

    def claims_for(n: int) -> Callable[[int, HeadsToken], Iterator[Claim]]:
        return partial(_claims, HeadsValues(compiled, word, n))

    tokens = compiled.network.tokens(compiled.embed(word), compiled.seed)
    return shown_checks(shown, tokens, word, max_steps, SIMULATION, watched, claims_for)


class HeadsValues(LinkedVisits):
    """The vectors for one network, one word and the times 0 to `steps`, from the run alone.

    The times 0 to n are the loading tokens.
    """

    def __init__(self, compiled: CompiledResidualFree, word: Sequence[str], steps: int) -> None:
        self.prompted, self.layout = compiled.prompted, compiled.layout
        self.machine, self.loading = self.prompted.machine, len(word)
        super().__init__(self.machine, self.prompted.given.check_word(word), steps)

    def times(
        self, machine: TuringMachine, word: Sequence[str], head: int
    ) -> Iterator[Configuration]:
        """Loading from the blank after the word to its first symbol, then the run."""
        start = self.prompted.load
        loading = (
            Configuration.initial(start, word, machine.blank, n) for n in range(len(word), -1, -1)
        )
        running = Configuration.initial(self.prompted.run, word, machine.blank, -1)
        return chain(loading, configurations_from(machine, running))

    def y(self, i: int) -> Vector:
        """What token i is given as: y_i, or the prompt."""
        there: dict[str, Part] = {"R": pointer(self.R[i]), "L": pointer(self.L[i])}
        return Vector.of(self.layout, there, q1=self.q[i] or {}, s1=self.s[i])

    def a1(self, i: int) -> Vector:
        """What head 1 of layer 1 hands on: all of the token."""
        return self.y(i) + Vector.of(self.layout, one=1, e=pointer(i))

    def z1(self, i: int) -> Vector:
        """z¹_i: the rule, and the pointers."""
        there: dict[str, Part] = {"R": pointer(self.R[i]), "L": pointer(self.L[i])}
        there |= {"one": 1, "e": pointer(i), **self._rule(i)}
        followed = self.followed(i)
        return Vector.of(self.layout, there | self._selected(followed), w=self.v[i] or {})

    def _selected(self, followed: int | None) -> dict[str, Part]:
        return {} if followed is None else {"sel": pointer(followed)}

    def _rule(self, i: int) -> dict[str, Part]:
        """The next state and the move."""
        action = self.machine.action(self.q[i] or "", self.s[i])
        return {"q2": action.state, f"m{action.move.value}": 1} if action else {}

    def a2(self, i: int) -> Vector:
        """What head 1 hands on, and what the token that is followed says; i itself if none is."""
        j = self.followed(i)
        found = i if j is None else j
        there: dict[str, Part] = {"RR": pointer(self.R[found]), "LL": pointer(self.L[found])}
        there |= {"e": pointer(i), **self._rule(i)}
        return Vector.of(self.layout, there, v=self.v[found] or {})


def _claims(values: HeadsValues, i: int, token: HeadsToken) -> Iterator[Claim]:
    if i > values.end:
        yield "After the halt", "q1", token.y["q1"], {}
        return
    first, second = token.layers
    followed = values.followed(i)
    for layer in (first, second):
        yield "Head 1", "the token itself", _attended(layer.weights[0]), [i]
    yield "Head 1", "a1", first.a, values.a1(i)
    yield "The rule", "z1", first.z, values.z1(i)
    wanted = [i if followed is None else followed]
    yield LEMMA, "the token attended to", _attended(second.weights[1]), wanted
    yield LEMMA, "a2", second.a, values.a2(i)
    yield LEMMA, "z2", second.z, values.a2(i)
    if i < values.end:
        y = token.y
        if i < values.loading:  # a state and a symbol that the prompt replaces
            pointers = {"R": y.number("R"), "L": y.number("L")}
            now = {"R": pointer(values.R[i + 1]), "L": pointer(values.L[i + 1])}
            yield LEMMA, "R and L", pointers, now
        else:
            yield LEMMA, "y", y, values.y(i + 1)
    else:
        yield "After the halt", "q1", token.y["q1"], {}


def _attended(weights: Sequence[object]) -> list[int]:
    return [j for j, weight in enumerate(weights) if weight]
