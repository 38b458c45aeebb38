"""Checkers of universal networks: the constant network is checked once, each prompt separately."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from netwright.certificates.reading import Checker, Obligation
from netwright.certificates.schema import (
    RULES_ALONE,
    TEXT_ALONE,
    UNIVERSAL_RULES,
    UNIVERSAL_SMALL,
    UNIVERSAL_TEXT,
    Shape,
)
from netwright.certificates.universal_rules import (
    RulesNetworkCheck,
    RulesPromptCheck,
    SmallNetworkCheck,
    SmallPromptCheck,
)
from netwright.certificates.universal_text import TextNetworkCheck, TextPromptCheck
from netwright.errors import FormatError

CONSTANT = ("layouts", "network", "seed", "embedding")
"""The keys of what is the same for all machines."""


def constant_part(written: Mapping[str, Any]) -> dict[str, Any]:
    """The network without its prompt."""
    return {name: written[name] for name in CONSTANT if name in written}


def weights_digest(written: Mapping[str, Any]) -> str:
    """The SHA-256 of all that is the same for all machines: weights, seed, positions."""
    constant = json.dumps(constant_part(written), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(constant.encode()).hexdigest()


def network_obligations(written: Mapping[str, Any]) -> tuple[Obligation, ...]:
    """The obligations of the network, cached by its weights."""
    return _checked(json.dumps(constant_part(written), ensure_ascii=False))


@lru_cache(maxsize=16)
def _checked(constant: str) -> tuple[Obligation, ...]:
    written = json.loads(constant)
    check = TextNetworkCheck(written) if "embedding" in written else _rules_network(written)
    return tuple(check.obligations())


def _rules_network(written: Mapping[str, Any]) -> RulesNetworkCheck:
    """The check of a network of rules: with a block x it is the one of 16 coordinates."""
    check = RulesNetworkCheck(written)
    return SmallNetworkCheck(written) if "x" in check.at.places else check


def prompt_obligations(written: Mapping[str, Any]) -> Iterator[Obligation]:
    """The obligations of the prompt alone."""
    if "prompt" in written:
        return TextPromptCheck(written).obligations()
    network = _rules_network(written)
    if isinstance(network, SmallNetworkCheck) != ("dead" in written):
        raise FormatError("the prompt is not one for this network: a dead state is for block x")
    check = SmallPromptCheck if "dead" in written else RulesPromptCheck
    return check(written, network).obligations()


def _checker(alone: Shape, whole: Shape) -> Checker:
    """A checker for a network alone, or with a machine as its prompt."""

    def shape(value: object) -> None:
        (whole if isinstance(value, dict) and "given" in value else alone)(value)

    def obligations(written: Mapping[str, Any]) -> Iterator[Obligation]:
        found = network_obligations(written)
        yield from found
        if "given" in written and found[0].failure is None:  # else its blocks are not the prompt's
            yield from prompt_obligations(written)

    return Checker(shape, obligations)


def _rules(value: Any) -> None:
    """A network of rules with its prompt; only that of 16 coordinates has a dead state."""
    (UNIVERSAL_SMALL if "dead" in value else UNIVERSAL_RULES)(value)


RULES_CHECKER = _checker(RULES_ALONE, _rules)
TEXT_CHECKER = _checker(TEXT_ALONE, UNIVERSAL_TEXT)
