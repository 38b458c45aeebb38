"""`python -m netwright` is `netwright`."""

from netwright.cli import script

script()
