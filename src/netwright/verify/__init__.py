"""Networks against machines: every step of a run, lemma by lemma, and what breaks it."""
