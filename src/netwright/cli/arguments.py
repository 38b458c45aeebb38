"""The arguments and options that several verbs share, and what MACHINE and INPUT name.

The options of the kinds of network are made from the kinds' own records (`with_kind_options`).
"""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from netwright.cli.verb import ADVANCED, NETWORK
from netwright.errors import FormatError, InputError, unknown
from netwright.files import is_safetensors
from netwright.kind.registry import DEFAULT, MACHINE, SHORT, VARIANTS, kinds, modules, read_kind
from netwright.machine.formats import FORMATS, seed_database
from netwright.machine.library import library_names
from netwright.machine.load import load_machine, names_a_machine
from netwright.machine.normal_form import walking_to
from netwright.machine.turing_machine import TuringMachine

if TYPE_CHECKING:
    from netwright.kind.record import Option
    from netwright.network.running import Source


def read_count(value: str | int, option: str = "--max-steps", things: str = "steps") -> int:
    """A number of steps or other things as people write it.

    >>> read_count("1e6"), read_count("1_000"), read_count("1,000")
    (1000000, 1000, 1000)
    """
    text = str(value)
    if re.fullmatch(r"[0-9]{1,3}(,[0-9]{3})*|[0-9][0-9_]{0,40}", text):
        return int(text.replace(",", "").replace("_", ""))
    if match := re.fullmatch(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?[eE]\+?([0-9]{1,2})", text):
        whole, part, exponent = match[1], match[2] or "", int(match[3])
        if exponent >= len(part):
            return int(whole + part) * int(10 ** (exponent - len(part)))
    raise InputError(
        f"{option} is {text[:40]}; expected a number of {things}, 0 or more, such as 1000000 or 1e6"
    )


def one_of(option: str, choices: Iterable[str]) -> Callable[[str], str]:
    """A parser for one of some names, which suggests what a misspelt one may mean.

    The members of an enumeration of strings are returned as such.
    """
    known = {str(choice): choice for choice in choices}

    def read(value: str) -> str:
        if value not in known:
            raise InputError(f"{option}: {unknown('value', value, list(known))}")
        return known[value]

    return read


def choice_of(option: str, choices: Iterable[str], help_text: str) -> Any:
    """An option whose values are some names."""
    choices = list(choices)
    names = "|".join(map(str, choices))
    return typer.Option(
        option,
        parser=one_of(option, choices),
        metavar=f"[{names}]",
        help=help_text,
        autocompletion=completer(map(str, choices)),
    )


def completer(names: Iterable[str]) -> Callable[[str], list[str]]:
    """A completion callback for the shell: the names that begin as the incomplete word does."""
    known = list(names)
    return lambda incomplete: [name for name in known if name.startswith(incomplete)]


def complete_machine(incomplete: str) -> list[str]:
    """Complete MACHINE for the shell: names from the library, and files."""
    folder, slash, start = incomplete.rpartition("/")
    names = [] if slash else [name for name in library_names() if name.startswith(start)]
    shown = []
    with suppress(OSError):  # no such folder, or none that may be read
        for path in sorted(Path(folder + slash).iterdir()):
            fits = path.name.startswith(start) and (start or not path.name.startswith("."))
            if fits and path.name.isprintable():
                shown.append(f"{folder}{slash}{path.name}{'/' if path.is_dir() else ''}")
    return [*names, *shown]


Machine = Annotated[
    str,
    typer.Argument(
        metavar="MACHINE",
        help="A library name, a file (FILE:PART for one of several), or bbchallenge text.",
        show_default=False,
        autocompletion=complete_machine,
    ),
]
Input = Annotated[
    str | None,
    typer.Argument(
        metavar="INPUT",
        help="The input word, one symbol per character; '' is empty.  [the machine's own]",
        show_default=False,
    ),
]
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="Read MACHINE in this format, such as jflap.",
        rich_help_panel=ADVANCED,
        autocompletion=completer([*FORMATS, seed_database.NAME]),
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Separator between the symbols of INPUT.",
        rich_help_panel=ADVANCED,
    ),
]
Head = Annotated[
    int,
    typer.Option(
        "--head",
        metavar="N",
        help="Walk to cell N before the machine begins; cell 0 is the first symbol.",
        rich_help_panel=ADVANCED,
    ),
]
MaxSteps = Annotated[
    int,
    typer.Option(
        "--max-steps",
        metavar="N",
        parser=read_count,
        help="Stop after N steps of the machine, such as 1e6.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to this file."),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Overwrite FILE if it exists.", rich_help_panel=ADVANCED),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Broken = Annotated[
    list[str] | None,
    typer.Option(
        "--break",
        metavar="LAYER.BLOCK",
        help="Flip the sign of one weight into this block.  [repeatable]",
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="PART",
        help="Leave out a part: residual:…, attention:…, gate:….  [repeatable]",
    ),
]


def load(argument: str, *, format_name: str | None = None, also: Iterable[str] = ()) -> "Source":
    """The machine that MACHINE names, or the network if it is a file with a saved one."""
    is_name = argument in library_names()
    if format_name is None and not is_name and is_safetensors(argument, "network"):
        from netwright.network import saved  # what a machine alone does without

        return saved.load(argument)
    return load_machine(argument, format_name=format_name, also=also)


def split_word(text: str, separator: str | None = None) -> tuple[str, ...]:
    """INPUT as symbols: one a character, or what stands between separators.

    >>> split_word("ab"), split_word("on;off", ";"), split_word("", ";")
    (('a', 'b'), ('on', 'off'), ())
    """
    if separator == "":
        raise InputError("--separator is empty; leave it out for one symbol per character")
    symbols = tuple(text.split(separator) if separator and text else text)
    if "" in symbols:
        place = symbols.index("") + 1
        raise InputError(f"input symbol {place} is empty: two separators {separator!r} in a row")
    return symbols


class Loaded(NamedTuple):
    """What MACHINE and INPUT name: a machine or a saved network, the machine, and the word."""

    source: "Source"
    machine: TuringMachine
    word: tuple[str, ...]


def load_with_word(
    argument: str,
    word: str | None,
    separator: str | None,
    format_name: str | None,
    head: int = 0,
) -> Loaded:
    """MACHINE with the word it is to run on, its default input if none is given."""
    given = split_word(word or "", separator)
    try:
        source = load(argument, format_name=format_name, also=given)
    except FormatError:
        if word is not None and names_a_machine(word) and not names_a_machine(argument):
            raise InputError(
                f"{argument[:60]!r} is not a machine, but {word[:60]!r} is; MACHINE comes first, "
                "then INPUT: are they swapped?"
            ) from None
        raise
    machine = source if isinstance(source, TuringMachine) else source.machine
    if head:
        if source is not machine:
            raise InputError("--head is for a machine; a saved network begins on cell 0")
        source = machine = walking_to(machine, head)
    symbols = machine.default_input if word is None else check_word(machine, given, separator)
    return Loaded(source, machine, symbols)


def check_word(
    machine: TuringMachine, word: tuple[str, ...], separator: str | None
) -> tuple[str, ...]:
    """A word of the machine's symbols; the message for another one knows of `--separator`."""
    try:
        return machine.check_word(word)
    except InputError as error:
        text, others = "".join(word), (", ", "; ", ",", ";", "|", " ")
        between = next((c for c in others if c in text and not {*c} & {*machine.symbols}), None)
        if separator is not None or between is None:
            raise
        raise InputError(
            f"{error}; for symbols with {between!r} between them: --separator {between!r}"
        ) from None


def word_text(machine: TuringMachine, word: Sequence[str], separator: str | None = None) -> str:
    """A word or tape as one string: symbols side by side, or with something between long ones."""
    if separator is None:
        separator = "" if all(len(symbol) == 1 for symbol in machine.symbols) else ","
    return separator.join(word)


def on_option(help_text: str, *others: str) -> Any:
    """`--on`: a kind, or one of some others."""
    return typer.Option(
        "--on",
        parser=lambda value: read_kind(value, *others),
        metavar="NETWORK",
        help=f"{help_text}  [default: {DEFAULT}]",
        show_default=False,
        autocompletion=lambda incomplete: completer([*modules(), *SHORT, *VARIANTS, *others])(
            incomplete
        ),
    )


OnKind = Annotated[str | None, on_option("The network: transformer, rnn, neural-gpu, ….")]
OnTarget = Annotated[
    str | None,
    on_option("The network: transformer, rnn, neural-gpu, …; or machine.", MACHINE),
]


def _annotations(own: set[str]) -> dict[str, Any]:
    """An annotation for each option that some kind has and the verb itself has not."""
    users: dict[str, list[str]] = {}
    options: dict[str, Option] = {}
    for kind in kinds().values():
        for option in kind.options:
            if option.name not in own:
                users.setdefault(option.name, []).append(kind.name)
                options.setdefault(option.name, option)
    found: dict[str, Any] = {}
    for name, option in options.items():
        help_text = f"For {' and '.join(users[name])}: {option.help}"
        if option.is_flag:
            found[name] = Annotated[
                bool, typer.Option(f"--{name}", help=help_text, rich_help_panel=NETWORK)
            ]
            continue
        complete = completer(option.choices) if option.choices else None
        shown = typer.Option(
            f"--{name}",
            metavar=option.metavar or "VALUE",
            help=help_text,
            autocompletion=complete,
            rich_help_panel=NETWORK,
        )
        found[name] = Annotated[str | None, shown]
    return found


def with_kind_options(command: Callable[..., Any]) -> Callable[[bool], Callable[..., Any]]:
    """A verb whose parameter `options` becomes one option for each that some kind has.

    The verb gets those that were given, as a dictionary; the kind reads and refuses them. What
    comes back makes the verb: with all options, which loads all kinds; or with its own alone, where
    no other is given.
    """

    def make(with_all: bool) -> Callable[..., Any]:
        signature = inspect.signature(command)
        own = [p for name, p in signature.parameters.items() if name != "options"]
        known = _annotations({p.name for p in own}) if with_all else {}
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [p.replace(kind=keyword) for p in own]
        for name, annotation in known.items():
            default = False if annotation.__origin__ is bool else None
            parameters.append(
                inspect.Parameter(name, keyword, default=default, annotation=annotation)
            )

        @wraps(command)
        def verb(**values: Any) -> Any:
            given = {name: values.pop(name) for name in known}
            chosen = {name: value for name, value in given.items() if value not in (None, False)}
            return command(**values, options=chosen)

        verb.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        verb.__annotations__ = {p.name: p.annotation for p in parameters}
        return verb

    make.__doc__ = command.__doc__
    make.has_kind_options = True  # type: ignore[attr-defined]  # so that the verbs know
    return make
