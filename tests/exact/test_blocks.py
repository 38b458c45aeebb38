"""Blocks of digits as digits: the same vectors, codes and tapes as digit by digit."""

import random
from typing import Any

import pytest
from tests.engine.pointers import test_pointer_chains as pointers
from tests.engine.pointers.test_pointer_engine import mutants
from tests.engine.test_accelerated import (
    ALL,
    BOUNCER,
    LONGEST,
    compiled_for,
    engines,
    random_machine,
    random_moments,
    same_at,
)
from tests.mutations import mutated_neural_gpu, mutated_rnn
from tests.repetition import repeated, some

from netwright.engine.moments import advance_to
from netwright.errors import InputError
from netwright.exact import blocks
from netwright.machine.accelerated import AcceleratedMachine
from netwright.machine.library import library_machine, library_names
from netwright.machine.load import load_machine
from netwright.machine.simulate import simulate
from netwright.network.network import compile_network
from netwright.network.running import run

CYCLER = "1RB1LA_1LB0LC_1LA1LC"
"""It writes 0, 1, 0, 1, …, a cell farther to the left each time: no two cells are equal."""


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sizes are tried again and again, from the first moves on."""
    changes = {"FIRST": 8, "SAMPLE": 16, "GOOD": 1 << 60, "GAIN": 0, "SHORTLY": 4}
    for name, number in changes.items():
        monkeypatch.setattr(blocks, name, number)


@pytest.fixture(params=some([256, 3], 1))
def longest(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries of blocks also end in the midst of a block."""
    monkeypatch.setattr(blocks, "LONGEST", request.param)


def moments_of_a_run(draw: random.Random) -> list[int]:
    """Moments near the beginning and far from it, and some in a row."""
    here = draw.randrange(1, 3000)
    return sorted({*random_moments(draw, 5, 30_000), *range(here, here + 6)})


@pytest.mark.usefixtures("everywhere", "longest")
@pytest.mark.parametrize(("on", "often"), [("rnn", (60, 3)), ("neural-gpu", (30, 1))])
def test_vectors_at_random_moments(on: str, often: tuple[int, int]) -> None:
    """Of random machines, of the library with inputs, and of mutants."""
    draw = random.Random(on)
    for _ in range(repeated(*often)):
        name = draw.choice(library_names())
        word = LONGEST.get(name, library_machine(name).default_input)[: 12 if on == "rnn" else 5]
        machine = random_machine(draw, draw.choice([2, 3, 4, 5]))
        whole = compiled_for(on, machine).network
        mutant = (mutated_rnn if on == "rnn" else mutated_neural_gpu)(whole, draw)
        cases = (machine, "", None), (library_machine(name), word, None), (machine, "", mutant)
        for case in cases:
            fast, accelerated = engines(on, *case)
            for moment in moments_of_a_run(draw):
                while case[2] is not None and fast.moments < moment and fast.reason is None:
                    advance_to(fast, min(moment, fast.moments + 40))
                    advance_to(accelerated, fast.moments)
                assert fast.reason == accelerated.reason
                if fast.reason is not None:
                    break  # rationals grow with every moment
                assert same_at(fast, accelerated, moment), (case, moment)


@pytest.mark.usefixtures("everywhere", "longest")
@pytest.mark.parametrize("kind", some([*pointers.KINDS], 2))
def test_pointers_at_random_moments(kind: str) -> None:
    """Of random machines and of their mutants."""
    draw = random.Random(kind)
    for number in range(repeated(40, 3)):
        own = pointers.run_of(kind, random_machine(draw, draw.choice([2, 3, 4, 5])), ())
        (mutant,) = mutants(own.network, 1, number)
        for network in (own.network, mutant):
            both = pointers.engines(own._replace(network=network))
            for moment in moments_of_a_run(draw):
                assert pointers.same_at(both, moment), (kind, number, moment)


def same_run(found: Any, wanted: Any) -> bool:
    names = ("outcome", "steps", "state", "head", "tape")
    return all(getattr(found, name) == getattr(wanted, name) for name in names)


@pytest.mark.usefixtures("everywhere", "longest")
@pytest.mark.parametrize("on", some(ALL, 3))
def test_runs_to_every_limit(on: str) -> None:
    """State, head and tape at limits in a row, most of them within an entry of blocks."""
    draw = random.Random(on)
    for _ in range(repeated(30, 1)):
        name = draw.choice(library_names())
        word = LONGEST.get(name, library_machine(name).default_input)[:5]
        machine = random_machine(draw, draw.choice([2, 3, 4, 5]))
        for each, tape in ((machine, ""), (library_machine(name), word)):
            for limit in moments_of_a_run(draw):
                found = run(each, tape, limit, on=on, engine="accelerated")
                assert same_run(found, simulate(each, tape, limit, engine="fast")), (each, limit)


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("on", ["rnn", "neural-gpu", "pointer-transformer"])
def test_traces_in_any_order(on: str) -> None:
    """Vectors, and what tokens attend to, are those of the definition and the fast engine."""
    draw = random.Random(on)
    for _ in range(repeated(12, 2)):
        net = compile_network(random_machine(draw, 4), on)
        traces = [net.trace("", 20_000, engine=engine) for engine in ("auto", "accelerated")]
        for _ in range(4):
            found, t = list[Any](), int(9000 ** draw.random())
            for trace in traces:
                try:
                    moment = trace[t]
                    at = getattr(moment, "attention", {})
                    found.append((dict(moment), {n: at[n].winners for n in at}))
                except (IndexError, InputError) as error:
                    found.append(type(error))
            assert found[0] == found[1], t


@pytest.mark.parametrize("on", some(ALL, 3))
def test_few_moves_where_only_blocks_repeat(on: str) -> None:
    for steps in (10**5 + 7, 10**5 + 8, repeated(10**6, 10**5)):
        found = run(load_machine(CYCLER), None, steps, on=on, engine="accelerated")
        assert same_run(found, simulate(load_machine(CYCLER), None, steps, engine="fast"))
        assert found.moves is not None
        assert found.moves < 25_000


@pytest.mark.parametrize("on", ["machine", "rnn", "neural-gpu", *ALL[3:5]])
def test_a_counter_is_fewer_moves(on: str) -> None:
    machine = library_machine("binary-counter")
    found = run(machine, None, 3 * 10**6, on=on, engine="accelerated")
    assert same_run(found, simulate(machine, None, 3 * 10**6, engine="fast"))
    assert found.moves is not None
    assert found.moves < 10**6


@pytest.mark.parametrize("on", ["machine", "rnn", "pointer-transformer"])
def test_the_busy_beaver_is_fewer_moves_in_blocks(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them it has 85,669 as a machine; they are not taken, as its runs repeat well."""
    machine = library_machine("busy-beaver-5")
    without = run(machine, None, 10**8, on=on, engine="accelerated")
    for name, number in (("FIRST", 512), ("GOOD", 1 << 60), ("GAIN", 1), ("SIZES", (3,))):
        monkeypatch.setattr(blocks, name, number)
    found = run(machine, None, 10**8, on=on, engine="accelerated")
    assert same_run(found, without)
    assert found.moves is not None
    assert without.moves is not None
    assert 4 * found.moves < 3 * without.moves


def test_random_machines_without_chains_have_them() -> None:
    """Of 200 random machines of three and four states, all that do not halt."""
    draw, chains, alone = random.Random(38), 0, 0
    count = repeated(200, 20)
    for _ in range(count):
        machine = random_machine(draw, draw.choice([3, 4]))
        with pytest.MonkeyPatch.context() as patch:
            found = []
            for good in (0, 16):
                patch.setattr(blocks, "GOOD", good)
                found.append(AcceleratedMachine(machine, simulate(machine, (), 0)))
                found[-1].advance(1)
                while found[-1].steps < 10**6 and machine.action(*found[-1].place[:2]):
                    found[-1].advance(10**6 - found[-1].steps)
        one, other = found
        assert one.steps == other.steps
        assert one.place == other.place
        assert one.tape() == other.tape()
        if one.steps == 10**6:
            alone, chains = alone + has_chains_of(one), chains + has_chains_of(other)
    print(f"{count} random machines, {alone} with chains of digits, {chains} with blocks")
    assert chains > alone


def has_chains_of(machine: AcceleratedMachine) -> bool:
    """Whether it made fewer than half as many moves as there are steps."""
    return 2 * machine.moves < machine.steps


@pytest.mark.usefixtures("everywhere")
def test_numbers_beyond_64_bits() -> None:
    """The bouncer in blocks, as far as it goes in a few moves, and a machine that only walks."""
    for steps in (2**62 + 1, 2**64 + 5):
        found = run(load_machine("1RA1RA"), None, steps, on="rnn", engine="accelerated")
        assert (found.steps, found.head, found.tape.runs) == (steps, steps, (("1", steps),))
    wanted = simulate(load_machine(BOUNCER), None, 10**7, engine="fast")
    found = run(load_machine(BOUNCER), None, 10**7, on="rnn", engine="accelerated")
    assert same_run(found, wanted)
