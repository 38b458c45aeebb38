"""The errors of netwright, one class per stage of the path from a machine to its answer.

Every message says where, what was expected, what was found and what to do. The command line
prints it and exits with code 2.
"""

from collections.abc import Sequence
from difflib import get_close_matches

MOST_NAMES = 30  # in a message


class NetwrightError(Exception):
    """The base class of every error that a user's input can cause."""


class MachineError(NetwrightError):
    """The parts do not make a Turing machine; `faults` lists every reason."""

    def __init__(self, headline: str, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join([headline, *(f"  {fault}" for fault in faults)]))


class FormatError(NetwrightError):
    """A file or a text is not a machine that netwright can read, or cannot be written."""


class InputError(NetwrightError):
    """The input word or a setting of a run does not fit the machine."""


class UnknownNameError(InputError, KeyError):
    """An unknown name, where Python expects a KeyError."""

    __str__ = Exception.__str__  # a KeyError would quote its message


class NetworkError(NetwrightError):
    """A network's vectors are not of the form that the construction promises."""


class OutputError(NetwrightError):
    """A result cannot be saved where the user asked for it."""


class StoppedError(NetwrightError):
    """The user stopped the work with Ctrl-C; the message says how far it got."""


class FormatWarning(UserWarning):
    """Something in a machine file may not mean what its author intended."""


def unknown(what: str, name: str, known: Sequence[str]) -> str:
    """The message for an unknown name, with the closest known one.

    >>> unknown("network", "transfomer", ["transformer", "rnn"])
    "no network 'transfomer'; did you mean transformer? there are transformer, rnn"
    """
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    shown = ", ".join(known[:MOST_NAMES])
    more = f" … and {len(known) - MOST_NAMES} more" if len(known) > MOST_NAMES else ""
    return f"no {what} {name[:60]!r}; {hint}there are {shown}{more}"
