"""A decoder's program with its finite parts remembered: exact memoisation of the network's maps.

What a map gives for an input that is one of finitely many is evaluated from the weights once, when
that input first comes, and kept in a table. Positions, running sums, guards, visits and σ of sums
that grow are computed at every token. Nothing here reads a machine; another weight is another
table.

- `residual`  which numbers are finite, and what is left to compute at every token
- `finite`    evaluates the finite part of the program for given inputs
- `kernel`    the rest as machine code: one for each shape, kept
- `engine`    the run
"""
