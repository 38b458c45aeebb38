"""`netwright verify`: networks against their machine, step by step, lemma by lemma."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from netwright.cli.arguments import (
    AsJson,
    Broken,
    FormatName,
    MaxSteps,
    Separator,
    Without,
    check_word,
    load,
    split_word,
    with_kind_options,
    word_text,
)
from netwright.cli.output import Working, visible
from netwright.cli.report import Report
from netwright.errors import InputError, StoppedError
from netwright.kind.record import Kind, check_options
from netwright.kind.registry import kind_with, kinds_of_the_paper
from netwright.machine.formats import bbchallenge
from netwright.machine.load import read_text_file
from netwright.network.network import MOST_STEP_BY_STEP, Network, compile_network
from netwright.network.running import Source, machine_in, network_of
from netwright.network.weight import weights_by_place
from netwright.text import counted, shortened
from netwright.verify.comparison import Comparison
from netwright.verify.draw import random_machine, random_words

EXAMPLE = """\b
Examples:
  netwright verify palindrome abba abab
  netwright verify binary-addition --random 20 --max-length 8 --on rnn
  netwright verify --random-machines 50 --states 3 --symbols 3 --random 2
  netwright verify palindrome abba --break decoder.3.V.s4
  netwright verify palindrome abba --without residual:decoder.2.self"""
DIFFERS = 1


@with_kind_options
def command(
    options: dict[str, Any],
    machine: Annotated[
        str | None, typer.Argument(metavar="MACHINE", help="A machine, as for netwright run.")
    ] = None,
    inputs: Annotated[
        list[str] | None, typer.Argument(metavar="INPUT…", help="Input words.")
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="NETWORKS",
            help="The networks, separated by commas.  [those of the paper]",
            show_default=False,
        ),
    ] = None,
    max_steps: MaxSteps = 100,
    random_inputs: Annotated[
        int, typer.Option("--random", metavar="N", min=0, help="Also try N random inputs.")
    ] = 0,
    alphabet: Annotated[
        str | None,
        typer.Option(
            metavar="SYMBOLS",
            help="The symbols of random inputs.  [the machine's input alphabet]",
            show_default=False,
        ),
    ] = None,
    max_length: Annotated[
        int, typer.Option(metavar="L", min=0, help="Maximum length of random inputs.")
    ] = 6,
    seed: Annotated[int, typer.Option(metavar="S", help="The seed of everything random.")] = 0,
    machines: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also try the machines in FILE, bbchallenge texts."),
    ] = None,
    random_machines: Annotated[
        int, typer.Option(metavar="N", min=0, help="Also try N random machines.")
    ] = 0,
    states: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of states of random machines.")
    ] = 3,
    symbols: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of symbols of random machines.")
    ] = 3,
    broken: Broken = None,
    without: Without = None,
    separator: Separator = None,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> int:
    """Compare networks with their machine at every step of a run."""
    kinds, options = read_kinds(on or ",".join(kinds_of_the_paper()), options)
    check_options(kinds, options)
    _check_limit(kinds, max_steps)
    draw = random.Random(seed)
    subjects = list(_subjects(machine, inputs or [], separator, format_name, machines))
    for n in range(random_machines):
        subjects.append(Subject(f"random {n + 1}", random_machine(draw, states, symbols), []))
    if not subjects:
        raise InputError("nothing to verify; name a MACHINE, --machines or --random-machines")

    def words_of(subject: Subject) -> list[tuple[str, ...]]:
        letters = check_word(subject.machine, split_word(alphabet or "", separator), separator)
        drawn = random_words(draw, subject.machine, random_inputs, max_length, letters)
        return [*subject.words, *drawn] or [subject.machine.default_input]

    damage = Damage(broken, without, max_steps)
    rows: list[dict[str, Any]] = []
    with Working() as work:
        for subject in subjects:
            work.tell(f"{subject.name}: {len(rows)} runs compared")
            tell = partial(_tell_steps, work, subject.name)
            for word in words_of(subject):
                for network in subject.networks(kinds, options, word, damage):
                    found = network.compare(word, max_steps, tell)
                    rows.append(_row(subject, found, separator) | damage.about(network))
    if not work.interrupted:
        damage.check()
    differ = [row for row in rows if row["difference"] is not None]
    report = Report({"runs": len(rows), "checks": sum(row["checks"] for row in rows)})
    report.facts |= {"differences": len(differ), "interrupted": work.interrupted}
    damage.tell(report, kinds)
    report.facts["results"] = rows
    _tell(report, rows, differ)
    report.show(as_json=as_json)
    if work.interrupted:
        compared = counted(len(rows), "run")
        raise StoppedError(f"interrupted after {compared} of {counted(len(subjects), 'machine')}")
    return DIFFERS if differ else 0


def _check_limit(kinds: Sequence[Kind[Any]], max_steps: int) -> None:
    """Raise InputError for more steps than kinds that are compared step by step can do."""
    slow = [kind.name for kind in kinds if not kind.proof.is_vectorised]
    if max_steps > MOST_STEP_BY_STEP and slow:
        raise InputError(
            f"--max-steps is {max_steps:,}, and {' and '.join(slow)} can be compared for at most "
            f"{MOST_STEP_BY_STEP:,} (netwright certify covers all steps; --on names other networks)"
        )


def _tell_steps(work: Working, name: str, steps: int, cells: int) -> None:
    work.tell(f"{name}: {steps:,} steps compared, {cells:,} cells")


class Subject:
    """A machine with the words that are named, or a network that is compiled already."""

    def __init__(self, name: str, source: Source, words: Sequence[tuple[str, ...]]) -> None:
        self.name, self.source, self.words = name, source, words
        self.machine = machine_in(source)
        self._made: dict[tuple[Any, ...], Network] = {}

    def networks(
        self,
        kinds: Sequence[Kind[Any]],
        options: dict[str, Any],
        word: Sequence[str],
        damage: "Damage",
    ) -> Iterator[Network]:
        """Its networks for a word, damaged if they are to be."""
        for network in self._compiled(kinds, options, word):
            damaged = damage.applied_to(network, word)
            if damaged is not None:
                yield damaged

    def _compiled(
        self, kinds: Sequence[Kind[Any]], options: dict[str, Any], word: Sequence[str]
    ) -> Iterator[Network]:
        """The networks, each compiled once; a word with blanks may need other options."""
        if isinstance(self.source, Network):
            yield network_of(self.source, None, word, **options)
            return
        for kind in kinds:
            own = {option.name for option in kind.options}
            mine = {name: value for name, value in options.items() if name in own}
            given = kind.construction.for_word(mine, self.machine, word)
            key = (kind.name, *sorted(given.items()))
            if key not in self._made:
                self._made[key] = compile_network(self.machine, kind, **given)
            yield self._made[key]


def read_kinds(text: str, options: Mapping[str, Any]) -> tuple[list[Kind[Any]], dict[str, Any]]:
    """Kinds of network from their names with commas between them, and the options of them all.

    >>> [kind.statement for kind in read_kinds("rnn, transformer", {})[0]]
    ['Theorem 2.3', 'Theorem 3.4']
    """
    found: dict[str, Kind[Any]] = {}
    for name in text.split(","):
        kind, options = kind_with(name.strip(), options)
        found[kind.name] = kind
    return list(found.values()), dict(options)


class Damage:
    """What `--break` and `--without` do to each network that has such a weight or part.

    `applied` says, by kind, what was done to it in any machine.
    """

    def __init__(
        self, broken: Sequence[str] | None, without: Sequence[str] | None, max_steps: int
    ) -> None:
        self.broken, self.without = dict.fromkeys(broken or ()), dict.fromkeys(without or ())
        self.max_steps = max_steps
        self.applied: dict[str, dict[str, None]] = {}
        self._places: dict[str, dict[str, None]] = {}
        self._parts: dict[str, dict[str, None]] = {}
        self._kept: dict[Network, Network] = {}

    def __bool__(self) -> bool:
        return bool(self.broken or self.without)

    def applied_to(self, network: Network, word: Sequence[str]) -> Network | None:
        """The network with all of it that applies; None if nothing does.

        For one network it is the same on every word: what matters on the first.
        """
        if not self:
            return network
        on = network.kind.name
        places = dict.fromkeys(weights_by_place(network.compiled.network))
        parts = dict.fromkeys(network.kind.construction.parts(network.compiled))
        self._places.setdefault(on, {}).update(places)
        self._parts.setdefault(on, {}).update(parts)
        broken = [place for place in self.broken if place in places]
        without = [part for part in self.without if part in parts]
        if not broken and not without:
            return None
        if network not in self._kept:
            damaged = network.broken(*broken, word=word, max_steps=self.max_steps)
            self._kept[network] = damaged.without(*without)
        self.applied.setdefault(on, {}).update(dict.fromkeys(self._kept[network].changes))
        return self._kept[network]

    def about(self, network: Network) -> dict[str, Any]:
        """What a row says of the damage."""
        return {"changed": list(network.changes)} if self else {}

    def tell(self, report: Report, kinds: Sequence[Kind[Any]]) -> None:
        """Report what was done to each kind, and the kinds to which nothing could be."""
        if not self:
            return
        left_out = [kind.name for kind in kinds if kind.name not in self.applied]
        report.facts["changed"] = {on: list(names) for on, names in self.applied.items()}
        report.facts["left_out"] = left_out
        for on, names in self.applied.items():
            report.line(f"{on}: {', '.join(names)}")
        if left_out:
            report.line(f"left out, without such a weight or part: {', '.join(left_out)}")

    def check(self) -> None:
        """Raise InputError for a weight or part that no network had."""
        for option, names, found in (
            ("--break", self.broken, self._places),
            ("--without", self.without, self._parts),
        ):
            known = [name for of_kind in found.values() for name in of_kind]
            for name in names:
                if name not in known:
                    there = [each for each in known if each.startswith(name)]
                    there = there or get_close_matches(name, known) or known[:20]
                    more = " …" if len(known) > 20 and len(there) == 20 else ""
                    choice = f"there are {', '.join(there)}{more}" if there else "there is nothing"
                    kinds = " or ".join(found)
                    raise InputError(f"{option} {name}: no such place in {kinds}; {choice}")


def _subjects(
    argument: str | None,
    inputs: list[str],
    separator: str | None,
    format_name: str | None,
    machines: Path | None,
) -> Iterator[Subject]:
    """The machines that are named, each with the words that are."""
    words = [split_word(text, separator) for text in inputs]
    if argument is not None:
        also = {symbol for word in words for symbol in word}
        source = load(argument, format_name=format_name, also=sorted(also))
        turing = machine_in(source)
        yield Subject(argument, source, [check_word(turing, word, separator) for word in words])
    if machines is not None:
        text = read_text_file(machines)
        for each in bbchallenge.read_list(text, str(machines)):
            yield Subject(each.name, each, [])


def _row(subject: Subject, found: Comparison, separator: str | None) -> dict[str, Any]:
    difference = found.difference
    return {
        "machine": subject.name,
        "input": word_text(subject.machine, found.word, separator),
        "on": found.on,
        "steps": found.steps,
        "checks": found.checks,
        "difference": None if difference is None else asdict(difference),
    }


def _tell(report: Report, rows: list[dict[str, Any]], differ: list[dict[str, Any]]) -> None:
    """The table of runs, and the first differences in full."""
    words = ["".join(map(visible, row["input"])) or "ε" for row in rows]
    report.table(
        ("machine", "input", "network", "steps", "checks", ""),
        [
            (row["machine"], word, row["on"], row["steps"], row["checks"], _verdict(row))
            for row, word in zip(rows, words, strict=True)
        ],
        most=200,
    )
    done = f"{counted(len(rows), 'run')}, {counted(report.facts['checks'], 'check')}"
    report.line(f"{done}: {counted(len(differ), 'difference') if differ else 'no difference'}")
    for row in differ[:10]:
        found = {key: visible(str(value)) for key, value in row["difference"].items()}
        name, word = visible(row["machine"]), "".join(map(visible, row["input"])) or "ε"
        report.line(f"\n{row['on']} of {shortened(name, 40)} on {shortened(word, 20)}:")
        lines = (
            f"{found['statement']} does not hold at time {found['time']}",
            found["part"],
            f"  expected {found['expected']}",
            f"  found    {found['found']}",
        )
        report.line("\n".join(lines), indented=True)


def _verdict(row: dict[str, Any]) -> str:
    return "agrees" if row["difference"] is None else "DIFFERS"
