"""Exact arithmetic: rational vectors whose every coordinate has a name, and maps between them."""
