"""Tests of what is observed for tests of decisions."""
