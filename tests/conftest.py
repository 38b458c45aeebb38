"""Settings that all tests share."""

import signal

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import settings
from tests import repetition

# A background job inherits SIGINT as ignored; tests, and what they start, hear Ctrl-C all the same.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Before any test module is imported."""
    repetition.thorough = "not thorough" not in config.option.markexpr
    # A first example may wait for a compiler, and shared machines are noisy: no deadline.
    settings.register_profile("netwright", repetition.examples(100), deadline=None)
    settings.load_profile("netwright")


COUNTED = "counted"
"""The property by which a test says how much it has tried; it is printed in the end."""


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print what tests have counted, in whatever process they ran."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == COUNTED:
                terminalreporter.write_line(str(value))
