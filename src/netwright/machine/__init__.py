"""Turing machines: the definition, the runs, the file formats and the shipped library."""
