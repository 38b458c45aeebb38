"""The values of the proof from a timeline are those of the run from its beginning, at any time."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.machine_table import TABLE, Case
from tests.repetition import examples
from tests.strategies import machines, words

from netwright.kind.transformer.proof_values import ProofValues, ProofValuesOf
from netwright.machine.library import library_machine
from netwright.machine.normal_form import normalize
from netwright.machine.timeline import normal_timeline
from netwright.machine.turing_machine import TuringMachine


def agree(machine: TuringMachine, word: tuple[str, ...], steps: int, seed: int) -> None:
    normal = normalize(machine, blanks_in_input=machine.blank in word)
    expected = ProofValues(normal, word, steps + 1)
    found = ProofValuesOf(normal, word, normal_timeline(normal, word))
    for i in random.Random(seed).sample(range(steps), min(steps, 25)):
        for name in ("y", "a1", "z1", "p2", "p3"):
            assert getattr(found, name)(i) == getattr(expected, name)(i), (name, i)
        assert found.ell[i + 1] == expected.ell[i + 1]
        assert found.c[i + 1] == expected.c[i + 1]


@pytest.mark.parametrize("case", TABLE[::5], ids=lambda case: f"{case.machine} {case.word}")
def test_on_the_machine_table(case: Case) -> None:
    agree(library_machine(case.machine), tuple(case.word), 120, 17)


@examples(50)
@given(st.data())
def test_on_random_machines_and_after_a_halt(data: st.DataObject) -> None:
    machine = data.draw(machines())
    word = data.draw(words(machine.symbols))
    agree(machine, tuple(word), 40, data.draw(st.integers(0, 1000)))
