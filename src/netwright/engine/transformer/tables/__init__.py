"""A decoder's program with its finite parts memoised, exactly.

The image of an input that is one of finitely many is evaluated from the weights once, when that
input first occurs, and kept in a table. Positions, running sums, guards, visits and σ of growing
sums are computed at every token. Nothing here reads a machine; a changed weight changes tables.

- `residual`  finds which numbers are finite, and what remains to compute at every token
- `finite`    evaluates the finite part of the program for given inputs
- `kernel`    compiles the rest to machine code, cached by shape
- `engine`    the run
"""
