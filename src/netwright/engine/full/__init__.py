"""Every weight at every token: what a decoder makes of a proposed run, in vector code.

A run is proposed as small codes for its outputs y_0, y_1, …, by anybody. Every weight is applied
to every token of it. If each proposed output is what the network makes of those before it, then, by
induction, the proposal is the network's run.

- `forms`    what stands in a vector: numbers that are computed for every token, times unknowns
- `program`  the decoder over such forms: Equations 9 to 13, as operations on columns
- `lanes`    these operations as vector code, sixteen tokens at a time
- `checked`  a proposal, chunk by chunk
"""
