"""Theorem 3.4: Transformers with positional encodings are Turing complete (Appendix B.4).

Read `construction` first; one file for each lemma.
"""
