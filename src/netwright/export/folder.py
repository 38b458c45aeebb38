"""Write an export to a temporary folder, check it there, and only then move it to its place."""

import platform
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any

from netwright.errors import InputError, NetwrightError, OutputError
from netwright.export.check import Checked, WrongWeight, check_weights
from netwright.export.place import CHECKED, KIND, check_place, new_folder, put_in_place
from netwright.export.subject import NetworkSubject, Subject, in_markdown, prediction_text
from netwright.export.target import Target, write_json, write_text
from netwright.export.targets import TARGETS, target_named
from netwright.files import check_output, output_path, write_whole
from netwright.html import table
from netwright.machine.simulate import check_limit
from netwright.network.network import Network, Word
from netwright.network.tensors import NamedTensors
from netwright.text import Notify, shortened

MOST_NUMBERS = 1 << 28
"""Maximum for all tensors together: 2 GB in float64."""
MOST_OUTPUTS = 10**7
OUTPUTS = 1000
"""The default number of outputs to check."""


@dataclass(frozen=True)
class Export:
    """An export that was written, with the result of its check."""

    folder: Path
    target: str
    title: str
    dtype: str
    weight: WrongWeight | None
    """The first number in the files that differs from the network's, rounded once."""
    checks: tuple[Checked, ...]
    about: dict[str, Any]
    """The content of checked.json."""
    fault: str | None = None
    """How the exact network differs from its machine, whatever the files contain."""

    @property
    def holds(self) -> bool:
        """Whether every check passed."""
        checks = all(each.holds for each in self.checks)
        return self.weight is None and self.fault is None and checks

    @property
    def right_to(self) -> int | None:
        """The number of right outputs, on the worst input; None if unchecked."""
        found = [each.right_to for each in self.checks if not (each.holds and each.ended)]
        return min(found, default=max((each.outputs for each in self.checks), default=None))

    def __repr__(self) -> str:
        return f"<{self.target} export of {self.title}, {self.dtype}: {self.verdict}>"

    @property
    def verdict(self) -> str:
        """The result in a few words."""
        if self.weight is not None:
            return f"a wrong weight: {self.weight}"
        if self.fault is not None:
            return self.fault
        if not self.checks:
            return "not checked"
        words = {each.word for each in self.checks}
        inputs = f"{len(words)} input{'' if len(words) == 1 else 's'}"
        if self.holds:
            ended = all(each.ended for each in self.checks if each.way == self.checks[0].way)
            end = ", to the end" if ended else ""
            return f"checked to {self.right_to:,} {self.checks[0].unit}s on {inputs}{end}"
        return f"wrong after {self.right_to:,} {self.checks[0].unit}s"

    def _repr_html_(self) -> str:
        rows = [(" ".join(each.word), each.way, each) for each in self.checks]
        return table(repr(self)[1:-1], ["input", "way", "check"], rows)


class CheckFailedError(NetwrightError):
    """The outputs or attended indices of an export are wrong; nothing was written."""

    def __init__(self, export: Export, advice: Sequence[str]) -> None:
        self.export = export
        wrong = next((each for each in export.checks if not each.holds), None)
        if export.fault is not None:
            lines = [f"{export.title}: {export.fault}"]
        elif wrong is None:
            lines = [f"{export.target} in {export.dtype} has {export.verdict}"]
        else:
            word = shortened(" ".join(wrong.word), 40) or "the empty word"
            lines = [
                f"{export.target} in {export.dtype} is right only up to {wrong.right_to:,} "
                f"{wrong.unit}s ({word}, {wrong.way})",
                *map(str, wrong.faults),
            ]
        ways = ", ".join([*advice, "a smaller --check"])
        end = f"nothing was written; try {ways}, or --keep-failed to keep it as it is"
        super().__init__("\n".join([*lines, *textwrap.wrap(end, 76)]))


def export(
    network: Network,
    to: str,
    path: PathLike[str] | str,
    *,
    dtype: str | None = None,
    inputs: Iterable[Word] | None = None,
    check: int = OUTPUTS,
    keep_failed: bool = False,
    force: bool = False,
    notify: Notify = lambda _: None,
) -> Export:
    """Write a network for another tool, and check the files: `Network.export`."""
    target = target_named(to)
    dtype = target.read_dtype(dtype)
    check_count(check)
    place = destination(target, path, force=force)
    if not target.takes(network.kind.name):
        others = [each.name for each in TARGETS.values() if each.takes(network.kind.name)]
        there = f"it can be exported to {', '.join(others)}" if others else "it has no export"
        raise InputError(f"{target.refusal(network.kind.name)}; {there}")
    chosen = [inputs] if isinstance(inputs, str) else inputs
    chosen = [network.machine.default_input] if chosen is None else [*chosen]
    words = [network.machine.check_word(word) for word in chosen]
    target.check_installed()
    _check_size(network.dimension**2)  # one matrix, before computing all of them
    subject = NetworkSubject(network, words, check, target.named(network))
    options = {"keep_failed": keep_failed, "force": force}
    return write_export(subject, target, place, dtype, notify=notify, **options)


def write_export(
    subject: Subject,
    target: Target,
    place: Path,
    dtype: str,
    *,
    keep_failed: bool,
    force: bool,
    notify: Notify,
) -> Export:
    """Write, check, and move into place; raise CheckFailedError unless `keep_failed`."""
    named = subject.tensors
    _check_size(numbers_in(named))
    with new_folder(place) as folder:
        notify("writing")
        target.write(named, folder, dtype)
        write_json(folder / "names.json", named.names)
        for name, content in subject.files().items():
            (folder / name).write_bytes(content)
        with _runtime_errors(target):
            opened = target.open(folder)
            kind = target.compared_as(dtype)
            wrong = None
            if kind is not None:
                wrong = check_weights(named, target.stored(opened, folder), kind)
            checks = subject.check(target, opened, notify) if subject.count else []
        made = Export(
            place, target.name, subject.title, dtype, wrong, tuple(checks), {}, subject.fault
        )
        made.about.update(_report(subject, target, made))
        made.about["predicted"] = subject.predicted(checks, dtype, notify)
        proved = subject.certificate(target, folder, dtype, notify) if subject.count else None
        if proved is not None:
            made.about["certificate"] = proved
        if not made.holds and not keep_failed:
            raise CheckFailedError(made, subject.advice(dtype))
        if is_alone(target, place):
            content = (folder / str(target.file)).read_bytes()
            write_whole(place, content, fresh=not force)
            return made
        write_text(folder / "README.md", _readme(subject, target, made))
        put_in_place(folder, place, made.about, force=force)
    return made


def destination(target: Target, path: PathLike[str] | str, *, force: bool) -> Path:
    """The folder to write, or the file; raise OutputError if it cannot be."""
    place = output_path(path)
    if is_alone(target, place):
        check_output(place, force=force)
    else:
        check_place(place, force=force)
    return place


def is_alone(target: Target, place: Path) -> bool:
    """Whether a target's one file is written without a folder: if the place is called so."""
    return target.file is not None and place.suffix == Path(target.file).suffix


@contextmanager
def _runtime_errors(target: Target) -> Iterator[None]:
    """Context manager: report an exception in the target's runtime as an OutputError."""
    try:
        yield
    except (NetwrightError, MemoryError):
        raise
    except Exception as error:
        what = str(error).strip().split("\n")[0][:200]
        raise OutputError(
            f"{target.name} could not run what was written: {type(error).__name__}: {what}"
        ) from error


def check_count(count: int) -> None:
    """Raise InputError for a number of outputs that is invalid or too large."""
    check_limit(count)
    if count > MOST_OUTPUTS:
        raise InputError(f"check is {count:,}; expected at most {MOST_OUTPUTS:,} outputs")


def _check_size(numbers: int) -> None:
    if numbers > MOST_NUMBERS:
        raise InputError(
            f"its matrices have {numbers:,} numbers or more, including zeros; exports have at most "
            f"{MOST_NUMBERS:,}"
        )


def numbers_in(named: NamedTensors) -> int:
    """Return the number of entries of all tensors, zeros included."""
    return sum(prod(tensor.shape) for tensor in named.tensors.values())


def _report(subject: Subject, target: Target, made: Export) -> dict[str, Any]:
    """Return the content of checked.json, but for what depends on the finished folder."""
    return {
        "format": KIND,
        "target": target.name,
        "network": subject.title,
        "kind": subject.kind,
        "machine": subject.name,
        "dimension": subject.dimension,
        "parameters": numbers_in(subject.tensors),
        "dtype": made.dtype,
        "machine_digest": subject.digest,
        "trust": subject.trust,
        "runs_as_the_machine": subject.runs_as_the_machine,
        "asked": subject.count,
        "checked": sum(each.outputs for each in made.checks),
        "checked_in": target.checked_in(),
        **({"holds": made.holds} if subject.count else {}),
        "wrong_weight": made.weight and asdict(made.weight),
        "checks": [
            {
                **asdict(each),
                "word": list(each.word),
                "holds": each.holds,
                "right_to": each.right_to,
            }
            for each in made.checks
        ],
        "versions": {
            "python": platform.python_version(),
            "netwright": version("netwright"),
            **{name: version(name) for name in ("numpy", *target.runtime)},
        },
    }


def _readme(subject: Subject, target: Target, made: Export) -> str:
    """Return the README: the content of the folder, how to run it, and the result of the check."""
    rows = [f"| {_cell(' '.join(c.word)) or '(empty)'} | {c.way} | {c} |" for c in made.checks]
    predicted = [*filter(None, map(prediction_text, made.about["predicted"]))]
    used = ", ".join(f"{key} {value}" for key, value in made.about["versions"].items())
    files = {
        "names.json": "names and meanings of all coordinates, weights and activations",
        **dict.fromkeys(subject.files(), "the network itself, exact; `netwright.load` reads it"),
        CHECKED: "what was checked when this was written",
    }
    numbers, rounded, warning = "exact rationals", "not rounded", ""
    if not target.is_exact:
        numbers, rounded = "floats", "rounded once"
        if target.compared_as(made.dtype) is None:
            rounded = "rounded in blocks"
        warning = (
            " Beyond what was checked, on other inputs and in other versions, floats may go wrong."
        )
    said = "It was not checked."
    if rows:
        said = f"Compared with the exact run, in {target.checked_in()}:"
    parts = [
        f"# {_cell(subject.name) or 'Turing machines'} as a neural network: {subject.kind}, "
        f"{made.dtype}",
        subject.introduction(),
        f"```{target.language}\n{target.usage(subject.tensors)}\n```",
        *target.explained(subject.tensors),
        "\n".join(
            [
                "| file | content |",
                "|---|---|",
                *(f"| `{name}` | {what} |" for name, what in files.items()),
                f"| all others | the network in {numbers} for {target.name} |",
            ]
        ),
        f"Every weight is the network's own, {rounded}. {said}",
        *(["\n".join(["| input | way | result |", "|---|---|---|", *rows])] if rows else []),
        *(f"{line}." for line in predicted),
        *(f"{line}." for line in certificate_lines(made.about.get("certificate"))),
        f"Written with {used}.{warning}",
    ]
    return "\n\n".join(parts) + "\n"


def certificate_lines(proved: dict[str, Any] | None) -> list[str]:
    """The verdict of a certificate in words; nothing if there is none."""
    if proved is None:
        return []
    if not proved["certified"]:
        return [f"not certified: {proved.get('reason') or proved['tightest']}"]
    every = "every machine within its bounds, every" if "universal" in proved else "every"
    return [
        f"certified in {proved['format']} for {every} input and context of at most "
        f"{proved['context']:,} tokens, in a runtime that keeps the promises of `netwright certify`"
    ]


def _cell(text: str) -> str:
    """Shorten and escape a text for a cell of a Markdown table."""
    return in_markdown(shortened(text, 60))
