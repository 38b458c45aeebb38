"""`netwright compile`: what the network of a machine looks like, and how to keep it."""

import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from netwright.cli.arguments import (
    AsJson,
    Force,
    FormatName,
    Machine,
    Output,
    Separator,
    load_with_word,
    on_option,
    with_kind_options,
)
from netwright.cli.output import console, listed, print_json, save_file, say, visible
from netwright.errors import InputError, unknown
from netwright.exact.layout import Layout
from netwright.exact.meanings import INPUTS
from netwright.kind.registry import is_kind, kind_named
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import Network
from netwright.network.running import Source, network_of
from netwright.network.saved import to_bytes
from netwright.network.weight import Weight
from netwright.text import counted

EXAMPLE = """\b
Examples:
  netwright compile palindrome
  netwright compile palindrome --on rnn --json
  netwright compile palindrome --weights decoder.3.V
  netwright compile palindrome --explain
  netwright compile palindrome -o palindrome.safetensors
  netwright run palindrome.safetensors abba
  netwright compile palindrome abba --prompt
  netwright compile palindrome --on universal-transformer --json
  netwright compile palindrome abba --on universal-text --prompt"""

MOST_LINES = 200
UNIVERSAL = "universal-language-model"
BARE = {"--prompt": ("rules", "text")}


@with_kind_options
def command(
    machine: Machine,
    options: dict[str, Any],
    word: Annotated[
        str | None, typer.Argument(metavar="INPUT", help="With --prompt: the input word.")
    ] = None,
    on: Annotated[
        str | None, on_option("The network: transformer, rnn, neural-gpu, ….", UNIVERSAL)
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(
            "--prompt",
            metavar="[rules|text]",
            help="Print machine and INPUT as a prompt: for --on universal-transformer or "
            "universal-text, else for the universal language model.",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With --prompt: the exported universal model."),
    ] = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Print a weight with named rows and columns, such as decoder.3.V.  [repeatable]",
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Explain every block and weight.")
    ] = False,
    output: Output = None,
    force: Force = False,
    separator: Separator = None,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> None:
    """Compile a machine into a network; show its shape, and save it with -o."""
    source, given, symbols = load_with_word(machine, word, separator, format_name)
    own = _own_prompt(source, on)
    if not own and (prompt is not None or on == UNIVERSAL):
        _check_prompt(prompt, on, any((weights, explain, output, force)))
        _print_prompt(given, symbols, model, options, as_json)
        return
    if {model, *((word, separator) if prompt is None else ())} != {None}:
        raise InputError("INPUT, --separator and --model are for --prompt")
    options |= {"prompt": prompt} if prompt not in (None, "", own) else {}
    network = network_of(source, on, symbols, **options)
    chosen = _weights(network, weights)
    if output is not None:
        save_file(output, to_bytes(network), force=force)
    prompted = None if prompt is None else symbols
    if weights or explain:
        _print_parts(network, chosen, explain, as_json)
    elif as_json:
        print_json(_facts(machine, network) | _parts(network, output, prompted))
    elif prompted is not None:
        _print_tokens(network.kind.construction.prompt(network.compiled, prompted))
        return
    else:
        _print(_facts(machine, network), network.layout)
    if output is not None and not as_json:
        say(f"\nwrote {output}, in the safetensors format")


def _check_prompt(prompt: str | None, on: str | None, is_asked_for_more: bool) -> None:
    """Raise InputError for a prompt of the universal language model with other options."""
    if prompt:
        raise InputError(
            f"--prompt {prompt} is for a universal network: --on universal-transformer, or "
            "--on universal-text"
        )
    if is_asked_for_more or on not in (None, UNIVERSAL):
        raise InputError("--prompt only prints; it takes no --on, --weights, --explain or -o")


def _own_prompt(source: Source, on: str | None) -> str:
    """What the network's kind takes as a prompt, if it is universal: `rules`, or `text`."""
    named = source.kind.name if isinstance(source, Network) else on
    return kind_named(named).construction.takes_prompt if named and is_kind(named) else ""


def _facts(argument: str, network: Network) -> dict[str, Any]:
    """What the network is, in numbers."""
    given = network.machine
    counts = {"states": len(given.states), "symbols": len(given.symbols)}
    about = {"machine": argument, "on": network.kind.name, "given": counts}
    changes = {"changes": list(network.changes)} if network.changes else {}
    return {**about, **network.facts, **changes}


def _parts(
    network: Network, output: Path | None, prompted: tuple[str, ...] | None
) -> dict[str, Any]:
    """What `--json` has besides: layout, vectors, weights, and the prompt if it is asked for."""
    blocks = [
        {"block": block, "size": len(labels), "labels": [*filter(None, labels)]}
        for block, labels in network.layout.blocks
    ]
    found = {
        "description": network.description,
        "vectors": network.kind.reading.vectors(network.compiled),
        "weights": list(network.weights()),
        "layout": blocks,
        "output": output and str(output),
    }
    if prompted is not None:
        prompt = network.kind.construction.prompt(network.compiled, prompted)
        is_text = isinstance(prompt, str)
        found["prompt"] = prompt if is_text else [asdict(token) for token in prompt]
    return found


def _print_tokens(prompt: str | list[Any]) -> None:
    """A text as it is; of rules, a line for each token."""
    if isinstance(prompt, str):
        say(prompt)
        return
    width = min(40, max(len(visible(token.means)) for token in prompt))
    for token in prompt:
        numbers = " ".join(f"{name}={value}" for name, value in token.coordinates.items())
        say(f"{visible(token.means):<{width}}  {numbers}")


def _print_prompt(
    machine: TuringMachine,
    word: tuple[str, ...],
    model: Path | None,
    options: Mapping[str, Any],
    as_json: bool,
) -> None:
    """The prompt on standard output; what was renamed on standard error."""
    from netwright.export.texts import prompt
    from netwright.kind.language_model.kind import read_context
    from netwright.kind.language_model.universal import UniversalVocabulary

    if {*options} - {"context"}:
        raise InputError(f"{', '.join(options)} is not an option of a prompt")
    if model is not None and options:
        raise InputError("--context is for a prompt without --model, which knows its own")
    context = read_context(options.get("context", 2048))
    known = UniversalVocabulary.of(16, 8, context) if model is None else model
    found = prompt(machine, word, model=known)
    if as_json:
        print_json({"prompt": str(found), "states": found.states, "symbols": found.symbols})
        return
    say(found)
    for what, names in (("states", found.states), ("symbols", found.symbols)):
        pairs = [f"{visible(old)}={new}" for old, new in names.items() if old != new]
        if pairs:
            say(f"{what}: {listed(pairs, console().width - len(what) - 2)}", err=True)


def _weights(network: Network, names: Iterable[str] | None) -> list[Weight]:
    """Weights by name; the name of a map with several is all of them: decoder.1.O is .1 and .2."""
    known, found = network.weights(), []
    for name in names or ():
        several = [each for each in known if re.fullmatch(rf"{re.escape(name)}(\.\d+)?", each)]
        if not several:
            raise InputError(unknown("weight", name, list(known)))
        found += [known[each] for each in several]
    return found


def _print_parts(network: Network, weights: list[Weight], explain: bool, as_json: bool) -> None:
    meanings = network.kind.look.meanings
    known = network.weights()
    used = {key for block, _ in network.layout.blocks for key in meanings.keys_of(block)}
    words = {
        "blocks": {name: text for name, text in meanings.blocks.items() if name in used},
        "hidden": meanings.hidden,
        "weights": {**meanings.weights, **{name: INPUTS[name] for name in known if name in INPUTS}},
    }
    if as_json:
        answer: dict[str, Any] = {"on": network.kind.name}
        if weights:
            answer["weights"] = [_as_json(weight) for weight in weights]
        print_json({**answer, **({"meanings": words} if explain else {})})
        return
    if explain:
        _print_meanings(words)
    for weight in weights:
        _print_weight(weight, meanings.of_weight(weight.name))


def _print_meanings(words: dict[str, Any]) -> None:
    say("blocks of every vector")
    _print_words(words["blocks"])
    for name, blocks in words["hidden"].items():
        say(f"\nblocks inside {name}")
        _print_words(blocks)
    say("\nweights")
    _print_words(words["weights"])


def _print_words(words: Mapping[str, str]) -> None:
    out, width = console(), 2 + max(map(len, words))
    for name, text in words.items():
        indent = " " * (width + 2)
        lines = textwrap.fill(text, out.width, initial_indent=indent, subsequent_indent=indent)
        say(f"  {name:<{width}}{lines.strip()}")


def _as_json(weight: Weight) -> dict[str, Any]:
    rows, columns = weight.labels
    names = weight.affine.output.coordinates
    return {
        "name": weight.name,
        "rows": rows,
        "columns": columns,
        "blocks": weight.blocks,
        "entries": [[row, column, str(v)] for (row, column), v in weight.entries.items()],
        "bias": {str(names[k]): str(value) for k, value in weight.bias.entries.items()},
    }


def _print_weight(weight: Weight, meaning: str) -> None:
    shape = " × ".join(str(len(labels)) for labels in weight.labels)
    entries, bias = weight.entries, weight.bias.entries
    say(f"{weight.name}: {shape}, {counted(len(entries), 'nonzero weight')}")
    say(f"  ({meaning})")
    names = weight.affine.output.coordinates
    lines = [
        *((visible(row), visible(column), str(value)) for (row, column), value in entries.items()),
        *(("bias", visible(str(names[k])), str(value)) for k, value in bias.items()),
    ]
    left, right = (max((len(line[n]) for line in lines), default=0) for n in (0, 1))
    for row, column, value in lines[:MOST_LINES]:
        say(f"  {row:<{left}} → {column:<{right}}  {value}")
    if len(lines) > MOST_LINES:
        say(f"  … and {len(lines) - MOST_LINES:,} more; --json has all of them")


def _print(answer: dict[str, Any], layout: Layout) -> None:
    from rich.text import Text

    lines = []
    for name, value in answer.items():
        if isinstance(value, dict):
            shown = ", ".join(f"{key} {_plain(item)}" for key, item in value.items())
        else:
            shown = _plain(value)
        lines.append(f"{name.replace('_', ' '):<17} {shown}")
    lines += ["", "layout"]
    for block, labels in layout.blocks:
        shown = " ".join(map(visible, filter(None, labels)))
        lines.append(f"  {block:<8} {counted(len(labels), 'coordinate'):<16} {shown}".rstrip())
    console().print(Text("\n".join(lines)), no_wrap=True, overflow="ellipsis")


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else visible(str(value))
