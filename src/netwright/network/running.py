"""Compile and run what a user names: a machine or a saved network."""

import os
from collections.abc import Iterable, Iterator

from netwright.errors import InputError, NetworkError
from netwright.exact.snapshot import CheckpointStore
from netwright.kind.registry import DEFAULT, MACHINE, kind_named, read_kind
from netwright.machine.load import load_machine
from netwright.machine.simulate import Engine, Outcome, Progress, Run, simulate
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import Network, network_for_word
from netwright.text import printable, shortened

Source = TuringMachine | Network


def compile(
    source: TuringMachine | os.PathLike[str] | str, to: str = DEFAULT, **options: object
) -> Network:
    """Compile a machine into a network: `netwright.compile`.

    Args:
        source: a machine; or a name from the library, a path, or a text, as for `load_machine`.
        to: the kind of network, one of `netwright.kinds()`.
        options: those of the kind, such as `score="recency"` or `base=4`. A network of a machine
            whose default input has blanks takes blanks.

    >>> import netwright as nw
    >>> nw.compile("palindrome", to="rnn", base=4)
    <rnn of palindrome, dimension 32, base=4>
    """
    if isinstance(source, Network):
        raise InputError(f"{source!r} is compiled already; compile its .machine")
    if "on" in options:
        raise InputError("the kind of network is given as to=…, not as on=…")
    machine = source if isinstance(source, TuringMachine) else load_machine(source)
    return network_for_word(machine, to, machine.default_input, **options)


def machine_in(source: Source) -> TuringMachine:
    """The machine itself, or the one that a network was compiled from."""
    return source if isinstance(source, TuringMachine) else source.machine


def network_of(source: Source, on: str | None, word: Iterable[str], **options: object) -> Network:
    """Compile a machine for a word; a network is returned as it is, if it is of the kind `on`."""
    if isinstance(source, TuringMachine):
        return network_for_word(source, on or DEFAULT, tuple(word), **options)
    name = source.kind.name
    if options:
        raise InputError(
            f"{', '.join(options)} applies when a machine is compiled; this {name} is compiled "
            "already"
        )
    if on is not None and kind_named(on) is not source.kind:
        raise InputError(f"this network is a {name}, compiled already; it does not run on {on}")
    return source


def target_of(
    source: Source, on: str | None, word: Iterable[str], **options: object
) -> Network | None:
    """The network on which to run a machine; None to run the machine itself."""
    if on != MACHINE:
        return network_of(source, None if on is None else read_kind(on, MACHINE), word, **options)
    if options:
        raise InputError(f"{', '.join(options)} is an option of networks; a machine has none")
    return None


def run(
    source: Source,
    word: Iterable[str] | None = None,
    max_steps: int = 10_000_000,
    *,
    on: str | None = None,
    engine: Engine | str = Engine.AUTO,
    progress: Progress | None = None,
    store: CheckpointStore | None = None,
    **options: object,
) -> Run:
    """Run a network, or a machine, itself or on a network, on a word."""
    machine = machine_in(source)
    symbols = machine.check_word(machine.default_input if word is None else word)
    network = target_of(source, on, symbols, **options)
    if network is None:
        return simulate(machine, symbols, max_steps, progress, store, engine=engine)
    return network.run(symbols, max_steps, engine=engine, progress=progress, store=store)


def run_many(
    sources: Iterable[Source | os.PathLike[str] | str],
    word: Iterable[str] | None = None,
    max_steps: int = 1000,
    *,
    to: str | None = None,
    engine: Engine | str | None = None,
    **options: object,
) -> Iterator[Run]:
    """Run very many machines or networks, one after the other: `netwright.run_many`.

    Code is compiled once for all networks of a shape, so that a short run costs little more than
    its network.

    Args:
        sources: machines, networks, or what `load_machine` takes; may be endless.
        word: the input of each; None means its own default input.
        max_steps: how many steps each may take.
        to: the kind of network, or `machine`; networks are run as they are.
        engine: `fast`, `full`, `accelerated`, `reference` or `auto`; None means `fast`.
        options: those of the kind.

    >>> [run.steps for run in run_many(["busy-beaver-2", "busy-beaver-3", "1RB1LB_1LA1RZ"])]
    [6, 21, 6]
    """
    symbols = None if word is None else tuple(word)
    for each in sources:
        source = each if isinstance(each, TuringMachine | Network) else load_machine(each)
        machine = machine_in(source)
        used = machine.check_word(machine.default_input if symbols is None else symbols)
        network = target_of(source, to, used, **options)
        if network is None:
            yield simulate(machine, used, max_steps, engine=engine or Engine.FAST)
        else:
            yield network.run(used, max_steps, engine=engine or network.kind.reading.fastest)


def run_difference(network: Network, word: tuple[str, ...], max_steps: int) -> str | None:
    """How the exact run of a network differs from its machine's; None if it does not."""
    shown = printable(shortened(" ".join(word), 40)) or "the empty word"
    try:
        found = network.run(word, max_steps)
    except NetworkError as error:
        return f"its own exact run on {shown} shows no machine: {error}"
    # A language model may run out of context; up to there it must be the machine's run.
    limit = min(max_steps, found.steps) if found.outcome is Outcome.UNDECIDED else max_steps
    wanted = simulate(network.machine, word, limit)
    for name in ["outcome", "steps"] + ([] if found.before_end else ["state", "head", "tape"]):
        own, machine = getattr(found, name), getattr(wanted, name)
        if own != machine:
            return f"its own exact run on {shown} is not its machine's: {name} {own}, not {machine}"
    return None
