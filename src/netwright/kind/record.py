"""The interface of a kind of network: four small parts, and what each makes possible.

| part           | has                                                 | and so gets             |
|----------------|-----------------------------------------------------|-------------------------|
| `Construction` | name, statement, options, construct                 | compile, weights, files |
| `Reading`      | the definition's moments; what `ShownReading` shows | run, trace, campaign    |
| `Proof`        | what every vector should be, lemmas, the checker    | verify, certify         |
| `Look`         | meanings of blocks and weights, a view              | explain, page           |

A kind is a module with one `KIND`, and a line in `registry`. Verbs, options, messages, files and
tests query it; no other place has a list of kinds. `C` is the type that its construction returns: a
frozen dataclass with the weights in its field `network`, and with what they mean.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from netwright.certificates.reading import Checker
from netwright.engine.following.drive import OngoingRun, finish
from netwright.engine.following.shown import Shown, shown_run
from netwright.engine.following.tracing import ReplayTracing, Tracing
from netwright.engine.moments import ReferenceEngine, ReplayEngine
from netwright.errors import InputError, unknown
from netwright.exact.layout import Layout
from netwright.exact.meanings import Meanings
from netwright.exact.rational import Rational
from netwright.exact.snapshot import CheckpointStore
from netwright.exact.vector import Vector
from netwright.kind.registry import kind_named
from netwright.machine.simulate import Engine, Progress, Run
from netwright.machine.timeline import Timeline
from netwright.machine.turing_machine import TuringMachine
from netwright.network.trace import Moment
from netwright.network.tree import maps
from netwright.network.view import AppliedRule, History, View, Written
from netwright.verify.comparison import Check
from netwright.verify.proposal import Proposal
from netwright.verify.shown import shown_checks

if TYPE_CHECKING:
    from netwright.network.tensors import NamedTensors
    from netwright.precision.laboratory import Experiment  # it imports the compiler

C = TypeVar("C", bound=Any)
Options = Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Option:
    """An option of a construction, such as `score`."""

    name: str
    read: Callable[[Any], Any]
    """Parse a text or value; raise InputError if it is invalid."""
    default: Any
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    is_flag: bool = False

    @staticmethod
    def choice(name: str, choices: Mapping[str, Any], default: str, help_text: str) -> "Option":
        """An option whose values are chosen by name."""

        def read(value: object) -> Any:
            if str(value) not in choices:
                raise InputError(unknown(name, str(value), list(choices)))
            return choices[str(value)]

        metavar = f"[{'|'.join(choices)}]"
        return Option(name, read, choices[default], help_text, metavar, tuple(choices))

    @staticmethod
    def flag(name: str, help_text: str) -> "Option":
        """A boolean option; other truthy or falsy values are refused."""

        def read(value: object) -> bool:
            if not isinstance(value, bool):
                raise InputError(f"expected True or False, got {str(value)[:40]!r}")
            return value

        return Option(name, read, False, help_text, is_flag=True)

    def __repr__(self) -> str:
        return f"<option {self.name}={self.default}: {self.help}>"

    def written(self, value: object) -> bool | int | str | None:
        """The value for JSON, which `read` parses back."""
        return value if value is None or isinstance(value, bool | int | str) else str(value)


@dataclass(frozen=True)
class Following:
    """The settings of a run: step limit, engine, progress callback, checkpoint store."""

    max_steps: int
    engine: Engine = Engine.AUTO
    progress: Progress | None = None
    store: CheckpointStore | None = None


class Construction(ABC, Generic[C]):
    """Builds the network of a machine."""

    name: str
    statement: str
    """The theorem or lemma that it proves."""
    of_the_paper = False
    options: tuple[Option, ...] = ()
    format = 2
    """The number of the format of its saved networks."""
    aliases: Mapping[tuple[str, str], str] = {}  # never changed
    """(option, value) pairs that now select another kind, with its name."""
    variants: Mapping[tuple[str, str], str] = {}  # never changed
    """(option, value) pairs that select another construction of the same name, by module."""
    takes_prompt = ""
    """What its prompt is, if the machine is the prompt: `rules` or `text`."""
    code = ""
    """The kind whose exported code runs it; empty if it may have code of its own."""

    def read_options(self, given: Options) -> dict[str, Any]:
        """Parse the given options and add defaults; raise InputError for an unknown one."""
        known = {option.name: option for option in self.options}
        for name in given:
            if name not in known:
                has = f"its options are {', '.join(known)}" if known else "it has no options"
                raise InputError(f"{name} is not an option of {self.name}; {has}")
        return {
            name: option.read(given[name]) if given.get(name) is not None else option.default
            for name, option in known.items()
        }

    def for_word(self, given: Options, machine: TuringMachine, word: Sequence[str]) -> Options:
        """The options for a network that must accept a word."""
        return given

    def for_export(self, given: Options, machine: TuringMachine) -> Options:
        """The options for a network that is exported to floating point."""
        return given

    @abstractmethod
    def construct(self, machine: TuringMachine, options: Options) -> C:
        """Build the network of a machine."""

    def check_loaded(self, written: Mapping[str, Any]) -> None:
        """Raise FormatError if a network from a file is invalid for this kind."""

    def parts(self, compiled: C) -> Mapping[str, Callable[[], C]]:
        """The parts that can be left out, by name, each with a function that leaves it out."""
        return {}

    def without(self, compiled: C, part: str) -> C:
        """The network without one of its parts; InputError for an unknown part."""
        parts = self.parts(compiled)
        if not parts:
            raise InputError(f"{self.name} has no parts to leave out")
        if part not in parts:
            raise InputError(unknown("part", part, list(parts)))
        return parts[part]()

    def layout(self, compiled: C) -> Layout:
        """The layout of the network's vectors."""
        found: Layout = compiled.network.layout
        return found

    def facts(self, compiled: C) -> dict[str, Any]:
        """Sizes of the network, and the formulas for them."""
        return {"dimension": self.layout(compiled).dimension, **count_weights(compiled.network)}

    def tensors(self, compiled: C, meanings: Meanings) -> "NamedTensors":
        """The network as named tensors, for exports."""
        raise InputError(f"{self.name} cannot be exported: it has no plain form")

    def prompt(self, compiled: C, word: Sequence[str]) -> Any:
        """The machine and a word as a prompt, for a network that is the same for all machines."""
        raise InputError(f"{self.name} has no prompt: the machine is in its weights")

    def introduction(self, paper: str) -> str:
        """A sentence about the network and its origin."""
        if self.of_the_paper:
            return f"The {self.name} of {self.statement} in {paper}, compiled from the machine"
        return f"A {self.name}, beyond {paper}, compiled from the machine"


def count_weights(network: Any) -> dict[str, int]:
    """The number of weights and biases, and how many of them are nonzero."""
    found = [leaf.part for leaf in maps(network)]
    return {
        "parameters": sum((a.input.dimension + 1) * a.output.dimension for a in found),
        "nonzeros": sum(len(a.weights) + len(a.bias.entries) for a in found),
    }


class Reading(ABC, Generic[C]):
    """Reads a machine's run and trace off a network's vectors."""

    engines: tuple[Engine, ...] = (Engine.AUTO, Engine.REFERENCE)
    """The engines that support it."""
    has_tables = False
    """Whether its fast engine uses lookup tables, so that `full` is a different engine."""
    benchmark_steps = 10**6
    """The length of the longest run of `netwright bench`."""

    @property
    def traced_by(self) -> list[Engine]:
        """The engines that a trace may have."""
        has_it = type(self).accelerated_trace is not Reading.accelerated_trace
        return [Engine.AUTO, *([Engine.ACCELERATED] if has_it else [])]

    @property
    def fastest(self) -> Engine:
        """The engine for campaigns."""
        return Engine.FAST if Engine.FAST in self.engines else Engine.AUTO

    @abstractmethod
    def moments(self, compiled: C, word: Sequence[str]) -> Iterator[Mapping[str, Vector]]:
        """The network's vectors by name, moment by moment, by its definition."""

    @abstractmethod
    def run(self, compiled: C, word: Sequence[str], following: Following) -> Run:
        """Run the given machine on the network; InputError for a word it cannot take."""

    @abstractmethod
    def trace(self, compiled: C, word: Sequence[str], max_steps: int) -> Tracing[Any]:
        """A trace: the vectors of the run at any moment."""

    def accelerated_trace(self, compiled: C, word: Sequence[str], max_steps: int) -> Tracing[Any]:
        """A trace by the accelerated engine; InputError unless the kind has one."""
        raise InputError("this kind has no trace by the accelerated engine")

    def outputs(self, compiled: C, word: Sequence[str]) -> Iterator[Vector]:
        """y_1, y_2, … on a word, by the definition."""
        return (moment["y"] for moment in self.moments(compiled, word))

    def output(self, moment: Moment) -> Vector | None:
        """The output y of a moment of a trace; None where there is none yet."""
        return moment["y"]

    def vectors(self, compiled: C) -> list[str]:
        """The names of the vectors that the network has at a moment."""
        return list(next(self.moments(compiled, ())))


class FollowedReading(Reading[C]):
    """A reading whose run is an `OngoingRun`, driven by an engine."""

    @abstractmethod
    def ongoing(
        self, compiled: C, word: Sequence[str], max_steps: int, engine: Engine
    ) -> OngoingRun[Any]:
        """Start the machine's run on an engine."""

    def run(self, compiled: C, word: Sequence[str], following: Following) -> Run:
        """Drive the ongoing run to its end."""
        ongoing = self.ongoing(compiled, word, following.max_steps, following.engine)
        return finish(ongoing, following.progress, following.store)


class ShownReading(FollowedReading[C]):
    """A reading whose moments show a state, the symbol written and a move, as `shown` describes.

    A kind that defines no more than this runs and is traced by its definition.
    """

    @abstractmethod
    def shown(self, compiled: C, word: Sequence[str]) -> Shown:
        """What to watch in a moment, and what it means; InputError for a word it cannot take."""

    def engine(self, compiled: C, word: Sequence[str], shown: Shown, engine: Engine) -> Any:
        """The engine that computes moments: the definition, unless a kind has a faster one."""
        return ReferenceEngine(self.moments(compiled, word), shown.watches)

    def ongoing(
        self, compiled: C, word: Sequence[str], max_steps: int, engine: Engine
    ) -> OngoingRun[Any]:
        """Start the machine's run on an engine."""
        make = partial(self.engine, compiled, word, engine=engine)
        return self.run_by(make, compiled, word, max_steps)

    def run_by(
        self, make: Callable[[Shown], Any], compiled: C, word: Sequence[str], max_steps: int
    ) -> OngoingRun[Any]:
        """Start the run on the engine that `make` returns for what is shown."""
        started, shown = perf_counter(), self.shown(compiled, word)
        dimension = compiled.network.layout.dimension
        return shown_run(shown, make(shown), max_steps, dimension, started)

    def trace(self, compiled: C, word: Sequence[str], max_steps: int) -> Tracing[Any]:
        """Replay the definition: time t is its moment t, from 1 on."""

        def replay(shown: Shown) -> ReplayEngine:
            return ReplayEngine(partial(self.moments, compiled, word), shown.watches)

        return ReplayTracing(self.run_by(replay, compiled, word, max_steps))


class Proof(ABC, Generic[C]):
    """What is proved of a network, and the checks of it."""

    checker: Checker | None = None
    """The checker of its certificates, independent of the construction."""
    uncertified = "nothing is proved about it for all inputs; verify compares it with its machine"
    """Why there are no certificates, if `checker` is None."""
    in_floats = False
    """Whether `netwright certify` proves it in floats: `network.float_certificate`."""
    is_vectorised = False
    """Whether `proposal` returns one."""
    formulae: Mapping[str, Any] = {}  # never changed
    """For a page that checks the lemmas itself: the values in each vector, and the claims."""
    is_predicted = False
    """Whether the precision laboratory predicts where its exports go wrong."""

    @abstractmethod
    def checks(self, compiled: C, word: Sequence[str], max_steps: int) -> Iterator[Check]:
        """Compare every vector with the proof, and every step with the machine's."""

    def proposal(self, compiled: C, word: Sequence[str]) -> Proposal | None:
        """The checks for vector code, which compares very long runs; None if not supported."""
        return None

    def lemmas(self, compiled: C, history: History, moment: Moment) -> list[Check]:
        """Compare one moment with the lemmas; the times are the moment's."""
        return []

    def laboratory(self, options: Options) -> "tuple[type[Experiment], dict[str, Any]] | None":
        """The floating-point experiment and its options; None if not supported."""
        return None


class ShownProof(Proof[C]):
    """The proof of a network that shows the machine's configuration at every step."""

    def __init__(self, reading: ShownReading[C], statement: str) -> None:
        self.reading, self.statement = reading, statement

    def checks(self, compiled: C, word: Sequence[str], max_steps: int) -> Iterator[Check]:
        """Check state, head and tape at every step, and the outcome."""
        shown, moments = self.reading.shown(compiled, word), self.reading.moments(compiled, word)
        return shown_checks(shown, moments, word, max_steps, self.statement)


class Look(ABC, Generic[C]):
    """How a network is presented: meanings, page view, history."""

    meanings = Meanings({}, {}, {})
    """The meanings of its blocks and weights."""
    view = View()
    """The page view of a moment."""
    reader = ""
    """How the page's own engine reads state and symbol off its vectors; empty if it cannot."""

    def score(self, compiled: C) -> str:
        """The formula of its attention score, for a page."""
        return "−|⟨q, k⟩|"

    def steps(self, compiled: C, word: Sequence[str], limit: int) -> Tracing[Any] | None:
        """A trace with one moment per configuration of `history`; None if every trace is one."""
        return None

    @abstractmethod
    def history(self, compiled: C, word: Sequence[str], limit: int) -> History:
        """The machine's run, and how its times relate to the network's."""

    def reads(self, compiled: C, word: Sequence[str]) -> Sequence[str]:
        """The symbols that it reads, one a moment, before the machine of `history` starts."""
        return word

    def text(self, compiled: C, tracing: Any, t: int) -> Written | None:
        """The text at moment t; None if it writes no text."""
        return None

    def digits(self, compiled: C, x: Rational) -> list[int] | None:
        """The first digits of a number that is a stack, from its top; None for others."""
        return None

    def rule(self, compiled: C, moment: Moment) -> AppliedRule | None:
        """The rule that a moment applies; None if it shows no configuration."""
        now = moment.configuration
        return None if now is None else AppliedRule(now.state, now.symbol)


class ShownLook(Look[C]):
    """The look of a network whose moments show a machine."""

    def __init__(self, reading: ShownReading[C]) -> None:
        self.reading = reading

    def history(self, compiled: C, word: Sequence[str], limit: int) -> History:
        """The given machine's run; one time more shows whether it has halted at the limit."""
        shown = self.reading.shown(compiled, word)
        return History(Timeline(shown.given, word, limit=limit + 1), shown.before, shown.before)


@dataclass(frozen=True, eq=False, repr=False)
class Kind(Generic[C]):
    """A kind of network: its four parts."""

    construction: Construction[C]
    reading: Reading[C]
    proof: Proof[C]
    look: Look[C]

    @property
    def name(self) -> str:
        """What users call it."""
        return self.construction.name

    @property
    def statement(self) -> str:
        """The theorem or lemma that it proves."""
        return self.construction.statement

    @property
    def options(self) -> tuple[Option, ...]:
        """The options of its construction."""
        return self.construction.options

    def require_checker(self) -> Checker:
        """The checker of its certificates; InputError, with the reason, if there is none."""
        if self.proof.checker is None:
            raise InputError(
                f"there are no certificates for networks of kind {self.name}: "
                f"{self.proof.uncertified}"
            )
        return self.proof.checker

    def experiment(
        self, machine: TuringMachine, word: tuple[str, ...], options: Options, settings: Options
    ) -> "Experiment":
        """The floating-point experiment; InputError for unsupported settings."""
        found = self.proof.laboratory(options)
        if found is None:
            raise InputError(f"there is no precision laboratory for {self.name}")
        make, own = found
        for name in settings:
            if name not in make.__dataclass_fields__:
                flag = {"temperature": "softmax", "snapping": "snap"}.get(name, name)
                raise InputError(f"{flag} is for the attention of a transformer, not {self.name}")
        return make(machine, word, **own, **settings)

    def __reduce__(self) -> tuple[Any, ...]:
        return kind_named, (self.name,)

    def __repr__(self) -> str:
        options = ", ".join(option.name for option in self.options) or "none"
        return f"<kind {self.name}: {self.statement}; options: {options}>"


def check_options(kinds: Sequence[Kind[Any]], options: Options) -> None:
    """Validate options against the kinds; raise InputError for an unknown one."""
    own = {kind.name: {option.name for option in kind.options} for kind in kinds}
    for name, value in options.items():
        if not any(name in names for names in own.values()):
            kinds[0].construction.read_options({name: value})
    for kind in kinds:
        chosen = {name: x for name, x in options.items() if name in own[kind.name]}
        kind.construction.read_options(chosen)
