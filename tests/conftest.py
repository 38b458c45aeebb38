"""Settings that all tests share."""

from _pytest.terminal import TerminalReporter
from hypothesis import settings

# A first example may wait for a compiler, and shared machines are noisy: no deadline.
settings.register_profile("netwright", deadline=None)
settings.load_profile("netwright")

COUNTED = "counted"
"""The property by which a test says how much it has tried; it is printed in the end."""


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print what tests have counted, in whatever process they ran."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == COUNTED:
                terminalreporter.write_line(str(value))
