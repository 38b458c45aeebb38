"""One Transformer for all machines, with the rules of a machine as its prompt."""
