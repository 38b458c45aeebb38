"""A Transformer without residual connections: a second head is enough."""
