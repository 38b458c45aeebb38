"""Build a release and try it: `make release`. Nothing is uploaded, and no tag is made.

The wheel and the source distribution are built from a clean tree and checked; every verb is called
from the wheel, in a clean environment for each Python that is here (pyenv hides some of its own:
PYENV_VERSION=3.11:3.13 make release); the tests run from the unpacked source distribution. What is
left for you is printed at the end.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
MACHINE = "blank: _\nstart state: even\ntable:\n  even:\n    [a, b]: R\n"
SMOKE = {  # a call of each verb, and its exit code
    "machines": 0,
    "show palindrome abba": 0,
    "run palindrome abba": 0,
    "run palindrome ab --on rnn": 1,
    "run busy-beaver-5 --max-steps 1e6 --on neural-gpu --json": 3,
    "run busy-beaver-5 --max-steps 5e7": 0,
    "run palindrome abba --on universal --size 16": 0,
    "run palindrome abba --on llama": 0,
    "run nonesuch": 2,
    "compile palindrome --explain": 0,
    "compile palindrome --on rnn -o p.safetensors": 0,
    "verify palindrome abba --on transformer,rnn,neural-gpu,pointer-transformer": 0,
    "certify palindrome -o p.json": 0,
    "certify --check p.json --machine palindrome": 0,
    "ablate palindrome abba --heads": 0,
    "audit p.json": 0,
    "audit p.safetensors": 0,
    "campaign run every:2x1 --do run,certify -o c": 0,
    "campaign show c": 0,
    "campaign status c": 0,
    "audit c": 0,
    "parse a<run>R:start:a": 1,
    "claims": 0,
    "precision busy-beaver-4 --dtype bfloat16": 0,
    "export palindrome --to numpy -o n": 0,
    "export palindrome --to gpt2 --context 64 -o g": 0,
    "audit n": 0,
    "audit g": 0,
    "explore palindrome abba -o p.html": 0,
    "draw palindrome abba -o p.png": 0,
    "convert busy-beaver-2 --to bbchallenge": 0,
    "site -o site": 0,
    "bench busy-beaver-4 --json": 0,
    "help networks": 0,
}


def said(what: str) -> None:
    """Print the heading of a part."""
    print(f"== {what}", flush=True)


def call(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command that must succeed; what it prints."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def built(version: str) -> tuple[Path, Path]:
    """The wheel and the source distribution, built and checked."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    call(sys.executable, "-m", "build", "--outdir", "dist")
    wheel, source = (ROOT / "dist" / f"netwright-{version}{end}" for end in ENDS)
    print(call(sys.executable, "-m", "twine", "check", "--strict", wheel, source).strip())
    return wheel, source


ENDS = ("-py3-none-any.whl", ".tar.gz")


def contents(wheel: Path) -> None:
    """The wheel has every file of the package, PAPER.toml, the licence, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
        licences = [name for name in archive.namelist() if name.endswith("licenses/LICENSE")]
    tracked = call("git", "ls-files", "src/netwright").splitlines()
    expected = {name.removeprefix("src/") for name in tracked} | {"netwright/PAPER.toml"}
    if inside != expected or not licences:
        sys.exit(f"the wheel differs from the package: {sorted(inside ^ expected)}")
    print(f"{len(inside)} files, as in src/, with PAPER.toml and LICENSE")


def verbs_of(program: Path) -> set[str]:
    """The verbs that `netwright --help` lists."""
    lines = call(program, "--help").partition("Commands:")[2].splitlines()
    return {line.split()[0] for line in lines if re.match(r"  \S", line)}


def smoke(name: str, wheel: Path) -> None:
    """Call every verb from the wheel, in a clean environment and an empty folder."""
    python = shutil.which(name)
    if python is None or subprocess.run([python, "-c", ""], capture_output=True).returncode:
        print(f"{name} is not here")
        return
    with TemporaryDirectory() as folder:
        place = Path(folder)
        call(python, "-m", "venv", place / "venv")
        call(place / "venv/bin/pip", "install", "--quiet", wheel)
        program = place / "venv/bin/netwright"
        verbs = verbs_of(program)
        if missing := verbs - {line.split()[0] for line in SMOKE}:
            sys.exit(f".ci/release.py calls no {', '.join(missing)}")
        (place / "work").mkdir()
        (place / "work/m.yaml").write_text(MACHINE, encoding="utf-8")
        count = 0
        for line, expected in SMOKE.items():
            if line.split()[0] in verbs:
                done = subprocess.run(
                    [program, *line.split()], cwd=place / "work", capture_output=True, text=True
                )
                if done.returncode != expected or "Traceback" in done.stderr:
                    sys.exit(f"{name}: netwright {line}: {done.returncode}\n{done.stderr}")
                count += 1
        print(f"{call(python, '--version').strip()}: {count} calls of {len(verbs)} verbs")


def source_tests(source: Path) -> None:
    """The tests of `make test`, from the unpacked source distribution."""
    with TemporaryDirectory() as folder:
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
        [place] = Path(folder).iterdir()
        venv.create(place / ".venv", with_pip=True)
        call(place / ".venv/bin/pip", "install", "--quiet", "--editable", ".[dev]", cwd=place)
        tests = [place / ".venv/bin/pytest", "-q", "-n", "auto", "--dist", "worksteal"]
        print(call(*tests, cwd=place).strip().splitlines()[-1])


def main() -> None:
    """All of it."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    said(f"netwright {version}: the tree")
    if changed := call("git", "status", "--porcelain"):
        sys.exit(f"commit these first:\n{changed}")
    if f"v{version}" in call("git", "tag").split():
        sys.exit(f"the tag v{version} is there already: raise the version in pyproject.toml")
    if not re.search(
        rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$",
        (ROOT / "CHANGELOG.md").read_text("utf-8"),
        re.M,
    ):
        sys.exit(f"CHANGELOG.md has no dated section for {version}")
    said("build, twine check")
    wheel, source = built(version)
    said("what is in the wheel")
    contents(wheel)
    said("every verb, from the wheel")
    for name in PYTHONS:
        smoke(name, wheel)
    said("the tests, from the source distribution: some minutes")
    source_tests(source)
    said("left for you; nothing was uploaded")
    print(f'git tag -a v{version} -m "netwright {version}"\ngit push origin v{version}')
    print(f"python -m twine upload {' '.join(os.path.relpath(each) for each in (wheel, source))}")


if __name__ == "__main__":
    main()
