"""Settings that all tests share."""

from hypothesis import settings

# A first example may wait for a compiler, and shared machines are noisy: no deadline.
settings.register_profile("netwright", deadline=None)
settings.load_profile("netwright")
