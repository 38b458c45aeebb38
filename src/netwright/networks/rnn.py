"""The kind `rnn`: Theorem 2.3."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from netwright.errors import InputError
from netwright.exact.feed_forward import Affine, LinearMap
from netwright.exact.layout import Layout
from netwright.exact.rational import Number, Rational, rational, sigma
from netwright.exact.vector import Vector
from netwright.following.rnn import Decoder, rnn_course, run_rnn
from netwright.following.tracing import RNNTracing
from netwright.machine.simulate import Run
from netwright.machine.turing_machine import TuringMachine
from netwright.nets.rnn import RNN, Matrix, identity, multiplied_out
from netwright.networks.kind import Following, Kind, Option, Options
from netwright.networks.plain import VECTOR, Plain
from netwright.networks.trace import Moment
from netwright.networks.view import Says
from netwright.networks.writing import Reading, Writing
from netwright.runtime.stacks.rnn import FastRNN
from netwright.theorems.theorem_2_3_rnn.construction import CompiledRNN, compile_rnn
from netwright.theorems.theorem_2_3_rnn.meanings import MEANINGS
from netwright.theorems.theorem_2_3_rnn.neurons import Neurons
from netwright.theorems.theorem_2_3_rnn.readouts import readouts
from netwright.verify.certificate.rnn import CHECKER
from netwright.verify.comparison import Check
from netwright.verify.rnn import rnn_checks

if TYPE_CHECKING:
    from netwright.precision.laboratory import Hidden, StackExperiment


def read_base(value: str | Number) -> Rational:
    """The base of stacks as a number.

    >>> read_base("7/2")
    7/2
    """
    if isinstance(value, str) and re.fullmatch(r"\d{1,18}(/0*[1-9]\d{0,17})?", value):
        return rational(Fraction(value))
    if isinstance(value, int | Fraction | Rational) and not isinstance(value, bool):
        return rational(value)
    raise InputError(f"base is {str(value)[:40]!r}; expected a number such as 4 or 7/2")


BASE = Option(
    "base",
    read_base,
    None,
    "The base of the stacks, above |Σ|, such as 4 or 7/2.",
    metavar="NUMBER",
)


def matrices_of(matrices: Mapping[str, Matrix]) -> dict[str, Affine]:
    """The factors of each matrix, by the number of a product and of a factor in it."""
    return {
        f"{name}#{t}.{n}": affine
        for name, matrix in matrices.items()
        for t, term in enumerate(matrix.terms if isinstance(matrix, LinearMap) else ((matrix,),))
        for n, affine in enumerate(term)
    }


def with_factor(matrix: Matrix, number: str, affine: Affine) -> Matrix:
    """A matrix with another factor in the place that `matrices_of` numbered."""
    if isinstance(matrix, Affine):
        return affine
    t, n = map(int, number.split("."))
    terms = [list(term) for term in matrix.terms]
    terms[t][n] = affine
    return LinearMap(matrix.input, matrix.output, tuple(map(tuple, terms)))


def written_meaning(compiled: CompiledRNN, writing: Writing) -> dict[str, Any]:
    """The machine, and what the neurons stand for."""
    neurons = compiled.neurons
    return {
        "given": writing.machine(compiled.machine),
        "base": str(rational(neurons.base)),
        "digits": dict(neurons.digits),
        "tops": [
            [neurons.label(q, move, a), q, move.value, a]
            for q, move in neurons.entries
            for a in range(1, neurons.k)
        ],
        "embedding": [[s, writing.vector(v)] for s, v in compiled.embedding.items()],
        "final_states": sorted(compiled.final_states),
    }


def pair_readout(compiled: CompiledRNN) -> tuple[Affine, list[tuple[str, str]]]:
    """The read-outs n[q, s] of a hidden vector, and the pairs that they stand for."""
    whole, machine = readouts(compiled.neurons), compiled.machine
    pairs = [(q, s) for q in machine.states for s in machine.symbols]
    columns = Layout.of(n=whole.output.labels("n"))
    first = whole.output.places("n")[0]
    weights = {(j, k - first): w for (j, k), w in whole.weights.items() if k >= first}
    return Affine(whole.input, columns, weights, Vector.zero(columns)), pairs


def base_for_floats(given: Options, machine: TuringMachine) -> Options:
    """Base 4 where nothing else is said: with two or three symbols its weights are binary."""
    usual = given.get("base") is None and len(machine.symbols) <= 3
    return {**given, "base": 4} if usual else given


def stack_experiment(
    kind: Kind[Any],
    hidden: "Hidden",
    machine: TuringMachine,
    word: tuple[str, ...],
    options: Options,
    settings: Mapping[str, Any],
) -> "StackExperiment":
    """The stacks of a network in floating point; it has no attention to speak of."""
    from netwright.precision.laboratory import StackExperiment

    for name in settings:
        if name not in StackExperiment.__dataclass_fields__:
            flag = {"temperature": "softmax", "snapping": "snap"}.get(name, name)
            raise InputError(f"{flag} is for networks with attention; {kind.name} has none")
    return StackExperiment(machine, word, base=options["base"], hidden=hidden, **settings)


class RNNKind(Kind[CompiledRNN]):
    """An encoder-decoder RNN that takes one step for each of the machine's."""

    name = "rnn"
    statement = "Theorem 2.3"
    meanings = MEANINGS
    checker = CHECKER
    benchmark_steps = 10**7
    options = (BASE,)

    def construct(self, machine: TuringMachine, options: Options) -> CompiledRNN:
        """The real-time RNN."""
        return compile_rnn(machine, options["base"])

    def run(self, compiled: CompiledRNN, word: Sequence[str], following: Following) -> Run:
        """One moment is one step."""
        return run_rnn(compiled, word, *following.beside, following.faster(FastRNN, FastRNN.SHORT))

    def trace(self, compiled: CompiledRNN, word: Sequence[str], max_steps: int) -> RNNTracing:
        """The hidden vectors, first those of the encoder."""
        decoding = partial(FastRNN, reference_steps=FastRNN.SHORT)
        course = rnn_course(compiled, word, max_steps, decoding)
        return RNNTracing(course, compiled.network, compiled.embed(word))

    def outputs(self, compiled: CompiledRNN, word: Sequence[str]) -> Iterator[Vector]:
        """y_1, y_2, … of Equation 3."""
        zero = Vector.zero(compiled.neurons.layout)
        return compiled.network.outputs(compiled.embed(word), zero)

    def checks(self, compiled: CompiledRNN, word: Sequence[str], max_steps: int) -> Iterator[Check]:
        """State, symbol, head and tape at every step."""
        return rnn_checks(compiled, word, max_steps)

    def machine_of(self, compiled: CompiledRNN) -> TuringMachine:
        """The given machine."""
        return compiled.machine

    def says(self, compiled: CompiledRNN, moment: Moment) -> Says | None:
        """State and symbol by the read-outs of g; the rule is the machine's."""
        found = Decoder(compiled.neurons).decode(moment["g"]) if "g" in moment else None
        return Says.of(compiled.machine, found.state, found.symbol) if found else None

    def written(self, compiled: CompiledRNN) -> dict[str, Any]:
        """Machine, matrices, and what the neurons stand for."""
        writing, network = Writing(), compiled.network
        matrices = {letter: writing.matrix(getattr(network, letter)) for letter in "WVU"}
        nothing = (network.R, network.b1, network.b2) == (None, None, None)
        plain = nothing and (network.f1, network.f2, network.O) == (sigma, sigma, identity)
        layout = writing.layout(network.layout)
        return {
            **written_meaning(compiled, writing),
            "matrices": matrices,
            "plain": plain,
            "layout": layout,
            "layouts": writing.layouts,
        }

    def rebuilt(
        self, written: Mapping[str, Any], machine: TuringMachine, options: Options
    ) -> CompiledRNN:
        """From what `written` gave: W, V and U, the rest as the definition has it."""
        reading = Reading(written)
        layout = reading.layout
        matrices = {x: reading.matrix(written["matrices"][x], layout) for x in "WVU"}
        embedding = {s: reading.vector(v, layout) for s, v in written["embedding"]}
        return CompiledRNN(
            Neurons.of(machine, rational(Fraction(written["base"]))),
            RNN(layout, matrices["W"], matrices["V"], matrices["U"]),
            embedding,
            frozenset(written["final_states"]),
        )

    def unwritable(self, compiled: CompiledRNN) -> str | None:
        """Whatever there is beside W, V, U and σ."""
        if self.written(compiled)["plain"]:
            return None
        return "it has biases, an R, or other functions than the theorem's"

    def was_made_with(self, compiled: CompiledRNN, options: Options) -> bool:
        """The base; and every symbol has its vector."""
        base = options["base"] or len(compiled.machine.symbols) + 1
        symbols = set(compiled.embedding) == set(compiled.machine.symbols)
        return symbols and compiled.neurons.base == base

    def plain(self, compiled: CompiledRNN) -> Plain:
        """Embedding, W, V and U multiplied out, and the read-outs of state and symbol."""
        layout = compiled.neurons.layout
        plain = Plain.of(self.name, self.statement, compiled.machine, self.meanings)
        plain.layout(VECTOR, layout)
        plain.embedding(compiled.embedding, [compiled.machine.blank], layout)
        for letter in "WVU":
            plain.weight(letter, multiplied_out(getattr(compiled.network, letter)), linear=True)
        plain.names["activations"] = {
            "h": {"columns": VECTOR, "meaning": "h_0 = 0, then σ(x W + h V) (Equation 2)"},
            "g": {"columns": VECTOR, "meaning": "σ(g U), the output (Equation 3)"},
        }
        plain.readout(*pair_readout(compiled), compiled.final_states)
        return plain

    def for_export(self, given: Options, machine: TuringMachine) -> Options:
        """In a base whose digits are bits."""
        return base_for_floats(given, machine)

    def output(self, moment: Moment) -> Vector | None:
        """g_1 is the first; g_0 is h_n."""
        return None if "h" in moment else moment["g"]

    def matrices(self, compiled: CompiledRNN) -> dict[str, Affine]:
        """The factors of W, V and U."""
        return matrices_of({letter: getattr(compiled.network, letter) for letter in "WVU"})

    def with_matrix(self, compiled: CompiledRNN, name: str, affine: Affine) -> CompiledRNN:
        """With another factor in one of them."""
        letter, _, number = name.partition("#")
        changed: Any = {letter: with_factor(getattr(compiled.network, letter), number, affine)}
        return replace(compiled, network=replace(compiled.network, **changed))

    def experiment(
        self, machine: TuringMachine, word: tuple[str, ...], options: Options, settings: Options
    ) -> "StackExperiment":
        """Its stacks."""
        from netwright.precision.stacks import rnn_hidden

        return stack_experiment(self, rnn_hidden, machine, word, options, settings)

    def vectors(self, compiled: CompiledRNN) -> list[str]:
        """The hidden vectors of encoder and decoder."""
        return ["h", "g"]

    def layout(self, compiled: CompiledRNN) -> Layout:
        """The layout of the hidden vectors."""
        return compiled.neurons.layout

    def facts(self, compiled: CompiledRNN) -> dict[str, Any]:
        """The number of neurons, beside the formulas for it."""
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

    def description(self, compiled: CompiledRNN) -> dict[str, Any]:
        """Matrices and activations."""
        dimension = compiled.neurons.layout.dimension
        return {
            "matrices": {letter: [dimension, dimension] for letter in "WVU"},
            "activations": {"encoder": "sigma", "decoder": "sigma", "output": "identity"},
        }
