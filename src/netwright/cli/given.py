"""What several verbs are given: a machine or a saved network, and a word."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from netwright.errors import FormatError, InputError
from netwright.files import is_safetensors
from netwright.machine.load import load_machine, names_a_machine
from netwright.machine.turing_machine import TuringMachine

if TYPE_CHECKING:
    from netwright.network.running import Source


def load(argument: str, *, format_name: str | None = None, also: Iterable[str] = ()) -> "Source":
    """The machine that MACHINE names, or the network if it is a file with a saved one."""
    if format_name is None and is_safetensors(argument, "network"):
        from netwright.network.saved import load_network  # what a machine alone does without

        return load_network(argument)
    return load_machine(argument, format_name=format_name, also=also)


def split_word(text: str, separator: str | None = None) -> tuple[str, ...]:
    """INPUT as symbols: one a character, or what stands between separators.

    >>> split_word("ab"), split_word("on;off", ";"), split_word("", ";")
    (('a', 'b'), ('on', 'off'), ())
    """
    if separator == "":
        raise InputError("--separator is empty; leave it out for one symbol a character")
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
    argument: str, word: str | None, separator: str | None, format_name: str | None
) -> Loaded:
    """MACHINE with the word it is to run on, its default input if none is given."""
    given = split_word(word or "", separator)
    try:
        source = load(argument, format_name=format_name, also=given)
    except FormatError:
        if word is not None and names_a_machine(word) and not names_a_machine(argument):
            raise InputError(
                f"{argument[:60]!r} is no machine, but {word[:60]!r} is; MACHINE comes first, then "
                "INPUT: are they swapped?"
            ) from None
        raise
    machine = source if isinstance(source, TuringMachine) else source.machine
    symbols = machine.default_input if word is None else check_word(machine, given, separator)
    return Loaded(source, machine, symbols)


def check_word(
    machine: TuringMachine, word: tuple[str, ...], separator: str | None
) -> tuple[str, ...]:
    """A word of the machine's symbols; the message for another one knows of `--separator`."""
    try:
        return machine.check_word(word)
    except InputError as error:
        between = next((c for c in " ,;|" if c in word and c not in machine.symbols), None)
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
