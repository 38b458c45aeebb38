"""Engines: moments are evaluated from the weights once, cached, and replayed in machine code."""
