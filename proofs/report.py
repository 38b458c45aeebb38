"""What was compiled, as JSON: Coq's version, and a digest of every file."""

import hashlib
import json
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
version = subprocess.run(["coqc", "--version"], capture_output=True, text=True, check=True).stdout
files = {
    path.name: hashlib.sha256(path.read_bytes()).hexdigest()
    for path in sorted(HERE.glob("*.v"))
    if path.name != "Check.v"
}
theorems = (HERE / "assumptions.txt").read_text(encoding="utf-8").count("Closed under")
print(
    json.dumps({"coq": version.split()[5], "closed_theorems": theorems, "files": files}, indent=1)
)
