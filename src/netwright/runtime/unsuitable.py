"""What an engine says when something is not for it."""


class UnsuitableError(Exception):
    """A network, or its run from here on, is not for this engine; the text says why."""
