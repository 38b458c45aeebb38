"""Certificates: a machine, a network's exact weights, and finite checks that imply simulation.

`export` writes a compiled network down. The other modules check what is written, and share nothing
with the constructions: they know the paper's statements, not the code that made the weights.
"""
