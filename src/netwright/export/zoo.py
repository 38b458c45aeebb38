"""All machines of the library as exports in one folder, with an index.

The work can be stopped and gone on with: an export that is there already, of the same network and
checked alike, is kept. One whose check fails stays, and the index says how far it is right.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netwright.errors import OutputError
from netwright.export.folder import OUTPUTS, check_place, export, read_report
from netwright.export.target import Target, read_dtype, write_json, write_text
from netwright.export.targets import target_named
from netwright.machine.library import library_machine, library_names
from netwright.machine.simulate import check_limit
from netwright.networks.kinds import KINDS
from netwright.networks.network import Network, compile_network
from netwright.networks.saved import to_bytes

INDEX = "index.json"
KIND = "netwright zoo 1"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Animal:
    """A network of the zoo: a row of its index."""

    folder: str
    machine: str
    computes: str
    kind: str
    dimension: int
    parameters: int
    holds: bool
    right_to: int
    """So many outputs are right; if it holds, all that were compared."""
    ended: bool
    """Whether the machine's run is over by then."""
    fresh: bool
    """Whether it was written just now."""

    @property
    def verdict(self) -> str:
        """In a few words."""
        if not self.holds:
            return f"right to {self.right_to:,}"
        return f"checked to {self.right_to:,}" + (", the end" if self.ended else "")


def write_zoo(
    to: str,
    place: Path,
    *,
    kinds: Sequence[str] | None = None,
    dtype: str = "float64",
    check: int = OUTPUTS,
    force: bool = False,
    say: Say = lambda _: None,
) -> Iterator[Animal]:
    """Every machine of the library on every kind that a target takes, one after the other."""
    target, dtype = target_named(to), read_dtype(dtype)
    check_limit(check)
    target.check_installed()
    _check_zoo(place, force)
    place.mkdir(exist_ok=True)
    chosen = [name for name in kinds or KINDS if target.takes(name)]
    wanted = [(name, kind) for name in library_names() for kind in chosen]
    found: list[Animal] = []
    _write_index(place, target, dtype, found)
    for n, (name, kind) in enumerate(wanted, start=1):

        def tell(what: str, where: str = f"{n} of {len(wanted)}: {name}, {kind}") -> None:
            say(f"{where}; {what}")

        tell("compiling")
        machine = library_machine(name)
        options = KINDS[kind].for_export({}, machine)
        network = compile_network(machine, kind, **options)
        folder = place / f"{name}-{kind}"
        report = None if force else _kept(folder, network, target, dtype, check)
        fresh = report is None
        if report is None:
            report = export(
                network,
                to,
                folder,
                dtype=dtype,
                check=check,
                keep_failed=True,
                force=True,
                say=tell,
            ).about
        found.append(_animal(folder.name, network, report, fresh))
        _write_index(place, target, dtype, found)
        yield found[-1]


def _check_zoo(place: Path, force: bool) -> None:
    """Refuse a folder that is something else."""
    if place.is_dir() and not place.is_symlink():
        if any(place.iterdir()) and not (place / INDEX).is_file():
            raise OutputError(f"{place} is no zoo of netwright; name another folder")
    else:
        check_place(place, force=force)


def _kept(
    folder: Path, network: Network, target: Target, dtype: str, check: int
) -> dict[str, Any] | None:
    """What a finished export says, if it is the one that is wanted."""
    report = read_report(folder)
    wanted = {"target": target.name, "dtype": dtype, "asked": check}
    if report is None or any(report.get(key) != value for key, value in wanted.items()):
        return None
    try:
        same = (folder / "netwright.safetensors").read_bytes() == to_bytes(network)
    except OSError:
        return None
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
        report["holds"],
        min((each["right_to"] for each in checks), default=0),
        all(each["ended"] for each in checks) and bool(checks),
        fresh,
    )


def _write_index(place: Path, target: Target, dtype: str, animals: Sequence[Animal]) -> None:
    """index.json, and a page with the same table."""
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
