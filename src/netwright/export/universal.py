"""Export the universal language model: one checkpoint for all machines within its bounds."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from os import PathLike
from typing import Any

import numpy as np

from netwright.certificates.language_model.llama.universal import LlamaUniversal
from netwright.certificates.language_model.universal import Universal, prompt_obligations
from netwright.errors import FormatError, InputError, NetworkError
from netwright.exact.meanings import Meanings
from netwright.export.check import Checked
from netwright.export.checkpoint import CheckedText, TextTarget
from netwright.export.folder import OUTPUTS, Export, check_count, destination, write_export
from netwright.export.subject import Subject
from netwright.export.target import Opened, Target
from netwright.export.targets import TARGETS, target_named
from netwright.kind.language_model.kind import ARCHITECTURE, LLAMA, plain_language_model
from netwright.kind.language_model.llama.universal import UNIVERSAL_MEANINGS as UNIVERSAL_LLAMA
from netwright.kind.language_model.llama.universal import (
    LlamaUniversalVocabulary,
    universal_llama,
)
from netwright.kind.language_model.stream import MEANINGS
from netwright.kind.language_model.universal import (
    ACCEPT,
    HALT,
    UniversalModel,
    UniversalVocabulary,
    prompt_text,
    universal_model,
    universal_text,
)
from netwright.machine.library import library_machine, library_names
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.text import Notify, counted

KIND = "universal-language-model"
FIRST = ("palindrome", "busy-beaver-4", "binary-increment", "busy-beaver-5")
"""The machines to check first, before others of the library."""
MOST_MACHINES = 6
UNIVERSAL_MEANINGS = Meanings(
    blocks={
        **MEANINGS.blocks,
        "isS": "1 for a step",
        "isAct": "1 for the action of a rule",
        "isTape": "1 for <tape>",
        "isBOS": "1 for <bos>",
        "first": "1 for the first letter of the tape",
        "hlt": "1 where no rule fits",
        "VQ": "the next state of an action",
        "VW": "the symbol that an action writes",
        "VM": "the move of an action",
    },
    hidden={},
    weights={
        "block.0.head.0": "the token before: a step for its address token, a key for its action",
        "block.1.head.0": "the rule for state and symbol, in the prompt; or <bos>: there is none",
        "block.2.head.0": "the last visit of the cell to the right",
        "block.2.head.1": "the last visit of the cell to the left",
        "block.3.head.0": "the token before: a step token takes over the far address",
    },
)
READING = (
    "A rule is two tokens, `q0:a #:R:q1`: in state q0 on symbol a write #, move right, go to q1. "
    "Rules come in any order, at most one per state and symbol; the run begins in q0, # is the "
    "blank, and `acc` accepts. "
)
END = (
    "A run ends with `<accept>`, or with `<halt>` where no rule fits. {unknown}`netwright compile "
    "MACHINE INPUT --prompt --model DIR` writes the prompt of any machine, and `netwright parse` "
    "reads the text."
)
TEXTS: dict[str, dict[str, Any]] = {
    "gpt2": {
        "before": ["<bos>"],
        "after": ["<run>"],
        "ends": ["<accept>", "<halt>"],
        "reading": (
            "The prompt is rules, `<tape>`, and the input; the tokenizer puts `<bos>` before it "
            f"and `<run>` after it. {READING}The run follows, two tokens per step: `R:q1:b` means: "
            "moved right, now in q1, reads b; `@p` is the position at which the cell ahead was "
            "last visited. "
            + END.format(unknown="An unknown word becomes `<unk>`, and `<halt>` follows at once. ")
        ),
    },
    LLAMA: {
        "before": ["<s>"],
        "after": [],
        "ends": ["</s>"],
        "letters": [],
        "reading": (
            "The prompt is rules, `<tape>`, the cells right of the head, the farthest first, "
            "`<run>`, those left of it, the leftmost first, `R:q0:a @3`, with a under the head and "
            "3 more than the cells to the left; the tokenizer puts `<s>` before it. "
            f"{READING}The run follows, two tokens per step: `R:q1:b` means: moved right, now in "
            "q1, reads b; `@k` is how many tokens back the cell ahead was last visited. "
            + END.format(unknown="Words that are no tokens are not noticed. ")
        ),
    },
}


SMALLEST = TuringMachine(
    ["s", "t"], ["_", "1"], "_", "s", {("s", "_"): Action("t", "1", Move.R)}, ["t"]
)
"""A machine that fits into any universal model."""


class UniversalSubject(Subject):
    """A universal model, checked on machines of the library that fit."""

    kind, name = KIND, ""

    def __init__(self, model: UniversalModel, count: int, target: TextTarget) -> None:
        self.model, self.count = model, count
        vocabulary = model.vocabulary
        states, symbols = len(vocabulary.states) - 1, len(vocabulary.symbols)
        self.title = (
            f"universal language model for {counted(states, 'state')} and "
            f"{counted(symbols, 'symbol')}, context {model.context:,}"
        )
        self.dimension = model.network.stream.dimension
        names: dict[str, Any] = {
            "kind": KIND,
            "machine": "",
            "example": self._example(),
            "states": list(vocabulary.states),
            "symbols": list(vocabulary.symbols),
        }
        weights = model.weights()
        names |= TEXTS[weights.architecture]
        meanings = UNIVERSAL_LLAMA if weights.architecture == LLAMA else UNIVERSAL_MEANINGS
        self.tensors = target.prepared(
            plain_language_model(names, model.network, meanings, weights)
        )

    def _example(self) -> str:
        for name in ("binary-increment", "busy-beaver-2"):
            machine = library_machine(name)
            try:
                return prompt_text(machine, machine.default_input, self.model.vocabulary)[0]
            except InputError:
                continue
        return "q0:# 1:R:acc <tape>"

    def introduction(self) -> str:
        """Describe the model for the README."""
        return (
            "A stock language model whose weights were computed, not trained, by netwright. It "
            "runs every Turing machine within its bounds: the machine is text in the prompt. This "
            f"is a {self.title}."
        )

    def _texts(self) -> Iterator[CheckedText]:
        """Yield the texts that the model must write for machines within its bounds."""
        vocabulary = self.model.vocabulary
        found = {name: library_machine(name) for name in (*FIRST, *library_names())}
        for name, machine in {**found, "one step": SMALLEST}.items():
            try:
                prompt, run = universal_text(machine, machine.default_input, vocabulary)
            except InputError:
                continue
            text, _ = prompt_text(machine, machine.default_input, vocabulary)
            check_prompt(text.split(" "), vocabulary)
            room = min(self.count, vocabulary.context - len(prompt))
            tokens = [*prompt, *islice(run, room)]
            logits, _ = self.model.network.forward(tokens[:-1])
            if not np.array_equal(logits[len(prompt) - 1 :].argmax(axis=1), tokens[len(prompt) :]):
                raise NetworkError(f"the universal model does not run {name}")
            word = (f"{name}:", *machine.default_input)
            yield CheckedText(word, tokens, len(prompt), tokens[-1] in (ACCEPT, HALT))

    def check(self, target: Target, opened: Opened, notify: Notify) -> list[Checked]:
        """Compare the texts token by token."""
        assert isinstance(target, TextTarget)
        return target.check(opened, list(islice(self._texts(), MOST_MACHINES)), notify)


def check_prompt(words: Sequence[str], vocabulary: UniversalVocabulary) -> None:
    """Raise NetworkError for a prompt that is not as the model's certificate asks for it."""
    kind = LlamaUniversal if isinstance(vocabulary, LlamaUniversalVocabulary) else Universal
    about = kind(vocabulary.states, vocabulary.symbols)
    for each in prompt_obligations(about, words, vocabulary.context):
        if each.failure is not None:
            raise NetworkError(f"the prompt is not as its model needs it: {each.failure}")


def export_universal(
    to: str,
    path: PathLike[str] | str,
    *,
    states: int = 16,
    symbols: int = 8,
    context: int = 2048,
    architecture: str | None = None,
    dtype: str | None = None,
    check: int = OUTPUTS,
    keep_failed: bool = False,
    force: bool = False,
    notify: Notify = lambda _: None,
) -> Export:
    """Write the universal model for given numbers of states and symbols, and check it."""
    target = target_named(to)
    if not isinstance(target, TextTarget):
        names = [each.name for each in TARGETS.values() if isinstance(each, TextTarget)]
        raise InputError(f"a universal language model is for {', '.join(names)}; not for {to}")
    dtype = target.read_dtype(dtype)
    check_count(check)
    place = destination(target, path, force=force)
    target.check_installed()
    is_llama = ARCHITECTURE.read(architecture or target.weights) == LLAMA
    make = universal_llama if is_llama else universal_model
    subject = UniversalSubject(make(states, symbols, context), check, target)
    options = {"keep_failed": keep_failed, "force": force}
    return write_export(subject, target, place, dtype, notify=notify, **options)


def vocabulary_of(names: dict[str, Any]) -> UniversalVocabulary:
    """Read a universal model's vocabulary from its names.json; raise an error if it is damaged."""
    if names.get("kind") != KIND:
        raise InputError("that is not a universal language model")
    with suppress(LookupError, TypeError, ValueError):
        states, symbols = tuple(names["states"]), tuple(names["symbols"])
        is_llama = names.get("architecture") == LLAMA
        kind = LlamaUniversalVocabulary if is_llama else UniversalVocabulary
        found = kind(states, symbols, int(names["context"]))
        if list(found.texts) == names["vocabulary"]:
            return found
    raise FormatError("its names.json is incomplete; export it again")
