"""All networks of a machine, each compared with it."""

from collections.abc import Callable, Iterable, Sequence

from netwright.errors import InputError
from netwright.machine.turing_machine import TuringMachine
from netwright.pipeline import Target, to_transformer
from netwright.theorems.theorem_2_3_rnn.construction import CompiledRNN, compile_rnn
from netwright.theorems.theorem_3_4_transformer.construction import CompiledTransformer, Scoring
from netwright.theorems.theorem_4_1_neural_gpu import compile_neural_gpu
from netwright.verify.comparison import Comparison, compare
from netwright.verify.damage import Compiled, broken_weights
from netwright.verify.neural_gpu import neural_gpu_checks
from netwright.verify.rnn import rnn_checks
from netwright.verify.transformer import transformer_checks

NETWORKS = (Target.TRANSFORMER, Target.RNN, Target.NEURAL_GPU)
Change = Callable[[Compiled, Sequence[str]], Compiled]
"""What is done to a network, and the word that it is to run on first."""


def compile_network(
    machine: TuringMachine, on: Target, word: Sequence[str] = (), scoring: Scoring | None = None
) -> Compiled:
    """A network of a machine, for words such as this one."""
    if on is Target.TRANSFORMER:
        return to_transformer(machine, word, scoring)
    rnn = compile_rnn(machine)
    return rnn if on is Target.RNN else compile_neural_gpu(rnn)


def verify_network(compiled: Compiled, word: Sequence[str], max_steps: int) -> Comparison:
    """Compare a network with its machine on a word."""
    if isinstance(compiled, CompiledTransformer):
        return compare("transformer", word, transformer_checks(compiled, word, max_steps))
    if isinstance(compiled, CompiledRNN):
        return compare("rnn", word, rnn_checks(compiled, word, max_steps))
    return compare("neural-gpu", word, neural_gpu_checks(compiled, word, max_steps))


def with_broken_weight(
    compiled: Compiled, place: str, word: Sequence[str], max_steps: int
) -> Compiled:
    """The network with a weight into a block broken: the first that matters on a word, if any."""
    first = None
    for broken in broken_weights(compiled, place):
        first = broken if first is None else first
        if verify_network(broken, word, max_steps).difference is not None:
            return broken
    assert first is not None
    return first


def read_targets(text: str) -> tuple[Target, ...]:
    """Networks from their names with commas between them.

    >>> read_targets("rnn,transformer")
    (<Target.RNN: 'rnn'>, <Target.TRANSFORMER: 'transformer'>)
    """
    names = [name.strip() for name in text.split(",")]
    known = [target.value for target in NETWORKS]
    for name in names:
        if name not in known:
            raise InputError(f"no network {name!r}; there are {', '.join(known)}")
    return tuple(Target(name) for name in dict.fromkeys(names))


def verify_machine(
    machine: TuringMachine,
    words: Iterable[Sequence[str]],
    targets: Sequence[Target] = NETWORKS,
    max_steps: int = 100,
    change: Change | None = None,
    scoring: Scoring | None = None,
) -> Iterable[Comparison]:
    """Compare networks of a machine with it on some words, changed before if one asks for it."""
    kept: dict[tuple[Target, bool], Compiled] = {}
    for word in words:
        for on in targets:
            key = (on, machine.blank in word)
            if key not in kept:
                network = compile_network(machine, on, word, scoring)
                kept[key] = network if change is None else change(network, word)
            yield verify_network(kept[key], word, max_steps)
