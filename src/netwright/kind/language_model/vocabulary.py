"""The tokens of a machine's language model, and their texts.

| token | text | meaning |
|---|---|---|
| special | `<run>` `<accept>` `<reject>` `<pad>` | the input ends; a run ends; a filler |
| letter | `a` | a symbol of the input |
| step | `R:q:a>w`, `R:q:a` | moved right, now in q, reads a, writes w (no rule: nothing) |
| left | `left:a`, `left:a:goto:q` | to resume: a cell left of the head; then go on in q |
| address | `@p` | the token at position p |

`<accept>` is `<halt>` for a machine without accepting states, which never rejects. There is a step
token for each move and state that some rule leads to, and for a right move into every state, with
which a resumed run begins.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from netwright.errors import InputError
from netwright.machine.remove_stays import remove_stays
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.text import as_token

MOST = 1 << 20
"""Tokens of a vocabulary."""
RUN, ACCEPT, REJECT, PAD = range(4)
FIRST = 4
"""The number of the first letter. (`<pad>` is not 0: beam search takes 0 for none.)"""


class Step(NamedTuple):
    """A step token: the move that led here, the state, the symbol under the head."""

    move: Move
    state: str
    symbol: str


class Left(NamedTuple):
    """A cell to the left of where a run is resumed; the last one has the state to go on in."""

    symbol: str
    state: str | None


@dataclass(frozen=True)
class Vocabulary:
    """The tokens for a machine without stays, and a context of so many positions."""

    machine: TuringMachine
    pauses: frozenset[str]
    """The states in the middle of a stay of the given machine."""
    context: int

    @staticmethod
    def of(given: TuringMachine, context: int) -> "Vocabulary":
        """The tokens for any machine: stays become two steps."""
        moving, pauses = remove_stays(given)
        check_size(4 * len(moving.states) * len(moving.symbols) + context)
        return Vocabulary(moving, pauses, context)

    def rule(self, state: str, symbol: str) -> Action | None:
        """What the machine does; nothing leaves an accepting state."""
        return self.machine.action(state, symbol)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """All symbols, the blank first."""
        blank = self.machine.blank
        return (blank, *(symbol for symbol in self.machine.symbols if symbol != blank))

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The step tokens."""
        entered = dict.fromkeys((Move.R, state) for state in self.machine.states)
        entered |= dict.fromkeys((a.move, a.state) for a in self.machine.delta.values())
        return tuple(Step(*pair, symbol) for pair in entered for symbol in self.symbols)

    @cached_property
    def lefts(self) -> tuple[Left, ...]:
        """The tokens of a resumed run."""
        states = (None, *self.machine.states)
        return tuple(Left(symbol, state) for state in states for symbol in self.symbols)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts of all tokens, in order."""
        end = "<accept>" if self.machine.accepting else "<halt>"
        return (
            *("<run>", end, "<reject>", "<pad>"),
            *map(as_token, self.symbols),
            *map(self.step_text, self.steps),
            *map(_left_text, self.lefts),
            *(f"@{p}" for p in range(self.context)),
        )

    def step_text(self, step: Step) -> str:
        """`R:q:a>w`, or `R:q:a` where there is no rule."""
        text = f"{step.move}:{as_token(step.state)}:{as_token(step.symbol)}"
        action = self.rule(step.state, step.symbol)
        return text if action is None else f"{text}>{as_token(action.write)}"

    @cached_property
    def number(self) -> dict[object, int]:
        """The numbers of letters (as text), steps and lefts."""
        tokens: list[object] = [*self.symbols, *self.steps, *self.lefts]
        return {token: FIRST + n for n, token in enumerate(tokens)}

    @cached_property
    def first_address(self) -> int:
        """The number of `@0`."""
        return FIRST + len(self.symbols) + len(self.steps) + len(self.lefts)

    def step_of(self, token: int) -> Step | None:
        """The step that a token is, if it is one."""
        place = token - self.number[self.steps[0]]
        return self.steps[place] if 0 <= place < len(self.steps) else None

    def ends(self, step: Step) -> int | None:
        """The token with which a run ends at a step; None where there is a rule."""
        if self.rule(step.state, step.symbol) is not None:
            return None
        accepting = self.machine.accepting
        return ACCEPT if not accepting or step.state in accepting else REJECT

    def prompt(self, word: Sequence[str]) -> list[int]:
        """A word, and `<run>`."""
        ids = [self.number[symbol] for symbol in self.machine.check_word(word)]
        if len(ids) + 3 > self.context:
            raise InputError(
                f"a word of {len(ids):,} symbols does not fit into a context of {self.context:,} "
                "tokens; take a larger one: --context"
            )
        return [*ids, RUN]


def _left_text(left: Left) -> str:
    text = f"left:{as_token(left.symbol)}"
    return text if left.state is None else f"{text}:goto:{as_token(left.state)}"


def check_size(tokens: int) -> None:
    """Refuse a vocabulary that nobody could hold."""
    if tokens > MOST:
        raise InputError(
            f"that takes some {tokens:,} tokens; a vocabulary has at most {MOST:,}. Fewer states "
            "or symbols are needed"
        )
