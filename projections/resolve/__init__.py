"""Tests of decisions: how their outcomes follow from evidence, by rules that anyone can compute again."""
