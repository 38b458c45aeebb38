"""The kinds of network: a folder for each, and what they have in common."""
