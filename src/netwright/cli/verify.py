"""`netwright verify`: networks against their machine, step by step, lemma by lemma."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from netwright.cli.arguments import AsJson, FormatName, MaxSteps, Score, Separator, check_score
from netwright.cli.output import console, counted, print_json, split_word, visible, word_text
from netwright.cli.progress import Working
from netwright.errors import FormatError, InputError
from netwright.machine.formats import bbchallenge
from netwright.machine.formats.draft import Source
from netwright.machine.load import load_machine
from netwright.machine.turing_machine import TuringMachine
from netwright.pipeline import Target
from netwright.verify.comparison import Comparison
from netwright.verify.damage import Compiled, without_part
from netwright.verify.draw import random_machine, random_words
from netwright.verify.networks import read_targets, verify_machine, with_broken_weight

EXAMPLE = """\b
Examples:
  netwright verify palindrome abba abab
  netwright verify binary-addition --random 20 --max-length 8 --on rnn
  netwright verify --random-machines 50 --states 3 --symbols 3 --random 2
  netwright verify palindrome abba --on transformer --break decoder.3.V.s4
  netwright verify palindrome abba --on transformer --without residual:decoder.2.self"""
DIFFERS = 1


def command(
    machine: Annotated[
        str | None, typer.Argument(metavar="MACHINE", help="As for `netwright run`.")
    ] = None,
    inputs: Annotated[
        list[str] | None, typer.Argument(metavar="INPUT…", help="Input words.")
    ] = None,
    on: Annotated[
        str, typer.Option(metavar="NETWORKS", help="Which networks, with commas between them.")
    ] = "transformer,rnn,neural-gpu",
    max_steps: MaxSteps = 100,
    score: Score = None,
    random_inputs: Annotated[
        int, typer.Option("--random", metavar="N", min=0, help="Draw N inputs.")
    ] = 0,
    max_length: Annotated[int, typer.Option(metavar="L", min=0, help="Of random inputs.")] = 6,
    seed: Annotated[int, typer.Option(metavar="S", help="Draw with this seed.")] = 0,
    machines: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also machines from FILE, bbchallenge text, one a line."),
    ] = None,
    random_machines: Annotated[
        int, typer.Option(metavar="N", min=0, help="Also draw N machines.")
    ] = 0,
    states: Annotated[int, typer.Option(metavar="N", min=1, help="Of random machines.")] = 3,
    symbols: Annotated[int, typer.Option(metavar="N", min=1, help="Of random machines.")] = 3,
    broken: Annotated[
        str | None,
        typer.Option(
            "--break", metavar="LAYER.BLOCK", help="First flip the sign of a weight into a block."
        ),
    ] = None,
    without: Annotated[
        str | None,
        typer.Option(metavar="PART", help="Leave out a part: residual:…, attention:…, gate:…"),
    ] = None,
    separator: Separator = None,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> int:
    """Compare networks with their machine at every step of a run."""
    targets = read_targets(on)
    check_score(score, Target.TRANSFORMER if Target.TRANSFORMER in targets else on)
    draw = random.Random(seed)
    subjects = list(_subjects(machine, inputs or [], separator, format_name, machines))
    subjects += [
        (f"random {n + 1}", random_machine(draw, states, symbols), [])
        for n in range(random_machines)
    ]
    if not subjects:
        raise InputError("nothing to verify; name a MACHINE, --machines or --random-machines")

    def changed(compiled: Compiled, word: Sequence[str]) -> Compiled:
        if broken is not None:
            compiled = with_broken_weight(compiled, broken, word, max_steps)
        return compiled if without is None else without_part(compiled, without)

    rows: list[dict[str, Any]] = []
    with Working() as tell:
        for name, turing, words in subjects:
            tell(f"{name}: {len(rows)} runs compared")
            drawn = list(random_words(draw, turing, random_inputs, max_length))
            chosen = [*words, *drawn] or [turing.default_input]
            for found in verify_machine(turing, chosen, targets, max_steps, changed, score):
                rows.append(_row(name, turing, found, separator))
    differ = [row for row in rows if row["difference"] is not None]
    summary = {"runs": len(rows), "checks": sum(row["checks"] for row in rows)}
    if as_json:
        print_json({**summary, "differences": len(differ), "results": rows})
    else:
        _print(rows, differ, summary)
    return DIFFERS if differ else 0


def _subjects(
    argument: str | None,
    inputs: list[str],
    separator: str | None,
    format_name: str | None,
    machines: Path | None,
) -> Iterator[tuple[str, TuringMachine, list[tuple[str, ...]]]]:
    """The machines that are named, each with the words that are."""
    words = [split_word(text, separator) for text in inputs]
    if argument is not None:
        also = {symbol for word in words for symbol in word}
        turing = load_machine(argument, format_name=format_name, also=sorted(also))
        yield argument, turing, [turing.check_word(word) for word in words]
    if machines is not None:
        try:
            lines = machines.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            raise FormatError(f"{machines} cannot be read: {reason}") from None
        for number, line in enumerate(lines, start=1):
            if text := line.split("#")[0].strip():
                yield text, bbchallenge.read(text, Source(f"{machines}:{number}")), []


def _row(
    name: str, machine: TuringMachine, found: Comparison, separator: str | None
) -> dict[str, Any]:
    difference = found.difference
    return {
        "machine": name,
        "input": word_text(machine, found.word, separator),
        "on": found.on,
        "steps": found.steps,
        "checks": found.checks,
        "difference": None
        if difference is None
        else {
            "time": difference.time,
            "statement": difference.statement,
            "part": difference.part,
            "expected": difference.expected,
            "found": difference.found,
        },
    }


def _print(
    rows: list[dict[str, Any]], differ: list[dict[str, Any]], summary: dict[str, int]
) -> None:
    from rich.table import Table

    out = console()
    table = Table(box=None, pad_edge=False)
    for heading in ("machine", "input", "network", "steps", "checks", ""):
        numbers = heading in ("steps", "checks")
        table.add_column(heading, justify="right" if numbers else "left", overflow="fold")
    for row in rows[:200]:
        verdict = "agrees" if row["difference"] is None else "DIFFERS"
        word = "".join(map(visible, row["input"])) or "ε"
        cells = (row["machine"], word, row["on"], str(row["steps"]), str(row["checks"]), verdict)
        table.add_row(*cells)
    out.print(table, markup=False)
    if len(rows) > 200:
        out.print(f"… and {len(rows) - 200:,} more", markup=False)
    out.print(
        f"{counted(summary['runs'], 'run')}, {counted(summary['checks'], 'check')}: "
        f"{counted(len(differ), 'difference') if differ else 'no difference'}",
        markup=False,
    )
    for row in differ[:10]:
        found = row["difference"]
        out.print(
            f"\n{row['on']} of {row['machine']} on {row['input'] or 'ε'}:\n"
            f"  {found['statement']} does not hold at time {found['time']}\n"
            f"  {found['part']}\n    expected {found['expected']}\n    found    {found['found']}",
            markup=False,
        )
