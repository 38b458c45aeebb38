"""What was compiled, as JSON: Coq's version, and a digest of every file."""

import json
import subprocess
from pathlib import Path

from netwright.claims.proofs import digests

HERE = Path(__file__).parent
version = subprocess.run(["coqc", "--version"], capture_output=True, text=True, check=True).stdout
theorems = (HERE / "assumptions.txt").read_text(encoding="utf-8").count("Closed under")
found = {"coq": version.split()[5], "closed_theorems": theorems, "files": digests(HERE)}
print(json.dumps(found, indent=1))
