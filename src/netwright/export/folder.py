"""An export as a folder: written, checked where it lies, and only then put in its place."""

import json
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any

from netwright.errors import InputError, NetwrightError, OutputError
from netwright.export.check import Checked, ExactRun, WrongWeight, check_outputs, check_weights
from netwright.export.target import AT_ONCE, Opened, Target, read_dtype, write_json, write_text
from netwright.export.targets import TARGETS, target_named
from netwright.files import output_path
from netwright.html import table
from netwright.machine.simulate import check_limit
from netwright.networks.network import Network, Word
from netwright.networks.plain import Plain
from netwright.networks.saved import to_bytes
from netwright.text import shortened

CHECKED = "checked.json"
KIND = "netwright export 1"
MOST_NUMBERS = 1 << 28
"""Of all tensors: 2 GB in float64."""
OUTPUTS = 1000
"""How many outputs are checked where nothing else is said."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class Export:
    """What was written, and what its check found."""

    folder: Path
    target: str
    title: str
    dtype: str
    weight: WrongWeight | None
    """The first number in the files that is not the network's, rounded once."""
    checks: tuple[Checked, ...]
    about: dict[str, Any]
    """All of checked.json."""

    @property
    def holds(self) -> bool:
        """Whether every check went well."""
        return self.weight is None and all(each.holds for each in self.checks)

    @property
    def right_to(self) -> int | None:
        """How many outputs were right, on the input where they were fewest; None if unchecked."""
        found = [each.right_to for each in self.checks if not (each.holds and each.ended)]
        return min(found, default=max((each.outputs for each in self.checks), default=None))

    def __repr__(self) -> str:
        return f"<{self.target} export of {self.title[1:-1]}, {self.dtype}: {self.verdict}>"

    @property
    def verdict(self) -> str:
        """In a few words."""
        if self.weight is not None:
            return f"a wrong weight: {self.weight}"
        if not self.checks:
            return "not checked"
        words = {each.word for each in self.checks}
        inputs = f"{len(words)} input{'' if len(words) == 1 else 's'}"
        if self.holds:
            ended = all(each.ended for each in self.checks if each.way == self.checks[0].way)
            end = ", to the end" if ended else ""
            return f"checked to {self.right_to:,} outputs on {inputs}{end}"
        return f"wrong after {self.right_to:,} outputs"

    def _repr_html_(self) -> str:
        rows = [(" ".join(each.word), each.way, each) for each in self.checks]
        return table(repr(self)[1:-1], ["input", "way", "check"], rows)


class CheckFailedError(NetwrightError):
    """An export whose outputs or attended indices are wrong; nothing was written."""

    def __init__(self, export: Export, advice: str) -> None:
        self.export = export
        wrong = next((each for each in export.checks if not each.holds), None)
        if wrong is None:
            lines = [f"{export.target} in {export.dtype} has {export.verdict}"]
        else:
            word = shortened(" ".join(wrong.word), 40) or "the empty word"
            lines = [
                f"{export.target} in {export.dtype} is right to {wrong.right_to:,} outputs only "
                f"({word}, {wrong.way})",
                *map(str, wrong.faults),
            ]
        super().__init__("\n".join([*lines, f"nothing was written; {advice}"]))


def export(
    network: Network,
    to: str,
    path: PathLike[str] | str,
    *,
    dtype: str = "float64",
    inputs: Iterable[Word] | None = None,
    check: int = OUTPUTS,
    keep_failed: bool = False,
    force: bool = False,
    say: Say = lambda _: None,
) -> Export:
    """Write a network for another tool, and check what was written: `Network.export`."""
    target, dtype = target_named(to), read_dtype(dtype)
    check_limit(check)
    place = output_path(path)
    check_place(place, force=force)
    if not target.takes(network.kind.name):
        others = [each.name for each in TARGETS.values() if each.takes(network.kind.name)]
        there = f"it can be exported to {', '.join(others)}" if others else "it has no export"
        raise InputError(f"{network.kind.name} has no code for {to}; {there}")
    if (reason := network.kind.unwritable(network.compiled)) is not None:
        raise InputError(f"it cannot be exported: {reason}")
    target.check_installed()
    machine = network.machine
    chosen = [machine.default_input] if inputs is None else [*inputs]
    words = [machine.check_word(word) for word in chosen]
    _check_size(network.dimension**2)  # of one matrix, before all are written out
    plain = network.kind.plain(network.compiled)
    _check_size(numbers_in(plain))
    parent = place.resolve().parent
    with tempfile.TemporaryDirectory(dir=parent, prefix=".netwright-") as temporary:
        # The folder has its own name there already: some tools take it for the model's.
        folder = Path(temporary) / place.resolve().name
        folder.mkdir()
        say("writing")
        _write(network, plain, target, folder, dtype)
        opened = target.open(folder)
        wrong = check_weights(plain, target.stored(opened, folder), dtype)
        found = _check(network, plain, target, opened, words, check, say) if check else []
        made = _report(network, plain, target, place, dtype, wrong, found, check, say)
        if not made.holds and not keep_failed:
            raise CheckFailedError(made, advice(network, target, dtype))
        write_json(folder / CHECKED, made.about)
        write_text(folder / "README.md", _readme(network, plain, target, made))
        put_in_place(folder, place, force=force)
    return made


def _check_size(numbers: int) -> None:
    if numbers > MOST_NUMBERS:
        raise InputError(
            f"its matrices have {numbers:,} numbers or more, zeros and all; exports have at most "
            f"{MOST_NUMBERS:,}"
        )


def numbers_in(plain: Plain) -> int:
    """How many numbers all tensors have, zeros and all."""
    return sum(prod(tensor.shape) for tensor in plain.tensors.values())


def check_place(place: Path, *, force: bool) -> None:
    """Refuse a place that cannot be written, or where something is that is no export."""
    if not place.name or place.name == "..":
        raise OutputError(f"{place} is no name for a new folder")
    parent = place.resolve().parent
    if os.path.lexists(place):
        if not place.is_dir() or place.is_symlink():
            raise OutputError(f"{place} is there and is no folder; name another one")
        if not force:
            raise OutputError(f"{place} exists; name another folder, or overwrite it: --force")
        if any(place.iterdir()) and not is_export(place):
            raise OutputError(f"{place} is no export of netwright, and is not overwritten")
    if not parent.is_dir():
        raise OutputError(f"{place} cannot be written: No such file or directory")
    if not os.access(parent, os.W_OK):
        raise OutputError(f"{place} cannot be written: Permission denied")


def is_export(folder: Path) -> bool:
    """Whether a folder was written here."""
    return read_report(folder) is not None


def read_report(folder: Path) -> dict[str, Any] | None:
    """What an export's checked.json says; None if there is none."""
    try:
        found = json.loads((folder / CHECKED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("format") == KIND else None


def put_in_place(folder: Path, place: Path, *, force: bool) -> None:
    """Move a finished folder to its place; an older export there goes away last."""
    try:
        check_place(place, force=force)
        old = folder.with_name("old")
        if place.exists():
            place.rename(old)
        folder.rename(place)
    except OSError as error:
        raise OutputError(f"{place} cannot be written: {error.strerror}") from None
    shutil.rmtree(old, ignore_errors=True)


def _write(network: Network, plain: Plain, target: Target, folder: Path, dtype: str) -> None:
    target.write(plain, folder, dtype)
    write_json(folder / "names.json", plain.names)
    (folder / "netwright.safetensors").write_bytes(to_bytes(network))


def _check(
    network: Network,
    plain: Plain,
    target: Target,
    opened: Opened,
    words: Sequence[tuple[str, ...]],
    count: int,
    say: Say,
) -> list[Checked]:
    """Every input, in every way that the target has."""
    found = []
    for word in words:
        exact = ExactRun(network, plain, word, count)
        exact.compute(lambda done: say(f"exact run: {done:,} of {count:,} outputs"))
        for n, (way, steps) in enumerate(target.ways(opened, word, exact.outputs).items()):
            about = f"{target.name}, {way}"
            most = AT_ONCE if n else count

            def tell(done: int, about: str = about) -> None:
                say(f"{about}: {done:,} of {count:,} outputs")

            found.append(check_outputs(exact, opened, way, steps, most, tell))
    return found


def _report(
    network: Network,
    plain: Plain,
    target: Target,
    place: Path,
    dtype: str,
    weight: WrongWeight | None,
    checks: Sequence[Checked],
    count: int,
    say: Say,
) -> Export:
    """All that checked.json has."""
    about = {
        "format": KIND,
        "target": target.name,
        "network": repr(network)[1:-1],
        "kind": network.kind.name,
        "machine": network.machine.name,
        "dimension": network.dimension,
        "parameters": numbers_in(plain),
        "dtype": dtype,
        "asked": count,
        "holds": weight is None and all(each.holds for each in checks),
        "wrong_weight": weight and asdict(weight),
        "checks": [
            {
                **asdict(each),
                "word": list(each.word),
                "holds": each.holds,
                "right_to": each.right_to,
            }
            for each in checks
        ],
        "predicted": [_predicted(network, word, dtype, count, say) for word in _words(checks)],
        "versions": {
            "python": platform.python_version(),
            "netwright": version("netwright"),
            **{name: version(name) for name in ("numpy", *target.needs)},
        },
    }
    return Export(place, target.name, repr(network), dtype, weight, tuple(checks), about)


def _words(checks: Sequence[Checked]) -> list[tuple[str, ...]]:
    return list(dict.fromkeys(each.word for each in checks))


def _predicted(
    network: Network, word: tuple[str, ...], dtype: str, count: int, say: Say
) -> dict[str, Any] | None:
    """What `netwright precision` finds in its own arithmetic; None for a changed network."""
    from netwright.precision.formats import FORMATS

    if network.changes:
        return None
    say(f"netwright precision: {count:,} outputs in {dtype}")
    row = next(network.precision(word, formats=[FORMATS[dtype]], steps=count))
    index, decoded = row.get("index"), row["decoded"]
    return {
        "word": list(word),
        "wrong_index": index and index["token"],
        "wrong_output": decoded and decoded.get("output", decoded.get("time")),
    }


def advice(network: Network, target: Target, dtype: str) -> str:
    """What to do about floats that go wrong too early."""
    ways = []
    names = {option.name for option in network.kind.options}
    if dtype != "float64":
        ways.append("--dtype float64")
    if "score" in names and str(network.options["score"]) != "recency":
        ways.append("--score recency")
    if "base" in names and network.options["base"] != 4 and len(network.machine.symbols) <= 3:
        ways.append("--base 4")
    ways += ["a smaller --check", "--keep-failed to have it as it is"]
    return f"try {', '.join(ways[:-1])}, or {ways[-1]}"


def _readme(network: Network, plain: Plain, target: Target, made: Export) -> str:
    """What the folder has, and a few lines that run it."""
    name = network.machine.name or "a Turing machine"
    about = network.machine.description.strip()
    rows = [f"| {' '.join(c.word) or '(empty)'} | {c.way} | {c} |" for c in made.checks]
    predicted = [
        f"`netwright precision` predicts the first wrong index at token {each['wrong_index']} and "
        f"the first wrong output y_{each['wrong_output']}."
        for each in made.about["predicted"]
        if each and (each["wrong_index"] is not None or each["wrong_output"] is not None)
    ]
    used = ", ".join(f"{key} {value}" for key, value in made.about["versions"].items())
    return f"""\
# {name} as a neural network: {network.kind.name}, {made.dtype}

{about + chr(10) + chr(10) if about else ""}\
The {network.kind.name} of {network.kind.statement} in "On the Turing Completeness of Modern \
Neural Network Architectures" (Pérez, Marinković, Barceló, ICLR 2019), compiled from the machine \
by netwright: {made.about["network"]}.

```python
{target.usage(plain)}
```

| file | what it has |
|---|---|
| `names.json` | names and meanings of all coordinates, weights and activations |
| `netwright.safetensors` | the network itself, with exact rationals; `netwright.load` reads it |
| `checked.json` | what was checked when this was written |
| all others | the network in floats for {target.name} |

A weight has a row for each coordinate of its input and a column for each of its output: x·A + b.

Every weight is the network's own, rounded once. Every output and every attended index was
compared with the exact run, in this runtime:

| input | way | result |
|---|---|---|
{chr(10).join(rows) or "| – | – | not checked |"}

{"".join(f"{line}{chr(10)}{chr(10)}" for line in predicted)}\
Checked with {used}. Beyond, on other inputs and in other versions, floats may go wrong.
"""
