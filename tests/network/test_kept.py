"""Files that were written before are read, or refused by the number of their format.

`kept/` has a network and a certificate of each kind in the formats of now, which later versions
must read as long as they have these numbers, and one of each in the formats before.
"""

from pathlib import Path
from typing import Any

import pytest

import netwright as nw
from netwright.cli import main
from netwright.errors import FormatError

KEPT = Path(__file__).parent / "kept"
OPTIONS: dict[str, dict[str, Any]] = {
    "transformer": {"score": "recency"},
    "rnn": {"base": "7/2"},
    "neural-gpu": {},
    "pointer-transformer": {"attention": "dot-product"},
    "universal-transformer": {},
    "universal-text": {"form": "short"},
    "language-model": {"context": 32},
    "gateless-neural-gpu": {},
    "positionless-transformer": {},
    "residual-free-transformer": {},
}


@pytest.mark.parametrize("kind", nw.kinds())
def test_a_network_that_was_saved_before_is_the_one_of_now(kind: str) -> None:
    network = nw.compile("busy-beaver-2", to=kind, **OPTIONS[kind])
    assert nw.load(KEPT / f"{kind}.safetensors") == network
    assert network.run("").steps == 6


@pytest.mark.parametrize("kind", [kind for kind in nw.kinds() if kind != "language-model"])
def test_a_certificate_from_before_still_holds(kind: str) -> None:
    found = nw.check_certificate(KEPT / f"{kind}.json", machine="busy-beaver-2")
    assert found.holds
    assert found.on == kind


def test_older_formats_are_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    network, certificate = KEPT / "network-1.safetensors", KEPT / "certificate-2.json"
    with pytest.raises(FormatError, match="is a 'netwright network 1'; this netwright reads 'net"):
        nw.load(network)
    with pytest.raises(FormatError, match='is of kind "netwright certificate 2"; this netwright'):
        nw.check_certificate(certificate)
    with pytest.raises(FormatError, match="is a 'netwright network 2'; this netwright reads 'net"):
        nw.load(KEPT / "language-model-2.safetensors")
    for path in (network, certificate):
        assert main(["audit", str(path)]) in (1, 2)
        said = capsys.readouterr()
        assert "this netwright reads" in " ".join((said.out + said.err).split())
