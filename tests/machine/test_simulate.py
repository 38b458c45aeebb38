"""The definition, the fast run, and their agreement on everything."""

import sys
from itertools import count, islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.networks import facts
from tests.strategies import machines, words

from netwright.errors import InputError
from netwright.machine import simulate as simulate_module
from netwright.machine.configuration import Configuration, Tape
from netwright.machine.library import library_machine
from netwright.machine.simulate import Engine, Interrupted, Outcome, configurations, simulate
from netwright.machine.turing_machine import TuringMachine

BB5 = "busy-beaver-5"

ENGINES = [engine for engine in Engine if engine is not Engine.TORCH]
"""Those that run machines."""


def plain_dictionary_run(
    machine: TuringMachine, word: tuple[str, ...], limit: int
) -> tuple[int, str, int, dict[int, str]]:
    """The same thing written once more: a dictionary for a tape."""
    tape = {cell: symbol for cell, symbol in enumerate(word) if symbol != machine.blank}
    state, head, steps = machine.start, 0, 0
    while steps < limit and state not in machine.accepting:
        rule = machine.delta.get((state, tape.get(head, machine.blank)))
        if rule is None:
            break
        state, tape[head], move = rule
        head += {"L": -1, "R": 1, "S": 0}[move]
        steps += 1
    return steps, state, head, {c: s for c, s in tape.items() if s != machine.blank}


@given(st.data())
def test_both_engines_agree_with_a_dictionary(data: st.DataObject) -> None:
    machine = data.draw(machines())
    word = data.draw(words(machine.symbols))
    limit = data.draw(st.integers(0, 80))
    reference = simulate(machine, word, limit, engine=Engine.REFERENCE)
    assert facts(simulate(machine, word, limit, engine=Engine.FAST)) == facts(reference)
    steps, state, head, tape = plain_dictionary_run(machine, word, limit)
    cells = enumerate(reference.tape.cells, start=reference.tape.start)
    assert (reference.steps, reference.state, reference.head) == (steps, state, head)
    assert {cell: symbol for cell, symbol in cells if symbol != machine.blank} == tape


@given(machines(max_states=3, max_symbols=3), st.integers(0, 60), st.integers(0, 60))
def test_auto_goes_on_where_the_reference_stops(
    machine: TuringMachine, limit: int, reference_steps: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulate_module, "AUTO_REFERENCE_STEPS", reference_steps)
        auto = simulate(machine, machine.default_input, limit)
    assert facts(auto) == facts(
        simulate(machine, machine.default_input, limit, engine=Engine.REFERENCE)
    )


def test_the_busy_beaver_of_five_states_halts_where_it_should() -> None:
    run = simulate(library_machine(BB5), (), 50_000_000)
    assert (run.outcome, run.steps, run.engine) == (Outcome.HALTED, 47_176_870, Engine.FAST)
    assert run.tape.cells.count("1") == 4098


def test_a_limit_shows_the_configuration_after_exactly_that_many_steps() -> None:
    machine = library_machine(BB5)
    for limit, now in zip([*range(0, 3000, 371)], configurations_at(machine, 371), strict=False):
        for engine in ENGINES:
            run = simulate(machine, (), limit, engine=engine)
            assert (run.outcome, run.steps) == (Outcome.UNDECIDED, limit)
            assert (run.state, run.head, run.tape) == (now.state, now.head, now.tape)


def configurations_at(machine: TuringMachine, stride: int) -> list[Configuration]:
    return list(islice(configurations(machine), 0, 3000, stride))


def test_the_limit_counts_the_halting_step_too() -> None:
    machine = library_machine("busy-beaver-4")
    for engine in ENGINES:
        assert simulate(machine, (), 106, engine=engine).outcome is Outcome.UNDECIDED
        assert simulate(machine, (), 107, engine=engine).outcome is Outcome.HALTED


def test_outcomes_follow_the_accepting_states() -> None:
    machine = library_machine("even-as")
    assert simulate(machine, "aa").outcome is Outcome.ACCEPTED
    assert simulate(machine, "a").outcome is Outcome.REJECTED
    assert simulate(machine, "aa", 1).outcome is Outcome.UNDECIDED
    entered = TuringMachine(
        ["a", "b"], "01", "0", "a", {("a", "0"): ("b", "1", "R"), ("b", "0"): ("a", "1", "R")}, "b"
    )
    assert facts(simulate(entered)) == (Outcome.ACCEPTED, 1, "b", 1, Tape(0, ("1",)))


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(InputError, match="the limit is -1 steps; expected a whole number"):
        simulate(library_machine("copy"), "ab", -1)


def test_an_engine_goes_by_its_name_too() -> None:
    assert simulate(library_machine("copy"), "ab", engine="fast").engine is Engine.FAST
    with pytest.raises(InputError, match="no engine 'steam'; there are auto, fast, full"):
        simulate(library_machine("copy"), "ab", engine="steam")


def test_no_word_is_the_default_input() -> None:
    machine = library_machine("copy")
    assert facts(simulate(machine)) == facts(simulate(machine, "abb"))
    assert list(configurations(machine)) == list(configurations(machine, "abb"))


def test_a_limit_beyond_every_machine_integer_is_fine() -> None:
    for engine in ENGINES:
        run = simulate(library_machine("copy"), "ab", 10**30, engine=engine)
        assert run.outcome is Outcome.HALTED


@pytest.mark.parametrize("move", ["L", "R"])
def test_the_fast_tape_grows_on_either_side(move: str) -> None:
    runner = TuringMachine("a", "01", "0", "a", {("a", "0"): ("a", "1", move)})
    run = simulate(runner, (), 100_000, engine=Engine.FAST)
    sign = 1 if move == "R" else -1
    assert run.head == sign * 100_000
    assert run.tape == Tape(min(0, run.head + 1), ("1",) * 100_000)


def test_more_symbols_than_a_byte_holds() -> None:
    symbols = [f"s{i}" for i in range(300)]
    delta = {("a", symbol): ("a", following, "S") for symbol, following in pairwise(symbols)}
    machine = TuringMachine("a", symbols, "s0", "a", delta)
    run = simulate(machine, (), engine=Engine.FAST)
    assert facts(run) == (Outcome.HALTED, 299, "a", 0, Tape(0, ("s299",)))


def test_the_head_may_start_elsewhere() -> None:
    machine = library_machine("binary-increment")
    for engine in ENGINES:
        run = simulate(machine, "1011", head=2, engine=engine)
        assert (run.steps, "".join(run.tape.cells)) == (6, "1100")


@pytest.mark.parametrize("engine", ENGINES)
def test_progress_tells_steps_that_grow(engine: Engine) -> None:
    seen: list[int] = []
    machine = library_machine("busy-beaver-2-4")
    limit = 300_000 if engine is Engine.REFERENCE else 10_000_000
    simulate(machine, (), limit, engine=engine, progress=lambda steps, *_: seen.append(steps))
    assert seen == sorted(seen)
    assert len(seen) >= 1


@pytest.mark.parametrize("engine", [Engine.REFERENCE, Engine.FAST, Engine.ACCELERATED])
def test_an_interrupted_run_says_truly_how_far_it_got(engine: Engine) -> None:
    calls = count()

    def interrupt(_steps: int, _cells: int, moves: int | None = None) -> None:
        assert (moves is not None) == (engine is Engine.ACCELERATED)
        if next(calls) == 2:
            raise KeyboardInterrupt

    machine = library_machine("sweeper")
    with pytest.raises(Interrupted, match=r"interrupted after [1-9]") as caught:
        simulate(machine, (), 10**9, engine=engine, progress=interrupt)
    reached = caught.value.run
    assert facts(simulate(machine, (), reached.steps, engine=Engine.FAST)) == facts(reached)


def test_a_short_run_never_imports_the_compiler() -> None:
    import subprocess

    code = (
        "import sys, netwright; netwright.load_machine('palindrome').run('abba');"
        "sys.exit('llvmlite' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
