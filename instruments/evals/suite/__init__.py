"""Suites of scenarios: loading, validating, filtering and writing them."""
