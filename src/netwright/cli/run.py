"""`netwright run`: a machine's answer on an input."""

import json
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated, Any

import typer

from netwright import pipeline
from netwright.cli.arguments import (
    AsJson,
    Base,
    FormatName,
    Input,
    Machine,
    MaxSteps,
    ScoreName,
    Separator,
    check_score,
    choice_of,
    read_base,
)
from netwright.cli.output import (
    counted,
    load_with_word,
    print_json,
    say,
    shortened,
    visible,
    word_text,
)
from netwright.cli.progress import StepProgress
from netwright.errors import StoppedError
from netwright.following.checkpoint import Checkpoint, fingerprint
from netwright.machine.simulate import Engine, Interrupted, Outcome, Run
from netwright.machine.turing_machine import TuringMachine
from netwright.pipeline import Target
from netwright.theorems.theorem_3_4_transformer.saving import machine_parts, to_bytes

EXAMPLE = """\b
Examples:
  netwright run palindrome abba
  netwright run palindrome abba --on rnn
  netwright run busy-beaver-5 --max-steps 50000000
  netwright run busy-beaver-5 --on rnn --max-steps 50000000 --checkpoint bb5
  netwright run 1RB1LB_1LA0LC_1RZ1LD_1RD0RA --json
  netwright run my-machine.yaml"""
EXIT_CODES = {
    Outcome.ACCEPTED: 0,
    Outcome.HALTED: 0,
    Outcome.REJECTED: 1,
    Outcome.UNDECIDED: 3,
}


def command(
    machine: Machine,
    word: Input = None,
    on: Annotated[Target, choice_of("--on", Target, "Run it on this.")] = Target.TRANSFORMER,
    max_steps: MaxSteps = 10_000_000,
    engine: Annotated[
        Engine,
        choice_of("--engine", Engine, "Which code does the work; all give the same answer."),
    ] = Engine.AUTO,
    base: Base = None,
    score: ScoreName = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep the run in FILE, to go on with it later."),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Go on with the run in FILE, and keep it there."),
    ] = None,
    checkpoint_every: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0, help="How often, besides at Ctrl-C."),
    ] = 30.0,
    separator: Separator = None,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> int:
    """Run a machine on an input."""
    source, turing, symbols = load_with_word(machine, word, separator, format_name)
    check_score(score, on, source)
    keep = checkpoint or resume
    bookmark = None
    if keep is not None:
        about = {
            "version": version("netwright"),
            "machine": fingerprint(_content(source)),
            "input": symbols,
            "on": on.value,
            "engine": "reference" if engine is Engine.REFERENCE else "fast",
            "base": base,
            "score": score,
        }
        bookmark = Checkpoint(about, keep, resume, checkpoint_every)
    try:
        kept = bookmark.open() if bookmark is not None else nullcontext()
        with kept, StepProgress(max_steps) as progress:
            result = pipeline.run(
                source,
                symbols,
                max_steps,
                on=on,
                engine=engine,
                base=read_base(base),
                score=score,
                progress=progress,
                bookmark=bookmark,
            )
    except Interrupted as interrupt:
        reached = interrupt.run
        then = f"--max-steps {reached.steps} shows the tape there"
        if keep is not None and keep.exists():
            then = f"--resume {keep} goes on from there"
        raise StoppedError(
            f"interrupted after {counted(reached.steps, 'step')}, in state {reached.state} on cell "
            f"{reached.head}; {then}"
        ) from None
    answer = _describe(machine, turing, symbols, on, result, separator)
    if as_json:
        print_json(answer)
    else:
        _print(answer)
        if keep is not None and result.outcome is Outcome.UNDECIDED:
            say(f"  kept   {keep} (--resume {keep} goes on from there)")
    return EXIT_CODES[result.outcome]


def _content(source: pipeline.Source) -> bytes:
    """What a machine or a network is, so that a checkpoint knows it again."""
    if isinstance(source, TuringMachine):
        return json.dumps(machine_parts(source)).encode()
    return to_bytes(source)


def _describe(
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
        "network_steps": run.network_steps,
        "state": run.state,
        "tape": word_text(machine, run.tape.cells, separator),
        "tape_start": run.tape.start,
        "non_blank": sum(cell != machine.blank for cell in run.tape.cells),
        "head": run.head,
        "dimension": run.dimension,
        "engine": run.engine.value,
        "seconds": round(run.seconds, 6),
        "compile_seconds": round(run.compile_seconds, 6),
        "note": run.note,
    }


def _print(answer: dict[str, Any]) -> None:
    limit = " (the limit; --max-steps sets it)" if answer["outcome"] == "undecided" else ""
    say(f"{answer['outcome']} after {counted(answer['steps'], 'step')}{limit}")
    say(f"  state  {visible(answer['state'])}")
    say(f"  head   cell {answer['head']}")
    if answer["tape"]:
        tape = "".join(map(visible, answer["tape"]))
        say(f"  tape   {shortened(tape, get_terminal_size().columns - 9)}")
        cells = counted(answer["non_blank"], "cell")
        say(f"         {cells} not blank, the first is cell {answer['tape_start']}")
    else:
        say("  tape   blank")
    compiling = answer["compile_seconds"]
    engine = f"{answer['engine']} engine" + (f", {compiling:.3f} s compiling" if compiling else "")
    if answer["network_steps"] is not None:
        time, dimension = answer["network_steps"], answer["dimension"]
        say(f"  net    {answer['on']} at time {time:,}, dimension {dimension:,}")
    say(f"  time   {answer['seconds']:.3f} s, {engine}")
    if answer["note"]:
        say(f"  note   {answer['note']}: exact, but slower")
