"""Many tokens at once: the same outputs and pointers as one by one, on networks as they are."""

import random
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from tests.engine.pointers.test_pointer_engine import (
    ENGINES,
    Run,
    mutants,
    on_kind,
    on_pointers,
    on_small,
    on_universal,
    over_eleven,
)
from tests.engine.test_accelerated import BOUNCER, FAR, LONGEST, random_machine, random_moments
from tests.repetition import repeated, some

from netwright.engine.pointers import kernel
from netwright.engine.pointers.accelerated import RunPointers
from netwright.engine.pointers.engine import PointerEngine, Tables
from netwright.engine.pointers.evaluation import Output, Value
from netwright.kind.pointer_transformer.construction import Attention
from netwright.machine.library import library_machine, library_names
from netwright.machine.load import load_machine
from netwright.machine.turing_machine import TuringMachine

KINDS: dict[str, Callable[[TuringMachine, Any], Run]] = {
    "pointer-transformer": lambda machine, word: on_pointers(
        machine, word, Attention.ABSOLUTE, keep_stays=True
    ),
    "dot-product": lambda machine, word: on_pointers(machine, word, Attention.DOT_PRODUCT),
    "universal-transformer": lambda machine, word: on_universal(machine, word, Attention.ABSOLUTE),
    "16-coordinates": on_small,
    "universal-text": over_eleven,
    **{kind: partial(on_kind, kind) for kind in ENGINES},
}
REUSED = Value({}, ())
"""Below a token whose slot was given to another."""
State = tuple[Output, list[Sequence[Value | None]]]


def state_of(engine: PointerEngine) -> State:
    """The newest output, and the values that each pointer alone leads to, highest first.

    A changed network may leave pointers to tokens whose slots tables have given to others; their
    values are known to the accelerated engine alone, and the list ends before them.
    """
    faster, stacks = engine.faster, list[Sequence[Value | None]]()
    if isinstance(faster, RunPointers):
        output, runs = (
            faster.state() if faster.reads < faster.moments else (faster.tables.output, [])
        )
        for each in runs:
            digits = np.repeat(each.digits, each.counts)[::-1].tolist()
            stacks.append([faster.values[digit] for digit in digits])
        return output, stacks
    assert isinstance(faster, Tables)
    for s in (0, 1):
        found, (slot, token) = list[Value | None](), faster.pointed[s]
        while token:
            head, two, *pointers = faster.slots[slot].tolist()
            there, value = divmod(head, kernel.VALUES)
            if there != token:
                found.append(REUSED)
                break
            found.append(faster.values[value])
            slot, token = two >> 32 * s & 0xFFFFFFFF, pointers[s]
        stacks.append(found)
    return faster.output, stacks if faster.reads < faster.moments else []


def same_values(known: Sequence[Value | None], values: Sequence[Value | None]) -> bool:
    """Whether a stack is the same, as far as it is known."""
    if known[-1:] == [REUSED]:
        return list(values[: len(known) - 1]) == known[:-1] and len(values) >= len(known)
    return known == values


def engines(run: Run) -> tuple[PointerEngine, PointerEngine]:
    """By tables, and accelerated."""
    return run.started(), run.started(accelerated=True)


def same_at(both: tuple[PointerEngine, PointerEngine], moment: int) -> bool:
    """Whether outputs and stacks are the same at a moment, or both leave them before it."""
    for each in both:
        while each.moments < moment and each.reason is None:
            each.advance(moment - each.moments)
    if both[0].reason or both[1].reason:
        return both[0].reason == both[1].reason and both[0].moments == both[1].moments
    (output, known), (other, stacks) = map(state_of, both)
    is_same = output == other and len(known) == len(stacks)
    return is_same and all(map(same_values, known, stacks)) and both[0].moments == both[1].moments


def has_chains(engine: PointerEngine) -> bool:
    """Whether it made fewer than half as many moves as there are moments."""
    return engine.moves is not None and 2 * engine.moves < engine.moments


@cache
def run_of(kind: str, machine: TuringMachine, word: Any) -> Run:
    return KINDS[kind](machine, word)


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("name", some(library_names(), 5))
def test_library_machines_at_random_moments(kind: str, name: str) -> None:
    """27 machines on 5 networks: 1,000 moments and more, with inputs."""
    draw, machine = random.Random(name), library_machine(name)
    word = tuple(LONGEST.get(name, machine.default_input)[:20])
    both = engines(run_of(kind, machine, word))
    for moment in random_moments(draw, 20):
        assert same_at(both, moment), moment


@pytest.mark.parametrize("kind", list(KINDS))
def test_random_machines_at_random_moments(kind: str) -> None:
    draw, chains, count = random.Random(38), 0, repeated(200, 12)
    for _ in range(count):
        machine = random_machine(draw, draw.choice([2, 3, 4]))
        both = engines(run_of(kind, machine, ()))
        for moment in random_moments(draw, 5):
            assert same_at(both, moment), (machine.name, moment)
        chains += has_chains(both[1])
    print(f"{kind}: {count} random machines, {chains} with chains")
    assert chains >= count // 2


@pytest.mark.parametrize("kind", ["pointer-transformer", "universal-transformer"])
def test_mutants_at_random_moments(kind: str) -> None:
    """With inputs; changed weights change runs, and the engine runs them as they are."""
    draw, count = random.Random(29), repeated(500, 40)
    cases = [(BOUNCER, ""), ("busy-beaver-5", ""), ("palindrome", "abba"), ("copy", "ab")]
    cases += [("sweeper", ""), ("binary-increment", "1011")]
    changed = chains = refused = 0
    for number in range(count):
        name, word = draw.choice(cases)
        run = run_of(kind, load_machine(name), word)
        (network,) = mutants(run.network, 1, number)
        both = engines(run._replace(network=network))
        mutant = run._replace(network=network).by_definition(30)
        changed += not np.array_equal(mutant, run.by_definition(30))
        for moment in random_moments(draw, 5, FAR):
            assert same_at(both, moment), (name, word, number, moment)
        refused += both[1].reason is not None
        chains += has_chains(both[1])
    print(f"{kind}: {count} mutants, {changed} changed, {chains} with chains, {refused} refused")
    assert changed >= count // 4
    assert chains >= count // 8
