"""What a runtime computes of a language model, beside the intervals that are proved for it."""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netwright.certificates.language_model.boxes import NONE, Stream
from netwright.certificates.language_model.checker import Model, Proof, prove
from netwright.certificates.language_model.classes import KINDS, Group, Key, Names
from netwright.certificates.language_model.rounding import Format
from netwright.certificates.language_model.variables import MOST_BITS
from netwright.certificates.reading import Machine
from netwright.kind.language_model.construction import compile_language_model
from netwright.kind.language_model.evaluators import FloatEvaluator
from netwright.kind.language_model.text import Start, machine_text
from netwright.kind.language_model.vocabulary import Vocabulary
from netwright.machine.turing_machine import TuringMachine
from netwright.machine.written import behaviour

Streams = Mapping[str, NDArray[Any]]
UNIT = 16
"""What the logits of a checkpoint are multiplied by."""


def names_of(machine: TuringMachine) -> Names:
    return Names.of(Machine(behaviour(machine)))


def model_of(machine: TuringMachine, context: int) -> Model:
    """The checkpoint that is written of a machine."""
    compiled = compile_language_model(machine, context)
    weights = compiled.weights()
    tokens = {text: n for n, text in enumerate(compiled.network.vocabulary)}
    return Model(weights.tensors, tokens, weights.blocks, weights.heads, 1e-5, context)


def texts_of(vocabulary: Vocabulary, starts: Sequence[Start]) -> Iterator[list[int]]:
    """Prompts with the machine's own run, up to the end of the context."""
    for start in starts:
        prompt = start.prompt(vocabulary)
        yield [*prompt, *islice(machine_text(vocabulary, start), vocabulary.context - len(prompt))]


def starts_of(machine: TuringMachine, context: int, count: int = 4) -> list[Start]:
    """Its own input, the empty word, and configurations in the middle of a run."""
    vocabulary, draw = Vocabulary.of(machine, context), random.Random(0)
    word = machine.default_input[: context // 3]
    found = [Start(word), Start(())]
    for state in draw.sample(vocabulary.machine.states, min(count, len(vocabulary.machine.states))):
        ahead = draw.choices(vocabulary.symbols, k=draw.randrange(4))
        behind = draw.choices(vocabulary.symbols, k=draw.randrange(1, 4))
        found.append(Start(tuple(ahead), tuple(behind), state))
    return found


def prompt_length(texts: Sequence[str]) -> int:
    """The number of tokens before the first that a model writes."""
    end = texts.index("<run>") + 1
    while end < len(texts) and texts[end].startswith("left:"):
        end += 2
    return end


def written_by_model(proved: "Proved", tokens: Sequence[int]) -> int:
    """The place of the first token that a model writes."""
    return prompt_length([proved.texts[token] for token in tokens])


class Recorded(FloatEvaluator):
    """Our own evaluator, which keeps the stream before every norm."""

    def __init__(self, model: Model, dtype: str) -> None:
        super().__init__(dict(model.tensors), model.blocks, dtype)
        self.streams: dict[str, NDArray[Any]] = {}

    def _norm(self, x: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        self.streams[name] = x.copy()
        return super()._norm(x, name)

    def all_of(self, tokens: list[int]) -> tuple[Streams, NDArray[Any]]:
        """The streams and the logits of a text."""
        self.restart()
        logits = self.all_logits(tokens)
        return dict(self.streams), logits


class Proved:
    """The intervals of a model in a format."""

    def __init__(self, model: Model, names: Names, format: Format) -> None:
        self.boxes: dict[str, dict[Key, tuple[Stream, int]]] = {}
        self.model, self.names = model, names
        self.texts = {number: text for text, number in model.tokens.items()}
        self.proof: Proof = prove(model, names, format, watch=self._keep)

    def _keep(self, name: str, group: Group, stream: Stream) -> None:
        own = self.boxes.setdefault(name, {})
        for n, each in enumerate(group.classes):
            own[each.key] = own.get(each.key, (stream, n))  # not those of refused prompts

    def classes(self, tokens: Sequence[int]) -> Iterator[tuple[int, Key, dict[str, int]]]:
        """The class of each token, and its variables as numbers, by what the text says."""
        texts = [self.texts[token] for token in tokens]
        steps = {self.names.step(*each): each for each in self.names.all_steps}
        states = (None, *self.names.states)
        symbols = self.names.machine.symbols
        lefts = {self.names.left(a, q): (a, q) for q in states for a in symbols}
        letters = {self.texts[self.model.tokens[text]]: text for text in texts if text in symbols}
        for i, text in enumerate(texts):
            known = {"T": i, "A": i - 1, "N": i - 3}
            after = [steps.get(each) for each in texts[i + 1 :]]
            following = next((step for step in after if step is not None), None)
            seen = None if following is None else following[2]
            if text in letters:
                yield i, ("letter first" if i == 0 else "letter", text), known
            elif text == "<run>":
                if i and texts[0] in letters:
                    seen = texts[0]
                if seen is None:
                    return
                if i + 1 < len(texts) and texts[i + 1] in steps and i + 2 < len(texts):
                    known |= self._address("ahead", texts[i + 2])
                yield i, ("run", seen) if i else ("run first",), known
            elif text in steps:
                if i + 1 < len(texts):
                    known |= self._address("given", texts[i + 1])
                yield i, ("step", *steps[text]), known
            elif text in lefts:
                a, q = lefts[text]
                yield i, ("left", a, q) if q else ("left", a), known
            elif text.startswith("@"):
                known |= self._address("far", text)
                before = texts[i - 1]
                if i + 2 < len(texts) and texts[i + 1] in steps:
                    known |= self._address("ahead", texts[i + 2])
                if before in lefts and lefts[before][1] is None:
                    yield i, ("passed", lefts[before][0]), known
                elif seen is None or i + 1 == len(texts):
                    return
                elif before in lefts:
                    yield i, ("resumed", *lefts[before], seen), known  # type: ignore[misc]
                else:
                    yield i, ("address", *steps[before], seen), known

    @staticmethod
    def _address(name: str, text: str) -> dict[str, int]:
        return {name: int(text[1:]) - 1} if text.startswith("@") else {}

    def outside(self, tokens: Sequence[int], streams: Streams) -> Iterator[str]:
        """Coordinates that a runtime computed and that are not in their intervals."""
        for i, key, known in self.classes(tokens):
            for name, rows in streams.items():
                own = self.boxes.get(name, {})
                found = own.get(key) or own.get(key[:-1])
                if found is None:
                    assert name == "transformer.ln_f", key  # it has no right next token
                    continue
                stream, n = found
                box, x = stream.box, np.asarray(rows[i], np.float64)
                bit, slope = np.zeros(len(x)), np.zeros(len(x))
                for d in np.flatnonzero(box.var != NONE).tolist():
                    kind, place = KINDS[box.var[d] // MOST_BITS], int(box.var[d] % MOST_BITS)
                    if kind in known:
                        bit[d] = 1 if known[kind] >> place & 1 else -1
                    else:
                        slope[d] = abs(box.k[n, d])
                far = np.abs(x - box.c[n] - box.k[n] * bit) - box.r[n] - slope
                if (far > 0).any():
                    most = int(far.argmax())
                    yield f"{name}: token {i} {key}: coordinate {most} is {x[most]}, too far"
                if abs(x.sum()) > stream.total[n] + 2.0**-45 * np.abs(x).sum():
                    yield f"{name}: token {i} {key}: sum {x.sum()} > {stream.total[n]}"

    def too_small(self, tokens: Sequence[int], prompt: int, logits: NDArray[Any]) -> Iterator[str]:
        """Leads of right tokens that are smaller than those proved, or tokens that are wrong."""
        for i in range(prompt - 1, len(tokens) - 1):
            row = np.asarray(logits[i], np.float64)
            right = tokens[i + 1]
            lead = (row[right] - np.delete(row, right).max()) / UNIT
            text = self.texts[right]
            sort = "address" if text[0] == "@" else "end" if text[0] == "<" else "step"
            if not lead >= self.proof.leads[sort].least - 1e-12:
                yield f"token {i + 1}, {text}: lead {lead}"
