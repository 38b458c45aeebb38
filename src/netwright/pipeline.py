"""The path of the data, as code: from what the user types to the answer.

    machine file ──load──▶ TuringMachine ──run──▶ Run

Each stage takes what the stage before it gives.
"""

from collections.abc import Iterable

from netwright.errors import InputError
from netwright.machine.load import load_machine
from netwright.machine.simulate import Engine, Progress, Run, simulate
from netwright.machine.turing_machine import TuringMachine

__all__ = ["load_machine", "run", "split_word"]


def split_word(text: str, separator: str | None = None) -> tuple[str, ...]:
    """INPUT as symbols: one a character, or what stands between separators.

    >>> split_word("ab"), split_word("on;off", ";"), split_word("", ";")
    (('a', 'b'), ('on', 'off'), ())
    """
    if separator == "":
        raise InputError("--separator is empty; leave it out for one symbol a character")
    return tuple(text.split(separator) if separator and text else text)


def run(
    machine: TuringMachine,
    word: Iterable[str] | None = None,
    max_steps: int = 10_000_000,
    *,
    engine: Engine = Engine.AUTO,
    progress: Progress | None = None,
) -> Run:
    """The answer of the machine on a word.

    >>> run(load_machine("palindrome"), "abab").outcome
    <Outcome.REJECTED: 'rejected'>
    """
    return simulate(machine, word, max_steps, engine=engine, progress=progress)
