"""`netwright` and `python -m netwright`.

Ctrl-C and SIGTERM end the program without a traceback from here on, also while it is still being
imported; so nothing is imported above that takes time.
"""

import os
import signal
import sys
from types import FrameType

EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


def script() -> None:
    """The console script."""
    for number in EXIT_CODES:
        signal.signal(number, _leave_at_once)
    from netwright.cli import script as command_line

    sys.exit(command_line())


def _leave_at_once(number: int, _frame: FrameType | None) -> None:
    """Nothing has begun, so there is nothing to lose."""
    sys.stderr.write("netwright: interrupted\n")
    sys.stderr.flush()
    os._exit(EXIT_CODES[signal.Signals(number)])


if __name__ == "__main__":
    script()
