"""Change one number of Weights.v at a time: the theorem must not compile any more.

    python proofs/mutants.py 5          # some of them
    python proofs/mutants.py            # each set to 0, and each moved by 1/1000
    python proofs/mutants.py 5 16       # of Weights16.v; 0 16 for all of them

It works on a copy of this folder, in which everything else is compiled. A mutant that compiles is
one for which Coq has proved the theorem: the biases of "right" and "left" in O₁ may be 0, and six
numbers of O₁ are saturated, so that σ gives the same with 1/1000 more (docs/proofs.md). Of the 16
coordinates one survives: m2 is 0 or 1, so with 1.001 the unit "move" of O₁ is the same.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
KNOWN = {"": 8, "16": 1}  # survivors of the full list: 2 zeros, 6 saturated numbers; 1 saturated


def mutants(text: str) -> Iterator[tuple[str, str]]:
    """A name and the changed text for each number of the network and the seed."""
    start = text.index("Definition layer1")
    spots = [each for each in re.finditer(r"\((-?\d+) # (\d+)\)", text) if each.start() > start]
    for zero in (True, False):
        for spot in spots:
            top, bottom = int(spot[1]), int(spot[2])
            new = "(0 # 1)" if zero else f"({top * 1000 + bottom} # {bottom * 1000})"
            line = text.count("\n", 0, spot.start()) + 1
            name = f"line {line}: {spot[0]} becomes {new}"
            yield name, text[: spot.start()] + new + text[spot.end() :]


def compiles(folder: Path, size: str, text: str) -> bool:
    """Whether Universal.v, or Universal16.v, compiles with other weights."""
    (folder / f"Weights{size}.v").write_text(text, encoding="utf-8")
    for name in (f"Weights{size}.v", f"Universal{size}.v"):
        call = ["timeout", "120", "coqc", "-q", name]
        if subprocess.run(call, cwd=folder, capture_output=True, check=False).returncode:
            return False
    return True


def main() -> int:
    """Print what became of each mutant; 0 if the theorem noticed as many as it should."""
    count, size = [*sys.argv[1:], *["0", ""][len(sys.argv) - 1 :]]
    some = int(count)
    text = (HERE / f"Weights{size}.v").read_text(encoding="utf-8")
    chosen = [*mutants(text)]
    if some:
        chosen = chosen[: len(chosen) // 2 : max(1, len(chosen) // 2 // some)][:some]
    survivors = 0
    with TemporaryDirectory() as place:
        folder = Path(shutil.copytree(HERE, Path(place) / "proofs"))
        if not compiles(folder, size, text):
            print("the weights as they are do not compile")
            return 1
        for name, changed in chosen:
            survived = compiles(folder, size, changed)
            survivors += survived
            print(f"{name}: {'still a theorem' if survived else 'no theorem'}", flush=True)
    failed = max(0, survivors - (0 if some else KNOWN[size]))
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
