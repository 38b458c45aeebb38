"""Theorem 4.1: Neural GPUs are Turing complete (Appendix C)."""
