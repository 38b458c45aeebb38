"""Following a machine's run on a network: the drive loop, random access, traces, checkpoints."""
