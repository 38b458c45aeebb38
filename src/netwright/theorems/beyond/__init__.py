"""Constructions that go past the paper."""
