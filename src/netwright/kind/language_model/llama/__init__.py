"""The language model as a Llama: no positions in the text, no biases, and the bare word as prompt.

    a b b a <run> L:rewind:a>a @4 L:rewind:b>b @6 … R:start:a>_ @4 R:have-a:b>b @6 … <accept>

`@6` is relative: the last visit of the cell ahead is the token 6 before this one. The input is in
its natural order; the head starts on `<run>`, right of it, and an added state first walks back to
`<s>`, the token before the text, which is the symbol `edge` of its own.

By the lemma of linked visits (`kind.language_model`) the next offset is a sum of two: that of the
visit which is looked up, and that of the visit which it names, and 2 for the two tokens in between.
Llama turns queries and keys by angles that grow with the position (RoPE), so that scores depend on
offsets alone. An offset d is therefore written as a phase, the numbers e^{−iwd} for some of the
frequencies w of the model:

- a head whose query is the phase of d looks exactly d tokens back (`phases` has the bound);
- two phases are multiplied to add the offsets;
- the logit of `@k` is the product of its phase with that of the offset.

| file | what it has |
|---|---|
| `phases` | offsets as phases, and how far apart they are |
| `vocabulary` | the tokens, and the machine with its walk back |
| `definition` | the model with hard attention and without norms |
| `parts` | heads that look back, gated units, logits: what both constructions share |
| `construction` | the model of one machine |
| `universal` | one model for all machines |
| `checkpoint` | the same weights for norms, SwiGLU and softmax, and why they agree |
| `evaluators` | in floats of numpy; and by transformers |
"""
