"""The pages of evaluations."""
