"""Runs Transformers that follow pointers fast: a pointer is an index of what it points to."""
