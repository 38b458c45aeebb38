"""Comparisons of networks with machines that several test modules make."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from netwright.engine.moments import Watch
from netwright.exact.feed_forward import FeedForward
from netwright.exact.vector import Vector, pointwise
from netwright.kind.neural_gpu.construction import CompiledNeuralGPU, in_block
from netwright.kind.record import Following
from netwright.kind.registry import kind_named, kinds_of_the_paper
from netwright.kind.rnn.construction import CompiledRNN
from netwright.kind.rnn.reading import VectorReader
from netwright.kind.transformer.construction import CompiledTransformer
from netwright.machine.simulate import Engine, Run, configurations
from netwright.machine.turing_machine import TuringMachine
from netwright.network.certificate import check_written
from netwright.network.network import Network, network_for_word
from netwright.network.tree import feed_forwards, maps, replaced
from netwright.network.weight import flipped, weights_into

KINDS = kinds_of_the_paper()
T = TypeVar("T")
WATCHES = (Watch("y", "q1"), Watch("z", "s2"), Watch("y", "x1", sign=True))
"""What shows a machine in the paper's Transformer."""
Word = tuple[str, ...] | str
Compiled = CompiledTransformer | CompiledRNN | CompiledNeuralGPU
_KINDS: dict[type, str] = {
    CompiledTransformer: "transformer",
    CompiledRNN: "rnn",
    CompiledNeuralGPU: "neural-gpu",
}


def held(compiled: Compiled) -> Network:
    """What a construction gave, as the object that users hold."""
    kind = kind_named(_KINDS[type(compiled)])
    if isinstance(compiled, CompiledTransformer):
        machine = compiled.normal.given
        options = {"score": compiled.score, "blanks": compiled.normal.takes_blanks}
    else:
        machine, options = compiled.machine, {"base": compiled.neurons.base}
    return Network(kind, machine, options, compiled)


def written(compiled: Compiled) -> dict[str, Any]:
    """What certificates and files have of a network."""
    return held(compiled).written


def compiled_network(
    machine: TuringMachine, on: str, word: Sequence[str] = (), score: str | None = None
) -> Any:
    """What the construction of a kind gives, for words such as this one."""
    options = {} if score is None else {"score": score}
    return network_for_word(machine, on, tuple(word), **options).compiled


def flipped_networks(compiled: Any, place: str) -> list[Any]:
    """The network with the sign of a weight into a block flipped, for each such weight."""
    weights = weights_into(compiled.network, place)
    return [replace(compiled, network=flipped(compiled.network, weight)) for weight in weights]


def run_by_definition(compiled: Any, word: Sequence[str], max_steps: int) -> Run:
    """The given machine's run as the definition of its network does it."""
    following = Following(max_steps, Engine.REFERENCE)
    return held(compiled).kind.reading.run(compiled, tuple(word), following)


def networks_in(compiled: Any) -> dict[str, FeedForward]:
    """The feed-forward networks of a Transformer, by their places."""
    return feed_forwards(compiled.network)


def with_network(compiled: T, place: str, network: FeedForward) -> T:
    """The same with another network in one place."""
    other: Any = compiled
    path = next(leaf.path for leaf in maps(other.network) if leaf.place == place)[:-2]
    changed: T = replace(other, network=replaced(other.network, path, network))
    return changed


def facts(run: Run) -> tuple[object, ...]:
    """What a run says of the machine, whatever it ran on."""
    return run.outcome, run.steps, run.state, run.head, run.tape


def agree_at_every_step(compiled: CompiledRNN, word: Word, steps: int) -> int:
    """Compare every decoded configuration with the machine's; the number compared."""
    zero = Vector.zero(compiled.neurons.layout)
    states = compiled.network.decoder_states(compiled.embed(word), zero)
    followed = VectorReader(compiled.neurons).follow(states)
    compared = 0
    for wanted in islice(configurations(compiled.machine, word), steps + 1):
        head, found = next(followed)
        assert found is not None, f"dead at {compared}"
        assert (found.state, found.symbol, head) == (wanted.state, wanted.symbol, wanted.head)
        assert found.tape(head) == wanted.tape
        compared += 1
    return compared


def every_cell_is_as_proved(compiled: CompiledNeuralGPU, word: Word, steps: int) -> None:
    """Equation eq:to-prove of Appendix C, for every cell of every iteration."""
    rnn = compiled.rnn.network
    tokens = compiled.rnn.embed(word)
    h = list(rnn.encoder_states(tokens))
    alpha = [[x] for x in h]  # alpha[i][j] = α^i_j
    layout = compiled.network.layout
    waiting = Vector.of(layout, a=1, b=1)
    for t, S in enumerate(islice(compiled.network.tensors(compiled.embed(word)), steps + 1)):  # noqa: N806
        for i, row in enumerate(S, start=1):
            (cell,) = row
            if i < t:
                while len(alpha[i]) <= t - i:
                    alpha[i].append(pointwise(rnn.f2, rnn.U(alpha[i][-1])))
                wanted = in_block(alpha[i][t - i], "D", layout)
            elif i == t:
                wanted = in_block(h[i], "E", layout) + in_block(h[i], "C", layout)
                wanted += Vector.of(layout, b=1)
            else:
                wanted = in_block(tokens[i - 1], "E", layout) + waiting
            assert cell == wanted, (t, i)


def unproved(compiled: Compiled) -> list[str]:
    """The obligations of a Transformer's certificate that do not hold, read back from JSON."""
    found = check_written("transformer", json.loads(json.dumps(written(compiled))))
    return [each.name for each in found if each.failure is not None]
