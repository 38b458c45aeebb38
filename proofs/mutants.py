"""Change one number of a network's weights at a time: its theorem must not compile any more.

    python proofs/mutants.py 5          # some of them
    python proofs/mutants.py            # each set to 0, and each moved by 1/1000

It works on a copy of this folder, in which everything else is compiled. A mutant that compiles is
one for which Coq has proved the theorem; docs/proofs.md says why each of the known ones is true.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
THEOREMS = {"Weights": "Universal", "WeightsDot": "UniversalDot", "Weights16": "Universal16"}
"""The file of each network's weights, and that of its theorem."""
KNOWN = {"Weights": 8, "WeightsDot": 8, "Weights16": 1}
"""Survivors of the full lists: 2 zeros and 6 saturated numbers of O₁; 1 saturated number."""


def mutants(weights: str) -> Iterator[tuple[str, str, bool]]:
    """A name, the changed text and whether it has a new 0, for each number of a network."""
    text = (HERE / f"{weights}.v").read_text(encoding="utf-8")
    start = text.index("Definition layer1")
    spots = [each for each in re.finditer(r"\((-?\d+) # (\d+)\)", text) if each.start() > start]
    for zero in (True, False):
        for spot in spots:
            top, bottom = int(spot[1]), int(spot[2])
            new = "(0 # 1)" if zero else f"({top * 1000 + bottom} # {bottom * 1000})"
            line = text.count("\n", 0, spot.start()) + 1
            name = f"{weights}.v, line {line}: {spot[0]} becomes {new}"
            yield name, text[: spot.start()] + new + text[spot.end() :], zero


def compiles(folder: Path, weights: str, text: str) -> bool:
    """Whether the theorem compiles with other weights."""
    (folder / f"{weights}.v").write_text(text, encoding="utf-8")
    for name in (weights, THEOREMS[weights]):
        call = ["timeout", "120", "coqc", "-q", f"{name}.v"]
        if subprocess.run(call, cwd=folder, capture_output=True, check=False).returncode:
            return False
    return True


def main() -> int:
    """Print what became of each mutant; 0 if the theorems noticed as many as they should."""
    some = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    chosen = [(weights, *each) for weights in THEOREMS for each in mutants(weights)]
    if some:
        zeros = [each for each in chosen if each[-1]]
        chosen = zeros[:: max(1, len(zeros) // some)][:some]
    survivors = dict.fromkeys(THEOREMS, 0)
    with TemporaryDirectory() as place:
        folder = Path(shutil.copytree(HERE, Path(place) / "proofs"))
        for weights in THEOREMS:
            if not compiles(folder, weights, (HERE / f"{weights}.v").read_text(encoding="utf-8")):
                print(f"{weights}.v: the weights as they are do not compile")
                return 1
        for weights, name, changed, _ in chosen:
            survived = compiles(folder, weights, changed)
            survivors[weights] += survived
            print(f"{name}: {'still a theorem' if survived else 'no theorem'}", flush=True)
    failed = sum(
        max(0, count - (0 if some else KNOWN[weights])) for weights, count in survivors.items()
    )
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
