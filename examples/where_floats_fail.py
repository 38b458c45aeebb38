"""A machine that a Transformer in floating point gets wrong as early as possible.

    python examples/where_floats_fail.py [float32|bfloat16|float16|float64]

The search tries all cells and visits that any machine can reach; the machine is made of what it
finds. float64 takes ten seconds or more.
"""

import sys

from netwright.kind.transformer.construction import compile_transformer
from netwright.kind.transformer.scores import PAPER, RECENCY
from netwright.precision.failures import first_failures
from netwright.precision.float_arithmetic import FloatArithmetic
from netwright.precision.formats import FORMATS
from netwright.precision.horizon import first_possible, safe_until, search_limit
from netwright.precision.wiggle import meeting

name = sys.argv[1] if len(sys.argv) > 1 else "float32"
if name not in FORMATS:
    sys.exit(f"no format {name}; there are {', '.join(FORMATS)}")
form = FORMATS[name]

for score in (PAPER, RECENCY):
    print(f"{form.name}, score {score}: proved right up to token {safe_until(form, score):,}")
    if score is RECENCY and form.bits > 24:
        break  # the search would take days
    order = first_possible(form, score, search_limit(form, score))
    assert order is not None
    normal, word = meeting(order)
    found = first_failures(compile_transformer(normal, score), word, FloatArithmetic(form), 10_000)
    assert found.reading is not None
    print(
        f"  token {order.token:,} does not prefer visit {order.later:,} of cell {order.cell:,} to "
        f"visit {order.earlier:,}"
    )
    print(
        f"  a machine of {len(normal.machine.states)} states on a^{len(word)}: "
        f"y_{found.reading.output} shows {found.reading.found}, not {found.reading.expected}"
    )
