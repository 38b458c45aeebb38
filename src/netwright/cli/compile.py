"""`netwright compile`: what the network of a machine looks like, and how to keep it."""

from typing import Any

from netwright.cli.arguments import AsJson, Force, FormatName, Machine, Output
from netwright.cli.kind_options import OnKind, with_kind_options
from netwright.cli.output import console, counted, print_json, save_file, say, visible
from netwright.exact.layout import Layout
from netwright.networks.running import load, machine_in, network_of
from netwright.networks.saved import to_bytes

EXAMPLE = """\b
Examples:
  netwright compile palindrome
  netwright compile palindrome --on rnn --json
  netwright compile palindrome -o palindrome.safetensors
  netwright run palindrome.safetensors abba"""


@with_kind_options
def command(
    machine: Machine,
    options: dict[str, Any],
    on: OnKind = None,
    output: Output = None,
    force: Force = False,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> None:
    """Compile a machine into a network; show its shape, and save it with -o."""
    source = load(machine, format_name=format_name)
    given = machine_in(source)
    network = network_of(source, on, given.default_input, **options)
    if output is not None:
        save_file(output, to_bytes(network), force=force)
    counts = {"states": len(given.states), "symbols": len(given.symbols)}
    facts = network.kind.facts(network.compiled)
    if network.changes:
        facts["changes"] = list(network.changes)
    answer = {"machine": machine, "on": network.kind.name, "given": counts, **facts}
    if as_json:
        blocks = [
            {"block": block, "size": len(labels), "labels": [*filter(None, labels)]}
            for block, labels in network.layout.blocks
        ]
        made = {
            "description": network.kind.description(network.compiled),
            "vectors": network.kind.vectors(network.compiled),
            "weights": list(network.weights()),
        }
        print_json({**answer, **made, "layout": blocks, "output": output and str(output)})
        return
    _print(answer, network.layout)
    if output is not None:
        say(f"\nwrote {output}, in the safetensors format")


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
