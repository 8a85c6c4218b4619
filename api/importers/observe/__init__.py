"""Observe what tests of decisions are about: commands, addresses, and results of test runs."""
