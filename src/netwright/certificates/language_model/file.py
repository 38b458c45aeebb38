"""Certificate files in floats: digests, and leads as text. A check believes none of it."""

import json
from collections.abc import Iterable, Mapping
from math import floor
from typing import Any

from netwright.certificates.language_model.checker import SORTS, Proof
from netwright.certificates.language_model.rounding import EXACT, FORMATS, promises
from netwright.certificates.schema import (
    MACHINE,
    flag,
    index,
    one_of,
    optional,
    parse,
    record,
    require,
    sequence,
    shown,
    text,
)
from netwright.errors import FormatError

KIND = "netwright float certificate 1"
_PROOF = record(
    format=one_of(EXACT.name, *FORMATS),
    certified=flag,
    leads=record(**dict.fromkeys(SORTS, optional(text))),
    tightest=text,
)
_REST = {
    "kind": text,
    "model": record(architecture=text, context=index, parameters=index, digest=text),
    "partial_sums": index,
    "proofs": sequence(_PROOF),
    "promises": sequence(text),
}
_OF_ONE = record(**_REST, machine=MACHINE)
_UNIVERSAL = record(**_REST, universal=record(states=index, symbols=index))


def lead_text(lead: float | None) -> str | None:
    """A lead, rounded down.

    >>> lead_text(1.99999), lead_text(-0.00001)
    ('1.999', '-0.001')
    """
    return None if lead is None else f"{floor(lead * 1000) / 1000:.3f}"


def written(proof: Proof) -> dict[str, Any]:
    """A proof as JSON."""
    leads = {sort: lead.least for sort, lead in proof.leads.items()}
    return {
        "format": proof.format,
        "certified": proof.holds,
        "leads": {sort: lead_text(leads.get(sort)) for sort in SORTS},
        "tightest": proof.tightest,
    }


def certificate(
    about: Mapping[str, Any], model: Mapping[str, Any], partial: int, proofs: Iterable[Proof]
) -> bytes:
    """The content of a certificate file, about a machine, or numbers of states and symbols."""
    whole = {
        "kind": KIND,
        **about,
        "model": model,
        "partial_sums": partial,
        "proofs": [written(proof) for proof in proofs],
        "promises": list(promises(model["architecture"])),
    }
    return (json.dumps(whole, ensure_ascii=False) + "\n").encode()


def is_float_certificate(data: bytes) -> bool:
    """Whether it says that it is one."""
    return KIND.encode()[:-1] in data[:256]


def read_certificate(data: bytes, label: str) -> dict[str, Any]:
    """A certificate file, whose form alone is checked."""
    whole = parse(data, label)
    if not isinstance(whole, dict) or whole.get("kind") != KIND:
        kind = whole.get("kind") if isinstance(whole, dict) else whole
        raise FormatError(f"{label} is of kind {shown(kind)}; this netwright reads {shown(KIND)}")
    require(_UNIVERSAL if "universal" in whole else _OF_ONE, whole, label)
    return whole
