"""What a runtime computes of a universal Llama, beside the intervals that are proved for it."""

from collections.abc import Iterator, Sequence
from itertools import islice

from tests.certificates.llama_streams import Proved, Text

from netwright.certificates.language_model.classes import Key
from netwright.certificates.language_model.llama.forward import LlamaModel
from netwright.certificates.language_model.llama.universal import LlamaUniversal
from netwright.certificates.language_model.llama.waves import (
    BEYOND,
    DIFFERENCE,
    FAR,
    GIVEN,
    SUM,
)
from netwright.kind.language_model.llama.checkpoint import EPSILON
from netwright.kind.language_model.llama.phases import THETA
from netwright.kind.language_model.llama.universal import STOP, UniversalLlama
from netwright.kind.language_model.universal import ACCEPT, HALT, Renaming, _run_of, prompt_text
from netwright.kind.language_model.vocabulary import Beginning
from netwright.machine.normal_form import remove_stays
from netwright.machine.turing_machine import Move, TuringMachine


def model_of(universal: UniversalLlama) -> LlamaModel:
    """The checkpoint that is written of it."""
    weights = universal.weights()
    tokens = {text: n for n, text in enumerate(universal.network.vocabulary)}
    sizes = weights.tensors, tokens, weights.blocks, weights.heads
    return LlamaModel(*sizes, EPSILON, universal.context, THETA)


def argument_of(universal: UniversalLlama) -> LlamaUniversal:
    return LlamaUniversal(universal.vocabulary.states, universal.vocabulary.symbols)


def text_of(
    universal: UniversalLlama,
    machine: TuringMachine,
    word: Sequence[str],
    left: Sequence[str] = (),
    state: str | None = None,
) -> Text:
    """A prompt with the machine's own run, up to the end of the context.

    The word begins under the head; `left` are the cells left of it, and the run is in `state`.
    """
    vocabulary = universal.vocabulary
    text = prompt_text(machine, (), vocabulary)[0].split(" ")
    rules = text[: text.index("<tape>")]
    renaming, moving = Renaming.of(machine, vocabulary), remove_stays(machine)[0]
    begun_in = moving.start if state is None else state
    cells, m = list(word) or [machine.blank], len(left)
    shown = [renaming.symbols[a] for a in cells]
    words = [
        *("<s>", *rules, "<tape>", *reversed(shown[1:]), "<run>"),
        *(renaming.symbols[a] for a in left),
        *(f"R:{renaming.states[begun_in]}:{shown[0]}", f"@{m + 3}"),
    ]
    prompt, run = [vocabulary.number[each] for each in words], words.index("<run>")
    visits = {cell: run - cell for cell in range(1, len(cells))}
    visits |= {n - m: run + 1 + n for n in range(m)}
    tape = dict(enumerate(cells)) | {n - m: a for n, a in enumerate(left)}
    blanks, nulls = (machine.blank, machine.blank), (run, run - len(cells))
    begun = Beginning(prompt, tape, visits, 0, Move.R, begun_in, blanks, nulls, told=2)
    tokens = list(islice(_run_of(moving, renaming, begun, vocabulary),
                         2 + universal.context - len(prompt)))  # fmt: skip
    assert tokens[:2] == prompt[-2:]
    tokens = [*prompt, *tokens[2:]]
    if tokens[-1] in (ACCEPT, HALT) and len(tokens) < universal.context:
        tokens.append(STOP)
    return Text(tokens, len(prompt))


class ProvedUniversal(Proved):
    """The intervals of a universal Llama in a format."""

    def classes(self, tokens: Sequence[int]) -> Iterator[tuple[int, Key, dict[str, int]]]:
        """The class of each token, and its variables as numbers, by what the text says."""
        texts = [self.texts[token] for token in tokens]
        states, symbols = self.names.states.index, self.names.symbols.index
        rules: dict[str, list[str]] = {}
        tape = texts.index("<tape>")

        def of_step(text: str) -> dict[str, int]:
            q, a = text.split(":")[-2:]
            return {"state": states(q), "symbol": symbols(a)}

        def given(i: int) -> int | None:
            there = texts[i] if i < len(texts) else ""
            return int(there[1:]) if there.startswith("@") else None

        for i, text in enumerate(texts):
            parts, before = text.split(":"), texts[i - 1] if i else ""
            if i == 0:
                yield i, ("start",), {}
            elif text in ("<tape>", "<run>"):
                yield i, (text[1:-1],), {"written": 0}
            elif i < tape and i % 2:
                yield i, ("key",), of_step(text)
            elif i < tape:
                rules[before] = parts
                said = {"next": states(parts[2]), "written": symbols(parts[0])}
                yield i, ("action", parts[1]), said | of_step(before)
            elif len(parts) == 3:
                told, kind = not before.startswith("@"), "ends" if parts[1] == "acc" else "step"
                far = given(i + 1)
                known = {GIVEN: far} if far is not None and not told else {}
                yield i, ("told",) if told else (kind, parts[0]), known | of_step(text)
            elif text[0] == "@":
                m, q, a = before.split(":")
                rule, far = rules.get(f"{q}:{a}"), int(text[1:])
                known = {FAR: far} | of_step(before)
                if rule is None:
                    yield i, ("address", m, "none"), known
                    continue
                w, to, p = rule
                known |= {"next": states(p), "written": symbols(w)}
                if i + 1 < len(texts):
                    known["seen"] = symbols(texts[i + 1].split(":")[2])
                if (more := given(i + 2)) is not None:
                    beyond = more - (far if m == to else 2) - 2
                    known |= {GIVEN: more, BEYOND: beyond}
                    if m == to:
                        known |= {SUM: far + beyond, DIFFERENCE: far - beyond}
                yield i, ("address", m, to), known
            elif text == "<accept>":
                yield i, ("accept", before[0]), of_step(before)
            elif text == "<halt>":
                yield i, ("halt",), {}
            elif text != "</s>":
                yield i, ("letter",), {"written": symbols(text)}
