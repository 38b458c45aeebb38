"""Certificate files: check a serialised network, write and read its certificate."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from netwright.certificates.reading import Checker, Obligation
from netwright.certificates.schema import CERTIFICATE, parse, require, sequence, shown, text
from netwright.errors import FormatError

KIND = "netwright certificate 3"
_DAMAGE = (ArithmeticError, LookupError, TypeError, ValueError)
"""What a checker may raise for a well-formed certificate whose parts do not fit each other."""


def obligations(checker: Checker, written: Mapping[str, Any], label: str) -> Iterator[Obligation]:
    """Validate a serialised network, then check it; FormatError if its parts do not fit.

    A Transformer from which parts are left out fails one obligation, and no other is checked.
    """
    network = written.get("network")
    if isinstance(network, Mapping) and (without := network.get("without")):
        require(sequence(text), without, f"{label}, network.without")
        left_out = f"{', '.join(without)} {'is' if len(without) == 1 else 'are'} left out"
        yield Obligation("parts: every residual connection and attention", len(without), left_out)
        return
    require(checker.shape, written, f"{label}, network")
    try:
        yield from checker.obligations(written)
    except _DAMAGE as error:
        reason = f"{type(error).__name__} {str(error)[:80]}"
        raise FormatError(f"{label} is not a valid certificate: {reason}") from None


def certificate(on: str, written: Mapping[str, Any], found: list[Obligation]) -> bytes:
    """The content of a certificate file."""
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
    """The kind and the network of a certificate file; the results in it are not trusted."""
    whole = parse(data, label)
    if not isinstance(whole, dict) or "kind" not in whole:
        raise FormatError(f"{label} is not a netwright certificate: not an object with a kind")
    if whole["kind"] != KIND:
        raise FormatError(
            f"{label} is of kind {shown(whole['kind'])}; this netwright reads {shown(KIND)}"
        )
    require(CERTIFICATE, whole, label)
    return whole["on"], whole["network"]
