"""`netwright compile`: what the network of a machine looks like, and how to keep it."""

from typing import Annotated, Any

import typer

from netwright import pipeline
from netwright.cli.arguments import (
    AsJson,
    Base,
    Force,
    FormatName,
    Kind,
    Machine,
    Output,
    ScoreName,
    check_score,
    choice_of,
    read_base,
)
from netwright.cli.output import console, counted, print_json, save_file, say, visible
from netwright.errors import InputError
from netwright.exact.feed_forward import count_parameters
from netwright.exact.layout import Layout
from netwright.machine.turing_machine import TuringMachine
from netwright.theorems.theorem_2_3_rnn.construction import CompiledRNN, compile_rnn
from netwright.theorems.theorem_3_4_transformer.construction import CompiledTransformer
from netwright.theorems.theorem_4_1_neural_gpu import CompiledNeuralGPU, compile_neural_gpu

EXAMPLE = """\b
Examples:
  netwright compile palindrome
  netwright compile palindrome --on rnn --json
  netwright compile palindrome -o palindrome.safetensors
  netwright run palindrome.safetensors abba"""


def command(
    machine: Machine,
    on: Annotated[Kind, choice_of("--on", Kind, "The kind of network.")] = Kind.TRANSFORMER,
    blanks: Annotated[
        bool,
        typer.Option("--blanks", help="Make a Transformer that takes inputs with blanks in them."),
    ] = False,
    base: Base = None,
    score: ScoreName = None,
    output: Output = None,
    force: Force = False,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> None:
    """Compile a machine into a network; show its shape, and save a Transformer with -o."""
    source = pipeline.load(machine, format_name=format_name)
    given = source if isinstance(source, TuringMachine) else source.normal.given
    if on is Kind.TRANSFORMER and base is not None:
        raise InputError("--base is for the stacks of rnn and neural-gpu; a Transformer has none")
    check_score(score, on, source)
    if on is not Kind.TRANSFORMER and (blanks or output is not None):
        raise InputError(f"--blanks and -o are for Transformers; --on {on} takes neither")
    if on is Kind.RNN:
        facts, layout = _describe_rnn(compile_rnn(given, read_base(base)))
    elif on is Kind.NEURAL_GPU:
        facts, layout = _describe_neural_gpu(
            compile_neural_gpu(compile_rnn(given, read_base(base)))
        )
    else:
        if isinstance(source, TuringMachine) or blanks:
            word = [given.blank] if blanks else given.default_input
            source = pipeline.to_transformer(given, word, score)
        facts, layout = _describe_transformer(source)
        if output is not None:
            from netwright.theorems.theorem_3_4_transformer.saving import to_bytes

            save_file(output, to_bytes(source), force=force)
    counts = {"states": len(given.states), "symbols": len(given.symbols)}
    answer = {"machine": machine, "on": on.value, "given": counts, **facts}
    if as_json:
        blocks = [
            {"block": block, "size": len(labels), "labels": [*filter(None, labels)]}
            for block, labels in layout.blocks
        ]
        print_json({**answer, "layout": blocks, "output": output and str(output)})
        return
    _print(answer, layout)
    if output is not None:
        say(f"\nwrote {output}, in the safetensors format")


def _describe_transformer(compiled: CompiledTransformer) -> tuple[dict[str, Any], Layout]:
    normal = compiled.normal.machine
    networks = compiled.networks()
    parameters, nonzeros = count_parameters(networks.values())
    widths = {name: list(net.hidden_widths) for name, net in networks.items() if net.hidden_widths}
    facts = {
        "normalized": {"states": len(normal.states), "symbols": len(normal.symbols)},
        "takes_blanks": compiled.normal.takes_blanks,
        "dimension": compiled.layout.dimension,
        "formula": f"2|Q| + 4|Σ| + {7 + len(compiled.score.positions)}, normalised",
        "score": compiled.score.name,
        "encoder_layers": len(compiled.network.encoder),
        "decoder_layers": len(compiled.network.decoder),
        "hidden_widths": widths,
        "parameters": parameters,
        "nonzeros": nonzeros,
    }
    return facts, compiled.layout


def _describe_rnn(compiled: CompiledRNN) -> tuple[dict[str, Any], Layout]:
    neurons = compiled.neurons
    m, k = len(neurons.machine.states), neurons.k
    encoder = k  # sc and e_1, …, e_{k−1}
    facts = {
        "dimension": neurons.layout.dimension,
        "neurons": neurons.layout.dimension - encoder,
        "encoder_neurons": encoder,
        # Pairs (q, D) with D = R, L, and S in a machine that stays, which also has two more stacks.
        "formula": "m(3k-2)+7" if neurons.stays else "m(2k-1)+5",
        "formula_value": m * (3 * k - 2) + 7 if neurons.stays else m * (2 * k - 1) + 5,
        "source_formula": "10m+30",
        "source_value": 10 * m + 30,
        "base": str(neurons.base),
    }
    return facts, neurons.layout


def _describe_neural_gpu(compiled: CompiledNeuralGPU) -> tuple[dict[str, Any], Layout]:
    layout = compiled.network.layout
    d = compiled.rnn.neurons.layout.dimension
    facts = {
        "dimension": layout.dimension,
        "formula": "3d+3",
        "formula_value": 3 * d + 3,
        "rnn_dimension": d,
        "kernel_shape": [*compiled.network.F.shape, layout.dimension, layout.dimension],
        "base": str(compiled.rnn.neurons.base),
    }
    return facts, layout


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
