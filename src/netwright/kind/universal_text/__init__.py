"""One Transformer for all machines, over a prompt of eleven symbols."""
