"""The arrays of a decoder in 64-bit integers: what stands where."""

from netwright.runtime.transformer.program import LastVisit, Program

# What clock has: tokens done, why the loop ended, the first cell, how many cells there are, a cell
# that may be out of range, and the tokens done in this call.
TOKENS, STATUS, FIRST_CELL, CELLS, WANTED_CELL, HERE = range(6)
# What visits has for a layer: the lowest and the highest cell visited.
LOWEST, HIGHEST = range(2)
# What a row of kept has: the token of the latest visit of a cell, that of the visit before, and the
# value of the latest.
LATEST, BEFORE, VALUE = range(3)


def kept_width(program: Program) -> int:
    """The length of a row that is kept for a cell: two visits, and a value."""
    lengths = (len(each.terms) for each in program.instructions if isinstance(each, LastVisit))
    return VALUE + max(lengths, default=0)
