"""A recorded run is what the proofs' own values say, for every array and every time."""

from collections.abc import Sequence
from itertools import cycle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples
from tests.strategies import machines, words

from netwright.kind.pointer_transformer.linked_visits import LinkedVisits
from netwright.kind.transformer.proof_values import ProofValues
from netwright.machine.library import library_machine
from netwright.machine.normal_form import NormalMachine, normalize
from netwright.machine.recorded import Recorded
from netwright.machine.turing_machine import Action, Move, TuringMachine

PROOF = ("q", "s", "v", "m", "before", "cell", "latest", "w")
LINKED = ("rule", "turn", "right", "left", "followed", "look", "found", "R of it", "L of it")
HEAD = -1


def recorded(
    machine: TuringMachine, word: Sequence[str], times: int, sizes: Sequence[int] = (1000,)
) -> dict[str, list[int]]:
    """All arrays for some times, written in chunks of these sizes, over and over."""
    arrays = {name: np.full(times, 99, np.int64) for name in (*PROOF, *LINKED)}
    run, done = Recorded(machine, word, HEAD, arrays), 0
    for size in cycle(sizes):
        count = min(size, times - done)
        run.advance(done, count)
        done += count
        if done == times:
            return {name: array.tolist() for name, array in arrays.items()}
    raise AssertionError("no sizes")


def proved(normal: NormalMachine, word: Sequence[str], times: int) -> dict[str, list[int]]:
    """The arrays that Theorem 3.4 speaks of."""
    values = ProofValues(normal, word, times)
    states, symbols = list(normal.machine.states), list(normal.machine.symbols)

    def code(names: Sequence[str], name: str | None) -> int:
        return -1 if name is None else names.index(name)

    return {
        "q": [code(states, each) for each in values.q[:times]],
        "s": [code(symbols, each) for each in values.s[:times]],
        "v": [code(symbols, each) for each in values.v[:times]],
        "m": values.m[:times],
        "before": [0, *values.m][:times],
        "cell": values.c[:times],
        "latest": values.ell[:times],
        "w": [-1, *(code(symbols, values.v[ell]) for ell in values.ell[1:times])],
    }


def linked(machine: TuringMachine, word: Sequence[str], times: int) -> dict[str, list[int]]:
    """The arrays of the lemma of linked visits, up to the halt."""
    values = LinkedVisits(machine, word, times - 1, HEAD)
    symbols = list(machine.symbols)
    moves = [-2 if v is None else m for v, m in zip(values.v, values.m, strict=True)]
    goes = [L if m < 0 else R for m, R, L in zip(values.m, values.R, values.L, strict=True)]
    target = [c + (-1 if m < 0 else 1) for c, m in zip(values.c, values.m, strict=True)]
    pairs = zip(values.q, values.s, strict=True)
    return {
        "rule": [machine.states.index(q or "") * len(symbols) + symbols.index(s) for q, s in pairs],
        "turn": moves,
        "right": [R + 1 for R in values.R],
        "left": [L + 1 for L in values.L],
        "followed": [j + 1 for j in goes],
        "look": [cell - HEAD for cell in target],
        "found": [-1 if (v := values.v[j]) is None else symbols.index(v) for j in goes],
        "R of it": [values.R[j] + 1 for j in goes],
        "L of it": [values.L[j] + 1 for j in goes],
    }


def agree(
    machine: TuringMachine,
    word: Sequence[str],
    times: int,
    sizes: Sequence[int],
    *,
    keep_stays: bool = False,
) -> None:
    """All arrays of the machine in normal form are the proofs' values."""
    normal = normalize(machine, blanks_in_input=True, keep_stays=keep_stays)
    symbols = normal.check_word(word)
    found = recorded(normal.machine, symbols, times, sizes)
    for name, wanted in proved(normal, symbols, times).items():
        assert found[name] == wanted, name
    for name, wanted in linked(normal.machine, symbols, times).items():
        assert found[name][: len(wanted)] == wanted, name


@examples(200)
@given(st.data())
def test_all_arrays_are_those_of_the_proofs(data: st.DataObject) -> None:
    """Past the halt too, where the values of Theorem 3.4 go on."""
    machine = data.draw(machines())
    word = data.draw(words(machine.symbols))
    sizes = data.draw(st.lists(st.sampled_from([1, 2, 3, 7, 16, 17]), min_size=1, max_size=4))
    agree(machine, word, data.draw(st.integers(1, 60)), sizes, keep_stays=data.draw(st.booleans()))


@pytest.mark.parametrize("name", ["sweeper", "binary-counter", "prime", "busy-beaver-4"])
def test_tapes_that_outgrow_the_array(name: str) -> None:
    machine = library_machine(name)
    agree(machine, machine.default_input, 3000, [333, 1, 1024])


@pytest.mark.parametrize("move", [*map(Move, "LR")])
def test_a_walk_to_one_side(move: Move) -> None:
    walker = TuringMachine(
        states=["w"], symbols=["_", "x"], blank="_", start="w",
        delta={("w", "_"): Action("w", "x", move)},
    )  # fmt: skip
    agree(walker, (), 700, [13])


def test_an_array_that_is_not_asked_for_changes_nothing() -> None:
    machine = library_machine("palindrome")
    whole = recorded(machine, "abba", 40)
    for name in (*PROOF, *LINKED):
        alone = {name: np.zeros(40, np.int64)}
        Recorded(machine, "abba", HEAD, alone).advance(0, 40)
        assert alone[name].tolist() == whole[name], name
