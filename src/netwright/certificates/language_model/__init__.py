"""Certificates in floats: a stock checkpoint writes its machine's text in every reachable context.

`docs/float-certificates.md` has the argument. Read in this order: `rounding` (formats, and what a
runtime promises), `boxes` (intervals that may depend on one unknown bit, and their rules),
`classes` (the finitely many sorts of tokens, and what the argument says each one finds),
`universal` (the same for a checkpoint that is for all machines), `attention`, `checker`. `reading`
reads the files of a checkpoint, `file` those of certificates.
Nothing here knows how the weights were made.
"""
