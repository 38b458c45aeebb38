"""Every weight at every token: checks a proposed run of a decoder, in vector code.

A proposal is a run written as small codes for its outputs y_0, y_1, …; where it comes from does not
matter. Every weight is applied to every token of it. If each proposed output is what the network
makes of those before it, then, by induction, the proposal is the network's run.

- `forms`    the coordinates of a vector: numbers computed for every token, times unknowns
- `program`  the decoder over such forms: Equations 9 to 13, as operations on columns
- `lanes`    compiles these operations to vector code, sixteen tokens at a time
- `checked`  checks a proposal chunk by chunk
- `run`      an engine whose proposal comes from tables
"""
