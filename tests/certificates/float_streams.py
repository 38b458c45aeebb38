"""What a runtime computes of a language model, beside the intervals that are proved for it."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from netwright.certificates.language_model.boxes import NONE, Stream
from netwright.certificates.language_model.checker import Model, Proof, prove
from netwright.certificates.language_model.classes import KINDS, Argument, Group, Key, Names
from netwright.certificates.language_model.llama.forward import LlamaModel
from netwright.certificates.language_model.rounding import Format
from netwright.certificates.language_model.variables import MOST_BITS
from netwright.certificates.reading import Machine
from netwright.kind.language_model.construction import compile_language_model
from netwright.kind.language_model.definition import Head, Matrix
from netwright.kind.language_model.evaluators import FloatEvaluator
from netwright.kind.language_model.text import Start, machine_text
from netwright.kind.language_model.vocabulary import Vocabulary
from netwright.machine.turing_machine import TuringMachine
from netwright.machine.written import behaviour

Streams = Mapping[str, NDArray[Any]]
UNIT = 16
"""What the logits of a checkpoint are multiplied by."""
AnyModel = TypeVar("AnyModel", Model, LlamaModel)
UNROUNDED = Format("unrounded", 2.0**-200, 0.0, 1e300, np.float64)
"""Real numbers: what is left is the slack for the checker's own float64."""


def names_of(machine: TuringMachine) -> Names:
    return Names.of(Machine(behaviour(machine)))


def model_of(machine: TuringMachine, context: int) -> Model:
    """The checkpoint that is written of a machine."""
    compiled = compile_language_model(machine, context)
    weights = compiled.weights()
    tokens = {text: n for n, text in enumerate(compiled.network.vocabulary)}
    return Model(weights.tensors, tokens, weights.blocks, weights.heads, 1e-5, context)


def damaged(model: AnyModel, draw: random.Random) -> tuple[str, AnyModel]:
    """One weight changed; half of them any, half of those that are not 0."""
    name = draw.choice(sorted(model.tensors))
    tensor = model.tensors[name].copy()
    places = np.argwhere(tensor != 0) if draw.random() < 0.5 else None
    if places is None or not len(places):
        place = tuple(draw.randrange(size) for size in tensor.shape)
    else:
        place = tuple(int(n) for n in places[draw.randrange(len(places))])
    old = tensor[place]
    tensor[place] = draw.choice([0, -old, 2 * old, old + 1, old - 1, old * np.float32(1.01)])
    return f"{name}{list(place)}: {old} -> {tensor[place]}", replace(
        model, tensors={**model.tensors, name: tensor}
    )


def swapped(head: Head, part: str, old: str, new: str) -> Head:
    """A head that reads one block in place of another."""
    matrix: Matrix = getattr(head, part)
    places = dict(zip(matrix.rows.places(old), matrix.rows.places(new), strict=True))
    entries = {(places.get(j, j), k): w for (j, k), w in matrix.entries.items() if j not in
               matrix.rows.places(new)}  # fmt: skip
    changed: dict[str, Any] = {part: replace(matrix, entries=entries)}
    return replace(head, **changed)


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

    def __init__(self, model: Model, argument: Argument, format: Format) -> None:
        self.boxes: dict[str, dict[Key, tuple[Stream, int]]] = {}
        self.model, self.argument = model, argument
        self.texts = {number: text for text, number in model.tokens.items()}
        self.proof: Proof = prove(model, argument, format, watch=self._keep)

    def _keep(self, name: str, group: Group, stream: Stream) -> None:
        own = self.boxes.setdefault(name, {})
        for n, each in enumerate(group.classes):
            own[each.key] = own.get(each.key, (stream, n))  # not those of refused prompts

    def classes(self, tokens: Sequence[int]) -> Iterator[tuple[int, Key, dict[str, int]]]:
        """The class of each token, and its variables as numbers, by what the text says."""
        texts, names = [self.texts[token] for token in tokens], self.argument
        assert isinstance(names, Names)
        steps = {names.step(*each): each for each in names.all_steps}
        states = (None, *names.states)
        symbols = names.machine.symbols
        lefts = {names.left(a, q): (a, q) for q in states for a in symbols}
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


class Balls:
    """A checkpoint in real numbers, as balls of 200 bits: no rounding but the balls' own."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.streams: dict[str, arb_mat] = {}

    def tensor(self, name: str) -> arb_mat:
        array = np.atleast_2d(self.model.tensors[f"{name}"])
        return arb_mat(array.astype(float).tolist())

    def affine(self, x: arb_mat, name: str) -> arb_mat:
        bias = self.tensor(f"{name}.bias").table()[0]
        rows = (x * self.tensor(f"{name}.weight")).table()
        return arb_mat([[a + b for a, b in zip(row, bias, strict=True)] for row in rows])

    def norm(self, x: arb_mat, name: str) -> arb_mat:
        self.streams[name] = x
        weight = self.tensor(f"{name}.weight").table()[0]
        found = []
        for row in x.table():
            mean = sum(row, arb(0)) / len(row)
            variance = sum(((a - mean) * (a - mean) for a in row), arb(0)) / len(row)
            scale = 1 / (variance + arb(self.model.epsilon)).sqrt()
            found.append([(a - mean) * scale * w for a, w in zip(row, weight, strict=True)])
        return arb_mat(found)

    def attention(self, qkv: arb_mat) -> arb_mat:
        rows, D, heads = qkv.table(), self.model.width, self.model.heads
        size, out = D // heads, [list[arb]() for _ in range(qkv.nrows())]
        for h in range(heads):
            q, k, v = (
                [row[t * D + h * size : t * D + (h + 1) * size] for row in rows] for t in range(3)
            )
            scores = arb_mat(q) * arb_mat(k).transpose()
            for i in range(len(rows)):
                weights = [(scores[i, j] / arb(size).sqrt()).exp() for j in range(i + 1)]
                total = sum(weights, arb(0))
                for d in range(size):
                    out[i].append(sum((w * v[j][d] for j, w in enumerate(weights)), arb(0)) / total)
        return arb_mat(out)

    def run(self, tokens: list[int]) -> Streams:
        wte, wpe = (self.model.tensors[f"transformer.{n}.weight"] for n in ("wte", "wpe"))
        x = arb_mat((wte[tokens].astype(float) + wpe[: len(tokens)]).tolist())
        for n in range(self.model.blocks):
            place = f"transformer.h.{n}"
            qkv = self.affine(self.norm(x, f"{place}.ln_1"), f"{place}.attn.c_attn")
            x = x + self.affine(self.attention(qkv), f"{place}.attn.c_proj")
            hidden = self.affine(self.norm(x, f"{place}.ln_2"), f"{place}.mlp.c_fc").table()
            hidden = [[a if a > 0 else arb(0) for a in row] for row in hidden]
            x = x + self.affine(arb_mat(hidden), f"{place}.mlp.c_proj")
        self.norm(x, "transformer.ln_f")
        return {
            name: np.array([[float(a.mid()) for a in row] for row in x.table()])
            for name, x in self.streams.items()
        }
