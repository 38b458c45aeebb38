"""Mutated files: no error but a `NetwrightError`, nothing that takes long, nothing that is lost.

The numbers of files are for all kinds together: 1,000, and 100,000 with `make test-thorough`.
"""

import json
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest
from tests.conftest import COUNTED
from tests.damaged_checkpoints import ON, forged, kept, resumed
from tests.fuzz.mutated import MACHINES, mutated_arrays, mutated_bytes, mutated_json
from tests.networks import KINDS as NAMES
from tests.networks import compiled_network, written

from netwright.certificates.check import certificate, read_certificate
from netwright.errors import NetwrightError
from netwright.files import seal, unseal
from netwright.machine.formats import WRITABLE, read_text, write_text
from netwright.machine.formats.draft import Source
from netwright.machine.library import library_machine
from netwright.machine.load import load_machine
from netwright.network.certificate import check_written
from netwright.network.network import compile_network
from netwright.network.saved import from_bytes, to_bytes

KINDS = [*MACHINES, "certificates", "checkpoints", "saved networks"]
MOST_SECONDS = 2.0
Attempt = Callable[[random.Random], str]
"""Make a mutated file and use it; what came of it."""


def machine_files(kind: str, folder: Path) -> Attempt:
    """Read; and what was read is written, and read again as the same."""
    others = list(MACHINES.values())

    def attempt(draw: random.Random) -> str:
        path = folder / "machine"
        path.write_bytes(mutated_bytes(MACHINES[kind], draw, draw.choice(others)))
        several = kind.startswith("bbchallenge")
        part = draw.choice([":0", ":1", ":1", "", ":x"] if several else [""] * 19 + [":x"])
        forced = draw.choice([None, None, None, kind])
        machine = load_machine(f"{path}{part}", format_name=forced, also="ab")
        for name in WRITABLE:
            try:
                text = write_text(machine, name)
            except NetwrightError:
                continue  # it does not fit into that format
            assert read_text(text, Source("text"), name) == machine
        return "read"

    return attempt


def certificates(_kind: str, _folder: Path) -> Attempt:
    files = []
    for on in [*NAMES]:
        network = written(compiled_network(library_machine("even-as"), on))
        files.append(certificate(on, network, list(check_written(on, network))))

    def attempt(draw: random.Random) -> str:
        data = draw.choice(files)
        if draw.random() < 0.8:
            data = mutated_json(data, draw)
        else:
            data = mutated_bytes(data, draw, draw.choice(files))
        on, network = read_certificate(data, "file")
        found = [each.failure for each in check_written(on, network, "file")]
        return "certified" if not any(found) else "not certified"

    return attempt


def checkpoints(_kind: str, folder: Path) -> Attempt:
    files = {on: unseal(kept(folder / on, on), "file", "checkpoint") for on in ON}
    for on, (about, arrays) in files.items():
        resumed(folder / on, on, seal(about, arrays))  # compiles

    def attempt(draw: random.Random) -> str:
        on = draw.choice(ON)
        about, arrays = files[on]
        changed = mutated_arrays(arrays, draw)
        if draw.random() < 0.9:
            data = forged(about, changed)
        else:
            data = mutated_bytes(seal(about, arrays), draw, seal(about, changed))
        code, _, message = resumed(folder / on, on, data)
        assert code in (0, 1, 2, 3), message
        return "refused" if code == 2 else "resumed"

    return attempt


def saved_networks(_kind: str, _folder: Path) -> Attempt:
    data = to_bytes(compile_network(library_machine("even-as"), "transformer"))
    about, arrays = unseal(data, "file", "network")

    def attempt(draw: random.Random) -> str:
        if draw.random() < 0.1:
            changed = mutated_bytes(data, draw, data)
        elif draw.random() < 0.5:
            changed = seal(about, mutated_arrays(arrays, draw))
        else:
            changed = seal(json.loads(mutated_json(json.dumps(about).encode(), draw)), arrays)
        network = from_bytes(changed, "file")
        assert from_bytes(to_bytes(network), "again") == network
        return "loaded"

    return attempt


def fuzz(kind: str, count: int, seed: int, folder: Path) -> dict[str, int]:
    """Try so many mutated files; how often what came of it."""
    makers = {
        "certificates": certificates,
        "checkpoints": checkpoints,
        "saved networks": saved_networks,
    }
    attempt = makers.get(kind, machine_files)(kind, folder)
    outcomes: dict[str, int] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(count):
            draw = random.Random(f"{seed} {kind} {number}")
            started = process_time()
            try:
                outcome = attempt(draw)
            except NetwrightError:
                outcome = "refused"
            except BaseException as error:
                raise AssertionError(f"{kind}, seed {seed}, file {number}: {error!r}") from error
            assert process_time() - started < MOST_SECONDS, (kind, seed, number)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
    return outcomes


@pytest.mark.parametrize("kind", KINDS)
def test_mutated_files(kind: str, tmp_path: Path) -> None:
    outcomes = fuzz(kind, 100, 1, tmp_path)
    assert sum(outcomes.values()) == 100
    assert outcomes["refused"] > 10
    assert len(outcomes) > 1  # some are not


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [2, 3])
def test_very_many_mutated_files(
    kind: str, seed: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    outcomes = fuzz(kind, 5_000, seed, tmp_path)
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(outcomes.items()))
    record_property(COUNTED, f"5,000 mutated {kind}, seed {seed}: {counts}")
    assert sum(outcomes.values()) == 5_000
