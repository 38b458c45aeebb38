"""Leads and CPU time of the certificates of stock language models in floats.

    python benchmarks/float_certificates.py [leads|library|sizes …]

*leads*: some machines by context, *library*: all machines at 2,048, *sizes*: CPU time of one proof
in float32 against the context, the states and the symbols. Leads are those of
docs/float-certificates.md,
the same on every computer; times are CPU times of one call.
"""

import random
import sys
from collections.abc import Iterator
from time import process_time

import netwright as nw
from netwright.certificates.language_model.checker import SORTS, Proof, prove
from netwright.certificates.language_model.classes import Names
from netwright.certificates.language_model.rounding import FORMATS
from netwright.certificates.reading import Machine
from netwright.machine.library import library_names
from netwright.machine.written import behaviour
from netwright.network.float_certificate import files_of
from netwright.verify.draw import random_machine

MACHINES, CONTEXTS = ("busy-beaver-4", "palindrome", "busy-beaver-5"), (256, 2048, 16384, 65536)


def proofs(machine: nw.TuringMachine, context: int) -> Iterator[tuple[Proof, float]]:
    """The proof for each format, and its CPU time."""
    network = nw.compile(machine, to="language-model", context=context)
    model, names = files_of(network).model, Names.of(Machine(behaviour(machine)))
    for each in FORMATS.values():
        began = process_time()
        proof = prove(model, names, each)
        yield proof, process_time() - began


def leads_of(proof: Proof) -> str:
    """Step, address and end."""
    found = " / ".join(f"{proof.leads[sort].least:.2f}" for sort in SORTS if sort in proof.leads)
    return found if proof.holds else f"**no** {found or proof.failure}"


def leads() -> None:
    """A row for each machine and context."""
    print("| | T | float32 | float16 | bfloat16 | CPU s |\n|---|---|---|---|---|---|")
    for name in MACHINES:
        for context in CONTEXTS:
            found = list(proofs(nw.load_machine(name), context))
            cells = " | ".join(leads_of(proof) for proof, _ in found)
            spread = sorted(taken for _, taken in found)
            print(f"| {name} | {context:,} | {cells} | {spread[0]:.1f}–{spread[-1]:.1f} |")


def library() -> None:
    """How many machines are certified, and their least leads."""
    found = {name: list(proofs(nw.load_machine(name), 2048)) for name in library_names()}
    for n, name in enumerate(FORMATS):
        column = [row[n][0] for row in found.values()]
        least = {sort: min(proof.leads[sort].least for proof in column if sort in proof.leads)
                 for sort in SORTS}  # fmt: skip
        count = sum(proof.holds for proof in column)
        worst = " / ".join(f"{lead:.2f}" for lead in least.values())
        print(f"{name}: {count} of {len(column)} certified at 2,048, least leads {worst}")
    times = {name: max(taken for _, taken in row) for name, row in found.items()}
    slowest = max(times, key=times.__getitem__)
    mean = sum(taken for row in found.values() for _, taken in row) / (3 * len(found))
    print(f"{mean:.1f} s of CPU on average, {times[slowest]:.1f} s for {slowest}")


def sizes() -> None:
    """CPU time by context, states and symbols."""
    draw = random.Random(1)
    for title, cases in (
        ("T, 5 states, 2 symbols", [(5, 2, 2**b) for b in (8, 10, 12, 14, 16)]),
        ("|Q|, 2 symbols, T = 1,024", [(q, 2, 1024) for q in (5, 10, 20, 40, 80)]),
        ("|Σ|, 5 states, T = 1,024", [(5, s, 1024) for s in (2, 4, 8, 16)]),
    ):
        print(title)
        for states, symbols, context in cases:
            machine = random_machine(draw, states, symbols)
            proof, taken = next(proofs(machine, context))
            print(f"  {states} × {symbols}, {context:,}: {taken:.2f} s, {leads_of(proof)}")


if __name__ == "__main__":
    for part in sys.argv[1:] or ["leads", "library", "sizes"]:
        {"leads": leads, "library": library, "sizes": sizes}[part]()
