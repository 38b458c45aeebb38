"""The tokens of a machine's Llama, and the machine with a walk back to the start of its input.

| token | text | meaning |
|---|---|---|
| special | `<s>` `<run>` `<accept>` `<reject>` `</s>` `<unk>` | start, end of the input, ends |
| letter | `a` | a symbol of the input |
| step | `R:q:a>w`, `R:q:a` | moved right, now in q, reads a, writes w (no rule: nothing) |
| address | `@k` | the last visit of the cell ahead is k tokens back |

The head starts on `<run>`. In the added state `rewind` it moves left over the input to `<s>`, which
holds the added symbol `edge`, and right again into the start state. `edge` is the blank under
another name: every rule for the blank is repeated for it, and cells that were never visited have
it where `<s>` stands for them.

To resume a run on the cells x_1 … x_n from the head on, with l_1 … l_m left of it, the prompt is

    <s> x_n … x_2 <run> l_1 … l_m R:q:x_1 @(m+3)

and the model goes on as it is: `<run>` stands for the cells left of l_1, and `<s>` for those right
of x_n.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from netwright.kind.language_model.vocabulary import (
    RUN,
    Beginning,
    Left,
    Step,
    Vocabulary,
    check_size,
)
from netwright.machine.normal_form import fresh_name, remove_stays
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.text import as_token

STOP, UNKNOWN, BOS = 3, 4, 5
FIRST = 6
"""The number of the first letter; 0 to 2 are as for GPT-2."""


@dataclass(frozen=True)
class LlamaVocabulary(Vocabulary):
    """The tokens for a machine that moves and walks back first, and for a number of positions."""

    rewind: str
    edge: str

    starts_over = False

    @staticmethod
    def of(given: TuringMachine, context: int) -> "LlamaVocabulary":
        """The tokens for any machine: stays become two steps."""
        moving, pauses = remove_stays(given)
        check_size(4 * len(moving.states) * len(moving.symbols) + context)
        rewind = fresh_name("rewind", set(moving.states))
        edge = fresh_name("edge", set(moving.symbols))
        blank = moving.blank
        delta = {
            **moving.delta,
            **{(q, edge): action for (q, a), action in moving.delta.items() if a == blank},
            **{(rewind, a): Action(rewind, a, Move.L) for a in moving.symbols},
            (rewind, edge): Action(moving.start, blank, Move.R),
        }
        walking = replace(
            moving,
            states=(*moving.states, rewind),
            symbols=(*moving.symbols, edge),
            delta=delta,
        )
        return LlamaVocabulary(walking, pauses | {rewind}, context, rewind, edge)

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """The given machine's symbols, the blank first."""
        return tuple(symbol for symbol in self.symbols if symbol != self.edge)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts of all tokens, in order."""
        end = "<accept>" if self.machine.accepting else "<halt>"
        return (
            *("<run>", end, "<reject>", "</s>", "<unk>", "<s>"),
            *map(as_token, self.letters),
            *map(self.step_text, self.steps),
            *(f"@{k}" for k in range(self.context)),
        )

    @cached_property
    def number(self) -> dict[object, int]:
        """The number of each letter (by its symbol) and step."""
        tokens: list[object] = [*self.letters, *self.steps]
        return {token: FIRST + n for n, token in enumerate(tokens)}

    @property
    def lefts(self) -> tuple[Left, ...]:
        """None: cells to the left are letters."""
        return ()

    @property
    def first_address(self) -> int:
        """The number of `@0`."""
        return FIRST + len(self.letters) + len(self.steps)

    def address(self, place: int, visit: int) -> int:
        """The token for a visit, seen from its own position `place`."""
        return self.first_address + place - visit

    def prompt(self, word: Sequence[str]) -> list[int]:
        """`<s>`, the word and `<run>`; InputError if the walk back does not fit into the context.

        A word has no `edge`: the given machine has checked it.
        """
        self.check_room(len(word), 3 * len(word) + 5)
        return [BOS, *(self.number[symbol] for symbol in word), RUN]

    def steps_from(self, letters: int) -> int:
        """The position of the machine's first step, after n + 1 steps back."""
        return 3 * letters + 4

    def begin(
        self, ahead: Sequence[str], behind: Sequence[str] = (), state: str | None = None
    ) -> Beginning:
        """Start on a word; or in a state, on the first of the cells ahead."""
        blank = self.machine.blank
        if state is not None:
            ahead = tuple(ahead) or (blank,)
        n, m = len(ahead), len(behind)
        tape = dict(enumerate((*behind, *ahead), start=-m))
        if state is None:
            prompt = self.prompt(ahead)
            visits = {cell: cell + 1 for cell in range(n + 1)}
            nulls, fresh = (0, n + 1), (self.edge, blank)
            return Beginning(prompt, tape, visits, n - 1, Move.L, self.rewind, fresh, nulls)
        self.check_tape(n + m, n + m + 4)
        step = Step(Move.R, state, ahead[0])
        prompt = [BOS, *(self.number[symbol] for symbol in reversed(ahead[1:])), RUN]
        prompt += [*(self.number[symbol] for symbol in behind), self.number[step]]
        told = 1
        if self.ends(step) is None:
            prompt.append(self.first_address + m + 3)
            told = 2
        visits = {cell: n - cell for cell in range(1, n)}
        visits |= {cell: n + 1 + m + cell for cell in range(-m, 0)}
        return Beginning(prompt, tape, visits, 0, Move.R, state, (blank, self.edge), (n, 0), told)

    def plain(self, symbol: str) -> str:
        """The given machine's name of a symbol: `edge` is its blank."""
        return self.machine.blank if symbol == self.edge else symbol
