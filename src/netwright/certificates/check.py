"""The check of a certificate: all obligations of what is written down."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from netwright.certificates.reading import Checker, Obligation
from netwright.certificates.schema import CERTIFICATE, parse, require, shown
from netwright.errors import FormatError

KIND = "netwright certificate 3"
_DAMAGE = (ArithmeticError, LookupError, TypeError, ValueError)
"""What checking a well-formed certificate whose parts do not fit each other can end in."""


def obligations(checker: Checker, written: Mapping[str, Any], label: str) -> Iterator[Obligation]:
    """Check what is written down of a network, its form first."""
    require(checker.shape, written, f"{label}, network")
    try:
        yield from checker.obligations(written)
    except _DAMAGE as error:
        reason = f"{type(error).__name__} {str(error)[:80]}"
        raise FormatError(f"{label} is not whole: {reason}") from None


def certificate(on: str, written: Mapping[str, Any], found: list[Obligation]) -> bytes:
    """The content of a file."""
    whole = {
        "kind": KIND,
        "on": on,
        "holds": all(each.failure is None for each in found),
        "obligations": [
            {"obligation": each.name, "cases": each.cases, "failure": each.failure}
            for each in found
        ],
        "network": written,
    }
    return (json.dumps(whole, ensure_ascii=False, indent=None) + "\n").encode()


def read_certificate(data: bytes, label: str) -> tuple[str, Mapping[str, Any]]:
    """What a certificate is about, and what it holds; its results are not believed."""
    whole = parse(data, label)
    if not isinstance(whole, dict) or "kind" not in whole:
        raise FormatError(f"{label} is no certificate of netwright: no object with a kind")
    if whole["kind"] != KIND:
        raise FormatError(
            f"{label} is of kind {shown(whole['kind'])}; this netwright reads {shown(KIND)}"
        )
    require(CERTIFICATE, whole, label)
    return whole["on"], whole["network"]
