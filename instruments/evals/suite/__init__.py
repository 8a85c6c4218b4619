"""Suites of scenarios: load, validate, filter and write them."""
