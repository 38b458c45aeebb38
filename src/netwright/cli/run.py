"""`netwright run`: a machine's answer on an input."""

import json
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from importlib.metadata import version
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netwright.cli.arguments import (
    AsJson,
    Broken,
    FormatName,
    Head,
    Input,
    Machine,
    MaxSteps,
    OnTarget,
    Separator,
    Without,
    choice_of,
    load_with_word,
    with_kind_options,
    word_text,
)
from netwright.cli.output import StepProgress, console, print_indented, print_json, say, visible
from netwright.cli.verb import ADVANCED
from netwright.errors import InputError, NetworkError, StoppedError
from netwright.kind.registry import MACHINE
from netwright.machine.configuration import CellRuns, runs_text
from netwright.machine.simulate import Engine, Interrupted, Outcome, Run, simulate
from netwright.machine.turing_machine import TuringMachine
from netwright.machine.written import machine_parts
from netwright.text import counted, shortened

if TYPE_CHECKING:
    from netwright.network.network import Network

EXAMPLE = """\b
Examples:
  netwright run palindrome abba
  netwright run palindrome abba --without residual:decoder.2.self
  netwright run busy-beaver-5 --on rnn --max-steps 50000000 --checkpoint bb5
  netwright run 1RB1LA_1LA1RB --on rnn --engine accelerated --max-steps 1e12
  netwright run 1RB1LB_1LA0LC_1RZ1LD_1RD0RA --json
  netwright run my-machine.yaml"""
NO_ANSWER = 1
EXIT_CODES = {
    Outcome.ACCEPTED: 0,
    Outcome.HALTED: 0,
    Outcome.REJECTED: 1,
    Outcome.UNDECIDED: 3,
}


@with_kind_options
def command(
    machine: Machine,
    options: dict[str, Any],
    word: Input = None,
    on: OnTarget = None,
    max_steps: MaxSteps = 10_000_000,
    engine: Annotated[
        Engine,
        choice_of(
            "--engine",
            Engine,
            "The code that does the work; same answer.",
        ),
    ] = Engine.AUTO,
    broken: Broken = None,
    without: Without = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Save the run to FILE, to resume it later."),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Resume the run saved in FILE, and save it there."),
    ] = None,
    checkpoint_every: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="How often to save the run.",
            rich_help_panel=ADVANCED,
        ),
    ] = 30.0,
    head: Head = 0,
    separator: Separator = None,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> int:
    """Run a machine on an input, and print the outcome, the state and the tape."""
    source, turing, symbols = load_with_word(machine, word, separator, format_name, head)
    network = _changed(_network(source, on, symbols, options), broken, without, symbols)
    keep = checkpoint or resume
    bookmark = None
    if keep is not None:
        made = {name: str(value) for name, value in options.items()}
        about = _fingerprint(source, turing, symbols, network, engine, made)
        from netwright.engine.following.checkpoint import Checkpoint

        bookmark = Checkpoint(about, keep, resume, checkpoint_every)
    try:
        with bookmark.open() if bookmark else nullcontext(), StepProgress(max_steps) as progress:
            run = partial(simulate, turing) if network is None else network.run
            result = run(symbols, max_steps, engine=engine, progress=progress, store=bookmark)
    except NetworkError as error:
        if network is None or not network.changes:
            raise
        return _say_no_answer(machine, network, error, as_json)
    except Interrupted as interrupt:
        raise StoppedError(_interrupted(interrupt.run, keep)) from None
    answer = _describe(machine, turing, symbols, network, result, separator)
    if as_json:
        print_json(answer)
    else:
        _print(answer, max_steps)
        if keep is not None and result.outcome is Outcome.UNDECIDED:
            say(f"  kept   {keep} (--resume {keep} resumes it)")
    return EXIT_CODES[result.outcome]


def _network(
    source: "TuringMachine | Network", on: str | None, word: tuple[str, ...], options: Any
) -> "Network | None":
    """What it is to run on; None for the machine itself, which needs nothing of networks."""
    if on == MACHINE and isinstance(source, TuringMachine) and not options:
        return None
    from netwright.network.running import target_of

    return target_of(source, on, word, **options)


def _changed(
    network: "Network | None",
    broken: Sequence[str] | None,
    without: Sequence[str] | None,
    word: tuple[str, ...],
) -> "Network | None":
    """The network after `--break` and `--without`."""
    if network is None:
        if broken or without:
            raise InputError("--break and --without change networks; a machine runs as it is")
        return None
    if broken:
        network = network.broken(*broken, word=word)
    return network.without(*without) if without else network


def _fingerprint(
    source: "TuringMachine | Network",
    machine: TuringMachine,
    word: tuple[str, ...],
    network: "Network | None",
    engine: Engine,
    options: dict[str, str],
) -> dict[str, Any]:
    """What a checkpoint must be of, to be resumed by this call."""
    from netwright.engine.following.checkpoint import fingerprint

    changes = None
    if network is not None and (source is network or network.changes):
        changes = [network.written, network.changes]
    return {
        "version": version("netwright"),
        "machine": fingerprint(json.dumps([machine_parts(machine), changes]).encode()),
        "input": word,
        "on": MACHINE if network is None else network.kind.name,
        "engine": engine.value if engine in (Engine.REFERENCE, Engine.ACCELERATED) else "fast",
        "options": options,
    }


def _interrupted(reached: Run, keep: Path | None) -> str:
    """How far an interrupted run got, and how to resume it."""
    then = f"--max-steps {reached.steps} shows the tape there"
    if keep is not None and keep.exists():
        then = f"--resume {keep} resumes it"
    return (
        f"interrupted after {counted(reached.steps, 'step')}, in state {reached.state} on cell "
        f"{reached.head}; {then}"
    )


def _say_no_answer(argument: str, network: "Network", error: NetworkError, as_json: bool) -> int:
    """A changed network whose vectors show no machine any more has no answer; that is said."""
    if as_json:
        about = {"machine": argument, "on": network.kind.name, "changes": list(network.changes)}
        print_json({**about, "outcome": None, "note": str(error)})
    else:
        say(f"no answer: {', '.join(network.changes)}")
        print_indented(console(), visible(str(error)))
    return NO_ANSWER


def _describe(
    argument: str,
    machine: TuringMachine,
    word: tuple[str, ...],
    network: "Network | None",
    run: Run,
    separator: str | None,
) -> dict[str, Any]:
    """The object that `--json` prints."""
    is_long = isinstance(run.tape.cells, CellRuns)
    answer: dict[str, Any] = {
        "machine": argument,
        "input": word_text(machine, word, separator),
        "on": MACHINE if network is None else network.kind.name,
        "outcome": run.outcome.value,
        "steps": run.steps,
        "network_steps": run.network_steps,
        "state": run.state,
        "tape": None if is_long else word_text(machine, run.tape.cells, separator),
        "tape_start": run.tape.start,
        "non_blank": run.tape.non_blank(machine.blank),
        "head": run.head,
        "dimension": run.dimension,
        "engine": run.engine.value,
        "seconds": round(run.seconds, 6),
        "compile_seconds": round(run.compile_seconds, 6),
        "note": run.note,
        "before_end": run.before_end,
    }
    if run.engine is Engine.ACCELERATED:
        answer |= {"moves": run.moves, "tape_runs": [list(each) for each in run.tape.runs]}
    if network is not None:
        answer |= {"changes": list(network.changes)} if network.changes else {}
        answer["trust"] = str(network.standing)
    return answer


def _print(answer: dict[str, Any], max_steps: int) -> None:
    """The answer for a terminal."""
    undecided, at_the_limit = answer["outcome"] == "undecided", answer["steps"] >= max_steps
    limit = " (the limit; --max-steps sets it)" if undecided and at_the_limit else ""
    say(f"{answer['outcome']} after {counted(answer['steps'], 'step')}{limit}")
    say(f"  state  {visible(answer['state'])}")
    say(f"  head   cell {answer['head']}")
    if answer["tape"] != "":
        room = get_terminal_size().columns - 9
        tape = "".join(map(visible, answer["tape"] or ""))
        if "tape_runs" in answer and not 0 < len(tape) <= room:
            runs = runs_text((visible(symbol), count) for symbol, count in answer["tape_runs"])
            tape = runs if len(runs) < len(tape) or not tape else tape
        say(f"  tape   {shortened(tape, room)}")
        cells = counted(answer["non_blank"], "cell")
        say(f"         {cells} not blank, the first is cell {answer['tape_start']}")
    else:
        say("  tape   blank")
    compiling = answer["compile_seconds"]
    engine = f"{answer['engine']} engine" + (f", {compiling:.3f} s compiling" if compiling else "")
    if answer.get("moves") is not None:
        engine += f", {counted(answer['moves'], 'move')}"
    if answer["network_steps"] is not None:
        time, dimension = answer["network_steps"], answer["dimension"]
        say(f"  net    {answer['on']} at time {time:,}, dimension {dimension:,}")
    say(f"  time   {answer['seconds']:.3f} s, {engine}")
    if "changes" in answer:
        say(f"  net    changed: {visible(', '.join(answer['changes']))}")
    if answer.get("trust", "").startswith("no"):
        print_indented(console(), f"trust  {visible(answer['trust'])}")
    if answer["before_end"]:
        say("  note   state, head and tape before the last step; --form long shows it")
    if answer["note"]:
        slower = "" if undecided and not at_the_limit else ": exact, but slower"
        print_indented(console(), f"note   {visible(answer['note'])}{slower}")
