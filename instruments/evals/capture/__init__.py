"""Capture an incident as a scenario: read the alert, run an investigator, fill in the template."""
