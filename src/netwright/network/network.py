"""The object that users hold: a machine, a kind with its options, and the compiled weights.

    net = netwright.compile("palindrome", to="transformer", score="recency")
    net.run("abba"), net.accepts("abba"), net.trace("abba")[26]["decoder.3.z"]
    net.verify("abba", "ab"), net.certify()
    net.weights()["decoder.3.V"], net.without("residual:decoder.2.self").run("abba")
    net.save(path); netwright.load(path)

It is a facade: its methods call its kind and the packages below.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from os import PathLike
from random import Random
from typing import Any

from netwright.engine.moments import UnsuitableError
from netwright.errors import InputError, NetwrightError, unknown
from netwright.exact.layout import Layout
from netwright.exact.rational import Number
from netwright.exact.snapshot import FARTHEST, CheckpointStore
from netwright.exact.vector import Vector
from netwright.html import table
from netwright.kind.record import Following, Kind
from netwright.kind.registry import DEFAULT, check_engine, kind_with
from netwright.machine.simulate import Engine, Progress, Run, check_limit, read_engine
from netwright.machine.turing_machine import TuringMachine
from netwright.network.ablation import Ablations, ablate
from netwright.network.certificate import Certificate, check_written
from netwright.network.trace import Trace
from netwright.network.tree import difference, filled, shapes, to_data
from netwright.network.weight import (
    WeightPlace,
    Weights,
    flipped,
    weights_into,
    weights_of,
    with_weight,
)
from netwright.text import Notify, printable, shortened
from netwright.verify.comparison import Comparison, Verification, compare
from netwright.verify.draw import random_words

Word = Iterable[str]
FIRST_STEPS, FEW_STEPS, MOST_STEP_BY_STEP = 50, 300, 1_000_000
"""Steps that are compared one by one: as a trial before vector code compares all; in all, if there
are so few that vector code does not pay; and at most, as the time grows with their square."""
WITHOUT = "without "  # the prefix of a change that leaves out a part


@dataclass(frozen=True)
class Standing:
    """Whether a network can be trusted: its origin, or the verdict of its certificate."""

    verdict: str
    reason: str = ""

    @property
    def is_doubtful(self) -> bool:
        """Whether to warn the user."""
        return self.verdict.startswith("no")

    def __str__(self) -> str:
        return f"{self.verdict}: {self.reason}" if self.reason else self.verdict


@dataclass(frozen=True, eq=False)
class Network:
    """A compiled network; immutable, and equal to its copy from a file or a pickle.

    >>> import netwright as nw
    >>> net = nw.compile("palindrome", to="rnn")
    >>> net.accepts("abba"), net.run("ab").steps
    (True, 4)
    """

    kind: Kind[Any]
    machine: TuringMachine
    options: Mapping[str, Any]
    compiled: Any
    changes: tuple[str, ...] = ()
    """The parts and weights that were left out or changed since it was compiled."""
    loaded: bool = False
    """Whether it comes from a file, which is not trusted."""

    def _key(self) -> tuple[Any, ...]:
        return self.kind.name, self.machine, dict(self.options), self.changes, self.written

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Network) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.kind.name, self.machine, self.changes))

    def __repr__(self) -> str:
        usual = {option.name: option.default for option in self.kind.options}
        options = "".join(f", {k}={v}" for k, v in self.options.items() if v != usual[k])
        changes = "".join(f", {change}" for change in self.changes)
        name = shortened(printable(self.machine.name), 60)
        name = name or f"{len(self.machine.states)} states"
        return f"<{self.kind.name} of {name}, dimension {self.layout.dimension}{options}{changes}>"

    def _repr_html_(self) -> str:
        rows = [(name.replace("_", " "), _plain(value)) for name, value in self.facts.items()]
        blocks = [
            (block, len(labels), self.kind.look.meanings.of_block(block))
            for block, labels in self.layout.blocks
        ]
        caption = f"{repr(self)[1:-1]} ({self.kind.statement})"
        header = ["block", "coordinates", "meaning"]
        return table(caption, [], rows) + table("blocks of its vectors", header, blocks)

    @cached_property
    def written(self) -> dict[str, Any]:
        """The whole network as JSON data, the given machine first."""
        return to_data(self.compiled, self.machine)

    @property
    def facts(self) -> dict[str, Any]:
        """Its sizes, with the formulas for them."""
        return self.kind.construction.facts(self.compiled)

    @property
    def description(self) -> dict[str, Any]:
        """The tree of its parts, with a shape for each map."""
        return dict(shapes(self.compiled.network))

    @property
    def layout(self) -> Layout:
        """The layout of the network's vectors."""
        return self.kind.construction.layout(self.compiled)

    @property
    def dimension(self) -> int:
        """The dimension of the network's vectors."""
        return self.layout.dimension

    def _symbols(self, word: Word | None) -> tuple[str, ...]:
        return self.machine.check_word(self.machine.default_input if word is None else word)

    # Running.

    def run(
        self,
        word: Word | None = None,
        max_steps: int = 10_000_000,
        *,
        engine: Engine | str = Engine.AUTO,
        progress: Progress | None = None,
        store: CheckpointStore | None = None,
    ) -> Run:
        """Run the network on a word; return the given machine's run, read off its vectors.

        Args:
            word: a string, one symbol a character, or any iterable of symbols; None means the
                machine's default input.
            max_steps: a limit on the machine's steps, at which the outcome is undecided.
            engine: `auto`, `fast`, `full` or `reference`, also `accelerated` for kinds that have
                it (`torch` for a language model); all give the same answer.
            progress: a callback that gets the steps done and the cells used; from the accelerated
                engine also the moves.
            store: where the run saves checkpoints, to be resumed later.

        Raise NetworkError if the network was changed and its vectors no longer show a machine; the
        message says from which output on, and `trace` shows the vectors.
        """
        check_limit(max_steps)
        symbols = self._symbols(word)
        following = Following(max_steps, self._engine(engine), progress, store)
        return self.kind.reading.run(self.compiled, symbols, following)

    def _engine(self, engine: Engine | str) -> Engine:
        """Read the name of an engine; InputError for one that this kind does not have."""
        chosen = read_engine(engine)
        check_engine(self.kind, chosen)
        return chosen

    def accepts(self, word: Word, max_steps: int = 10_000_000) -> bool:
        """Whether the machine accepts a word; raise InputError if the run does not end."""
        return self.run(word, max_steps).verdict

    def outputs(self, word: Word) -> Iterator[Vector]:
        """The outputs y_1, y_2, … on a word, without reading a machine off them."""
        return self.kind.reading.outputs(self.compiled, self.machine.check_word(word))

    def trace(
        self,
        word: Word | None = None,
        max_steps: int = 10_000_000,
        *,
        engine: Engine | str = Engine.AUTO,
    ) -> Trace:
        """The trace of the network on a word: all vectors and attentions, at any time.

        Args:
            word: as for `run`.
            max_steps: where the trace ends if the run does not.
            engine: `auto`, or `accelerated` if the kind has it: then a regular run can be looked at
                after 10^15 steps.

        >>> import netwright as nw
        >>> trace = nw.compile("palindrome").trace("abba")
        >>> len(trace), trace[26]["y"], trace[26].attention["decoder.3.self"].winner
        (26, [q1[accept]=1, s1[_]=1, x1=1], 23)
        """
        check_limit(max_steps)
        symbols = self._symbols(word)
        title = f"{self!r} on {printable(shortened(' '.join(symbols), 60)) or 'the empty word'}"
        chosen, reading = self._engine(engine), self.kind.reading
        if chosen not in reading.traced_by:
            raise InputError(unknown("engine of a trace", chosen, reading.traced_by))
        accelerated = chosen is Engine.ACCELERATED
        make = reading.accelerated_trace if accelerated else reading.trace
        return Trace(make(self.compiled, symbols, max_steps), title)

    def explore(
        self,
        word: Word | None = None,
        *,
        t: int | None = None,
        tokens: str | None = None,
        max_steps: int = 100_000_000,
    ) -> Any:
        """The run as an HTML page, which a notebook shows and `.save(path)` writes.

        Args:
            word: as for `run`.
            t: the time at which the page opens.
            tokens: the times in the page, such as `"100:200"`; all, or 200 around `t`.
            max_steps: the maximum number of steps of the machine.

        Example: `net.explore("abba", t=26).save("palindrome.html")`.
        """
        # The explorer is a higher layer, as are the targets of `export` and `to_torch`.
        page = import_module("netwright.explorer.page")
        return page.explore(self, word, t=t, tokens=tokens, max_steps=max_steps)

    def export(
        self,
        to: str,
        path: PathLike[str] | str,
        *,
        dtype: str | None = None,
        inputs: Iterable[Word] | None = None,
        check: int = 1000,
        keep_failed: bool = False,
        force: bool = False,
    ) -> Any:
        """Write the network for another tool, as a folder that needs no netwright, and check it.

        Args:
            to: `numpy`, `onnx`, `torch` or `hf`; for a language model `gpt2` or `opt`, or, of the
                architecture llama, `llama` or `gguf`, or `transformers-js` for both; `json` for
                exact rationals.
            path: the folder, or a file `NAME.gguf`; an existing one is overwritten only with
                `force`.
            dtype: "float64" or "float32"; of a language model "bfloat16", "float32" or "float16";
                for gguf "Q8_0", "F16", "Q4_K_M" and others.
            inputs: the words to check on; none means the machine's default input.
            check: how many outputs for each word are compared with the exact run.
            keep_failed: write the folder even if the check fails.
            force: overwrite the folder if it is an export.

        Example: `net.export("torch", "palindrome-torch", inputs=["abba", "ab"])`.

        The files are opened in their own runtime, and every output and attended index is compared
        with the exact run. If one is wrong, raise CheckFailedError and write nothing, unless
        `keep_failed`.
        """
        folder = import_module("netwright.export.folder")
        options = {"keep_failed": keep_failed, "force": force}
        return folder.export(self, to, path, dtype=dtype, inputs=inputs, check=check, **options)

    def to_torch(self, dtype: str = "float64") -> Any:
        """The network as a PyTorch module with hook points, in float64 or float32."""
        target = import_module("netwright.export.torch_target")
        return target.to_torch(self.tensors("it cannot be a module"), dtype)

    def tensors(self, otherwise: str = "it cannot be exported") -> Any:
        """The network as named tensors; raise InputError if a part cannot be among them."""
        if (reason := self.strange) is not None:
            raise InputError(f"{otherwise}: {reason}")
        return self.kind.construction.tensors(self.compiled, self.kind.look.meanings)

    # Trust.

    def compare(
        self, word: Word, max_steps: int = 100, progress: Progress | None = None
    ) -> Comparison:
        """Compare the network with its machine on a word, step by step, lemma by lemma."""
        check_limit(max_steps)
        symbols, limit = self.machine.check_word(word), min(max_steps, FARTHEST)
        kind, proof = self.kind, self.kind.proof

        def step_by_step(steps: int) -> Comparison:
            checks = proof.checks(self.compiled, symbols, steps)
            return compare(kind.name, kind.statement, symbols, checks)

        if limit <= FEW_STEPS or not proof.is_vectorised:
            return step_by_step(limit)
        first = step_by_step(FIRST_STEPS)
        if first.difference is not None or first.steps < FIRST_STEPS:
            return first
        from netwright.verify.at_scale import compare_at_scale  # the compiler

        try:
            proposal = proof.proposal(self.compiled, symbols)
            assert proposal is not None, "a proof that is vectorised has one"
            return compare_at_scale(kind.name, proposal, limit, progress)
        except UnsuitableError as unsuitable:
            if limit > MOST_STEP_BY_STEP:
                raise InputError(
                    f"vector code does not follow this {kind.name} ({unsuitable}); token by token "
                    f"it is compared for at most {MOST_STEP_BY_STEP:,} steps"
                ) from None
            return step_by_step(limit)

    def verify(
        self, *words: Word, random: int = 0, seed: int = 0, max_steps: int = 100
    ) -> Verification:
        """Compare the network with its machine, step by step and lemma by lemma.

        Args:
            words: the inputs; if there are neither these nor random ones, the default input.
            random: how many random words to add.
            seed: the seed of the random words.
            max_steps: how many steps of each run are compared.

        >>> import netwright as nw
        >>> nw.compile("palindrome", to="rnn").verify("abba", random=3)
        <4 runs, 323 checks: no difference>
        """
        if not hasattr(random, "__index__") or random < 0:
            raise InputError(f"random is {random!r}; expected how many words, 0 or more")
        if not hasattr(seed, "__index__"):
            raise InputError(f"seed is {seed!r}; expected a whole number")
        drawn = random_words(Random(int(seed)), self.machine, int(random), 6)
        chosen = [*map(tuple, words), *drawn] or [self.machine.default_input]
        return Verification(self.compare(word, max_steps) for word in chosen)

    def certify(self) -> Certificate:
        """Check all obligations; return them with the network as the certificate states it.

        Raise InputError if that is not this network: if a part of it cannot be written as data.
        """
        written = self.to_prove()
        found = tuple(check_written(self.kind.name, written, "the network"))
        return Certificate(self.kind.name, written, found)

    @property
    def template(self) -> Any:
        """The network that machine and options give, with the same parts left out."""
        construction = self.kind.construction
        compiled = construction.construct(self.machine, self.options)
        for change in self.changes:
            if change.startswith(WITHOUT):
                compiled = construction.without(compiled, change.removeprefix(WITHOUT))
        return compiled

    @property
    def strange(self) -> str | None:
        """How it differs from its `template` in more than its numbers; None if it does not."""
        try:  # the template with the numbers of this network must be this network
            return difference(filled(self.template, self.written, self.machine), self.compiled)
        except (NetwrightError, AttributeError, LookupError, TypeError, ValueError) as error:
            return str(error)

    def to_prove(self) -> dict[str, Any]:
        """The network as data for a certificate; raise InputError if that is not all of it."""
        self.kind.require_checker()
        if (found := self.strange) is not None:
            raise InputError(f"it cannot be certified: {found}")
        return self.written

    @cached_property
    def standing(self) -> Standing:
        """Why it can be trusted: compiled in this process, or, if from a file, certified now."""
        if not self.loaded:
            return Standing("changed" if self.changes else "compiled")
        if self.kind.proof.checker is None:
            return Standing("no certificate for this kind")
        try:
            failure = self.certify().first_failure
        except NetwrightError as error:
            failure = str(error)
        return Standing("certified") if failure is None else Standing("not certified", failure)

    def precision(
        self,
        word: Word | None = None,
        *,
        formats: Iterable[Any] | None = None,
        sums: Any = None,
        steps: int = 10_000,
        softmax: str | None = None,
        snap: bool | None = None,
        search: bool = False,
    ) -> Iterator[dict[str, Any]]:
        """Run the network in floating point next to the exact run; yield a row for each format.

        Args:
            word: as for `run`.
            formats: names such as `"float32"`, or numbers of significant bits; none means all.
            sums: the format in which products are added up.
            steps: how many steps of the network to run.
            softmax: a temperature instead of hard attention: `"1e-6"`, `"1e-3/t2"`, `"schedule"`.
            snap: begin F with σ(2x − ½), or not; none means both with softmax, else not.
            search: search for possible failures even where that takes long.

        >>> import netwright as nw
        >>> net = nw.compile("busy-beaver-5")
        >>> next(net.precision(formats=["bfloat16"], steps=200))["index"]["token"]
        12
        """
        from netwright.precision.formats import read_formats, to_format
        from netwright.precision.softmax import attention_settings

        if self.changes:
            raise InputError(f"precision takes networks as compiled; this is {self.changes[0]}")
        symbols, total = self._symbols(word), None if sums is None else to_format(sums)
        chosen = read_formats(None, None, total) if formats is None else map(to_format, formats)
        settings = {"formats": [*chosen], "sums": total, "steps": steps}
        settings |= attention_settings(softmax, snap, search, self.options.get("score"))
        return self.kind.experiment(self.machine, symbols, self.options, settings).results()

    # Weights.

    def weights(self) -> Weights:
        """All matrices by name, such as `decoder.3.V`.

        `decoder.1.O.2` is the second of a network with two maps, `U.1` the first factor of a
        product, and `F.2.3.1` the first factor of the third product that `F.2` is the sum of.
        `embedding`, `seed`, `positions` and `U.bias` are what else enters a step.
        """
        return weights_of(self.compiled)

    def with_weight(self, name: str, row: str, column: str, value: Number | str) -> "Network":
        """A copy with one weight changed, given by the names of its matrix, row and column.

        The row `bias` is the bias. A value is a whole number, a Fraction, or a text such as `1/3`.
        """
        changed = self.weights()[name].with_entry(row, column, value)
        change = f"{name}[{row}, {column}] = {value}"
        compiled = with_weight(self.compiled, changed)
        return replace(self, compiled=compiled, changes=(*self.changes, change))

    def _changed(self, network: Any, *changes: str) -> "Network":
        compiled = replace(self.compiled, network=network)
        return replace(self, compiled=compiled, changes=(*self.changes, *changes))

    @property
    def parts(self) -> tuple[str, ...]:
        """What can be left out of the network, by name, for `without` and `ablate`.

        >>> import netwright as nw
        >>> nw.compile("palindrome", to="neural-gpu").parts
        ('gate:update', 'gate:reset')
        """
        return tuple(self.kind.construction.parts(self.compiled))

    def ablate(
        self,
        *words: Word,
        parts: Iterable[str] | None = None,
        weights: bool = False,
        max_steps: int = 100,
        notify: Notify = lambda _: None,
    ) -> Ablations:
        """Leave out each part in turn, and see what breaks.

        Args:
            words: the inputs to compare on; none means the machine's default input.
            parts: those to leave out; none means all of `parts`.
            weights: instead, flip the sign of a weight into each block in turn.
            max_steps: how far each run is compared.
            notify: a callback that receives what is being done.

        A row has the first statement of the proof that fails, the first output that differs from
        the whole network's, the answer, and the obligation of the certificate that fails.

        >>> import netwright as nw
        >>> net = nw.compile("palindrome")
        >>> row = net.ablate("abba", parts=["residual:decoder.2.self"])[0]
        >>> row.statement, row.output, row.answer
        ('Lemma B.3', 1, 'no answer')
        """
        chosen = [*map(tuple, words)] or [self.machine.default_input]
        return ablate(self, chosen, parts, weights, max_steps, notify)

    def without(self, *parts: str) -> "Network":
        """A copy without some of its parts, named by kind and place.

        residual:decoder.2.self      the residual connection around an attention
        residual:decoder.1.external  around its attention to the encoder
        residual:decoder.1.O         around its feed-forward network; also of encoder.1
        attention:decoder.3.self     an attention itself: as if every value were 0
        positions                    the positional encoding
        gate:update, gate:reset      a gate of the Neural GPU: U = 0, or R = 1
        """
        compiled = self.compiled
        for part in parts:
            if not isinstance(part, str):
                raise InputError(f"a part is named by a text such as positions; got {part!r}")
            compiled = self.kind.construction.without(compiled, part)
        changes = (*self.changes, *(f"{WITHOUT}{part}" for part in parts))
        return replace(self, compiled=compiled, changes=changes)

    def broken(self, *places: str, word: Word = (), max_steps: int = 100) -> "Network":
        """A copy with the sign of one weight into each given block flipped.

        For each block it is the first weight whose sign makes a difference on the word, if any.
        """

        def matters(weight: WeightPlace) -> bool:
            broken = self._changed(flipped(self.compiled.network, weight))
            return broken.compare(word, max_steps).difference is not None

        network = self.compiled.network
        for place in dict.fromkeys(places):
            weights = weights_into(self.compiled.network, place)
            network = flipped(network, next(filter(matters, weights), weights[0]))
        return self._changed(network, *(f"{place} broken" for place in dict.fromkeys(places)))

    # Files.

    def save(self, path: PathLike[str] | str, *, force: bool = False) -> None:
        """Save the exact network as safetensors, for `netwright.load`; overwrite with `force`."""
        from netwright.files import check_output, output_path, write_whole
        from netwright.network.saved import to_bytes

        place, content = output_path(path), to_bytes(self)
        check_output(place, force=force)
        write_whole(place, content)


def _plain(value: object) -> str:
    """A fact in a cell of a table."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else shortened(value, 80)


def compile_network(
    machine: TuringMachine, to: str | Kind[Any] = DEFAULT, /, **options: object
) -> Network:
    """Compile a machine into a network of a kind, with options of that kind."""
    kind, given = kind_with(to, options)
    chosen = kind.construction.read_options(given)
    return Network(kind, machine, chosen, kind.construction.construct(machine, chosen))


def network_for_word(
    machine: TuringMachine, to: str | Kind[Any], word: Sequence[str], **options: object
) -> Network:
    """Compile a machine for a word: one with blanks in it needs options of its own."""
    kind, given = kind_with(to, options)
    return compile_network(machine, kind, **kind.construction.for_word(given, machine, word))
