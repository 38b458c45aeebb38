"""A stock language model that is a Turing machine: weights of whole numbers for GPT-2; and Llama.

The text is the input, `<run>`, and two tokens for each step of the machine:

    a b b a <run> R:start:a>_ @1 R:have-a:b>b @2 R:have-a:b>b @3 … R:accept:_ <accept>

`R:have-a:b>b` says: moved right, now in state have-a, reads b, writes b. `@3` is the address of an
earlier token: the last visit of the cell ahead. Nothing searches for it: by the lemma of linked
visits it is copied from the visit that was looked up, along a chain.

**The lemma of linked visits.** Let c(i) be the cell of the head at time i and v(i) the symbol it
writes then. R_i is the last time before i at which the head was on cell c(i) + 1, and L_i the last
at which it was on c(i) − 1; NULL if there is none. If the machine moves right at time i, then

    the symbol it reads at i + 1 is v(R_i),    R_{i+1} = R_{R_i},    L_{i+1} = i,

and if it moves left, the same with R and L exchanged. *Proof* (right). Let j = R_i. Between j and i
the head is never on c + 1, it is on c at time i, and it moves by one cell at a time; so it is at
most on c all that while, and never on c + 2. So the last visit of c + 2 before i + 1 is the last
one before j, which is R_j. If R_i is NULL, the head was never right of c, and c + 2 was not visited
either. The last visit of c before i + 1 is i itself. ∎

So one token takes two addresses, looks both visits up by *position*, and has all that it needs for
the next step. Of the two, the one of the cell that the head came from is always the previous visit;
only the other is written into the text.

| file | what it has |
|---|---|
| `vocabulary` | the tokens and their texts |
| `stream` | the coordinates of the residual stream |
| `block_0_rule` | an address token takes over its step: the rule, and both addresses |
| `block_1_visits` | both visits are looked up: the next symbol, and the next far address |
| `block_2_address` | the next step token takes over that address |
| `construction` | all of it for a machine, and which token comes next |
| `universal` | one model for all machines: the rules are text in the prompt |
| `checkpoint` | the same weights for softmax and layer norms, and why they agree |
| `text` | the text of a run, and how a run is resumed |
| `parse` | from a text back to the run |
| `llama` | another architecture, by the same lemma |
"""
