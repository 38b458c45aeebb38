// The Neural GPU, Equations 14 and 15, as in definitions/neural_gpu.py. Time t is S^t.

import { MINUS_ONE } from "./rational.js";
import { LinearMap, NOTHING, activation, addVectors, flipsOf, hadamard, pointwise, readVector, scaled } from "./vectors.js";
import { Run } from "./run.js";

class Convolution {
  constructor({ kernels, bias, f }, circular) {
    this.kernels = kernels.map((row) => row.map((kernel) => new LinearMap(kernel)));
    this.bias = bias?.map(readVector);
    this.f = activation(f);
    this.circular = circular;
  }

  // (K * S)_{i,j} = Σ_u Σ_v s_{i+Δ₁(u), j+Δ₂(v)} K_{uv}, Δ(u) = u − ⌊k/2⌋ with u from 0 on.
  apply(S) {
    const height = S.length, width = S[0].length, { kernels, bias } = this;
    return S.map((row, i) => row.map((_, j) => {
      const terms = bias ? [bias[j]] : [];
      kernels.forEach((line, u) => line.forEach((kernel, v) => {
        let a = i + u - (kernels.length >> 1), b = j + v - (line.length >> 1);
        if (this.circular) [a, b] = [(a + height) % height, (b + width) % width];
        if (a >= 0 && a < height && b >= 0 && b < width) terms.push(kernel.apply(S[a][b]));
      }));
      return pointwise(this.f, addVectors(...terms));
    }));
  }
}

export class NeuralGPU {
  constructor({ written, flips }, X) {
    const { U, R, F, width, circular } = written.network;
    const [update, reset, next] = [U, R, F].map((gate) => new Convolution(gate, circular));
    const both = (f, S, T) => S.map((row, i) => row.map((s, j) => f(s, T[i][j])));
    this.gates = (S) => ({ u: update.apply(S), r: reset.apply(S) });
    const changes = flipsOf(flips);
    const step = (S, { u, r }, t) => {
      const f = next.apply(both(hadamard, r, S));
      // u ⊙ s + (1 − u) ⊙ f = u ⊙ s + f − u ⊙ f
      const kept = both(hadamard, u, S), lost = both(hadamard, u, f);
      const T = S.map((row, i) => row.map((_, j) => addVectors(kept[i][j], f[i][j], scaled(lost[i][j], MINUS_ONE))));
      const flip = changes?.get(t);
      return flip ? T.map(([first, ...row], i) => [flip(`cell.${i + 1}`, i === T.length - 1 ? flip("cell", first) : first), ...row]) : T;
    };
    this.step = step;
    this.run = new Run(X.map((x) => [x, ...Array(width - 1).fill(NOTHING)]), (S, t) => step(S, this.gates(S), t));
  }

  // The cells of S^t, and the gates that made them; those with no number are the last cell's.
  explain(before, t) {
    const { u, r } = this.gates(before), S = this.step(before, { u, r }, t), vectors = new Map();
    const columns = { cell: S, u, r };
    for (const [letter, grid] of Object.entries(columns)) vectors.set(letter, grid.at(-1)[0]);
    for (const [letter, grid] of Object.entries(columns)) grid.forEach((row, i) => vectors.set(`${letter}.${i + 1}`, row[0]));
    return { vectors, attention: {} };
  }
}
