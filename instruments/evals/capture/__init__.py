"""Capture of an incident as a scenario."""
