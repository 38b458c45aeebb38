"""The decoder of a Transformer, run fast and exactly."""
