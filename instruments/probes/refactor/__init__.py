"""The refactor probes and their scorer."""
