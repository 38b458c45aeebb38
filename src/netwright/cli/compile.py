"""`netwright compile`: what the network of a machine looks like, and how to keep it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from netwright import pipeline
from netwright.cli.arguments import AsJson, FormatName, Machine
from netwright.cli.output import console, counted, print_json, save_file, visible
from netwright.errors import InputError
from netwright.exact.feed_forward import count_parameters
from netwright.machine.turing_machine import TuringMachine
from netwright.theorems.theorem_3_4_transformer.construction import CompiledTransformer

EXAMPLE = """\b
Examples:
  netwright compile palindrome
  netwright compile palindrome -o palindrome.safetensors
  netwright run palindrome.safetensors abba"""


def command(
    machine: Machine,
    on: Annotated[pipeline.Target, typer.Option(help="The kind of network.")] = (
        pipeline.Target.TRANSFORMER
    ),
    blanks: Annotated[
        bool, typer.Option("--blanks", help="Make it take inputs that contain the blank.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Save the network, as safetensors."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE if it exists.")] = False,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> None:
    """Compile a machine into a network; show its shape, and save it on request."""
    if on is pipeline.Target.MACHINE:
        raise InputError("--on machine is no network; --on transformer compiles one")
    source = pipeline.load(machine, format_name=format_name)
    if isinstance(source, TuringMachine):
        word = [source.blank] if blanks else source.default_input
        compiled = pipeline.compile_machine(source, word)
    else:
        compiled = source
    if output is not None:
        from netwright.theorems.theorem_3_4_transformer.saving import to_bytes

        save_file(output, to_bytes(compiled), force=force)
    facts = _describe(machine, compiled)
    if as_json:
        print_json({**facts, "output": output and str(output)})
    else:
        _print(facts)
        if output is not None:
            typer.echo(f"\nwrote {output}")


def _describe(argument: str, compiled: CompiledTransformer) -> dict[str, Any]:
    given, normal = compiled.normal.given, compiled.normal.machine
    networks = compiled.networks()
    parameters, nonzeros = count_parameters(networks.values())
    return {
        "machine": argument,
        "on": "transformer",
        "given": {"states": len(given.states), "symbols": len(given.symbols)},
        "normalized": {"states": len(normal.states), "symbols": len(normal.symbols)},
        "takes_blanks": compiled.normal.takes_blanks,
        "dimension": compiled.layout.dimension,
        "encoder_layers": len(compiled.network.encoder),
        "decoder_layers": len(compiled.network.decoder),
        "hidden_widths": {
            name: list(network.hidden_widths)
            for name, network in networks.items()
            if network.hidden_widths
        },
        "parameters": parameters,
        "nonzeros": nonzeros,
        "layout": [
            {"block": block, "size": len(labels), "labels": [label for label in labels if label]}
            for block, labels in compiled.layout.blocks
        ],
    }


def _print(facts: dict[str, Any]) -> None:
    from rich.text import Text

    given, normal = facts["given"], facts["normalized"]
    widths = [f"{name} {' '.join(map(str, w))}" for name, w in facts["hidden_widths"].items()]
    lines = [
        f"given       |Q| = {given['states']}, |Σ| = {given['symbols']}",
        f"normalised  |Q| = {normal['states']}, |Σ| = {normal['symbols']}"
        + (", # is a symbol of its own" if facts["takes_blanks"] else ""),
        f"dimension   {facts['dimension']} = 2|Q| + 4|Σ| + 11",
        f"layers      {facts['encoder_layers']} encoder, {facts['decoder_layers']} decoder",
        f"hidden      {', '.join(widths)}",
        f"parameters  {facts['parameters']:,}, {facts['nonzeros']:,} of them not zero",
        "",
        "layout",
    ]
    for block in facts["layout"]:
        labels = " ".join(map(visible, block["labels"]))
        size = counted(block["size"], "coordinate")
        lines.append(f"  {block['block']:<4} {size:<15} {labels}".rstrip())
    console().print(Text("\n".join(lines)), no_wrap=True, overflow="ellipsis")
