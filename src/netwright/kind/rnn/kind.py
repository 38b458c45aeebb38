"""The kind `rnn`: Theorem 2.3."""

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from time import perf_counter
from typing import TYPE_CHECKING, Any

from netwright.certificates.rnn import CHECKER
from netwright.engine.following.drive import OngoingRun
from netwright.engine.following.tracing import RNNTracing, Tracing
from netwright.engine.moments import ReferenceEngine, Watch
from netwright.engine.rnn import FastRNN
from netwright.errors import InputError
from netwright.exact.feed_forward import Affine
from netwright.exact.layout import Layout
from netwright.exact.rational import Number, Rational, rational
from netwright.exact.vector import Vector
from netwright.kind.record import (
    C,
    Construction,
    FollowedReading,
    Following,
    Kind,
    Look,
    Option,
    Options,
    Proof,
)
from netwright.kind.rnn.checks import rnn_checks
from netwright.kind.rnn.construction import CompiledRNN, compile_rnn
from netwright.kind.rnn.meanings import MEANINGS
from netwright.kind.rnn.neurons import Neurons
from netwright.kind.rnn.reading import PairFollower, VectorReader, stack_run
from netwright.kind.rnn.readouts import readouts
from netwright.machine.simulate import Engine, Run
from netwright.machine.timeline import Timeline
from netwright.machine.turing_machine import TuringMachine
from netwright.network.tensors import VECTOR, NamedTensors
from netwright.network.trace import Moment
from netwright.network.view import AppliedRule, History, view_named
from netwright.verify.comparison import Check

if TYPE_CHECKING:
    from netwright.precision.laboratory import Experiment


def read_base(value: str | Number) -> Rational:
    """Parse the base of stacks; raise InputError if it is not a number.

    >>> read_base("7/2")
    7/2
    """
    if isinstance(value, str) and re.fullmatch(r"\d{1,18}(/0*[1-9]\d{0,17})?", value):
        return rational(Fraction(value))
    if isinstance(value, int | Fraction | Rational) and not isinstance(value, bool):
        return rational(value)
    raise InputError(f"base is {str(value)[:40]!r}; expected a number such as 4 or 7/2")


class StackConstruction(Construction[C]):
    """Builds networks with stacks."""

    of_the_paper = True
    options = (
        Option(
            "base",
            read_base,
            None,
            "The base of the stacks, above |Σ|, such as 4 or 7/2.",
            metavar="NUMBER",
        ),
    )

    def for_export(self, given: Options, machine: TuringMachine) -> Options:
        """Default to base 4 for two or three symbols, which makes the weights binary."""
        usual = given.get("base") is None and len(machine.symbols) <= 3
        return {**given, "base": 4} if usual else given


MOST_DIGITS = 30  # of a stack that are shown


class StackLook(Look[C]):
    """The look of a network that reads its input first."""

    reader = "stacks"

    def digits(self, compiled: Any, x: Rational) -> list[int] | None:
        """The first digits in the base of the stacks: each is as large as possible."""
        found: list[int] = []
        while 0 < x < 1 and len(found) < MOST_DIGITS:
            x *= compiled.neurons.base
            found.append(int(x.floor()))
            x -= found[-1]
        return found

    def history(self, compiled: C, word: Sequence[str], limit: int) -> History:
        """The machine starts after the word and the blank that ends it."""
        # One time more shows whether the machine has halted at the limit.
        lead = len(word) + 1
        return History(Timeline(compiled.machine, word, limit=limit + 1), lead, lead)


def pair_readout(neurons: Neurons) -> tuple[Affine, list[tuple[str, str]]]:
    """The read-outs n[q, s] of a hidden vector, and their pairs of state and symbol."""
    whole, machine = readouts(neurons), neurons.machine
    pairs = [(q, s) for q in machine.states for s in machine.symbols]
    columns = Layout.of(n=whole.output.labels("n"))
    first = whole.output.places("n")[0]
    weights = {(j, k - first): w for (j, k), w in whole.weights.items() if k >= first}
    return Affine(whole.input, columns, weights, Vector.zero(columns)), pairs


class RNNConstruction(StackConstruction[CompiledRNN]):
    """An encoder-decoder RNN that takes one step for each of the machine's."""

    name = "rnn"
    statement = "Theorem 2.3"

    def construct(self, machine: TuringMachine, options: Options) -> CompiledRNN:
        """The real-time RNN."""
        return compile_rnn(machine, options["base"])

    def facts(self, compiled: CompiledRNN) -> dict[str, Any]:
        """The number of neurons, and the formulas for it."""
        neurons = compiled.neurons
        m, k = len(neurons.machine.states), neurons.k
        encoder = k  # sc and e_1, …, e_{k−1}
        return {
            "dimension": neurons.layout.dimension,
            "neurons": neurons.layout.dimension - encoder,
            "encoder_neurons": encoder,
            # Pairs (q, D) with D = R, L, and S in a machine that stays, with two more stacks.
            "formula": "m(3k-2)+7" if neurons.stays else "m(2k-1)+5",
            "formula_value": m * (3 * k - 2) + 7 if neurons.stays else m * (2 * k - 1) + 5,
            "source_formula": "10m+30",
            "source_value": 10 * m + 30,
            "base": str(neurons.base),
        }

    def tensors(self, compiled: CompiledRNN, meanings: Any) -> NamedTensors:
        """Embedding, W, V and U multiplied out, and the read-outs of state and symbol."""
        named = NamedTensors.of(self, compiled.machine, compiled.network, meanings, linear=True)
        named.embedding(compiled.embedding, [compiled.machine.blank])
        named.names["activations"] = {
            "h": {"columns": VECTOR, "meaning": "h_0 = 0, then σ(x W + h V) (Equation 2)"},
            "g": {"columns": VECTOR, "meaning": "σ(g U), the output (Equation 3)"},
        }
        named.readout(*pair_readout(compiled.neurons), compiled.final_states)
        return named


class StackReading(FollowedReading[C]):
    """A reading of stacks; `full` is the definition, which applies every weight at every moment."""

    engines = (Engine.AUTO, Engine.FAST, Engine.FULL, Engine.ACCELERATED, Engine.REFERENCE)
    benchmark_steps = 10**7
    fast: Any
    """The engine with lookup tables."""
    moments_read_input = False
    """Whether the first moments are those in which the input is read."""

    @abstractmethod
    def inputs(self, compiled: C, X: Sequence[Vector]) -> tuple[Any, ...]:
        """The first arguments of the fast engine: the network and its input."""

    @abstractmethod
    def watches(self, compiled: C, readouts: Affine, tokens: int) -> tuple[Watch, ...]:
        """The watches of the read-outs: the first for g_0, the last for all others."""

    @abstractmethod
    def traced(self, compiled: C, word: Sequence[str], ongoing: OngoingRun[Any]) -> Tracing[Any]:
        """The trace of a run."""

    def trace(self, compiled: C, word: Sequence[str], max_steps: int) -> Tracing[Any]:
        """A trace that begins with the definition."""
        ongoing = self.ongoing(compiled, word, max_steps, Engine.AUTO)
        return self.traced(compiled, word, ongoing)

    def accelerated_trace(self, compiled: C, word: Sequence[str], max_steps: int) -> Tracing[Any]:
        """A trace by moves."""
        ongoing = self.ongoing(compiled, word, max_steps, Engine.ACCELERATED)
        return self.traced(compiled, word, ongoing)

    def run(self, compiled: C, word: Sequence[str], following: Following) -> Run:
        """Run, and name the engine that was asked for where `full` is the definition."""
        found = super().run(compiled, word, following)
        return replace(found, engine=Engine.FULL) if following.engine is Engine.FULL else found

    def ongoing(
        self, compiled: C, word: Sequence[str], max_steps: int, engine: Engine
    ) -> OngoingRun[Any]:
        """Start the run; after the input is read, one moment is one step."""
        started = perf_counter()
        symbols = compiled.machine.check_word(word)
        X, tokens = compiled.embed(symbols), len(symbols) + 1
        reader = VectorReader(compiled.neurons)
        watches = self.watches(compiled, reader.readouts, tokens)
        skip = tokens if self.moments_read_input else 0
        follower = PairFollower(reader, compiled.final_states, max_steps, skip)
        moments: Any
        if engine in (Engine.REFERENCE, Engine.FULL):  # every weight at every moment
            moments = ReferenceEngine(self.moments(compiled, word), watches)
        else:
            given = *self.inputs(compiled, X), watches, follower.stops
            short = self.fast.SHORT if engine is Engine.AUTO else 0
            accelerated = engine is Engine.ACCELERATED
            moments = self.fast(*given, reference_steps=short, accelerated=accelerated)
        sizes = {"tokens": tokens, "dimension": compiled.network.layout.dimension}
        shown = Engine.ACCELERATED if engine is Engine.ACCELERATED else Engine.FAST
        return stack_run(reader, moments, follower, watches, engine=shown, started=started, **sizes)


class RNNReading(StackReading[CompiledRNN]):
    """A reading of the hidden vectors."""

    fast = FastRNN

    def inputs(self, compiled: CompiledRNN, X: Sequence[Vector]) -> tuple[Any, ...]:
        """The network, the tokens and the seed 0."""
        return compiled.network, X, Vector.zero(compiled.neurons.layout)

    def watches(self, compiled: CompiledRNN, readouts: Affine, tokens: int) -> tuple[Watch]:
        """One watch for all g_t."""
        return (Watch("0", "n", through=readouts),)

    def moments(self, compiled: CompiledRNN, word: Sequence[str]) -> Iterator[Mapping[str, Vector]]:
        """g_0, g_1, … of Equation 3."""
        seed = Vector.zero(compiled.neurons.layout)
        return ({"0": g} for g in compiled.network.decoder_states(compiled.embed(word), seed))

    def outputs(self, compiled: CompiledRNN, word: Sequence[str]) -> Iterator[Vector]:
        """y_1, y_2, …."""
        return compiled.recognizer.outputs((*word, compiled.machine.blank))

    def traced(
        self, compiled: CompiledRNN, word: Sequence[str], ongoing: OngoingRun[Any]
    ) -> RNNTracing:
        """A trace: h while the input is read, then g."""
        return RNNTracing(ongoing, compiled.network, compiled.embed(word))

    def output(self, moment: Moment) -> Vector | None:
        """g_1 is the first; g_0 is h_n."""
        return None if "h" in moment else moment["g"]

    def vectors(self, compiled: CompiledRNN) -> list[str]:
        """h of the encoder and g of the decoder."""
        return ["h", "g"]


class RNNProof(Proof[CompiledRNN]):
    """The claims of the configuration at every step."""

    checker = CHECKER
    is_predicted = True

    def checks(self, compiled: CompiledRNN, word: Sequence[str], max_steps: int) -> Iterator[Check]:
        """Check state, symbol, head and tape in the definition's hidden vectors."""
        return rnn_checks(compiled, word, max_steps)

    def laboratory(self, options: Options) -> "tuple[type[Experiment], dict[str, Any]]":
        """The experiment with its stacks."""
        from netwright.precision.laboratory import StackExperiment
        from netwright.precision.stacks import rnn_hidden

        return StackExperiment, {"base": options["base"], "hidden": rnn_hidden}


class RNNLook(StackLook[CompiledRNN]):
    """The look of the hidden vectors."""

    meanings = MEANINGS
    view = view_named("rnn")

    def rule(self, compiled: CompiledRNN, moment: Moment) -> AppliedRule | None:
        """State and symbol by the read-outs of g; the rule is the machine's."""
        found = VectorReader(compiled.neurons).read(moment["g"]) if "g" in moment else None
        return AppliedRule.of(compiled.machine, found.state, found.symbol) if found else None


KIND = Kind(RNNConstruction(), RNNReading(), RNNProof(), RNNLook())
