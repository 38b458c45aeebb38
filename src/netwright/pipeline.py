"""The path of the data, as code: from what the user types to the answer.

    machine file ──load──▶ TuringMachine ──normalize──▶ NormalMachine ──▶ Transformer ──▶ Run
                                         ──▶ RNN (──▶ Neural GPU) ──▶ Run

Each stage takes what the stage before it gives. A network that was saved is loaded as such.
"""

from collections.abc import Iterable
from enum import StrEnum
from functools import partial
from typing import Any

from netwright.errors import InputError, unknown
from netwright.exact.rational import Number
from netwright.exact.snapshot import CheckpointStore
from netwright.following.neural_gpu import run_neural_gpu
from netwright.following.rnn import run_rnn
from netwright.following.transformer import run_transformer
from netwright.machine.load import load_machine
from netwright.machine.normal_form import normalize
from netwright.machine.simulate import Engine, Progress, Run, check_limit, read_engine, simulate
from netwright.machine.turing_machine import TuringMachine
from netwright.runtime.stacks.neural_gpu import FastNeuralGPU
from netwright.runtime.stacks.rnn import FastRNN
from netwright.runtime.transformer.decoder import FastDecoder
from netwright.theorems.theorem_2_3_rnn.construction import compile_rnn
from netwright.theorems.theorem_3_4_transformer import saving
from netwright.theorems.theorem_3_4_transformer.construction import (
    CompiledTransformer,
    compile_transformer,
)
from netwright.theorems.theorem_3_4_transformer.scores import Score
from netwright.theorems.theorem_4_1_neural_gpu import compile_neural_gpu

Source = TuringMachine | CompiledTransformer


class Target(StrEnum):
    """What a machine runs on."""

    TRANSFORMER = "transformer"
    RNN = "rnn"
    NEURAL_GPU = "neural-gpu"
    MACHINE = "machine"


NETWORKS = (Target.TRANSFORMER, Target.RNN, Target.NEURAL_GPU)


def read_network(on: Target | str) -> Target:
    """A kind of network by its name; a machine is none."""
    if on not in NETWORKS:
        raise InputError(unknown("network", str(on), list(NETWORKS)))
    return Target(on)


def load(argument: str, *, format_name: str | None = None, also: Iterable[str] = ()) -> Source:
    """The machine that MACHINE names, or the network if it is a file with a saved one."""
    if format_name is None and (network := saving.read_network(argument)) is not None:
        return network
    return load_machine(argument, format_name=format_name, also=also)


def to_transformer(
    machine: TuringMachine, word: Iterable[str] = (), score: Score | str | None = None
) -> CompiledTransformer:
    """The Transformer of a machine; if the word has blanks in it, one that takes such words."""
    normal = normalize(machine, blanks_in_input=machine.blank in tuple(word))
    return compile_transformer(normal, score)


def run(
    source: Source,
    word: Iterable[str] | None = None,
    max_steps: int = 10_000_000,
    *,
    on: Target | str = Target.TRANSFORMER,
    engine: Engine | str = Engine.AUTO,
    base: Number | None = None,
    score: Score | str | None = None,
    progress: Progress | None = None,
    bookmark: CheckpointStore | None = None,
) -> Run:
    """The answer of a machine, or of a network compiled from one, on a word."""
    if on not in list(Target):
        raise InputError(unknown("network", str(on), list(Target)))
    on, engine = Target(on), read_engine(engine)
    machine = source if isinstance(source, TuringMachine) else source.normal.given
    symbols = machine.check_word(machine.default_input if word is None else word)
    check_limit(max_steps)
    if base is not None and on not in (Target.RNN, Target.NEURAL_GPU):
        raise InputError(f"a base is for the stacks of rnn and neural-gpu; {on} has none")
    if score and (on is not Target.TRANSFORMER or source is not machine):
        raise InputError("a score is for a machine that becomes a Transformer, and this is none")
    rest = max_steps, progress, bookmark

    def faster(engine_of: Any) -> Any:
        first = engine_of.SHORT if engine is Engine.AUTO else 0
        return None if engine is Engine.REFERENCE else partial(engine_of, reference_steps=first)

    if on is Target.MACHINE:
        return simulate(machine, symbols, *rest, engine=engine)
    if on is Target.TRANSFORMER:
        if isinstance(source, TuringMachine):
            source = to_transformer(source, symbols, score)
        return run_transformer(source, symbols, *rest, faster(FastDecoder))
    rnn = compile_rnn(machine, base)
    if on is Target.RNN:
        return run_rnn(rnn, symbols, *rest, faster(FastRNN))
    return run_neural_gpu(compile_neural_gpu(rnn), symbols, *rest, faster(FastNeuralGPU))
