"""Runs the decoder of a Transformer fast and exactly."""
