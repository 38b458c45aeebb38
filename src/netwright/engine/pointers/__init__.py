"""Transformers that follow pointers, run fast: a pointer is the index of what it points to."""
