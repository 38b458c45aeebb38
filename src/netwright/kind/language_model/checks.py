"""Checks of a language model against its machine, token by token and head by head.

- *tokens*: what the model writes by its definition, and in floats with softmax, is the machine's
  own text, in which last visits are found by looking back.
- *linked visits*: at every address token the two heads of block 1 look at the last visits of the
  cells to the right and to the left.
"""

from collections.abc import Iterator, Sequence

from netwright.kind.language_model.construction import CompiledLanguageModel
from netwright.kind.language_model.evaluators import Evaluator, HardEvaluator
from netwright.kind.language_model.text import Follower, Start, machine_text
from netwright.kind.language_model.vocabulary import ACCEPT, REJECT
from netwright.verify.comparison import Check

TOKENS, VISITS = "the machine's text", "Linked visits"


def language_model_checks(
    compiled: CompiledLanguageModel, word: Sequence[str], max_steps: int, in_floats: Evaluator
) -> Iterator[Check]:
    """Check every token of one context, up to `max_steps` steps, then the heads of block 1."""
    vocabulary = compiled.vocabulary
    start = Start(tuple(word))
    text = start.prompt(vocabulary)
    by_definition = HardEvaluator(compiled.network)
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
    """Check what the heads of block 1 look at, for all tokens at once."""
    vocabulary, null = compiled.vocabulary, len(word)
    _, heads = compiled.network.forward(text)
    visits = {cell: cell for cell in range(len(word))}
    cell = -1
    for position in range(null + 1, len(text) - 1, 2):
        step = vocabulary.step_of(text[position])
        assert step is not None
        cell += step.move.offset
        for name, neighbour in (("block.1.head.0", cell + 1), ("block.1.head.1", cell - 1)):
            if text[position + 1] in (ACCEPT, REJECT):
                continue
            found = int(heads[name][position + 1])
            part = f"what {name} of token {position + 2} looks at"
            yield Check(position + 2, VISITS, part, found, visits.get(neighbour, null), 0)
        visits[cell] = position + 1
