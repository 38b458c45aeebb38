"""Transformers that follow pointers instead of adding up moves: constructions past the paper."""
