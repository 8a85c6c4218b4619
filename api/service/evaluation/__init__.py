"""Use cases of evaluations."""
