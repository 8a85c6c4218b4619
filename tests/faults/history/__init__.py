"""Histories of what clients posted to a log and read from it, and a checker of them against the final log."""
