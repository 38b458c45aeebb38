"""Checks of a language model against its machine, token by token and head by head.

- *tokens*: what the model writes by its definition, and in floats with softmax, is the machine's
  own text, in which last visits are found by looking back.
- *linked visits*: at every address token the two heads of block 1 look at the last visits of the
  cells to the right and to the left; the one of Llama at that of the cell to which the head goes.
"""

from collections.abc import Iterator, Sequence

from netwright.kind.language_model.construction import CompiledLanguageModel
from netwright.kind.language_model.evaluators import Evaluator
from netwright.kind.language_model.text import Follower, Start, machine_text
from netwright.kind.language_model.vocabulary import ACCEPT, REJECT
from netwright.machine.turing_machine import Move
from netwright.verify.comparison import Check

TOKENS, VISITS = "the machine's text", "Linked visits"


def language_model_checks(
    compiled: CompiledLanguageModel, word: Sequence[str], max_steps: int, in_floats: Evaluator
) -> Iterator[Check]:
    """Check every token of one context, up to `max_steps` steps, then what heads look up."""
    vocabulary = compiled.vocabulary
    start = Start(tuple(word))
    text = start.prompt(vocabulary)
    by_definition = compiled.by_definition()
    follower = Follower(vocabulary, word)
    logits = [by_definition.extend(text), in_floats.extend(text)]
    names = ("by the definition", f"in {compiled.dtype}")
    for wanted in machine_text(vocabulary, start):
        time = len(text) + 1
        for name, each in zip(names, logits, strict=True):
            token = int(each.argmax())
            said, right = compiled.text(token), compiled.text(wanted)
            yield Check(time, TOKENS, f"token {time} {name}", said, right, max(0, follower.steps))
        text.append(wanted)
        follower.take(wanted)
        if wanted in (ACCEPT, REJECT) or follower.steps > max_steps or time == compiled.context:
            break
        logits = [each.extend([wanted]) for each in (by_definition, in_floats)]
    yield from _visits(compiled, word, text)


def _visits(
    compiled: CompiledLanguageModel, word: Sequence[str], text: list[int]
) -> Iterator[Check]:
    """Check what the heads that look up visits look at, for all tokens at once."""
    vocabulary, begun = compiled.vocabulary, Start(tuple(word)).begin(compiled.vocabulary)
    _, heads = compiled.network.forward(text)
    visits, cell = begun.visits, begun.cell - begun.move.offset
    for position in range(len(begun.prompt), len(text) - 1, 2):
        step = vocabulary.step_of(text[position])
        assert step is not None
        cell += step.move.offset
        action = vocabulary.machine.action(step.state, step.symbol)
        for name, side in compiled.pointers if action is not None else ():
            assert action is not None
            move = Move(side) if side else action.move
            visit = visits.get(cell + move.offset, begun.nulls[move is Move.R])
            found = int(heads[name][position + 1])
            part = f"what {name} of token {position + 2} looks at"
            yield Check(position + 2, VISITS, part, found, visit, 0)
        visits[cell] = position + 1
