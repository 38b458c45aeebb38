"""Prompts for exported language models, and the runs that these write."""

import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from netwright.errors import FormatError, InputError
from netwright.export.checkpoint import CheckpointTarget, read_tensors
from netwright.export.targets import TARGETS
from netwright.export.universal import vocabulary_of
from netwright.following.language_model import run_language_model
from netwright.machine.load import load_machine
from netwright.machine.simulate import Engine, Run, check_limit, read_engine
from netwright.machine.turing_machine import TuringMachine
from netwright.networks.network import Word
from netwright.networks.saved import load_network
from netwright.runtime.language_model import FloatEvaluator, TorchEvaluator
from netwright.theorems.beyond.language_model.universal import (
    Renaming,
    UniversalVocabulary,
    prompt_text,
)


class Prompt(str):
    """A prompt for a universal model; `states` and `symbols` say what it calls the machine's."""

    states: dict[str, str]
    symbols: dict[str, str]

    def __new__(cls, text: str, renaming: Renaming) -> "Prompt":
        """The text, with the names."""
        found = super().__new__(cls, text)
        found.states, found.symbols = renaming.states, renaming.symbols
        return found


def read_names(folder: PathLike[str] | str) -> dict[str, Any]:
    """The names of an exported network."""
    path = Path(folder) / "names.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise FormatError(f"{folder} is no folder that netwright exported") from None
    if not isinstance(found, dict):
        raise FormatError(f"{folder} is no folder that netwright exported")
    return found


def prompt(
    machine: TuringMachine | PathLike[str] | str,
    word: Word | None = None,
    *,
    model: PathLike[str] | str | UniversalVocabulary,
) -> Prompt:
    """A machine and its input as the prompt of a universal language model: `netwright.prompt`.

    Args:
        machine: a machine, or what `load_machine` takes.
        word: the input; none means the machine's default input.
        model: the folder of an exported universal model.

    The model's tokenizer puts `<bos>` before and `<run>` behind it. States and symbols are renamed
    to the model's: the result's `states` and `symbols` keep the names.
    """
    given = machine if isinstance(machine, TuringMachine) else load_machine(machine)
    known = model if isinstance(model, UniversalVocabulary) else vocabulary_of(read_names(model))
    letters = given.check_word(given.default_input if word is None else word)
    return Prompt(*prompt_text(given, letters, known))


def generate(
    model: PathLike[str] | str,
    word: Word | None = None,
    max_steps: int = 1000,
    *,
    engine: Engine | str = Engine.FAST,
) -> Run:
    """The run that an exported language model writes, one context after the other.

    Args:
        model: the folder of a machine's own model, for gpt2 or opt.
        word: the input; none means the machine's default input.
        max_steps: how many steps of the machine it may take.
        engine: `fast`, which is netwright's own evaluator, or `torch`, which is transformers'
        GPT-2.

    The weights are those in the folder; when a context is full, the text is read off and a new
    prompt goes on from there.
    """
    check_limit(max_steps)
    chosen = read_engine(engine)
    if chosen not in (Engine.FAST, Engine.TORCH):
        raise InputError(f"engine is {chosen}; expected fast or torch")
    names = read_names(model)
    if names.get("kind") != "language-model":
        raise InputError(f"{model} is no language model of one machine")
    network = load_network(Path(model) / "netwright.safetensors")
    config = json.loads((Path(model) / "config.json").read_text(encoding="utf-8"))
    target = next(
        each
        for each in TARGETS.values()
        if isinstance(each, CheckpointTarget) and each.model_type == config["model_type"]
    )
    stored = target.stored_as(read_tensors(Path(model) / "model.safetensors"))
    tensors = {name: array.astype(np.float32) for name, array in stored.items()}
    make = TorchEvaluator if chosen is Engine.TORCH else FloatEvaluator
    evaluator = make(tensors, int(names["blocks"]), str(config["dtype"]))
    given = network.machine
    letters = given.check_word(given.default_input if word is None else word)
    return run_language_model(network.compiled, letters, max_steps, evaluator, chosen)
