"""Certificates: a machine, a network's exact weights, and finite checks that imply simulation.

`network.tree` serialises a compiled network. These modules check that data and share no code with
the constructions: they know the paper's statements, not the code that made the weights.
"""
