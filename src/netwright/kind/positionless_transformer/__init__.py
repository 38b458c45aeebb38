"""A Transformer without positional encodings: masks are enough."""
