"""Run the evaluator that Coq extracts beside netwright's own, on the machines of the library.

    python proofs/engine.py

The engine reads numbers: the score (1: −|⟨q, k⟩|), whether # is new, the numbers of states and of
symbols, the blank, the start; then lists with their lengths before them: the accepting states,
the rules (state, symbol, state, symbol, move as −1, 0, 1), the targets of stays, the word; then the
last time. It prints y_0, y_1, … as fractions in binary.
"""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

from generate import ABSOLUTE, DOT, Numbered

import netwright as nw
from netwright.machine.library import library_names

HERE = Path(__file__).parent
SCORES = (ABSOLUTE, DOT)
MOST_OUTPUTS = 20
MOST_TOKENS = 120
"""Of a prompt: with longer ones the engine takes a minute."""


def question(case: Numbered) -> str:
    """What the engine reads."""
    given, states, symbols = case.given, case.states, case.symbols
    accepting = [states[q] for q in case.compiled.machine.accepting]
    rules = list[int]()
    for (q, a), action in given.delta.items():
        rules += [states[q], symbols[a], states[action.state], symbols[action.write]]
        rules.append(action.move.offset)
    head = [case.form == ABSOLUTE, case.blanks, len(given.states), len(given.symbols)]
    numbers = [*head, symbols[given.blank], states[given.start], len(accepting), *accepting]
    numbers += [len(given.delta), *rules, len(case.back), *case.back]
    numbers += [len(case.word), *(symbols[a] for a in case.word), len(case.outputs) - 1]
    return " ".join(str(int(x)) for x in numbers)


def answer(text: str) -> list[list[Fraction]]:
    """The outputs that it prints."""
    pairs = ((each.split("/") for each in line.split()) for line in text.splitlines())
    return [[Fraction(int(top, 2), int(bottom, 2)) for top, bottom in row] for row in pairs]


def main() -> int:
    """Compare; 0 if all outputs are equal."""
    machines = [nw.load_machine(name) for name in library_names()]
    machines.append(nw.load_machine(HERE / "stays.yaml"))
    compared = 0
    for machine in machines:
        for score in SCORES:
            case = Numbered(machine, "".join(machine.default_input), score, MOST_OUTPUTS)
            if len(case.prompt) > MOST_TOKENS:
                continue
            call = subprocess.run(
                [HERE / "engine"], input=question(case), capture_output=True, text=True, check=True
            )
            if answer(call.stdout) != case.outputs:
                print(f"{machine.name} on {case.word!r}, {score}: other outputs than netwright's")
                return 1
            compared += len(case.outputs)
    print(f"{compared} outputs of the engine that Coq extracts are netwright's")
    return 0


if __name__ == "__main__":
    sys.exit(main())
