"""Whether the proofs in Coq were compiled here: what `make proofs` left in proofs/checked.json.

The folder is in a source checkout alone. Its files are those that were compiled if their digests
are the same, and the theorems are about this network if the weights have its digest.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netwright.claims.paper import statements
from netwright.network.universal import universal

FOLDER = Path(__file__).parents[3] / "proofs"
NETWORKS: dict[str, dict[str, Any]] = {
    "Weights.v": {},
    "WeightsDot.v": {"attention": "dot-product"},
    "Weights16.v": {"size": 16},
}
"""The files of weights, and the options of the universal network that each has."""


@dataclass(frozen=True)
class Proofs:
    """What is known of the proofs here."""

    missing: str | None
    """Why they do not count as compiled."""
    theorems: int = 0
    coq: str | None = None

    @property
    def result(self) -> str:
        """One line.

        >>> Proofs("there is no proofs/checked.json").result
        'not compiled here: there is no proofs/checked.json'
        """
        return "compiled here" if self.missing is None else f"not compiled here: {self.missing}"


def proofs_here(folder: Path = FOLDER) -> Proofs:
    """Compare the files of proofs/ with what `make proofs` has compiled."""
    if not (folder.parent / "PAPER.toml").is_file() or not any(folder.glob("*.v")):
        return Proofs("the proofs are in a source checkout")
    try:
        checked = json.loads((folder / "checked.json").read_text(encoding="utf-8"))
        files, theorems, coq = checked["files"], checked["closed_theorems"], checked["coq"]
        if not (isinstance(files, dict) and type(theorems) is int and isinstance(coq, str)):
            raise TypeError
    except FileNotFoundError:
        return Proofs("there is no proofs/checked.json; `make proofs` writes it")
    except (OSError, ValueError, KeyError, TypeError):
        return Proofs("proofs/checked.json is damaged; `make proofs` writes it again")
    now = digests(folder)
    for name in sorted(now.keys() | files.keys()):
        if name not in now:
            return Proofs(f"{name} is gone")
        if name not in files:
            return Proofs(f"{name} is new since")
        if now[name] != files[name]:
            return Proofs(f"{name} has changed since")
    for name, options in NETWORKS.items():
        if name not in now:
            return Proofs(f"{name} is gone")
        digest = universal(**options).weights_digest
        if digest not in (folder / name).read_text(encoding="utf-8").partition("\n")[0]:
            return Proofs(f"{name} has other weights than the network")
    return Proofs(None, theorems, coq)


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each file in Coq but Check.v, which is generated anew for each check."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob("*.v"))
        if path.name != "Check.v"
    }


def in_coq(names: list[str]) -> list[str]:
    """Those of the statements that have theorems in Coq."""
    return [name for name in names if "coq" in statements()[name]]
