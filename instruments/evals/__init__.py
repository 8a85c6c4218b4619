"""Evaluations: scenarios, the expected answers, and the scoring of an agent's answers."""
