"""Recorded traces: reading and scoring."""
