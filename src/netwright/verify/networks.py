"""All networks of a machine, each compared with it."""

from collections.abc import Callable, Iterable, Sequence

from netwright.errors import InputError
from netwright.machine.turing_machine import TuringMachine
from netwright.pipeline import NETWORKS, Target, read_network, to_transformer
from netwright.theorems.theorem_2_3_rnn.construction import CompiledRNN, compile_rnn
from netwright.theorems.theorem_3_4_transformer.construction import CompiledTransformer
from netwright.theorems.theorem_3_4_transformer.scores import Score
from netwright.theorems.theorem_4_1_neural_gpu import compile_neural_gpu
from netwright.verify.comparison import Comparison, compare
from netwright.verify.damage import Compiled, Weight, flipped, weights_into
from netwright.verify.neural_gpu import neural_gpu_checks
from netwright.verify.rnn import rnn_checks
from netwright.verify.transformer import transformer_checks

Change = Callable[[Target, Compiled, Sequence[str]], Compiled | None]
"""What is done to a network of a kind, with the word that it is to run on; None leaves it out."""


def compile_network(
    machine: TuringMachine,
    on: Target | str,
    word: Sequence[str] = (),
    score: Score | str | None = None,
) -> Compiled:
    """A network of a machine, for words such as this one."""
    on = read_network(on)
    if score is not None and on is not Target.TRANSFORMER:
        raise InputError(f"a score is for Transformers; {on} has none")
    if on is Target.TRANSFORMER:
        return to_transformer(machine, word, score)
    rnn = compile_rnn(machine)
    return rnn if on is Target.RNN else compile_neural_gpu(rnn)


def verify_network(compiled: Compiled, word: Sequence[str], max_steps: int) -> Comparison:
    """Compare a network with its machine on a word."""
    if isinstance(compiled, CompiledTransformer):
        return compare("transformer", word, transformer_checks(compiled, word, max_steps))
    if isinstance(compiled, CompiledRNN):
        return compare("rnn", word, rnn_checks(compiled, word, max_steps))
    return compare("neural-gpu", word, neural_gpu_checks(compiled, word, max_steps))


def with_broken_weights(
    compiled: Compiled, places: Iterable[str], word: Sequence[str], max_steps: int
) -> Compiled:
    """The network with one weight into each of some blocks broken.

    For each block it is the first weight whose flipped sign matters on the word, if any does.
    """

    def matters(weight: Weight) -> bool:
        broken = flipped(compiled, weight)
        return verify_network(broken, word, max_steps).difference is not None

    chosen = []
    for place in dict.fromkeys(places):
        weights = weights_into(compiled, place)
        chosen.append(next(filter(matters, weights), weights[0]))
    for weight in chosen:
        compiled = flipped(compiled, weight)
    return compiled


def read_targets(text: str) -> tuple[Target, ...]:
    """Networks from their names with commas between them.

    >>> read_targets("rnn,transformer")
    (<Target.RNN: 'rnn'>, <Target.TRANSFORMER: 'transformer'>)
    """
    names = [name.strip() for name in text.split(",")]
    return tuple(read_network(name) for name in dict.fromkeys(names))


def verify_machine(
    machine: TuringMachine,
    words: Iterable[Sequence[str]],
    targets: Sequence[Target] = NETWORKS,
    max_steps: int = 100,
    change: Change | None = None,
    score: Score | str | None = None,
) -> Iterable[Comparison]:
    """Compare networks of a machine with it on some words; `change` is applied to each first."""
    kept: dict[tuple[Target, bool], Compiled | None] = {}
    for word in words:
        for on in targets:
            key = (on, machine.blank in word)
            if key not in kept:
                network = compile_network(
                    machine, on, word, score if on is Target.TRANSFORMER else None
                )
                kept[key] = network if change is None else change(on, network, word)
            if (changed := kept[key]) is not None:
                yield verify_network(changed, word, max_steps)
