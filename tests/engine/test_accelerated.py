"""The accelerated engine: the same vectors, a whole run of digits at a time."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import pytest
from tests.engine.stacks import agree_now_and_then, gpu_of
from tests.machine_table import ORACLES
from tests.mutations import mutated_neural_gpu, mutated_rnn
from tests.repetition import repeated, some

from netwright.definitions.transformer import attention
from netwright.engine.digits import Digits
from netwright.engine.moments import advance_to
from netwright.engine.neural_gpu import FastNeuralGPU
from netwright.engine.rnn import FastRNN
from netwright.errors import InputError, NetworkError
from netwright.exact.runs import Runs
from netwright.exact.vector import Vector
from netwright.kind.gateless_neural_gpu.construction import compile_gateless
from netwright.kind.rnn.construction import compile_rnn
from netwright.machine.accelerated import AcceleratedMachine
from netwright.machine.library import library_machine, library_names
from netwright.machine.load import load_machine
from netwright.machine.simulate import simulate
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import compile_network
from netwright.network.running import run

BOUNCER = "1RB1LA_1LA1RB"
POINTERS = ("pointer-transformer", "universal-transformer")
OURS = ("gateless-neural-gpu", "positionless-transformer", "residual-free-transformer")
ALL = ("machine", "rnn", "neural-gpu", *POINTERS, *OURS)
FAR = 10**6
LONGEST = {machine: max(inputs, key=len) for machine, (inputs, _) in ORACLES.items()}


def random_machine(draw: random.Random, states: int = 3) -> TuringMachine:
    """A machine of two symbols with a rule for every pair, as bbchallenge text."""
    rules = ["1RB"]
    while len(rules) < 2 * states:
        rules.append(draw.choice("01") + draw.choice("LR") + draw.choice("ABCDE"[:states]))
    return load_machine("_".join("".join(rules[n : n + 2]) for n in range(0, 2 * states, 2)))


@cache
def compiled_for(on: str, machine: TuringMachine) -> Any:
    if on == "gateless-neural-gpu":
        return compile_gateless(machine)
    return compile_rnn(machine) if on == "rnn" else gpu_of(machine)


def engines(on: str, machine: TuringMachine, word: Any, mutant: Any = None) -> tuple[Any, Any]:
    """The fast engine and the accelerated one, of a network or of one that is changed."""
    compiled = compiled_for(on, machine)
    if on == "rnn":
        given = compiled.embed(word), Vector.zero(compiled.neurons.layout)
        return tuple(  # type: ignore[return-value]  # two of them
            FastRNN(mutant or compiled.network, *given, accelerated=each) for each in (False, True)
        )
    X = compiled.embed(word)
    return tuple(  # type: ignore[return-value]
        FastNeuralGPU(mutant or compiled.network, X, accelerated=each) for each in (False, True)
    )


def stacks_of(engine: Any) -> Any:
    """What a vector is: its state, and the digits of each stack without the zeros at its end."""
    state, stacks = engine.faster.stacks()
    pairs, found = np.array(engine.faster.known.pairs), []
    for digits in stacks[: len(state.cells)]:
        if isinstance(digits, Runs):
            digits = np.repeat(digits.digits, digits.counts)
        written = np.flatnonzero(pairs[digits, 0])
        found.append(pairs[digits[written[0] :]] if len(written) else pairs[:0])
    return state, found


def same_at(fast: Any, accelerated: Any, moment: int) -> bool:
    """Whether both have the same vectors at a moment, and the same before it."""
    advance_to(fast, moment)
    advance_to(accelerated, moment)
    assert fast.moments == accelerated.moments == moment
    if fast.faster is None or accelerated.faster is None:
        return bool(fast.all_vectors() == accelerated.all_vectors())
    (state, stacks), (other, others) = stacks_of(fast), stacks_of(accelerated)
    if sum(map(len, stacks)) > 2000:  # their numbers have as many digits
        return state == other and all(map(np.array_equal, stacks, others))
    is_same = bool(fast.all_vectors() == accelerated.all_vectors())
    tables = fast.faster.tables, accelerated.faster.tables
    if all(each is not None and each.stacks(before=True) is not None for each in tables):
        name = [*fast.all_vectors()][-1]
        is_same &= fast.vector(name, before=True) == accelerated.vector(name, before=True)
    return is_same


def random_moments(draw: random.Random, count: int, farthest: int = FAR) -> list[int]:
    """Moments in order, as many near the beginning as far from it."""
    return sorted({int(farthest ** draw.random()) + 1 for _ in range(count)})


@pytest.mark.parametrize("on", ["rnn", "neural-gpu", "gateless-neural-gpu"])
@pytest.mark.parametrize("name", some(library_names(), 9))
def test_library_machines_at_random_moments(name: str, on: str) -> None:
    """27 machines on 3 kinds: 1,000 moments, with inputs."""
    draw, machine = random.Random(name), library_machine(name)
    word = LONGEST.get(name, machine.default_input)[: 20 if on == "rnn" else 5]
    fast, accelerated = engines(on, machine, word)
    for moment in random_moments(draw, 20):
        assert same_at(fast, accelerated, moment), moment
    assert fast.reason is accelerated.reason is None


def has_chains(engine: Any) -> bool:
    """Whether it made fewer than half as many moves as there are moments."""
    return engine.moves is not None and 2 * engine.moves < engine.moments


@pytest.mark.parametrize(
    ("on", "often"),
    [("rnn", (200, 20)), ("neural-gpu", (100, 5)), ("gateless-neural-gpu", (100, 5))],
)
def test_random_machines_at_random_moments(on: str, often: tuple[int, int]) -> None:
    draw, chains, count = random.Random(38), 0, repeated(*often)
    for _ in range(count):
        machine = random_machine(draw, draw.choice([2, 3, 4]))
        fast, accelerated = engines(on, machine, "")
        for moment in random_moments(draw, 5):
            assert same_at(fast, accelerated, moment), (machine.name, moment)
        chains += has_chains(accelerated)
    print(f"{on}: {count} random machines, {chains} with chains")
    assert chains >= count // 2


@pytest.mark.parametrize(
    ("on", "often"),
    [("rnn", (500, 50)), ("neural-gpu", (200, 5)), ("gateless-neural-gpu", (200, 10))],
)
def test_mutants_at_random_moments(on: str, often: tuple[int, int]) -> None:
    """With inputs; half of the RNNs, and a tenth of the others, have another run."""
    draw, count = random.Random(29), repeated(*often)
    cases = [(BOUNCER, ""), ("busy-beaver-5", ""), ("palindrome", "abba"), ("copy", "ab")]
    cases += [("sweeper", ""), ("binary-increment", "1011"), ("more-as", "aab")]
    changed = same = chains = refused = 0
    while changed + same < count:
        name, word = draw.choice(cases)
        machine = load_machine(name)
        whole = compiled_for(on, machine).network
        mutant = (mutated_rnn if on == "rnn" else mutated_neural_gpu)(whole, draw)
        fast, accelerated = engines(on, machine, word, mutant)
        original = engines(on, machine, word)[1]
        is_changed = not same_at(fast, original, 45)
        if not is_changed and on == "rnn" and same == count // 2:
            continue
        fast = engines(on, machine, word, mutant)[0]
        for moment in random_moments(draw, 4, 45) + random_moments(draw, 3):
            if moment > 45 and accelerated.reason is not None:
                break  # rationals grow with every moment
            if moment >= fast.moments:
                assert same_at(fast, accelerated, moment), (name, word, moment)
        changed, same = changed + is_changed, same + (not is_changed)
        refused += fast.reason is not None
        assert fast.reason == accelerated.reason
        chains += has_chains(accelerated)
    print(f"{on}: {count} mutants, {changed} changed, {chains} with chains, {refused} refused")
    assert changed >= (count // 2 if on == "rnn" else count // 20)
    assert chains >= count // 2


def test_the_definitions_vectors_inside_a_run_of_digits() -> None:
    """Equal to the definition itself, not only to another engine."""
    for name, word in ((BOUNCER, ""), ("palindrome", "abba"), ("busy-beaver-4", "")):
        rnn = compile_rnn(load_machine(name))
        X, seed = rnn.embed(word), Vector.zero(rnn.neurons.layout)
        hidden = [[g] for g in islice(rnn.network.decoder_states(X, seed), 150)]
        fast = FastRNN(rnn.network, X, seed, accelerated=True)
        agree_now_and_then(fast, hidden, random.Random(name))
        assert fast.reason is None


@pytest.mark.parametrize("on", ["rnn", "neural-gpu"])
@pytest.mark.parametrize("time", [10**7, pytest.param(10**12, marks=pytest.mark.thorough)])
def test_the_definition_goes_on_from_a_far_moment(on: str, time: int) -> None:
    """A hundred steps of the definition from the vector of trace[t] give those of trace[t + k]."""
    net = compile_network(load_machine(BOUNCER), on)
    trace = net.trace("", 10**15, engine="accelerated")
    network: Any = net.compiled.network
    if on == "rnn":
        vector = trace[time]["g"]
        for k in range(1, 101):
            vector = network.decoder_step(vector, network.O(vector))
            assert vector == trace[time + k]["g"], k
        return
    vector = trace[time]["cell"]
    for k in range(1, 101):
        ((vector,),) = network.step([[vector]])
        assert vector == trace[time + k]["cell"], k


@pytest.mark.parametrize("on", POINTERS)
@pytest.mark.parametrize("time", [10**7, pytest.param(10**12, marks=pytest.mark.thorough)])
def test_the_definitions_maps_go_on_from_a_far_token(on: str, time: int) -> None:
    """Each of a hundred tokens leads to the next: y + pos, and each layer from what it attends to.

    What a token attends to is looked up at its own number: that token's value, made by V.
    """
    net = compile_network(load_machine(BOUNCER), on)
    trace, network = net.trace("", 10**15, engine="accelerated"), net.compiled.network
    keys, values = network.encode(net.compiled.embed(()))
    for t in range(time, time + 100):
        now = trace[t]
        z = network.positioned(trace[t - 1]["y"], t)
        for n, layer in enumerate(network.decoder, start=1):
            assert now[f"decoder.{n}.input"] == z
            to = now.attention[f"decoder.{n}.self"]
            p = z
            if layer.V(z).entries or n == len(network.decoder):
                (winner,) = to.winners
                there = trace[winner][f"decoder.{n}.input"]
                q, others = layer.Q(z), {max(1, winner - 1), min(t, winner + 1)} - {winner}
                score = network.score(q, layer.K(there))
                for other in others:  # the score falls on both sides of the greatest
                    near = trace[other][f"decoder.{n}.input"]
                    assert network.score(q, layer.K(near)) < score
                p = layer.V(there) + z
            assert now[f"decoder.{n}.p"] == p
            a = attention(p, keys, values, network.score, network.rho) + p
            assert now[f"decoder.{n}.a"] == a
            z = layer.O(a) + a
            assert now[f"decoder.{n}.z"] == z
        assert now["y"] == network.F(z)


def test_a_changed_weight_changes_the_answer() -> None:
    """The answer is the weights': it is that of `fast` on the same network, whatever that is."""
    net = compile_network(load_machine(BOUNCER), "rnn")
    draw, answers = random.Random(3), set()
    for _ in range(12):
        network = mutated_rnn(net.compiled.network, draw)
        changed = replace(net, compiled=replace(net.compiled, network=network))
        found = [answer_of(changed, engine) for engine in ("fast", "accelerated")]
        assert found[0] == found[1]
        answers.add(found[0])
    assert len(answers) > 2


def answer_of(net: Any, engine: str) -> object:
    """The run without times, or why there is none."""
    try:
        found = net.run("", 20_000, engine=engine)
    except NetworkError as error:
        return str(error)
    return found.outcome, found.steps, found.state, found.head, found.tape


def long_runs() -> Iterator[TuringMachine]:
    """Random machines that neither halt nor loop in place, on tapes short enough to compare."""
    draw = random.Random(9)
    while True:
        machine = random_machine(draw, 4)
        now = AcceleratedMachine(machine, simulate(machine, (), 0))
        while now.steps < 10**6 and now.cells < 3000:
            now.advance(10**6 - now.steps)
        if now.cells < 3000 and now.moves > 1000:
            yield machine


def far_away(cases: Sequence[str | int]) -> list[Any]:
    return [pytest.param(each, 10**9, marks=pytest.mark.thorough) for each in cases]


@pytest.mark.parametrize(
    ("which", "steps"),
    [
        *(("sweeper", 10**7), (BOUNCER, 10**7), (0, 10**7), (6, 10**7)),
        *far_away([*library_names(), BOUNCER, *range(20)]),
    ],
)
def test_equal_to_the_machine_far_away(which: str | int, steps: int) -> None:
    """State, head and whole tape: the library, and random machines by number."""
    if isinstance(which, str):
        machine = load_machine(which)
    else:
        machine = next(islice(long_runs(), which, None))
    wanted = simulate(machine, None, steps, engine="fast")
    for on in ALL:
        if on == "neural-gpu" and len(machine.default_input) > 20:
            continue  # its input is read cell by cell
        found = run(machine, None, steps, on=on, engine="accelerated")
        for name in ("outcome", "steps", "state", "head"):
            assert getattr(found, name) == getattr(wanted, name), on
        assert found.tape == wanted.tape, on


def test_few_moves() -> None:
    """The 5-state busy beaver halts after 47,176,870 steps; the bouncer goes to 10¹²."""
    for on in ALL:
        found = run(library_machine("busy-beaver-5"), None, 10**8, on=on, engine="accelerated")
        assert (found.outcome.value, found.steps) == ("halted", 47_176_870)
        assert sum(count for symbol, count in found.tape.runs if symbol == "1") == 4098
        assert found.moves is not None
        assert found.moves < 100_000
    for on in ("rnn", "pointer-transformer"):
        found = run(load_machine(BOUNCER), None, 10**12, on=on, engine="accelerated")
        assert found.tape.runs == (("1", 1_414_214),)
        assert found.moves is not None
        assert found.moves < 7_100_000


@pytest.mark.parametrize("on", ALL)
@pytest.mark.parametrize("name", ["1RB1RB_1LB0LC_0RA0LC_1RC1LD", "1RB0RA_1LD0LD_0RA1LA_1LC0LB"])
def test_a_loop_in_place_is_few_moves(name: str, on: str) -> None:
    """It pops far more digits than its stacks ever have; it depends on how deep it reaches."""
    machine = load_machine(name)
    wanted = simulate(machine, (), 10**6 + 7, engine="fast")
    found = run(machine, (), 10**6 + 7, on=on, engine="accelerated")
    assert (found.state, found.head, found.tape) == (wanted.state, wanted.head, wanted.tape)
    assert found.moves is not None
    assert found.moves < 1000


@pytest.mark.parametrize("on", ["machine", "rnn", "pointer-transformer"])
def test_too_many_runs_are_refused(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that writes 1, 0, 1, 0, … has a run of digits in every cell."""
    monkeypatch.setattr("netwright.exact.runs.MOST_RUNS", 10_000)
    words = "more than 10,000 runs of equal digits.*run it with --engine fast"
    with pytest.raises(InputError, match=words):
        run(load_machine("1RB1RB_0RA0RA"), None, 10**6, on=on, engine="accelerated")


@pytest.mark.parametrize("on", ALL)
def test_numbers_beyond_64_bits(on: str) -> None:
    """A machine that walks to the right writes as many ones as it does steps."""
    for steps in (2**61 - 3, 2**62, 2**64 + 5, 10**30):
        found = run(load_machine("1RA1RA"), None, steps, on=on, engine="accelerated")
        assert (found.steps, found.head) == (steps, steps)
        assert found.tape.runs == (("1", steps),)
        assert str(found.tape) == f"1^{steps}"


def test_a_number_too_long_to_write_is_said() -> None:
    trace = compile_network(load_machine("1RA1RA"), "rnn").trace("", 10**15, engine="accelerated")
    moment = trace[10**15]
    with pytest.raises(InputError, match=r"999,999,999,99[0-9,]* digits; at most 67,108,864 are"):
        moment["g"]


def test_the_value_of_runs_is_that_of_their_digits() -> None:
    draw = random.Random(4)
    for _ in range(200):
        known = Digits()
        numbers = [known.number(draw.randint(-3, 3), draw.randint(1, 4), 5) for _ in range(4)]
        numbers.append(known.number(draw.randint(1, 3), 0, 7))
        digits = [draw.choice(numbers) for _ in range(draw.randint(0, 6)) for _ in range(2)]
        runs = Runs.of(np.array(digits, np.int64))
        assert known.value_of_runs(runs) == known.value(digits[::-1])
        assert runs.height == len(digits)
        for pops in range(len(digits) + 2):
            assert runs.digit(pops) == ([*digits[::-1], 0, 0, 0][pops])
            left = digits[: max(0, len(digits) - pops)]
            after = runs.after(pops, numbers[0])
            assert np.repeat(after.digits, after.counts).tolist() == [*left, numbers[0]]
