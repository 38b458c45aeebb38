"""From the vectors of Trans_M back to the given machine: state, head, tape and steps.

Token i of the decoder ends as z³_i, which holds the symbol v^(i) that it wrote, and y_{i+1}, which
holds the state, the symbol under the head and the move m^(i). Following them gives the tape. The
states that normalising added are passed over: the given machine has done a step when the network
is in one of its states again. Nothing here looks at δ: the answer is the network's own.
"""

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

from netwright.errors import NetworkError
from netwright.exact.rational import ONE
from netwright.exact.vector import Vector
from netwright.machine.configuration import Tape
from netwright.machine.normal_form import NormalMachine
from netwright.machine.simulate import Engine, Interrupted, Outcome, Progress, Run
from netwright.nets.transformer import Transformer
from netwright.theorems.theorem_3_4_transformer.construction import CompiledTransformer

Tokens = Callable[[Transformer, Sequence[Vector], Vector], Iterator[tuple[Vector, Vector]]]
"""A way to run a decoder: from network, input and seed to z and y of each token."""


def _tokens_by_definition(
    network: Transformer, X: Sequence[Vector], seed: Vector
) -> Iterator[tuple[Vector, Vector]]:
    return ((token.layers[-1].z, token.y) for token in network.tokens(X, seed))


class FollowedTape:
    """The given machine's configuration, followed from what a network says it does."""

    def __init__(self, normal: NormalMachine, word: Sequence[str]) -> None:
        self.normal = normal
        self.tape = dict(enumerate(word))
        self.cell = -1  # the normal machine begins left of the input
        self.steps = -1  # and has not yet begun the given machine's run
        self.at_a_step = False
        self.state = normal.given.start
        self.head = 0

    def step(self, written: str, move: int, state: str) -> None:
        """The network wrote a symbol, moved, and is now in a state."""
        self.tape[self.cell] = self.normal.given_symbol(written)
        self.cell += move
        self.at_a_step = self.normal.is_given_state(state)
        if self.at_a_step:
            self.steps, self.state, self.head = self.steps + 1, state, self.cell

    def cells(self) -> Tape:
        """The given machine's tape."""
        blank = self.normal.given.blank
        written = [cell for cell, symbol in self.tape.items() if symbol != blank]
        if not written:
            return Tape(0, ())
        span = range(min(written), max(written) + 1)
        return Tape(span.start, tuple(self.tape.get(cell, blank) for cell in span))


def run_transformer(
    compiled: CompiledTransformer,
    word: Sequence[str],
    max_steps: int,
    progress: Progress | None = None,
    fast_tokens: Tokens | None = None,
) -> Run:
    """The given machine's run as the network does it: by the definition, or by a faster engine."""
    started = perf_counter()
    normal = compiled.normal
    symbols = normal.check_word(word)
    followed = FollowedTape(normal, symbols)
    outcome, network_steps = Outcome.UNDECIDED, 0
    accepting = bool(normal.given.accepting)
    # Reading and rewinding take 2n + 3 steps, a stay takes two; then one more look at the limit.
    most_steps = 2 * len(symbols) + 3 + 2 * max_steps + 1

    def reached() -> Run:
        return Run(
            outcome,
            max(0, followed.steps),
            followed.state,
            followed.head,
            followed.cells(),
            Engine.FAST if fast_tokens else Engine.REFERENCE,
            perf_counter() - started,
            network_steps=network_steps,
            dimension=compiled.layout.dimension,
        )

    try:
        tokens = fast_tokens or _tokens_by_definition
        X = compiled.recognizer.embed(symbols)
        for number, (z, y) in enumerate(tokens(compiled.network, X, compiled.seed), start=1):
            state = one_hot(y, "q1")
            if state is None and followed.at_a_step:
                # The dead vector: no rule applied to the last configuration.
                outcome = Outcome.REJECTED if accepting else Outcome.HALTED
                break
            if followed.at_a_step and followed.steps == max_steps:
                break  # the limit, and the network goes on from there
            written = one_hot(z, "s2")
            move = y.number("x1")
            if state is None or written is None or move not in (-1, 1) or number > most_steps:
                raise NetworkError(f"output {number} is not one of a network compiled by netwright")
            followed.step(written, int(move.p), state)
            network_steps = number
            if compiled.is_final(y):
                outcome = Outcome.ACCEPTED if accepting else Outcome.HALTED
                break
            if progress:
                progress(max(0, followed.steps), len(followed.tape))
    except KeyboardInterrupt:
        raise Interrupted(reached()) from None
    return reached()


def one_hot(vector: Vector, block: str) -> str | None:
    """The label of a block's one-hot vector; None if the block is 0."""
    content = vector[block]
    if not content:
        return None
    if len(content) != 1 or set(content.values()) != {ONE}:
        raise NetworkError(f"block {block} of {vector} is neither 0 nor a one-hot vector")
    return next(iter(content))
