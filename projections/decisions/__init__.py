"""Decisions: their state, index and search, and pending thoughts."""
