"""The tokens of a machine's language model, and their texts.

| token | text | meaning |
|---|---|---|
| special | `<run>` `<accept>` `<reject>` `<pad>` | the input ends; a run ends; a filler |
| unknown | `<unk>` | what a tokenizer puts for any other word; the model refuses it |
| letter | `a` | a symbol of the input |
| step | `R:q:a>w`, `R:q:a` | moved right, now in q, reads a, writes w (no rule: nothing) |
| left | `left:a`, `left:a:goto:q` | to resume: a cell left of the head; then continue in q |
| address | `@p` | the token at position p |
| filler | `<unused0>` | at most seven, so that the size is a multiple of 8 |

`<accept>` is `<halt>` for a machine without accepting states, which never rejects. There is a step
token for each move and state that some rule leads to, and for a right move into every state, with
which a resumed run begins.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from netwright.errors import InputError
from netwright.machine.normal_form import remove_stays
from netwright.machine.turing_machine import Move, TuringMachine
from netwright.text import as_token

MOST = 1 << 20
"""The greatest size of a vocabulary."""
SHORTEST, LONGEST = 8, 1 << 16
"""The bounds of a context, in tokens."""
RUN, ACCEPT, REJECT, PAD, UNKNOWN = range(5)
FIRST = 5
"""The number of the first letter. (`<pad>` is not 0, which beam search takes for no token.)"""


class Step(NamedTuple):
    """A step token: the move that led here, the state, the symbol under the head."""

    move: Move
    state: str
    symbol: str


class NoRoomError(InputError):
    """A configuration whose prompt is longer than the model's context."""


class Beginning(NamedTuple):
    """A configuration as a prompt, and what is known of the cells then."""

    prompt: list[int]
    tape: dict[int, str]
    visits: dict[int, int]
    """The position of the last visit of each cell."""
    cell: int
    """That of the first step."""
    move: Move
    """The move that leads to it."""
    state: str
    fresh: tuple[str, str]
    """The symbols in cells that were never visited, to the left and to the right of all others."""
    nulls: tuple[int, int]
    """The positions that stand for their visits."""
    told: int = 0
    """The number of tokens at the end of the prompt that belong to the run."""


class Left(NamedTuple):
    """A cell left of the head of a resumed run; the last one has the state to continue in."""

    symbol: str
    state: str | None


@dataclass(frozen=True)
class Vocabulary:
    """The tokens for a machine without stays and for a number of positions."""

    machine: TuringMachine
    pauses: frozenset[str]
    """The states in the middle of a stay of the given machine."""
    context: int

    starts_over = True
    """Whether a resumed text repeats the last step as its first token after the prompt."""

    @staticmethod
    def of(given: TuringMachine, context: int) -> "Vocabulary":
        """The tokens for any machine: stays become two steps."""
        moving, pauses = remove_stays(given)
        check_size(4 * len(moving.states) * len(moving.symbols) + context)
        return Vocabulary(moving, pauses, context)

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
            *("<run>", end, "<reject>", "<pad>", "<unk>"),
            *map(as_token, self.symbols),
            *map(self.step_text, self.steps),
            *map(_left_text, self.lefts),
            *unused(self._used, self.context),
            *(f"@{p}" for p in range(self.context)),
        )

    def step_text(self, step: Step) -> str:
        """`R:q:a>w`, or `R:q:a` where there is no rule."""
        text = f"{step.move}:{as_token(step.state)}:{as_token(step.symbol)}"
        action = self.machine.action(step.state, step.symbol)
        return text if action is None else f"{text}>{as_token(action.write)}"

    @cached_property
    def number(self) -> dict[object, int]:
        """The number of each letter (by its symbol), step and left."""
        tokens: list[object] = [*self.symbols, *self.steps, *self.lefts]
        return {token: FIRST + n for n, token in enumerate(tokens)}

    @property
    def _used(self) -> int:
        """The number of tokens before those that are unused."""
        return FIRST + len(self.symbols) + len(self.steps) + len(self.lefts)

    @cached_property
    def first_address(self) -> int:
        """The number of `@0`."""
        return self._used + len(unused(self._used, self.context))

    def step_of(self, token: int) -> Step | None:
        """The step of a token; None if it is not a step token."""
        place = token - self.number[self.steps[0]]
        return self.steps[place] if 0 <= place < len(self.steps) else None

    def ends(self, step: Step) -> int | None:
        """The token that ends the run after a step; None if a rule applies."""
        if self.machine.action(step.state, step.symbol) is not None:
            return None
        accepting = self.machine.accepting
        return ACCEPT if not accepting or step.state in accepting else REJECT

    def prompt(self, word: Sequence[str]) -> list[int]:
        """The tokens of a word and `<run>`; InputError if they do not fit into the context."""
        ids = [self.number[symbol] for symbol in self.machine.check_word(word)]
        self.check_room(len(ids), len(ids) + 3)
        return [*ids, RUN]

    def check_room(self, letters: int, needed: int) -> None:
        """Raise InputError for a word that leaves no room in the context for a step."""
        if needed > self.context:
            raise InputError(
                f"a word of {letters:,} symbols does not fit into a context of {self.context:,} "
                "tokens; take a larger one: --context"
            )

    def begin(
        self, ahead: Sequence[str], behind: Sequence[str] = (), state: str | None = None
    ) -> Beginning:
        """Start on a word; or in a state, on the first of the cells ahead.

        NoRoomError if there is no room. To resume, there must be a cell behind.
        """
        if state is None:
            prompt, state = self.prompt(ahead), self.machine.start
        else:
            self.check_tape(len(ahead) + len(behind), len(ahead) + 2 * len(behind) + 4)
            prompt = [*(self.number[symbol] for symbol in ahead), RUN]
            for n, symbol in enumerate(behind, start=1):
                left = Left(symbol, state if n == len(behind) else None)
                prompt += [self.number[left], self.first_address]
        null, k = len(ahead), len(behind)
        tape = dict(enumerate((*behind, *ahead), start=-k))
        # The last visit of each cell: its letter, or its address token.
        visits = {cell: cell if cell >= 0 else null + 2 * (cell + k + 1) for cell in tape}
        blank = self.machine.blank
        return Beginning(prompt, tape, visits, 0, Move.R, state, (blank, blank), (null, null))

    def check_tape(self, cells: int, needed: int) -> None:
        """Raise NoRoomError for a tape whose prompt leaves no room for a step."""
        if needed > self.context:
            raise NoRoomError(
                f"a tape of {cells:,} cells no longer fits into a context of {self.context:,} "
                f"tokens: it takes {needed:,}; take a larger one: --context"
            )

    def address(self, place: int, visit: int) -> int:
        """The token that has the position of a visit; its own position is `place`."""
        return self.first_address + visit

    def steps_from(self, letters: int) -> int:
        """The position of the machine's first step, in a text that starts on a word."""
        return letters + 1

    def plain(self, symbol: str) -> str:
        """The given machine's name of a symbol."""
        return symbol


def unused(used: int, context: int) -> list[str]:
    """Tokens that fill a vocabulary up to a multiple of 8, which some converters require."""
    return [f"<unused{n}>" for n in range(-(used + context) % 8)]


def _left_text(left: Left) -> str:
    text = f"left:{as_token(left.symbol)}"
    return text if left.state is None else f"{text}:goto:{as_token(left.state)}"


def check_context(context: int) -> None:
    """Raise InputError for a context that is too short or too long."""
    if not SHORTEST <= context <= LONGEST:
        raise InputError(f"context is {context:,}; expected {SHORTEST:,} to {LONGEST:,} tokens")


def check_size(tokens: int) -> None:
    """Raise InputError for a vocabulary that is too large."""
    if tokens > MOST:
        raise InputError(
            f"that takes about {tokens:,} tokens; a vocabulary has at most {MOST:,}. Fewer states "
            "or symbols are needed"
        )
