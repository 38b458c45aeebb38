"""RNNs and Neural GPUs, whose numbers are stacks, run fast and exactly."""
