"""Ablation: leave out each part of a network in turn, and see which lemma goes."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from netwright.errors import InputError, NetworkError, NetwrightError, unknown
from netwright.html import table
from netwright.network.weight import weights_by_place
from netwright.text import Notify, counted
from netwright.verify.comparison import Difference

if TYPE_CHECKING:
    from netwright.network.network import Network

NO_ANSWER = "no answer"


class Ablation(NamedTuple):
    """What one part is needed for; None where nothing breaks."""

    part: str
    statement: str | None
    """The first statement of the proof that fails on one of the words."""
    difference: Difference | None
    """Where it fails first."""
    output: int | None
    """The first output that is not the whole network's; None if all that are compared are."""
    answer: str
    """The outcome on the first word, or `no answer` where the vectors show no machine."""
    obligation: str | None
    """The first obligation of the certificate that fails, and how."""

    @property
    def breaks(self) -> bool:
        """Whether anything goes wrong on the words."""
        return self.difference is not None or self.output is not None


class Ablations(tuple[Ablation, ...]):
    """A row for each part; `whole` is the answer of the whole network."""

    whole: str

    def __repr__(self) -> str:
        broken = sum(each.breaks for each in self)
        return f"<{counted(len(self), 'part')} left out in turn: {broken} of them are needed>"

    def _repr_html_(self) -> str:
        rows = [
            (each.part, each.statement or "holds", each.output or "", each.answer, each.obligation)
            for each in self
        ]
        header = ["without", "statement that fails", "first wrong output", "answer", "obligation"]
        return table(repr(self)[1:-1], header, rows)


def ablate(
    network: "Network",
    words: Sequence[Sequence[str]],
    parts: Iterable[str] | None,
    weights: bool,
    max_steps: int,
    notify: Notify,
) -> Ablations:
    """`Network.ablate`."""
    rows: list[Ablation] = []
    for part, damaged in _damaged(network, words, parts, weights, max_steps):
        notify(f"{len(rows)} done; without {part}")
        rows.append(_row(network, damaged, part, words, max_steps))
    found = Ablations(rows)
    found.whole = _answer(network, words[0], max_steps)
    return found


def _damaged(
    network: "Network",
    words: Sequence[Sequence[str]],
    parts: Iterable[str] | None,
    weights: bool,
    max_steps: int,
) -> "Iterator[tuple[str, Network]]":
    """The network without each part, or with a weight into each block flipped."""
    if weights:
        if parts is not None:
            raise InputError("parts are left out, weights are flipped; name one of them")
        for place in weights_by_place(network.compiled.network):
            yield place, network.broken(place, word=words[0], max_steps=max_steps)
        return
    chosen = (
        network.parts if parts is None else (parts,) if isinstance(parts, str) else tuple(parts)
    )
    if not network.parts:
        raise InputError(
            f"{network.kind.name} has no parts to leave out; its weights can be flipped instead"
        )
    for part in chosen:
        if part not in network.parts:
            raise InputError(unknown("part", str(part), network.parts))
        yield part, network.without(part)


def _row(
    network: "Network",
    damaged: "Network",
    part: str,
    words: Sequence[Sequence[str]],
    max_steps: int,
) -> Ablation:
    found = (damaged.compare(word, max_steps).difference for word in words)
    difference = next((each for each in found if each is not None), None)
    outputs = (_first_wrong(network, damaged, word, max_steps) for word in words)
    output = next((each for each in outputs if each is not None), None)
    statement = None if difference is None else difference.statement
    answer = _answer(damaged, words[0], max_steps)
    return Ablation(part, statement, difference, output, answer, _obligation(damaged))


def _first_wrong(
    network: "Network", damaged: "Network", word: Sequence[str], max_steps: int
) -> int | None:
    """The number of the first output in which two networks differ."""
    count = network.run(word, max_steps).network_steps or max_steps
    pairs = zip(network.outputs(word), damaged.outputs(word), strict=False)
    return next((t for t, (y, other) in enumerate(islice(pairs, count), 1) if y != other), None)


def _answer(network: "Network", word: Sequence[str], max_steps: int) -> str:
    try:
        return network.run(word, max_steps).outcome.value
    except NetworkError:
        return NO_ANSWER


def _obligation(network: "Network") -> str | None:
    """The first obligation that fails; None for a kind without a checker, or if all hold."""
    if network.kind.proof.checker is None:
        return None
    try:
        return network.certify().first_failure
    except NetwrightError as error:
        return str(error)


def as_data(row: Ablation) -> dict[str, Any]:
    """A row as JSON."""
    difference = row.difference
    return {
        **row._asdict(),
        "difference": None if difference is None else vars(difference),
        "breaks": row.breaks,
    }
