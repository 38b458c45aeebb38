"""Certificates hold for what is compiled, and for nothing that is damaged."""

import ast
import json
import random
import re
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mutations import mutated
from tests.networks import (
    KINDS,
    Compiled,
    compiled_network,
    facts,
    held,
    networks_in,
    run_by_definition,
    with_network,
    written,
)
from tests.repetition import examples, repeated, some
from tests.strategies import machines

import netwright
import netwright as nw
from netwright.certificates.reading import Obligation
from netwright.cli import main
from netwright.definitions.neural_gpu import NeuralGPU
from netwright.definitions.transformer import Normalizer, Positions, square_plus_one
from netwright.errors import FormatError, InputError, OutputError
from netwright.exact.feed_forward import Affine, FeedForward, linear
from netwright.exact.layout import Layout
from netwright.exact.rational import rational, sigma
from netwright.exact.vector import Vector
from netwright.kind.neural_gpu.construction import (
    compile_neural_gpu,
    with_padding,
)
from netwright.kind.registry import exact_kinds
from netwright.kind.rnn.construction import CompiledRNN, compile_rnn
from netwright.kind.transformer.construction import (
    CompiledTransformer,
    compile_transformer,
)
from netwright.machine.library import library_machine, library_names
from netwright.machine.normal_form import normalize
from netwright.machine.simulate import simulate
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.network.certificate import check_written
from netwright.network.network import compile_network
from netwright.network.saved import to_bytes
from netwright.network.tree import maps, replaced


def obligations(compiled: Compiled) -> list[Obligation]:
    on = "neural-gpu"
    if isinstance(compiled, CompiledTransformer | CompiledRNN):
        on = "rnn" if isinstance(compiled, CompiledRNN) else "transformer"
    return list(check_written(on, json.loads(json.dumps(written(compiled)))))


def broken(compiled: Compiled) -> str | None:
    """The first obligation that does not hold."""
    return next((each.name for each in obligations(compiled) if each.failure is not None), None)


@pytest.mark.parametrize("name", some(library_names(), 9))
@pytest.mark.parametrize("on", [*KINDS])
def test_every_network_of_the_library_is_certified(name: str, on: str) -> None:
    found = obligations(compiled_network(library_machine(name), on))
    assert [each for each in found if each.failure] == []
    assert sum(each.cases for each in found) > 100


def test_a_network_for_inputs_with_blanks_is_certified() -> None:
    for name in ("palindrome", "copy"):
        normal = normalize(library_machine(name), blanks_in_input=True)
        assert broken(compile_transformer(normal)) is None


@examples(60)
@given(machines(), st.sampled_from([*KINDS]))
def test_every_network_of_a_random_machine_is_certified(machine: TuringMachine, on: str) -> None:
    assert broken(compiled_network(machine, on)) is None


def large_machine(states: int, symbols: int) -> TuringMachine:
    draw = random.Random(1)
    names, letters = [f"q{n}" for n in range(states)], ["_", *map(str, range(1, symbols))]
    return TuringMachine(
        states=names,
        symbols=letters,
        blank="_",
        start="q0",
        delta={
            (q, s): Action(draw.choice(names), draw.choice(letters), draw.choice([Move.L, Move.R]))
            for q in names
            for s in letters
        },
    )


def test_a_machine_of_many_states_is_certified() -> None:
    machine = large_machine(20, 6)
    for on in [*KINDS]:
        assert broken(compiled_network(machine, on)) is None


def lines_to_certify(machine: TuringMachine, on: str) -> int:
    """How many lines of Python run, each round of a comprehension being one: no clock is asked."""
    lines = 0

    def count(*_: object) -> Callable[..., Any]:
        nonlocal lines
        lines += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        assert compile_network(machine, on).certify().holds
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("on", exact_kinds())
def test_a_state_costs_the_same_however_many_there_are(on: str) -> None:
    """Twice as many states more cost twice as much more; by squares it would be four times."""
    sizes = (2, 40, 80, 160)  # the first, for what is checked once a process
    _, few, more, most = (lines_to_certify(large_machine(size, 2), on) for size in sizes)
    assert most - more < 2.3 * (more - few)


@pytest.mark.parametrize("base", ["4", "7/2", "29/3"])
def test_any_base_is_certified(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", "palindrome", "--on", "rnn", "--base", base]) == 0
    assert "certified: the rnn simulates the machine" in capsys.readouterr().out


# Weights that cannot matter. With V = 0 an attention is 0 whatever its scores; in layer 2 scores
# are equal as long as one of Q and K is 0.
FREE = ("encoder.1.Q", "encoder.1.K", "decoder.1.Q", "decoder.1.K", "decoder.2.Q", "decoder.2.K")


@pytest.mark.parametrize("on", [*KINDS])
def test_a_flipped_sign_in_any_block_is_named(on: str) -> None:
    """Every weight of a small machine's networks, with its sign flipped."""
    compiled = compiled_network(library_machine("even-as"), on)
    flipped = missed = 0
    for leaf in maps(compiled.network):
        affine = leaf.part
        for place, weight in islice(affine.weights.items(), 0, None, repeated(1, 3)):
            weights = {**affine.weights, place: -weight}
            other = Affine(affine.input, affine.output, weights, affine.bias)
            changed = replace(compiled, network=replaced(compiled.network, leaf.path, other))
            flipped += 1
            if broken(changed) is None:
                # What is still proved right does the same as before.
                missed += 1
                for word in ("", "ab", "aab"):
                    assert does_the_same(changed, word)
    # The others are weights of pairs without a rule, of neurons that are always 0, and the like.
    assert flipped > repeated(40, 20)
    assert flipped - missed > flipped // 3


def does_the_same(compiled: Compiled, word: str) -> bool:
    """Whether the network's answers are still the machine's."""
    machine = held(compiled).machine
    runs = [run_by_definition(compiled, tuple(word), limit) for limit in (3, 20)]
    return all(
        facts(run) == facts(simulate(machine, tuple(word), limit))
        for run, limit in zip(runs, (3, 20), strict=True)
    )


def certify_a_mutated_network(seed: int) -> bool:
    draw = random.Random(seed)
    on = draw.choice([*KINDS])
    name = draw.choice(["even-as", "palindrome", "binary-increment", "busy-beaver-3"])
    compiled = compiled_network(library_machine(name), on)
    changed = mutated(compiled, draw)
    if changed == compiled:
        return True  # the number drawn is the old one
    if broken(changed) is not None:
        return True
    word = tuple(draw.choice(library_machine(name).symbols[1:2]) for _ in range(3))
    assert does_the_same(changed, "".join(word))
    return False


def test_mutated_networks_are_not_certified() -> None:
    """Those that are, are proved right: the weight cannot matter."""
    count = repeated(60, 20)
    noticed = sum(certify_a_mutated_network(seed) for seed in range(count))
    assert noticed >= 3 * count // 4


@pytest.mark.thorough
def test_many_mutated_networks_are_not_certified() -> None:
    noticed = sum(certify_a_mutated_network(seed) for seed in range(400))
    assert noticed >= 300


def test_weights_that_cannot_matter_are_free() -> None:
    compiled = compiled_network(library_machine("even-as"), "transformer")
    assert isinstance(compiled, CompiledTransformer)
    draw = random.Random(2)
    for name in FREE:
        (affine,) = networks_in(compiled)[name].maps
        weights = {(draw.randrange(9), draw.randrange(9)): draw.randint(1, 5)}
        numbers = {place: rational(w) for place, w in weights.items()}
        changed = FeedForward((Affine(affine.input, affine.output, numbers, affine.bias),))
        assert broken(with_network(compiled, name, changed)) is None


def test_other_parts_of_a_network_are_obligations_too() -> None:
    compiled = compiled_network(library_machine("even-as"), "transformer")
    assert isinstance(compiled, CompiledTransformer)
    layout = compiled.layout
    network = compiled.network
    damaged: list[tuple[Compiled, str]] = [
        (replace(compiled, seed=Vector.zero(layout)), "embedding, positions, seed"),
        (replace(compiled, final_states=frozenset({"reject"})), "embedding, positions, seed"),
        (replace(compiled, network=replace(network, rho=square_plus_one)), "shape"),
        (replace(compiled, network=replace(network, encoder=())), "shape"),
    ]
    with pytest.raises(FormatError, match=r"network.pos: expected an object with layout, powers"):
        broken(replace(compiled, network=replace(network, pos=None)))
    for changed, name in damaged:
        found = broken(changed)
        assert found is not None
        assert found.startswith(name)
    rnn = compile_rnn(library_machine("even-as"))
    one = linear(rnn.neurons.layout, rnn.neurons.layout, {("u", "u"): 1})
    assert broken(replace(rnn, network=replace(rnn.network, R=one))) is not None
    assert broken(replace(rnn, final_states=frozenset())) is not None
    gpu = with_padding(compile_neural_gpu(rnn), circular=True)
    assert (broken(gpu) or "").startswith("shape")


def test_a_wrong_normal_form_is_noticed() -> None:
    """The network may be right for M, and M wrong for the given machine."""
    right, wrong = library_machine("even-as"), library_machine("divisible-by-three")
    compiled = compiled_network(right, "transformer")
    assert isinstance(compiled, CompiledTransformer)
    other = replace(compiled, normal=replace(compiled.normal, given=wrong))
    assert broken(other) == "normal form: M simulates the given machine"


def test_functions_are_known_by_what_they_are() -> None:
    """And not by their names."""

    def sigma(x: Any) -> Any:
        return x

    compiled = compiled_network(library_machine("even-as"), "transformer")
    assert isinstance(compiled, CompiledTransformer)
    linear_f = FeedForward(networks_in(compiled)["F"].maps, sigma)
    assert (broken(with_network(compiled, "F", linear_f)) or "").startswith("shape")
    false = Normalizer("hardmax", square_plus_one.f_given)
    changed = replace(compiled, network=replace(compiled.network, rho=false))
    assert (broken(changed) or "").startswith("shape")


def test_the_check_shares_nothing_with_the_constructions() -> None:
    folder = Path(netwright.__file__).parent / "certificates"
    for path in folder.glob("*.py"):
        if path.stem == "export":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = [node.module or ""]
            for module in modules:
                if module.startswith("netwright"):
                    allowed = ("netwright.errors", "netwright.certificates.")
                    assert module.startswith(allowed), (path, module)


@pytest.mark.parametrize("on", ["transformer", "pointer-transformer"])
def test_the_normal_form_accepts_where_the_given_machine_does(on: str) -> None:
    network = compile_network(library_machine("even-as"), on)
    written = json.loads(json.dumps(network.written))
    for accepting in ([], ["reject"], ["accept", "reject"]):
        written["normal"]["machine"]["accepting"] = accepting
        failures = [each.failure for each in check_written(on, written) if each.failure]
        assert failures[0] == "it accepts in the wrong states"


class WrongPositions(Positions):
    """Positions that say the same of themselves, and are others."""

    def __call__(self, i: int) -> Vector:
        return super().__call__(i + 1)


class EqualsEverything:
    """An activation that claims to be any other."""

    def __call__(self, x: Any) -> Any:
        return x

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(sigma)


class WrongFeedForward(FeedForward):
    """A network that does nothing."""

    def __call__(self, x: Vector) -> Vector:
        return Vector.zero(self.maps[-1].output)


class WrongNeuralGPU(NeuralGPU):
    """One that stands still."""

    def step(self, S: Any) -> Any:
        return S


def test_what_is_certified_is_the_object_and_not_what_is_written_of_it() -> None:
    """Each of these was certified, and runs wrongly."""
    net = compile_network(library_machine("palindrome"))
    compiled = net.compiled
    network = compiled.network
    pos = WrongPositions(network.pos.layout, network.pos.powers)
    layers = [*network.decoder]
    layers[0] = replace(layers[0], O=WrongFeedForward(layers[0].O.maps, layers[0].O.activation))
    activation = FeedForward(network.F.maps, EqualsEverything())
    gpu = compile_network(library_machine("palindrome"), "neural-gpu")
    parts = {each.name: getattr(gpu.compiled.network, each.name) for each in fields(NeuralGPU)}
    forged = {
        "network.pos is of type WrongPositions": replace(network, pos=pos),
        "network.decoder[0].O is of type WrongFeedForward": replace(network, decoder=tuple(layers)),
        "network.F.activation is of type EqualsEverything": replace(network, F=activation),
    }
    for message, wrong in forged.items():
        changed = replace(net, compiled=replace(compiled, network=wrong))
        assert changed.compare("abba", 30).difference is not None
        with pytest.raises(InputError, match=re.escape(message)):
            changed.certify()
    changed = replace(gpu, compiled=replace(gpu.compiled, network=WrongNeuralGPU(**parts)))
    with pytest.raises(InputError, match="network is of type WrongNeuralGPU, not NeuralGPU"):
        changed.certify()
    other = replace(net, machine=library_machine("even-as"))
    with pytest.raises(InputError, match="it cannot be certified: "):
        other.certify()
    assert net.certify().holds
    assert gpu.certify().holds


def test_what_is_shared_by_all_machines_is_known_by_what_it_is_too() -> None:
    """The universal network is one object: what is put into it is not compared with itself."""

    def sigma(x: Any) -> Any:
        return x

    for prompt in ("rules", "text"):
        final = nw.universal(prompt).of("even-as").compiled.network.F
        old = final.activation
        object.__setattr__(final, "activation", sigma)
        try:
            assert not nw.universal(prompt).certify().holds
            assert not nw.universal(prompt).of("palindrome").certify().holds
        finally:
            object.__setattr__(final, "activation", old)
        assert nw.universal(prompt).certify().holds


def test_attributes_of_its_own_are_seen() -> None:
    network = compile_network(library_machine("even-as"), "rnn")
    object.__setattr__(network.compiled.network, "decoder_step", lambda g, y: g)
    with pytest.raises(InputError, match=r"it cannot be certified: network is not|cannot be cert"):
        network.certify()
    with pytest.raises(OutputError, match="it cannot be saved"):
        to_bytes(network)
    layout = Layout([["x", [""]]])  # type: ignore[arg-type]  # lists, which have no hash
    odd = replace(network, compiled=replace(network.compiled, embedding={"a": Vector(layout, {})}))
    with pytest.raises(InputError, match="it cannot be certified"):
        odd.certify()
