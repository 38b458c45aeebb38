"""Theorem 2.3: encoder-decoder RNNs are Turing complete, in real time (Appendix A).

The paper sketches a proof after Siegelmann and Sontag, with 10m + 30 neurons and two steps of the
network for each of the machine. This is a complete construction with one step for each, and about
m(2k − 1) + 5 neurons for m states and k symbols: no bias, R = 0, O the identity, activation σ.

Read `neurons` first, then `update` (the decoder) and `encoder`.
"""
