"""The check of a certificate: all obligations of what is written down."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from netwright.errors import FormatError
from netwright.verify.certificate.neural_gpu import NeuralGPUCheck
from netwright.verify.certificate.reading import Obligation, unique
from netwright.verify.certificate.rnn import RNNCheck
from netwright.verify.certificate.transformer import TransformerCheck

KIND = "netwright certificate 1"
CHECKS = {"transformer": TransformerCheck, "rnn": RNNCheck.read, "neural-gpu": NeuralGPUCheck}
_DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""What checking something that is no certificate can end in."""


def check_written(on: str, written: Mapping[str, Any]) -> Iterator[Obligation]:
    """Check what is written down of a network."""
    try:
        check: Any = CHECKS[on](written)
        yield from check.obligations()
    except _DAMAGE as error:
        reason = f"{type(error).__name__} {str(error)[:80]}"
        raise FormatError(f"the certificate is not whole: {reason}") from None


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
    try:
        whole = json.loads(data, object_pairs_hook=lambda pairs: unique(pairs, "an object"))
        kind, on, network = whole["kind"], whole["on"], whole["network"]
    except (LookupError, TypeError, ValueError, RecursionError):
        raise FormatError(f"{label} is no certificate of netwright") from None
    if kind != KIND or on not in CHECKS or not isinstance(network, dict):
        raise FormatError(f"{label} is a {kind!r} of a {on!r}; this netwright reads {KIND!r}")
    return on, network
