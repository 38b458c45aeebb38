"""Certificates in floats for Llama: offsets are phases of unknown angle, as positions were bits.

Read in this order: `classes` (the sorts of tokens, and what the argument says each one finds),
`waves` (intervals that may depend on one unknown phase; norms and gated units), `rotary` (heads
that look an offset back), `forward`; then `universal`: one Llama for every machine, in which states
and symbols are numbers in bits. `reading` reads the files.
"""
