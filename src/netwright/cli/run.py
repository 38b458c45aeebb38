"""`netwright run`: a machine's answer on an input."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from netwright import pipeline
from netwright.cli.arguments import AsJson, FormatName, Input, Machine, MaxSteps, Separator
from netwright.cli.output import print_json, visible, word_text
from netwright.cli.progress import StepProgress
from netwright.machine.simulate import Engine, Interrupted, Outcome, Run
from netwright.machine.turing_machine import TuringMachine

EXAMPLE = """\b
Examples:
  netwright run palindrome abba --on machine
  netwright run 1RB1LB_1LA0LC_1RZ1LD_1RD0RA --json
  netwright run my-machine.yaml"""
EXIT_CODES = {
    Outcome.ACCEPTED: 0,
    Outcome.HALTED: 0,
    Outcome.REJECTED: 1,
    Outcome.UNDECIDED: 3,
}


class Target(StrEnum):
    """What the machine runs on."""

    MACHINE = "machine"


def command(
    machine: Machine,
    word: Input = None,
    on: Annotated[Target, typer.Option(help="Run it on this.")] = Target.MACHINE,
    max_steps: MaxSteps = 10_000_000,
    engine: Annotated[
        Engine, typer.Option(help="Which code runs it; auto is reference, then fast if it is long.")
    ] = Engine.AUTO,
    separator: Separator = None,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> int:
    """Run a machine on an input."""
    also = () if word is None else tuple(word.split(separator) if separator else word)
    turing = pipeline.load_machine(machine, format_name=format_name, also=also)
    symbols = pipeline.read_word(turing, word, separator)
    try:
        with StepProgress(max_steps) as progress:
            result = pipeline.run(turing, symbols, max_steps, engine=engine, progress=progress)
    except Interrupted as interrupt:
        reached = interrupt.run
        typer.echo(
            f"netwright: interrupted after {reached.steps:,} steps, in state {reached.state} "
            f"on cell {reached.head}; --max-steps {reached.steps} shows the tape there",
            err=True,
        )
        return 130
    answer = describe(machine, turing, symbols, on, result, separator)
    if as_json:
        print_json(answer)
    else:
        _print(answer, turing)
    return EXIT_CODES[result.outcome]


def describe(
    argument: str,
    machine: TuringMachine,
    word: tuple[str, ...],
    on: Target,
    run: Run,
    separator: str | None,
) -> dict[str, Any]:
    """The object that `--json` prints."""
    return {
        "machine": argument,
        "input": word_text(machine, word, separator),
        "on": on.value,
        "outcome": run.outcome.value,
        "steps": run.steps,
        "network_steps": None,
        "state": run.state,
        "tape": word_text(machine, run.tape.cells, separator),
        "tape_start": run.tape.start,
        "head": run.head,
        "dimension": None,
        "engine": run.engine.value,
        "seconds": round(run.seconds, 6),
        "compile_seconds": round(run.compile_seconds, 6),
    }


def _print(answer: dict[str, Any], machine: TuringMachine) -> None:
    tape = "".join(visible(c) for c in answer["tape"])
    cells = f"from cell {answer['tape_start']}" if tape else "blank"
    if len(tape) > 200:
        tape = f"{tape[:98]} … {tape[-98:]}"
        cells += f", {len(answer['tape']):,} characters; --json prints them all"
    typer.echo(f"{answer['outcome']} after {answer['steps']:,} steps")
    typer.echo(f"  state  {visible(answer['state'])}")
    typer.echo(f"  head   cell {answer['head']}")
    typer.echo(f"  tape   {tape}{' ' if tape else ''}({cells})")
    typer.echo(f"  run    {answer['seconds']:.3f} s on the {answer['engine']} engine")
