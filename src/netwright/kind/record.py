"""What a kind of network is: four small parts, and what follows from them.

| part           | has                                                 | and so gets             |
|----------------|-----------------------------------------------------|-------------------------|
| `Construction` | name, statement, options, construct                 | compile, weights, files |
| `Reading`      | the definition's moments; what `ShownReading` shows | run, trace, campaign    |
| `Proof`        | what every vector should be, lemmas, the checker    | verify, certify         |
| `Look`         | meanings of blocks and weights, a view              | explain, page           |

A kind is a module with one `KIND`, and a line in `registry`. Verbs, options, messages, files and
tests ask it; no other place has a list of kinds. `C` is what its construction gives: a frozen
dataclass with a field `network` for the weights, and with what they mean.
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
from netwright.exact.snapshot import CheckpointStore
from netwright.exact.vector import Vector
from netwright.kind.registry import kind_named
from netwright.machine.simulate import Engine, Progress, Run
from netwright.machine.timeline import Timeline
from netwright.machine.turing_machine import TuringMachine
from netwright.network.trace import Moment
from netwright.network.tree import maps
from netwright.network.view import AppliedRule, History, View
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
    """Something that can be chosen when a network is made, such as `score`."""

    name: str
    read: Callable[[Any], Any]
    """From a text or a value to the value; InputError if it is none."""
    default: Any
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    is_flag: bool = False

    @staticmethod
    def choice(name: str, choices: Mapping[str, Any], default: str, help_text: str) -> "Option":
        """One of some values, by their names."""

        def read(value: object) -> Any:
            if str(value) not in choices:
                raise InputError(unknown(name, str(value), list(choices)))
            return choices[str(value)]

        metavar = f"[{'|'.join(choices)}]"
        return Option(name, read, choices[default], help_text, metavar, tuple(choices))

    @staticmethod
    def flag(name: str, help_text: str) -> "Option":
        """True or False, and nothing that Python takes for one of them."""

        def read(value: object) -> bool:
            if not isinstance(value, bool):
                raise InputError(f"expected True or False, got {str(value)[:40]!r}")
            return value

        return Option(name, read, False, help_text, is_flag=True)

    def __repr__(self) -> str:
        return f"<option {self.name}={self.default}: {self.help}>"

    def written(self, value: object) -> bool | int | str | None:
        """The value as JSON, which `read` reads again."""
        return value if value is None or isinstance(value, bool | int | str) else str(value)


@dataclass(frozen=True)
class Following:
    """How a run is to be followed: how far, by which engine, with what beside it."""

    max_steps: int
    engine: Engine = Engine.AUTO
    progress: Progress | None = None
    store: CheckpointStore | None = None


class Construction(ABC, Generic[C]):
    """What makes a network of a machine."""

    name: str
    statement: str
    """The statement that it is the construction of."""
    of_the_paper = False
    options: tuple[Option, ...] = ()
    aliases: Mapping[tuple[str, str], str] = {}  # never changed
    """Options with values that are the name of another kind now."""
    takes_prompt = ""
    """What a prompt is for it, if the machine is one: `rules`, or `text`."""
    code = ""
    """The kind whose exported code runs it; none: there may be code for itself."""

    def read_options(self, given: Options) -> dict[str, Any]:
        """All options with their values: those that are given, and defaults for the others."""
        known = {option.name: option for option in self.options}
        for name in given:
            if name not in known:
                has = f"its options are {', '.join(known)}" if known else "it has no options"
                raise InputError(f"{name} is no option of {self.name}; {has}")
        return {
            name: option.read(given[name]) if given.get(name) is not None else option.default
            for name, option in known.items()
        }

    def for_word(self, given: Options, machine: TuringMachine, word: Sequence[str]) -> Options:
        """The options with which a network is made that is to take a word."""
        return given

    def for_export(self, given: Options, machine: TuringMachine) -> Options:
        """The options with which a network is made that is to run in floating point."""
        return given

    @abstractmethod
    def construct(self, machine: TuringMachine, options: Options) -> C:
        """The network of a machine."""

    def check_loaded(self, written: Mapping[str, Any]) -> None:
        """FormatError for a network in a file that this kind does not believe."""

    def parts(self, compiled: C) -> Mapping[str, Callable[[], C]]:
        """What can be left out of the network, by name, each with how to leave it out."""
        return {}

    def without(self, compiled: C, part: str) -> C:
        """The network without one of its parts."""
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
        """What the network looks like: sizes, beside the formulas for them."""
        return {"dimension": self.layout(compiled).dimension, **count_weights(compiled.network)}

    def tensors(self, compiled: C, meanings: Meanings) -> "NamedTensors":
        """The network as tensors and names, for other tools."""
        raise InputError(f"{self.name} cannot be exported: it has no plain form")

    def prompt(self, compiled: C, word: Sequence[str]) -> Any:
        """The machine and a word as a prompt, for a network that is the same for all machines."""
        raise InputError(f"{self.name} has no prompt: the machine is in its weights")

    def introduction(self, paper: str) -> str:
        """What it is, and where it is from."""
        if self.of_the_paper:
            return f"The {self.name} of {self.statement} in {paper}, compiled from the machine"
        return f"A {self.name}, past {paper}, compiled from the machine"


def count_weights(network: Any) -> dict[str, int]:
    """How many weights and biases a network has, and how many of them are not zero."""
    found = [leaf.part for leaf in maps(network)]
    return {
        "parameters": sum((a.input.dimension + 1) * a.output.dimension for a in found),
        "nonzeros": sum(len(a.weights) + len(a.bias.entries) for a in found),
    }


class Reading(ABC, Generic[C]):
    """How a machine is read off a network's vectors: its run and its trace come from here."""

    engines: tuple[Engine, ...] = (Engine.AUTO, Engine.REFERENCE)
    """The engines that run it."""
    has_tables = False
    """Whether its fast engine remembers what maps give, so that `full` is another one."""
    benchmark_steps = 10**6
    """The longest run of `netwright bench`."""

    @property
    def fastest(self) -> Engine:
        """The engine for very many runs."""
        return Engine.FAST if Engine.FAST in self.engines else Engine.AUTO

    @abstractmethod
    def moments(self, compiled: C, word: Sequence[str]) -> Iterator[Mapping[str, Vector]]:
        """The network's vectors by name, moment by moment, by its definition."""

    @abstractmethod
    def run(self, compiled: C, word: Sequence[str], following: Following) -> Run:
        """The given machine's run as the network does it; InputError for a word it cannot take."""

    @abstractmethod
    def trace(self, compiled: C, word: Sequence[str], max_steps: int) -> Tracing[Any]:
        """The run with all of its vectors, any moment of it."""

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
    """A reading whose run is a `Course`, driven by an engine."""

    @abstractmethod
    def ongoing(
        self, compiled: C, word: Sequence[str], max_steps: int, engine: Engine
    ) -> OngoingRun[Any]:
        """The machine's run under way."""

    def run(self, compiled: C, word: Sequence[str], following: Following) -> Run:
        """The course to its end."""
        ongoing = self.ongoing(compiled, word, following.max_steps, following.engine)
        return finish(ongoing, following.progress, following.store)


class ShownReading(FollowedReading[C]):
    """Moments that show a state, a symbol that is written and a move: what `shown` says of them.

    A kind that has no more than this runs and is traced by its definition.
    """

    @abstractmethod
    def shown(self, compiled: C, word: Sequence[str]) -> Shown:
        """What is watched in a moment, and what it means; InputError for a word it cannot take."""

    def engine(self, compiled: C, word: Sequence[str], shown: Shown, engine: Engine) -> Any:
        """What does the moments: the definition, unless a kind has something faster."""
        return ReferenceEngine(self.moments(compiled, word), shown.watches)

    def ongoing(
        self, compiled: C, word: Sequence[str], max_steps: int, engine: Engine
    ) -> OngoingRun[Any]:
        """The machine's run as an engine does it."""
        make = partial(self.engine, compiled, word)
        return self.run_by(lambda shown: make(shown, engine), compiled, word, max_steps)

    def run_by(
        self, make: Callable[[Shown], Any], compiled: C, word: Sequence[str], max_steps: int
    ) -> OngoingRun[Any]:
        """The same, by an engine that is made for what is shown."""
        started, shown = perf_counter(), self.shown(compiled, word)
        dimension = compiled.network.layout.dimension
        return shown_run(shown, make(shown), max_steps, dimension, started)

    def trace(self, compiled: C, word: Sequence[str], max_steps: int) -> Tracing[Any]:
        """The definition replayed: time t is its moment t, from 1 on."""

        def replay(shown: Shown) -> ReplayEngine:
            return ReplayEngine(partial(self.moments, compiled, word), shown.watches)

        return ReplayTracing(self.run_by(replay, compiled, word, max_steps))


class Proof(ABC, Generic[C]):
    """What is proved of a network, and what checks it."""

    checker: Checker | None = None
    """What checks its certificates; it knows nothing of the construction."""
    uncertified = "nothing is proved of it for all inputs; verify compares it with its machine"
    """Why there are none, if `checker` is None."""
    is_predicted = False
    """Whether the precision laboratory predicts where its exports go wrong."""

    @abstractmethod
    def checks(self, compiled: C, word: Sequence[str], max_steps: int) -> Iterator[Check]:
        """Every vector against what is proved of it, and every step against the machine's."""

    @property
    def is_vectorised(self) -> bool:
        """Whether it has a `proposal`."""
        return False

    def proposal(self, compiled: C, word: Sequence[str]) -> Proposal | None:
        """The same for vector code, which compares very long runs; None if there is none."""
        return None

    def lemmas(self, compiled: C, history: History, moment: Moment) -> list[Check]:
        """What is proved of a moment, against what is found there; the times are the moment's."""
        return []

    def laboratory(self, options: Options) -> "tuple[type[Experiment], dict[str, Any]] | None":
        """The experiment in floating point, if there is one for it, and its options."""
        return None


class ShownProof(Proof[C]):
    """Of a network whose moments show a machine: at every step, the machine's configuration."""

    def __init__(self, reading: ShownReading[C], statement: str) -> None:
        self.reading, self.statement = reading, statement

    def checks(self, compiled: C, word: Sequence[str], max_steps: int) -> Iterator[Check]:
        """State, head and tape at every step, and the outcome."""
        shown, moments = self.reading.shown(compiled, word), self.reading.moments(compiled, word)
        return shown_checks(shown, moments, word, max_steps, self.statement)


class Look(ABC, Generic[C]):
    """How a network is looked at."""

    meanings = Meanings({}, {}, {})
    """What its blocks and weights mean."""
    view = View()
    """What a moment shows on a page."""

    def score(self, compiled: C) -> str:
        """The score of its attention, as a page writes it."""
        return "−|⟨q, k⟩|"

    def steps(self, compiled: C, word: Sequence[str], limit: int) -> Tracing[Any] | None:
        """A trace of one moment for each configuration of `history`; None if every trace is one."""
        return None

    @abstractmethod
    def history(self, compiled: C, word: Sequence[str], limit: int) -> History:
        """The run of a machine that the network does, beside the network's own times."""

    def rule(self, compiled: C, moment: Moment) -> AppliedRule | None:
        """What the vectors of a moment say; None where they show no configuration."""
        now = moment.configuration
        return None if now is None else AppliedRule(now.state, now.symbol)


class ShownLook(Look[C]):
    """At a network whose moments show a machine."""

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
        """The statement that it is the construction of."""
        return self.construction.statement

    @property
    def options(self) -> tuple[Option, ...]:
        """What can be chosen."""
        return self.construction.options

    def require_checker(self) -> Checker:
        """What checks its certificates; InputError, with the reason, if there are none."""
        if self.proof.checker is None:
            raise InputError(
                f"there are no certificates for networks of kind {self.name}: "
                f"{self.proof.uncertified}"
            )
        return self.proof.checker

    def experiment(
        self, machine: TuringMachine, word: tuple[str, ...], options: Options, settings: Options
    ) -> "Experiment":
        """The network in floating point; InputError for settings that it has not."""
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
    """Validate options against the kinds; InputError for one that none of them has."""
    own = {kind.name: {option.name for option in kind.options} for kind in kinds}
    for name, value in options.items():
        if not any(name in names for names in own.values()):
            kinds[0].construction.read_options({name: value})
    for kind in kinds:
        chosen = {name: x for name, x in options.items() if name in own[kind.name]}
        kind.construction.read_options(chosen)
