"""`netwright compile`: what the network of a machine looks like, and how to keep it."""

import textwrap
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from netwright.cli.arguments import (
    AsJson,
    Force,
    FormatName,
    Input,
    Machine,
    Output,
    Separator,
)
from netwright.cli.given import load_with_word
from netwright.cli.kind_options import on_option, with_kind_options
from netwright.cli.output import console, listed, print_json, save_file, say, visible
from netwright.errors import InputError, unknown
from netwright.exact.layout import Layout
from netwright.kind.registry import is_kind, kind_named
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import Network
from netwright.network.running import network_of
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
    word: Input = None,
    on: Annotated[str | None, on_option("Which network.", UNIVERSAL)] = None,
    prompt: Annotated[
        str | None,
        typer.Option(
            "--prompt",
            metavar="[rules|text]",
            help="Print the machine and INPUT as the prompt of a universal network: of rules with "
            "--on universal-transformer, a word with --on universal-text; else of the universal "
            "language model.",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The exported universal model that is to take it."),
    ] = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Print a weight with the names of its rows and columns, such as decoder.3.V; may "
            "be given several times.",
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what every block and weight means.")
    ] = False,
    output: Output = None,
    force: Force = False,
    separator: Separator = None,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> None:
    """Compile a machine into a network; show its shape, and save it with -o."""
    source, given, symbols = load_with_word(machine, word, separator, format_name)
    named = source.kind.name if isinstance(source, Network) else on
    known = named is not None and is_kind(named)
    own = kind_named(named).construction.takes_prompt if named and known else ""
    if own:
        options |= {"prompt": prompt} if prompt and prompt != own else {}
    elif prompt is not None or on == UNIVERSAL:
        if prompt:
            raise InputError(
                f"--prompt {prompt} is for a universal network: --on universal-transformer, or "
                "--on universal-text"
            )
        if weights or explain or output is not None or force or on not in (None, UNIVERSAL):
            raise InputError(
                "a prompt is printed; --on, --weights, --explain and -o are not for it"
            )
        _print_prompt(given, symbols, model, options, as_json)
        return
    if model is not None or (prompt is None and (word is not None or separator is not None)):
        raise InputError("INPUT, --separator and --model are for --prompt")
    network = network_of(source, on, symbols, **options)
    if output is not None:
        save_file(output, to_bytes(network), force=force)
    chosen = [weight for name in weights or () for weight in _weights(network, name)]
    if weights or explain:
        _print_parts(network, chosen, explain, as_json)
        if output is not None and not as_json:
            say(f"\nwrote {output}, in the safetensors format")
        return
    tokens = None
    if prompt is not None:
        tokens = network.kind.construction.prompt(network.compiled, symbols)
    if tokens is not None and not as_json:
        _print_tokens(tokens)
        return
    counts = {"states": len(given.states), "symbols": len(given.symbols)}
    changes = {"changes": list(network.changes)} if network.changes else {}
    about = {"machine": machine, "on": network.kind.name, "given": counts}
    answer = {**about, **network.facts, **changes}
    if as_json:
        blocks = [
            {"block": block, "size": len(labels), "labels": [*filter(None, labels)]}
            for block, labels in network.layout.blocks
        ]
        made = {
            "description": network.description,
            "vectors": network.kind.reading.vectors(network.compiled),
            "weights": list(network.weights()),
        }
        shown = {} if tokens is None else {"prompt": _as_data(tokens)}
        told = {**answer, **made, "layout": blocks, "output": output and str(output)}
        print_json({**told, **shown})
        return
    _print(answer, network.layout)
    if output is not None:
        say(f"\nwrote {output}, in the safetensors format")


def _as_data(prompt: str | list[Any]) -> Any:
    return prompt if isinstance(prompt, str) else [asdict(token) for token in prompt]


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
        raise InputError(f"{', '.join(options)} is no option of a prompt")
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


def _weights(network: Network, name: str) -> list[Weight]:
    """A weight by its name, or all of a map that has several: decoder.1.O is .1 and .2."""
    known = network.weights()
    found = [
        weight
        for each, weight in known.items()
        if each == name or (each.startswith(f"{name}.") and each[len(name) + 1 :].isdecimal())
    ]
    if not found:
        raise InputError(unknown("weight", name, list(known)))
    return found


def _print_parts(network: Network, weights: list[Weight], explain: bool, as_json: bool) -> None:
    meanings = network.kind.look.meanings
    used = {key for block, _ in network.layout.blocks for key in meanings.keys_of(block)}
    words = {
        "blocks": {name: text for name, text in meanings.blocks.items() if name in used},
        "hidden": meanings.hidden,
        "weights": meanings.weights,
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
    say(f"{weight.name}: {shape}, {counted(len(entries), 'weight')} not 0")
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
