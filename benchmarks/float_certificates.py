"""Leads and CPU time of the certificates of stock language models in floats.

    OMP_NUM_THREADS=1 python benchmarks/float_certificates.py [leads|library|universal|sizes …]

*leads*: some machines by context, as a GPT-2 and as a Llama, *library*: all machines at 2,048,
*universal*: a model for all machines, *sizes*: CPU time of one proof in float32 against the
context, the states and the symbols. Leads are those of
docs/float-certificates.md,
the same on every computer; times are CPU times of one call.
"""

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from time import process_time

import netwright as nw
from netwright.certificates.language_model.checker import SORTS, Proof
from netwright.certificates.language_model.rounding import FORMATS
from netwright.machine.library import library_names
from netwright.network.float_certificate import (
    FloatCertificate,
    certify_language_model,
    certify_universal,
)
from netwright.verify.draw import random_machine

MACHINES, CONTEXTS = ("busy-beaver-4", "palindrome", "busy-beaver-5"), (256, 2048, 16384, 65536)
ARCHITECTURES = ("gpt2", "llama")
Proofs = Iterator[tuple[Proof, float]]


def timed(prove: Callable[[Sequence[str]], FloatCertificate]) -> Proofs:
    """The proof for each format, and the CPU time of it and of the one without rounding."""
    for name in FORMATS:
        began = process_time()
        proof = prove([name]).proofs[1]
        yield proof, process_time() - began


def proofs(machine: nw.TuringMachine, context: int, architecture: str) -> Proofs:
    """Those of a machine's language model."""
    options = {} if architecture == "gpt2" else {"architecture": architecture}
    network = nw.compile(machine, to="language-model", context=context, **options)
    return timed(lambda formats: certify_language_model(network, formats))


def leads_of(proof: Proof) -> str:
    """Step, address and end."""
    found = " / ".join(f"{proof.leads[sort].least:.2f}" for sort in SORTS if sort in proof.leads)
    return found if proof.holds else f"**no** {found or proof.failure}"


def row(name: str, context: int, found: list[tuple[Proof, float]]) -> None:
    """A row of a table."""
    cells = " | ".join(leads_of(proof) for proof, _ in found)
    print(f"| {name} | {context:,} | {cells} | {max(taken for _, taken in found):.1f} |")


def leads() -> None:
    """A row for each machine and context."""
    for architecture in ARCHITECTURES:
        print(f"| {architecture} | T | {' | '.join(FORMATS)} | CPU s |\n|---|---|---|---|---|---|")
        for name in MACHINES:
            for context in CONTEXTS:
                row(name, context, list(proofs(nw.load_machine(name), context, architecture)))


def for_all(states: int, symbols: int, context: int) -> Proofs:
    """Those of a model for all machines of a size."""
    return timed(lambda formats: certify_universal(states, symbols, context, formats))


def universal() -> None:
    """A row for each size."""
    for sizes in ((4, 4, 512), (16, 8, 2048), (32, 16, 8192)):
        row(f"{sizes[0]} states, {sizes[1]} symbols", sizes[2], list(for_all(*sizes)))


def library() -> None:
    """How many machines are certified, and their least leads."""
    for architecture in ARCHITECTURES:
        found = {
            name: list(proofs(nw.load_machine(name), 2048, architecture))
            for name in library_names()
        }
        for n, name in enumerate(FORMATS):
            column = [row[n][0] for row in found.values()]
            count = sum(proof.holds for proof in column)
            worst = " / ".join(
                f"{min(p.leads[sort].least for p in column if sort in p.leads):.2f}"
                for sort in SORTS
            )
            print(f"{architecture}, {name}: {count} of {len(column)} certified at 2,048, {worst}")
        times = {name: max(taken for _, taken in row) for name, row in found.items()}
        slowest = max(times, key=times.__getitem__)
        mean = sum(taken for row in found.values() for _, taken in row) / (3 * len(found))
        print(f"  {mean:.1f} s of CPU on average, {times[slowest]:.1f} s for {slowest}")


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
            proof, taken = next(proofs(machine, context, "gpt2"))
            print(f"  {states} × {symbols}, {context:,}: {taken:.2f} s, {leads_of(proof)}")


if __name__ == "__main__":
    parts = {"leads": leads, "library": library, "universal": universal, "sizes": sizes}
    for part in sys.argv[1:] or parts:
        parts[part]()
