"""Export all machines of the library into one folder, with an index.

The work can be interrupted and resumed: an existing export of the same network with the same check
is kept. An export whose check fails stays, and the index says how far it is right.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from netwright.errors import InputError, OutputError
from netwright.export.folder import OUTPUTS, check_count, export
from netwright.export.place import check_place, intact_report
from netwright.export.target import Target, write_json, write_text
from netwright.export.targets import target_named
from netwright.kind.registry import kind_named, kinds_of_the_paper, modules
from netwright.machine.library import library_machine, library_names
from netwright.network.network import Network, compile_network
from netwright.network.saved import to_bytes
from netwright.text import Notify

INDEX = "index.json"
KIND = "netwright zoo 1"


@dataclass(frozen=True)
class Animal:
    """A network in the zoo: a row of the index."""

    folder: str
    machine: str
    computes: str
    kind: str
    dimension: int
    parameters: int
    holds: bool
    right_to: int | None
    """The number of right outputs; all that were compared if it holds; None if not checked."""
    ended: bool
    """Whether the machine's run ends within them."""
    fresh: bool
    """Whether this call wrote it."""

    @property
    def verdict(self) -> str:
        """The result of the check in a few words."""
        if self.right_to is None:
            return "not checked"
        if not self.holds:
            return f"right to {self.right_to:,}"
        return f"checked to {self.right_to:,}" + (", the end" if self.ended else "")


def write_zoo(
    to: str,
    place: Path,
    *,
    on: Sequence[str] | None = None,
    dtype: str | None = None,
    check: int = OUTPUTS,
    force: bool = False,
    notify: Notify = lambda _: None,
) -> Iterator[Animal]:
    """Export every machine of the library on every kind that a target takes; yield each result."""
    target = target_named(to)
    dtype = target.read_dtype(dtype)
    check_count(check)
    target.check_installed()
    for name in on or ():
        if not target.takes(name):
            raise InputError(f"{name} has no code for {to}")
    chosen = on or [name for name in kinds_of_the_paper() if target.takes(name)]
    if not chosen:
        raise InputError(f"no network of the paper can be exported to {to}")
    there = _zoo_in(place, target, dtype, force)
    place.mkdir(exist_ok=True)
    wanted = [(name, kind) for name in library_names() for kind in chosen]
    write = partial(export, dtype=dtype, check=check, keep_failed=True, force=True)
    animals = {animal.folder: animal for animal in there if intact_report(place / animal.folder)}
    _write_index(place, target, dtype, animals)
    for n, (name, kind) in enumerate(wanted, start=1):

        def tell(what: str, where: str = f"{n} of {len(wanted)}: {name}, {kind}") -> None:
            notify(f"{where}; {what}")

        tell("compiling")
        machine = library_machine(name)
        options = kind_named(kind).construction.for_export({}, machine)
        network = compile_network(machine, kind, **options)
        folder = place / f"{name}-{kind}"
        report = None if force else _kept(folder, network, target, dtype, check)
        fresh = report is None
        if report is None:
            report = write(network, to, folder, notify=tell).about
        animals[folder.name] = _animal(folder.name, network, report, fresh)
        _write_index(place, target, dtype, animals)
        yield animals[folder.name]


def _zoo_in(place: Path, target: Target, dtype: str, force: bool) -> list[Animal]:
    """Read the index of an existing zoo; raise OutputError if the folder is anything else."""
    if not place.is_dir() or place.is_symlink():
        check_place(place, force=force)
        return []
    if not any(place.iterdir()):
        return []
    try:
        index = json.loads((place / INDEX).read_text(encoding="utf-8"))
        animals = [Animal(**row, fresh=False) for row in index["networks"]]
        about = index["format"], index["target"], index["dtype"]
    except (OSError, ValueError, KeyError, TypeError):
        about = "", "", ""
    if about[0] != KIND:
        raise OutputError(f"{place} is not a netwright zoo; name another folder")
    if about[1:] != (target.name, dtype):
        if not force:
            raise OutputError(
                f"{place} is a zoo for {about[1]} in {about[2]}; name another folder, or overwrite "
                "it: --force"
            )
        return []
    return animals


def _kept(
    folder: Path, network: Network, target: Target, dtype: str, check: int
) -> dict[str, Any] | None:
    """Return the report of a finished export, if it is intact and of this network and check."""
    report = intact_report(folder)
    wanted = {"target": target.name, "dtype": dtype, "asked": check}
    if report is None or any(report.get(key) != value for key, value in wanted.items()):
        return None
    same = report["files"].get("netwright.safetensors") == sha256(to_bytes(network)).hexdigest()
    return report if same else None


def _animal(folder: str, network: Network, report: dict[str, Any], fresh: bool) -> Animal:
    checks = report["checks"]
    return Animal(
        folder,
        network.machine.name,
        network.machine.description.strip(),
        network.kind.name,
        network.dimension,
        report["parameters"],
        report.get("holds", True),
        min((each["right_to"] for each in checks), default=None),
        all(each["ended"] for each in checks) and bool(checks),
        fresh,
    )


def _write_index(place: Path, target: Target, dtype: str, found: Mapping[str, Animal]) -> None:
    """Write index.json, and README.md with the same table."""
    order = [f"{name}-{kind}" for name in library_names() for kind in modules()]
    animals = sorted(found.values(), key=lambda animal: order.index(animal.folder))
    rows = [
        {key: value for key, value in vars(animal).items() if key != "fresh"} for animal in animals
    ]
    about = {"format": KIND, "target": target.name, "dtype": dtype}
    write_json(place / INDEX, {**about, "networks": rows})
    lines = [
        "# Turing machines as neural networks",
        "",
        f"For {target.name}, in {dtype}, written and checked by netwright. Each has its README.",
        "",
        "| folder | computes | kind | dimension | numbers | outputs |",
        "|---|---|---|---|---|---|",
    ]
    for a in animals:
        size = f"{a.dimension:,} | {a.parameters:,}"
        lines.append(
            f"| [{a.folder}]({a.folder}) | {a.computes} | {a.kind} | {size} | {a.verdict} |"
        )
    write_text(place / "README.md", "\n".join(lines) + "\n")
