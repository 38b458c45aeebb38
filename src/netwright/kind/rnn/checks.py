"""Checks of a machine's RNN: the configuration in its hidden vector at every step."""

from collections.abc import Iterator, Sequence

from netwright.exact.vector import Vector
from netwright.kind.rnn.construction import CompiledRNN
from netwright.kind.rnn.reading import VectorReader
from netwright.machine.simulate import configurations
from netwright.verify.comparison import Check


def rnn_checks(compiled: CompiledRNN, word: Sequence[str], max_steps: int) -> Iterator[Check]:
    """Check state, symbol, head and tape at every step of the machine, and the end of its run."""
    X = compiled.embed(compiled.machine.check_word(word))
    states = compiled.network.decoder_states(X, Vector.zero(compiled.neurons.layout))
    return hidden_checks(compiled, word, max_steps, states, "Theorem 2.3")


def hidden_checks(
    compiled: CompiledRNN,
    word: Sequence[str],
    max_steps: int,
    states: Iterator[Vector],
    statement: str,
) -> Iterator[Check]:
    """The same checks for the hidden vectors g_0, g_1, … of any network."""
    followed = VectorReader(compiled.neurons).follow(states)
    final = compiled.final_states
    for time, wanted in enumerate(configurations(compiled.machine, word)):
        if time > max_steps:
            return
        head, found = next(followed)
        alive = found is not None
        yield Check(time, statement, f"whether g_{time} shows a state", alive, True, time - 1)
        if found is None:
            return
        for name, have, want in (
            (f"the state of g_{time} (S)", found.state, wanted.state),
            (f"the symbol of g_{time} (S, P)", found.symbol, wanted.symbol),
            (f"the head at {time}", head, wanted.head),
            (f"the tape of g_{time} (the stacks)", found.tape(head), wanted.tape),
        ):
            yield Check(time, statement, name, have, want, time)
        if wanted.state in final:
            return
    # The machine halted elsewhere: the next hidden vector shows no state.
    dead = next(followed)[1] is None
    yield Check(time + 1, statement, f"whether g_{time + 1} is dead", dead, True, time)
