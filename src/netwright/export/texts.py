"""Prompts for exported language models, and the runs that these write."""

import json
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from netwright.errors import FormatError, InputError, NetwrightError
from netwright.export.checkpoint import CheckpointTarget
from netwright.export.place import check_intact
from netwright.export.targets import TARGETS
from netwright.export.universal import check_prompt, vocabulary_of
from netwright.kind.language_model.kind import DTYPE, check_engine
from netwright.kind.language_model.parse import Known, ParsedText, Rule, parse_texts
from netwright.kind.language_model.reading import run_language_model
from netwright.kind.language_model.universal import Renaming, UniversalVocabulary, prompt_text
from netwright.machine.load import load_machine
from netwright.machine.normal_form import remove_stays
from netwright.machine.simulate import Engine, Run, check_limit, read_engine
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import Network, Word
from netwright.network.saved import load
from netwright.text import shortened

LANGUAGE_MODEL = "language-model"


class Prompt(str):
    """A prompt for a universal model; `states` and `symbols` map the machine's names to its own."""

    states: dict[str, str]
    symbols: dict[str, str]

    def __new__(cls, text: str, renaming: Renaming) -> "Prompt":
        """Make a prompt from a text and the names in it."""
        found = super().__new__(cls, text)
        found.states, found.symbols = renaming.states, renaming.symbols
        return found


def read_names(folder: PathLike[str] | str, *, damaged: bool = False) -> dict[str, Any]:
    """Read names.json of an export, after checking all its files unless they may be `damaged`."""
    if not damaged:
        check_intact(Path(folder))
    path = Path(folder) / "names.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise FormatError(f"{folder} is not a folder exported by netwright")
    return found


def prompt(
    machine: TuringMachine | PathLike[str] | str,
    word: Word | None = None,
    *,
    model: PathLike[str] | str | UniversalVocabulary,
    damaged: bool = False,
) -> Prompt:
    """Write a machine and its input as the prompt of a universal model: `netwright.prompt`.

    Args:
        machine: a machine, or what `load_machine` takes.
        word: the input; none means the machine's default input.
        model: the folder of an exported universal model.
        damaged: accept files other than those that were checked when it was exported.

    The model's tokenizer adds `<bos>` before and `<run>` after it. States and symbols are renamed
    to the model's; `states` and `symbols` of the result have the new names. What the model's
    certificate in floats asks of prompts is checked.
    """
    given = machine if isinstance(machine, TuringMachine) else load_machine(machine)
    if not isinstance(model, UniversalVocabulary):
        model = vocabulary_of(read_names(model, damaged=damaged))
    letters = given.check_word(given.default_input if word is None else word)
    text, renaming = prompt_text(given, letters, model)
    check_prompt(text.split(" "), model)
    return Prompt(text, renaming)


def parse(
    text: str | Sequence[str],
    machine: TuringMachine | PathLike[str] | str | None = None,
    *,
    model: PathLike[str] | str | None = None,
    then: Sequence[str] = (),
    damaged: bool = False,
) -> ParsedText:
    """Parse the run that a text of a language model describes: `netwright.parse`.

    Args:
        text: the prompt and the run, as the model's tokenizer decodes them; or a list of tokens.
        machine: the machine, or what `load_machine` takes, if it is known: the text is compared
            with its own run, and a stay counts as one step.
        model: the folder of the model that wrote it, whose tokens it must have. The model of one
            machine knows its machine; for a text of the universal model, `machine` may be given
            too.
        then: the texts that continue it, each where the one before ends.
        damaged: accept files other than those that were checked when it was exported.

    A text that continues from a configuration that it states itself is `resumed`: it may be right,
    but it is not a run from the start. Without machine and model, the text is compared with itself:
    its `problem` is the first contradiction.
    """
    if machine is not None and not isinstance(machine, TuringMachine):
        machine = load_machine(machine)
    return parse_texts([text, *then], _known(machine, model, damaged))


def _known(
    machine: TuringMachine | None, model: PathLike[str] | str | None, damaged: bool
) -> Known:
    name = "itself" if machine is None else machine.name or "the machine"
    if model is None:
        return Known(name, machine)
    names = read_names(model, damaged=damaged)
    if names.get("kind") == LANGUAGE_MODEL:
        if machine is not None:
            raise InputError(
                "give a machine or a model, not both: the model of one machine knows its own"
            )
        own = _network_in(model, names).machine
        return Known(own.name or "the machine", own, vocabulary=names["vocabulary"])
    vocabulary = vocabulary_of(names)
    if machine is None:
        return Known("its own rules", universal=True, vocabulary=vocabulary.texts)
    renaming = Renaming.of(machine, vocabulary)
    rules = {
        (renaming.states[q], renaming.symbols[a]): Rule(
            renaming.symbols[action.write], str(action.move), renaming.states[action.state]
        )
        for (q, a), action in remove_stays(machine)[0].delta.items()
    }
    return Known(name, None, True, rules, renaming.pauses, vocabulary.texts)


def _network_in(model: PathLike[str] | str, names: dict[str, Any]) -> Network:
    """Load the exact network in the folder of a machine's own model."""
    network = load(Path(model) / "netwright.safetensors")
    if network.kind.name != LANGUAGE_MODEL or (
        list(network.compiled.network.vocabulary) != names.get("vocabulary")
    ):
        raise FormatError(f"{model}: its files belong to different networks; export it again")
    return network


def generate(
    model: PathLike[str] | str,
    word: Word | None = None,
    max_steps: int = 1000,
    *,
    engine: Engine | str = Engine.FAST,
    damaged: bool = False,
) -> Run:
    """Run an exported language model, one context after the other.

    Args:
        model: the folder of a machine's own model, for gpt2, opt, llama or transformers-js.
        word: the input; none means the machine's default input.
        max_steps: the maximum number of steps of the machine.
        engine: `fast`, which is netwright's own evaluator, or `torch`: that of transformers.
        damaged: accept files other than those that were checked when it was exported.

    The weights are those in the folder. When a context is full, its text is parsed, and a new
    prompt continues from there.
    """
    check_limit(max_steps)
    chosen = read_engine(engine)
    if chosen not in (Engine.FAST, Engine.TORCH):
        raise InputError(f"engine is {chosen}; expected fast or torch")
    check_engine(chosen)
    names = read_names(model, damaged=damaged)
    if names.get("kind") != LANGUAGE_MODEL:
        raise InputError(f"{model} is not a language model of one machine")
    network = _network_in(model, names)
    targets = [each for each in TARGETS.values() if isinstance(each, CheckpointTarget)]
    if any(each.file and (Path(model) / each.file).exists() for each in targets):
        raise InputError(f"{model} is run by llama.cpp; export it --to llama to run it here")
    try:
        config = json.loads((Path(model) / "config.json").read_text(encoding="utf-8"))
        form = names.get("architecture", "gpt2"), None
        known = {each.model_type: each for each in targets if (each.weights, each.file) == form}
        stock = known[config["model_type"]]
        target = TARGETS["transformers-js"] if "transformers.js_config" in config else stock
        target.check_installed()
        stored = target.stored(None, Path(model))
        tensors = {name: array.astype(np.float32) for name, array in stored.items()}
        own = target.named(network).tensors
        if {name: t.shape for name, t in tensors.items()} != {n: t.shape for n, t in own.items()}:
            raise FormatError(f"{model}: its files belong to different networks; export it again")
        dtype = DTYPE.read(config["dtype"])
    except NetwrightError:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise FormatError(
            f"{model} is incomplete: {type(error).__name__} {shortened(error, 100)}; "
            "export it again"
        ) from None
    compiled = replace(network.compiled, dtype=dtype)
    make = compiled.in_torch if chosen is Engine.TORCH else compiled.in_floats
    evaluator = make(tensors)
    given = network.machine
    letters = given.check_word(given.default_input if word is None else word)
    return run_language_model(compiled, letters, max_steps, evaluator, chosen)
