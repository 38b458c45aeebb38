"""netwright: Turing machines in, exact neural networks out.

>>> import netwright as nw
>>> net = nw.compile("palindrome", to="transformer", score="recency")
>>> net.run("abba"), net.accepts("ab")
(<accepted after 15 steps in accept, head 3, tape blank>, False)
>>> net.trace("abba")[26]["y"]
[q1[accept]=1, s1[_]=1, x1=1]
>>> net.verify("abba").holds, net.certify().holds
(True, True)
>>> str(nw.load_machine("binary-increment").run("1011").tape)
'1100'

A name is imported when it is first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netwright import campaign
    from netwright.drawing.machines import draw
    from netwright.engine.attended import Attention
    from netwright.errors import FormatWarning, NetwrightError
    from netwright.explorer.page import explore
    from netwright.export.texts import generate, parse, prompt
    from netwright.kind.registry import kinds
    from netwright.machine.configuration import Configuration, Tape
    from netwright.machine.formats import write_text
    from netwright.machine.library import library_names
    from netwright.machine.load import load_machine
    from netwright.machine.simulate import Engine, Outcome, Run
    from netwright.machine.turing_machine import Move, TuringMachine
    from netwright.network.audit import audit
    from netwright.network.certificate import Certificate, check_certificate
    from netwright.network.network import Network
    from netwright.network.running import compile, run_many
    from netwright.network.saved import load
    from netwright.network.trace import Moment, Trace
    from netwright.network.universal import UniversalNetwork, universal
    from netwright.network.weight import Weight

__all__ = [
    "Attention",
    "Certificate",
    "Configuration",
    "Engine",
    "FormatWarning",
    "Moment",
    "Move",
    "Network",
    "NetwrightError",
    "Outcome",
    "Run",
    "Tape",
    "Trace",
    "TuringMachine",
    "UniversalNetwork",
    "Weight",
    "audit",
    "campaign",
    "check_certificate",
    "compile",
    "draw",
    "explore",
    "generate",
    "kinds",
    "library_names",
    "load",
    "load_machine",
    "parse",
    "prompt",
    "run_many",
    "universal",
    "write_text",
]
_HOMES = {
    "network.audit": ("audit",),
    "drawing.machines": ("draw",),
    "explorer.page": ("explore",),
    "export.texts": ("generate", "parse", "prompt"),
    "errors": ("FormatWarning", "NetwrightError"),
    "machine.configuration": ("Configuration", "Tape"),
    "machine.formats": ("write_text",),
    "machine.library": ("library_names",),
    "machine.load": ("load_machine",),
    "machine.simulate": ("Engine", "Outcome", "Run"),
    "machine.turing_machine": ("Move", "TuringMachine"),
    "network.certificate": ("Certificate", "check_certificate"),
    "kind.registry": ("kinds",),
    "network.network": ("Network",),
    "network.running": ("compile", "run_many"),
    "network.saved": ("load",),
    "network.trace": ("Moment", "Trace"),
    "network.universal": ("UniversalNetwork", "universal"),
    "network.weight": ("Weight",),
    "engine.attended": ("Attention",),
}
_PACKAGES = ("campaign",)
_FORMER = {"decode": "parse"}
"""Former names, which still work and say so."""


def __getattr__(name: str) -> Any:
    if name in _FORMER:
        from warnings import warn

        warn(f"netwright.{name} is called {_FORMER[name]} now", FutureWarning, stacklevel=2)
        name = _FORMER[name]
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
