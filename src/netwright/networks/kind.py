"""What a kind of network is: everything that the rest of the package asks of one.

A kind is one object of a final subclass of `Kind`, in a file of its own beside this one, and is
listed in `kinds`. Verbs, options, messages, saved files and tests ask it; no other place has a list
of kinds. `C` is what its construction gives: the machine, the weights, and what they mean.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from netwright.errors import InputError, unknown
from netwright.exact.feed_forward import Affine
from netwright.exact.layout import Layout
from netwright.exact.meanings import Meanings
from netwright.exact.snapshot import CheckpointStore
from netwright.exact.vector import Vector
from netwright.following.tracing import Tracing
from netwright.machine.simulate import Engine, Progress, Run
from netwright.machine.timeline import Timeline
from netwright.machine.turing_machine import TuringMachine
from netwright.networks.plain import Plain
from netwright.networks.trace import Moment
from netwright.networks.view import History, Says, View
from netwright.verify.certificate.reading import Checker
from netwright.verify.comparison import Check

if TYPE_CHECKING:
    from netwright.precision.laboratory import Experiment  # it imports the compiler

C = TypeVar("C")
E = TypeVar("E")
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

    def __repr__(self) -> str:
        return f"<option {self.name}={self.default}: {self.help}>"

    def written(self, value: object) -> bool | int | str | None:
        """The value as JSON, which `read` reads again."""
        return value if value is None or isinstance(value, bool | int | str) else str(value)


def read_flag(value: object) -> bool:
    """True or False, and nothing that Python takes for one of them."""
    if not isinstance(value, bool):
        raise InputError(f"expected True or False, got {str(value)[:40]!r}")
    return value


@dataclass(frozen=True)
class Following:
    """How a run is to be followed: how far, by which engine, with what beside it."""

    max_steps: int
    engine: Engine = Engine.AUTO
    progress: Progress | None = None
    store: CheckpointStore | None = None

    def faster(self, make: Callable[..., E], short: int) -> Callable[..., E] | None:
        """What makes an engine that does `short` moments by the definition; None for that alone."""
        if self.engine is Engine.REFERENCE:
            return None
        return partial(make, reference_steps=short if self.engine is Engine.AUTO else 0)

    @property
    def beside(self) -> tuple[int, Progress | None, CheckpointStore | None]:
        """How far, the progress and the store, in the order in which runs take them."""
        return self.max_steps, self.progress, self.store


class Kind(ABC, Generic[C]):
    """A kind of network."""

    name: str
    statement: str
    """The statement of the paper that it is the construction of."""
    options: tuple[Option, ...] = ()
    engines: tuple[Engine, ...] = (Engine.AUTO, Engine.FAST, Engine.FULL, Engine.REFERENCE)
    """The engines that run it."""
    meanings: Meanings
    """What its blocks and weights mean."""
    checker: Checker | None = None
    """What checks its certificates; it knows nothing of the construction."""
    uncertified = ""
    """Why there are none, if `checker` is None."""
    has_tables = False
    """Whether its fast engine remembers what maps give, so that `full` is another one."""
    view = View()
    """What a moment shows on a page."""
    code = ""
    """The kind whose exported code runs it; none: there may be code for itself."""
    benchmark_steps = 10**6
    """The longest run of `netwright bench`."""

    def __reduce__(self) -> tuple[Any, ...]:
        from netwright.networks.kinds import kind_named

        return kind_named, (self.name,)

    def __repr__(self) -> str:
        options = ", ".join(option.name for option in self.options) or "none"
        return f"<kind {self.name}: {self.statement}; options: {options}>"

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

    @abstractmethod
    def construct(self, machine: TuringMachine, options: Options) -> C:
        """The network of a machine."""

    @abstractmethod
    def run(self, compiled: C, word: Sequence[str], following: Following) -> Run:
        """The given machine's run as the network does it."""

    @abstractmethod
    def trace(self, compiled: C, word: Sequence[str], max_steps: int) -> Tracing[Any]:
        """The run with all of its vectors, any moment of it."""

    def looked_at(self, compiled: C, word: Sequence[str], max_steps: int) -> Tracing[Any]:
        """The run as a page shows it, one moment for each configuration of `history`."""
        return self.trace(compiled, word, max_steps)

    @abstractmethod
    def outputs(self, compiled: C, word: Sequence[str]) -> Iterator[Vector]:
        """y_1, y_2, … on a word, by the definition."""

    @abstractmethod
    def checks(self, compiled: C, word: Sequence[str], max_steps: int) -> Iterator[Check]:
        """Every vector against what is proved of it, and every step against the machine's."""

    def view_of(self, compiled: C) -> View:
        """What a moment of one network shows on a page."""
        return self.view

    def score_of(self, compiled: C) -> str:
        """The score of its attention, as a page writes it."""
        return "−|⟨q, k⟩|"

    def history(
        self, compiled: C, machine: TuringMachine, word: Sequence[str], limit: int
    ) -> History:
        """The run of a machine that the network does: of the given one, after it read the word.

        The vectors of the word come first, then that of the blank behind it.
        """
        # One time more shows whether the machine has halted at the limit.
        lead = len(word) + 1
        return History(Timeline(machine, word, limit=limit + 1), lead, lead)

    def jumping(
        self, compiled: C, history: History, word: Sequence[str], max_steps: int
    ) -> Tracing[Any] | None:
        """A trace that begins anywhere with what is proved of the network; None if there is none.

        Not the network's own run: whoever shows it says so.
        """
        return None

    def lemmas(self, compiled: C, history: History, moment: Moment) -> list[Check]:
        """What is proved of a moment, against what is found there; the times are the moment's."""
        return []

    @abstractmethod
    def says(self, compiled: C, moment: Moment) -> Says | None:
        """What the vectors of a moment say; None where they show no configuration."""

    @abstractmethod
    def machine_of(self, compiled: C) -> TuringMachine:
        """The machine whose run the network does."""

    @abstractmethod
    def written(self, compiled: C) -> dict[str, Any]:
        """All of the network as JSON: for certificates, and for files."""

    @abstractmethod
    def rebuilt(self, written: Options, machine: TuringMachine, options: Options) -> C:
        """The network that is written down, of a machine; nothing is constructed again."""

    def unwritable(self, compiled: C) -> str | None:
        """Why `written` does not say all of a network; None if it does."""
        return None

    def was_made_with(self, compiled: C, options: Options) -> bool:
        """Whether a network that was read from a file is one that these options give."""
        return True

    def plain(self, compiled: C) -> Plain:
        """The network as tensors and names, for other tools."""
        raise InputError(f"{self.name} cannot be exported: it has no plain form")

    def for_export(self, given: Options, machine: TuringMachine) -> Options:
        """The options with which a network is made that is to run in floating point."""
        return given

    def output(self, moment: Moment) -> Vector | None:
        """The output y of a moment; None where there is none yet."""
        return moment["y"]

    @abstractmethod
    def matrices(self, compiled: C) -> dict[str, Affine]:
        """Every matrix by its place; `#` and a number tell several at one place apart."""

    @abstractmethod
    def with_matrix(self, compiled: C, name: str, affine: Affine) -> C:
        """The network with another matrix at one of these places."""

    @abstractmethod
    def vectors(self, compiled: C) -> list[str]:
        """The names of the vectors that the network has at a moment."""

    @abstractmethod
    def layout(self, compiled: C) -> Layout:
        """The layout of the network's vectors."""

    @abstractmethod
    def facts(self, compiled: C) -> dict[str, Any]:
        """What the network looks like: sizes, beside the formulas for them."""

    @abstractmethod
    def description(self, compiled: C) -> dict[str, Any]:
        """What the network is made of, as plain data: layers, scores, activations, positions."""

    def experiment(
        self, machine: TuringMachine, word: tuple[str, ...], options: Options, settings: Options
    ) -> "Experiment":
        """The network in floating point; InputError for settings that it has not."""
        raise InputError(f"there is no precision laboratory for {self.name}")

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


def check_options(kinds: Sequence[Kind[Any]], options: Options) -> None:
    """Refuse an option that none of the kinds has, and read those that one has."""
    own = {kind.name: {option.name for option in kind.options} for kind in kinds}
    for name, value in options.items():
        if not any(name in names for names in own.values()):
            kinds[0].read_options({name: value})
    for kind in kinds:
        kind.read_options({name: x for name, x in options.items() if name in own[kind.name]})
