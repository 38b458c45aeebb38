"""From the hidden vectors of the RNN back to the machine: state, head, tape, at every step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

from netwright.errors import NetworkError
from netwright.exact.rational import ONE, Rational
from netwright.exact.vector import Vector
from netwright.machine.configuration import Tape
from netwright.machine.simulate import Engine, Interrupted, Outcome, Progress, Run
from netwright.theorems.theorem_2_3_rnn.construction import CompiledRNN
from netwright.theorems.theorem_2_3_rnn.neurons import Neurons
from netwright.theorems.theorem_2_3_rnn.readouts import pair_label, readouts
from netwright.theorems.theorem_2_3_rnn.update import move_readouts


@dataclass(frozen=True)
class Decoded:
    """What a hidden vector says; the stacks are spelled out only when somebody asks."""

    neurons: Neurons
    state: str
    symbol: str
    left: Rational
    right: Rational
    move: int
    """Where the head goes next: −1, 0 or 1."""

    def tape(self, head: int) -> Tape:
        """The tape, the head being on a cell."""
        left, right = self._symbols(self.left), self._symbols(self.right)
        cells = [*reversed(left), self.symbol, *right]
        return Tape.of(cells, head - len(left), self.neurons.machine.blank)

    def _symbols(self, x: Rational) -> list[str]:
        """The symbols of a stack, from the top: the digits of x in base B."""
        symbols: list[str] = []
        # With B = p/r, a stack of n symbols has denominator p^n, but for a factor below k.
        longest = int(x.q).bit_length() + self.neurons.k.bit_length()
        while x:
            x *= self.neurons.base
            digit = int(x.floor())
            if not 0 <= digit < self.neurons.k or len(symbols) == longest:
                raise NetworkError(f"{x} is no stack in base {self.neurons.base}")
            symbols.append(self.neurons.symbol_of[digit])
            x -= digit
        return symbols


class Decoder:
    """Reads hidden vectors of the RNN of a machine."""

    def __init__(self, neurons: Neurons) -> None:
        self.neurons = neurons
        self.readouts = readouts(neurons)
        self.moves = move_readouts(neurons)
        machine = neurons.machine
        self.pairs = {pair_label(q, s): (q, s) for q in machine.states for s in machine.symbols}

    def decode(self, g: Vector) -> Decoded | None:
        """What g says; None for a dead vector, in which no state is on."""
        seen = self.readouts(g)
        on = seen["n"]
        if not on:
            return None
        if len(on) != 1 or set(on.values()) != {ONE}:
            raise NetworkError(f"the read-outs {on} are no one-hot of state and symbol")
        state, symbol = self.pairs[next(iter(on))]
        moves = self.moves(seen)
        move = moves.number("move", "R") - moves.number("move", "L")
        stacks = seen.number("L"), seen.number("R")
        return Decoded(self.neurons, state, symbol, *stacks, int(move.p))

    def follow(self, states: Iterator[Vector]) -> Iterator[tuple[int, Decoded | None]]:
        """Each g_t with the cell under its head, up to the first dead one."""
        head = 0
        for g in states:
            decoded = self.decode(g)
            yield head, decoded
            if decoded is None:
                return
            head += decoded.move


def run_states(
    compiled: CompiledRNN,
    states: Iterator[Vector],
    max_steps: int,
    progress: Progress | None,
    *,
    tokens: int,
    dimension: int,
) -> Run:
    """The machine's run, read off g_0, g_1, …; the network has read `tokens` vectors before g_0.

    One step of the network is one of the machine: g_t is the configuration at time t.
    """
    started = perf_counter()
    machine = compiled.machine
    outcome, steps, head = Outcome.UNDECIDED, 0, 0
    last: Decoded | None = None
    visited = [0, 0]

    def reached() -> Run:
        state = last.state if last else machine.start
        tape = last.tape(head) if last else Tape(0, ())
        seconds = perf_counter() - started
        time = tokens + steps
        return Run(
            outcome, steps, state, head, tape, Engine.REFERENCE, seconds, 0.0, time, dimension
        )

    try:
        for time, (cell, decoded) in enumerate(Decoder(compiled.neurons).follow(states)):
            if decoded is None:  # dead: no rule applied to the configuration before
                outcome = Outcome.REJECTED if machine.accepting else Outcome.HALTED
                break
            if time > max_steps:
                break
            steps, head, last = time, cell, decoded
            if decoded.state in compiled.final_states:
                outcome = Outcome.ACCEPTED if machine.accepting else Outcome.HALTED
                break
            if progress:
                visited = [min(visited[0], head), max(visited[1], head)]
                progress(steps, visited[1] - visited[0] + 1)
    except KeyboardInterrupt:
        raise Interrupted(reached()) from None
    return reached()


def run_rnn(
    compiled: CompiledRNN,
    word: Sequence[str],
    max_steps: int,
    progress: Progress | None = None,
) -> Run:
    """The machine's run as the RNN does it, by the definition (reference engine)."""
    X = compiled.embed(compiled.machine.check_word(word))
    states = compiled.network.decoder_states(X, Vector.zero(compiled.neurons.layout))
    dimension = compiled.neurons.layout.dimension
    return run_states(compiled, states, max_steps, progress, tokens=len(X), dimension=dimension)
