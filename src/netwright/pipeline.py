"""The path of the data, as code: from what the user types to the answer.

    machine file ──load──▶ TuringMachine ──run──▶ Run

Each stage takes what the stage before it gives.
"""

from collections.abc import Iterable

from netwright.errors import InputError
from netwright.machine.load import load_machine
from netwright.machine.simulate import Engine, Progress, Run, simulate
from netwright.machine.turing_machine import TuringMachine

__all__ = ["load_machine", "read_word", "run"]


def read_word(
    machine: TuringMachine, text: str | None, separator: str | None = None
) -> tuple[str, ...]:
    """INPUT as a word: a symbol a character, or between separators; none is the default input.

    >>> read_word(load_machine("palindrome"), "ab")
    ('a', 'b')
    """
    if separator == "":
        raise InputError("--separator is empty; leave it out for one symbol a character")
    if text is None:
        return machine.default_input
    if separator is None or text == "":
        return machine.check_word(text)
    return machine.check_word(text.split(separator))


def run(
    machine: TuringMachine,
    word: Iterable[str],
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
