"""Judges: a language model that gives a verdict on each criterion of a rubric, or prefers one of two answers."""
