"""A Neural GPU with no gates: gates are not essential for Turing completeness."""
