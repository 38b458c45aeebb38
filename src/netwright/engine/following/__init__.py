"""A machine's run, read off a network: watches, the drive loop, checkpoints."""
