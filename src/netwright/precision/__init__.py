"""The compiled networks in floating point and with softmax: where they first go wrong, and why.

Section 3.3 of the paper says that its proofs need arbitrary precision and hard attention. Here the
same networks run in a format of finitely many bits, with the arithmetic spelled out:

- every weight and bias, every component of the embedding, of the seed and of pos(i) is the exact
  number rounded once;
- xA + b is summed in the order of the coordinates of x, then b; every product and every sum is
  rounded, and the result again when it is stored as a component of a vector;
- the product of query and key likewise, in the order of their coordinates; it is not rounded when
  it is stored, but compared as it is;
- hard attention adds the values of all tokens of the greatest score, in their order, and divides
  once by their number;
- softmax at temperature τ takes w_j = exp((s_j − max s)/τ), each operation rounded, adds up w_j v_j
  and w_j in their order, and divides once;
- residual connections and gates are rounded sums and products.

Rounding is to the nearest, ties to even. Products and sums are rounded to the format itself, or to
a larger one in which they are accumulated. Coordinates whose weight is 0 are left out of sums.

Read `formats` and `arithmetic` first, then `transformer`.
"""
