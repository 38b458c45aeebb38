"""What a runtime computes of a Llama, beside the intervals that are proved for it."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tests.certificates.float_streams import UNIT, Streams, starts_of, texts_of

from netwright.certificates.language_model.boxes import NONE
from netwright.certificates.language_model.checker import Proof
from netwright.certificates.language_model.classes import Key
from netwright.certificates.language_model.llama.classes import Group, LlamaArgument, LlamaNames
from netwright.certificates.language_model.llama.forward import LlamaModel, prove_llama
from netwright.certificates.language_model.llama.waves import (
    BEYOND,
    BITS,
    DIFFERENCE,
    FAR,
    GIVEN,
    MOST_PAIRS,
    SUM,
    VARIABLES,
    Waves,
)
from netwright.certificates.language_model.rounding import Format
from netwright.certificates.reading import Machine
from netwright.kind.language_model.llama.evaluators import FloatLlama
from netwright.kind.language_model.llama.vocabulary import STOP, UNKNOWN, LlamaVocabulary
from netwright.kind.language_model.text import Start
from netwright.kind.language_model.vocabulary import REJECT, RUN
from netwright.machine.turing_machine import TuringMachine
from netwright.machine.written import behaviour
from netwright.network.float_certificate import files_of
from netwright.network.network import compile_network


def names_of(machine: TuringMachine) -> LlamaNames:
    return LlamaNames.of(Machine(behaviour(machine)))


def model_of(machine: TuringMachine, context: int) -> LlamaModel:
    """The checkpoint that is written of a machine."""
    model = files_of(compile_network(machine, "llama", context=context)).model
    assert isinstance(model, LlamaModel)
    return model


class Text(NamedTuple):
    """Tokens, and how many of them are the prompt."""

    tokens: list[int]
    prompt: int


def texts(machine: TuringMachine, context: int, starts: Sequence[Start] | None = None
          ) -> Iterator[Text]:  # fmt: skip
    """Prompts with the machine's own run, up to the end of the context; and refused ones."""
    vocabulary = LlamaVocabulary.of(machine, context)
    chosen = starts_of(machine, context) if starts is None else starts
    for start, tokens in zip(chosen, texts_of(vocabulary, chosen), strict=True):
        if tokens[-1] < 3 and len(tokens) < context:
            tokens = [*tokens, STOP]
        yield Text(tokens, len(start.prompt(vocabulary)))
    letter = vocabulary.number[machine.blank]
    for word in ([UNKNOWN], [letter, UNKNOWN, letter], [UNKNOWN, letter, UNKNOWN]):
        prompt = [vocabulary.prompt(())[0], *word, RUN]
        if len(prompt) + 2 <= context:
            yield Text([*prompt, REJECT, STOP], len(prompt))


class Recorded(FloatLlama):
    """Our own evaluator, which keeps the stream before every norm."""

    def __init__(self, model: LlamaModel, dtype: str) -> None:
        super().__init__(dict(model.tensors), model.context, dtype, model.theta)
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

    names: Any

    def __init__(self, model: LlamaModel, names: LlamaArgument, format: Format) -> None:
        self.boxes: dict[str, dict[Key, tuple[Waves, int]]] = {}
        self.refused: dict[str, dict[Key, tuple[Waves, int]]] = {}
        self.model, self.names = model, names
        self.texts = {number: text for text, number in model.tokens.items()}
        self.w = model.theta ** (-np.arange(32) / 32)
        self.proof: Proof = prove_llama(model, names, format, watch=self._keep)

    def _keep(self, name: str, group: Group, stream: Waves) -> None:
        own = self.boxes.setdefault(name, {})
        for n, each in enumerate(group.classes):
            if each.key in own:  # those of refused prompts come second
                own = self.refused.setdefault(name, {})
            own[each.key] = stream, n

    def classes(self, tokens: Sequence[int]) -> Iterator[tuple[int, Key, dict[str, int]]]:
        """The class of each token, and its variables as numbers, by what the text says."""
        found = [self.texts[token] for token in tokens]
        names = self.names
        steps = {
            names.step(m, q, a): (m, q, a)
            for m, q in dict.fromkeys([*(("R", q) for q in names.states), *names.entered])
            for a in names.symbols
        }
        letters = {names.texts[6 + n]: a for n, a in enumerate(names.letters)}
        refused = "<unk>" in found

        def given(i: int) -> int | None:
            there = found[i] if i < len(found) else ""
            return int(there[1:]) if there.startswith("@") else None

        for i, text in enumerate(found):
            before = found[i - 1] if i else ""
            if i == 0:
                yield i, ("start",), {}
            elif text in letters:
                yield i, ("letter", letters[text]), {}
            elif text == "<unk>":
                yield i, ("<unk>",), {}
            elif text == "<run>" and refused:
                yield i, ("<run>", "<unk>", "unknown" if before == "<unk>" else "letter"), {}
            elif text == "<run>":
                seen = names.edge if i == 1 else letters[before]
                yield i, ("run", seen), self._around(1, given(i + 2))
            elif text in steps:
                if before in letters or (before in ("<run>", "<s>") and text[0] == "R"):
                    last = "run" if before == "<run>" else "letters"
                    yield i, ("told", *steps[text], last), {}
                else:
                    far = given(i + 1)
                    yield i, ("step", *steps[text]), {} if far is None else {GIVEN: far}
            elif text.startswith("@"):
                if i + 1 == len(found):
                    return
                m, q, a = steps[before]
                _, _, to = names.delta[q, a]
                far = int(text[1:])
                known = self._around(far if m == to else 2, given(i + 2)) | {FAR: far}
                if m == to and BEYOND in known:
                    known |= {SUM: far + known[BEYOND], DIFFERENCE: far - known[BEYOND]}
                yield i, ("address", m, q, a, steps[found[i + 1]][2]), known
            elif text == "</s>":
                return
            elif refused:
                unknown = found[i - 2] == "<unk>"
                yield i, ("end", text, "unknown" if unknown else "letter"), {}
            else:
                yield i, ("end", *steps[before]), {}

    @staticmethod
    def _around(ahead: int, given: int | None) -> dict[str, int]:
        return {} if given is None else {GIVEN: given, BEYOND: given - ahead - 2}

    def outside(self, tokens: Sequence[int], streams: Streams) -> Iterator[str]:
        """Coordinates that a runtime computed and that are not in their intervals."""
        refused = any(self.texts[token] == "<unk>" for token in tokens)
        for i, key, known in self.classes(tokens):
            for name, rows in streams.items():
                own = self.boxes.get(name, {})
                if refused:
                    own = own | self.refused.get(name, {})
                found = own.get(key) or own.get(key[:-1])
                if found is None:
                    assert name == "model.norm", key  # it has no right next token
                    continue
                box, n = found
                x, wave, slope = np.asarray(rows[i], np.float64), *np.zeros((2, box.c.shape[1]))
                for d in np.flatnonzero((box.var != NONE) & (box.k[n] != 0)).tolist():
                    kind, pair = VARIABLES[box.var[d] // MOST_PAIRS], int(box.var[d] % MOST_PAIRS)
                    if kind in BITS and kind in known:
                        wave[d] = box.k[n, d].real * (1 if known[kind] >> pair & 1 else -1)
                    elif kind in known:
                        wave[d] = (box.k[n, d] * np.exp(-1j * self.w[pair] * known[kind])).real
                    else:
                        slope[d] = abs(box.k[n, d])
                far = np.abs(x - box.c[n] - wave) - box.r[n] - slope
                if not (far <= 1e-13).all():
                    most = int(far.argmax())
                    yield f"{name}: token {i} {key}: coordinate {most} is {x[most]}, too far"

    def too_small(self, text: Text, logits: NDArray[Any]) -> Iterator[str]:
        """Leads of right tokens that are smaller than those proved, or tokens that are wrong."""
        for i in range(text.prompt - 1, len(text.tokens) - 1):
            row = np.asarray(logits[i], np.float64)
            right = text.tokens[i + 1]
            lead = (row[right] - np.delete(row, right).max()) / UNIT
            said = self.texts[right]
            sort = "address" if said[0] == "@" else "end" if said[0] == "<" else "step"
            if not lead >= self.proof.leads[sort].least - 1e-12:
                yield f"token {i + 1}, {said}: lead {lead}"
